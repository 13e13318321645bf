// Package turn is the function that runs agent turns: it is pushed the topic turns and wires the models and tools that it serves.
package turn

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/gemini"
	"kesoku.dev/shared/model/generativeai"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/tool"
	"kesoku.dev/shared/tool/egress"
	"kesoku.dev/shared/turn"
)

func init() { functions.CloudEvent("turn", boot.Event("turn", New)) }

// New wires the function. Its variables: GEMINI_API_KEY (from Secret Manager), or VERTEX_PROJECT and VERTEX_LOCATION; GEMINI_BASE_URL;
// TURN_CHECKPOINT; FETCH_ALLOW, addresses with ports that fetch_url may reach although they are not public.
func New(ctx context.Context, b *boot.Base, v *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	models, err := providers(ctx, v)
	if err != nil {
		return nil, err
	}
	registry, err := tools(b, v)
	if err != nil {
		return nil, err
	}
	runner, err := tool.NewRunner(tool.RunnerConfig{Registry: registry, Staging: b.Blob, Logger: b.Log})
	if err != nil {
		return nil, err
	}
	t, err := turn.New(turn.Deps{
		Open: func(id string) turn.Ledger { return b.Store.Session(id) },
		Bus:  b.Bus, Models: models, Toolbox: runner, Specs: registry.Specs(), Roles: b.Config, Files: b.Blob,
		Clock: b.Clock, NewID: b.NewID, Log: b.Log, Going: b.Going,
	}, turn.Config{Checkpoint: v.Duration("TURN_CHECKPOINT", 0)})
	if err != nil {
		return nil, err
	}
	return bus.Handle(b.Log, b.Store, t.Handle), nil
}

// providers makes the drivers of model.Providers.
func providers(ctx context.Context, v *boot.Vars) (model.Registry, error) {
	key, base := v.Optional("GEMINI_API_KEY", ""), v.URL("GEMINI_BASE_URL", "")
	project, location := v.Optional("VERTEX_PROJECT", ""), v.Optional("VERTEX_LOCATION", "")
	if key == "" && project == "" {
		return nil, errors.New("set GEMINI_API_KEY, or VERTEX_PROJECT and VERTEX_LOCATION")
	}
	g, err := gemini.New(ctx, gemini.Config{APIKey: key, Project: project, Location: location, BaseURL: base})
	if err != nil {
		return nil, err
	}
	r := model.Registry{"gemini": g}
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

func tools(b *boot.Base, v *boot.Vars) (tool.Registry, error) {
	var allow []netip.AddrPort
	for _, s := range strings.Fields(v.Optional("FETCH_ALLOW", "")) {
		a, err := netip.ParseAddrPort(s)
		if err != nil {
			return nil, fmt.Errorf("environment variable FETCH_ALLOW: %w; write addresses like 127.0.0.1:8080, separated by blanks", err)
		}
		allow = append(allow, a)
	}
	n := notes{b.Store}
	return tool.NewRegistry(tool.CurrentTime{}, tool.NewFetchURL(egress.Config{Allow: allow}), tool.Remember{Notes: n}, tool.Recall{Notes: n})
}

// notes gives the tools the store's notes.
type notes struct{ store *store.Store }

func (n notes) AddNote(ctx context.Context, conversationKey, id, text string, at time.Time) error {
	return n.store.AddNote(ctx, conversationKey, id, text, at)
}

func (n notes) Notes(ctx context.Context, conversationKey string, limit int) ([]tool.Note, error) {
	stored, err := n.store.Notes(ctx, conversationKey, limit)
	if err != nil {
		return nil, err
	}
	out := make([]tool.Note, len(stored))
	for i, s := range stored {
		out[i] = tool.Note(s)
	}
	return out, nil
}
