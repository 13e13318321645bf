package turn_test

import (
	"bytes"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/turn"
)

// A2, A8: what waits is one prompt, in its order; the turn ends with the reply, and all of it is processed.
func TestPlainTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, says("Hello, both."))
	w.ask(t, "one", session.WhenNext)
	w.ask(t, "aside", session.WhenQuiet)
	w.ask(t, "two", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processed: one", "prompt processed: aside", "prompt processed: two", "reply pending: Hello, both.")
	w.free(t, false)
	if w.model.calls() != 1 || !w.wakes.has(wakeDeliver) || w.wakes.has(wakeTurn) {
		t.Errorf("%d model calls, published %v", w.model.calls(), w.wakes.all)
	}
	shown := w.model.request(0)
	aside, one, two := strings.Index(shown, "aside"), strings.Index(shown, "one"), strings.Index(shown, "two")
	if aside < 0 || one < aside || two < one { // P16: quiet before next
		t.Errorf("shown:\n%s", shown)
	}
	w.wakes.clear()
	w.mustRun(t) // nothing to do: but whoever ended the turn may have died before it woke delivery
	if w.model.calls() != 1 || !w.wakes.has(wakeDeliver) {
		t.Errorf("%d model calls, published %v", w.model.calls(), w.wakes.all)
	}
}

// A5, H2, case B52: thought and calls are stored before any tool runs; results come together; signatures stay with their calls; and the reply has
// what the turn cost (A10).
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a", "b"), wants("c"), says("Done."))
	w.ask(t, "work", session.WhenNext)
	var during [][]string
	w.tools.do = func(c call) {
		during = append(during, w.record(t))
		_ = c.wait(w.now, 5*time.Second)
	}
	w.mustRun(t)
	w.want(t, "prompt processed: work", "thought responded: I need a, b", "call responded: a", "call responded: b", "result responded: result of a",
		"result responded: result of b", "thought responded: I need c", "call responded: c", "result responded: result of c", "reply pending: Done.")
	if len(during) != 2 || len(during[0]) != 4 || during[0][2] != "call responded: a" {
		t.Errorf("stored when the tools ran: %v", during)
	}
	all := w.messages(t)
	if string(all[2].Metadata.Signature) != "sig a" || all[4].ParentID != all[2].ID || all[9].ParentID != all[0].ID || all[9].Metadata.ThreadID != "thread" {
		t.Errorf("call %+v, result %+v, reply %+v", all[2].Metadata, all[4], all[9])
	}
	for i, at := range [][3]int{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {1, 2, 0}, {1, 2, 1}, {2, 0, 0}, {2, 1, 0}, {2, 2, 0}, {3, 3, 0}} {
		if m := all[i]; m.Turn != 1 || [3]int{m.Step, int(m.Phase), m.Ordinal} != at {
			t.Errorf("message %d stands at step %d, phase %d, ordinal %d, want %v", i, m.Step, m.Phase, m.Ordinal, at)
		}
	}
	m := all[9].Metadata.TurnMetrics
	if m.SessionTurns != 1 || m.ContextTokens != 100 || m.TurnToolCalls != 3 || m.TurnTokens != 60+60+110 || m.TurnTime < 10 || m.TurnTime > 60 {
		t.Errorf("metrics %+v", m)
	}
}

// A8: what came while the turn ran begins the next one at once, under the same lease, with metrics of its own.
func TestNextTurnAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{after(func(call) { w.ask(t, "two", session.WhenNext) }, says("First.")), says("Second.")}
	w.ask(t, "one", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processed: one", "prompt processed: two", "reply pending: First.", "reply pending: Second.")
	w.free(t, false)
	all := w.messages(t)
	if all[1].Turn != 2 || all[3].Metadata.TurnMetrics.SessionTurns != 2 || all[3].Metadata.TurnMetrics.TurnTokens != 110 || w.session(t).TurnLease.Epoch != 1 {
		t.Errorf("second prompt in turn %d, metrics %+v", all[1].Turn, all[3].Metadata.TurnMetrics)
	}
}

// P16: what may join does so at the step boundary, behind the results; what waits for a turn of its own does not.
func TestJoin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a"), says("Both."), says("Last."))
	w.ask(t, "one", session.WhenNext)
	w.tools.do = func(call) {
		w.ask(t, "later", session.WhenNext)
		w.ask(t, "also", session.WhenNow)
	}
	w.mustRun(t)
	w.want(t, "prompt processed: one", "thought responded: …", "call responded: a", "prompt processed: later", "prompt processed: also",
		"result responded: …", "reply pending: Both.", "reply pending: Last.")
	if r := w.model.request(1); !strings.Contains(r, "also") || strings.Contains(r, "later") || strings.Index(r, "result a") > strings.Index(r, "also") {
		t.Errorf("second request:\n%s", r)
	}
	if r := w.model.request(2); !strings.Contains(r, "later") {
		t.Errorf("third request:\n%s", r)
	}
}

