package models

import (
	"encoding/json"
	"net/http"
	"time"

	"kesoku.dev/emulators/models/internal/form"
)

// chunk is one piece of an answer and the wait before it.
type chunk struct {
	body []byte
	wait time.Duration
}

// outcome is what a request leads to: a problem, raw bytes, or chunks.
type outcome struct {
	problem *problem
	status  int
	header  http.Header
	raw     []byte
	chunks  []chunk
	hang    bool
	cut     bool
}

func (r Reply) outcome() outcome {
	o := outcome{status: r.Status, header: r.Header, raw: r.Body, hang: r.Hang, cut: r.Cut}
	for _, c := range r.Chunks {
		o.chunks = append(o.chunks, chunk{body: c})
	}
	return o
}

// send writes an outcome at the server's pace.
func (s *server) send(w http.ResponseWriter, r *http.Request, f form.Form, o outcome) {
	if s.clock.Sleep(r.Context(), s.pace.First) != nil {
		return // the caller has gone, there is nobody to tell
	}
	if o.problem != nil {
		f.Refuse(w, o.problem.Code, o.problem)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if f.SSE && f.Stream && o.raw == nil {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for key, values := range o.header {
		w.Header()[key] = values
	}
	if o.status != 0 {
		w.WriteHeader(o.status)
	}
	switch {
	case o.raw != nil:
		_, _ = w.Write(o.raw) // whoever asked may have gone
	case f.Stream:
		s.stream(w, r, f, o)
	default:
		s.whole(w, r, f, o)
	}
	switch {
	case o.hang:
		<-r.Context().Done()
	case o.cut:
		panic(http.ErrAbortHandler)
	}
}

// stream writes chunk after chunk, and the end of the array only where the answer ends.
func (s *server) stream(w http.ResponseWriter, r *http.Request, f form.Form, o outcome) {
	flush := http.NewResponseController(w)
	for i, c := range o.chunks {
		if s.clock.Sleep(r.Context(), c.wait) != nil {
			return
		}
		if _, err := w.Write(f.Frame(i, c.body)); err != nil { //nolint:gosec // G705: JSON, for no browser
			return
		}
		if err := flush.Flush(); err != nil {
			return
		}
	}
	if !f.SSE && !o.hang && !o.cut {
		_, _ = w.Write([]byte("]")) // whoever asked may have gone
	}
}

// whole joins the chunks into one response.
func (s *server) whole(w http.ResponseWriter, r *http.Request, f form.Form, o outcome) {
	var merged map[string]any
	var parts []any
	for _, c := range o.chunks {
		if s.clock.Sleep(r.Context(), c.wait) != nil {
			return
		}
		var object map[string]any
		if json.Unmarshal(c.body, &object) != nil {
			continue // only a script can hold such, and it means to
		}
		parts = append(parts, partsOf(object)...)
		merged = object
	}
	if candidate := firstCandidate(merged); candidate != nil && len(parts) > 0 {
		candidate["content"] = map[string]any{"role": roleModel, "parts": parts}
	}
	body, err := json.Marshal(merged)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(f.Encode(body)) //nolint:gosec // G705: JSON, for no browser; whoever asked may have gone
}

func firstCandidate(response map[string]any) map[string]any {
	candidates, _ := response["candidates"].([]any) // absent: none
	if len(candidates) == 0 {
		return nil
	}
	candidate, _ := candidates[0].(map[string]any) // null: none
	return candidate
}

func partsOf(response map[string]any) []any {
	content, _ := firstCandidate(response)["content"].(map[string]any) // absent: none
	parts, _ := content["parts"].([]any)
	return parts
}
