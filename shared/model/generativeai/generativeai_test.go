package generativeai_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/generativeai"
	"kesoku.dev/shared/model/modeltest"
)

func newDriver(t *testing.T, baseURL string) model.Driver {
	t.Helper()
	d, err := generativeai.New(t.Context(), generativeai.Config{APIKey: modeltest.Key, BaseURL: baseURL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	t.Parallel()
	modeltest.Run(t, modeltest.Harness{
		New:      newDriver,
		Protocol: modeltest.GeminiArray(),
		Model:    "gemini-2.0-flash",
		Can:      modeltest.Abilities{Files: true},
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config   generativeai.Config
		problems int
	}{
		"nothing":     {generativeai.Config{}, 1},
		"two at once": {generativeai.Config{BaseURL: "ftp://x"}, 2},
		"no host":     {generativeai.Config{APIKey: "s3cret", BaseURL: "/v1"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := generativeai.New(t.Context(), c.config)
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

// What a tool's schema may say without losing its meaning, and what is refused.
func TestToolSchemas(t *testing.T) {
	t.Parallel()
	d := newDriver(t, "http://127.0.0.1:1")
	deep := strings.Repeat(`{"type":"array","items":`, 40) + `{"type":"string"}` + strings.Repeat(`}`, 40)
	for name, c := range map[string]struct {
		schema string
		ok     bool
	}{
		"plain":         {`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x","y"],"pattern":"x"}},"required":["a"]}`, true},
		"no properties": {`{"type":"object","additionalProperties":false}`, true},
		"numbers":       {`{"type":"object","properties":{"a":{"type":"integer","format":"int32","minimum":1}}}`, true},
		"reference":     {`{"type":"object","properties":{"a":{"$ref":"#/x"}}}`, false},
		"choice":        {`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`, false},
		"two types":     {`{"type":"object","properties":{"a":{"type":["string","number"]}}}`, false},
		"no type":       {`{"properties":{}}`, false},
		"only null":     {`{"type":"null"}`, false},
		"no object":     {`[]`, false},
		"endless":       {deep, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := model.Request{
				Model: "m", Turns: []history.Turn{{Speaker: history.SpeakerUser, Parts: []history.Part{{Text: "hi"}}}},
				Tools: []model.Tool{{Name: "tool", Parameters: json.RawMessage(c.schema)}},
			}
			for _, err := range d.Generate(t.Context(), req) {
				var f *model.Fault
				refused := errors.As(err, &f) && f.Kind == model.FaultUnsupported
				if refused == c.ok || err == nil { // an accepted schema fails later, for nobody listens
					t.Errorf("error = %v", err)
				}
			}
		})
	}
}