// The route's tools are all that is offered and run; the model is told of one that is not, and the turn goes on.
func TestToolNotOffered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("b", "a", "shell"), says("Sorry."))
	w.conf.Tools = []string{"a"}
	w.ask(t, "work", session.WhenNext)
	w.mustRun(t)
	if !slices.Equal(w.tools.ran, []string{"a"}) || len(w.model.asked[0].Tools) != 1 {
		t.Errorf("ran %v, offered %v", w.tools.ran, w.model.asked[0].Tools)
	}
	all := w.messages(t)
	if b, a := all[5], all[6]; !b.Metadata.ToolFailed || !strings.Contains(b.Content, `no tool "b"`) || a.Content != "result of a" || a.Metadata.CallID != "a" {
		t.Errorf("results %+v, %+v", b, a)
	}
	if r := w.model.request(1); strings.Index(r, "result b") > strings.Index(r, "result a") || !strings.Contains(r, "result shell There is no tool") {
		t.Errorf("results out of the calls' order:\n%s", r)
	}
}

// The log names a tool that there is; a name that the model made up may be a piece of the conversation.
func TestToolNameInLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("b", "my password is 1234"), says("Sorry."))
	var log bytes.Buffer
	w.Log = slog.New(slog.NewJSONHandler(&log, nil))
	w.conf.Tools = []string{"a"}
	w.ask(t, "work", session.WhenNext)
	w.mustRun(t)
	if got := log.String(); !strings.Contains(got, `"tool":"b"`) || !strings.Contains(got, `"tool":"_OTHER"`) || strings.Contains(got, "password") {
		t.Errorf("logged %s", got)
	}
}

// A reply that a store would keep but a preview of is cut between two characters, and says so; nothing of it goes to the staging area.
func TestReplyTooLong(t *testing.T) {
	t.Parallel()
	const room = 250 << 10
	whole := "ab" + strings.Repeat("汉", 100_000) // room ends inside a character
	w := newWorld(t, turn.Config{}, says(whole), says(strings.Repeat("a", room)))
	for range 2 {
		w.ask(t, "tell me all", session.WhenNext)
		w.mustRun(t)
	}
	all := w.messages(t)
	text, told := strings.CutSuffix(all[1].Content, "\n\n(The reply was too long: the rest of it was cut off.)")
	if !told || !strings.HasPrefix(whole, text) || len(text) != room-2 || all[1].Metadata.StagedAs != "" {
		t.Errorf("a reply of %d bytes that ends in %q", len(all[1].Content), all[1].Content[max(0, len(all[1].Content)-80):])
	}
	if len(all[3].Content) != room {
		t.Errorf("a reply of %d bytes, want %d", len(all[3].Content), room)
	}
}

// A model that asks for more calls than a step may have gets the first 32 run, and no call is left without its result.
func TestTooManyCalls(t *testing.T) {
	t.Parallel()
	names := make([]string, 40)
	for i := range names {
		names[i] = "a"
	}
	w := newWorld(t, turn.Config{}, wants(names...), says("Done."))
	w.ask(t, "work", session.WhenNext)
	w.mustRun(t)
	if len(w.tools.ran) != 32 || len(w.messages(t)) != 1+1+32+32+1 {
		t.Errorf("%d ran, %d messages", len(w.tools.ran), len(w.messages(t)))
	}
}

// A9, M5.10, case B54: an empty answer is nudged once, then a fixed text stands in; blank counts as empty.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	empty := fails(&model.Fault{Kind: model.FaultEmpty})
	for name, tt := range map[string]struct {
		scenes []scene
		want   []string
	}{
		"mended":           {[]scene{says(" \n "), says("Here.")}, []string{"nudge responded: …", "reply pending: Here."}},
		"never":            {[]scene{empty, says("\t")}, []string{"nudge responded: …", "reply pending: …"}},
		"after a step":     {[]scene{wants("a"), says(""), says("Here.")}, []string{"thought responded: …", "call responded: a", "result responded: …", "nudge responded: …", "reply pending: Here."}},
		"after a step too": {[]scene{empty, wants("a"), says("")}, []string{"nudge responded: …", "thought responded: …", "call responded: a", "result responded: …", "reply pending: …"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{}, tt.scenes...)
			w.ask(t, "hello", session.WhenNext)
			w.mustRun(t)
			w.want(t, append([]string{"prompt processed: hello"}, tt.want...)...)
			all := w.messages(t)
			if last := all[len(all)-1]; strings.TrimSpace(last.Content) == "" {
				t.Error("a blank reply")
			}
			if r := w.model.request(len(tt.scenes) - 1); !strings.Contains(r, "user: [System Notification]\nYour previous response had empty content") {
				t.Errorf("last request:\n%s", r)
			}
			if w.model.calls() != len(tt.scenes) {
				t.Errorf("%d model calls, want %d", w.model.calls(), len(tt.scenes))
			}
		})
	}
}

