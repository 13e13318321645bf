package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/model"
)

// parameters is a tool's schema as our tools write them.
var parameters = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["timezone"],"properties":{
	"timezone":{"type":"string","description":"IANA name","minLength":1},"timezones":{"type":"array","items":{"type":"string"},"maxItems":8}}}`)

func testRequest(t *testing.T, h Harness) {
	t.Run("all fields", func(t *testing.T) { // M5.8
		t.Parallel()
		s := h.start(t, "text")
		req := h.ask()
		req.System, req.MaxTokens = "You are Kesoku.\n你是结束。", 321
		req.Tools = []model.Tool{
			{Name: "current_time", Description: "Tells the time.", Parameters: parameters},
			{Name: "list_notes", Description: "Lists.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "ping", Description: "Answers."},
		}
		if g := s.generate(t.Context(), req); g.err != nil {
			t.Fatal(g.err)
		}
		seen := s.seen()
		if seen.System != req.System || seen.MaxTokens != 321 || !slices.Equal(seen.Tools, []string{"current_time", "list_notes", "ping"}) {
			t.Errorf("on the wire: %+v", seen)
		}
		if len(seen.Turns) != 1 || seen.Turns[0].Parts[0].Text != req.Turns[0].Parts[0].Text {
			t.Errorf("turns on the wire: %+v", seen.Turns)
		}
	})
	t.Run("answer by a schema", func(t *testing.T) { // P8
		t.Parallel()
		s := h.start(t, "text")
		req := h.ask()
		req.Schema = json.RawMessage(`{"type":"object"}`)
		g := s.generate(t.Context(), req)
		if !h.Can.Schema {
			wantRefused(t, s, g)
		} else if seen := s.seen(); g.err != nil || seen.Schema != `{"type":"object"}` {
			t.Errorf("on the wire: %+v, %v", seen, g.err)
		}
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		s := h.start(t, "text")
		req := h.ask()
		data := []byte{0x89, 'P', 'N', 'G', 0, 0xff}
		req.Turns[0].Parts = append(req.Turns[0].Parts, history.Part{File: &history.File{Name: "a.png", MIMEType: "image/png", Data: data}})
		g := s.generate(t.Context(), req)
		if !h.Can.Files {
			wantRefused(t, s, g)
			return
		}
		parts := s.seen().Turns[0].Parts
		if len(parts) != 2 || parts[1].File == nil || parts[1].File.MIMEType != "image/png" || !bytes.Equal(parts[1].File.Data, data) {
			t.Errorf("parts on the wire: %+v", parts)
		}
	})
	t.Run("file that was not loaded", func(t *testing.T) {
		t.Parallel()
		s := h.start(t, "text")
		req := h.ask()
		req.Turns[0].Parts = append(req.Turns[0].Parts, history.Part{File: &history.File{Name: "a.png", StagedAs: "x/a.png"}})
		f := s.generate(t.Context(), req).fault()
		if f == nil || (f.Kind != model.FaultRequest && f.Kind != model.FaultUnsupported) || s.calls() != 0 {
			t.Errorf("fault = %v after %d requests, want one before any", f, s.calls())
		}
	})
	t.Run("model name that leaves its place", func(t *testing.T) {
		t.Parallel()
		s := h.start(t, "text")
		req := h.ask()
		req.Model = "../../v1/files?x="
		if f := s.generate(t.Context(), req).fault(); f == nil || f.Kind != model.FaultRequest || s.calls() != 0 {
			t.Errorf("fault = %v after %d requests, want FaultRequest before any", f, s.calls())
		}
	})
}

// testRoundTrip sends an answer's calls back with their results. B47, B51, B52, B58.
func testRoundTrip(t *testing.T, h Harness) {
	for _, scenario := range []string{"call", "parallel"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			s := h.start(t, scenario, "text")
			req := h.ask()
			first := s.generate(t.Context(), req)
			if first.err != nil || len(first.calls) == 0 {
				t.Fatalf("got %d calls, %v", len(first.calls), first.err)
			}
			var results []history.Part
			for i, c := range first.calls {
				results = append(results, history.Part{Result: &history.Result{
					ID: c.Call.ID, Name: c.Call.Name, Content: fmt.Sprintf("result %d", i), Failed: i == 1,
				}})
			}
			req.Turns = append(req.Turns,
				history.Turn{Speaker: history.SpeakerModel, Parts: first.calls},
				history.Turn{Speaker: history.SpeakerUser, Parts: results})
			if g := s.generate(t.Context(), req); g.text() != "Hello, wörld 世界!" || g.err != nil {
				t.Fatalf("got %q, %v", g.texts, g.err)
			}
			wire := s.seen().Turns
			checkPairing(t, h.Can, req.Turns, wire)
			for i, c := range first.calls {
				part := wire[1].Parts[i]
				if !bytes.Equal(part.Signature, c.Signature) {
					t.Errorf("call %d went back with signature %q, came with %q", i, part.Signature, c.Signature)
				}
				if h.Can.CallIDs && scenario == "parallel" && part.Call.ID != c.Call.ID {
					t.Errorf("call %d went back with id %q, came with %q", i, part.Call.ID, c.Call.ID)
				}
			}
			if h.Can.CallIDs && scenario == "call" && wire[1].Parts[0].Call.ID != "" {
				t.Errorf("an id that the provider does not know went out: %q", wire[1].Parts[0].Call.ID)
			}
		})
	}
}

// testScattered hands in a batch whose calls, and results, stand in turns of their own: they must go out as one batch. B52.
func testScattered(t *testing.T, h Harness) {
	s := h.start(t, "text")
	req := h.ask()
	call := func(id string) history.Part { return history.Part{Call: &history.Call{ID: id, Name: "f", Args: "{}"}} }
	result := func(id string) history.Part {
		return history.Part{Result: &history.Result{ID: id, Name: "f", Content: "did " + id}}
	}
	first := call("a")
	if h.Can.Signatures {
		first.Signature = []byte("proof")
	}
	whole := append(slices.Clone(req.Turns),
		history.Turn{Speaker: history.SpeakerModel, Parts: []history.Part{first, call("b")}},
		history.Turn{Speaker: history.SpeakerUser, Parts: []history.Part{result("a"), result("b")}})
	for _, t := range whole[1:] {
		for _, p := range t.Parts {
			req.Turns = append(req.Turns, history.Turn{Speaker: t.Speaker, Parts: []history.Part{p}})
		}
	}
	if g := s.generate(t.Context(), req); g.err != nil {
		t.Fatal(g.err)
	}
	checkPairing(t, h.Can, whole, s.seen().Turns)
}

// testPairing draws histories of the shape that package history emits and looks at what the driver makes of them.
func testPairing(t *testing.T, h Harness) {
	s := h.start(t, "text")
	rapid.Check(t, func(r *rapid.T) {
		req := model.Request{Model: h.Model, Turns: drawTurns(r, h.Can)}
		if err := history.Check(req.Turns); err != nil {
			r.Fatalf("the suite drew what history never emits: %v", err)
		}
		var failure error
		for _, err := range s.driver.Generate(context.Background(), req) {
			failure = err
		}
		if failure != nil {
			r.Fatalf("generate: %v", failure)
		}
		checkPairing(r, h.Can, req.Turns, s.seen().Turns)
	})
}

// drawTurns draws alternating turns: the user's first and last, each batch of calls answered at once by exactly its results.
func drawTurns(r *rapid.T, can Abilities) []history.Turn {
	text := rapid.StringMatching(`[a-zé世 \n]{0,11}[a-z]`)
	turns := []history.Turn{{Speaker: history.SpeakerUser, Parts: []history.Part{{Text: text.Draw(r, "prompt")}}}}
	serial := 0
	for range rapid.IntRange(0, 5).Draw(r, "answers") {
		answer := history.Turn{Speaker: history.SpeakerModel}
		next := history.Turn{Speaker: history.SpeakerUser}
		if can.Thoughts && rapid.Bool().Draw(r, "thought") {
			answer.Parts = append(answer.Parts, history.Part{Text: text.Draw(r, "thinks"), Thought: true})
		}
		calls := rapid.IntRange(0, 4).Draw(r, "calls")
		if calls == 0 || rapid.Bool().Draw(r, "says") {
			answer.Parts = append(answer.Parts, history.Part{Text: text.Draw(r, "answer")})
		}
		for i := range calls {
			serial++
			id := fmt.Sprintf(rapid.SampledFrom([]string{"call-%d", "fc-%d", "functions.Bash:%d"}).Draw(r, "id"), serial)
			name := rapid.SampledFrom([]string{"current_time", "recall", "fetch_url"}).Draw(r, "name")
			part := history.Part{Call: &history.Call{ID: id, Name: name, Args: fmt.Sprintf(`{"n":%d,"s":"é\n"}`, serial)}}
			if can.Signatures && i == 0 {
				part.Signature = []byte(fmt.Sprintf("proof %d", serial))
			}
			answer.Parts = append(answer.Parts, part)
			next.Parts = append(next.Parts, history.Part{Result: &history.Result{
				ID: id, Name: name, Content: text.Draw(r, "result"), Failed: rapid.Bool().Draw(r, "failed"),
			}})
		}
		if calls == 0 || rapid.Bool().Draw(r, "steers") { // B50: new words beside the results
			next.Parts = append(next.Parts, history.Part{Text: text.Draw(r, "prompt")})
		}
		turns = append(turns, answer, next)
	}
	return turns
}

// checker is the part of testing.T that rapid.T has too.
type checker interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkPairing compares what was asked for with what went out.
func checkPairing(t checker, can Abilities, want, wire []history.Turn) {
	t.Helper()
	if len(wire) != len(want) {
		t.Fatalf("%d turns went out for %d: %+v", len(wire), len(want), wire)
	}
	var open []*history.Call // calls of the previous turn, not yet answered
	for i, turn := range wire {
		if turn.Speaker != want[i].Speaker || len(turn.Parts) != len(want[i].Parts) {
			t.Fatalf("turn %d went out as %+v, want %+v", i, turn, want[i])
		}
		var calls []*history.Call
		for j, part := range turn.Parts {
			samePart(t, part, want[i].Parts[j])
			if part.Call != nil {
				calls = append(calls, part.Call)
			}
			if part.Result == nil {
				continue
			}
			if len(open) == 0 {
				t.Fatalf("turn %d, part %d answers no call", i, j)
			}
			if part.Result.Name != open[0].Name || (can.CallIDs && part.Result.ID != open[0].ID) {
				t.Errorf("turn %d, part %d: result %+v answers call %+v", i, j, part.Result, open[0])
			}
			open = open[1:]
		}
		if len(open) > 0 {
			t.Fatalf("turn %d leaves %d calls unanswered", i, len(open))
		}
		open = calls
	}
}

// samePart compares one part, ids aside.
func samePart(t checker, got, want history.Part) {
	t.Helper()
	switch {
	case want.Call != nil:
		if got.Call == nil || got.Call.Name != want.Call.Name || !bytes.Equal(got.Signature, want.Signature) {
			t.Fatalf("call went out as %+v, want %+v", got, want)
		}
		sameJSON(t, got.Call.Args, want.Call.Args)
	case want.Result != nil:
		if got.Result == nil || got.Result.Name != want.Result.Name || got.Result.Content != want.Result.Content ||
			got.Result.Failed != want.Result.Failed {
			t.Fatalf("result went out as %+v, want %+v", got, want)
		}
	default:
		if got.Text != want.Text || got.Thought != want.Thought {
			t.Fatalf("text went out as %+v, want %+v", got, want)
		}
	}
}

// testRefusals asks for what the driver cannot do: it must say so instead of dropping it.
func testRefusals(t *testing.T, h Harness) {
	for name, c := range map[string]struct {
		can  bool
		part history.Part
	}{
		"signature": {h.Can.Signatures, history.Part{Call: &history.Call{ID: "x", Name: "f", Args: "{}"}, Signature: []byte("proof")}},
		"thought":   {h.Can.Thoughts, history.Part{Text: "Hm.", Thought: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := h.start(t, "text")
			req := h.ask()
			req.Turns = append(req.Turns, history.Turn{Speaker: history.SpeakerModel, Parts: []history.Part{c.part}})
			after := history.Turn{Speaker: history.SpeakerUser, Parts: []history.Part{{Text: "Go on."}}}
			if c.part.Call != nil {
				after.Parts = []history.Part{{Result: &history.Result{ID: "x", Name: "f", Content: "done"}}}
			}
			req.Turns = append(req.Turns, after)
			g := s.generate(t.Context(), req)
			if !c.can {
				wantRefused(t, s, g)
				return
			}
			if g.err != nil {
				t.Fatal(g.err)
			}
			part := s.seen().Turns[1].Parts[0]
			if !bytes.Equal(part.Signature, c.part.Signature) || part.Thought != c.part.Thought {
				t.Errorf("went out as %+v, want %+v", part, c.part)
			}
		})
	}
}

// testCount counts a whole request. H5.
func testCount(t *testing.T, h Harness) {
	t.Run("whole request", func(t *testing.T) {
		t.Parallel()
		s := h.start(t, "count")
		req := h.ask()
		req.System = "You are Kesoku."
		req.Tools = []model.Tool{{Name: "current_time", Parameters: parameters}}
		call := &history.Call{ID: "x", Name: "current_time", Args: `{"timezone":"UTC"}`}
		result := &history.Result{ID: "x", Name: "current_time", Content: "noon"}
		req.Turns = append(req.Turns,
			history.Turn{Speaker: history.SpeakerModel, Parts: []history.Part{{Call: call}}},
			history.Turn{Speaker: history.SpeakerUser, Parts: []history.Part{{Result: result}}})
		n, err := s.driver.CountTokens(t.Context(), req)
		if n != 31 || err != nil {
			t.Errorf("count = %d, %v; want the provider's 31", n, err)
		}
		if seen := s.seen(); seen.System != req.System || !slices.Equal(seen.Tools, []string{"current_time"}) || len(seen.Turns) == 0 {
			t.Errorf("counted without system instruction, tools or turns: %+v", seen)
		}
	})
	t.Run("fault", func(t *testing.T) {
		t.Parallel()
		_, err := h.start(t, "rate-limited").driver.CountTokens(t.Context(), h.ask())
		if f := (got{err: err}).fault(); f == nil || f.Kind != model.FaultRateLimited {
			t.Errorf("error = %v, want FaultRateLimited", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.start(t, "count").driver.CountTokens(ctx, h.ask()); err == nil || (got{err: err}).fault() != nil {
			t.Errorf("error = %v, want context.Canceled", err)
		}
	})
}
