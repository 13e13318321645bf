package models_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"kesoku.dev/emulators/models"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/gemini"
	"kesoku.dev/shared/model/generativeai"
	"kesoku.dev/shared/model/modeltest"
)

func newGemini(t *testing.T, baseURL string) model.Driver {
	t.Helper()
	d, err := gemini.New(t.Context(), gemini.Config{APIKey: modeltest.Key, BaseURL: baseURL})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newGenerativeAI(t *testing.T, baseURL string) model.Driver {
	t.Helper()
	d, err := generativeai.New(t.Context(), generativeai.Config{APIKey: modeltest.Key, BaseURL: baseURL})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The real SDKs against the stand-in, scripted with the answers that the drivers' own tests replay: what the stand-in writes of them
// must read the same.
func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("genai", func(t *testing.T) {
		t.Parallel()
		modeltest.Run(t, modeltest.Harness{
			New: newGemini, Protocol: modeltest.GeminiSSE(), Model: "gemini-3-pro", Serve: scripted,
			Can: modeltest.Abilities{Thoughts: true, Signatures: true, CallIDs: true, Files: true, Schema: true},
		})
	})
	t.Run("generative-ai-go", func(t *testing.T) {
		t.Parallel()
		modeltest.Run(t, modeltest.Harness{
			New: newGenerativeAI, Protocol: modeltest.GeminiArray(), Model: "gemini-2.0-flash", Serve: scripted,
			Can: modeltest.Abilities{Files: true},
		})
	})
}

// scripted plays scenarios through the stand-in's script, the last of them often enough.
func scripted(t *testing.T, scenarios []modeltest.Scenario) http.Handler {
	t.Helper()
	const often = 2000
	var script []models.Reply
	for _, s := range scenarios {
		script = append(script, reply(s))
	}
	return models.New(models.Options{Script: append(script, slices.Repeat(script[len(script)-1:], often)...)})
}

// reply takes a scenario's bytes apart into chunks, which the stand-in frames anew. What is no stream of chunks goes as it stands.
func reply(s modeltest.Scenario) models.Reply {
	r := models.Reply{Status: s.Status, Header: s.Header, Hang: s.Then == modeltest.ThenHang, Cut: s.Then == modeltest.ThenCut}
	r.Header.Del("Content-Type")
	body := bytes.TrimSpace(s.Body)
	switch {
	case s.Status != http.StatusOK || s.Name == "count":
		r.Body = s.Body
	case bytes.HasPrefix(body, []byte("[")):
		var array []json.RawMessage
		if json.Unmarshal(append(bytes.TrimSuffix(body, []byte("]")), ']'), &array) != nil {
			r.Body = s.Body
		}
		r.Chunks = array
	default:
		for _, block := range bytes.Split(body, []byte("\n\n")) {
			r.Chunks = append(r.Chunks, bytes.TrimPrefix(block, []byte("data: ")))
		}
	}
	return r
}
