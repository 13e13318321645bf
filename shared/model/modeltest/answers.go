package modeltest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"kesoku.dev/shared/model"
)

// testAnswers reads what providers say when all is well.
func testAnswers(t *testing.T, h Harness) {
	t.Run("text in several deltas", func(t *testing.T) { // A11
		t.Parallel()
		g := h.start(t, "text").generate(t.Context(), h.ask())
		if g.text() != "Hello, wörld 世界!" || len(g.texts) != 4 || g.finish != model.FinishStop || g.err != nil {
			t.Errorf("got %q, finish %q, %v", g.texts, g.finish, g.err)
		}
		if want := (model.Usage{Prompt: 12, Output: 5, Total: 17}); g.usage == nil || *g.usage != want {
			t.Errorf("usage = %+v, want %+v", g.usage, want)
		}
	})
	t.Run("cut at the limit", func(t *testing.T) {
		t.Parallel()
		g := h.start(t, "length").generate(t.Context(), h.ask())
		if g.text() != "Once upon a ti" || g.finish != model.FinishLength || g.err != nil {
			t.Errorf("got %q, finish %q, %v", g.texts, g.finish, g.err)
		}
	})
	t.Run("thoughts", func(t *testing.T) { testThoughts(t, h) }) // M5.4
	t.Run("one call", func(t *testing.T) { testOneCall(t, h) })  // M5.6
	t.Run("parallel calls", func(t *testing.T) {                 // case B52
		t.Parallel()
		g := h.start(t, "parallel").generate(t.Context(), h.ask())
		if len(g.calls) != 2 || g.finish != model.FinishStop || g.err != nil {
			t.Fatalf("got %d calls, finish %q, %v", len(g.calls), g.finish, g.err)
		}
		first, second := g.calls[0], g.calls[1]
		if first.Call.ID == "" || second.Call.ID == "" || first.Call.ID == second.Call.ID {
			t.Errorf("call ids %q and %q", first.Call.ID, second.Call.ID)
		}
		if h.Can.CallIDs && (first.Call.ID != "fc-a1" || second.Call.ID != "fc-b2") {
			t.Errorf("call ids %q and %q are not the provider's", first.Call.ID, second.Call.ID)
		}
		if h.Can.Signatures && (string(first.Signature) != "batch-proof" || second.Signature != nil) {
			t.Errorf("signatures %q and %q; only the first call is signed", first.Signature, second.Signature)
		}
	})
	t.Run("call without arguments", func(t *testing.T) {
		t.Parallel()
		g := h.start(t, "no-arguments").generate(t.Context(), h.ask())
		if len(g.calls) != 1 || g.calls[0].Call.Args != "{}" || g.err != nil {
			t.Errorf("got %+v, %v", g.calls, g.err)
		}
	})
	t.Run("a part of the future", func(t *testing.T) {
		t.Parallel()
		g := h.start(t, "odd-part").generate(t.Context(), h.ask())
		if g.err == nil && g.text() != "Hello" {
			t.Errorf("got %q; want all text around it, or an error", g.texts)
		}
	})
}

func testThoughts(t *testing.T, h Harness) {
	t.Parallel()
	s := h.start(t, "thoughts")
	req := h.ask()
	req.Thinking = true
	g := s.generate(t.Context(), req)
	if !h.Can.Thoughts {
		wantRefused(t, s, g)
		return
	}
	if g.thought() != "Let me think." || len(g.thoughts) != 2 || g.text() != "Done." || g.err != nil {
		t.Errorf("got thoughts %q, text %q, %v", g.thoughts, g.texts, g.err)
	}
	if want := (model.Usage{Prompt: 12, Output: 13, Total: 25}); g.usage == nil || *g.usage != want {
		t.Errorf("usage = %+v, want %+v: thoughts are output", g.usage, want)
	}
	if h.Can.Signatures && (len(g.signatures) != 1 || string(g.signatures[0]) != "text-proof") {
		t.Errorf("signatures = %q", g.signatures)
	}
	if !s.seen().Thinking {
		t.Error("the request does not ask for thoughts")
	}
	plain := h.start(t, "text")
	plain.generate(t.Context(), h.ask())
	if plain.seen().Thinking {
		t.Error("a plain request asks for thoughts")
	}
}

func testOneCall(t *testing.T, h Harness) {
	t.Parallel()
	g := h.start(t, "call").generate(t.Context(), h.ask())
	if len(g.calls) != 1 || g.finish != model.FinishStop || g.err != nil {
		t.Fatalf("got %d calls, finish %q, %v", len(g.calls), g.finish, g.err)
	}
	call := g.calls[0].Call
	if call.ID == "" || call.Name != "current_time" {
		t.Errorf("call = %+v", call)
	}
	sameJSON(t, call.Args, `{"timezone":"Asia/Tokyo","deep":{"list":[1,"two",null,true]}}`)
	if h.Can.Signatures && !bytes.Equal(g.calls[0].Signature, []byte("call-proof")) {
		t.Errorf("signature = %q", g.calls[0].Signature)
	}
}

// wantRefused says that the driver must not have called anyone.
func wantRefused(t *testing.T, s *server, g got) {
	t.Helper()
	if f := g.fault(); f == nil || f.Kind != model.FaultUnsupported || f.Detail == "" {
		t.Errorf("error = %v, want FaultUnsupported that says why", g.err)
	}
	if n := s.calls(); n != 0 {
		t.Errorf("%d requests went out", n)
	}
}

// sameJSON compares two texts as JSON values.
func sameJSON(t interface {
	Helper()
	Errorf(format string, args ...any)
}, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Errorf("%q is no JSON: %v", got, err)
		return
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Errorf("%q is no JSON: %v", want, err)
		return
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("JSON = %s, want %s", got, want)
	}
}