// cases B53, B55: what a provider refuses is said politely, or ends the turn in words for people; it is never processed as empty.
func TestFaults(t *testing.T) {
	t.Parallel()
	fault := func(kind model.FaultKind) scene {
		return fails(&model.Fault{Kind: kind, Detail: "the provider's own words"})
	}
	for name, tt := range map[string]struct {
		scene  scene
		calls  int
		prompt message.Status
		class  message.Class
	}{
		"blocked":     {fault(model.FaultBlocked), 1, message.StatusProcessed, message.ClassFinalReply},
		"malformed":   {fault(model.FaultMalformedCall), 3, message.StatusError, message.ClassCrashNotice},
		"credentials": {fault(model.FaultCredentials), 1, message.StatusError, message.ClassCrashNotice},
		"too long":    {fault(model.FaultContext), 1, message.StatusError, message.ClassCrashNotice},
		"unsupported": {fault(model.FaultUnsupported), 1, message.StatusError, message.ClassCrashNotice},
		"permanent":   {fails(errs.Permanentf("ours")), 1, message.StatusError, message.ClassCrashNotice},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{}, tt.scene)
			w.ask(t, "hello", session.WhenNext)
			w.mustRun(t)
			all := w.messages(t)
			if len(all) != 2 || all[0].Status != tt.prompt || all[1].Class() != tt.class || w.model.calls() != tt.calls {
				t.Errorf("after %d calls:\n%v", w.model.calls(), w.record(t))
			}
			if strings.Contains(all[1].Content, "own words") || all[1].Content == "" {
				t.Errorf("people read %q", all[1].Content)
			}
			w.free(t, false)
			if !w.wakes.has(wakeDeliver) {
				t.Error("nobody delivers it")
			}
		})
	}
}

// A malformed answer that mends itself costs nothing but its calls; and a step that is stored starts the count anew.
func TestFaultsMend(t *testing.T) {
	t.Parallel()
	bad := fails(&model.Fault{Kind: model.FaultMalformedCall})
	w := newWorld(t, turn.Config{}, []scene{bad, bad, wants("a"), bad, bad, says("Done.")}...)
	w.ask(t, "hello", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processed: hello", "thought responded: …", "call responded: a", "result responded: …", "reply pending: Done.")
}

// An operator who names a model that this function does not serve is told so, not tried for ever.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, says("x"))
	w.conf.Model = "melted:x"
	w.ask(t, "hello", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt error: hello", "notice pending: …")
	if w.model.calls() != 0 {
		t.Error("another model answered")
	}
}

// A turn that goes round in circles ends.
func TestTooManySteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{MaxSteps: 3}, wants("a"))
	w.ask(t, "work", session.WhenNext)
	w.mustRun(t)
	if w.model.calls() != 3 || len(w.tools.ran) != 3 {
		t.Errorf("%d model calls, ran %v", w.model.calls(), w.tools.ran)
	}
	all := w.record(t)
	if all[0] != "prompt error: work" || !strings.HasPrefix(all[len(all)-1], "notice pending: ") {
		t.Errorf("record %v", all)
	}
	w.free(t, false)
}

// case B41: a wake-up for a session that does not exist fails for good.
func TestMissingSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, says("x"))
	if err := w.run(t.Context()); errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("%v, want a permanent error", err)
	}
}

// Commit comes before publish, publish before ack: a publish that fails is no success, and the redelivery makes up for it.
func TestPublishFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, says("Hello."))
	w.ask(t, "hello", session.WhenNext)
	w.wakes.fail = errors.New("Pub/Sub is down")
	if err := w.run(t.Context()); !errors.Is(err, w.wakes.fail) || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v, want the publisher's error, retryable", err)
	}
	w.wakes.fail = nil
	w.mustRun(t)
	w.want(t, "prompt processed: hello", "reply pending: Hello.")
	if !w.wakes.has(wakeDeliver) || w.model.calls() != 1 {
		t.Errorf("published %v after %d model calls", w.wakes.all, w.model.calls())
	}
}

// New refuses to be built without what it needs, and names it.
func TestNew(t *testing.T) {
	t.Parallel()
	_, err := turn.New(turn.Deps{}, turn.Config{})
	for _, name := range []string{"Open", "Bus", "Models", "Toolbox", "Specs", "Roles", "Files", "Clock", "NewID", "Log", "Going"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}
