package turn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/turn"
)

// Stop ends an inference: the model's call is cancelled, the prompt is interrupted, and people read who it was.
func TestStopDuringInference(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{after(func(c call) { w.stop(t); c.ended() }, says("Never."))}
	w.ask(t, "think", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt interrupted: think", "note pending: …")
	if note := w.messages(t)[1]; !strings.Contains(note.Content, "Bo") || note.Turn != 1 || note.Metadata.ThreadID != "thread" {
		t.Errorf("note %+v", note)
	}
	w.free(t, false)
	if !w.wakes.has(wakeDeliver) {
		t.Error("nobody delivers it")
	}
}

// Stop that comes with the answer already there is heeded still: the reply is not sent.
func TestStopBeforeReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{after(func(call) { w.stop(t) }, says("Too late."))}
	w.ask(t, "think", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt interrupted: think", "note pending: …")
}

// A4, A7: where the route allows it a new prompt cancels the inference and becomes the current one.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.conf.Interrupt = true
	w.model.scenes = []scene{after(func(c call) { w.ask(t, "no, this", session.WhenNext); c.ended() }, says("Never.")), says("This.")}
	w.ask(t, "that", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt interrupted: that", "prompt processed: no, this", "reply pending: This.")
	if s := w.session(t); s.Turns != 2 || s.TurnLease.Epoch != 1 {
		t.Errorf("%d turns, epoch %d", s.Turns, s.TurnLease.Epoch)
	}
	w.free(t, false)
}

// A4: an observed message interrupts nobody; and where the route does not allow it nothing does, however long the model takes.
func TestNoInterrupt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		allowed bool
		when    session.When
	}{"quiet": {true, session.WhenQuiet}, "not allowed": {false, session.WhenNext}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{})
			w.conf.Interrupt = tt.allowed
			w.model.scenes = []scene{after(func(c call) {
				w.ask(t, "aside", tt.when)
				if err := c.wait(w.now, 30*time.Second); err != nil {
					t.Errorf("cancelled: %v", err)
				}
			}, says("First.")), says("Second.")}
			w.ask(t, "work", session.WhenNext)
			w.mustRun(t)
			if got := w.record(t); got[0] != "prompt processed: work" || got[2] != "reply pending: First." {
				t.Errorf("record %v", got)
			}
			if tt.when == session.WhenQuiet && w.model.calls() != 1 {
				t.Errorf("%d model calls: a quiet message woke a turn", w.model.calls())
			}
		})
	}
}

// A6: a running tool is never cancelled by an interruption, and its result is kept; the interruption counts between the steps.
func TestToolsAreNeverCancelled(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(*world, *testing.T){
		"a new prompt": func(w *world, t *testing.T) { w.ask(t, "no, this", session.WhenNext) },
		"stop":         func(w *world, t *testing.T) { w.stop(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{}, wants("a"), says("This."))
			w.conf.Interrupt = true
			w.tools.do = func(c call) {
				interrupt(w, t)
				if err := c.wait(w.now, 30*time.Second); err != nil {
					t.Errorf("the tool was cancelled: %v", err)
				}
			}
			w.ask(t, "that", session.WhenNext)
			w.mustRun(t)
			all := w.record(t)
			if all[0] != "prompt interrupted: that" || !slices.Contains(all, "call responded: a") || !slices.Contains(all, "result responded: result of a") {
				t.Errorf("record %v", all)
			}
			if name == "stop" && w.model.calls() != 1 {
				t.Errorf("%d model calls after Stop", w.model.calls())
			}
			w.free(t, false)
		})
	}
}

// A6: an interruption that is there before a batch starts keeps it from starting, and nothing of it is stored.
func TestInterruptBeforeBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.conf.Interrupt = true
	w.model.scenes = []scene{after(func(call) { w.ask(t, "no, this", session.WhenNext) }, wants("a")), says("This.")}
	w.ask(t, "that", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt interrupted: that", "prompt processed: no, this", "reply pending: This.")
	if len(w.tools.ran) != 0 {
		t.Errorf("ran %v", w.tools.ran)
	}
}

// A7, L1: of a turn that is stopped after a crash, the calls without a result are interrupted, shown or not; those with one stay.
func TestUnansweredCallsAreInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a"), wants("b", "c"))
	w.ask(t, "work", session.WhenNext)
	runs := 0
	w.tools.do = func(call) {
		if runs++; runs == 2 {
			w.crash()
		}
	}
	if err := w.crashing(t); err == nil {
		t.Fatal("ended well")
	}
	w.change(t, func(d *session.Draft) error { // delivery has shown one of them
		all := w.messages(t)
		return d.Move(&all[5], message.Show)
	})
	w.now.Advance(61 * time.Second)
	w.stop(t)
	w.mustRun(t)
	w.want(t, "prompt interrupted: work", "thought responded: …", "call responded: a", "result responded: …", "thought responded: …",
		"call interrupted: b", "call interrupted: c", "note pending: …")
	if len(w.tools.ran) != 3 || w.model.calls() != 2 {
		t.Errorf("ran %v, %d model calls", w.tools.ran, w.model.calls())
	}
}

// L4: a turn whose prompts the sweep put back is gone on with from its stored step.
func TestRequeued(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a"), says("Done."))
	w.ask(t, "work", session.WhenNext)
	w.tools.do = func(call) { w.crash() }
	if err := w.crashing(t); err == nil {
		t.Fatal("ended well")
	}
	w.now.Advance(301 * time.Second)
	w.change(t, func(d *session.Draft) error {
		m := w.messages(t)[0]
		d.Orphan()
		return d.Move(&m, message.Requeue)
	})
	w.mustRun(t)
	w.want(t, "prompt processed: work", "thought responded: …", "call responded: a", "reply pending: Done.")
	if len(w.tools.ran) != 1 {
		t.Errorf("ran %v", w.tools.ran)
	}
}
