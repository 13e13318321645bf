package gemini_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/gemini"
	"kesoku.dev/shared/model/modeltest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Harness{
		New: func(t *testing.T, baseURL string) model.Driver {
			t.Helper()
			d, err := gemini.New(t.Context(), gemini.Config{APIKey: modeltest.Key, BaseURL: baseURL})
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Protocol: modeltest.GeminiSSE(),
		Model:    "gemini-2.5-flash",
		Can:      modeltest.Abilities{Thoughts: true, Signatures: true, CallIDs: true, Files: true, Schema: true},
	})
}

func TestConformanceOnVertexAI(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Harness{
		New: func(t *testing.T, baseURL string) model.Driver {
			t.Helper()
			d, err := gemini.New(t.Context(), gemini.Config{Project: "p", Location: "europe-west4", BaseURL: baseURL, HTTPClient: &http.Client{}})
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Keyless:  true,
		Protocol: modeltest.GeminiSSE(),
		Model:    "gemini-2.5-flash",
		Can:      modeltest.Abilities{Thoughts: true, Signatures: true, CallIDs: true, Files: true, Schema: true},
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config   gemini.Config
		problems int
	}{
		"nothing":         {gemini.Config{}, 1},
		"both":            {gemini.Config{APIKey: "s3cret", Project: "p", Location: "l"}, 1},
		"half of Vertex":  {gemini.Config{Project: "p"}, 1},
		"two at once":     {gemini.Config{Location: "l", BaseURL: "ftp://x"}, 2},
		"no host":         {gemini.Config{APIKey: "s3cret", BaseURL: "/v1"}, 1},
		"not even a URL":  {gemini.Config{APIKey: "s3cret", BaseURL: "http://%zz"}, 1},
		"scheme is empty": {gemini.Config{APIKey: "s3cret", BaseURL: "host:80"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := gemini.New(t.Context(), c.config)
			if err == nil || strings.Contains(err.Error(), "s3cret") {
				t.Fatalf("error = %v", err)
			}
			joined, ok := errors.Unwrap(err).(interface{ Unwrap() []error })
			if !ok || len(joined.Unwrap()) != c.problems {
				t.Errorf("error = %v, want %d problems", err, c.problems)
			}
		})
	}
}

// The paths and the credentials of the two endpoints.
func TestWhereRequestsGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config gemini.Config
		path   string
		key    string
	}{
		"Gemini API": {gemini.Config{APIKey: "s3cret"}, "/v1beta/models/m-1:streamGenerateContent", "s3cret"},
		"Vertex AI": {gemini.Config{Project: "p", Location: "l", HTTPClient: &http.Client{}},
			"/v1beta1/projects/p/locations/l/publishers/google/models/m-1:streamGenerateContent", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var path, query, key string
			web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				path, query, key = r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Goog-Api-Key")
			}))
			defer web.Close()
			c.config.BaseURL = web.URL
			d, err := gemini.New(t.Context(), c.config)
			if err != nil {
				t.Fatal(err)
			}
			req := model.Request{Model: "m-1", Turns: []history.Turn{{Speaker: history.SpeakerUser, Parts: []history.Part{{Text: "hi"}}}}}
			for _, err := range d.Generate(t.Context(), req) {
				if err == nil {
					t.Error("an empty body passed for an answer")
				}
			}
			if path != c.path || query != "alt=sse" || key != c.key {
				t.Errorf("request to %s?%s with key %q, want %s with %q", path, query, key, c.path, c.key)
			}
		})
	}
}
