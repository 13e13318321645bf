// Package models connects to the providers of language models that the environment names. It stands beside boot, which links no model's SDK,
// for the functions that ask models.
package models

import (
	"context"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/gemini"
	"kesoku.dev/shared/model/generativeai"
)

// Connect makes the drivers of model.Providers. Its variables: GEMINI_API_KEY (from Secret Manager), or VERTEX_PROJECT and VERTEX_LOCATION;
// GEMINI_BASE_URL. Where neither a key nor a project is set there is no driver.
func Connect(ctx context.Context, v *boot.Vars) (model.Registry, error) {
	key, base := v.Optional("GEMINI_API_KEY", ""), v.URL("GEMINI_BASE_URL", "")
	project, location := v.Optional("VERTEX_PROJECT", ""), v.Optional("VERTEX_LOCATION", "")
	r := model.Registry{}
	if key == "" && project == "" {
		return r, nil
	}
	g, err := gemini.New(ctx, gemini.Config{APIKey: key, Project: project, Location: location, BaseURL: base})
	if err != nil {
		return nil, err
	}
	r["gemini"] = g
	if key == "" {
		return r, nil // the older driver knows keys only
	}
	older, err := generativeai.New(ctx, generativeai.Config{APIKey: key, BaseURL: base})
	if err != nil {
		return nil, err
	}
	r["generativeai"] = older
	return r, nil
}
