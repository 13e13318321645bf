package turn_test

import (
	"testing"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/turn"
)

// case B53: what went wrong before does not count against a malformed call: neither faults of another kind, nor those of a step or turn that is over.
func TestFailuresCountApart(t *testing.T) {
	t.Parallel()
	busy, bad := fails(&model.Fault{Kind: model.FaultOverloaded}), fails(&model.Fault{Kind: model.FaultMalformedCall})
	for name, tt := range map[string]struct {
		scenes []scene
		want   []string
	}{
		"of another kind":        {[]scene{busy, bad, busy, bad, says("Here.")}, []string{"reply pending: Here."}},
		"of a step":              {[]scene{bad, bad, wants("a"), bad, bad, says("Here.")}, []string{"thought responded: …", "call responded: a", "result responded: …", "reply pending: Here."}},
		"of a nudged answer":     {[]scene{bad, bad, says(""), bad, bad, says("Here.")}, []string{"nudge responded: …", "reply pending: Here."}},
		"of its own kind, three": {[]scene{bad, busy, bad, bad}, []string{"notice pending: …"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{}, tt.scenes...)
			w.ask(t, "hello", session.WhenNext)
			w.mustRun(t)
			ended := "prompt processed: hello"
			if tt.want[len(tt.want)-1] == "notice pending: …" {
				ended = "prompt error: hello"
			}
			w.want(t, append([]string{ended}, tt.want...)...)
		})
	}
	t.Run("of the turn before", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, turn.Config{})
		ask := func(text string) func(call) { return func(call) { w.ask(t, text, session.WhenNext) } }
		w.model.scenes = []scene{bad, bad, after(ask("two"), says("First.")), bad, bad, after(ask("three"), says("Second.")), bad, bad, says("Third.")}
		w.ask(t, "one", session.WhenNext)
		w.mustRun(t)
		w.want(t, "prompt processed: one", "prompt processed: two", "reply pending: First.", "prompt processed: three", "reply pending: Second.", "reply pending: Third.")
	})
}
