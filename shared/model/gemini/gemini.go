// Package gemini drives Google's models through google.golang.org/genai: the Gemini API with a key, or Vertex AI with default
// credentials. It knows the SDK and the contract of package model; it keeps no state between calls, reads no environment of its own
// and retries nothing: what to do about a fault is its caller's business.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"google.golang.org/genai"

	"kesoku.dev/shared/model/internal/geminiapi"
)

// defaultBaseURL is the Gemini API. It is named so that the SDK does not look for another in the environment.
const defaultBaseURL = "https://generativelanguage.googleapis.com/"

// Config says where the models are and by what right they are called: by APIKey, or by Project and Location.
type Config struct {
	// APIKey is for the Gemini API. It travels in a header.
	APIKey string
	// Project and Location are for Vertex AI, e.g. "my-project" and "europe-west4" or "global".
	Project  string
	Location string
	// BaseURL replaces Google's endpoint; empty keeps it.
	BaseURL string
	// HTTPClient replaces the default client; with Vertex AI it must bring its own credentials. It is not changed.
	HTTPClient *http.Client
}

func (c Config) validate() error {
	var problems []error
	switch {
	case c.APIKey != "" && (c.Project != "" || c.Location != ""):
		problems = append(problems, errors.New("give an API key, or a project and location, not both"))
	case c.APIKey == "" && c.Project == "" && c.Location == "":
		problems = append(problems, errors.New("give an API key, or a project and location"))
	case c.APIKey == "" && (c.Project == "" || c.Location == ""):
		problems = append(problems, errors.New("on Vertex AI give both project and location"))
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			problems = append(problems, fmt.Errorf("base URL %q: want http://host or https://host", c.BaseURL))
		}
	}
	return errors.Join(problems...)
}

// Driver is a model.Driver. It is safe for concurrent use.
type Driver struct {
	models *genai.Models
	vertex bool
	secret string // the API key, to be kept out of faults
}

// New returns a driver, or all that is wrong with c. It dials nothing, though default credentials may be looked for.
func New(ctx context.Context, c Config) (*Driver, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("gemini configuration: %w", err)
	}
	cc := &genai.ClientConfig{
		APIKey: c.APIKey, Project: c.Project, Location: c.Location,
		Backend: genai.BackendGeminiAPI, HTTPClient: keepHeaders(c.HTTPClient),
		HTTPOptions: genai.HTTPOptions{BaseURL: c.BaseURL},
	}
	if c.APIKey == "" {
		cc.Backend = genai.BackendVertexAI
		if c.HTTPClient == nil {
			if err := cc.UseDefaultCredentials(); err != nil {
				return nil, fmt.Errorf("gemini on Vertex AI in %s: %w", c.Project, err)
			}
		}
	} else if c.BaseURL == "" {
		cc.HTTPOptions.BaseURL = defaultBaseURL
	}
	client, err := genai.NewClient(ctx, cc)
	if err != nil {
		return nil, fmt.Errorf("gemini client: %w", geminiapi.Scrub(err, c.APIKey))
	}
	return &Driver{models: client.Models, vertex: cc.Backend == genai.BackendVertexAI, secret: c.APIKey}, nil
}
