// Package generativeai drives Google's models through github.com/google/generative-ai-go, the SDK that the deployment card names. Its
// maintainers ended support in 2025: it knows no thoughts, no thought signatures and no call ids, so the driver serves plain and
// tool-calling models and answers FaultUnsupported when asked for more. Package gemini is the one to use otherwise.
//
// It knows the SDK and the contract of package model, keeps no state between calls and retries nothing itself.
package generativeai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"

	"kesoku.dev/shared/model/internal/geminiapi"
)

// Config says where the models are and with which key they are called.
type Config struct {
	// APIKey is for the Gemini API. The SDK would put it into the URL, where logs and errors find it; here it travels in a header.
	APIKey string
	// BaseURL replaces Google's endpoint; empty keeps it.
	BaseURL string
	// HTTPClient replaces the default client. It is not changed.
	HTTPClient *http.Client
}

func (c Config) validate() error {
	var problems []error
	if c.APIKey == "" {
		problems = append(problems, errors.New("give an API key"))
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
	client *genai.Client
	secret string // the API key, to be kept out of faults
}

// New returns a driver, or all that is wrong with c. It calls no one.
func New(ctx context.Context, c Config) (*Driver, error) {
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("generativeai configuration: %w", err)
	}
	// The key is given twice: to the HTTP client that makes all our calls, and as an option for a client of another service that
	// the SDK insists on making and that is never used.
	options := []option.ClientOption{option.WithAPIKey(c.APIKey), option.WithHTTPClient(keyed(c.HTTPClient, c.APIKey))}
	if c.BaseURL != "" {
		options = append(options, option.WithEndpoint(strings.TrimRight(c.BaseURL, "/")))
	}
	client, err := genai.NewClient(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("generativeai client: %w", geminiapi.Scrub(err, c.APIKey))
	}
	return &Driver{client: client, secret: c.APIKey}, nil
}

// Close ends the SDK's connections.
func (d *Driver) Close() error {
	if err := d.client.Close(); err != nil {
		return fmt.Errorf("close the generativeai client: %w", err)
	}
	return nil
}

// keyHeader is the transport that carries the key.
type keyHeader struct {
	next http.RoundTripper
	key  string
}

func (k keyHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Goog-Api-Key", k.key)
	return k.next.RoundTrip(r)
}

// keyed returns a copy of client, or a new client, that sends the key.
func keyed(client *http.Client, key string) *http.Client {
	out := &http.Client{}
	if client != nil {
		*out = *client
	}
	next := out.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	out.Transport = keyHeader{next: next, key: key}
	return out
}
