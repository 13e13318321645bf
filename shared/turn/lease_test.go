package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/turn"
)

// A12: a turn that outlives its invocation is stored, released and woken, and the next one goes on from there: nothing is asked or run twice.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{Checkpoint: 30 * time.Second}, wants("a"), says("Done."))
	w.ask(t, "work", session.WhenNext)
	w.tools.do = func(c call) { _ = c.wait(w.now, 40*time.Second) }
	w.mustRun(t)
	w.want(t, "prompt processing: work", "thought responded: …", "call responded: a", "result responded: …")
	w.free(t, true)
	if s := w.session(t); s.Turn.Step != 1 || s.Turn.Recoveries != 0 || !w.wakes.has(wakeTurn) || s.WakeAt == nil {
		t.Errorf("turn %+v, wake at %v, published %v", s.Turn, s.WakeAt, w.wakes.all)
	}
	w.mustRun(t)
	w.want(t, "prompt processed: work", "thought responded: …", "call responded: a", "result responded: …", "reply pending: Done.")
	if s := w.session(t); len(w.tools.ran) != 1 || w.model.calls() != 2 || s.TurnLease.Epoch != 2 {
		t.Errorf("ran %v, %d model calls, epoch %d", w.tools.ran, w.model.calls(), s.TurnLease.Epoch)
	}
	if m := w.messages(t)[4].Metadata.TurnMetrics; m.TurnTokens != 170 || m.TurnToolCalls != 1 || m.TurnTime < 40 {
		t.Errorf("metrics %+v", m)
	}
}

// case B31: while a model thinks the lease is kept alive, at most every 10 s, after the one that announces the turn.
func TestRenewal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	var until []time.Time
	w.model.scenes = []scene{after(func(c call) {
		for range 9 {
			_ = c.wait(w.now, 10*time.Second)
			s := w.session(t)
			if !s.TurnLease.Live(w.now.Now().Add(30 * time.Second)) {
				t.Errorf("at %s the lease ends at %s", w.now.Now(), s.TurnLease.Until)
			}
			until = append(until, s.TurnLease.Until)
		}
	}, says("Done."))}
	w.ask(t, "think", session.WhenNext)
	var commits []time.Time
	w.client.Faults.Add(testenv.Fault{Match: func(req any) bool {
		if _, ok := req.(*firestorepb.CommitRequest); ok {
			commits = append(commits, w.now.Now())
		}
		return false
	}})
	w.mustRun(t)
	if w.session(t).Turn != nil || len(until) != 9 {
		t.Fatalf("not finished: %v", w.record(t))
	}
	if n := len(commits); n < 8 || n > 14 { // claim, announcement, a renewal each 10 s of the 90 or a little more, finish
		t.Errorf("%d commits: %v", n, commits)
	}
	for i := 3; i < len(commits)-1; i++ {
		if gap := commits[i].Sub(commits[i-1]); gap < 10*time.Second || gap > 20*time.Second {
			t.Errorf("renewed after %s: %v", gap, commits)
		}
	}
	if !w.wakes.has(wakeDeliver) {
		t.Error("the silent turn was not announced")
	}
}

// Two seconds of silence ask for a card, once, and a tool that takes long asks for none where a step is stored already.
func TestAnnounce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{after(func(c call) {
		if w.session(t).Turn.Announced {
			t.Error("announced at once")
		}
		_ = c.wait(w.now, 5*time.Second)
		if !w.session(t).Turn.Announced || !w.wakes.has(wakeDeliver) {
			t.Errorf("after 5 s: %+v, published %v", w.session(t).Turn, w.wakes.all)
		}
	}, says("Done."))}
	w.ask(t, "think", session.WhenNext)
	w.mustRun(t)
}

// cases B31, B44: a holder whose lease was taken over writes nothing more, whether it learns of it while the model thinks or at its commit.
func TestFenced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		next scene
		wait bool
	}{
		"while the model thinks": {says("Stale."), true}, "at the reply": {says("Stale."), false}, "at the calls": {wants("a"), false},
		"at the failure": {fails(&model.Fault{Kind: model.FaultRequest}), false}, "at the nudge": {says(""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{})
			w.model.scenes = []scene{after(func(c call) {
				w.takeOver(t)
				if tt.wait {
					c.ended()
				}
			}, tt.next)}
			w.ask(t, "hello", session.WhenNext)
			err := w.run(t.Context())
			if errs.KindOf(err) != errs.KindFenced {
				t.Errorf("%v, want it fenced", err)
			}
			w.want(t, "prompt processing: hello")
			if s := w.session(t); s.TurnLease.Holder != "rival" || len(w.tools.ran) != 0 || w.wakes.has(wakeTurn) {
				t.Errorf("lease %+v, ran %v, published %v", s.TurnLease, w.tools.ran, w.wakes.all)
			}
		})
	}
}

// A lease lost while tools run: the results are the stale holder's, and are not stored.
func TestFencedWhileToolsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a"))
	w.tools.do = func(call) { w.takeOver(t) }
	w.ask(t, "work", session.WhenNext)
	if err := w.run(t.Context()); errs.KindOf(err) != errs.KindFenced {
		t.Errorf("%v, want it fenced", err)
	}
	w.want(t, "prompt processing: work", "thought responded: …", "call responded: a")
}

// takeOver is another instance that finds the lease expired.
func (w *world) takeOver(t *testing.T) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		if v := d.ClaimTurn(session.Claimant{Holder: "rival", EventID: "rival's"}, d.TurnLease.Until); v != session.VerdictClaimed {
			return fmt.Errorf("take over: %s", v)
		}
		d.RenewTurn(w.now.Now().Add(time.Hour)) // and lives on
		return nil
	})
}

// case B42, the lease's table: another's live lease is left alone and acked; one under this very wake-up is waited for.
func TestLiveLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, says("x"))
	w.ask(t, "hello", session.WhenNext)
	w.change(t, func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "mine"}, w.now.Now())
		d.Begin(w.now.Now())
		return nil
	})
	before := w.session(t).Swap
	if err := w.run(t.Context()); err != nil {
		t.Errorf("another's wake-up: %v, want it acked", err)
	}
	err := w.Handle(t.Context(), bus.Wake{Session: id}, bus.Delivery{EventID: "mine"})
	if err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("this very wake-up: %v, want it to come back", err)
	}
	if w.model.calls() != 0 || w.session(t).Swap != before {
		t.Error("something was done under another's lease")
	}
}

// L5, case B47: a crash between calls and results: the tool is not run again, and the model reads that it was interrupted.
func TestCrashWhileToolsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a"), says("Was it done?"))
	ctx, crash := context.WithCancel(t.Context())
	w.tools.do = func(call) { crash() }
	w.ask(t, "work", session.WhenNext)
	if err := w.run(ctx); err == nil {
		t.Fatal("a handler whose time is over says that it is done")
	}
	w.want(t, "prompt processing: work", "thought responded: …", "call responded: a")
	w.now.Advance(61 * time.Second)
	w.mustRun(t)
	w.want(t, "prompt processed: work", "thought responded: …", "call responded: a", "reply pending: Was it done?")
	if r := w.model.request(1); len(w.tools.ran) != 1 || !strings.Contains(r, "result a [The tool call was interrupted") {
		t.Errorf("ran %v, shown:\n%s", w.tools.ran, r)
	}
}

// case B34: a session that ends its worker each time is given up at the third takeover without progress, and says so.
func TestRecoveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{func(ctx context.Context, yield func(model.Delta, error) bool) {
		w.crash()
		<-ctx.Done()
		yield(model.Delta{}, ctx.Err())
	}}
	w.ask(t, "poison", session.WhenNext)
	for i := range 3 {
		if err := w.crashing(t); err == nil {
			t.Fatalf("run %d ended well", i)
		}
		if s := w.session(t); s.Turn.Recoveries != i {
			t.Errorf("run %d: %d recoveries", i, s.Turn.Recoveries)
		}
		w.now.Advance(61 * time.Second)
	}
	w.mustRun(t)
	w.want(t, "prompt error: poison", "notice pending: …")
	if w.model.calls() != 3 {
		t.Errorf("%d model calls, want 3", w.model.calls())
	}
	w.free(t, false)
}

// case B34: a stored step is progress, a model call is not.
func TestRecoveriesCountAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	die := func(ctx context.Context, yield func(model.Delta, error) bool) {
		w.crash()
		<-ctx.Done()
		yield(model.Delta{}, ctx.Err())
	}
	w.model.scenes = []scene{die, die, wants("a"), die, die, says("Made it.")}
	w.ask(t, "flaky", session.WhenNext)
	for i := range 4 { // the third run stores a step and dies after it
		if err := w.crashing(t); err == nil {
			t.Fatalf("run %d ended well", i)
		}
		w.now.Advance(61 * time.Second)
	}
	w.mustRun(t)
	w.want(t, "prompt processed: flaky", "thought responded: …", "call responded: a", "result responded: …", "reply pending: Made it.")
}

// A turn whose instance is told to go gives up its inference, lets go and wakes the next; nothing new is claimed after that.
func TestGoing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{after(func(c call) { w.leave(); c.ended() }, says("Never.")), says("Hello.")}
	w.ask(t, "hello", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processing: hello")
	w.free(t, true)
	if !w.wakes.has(wakeTurn) {
		t.Errorf("published %v", w.wakes.all)
	}
	if err := w.run(t.Context()); err == nil || errs.KindOf(err) != errs.KindRetryable || w.model.calls() != 1 {
		t.Errorf("while it goes: %v after %d calls, want it nacked", err, w.model.calls())
	}
	w.hire(t, turn.Config{})
	w.mustRun(t)
	w.want(t, "prompt processed: hello", "reply pending: Hello.")
	if s := w.session(t); s.TurnLease.Epoch != 2 {
		t.Errorf("epoch %d", s.TurnLease.Epoch)
	}
}

// A tool that runs when the instance is told to go is let finish, and its result is stored.
func TestGoingWhileToolsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, wants("a"), says("Done."))
	w.tools.do = func(c call) {
		w.leave()
		if err := c.wait(w.now, 5*time.Second); err != nil {
			t.Errorf("the tool was cancelled: %v", err)
		}
	}
	w.ask(t, "work", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processing: work", "thought responded: …", "call responded: a", "result responded: …")
	w.free(t, true)
}

// case B57: a delay that the provider names is waited out in place, under the lease.
func TestRateLimitInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{}, fails(&model.Fault{Kind: model.FaultRateLimited, RetryAfter: 54 * time.Second}), says("Hello."))
	w.ask(t, "hello", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processed: hello", "reply pending: Hello.")
	if waited := w.now.Now().Sub(start); waited < 54*time.Second || w.session(t).TurnLease.Epoch != 1 || w.model.calls() != 2 {
		t.Errorf("waited %s, %d calls", waited, w.model.calls())
	}
}

// case B57: one that this invocation has no time for is waited out by the next, which does not ask before it.
func TestRateLimitAcrossInvocations(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{Checkpoint: 60 * time.Second}, fails(&model.Fault{Kind: model.FaultRateLimited, RetryAfter: 90 * time.Second}), says("Hello."))
	w.ask(t, "hello", session.WhenNext)
	asked := w.now.Now()
	w.mustRun(t)
	w.free(t, true)
	if s := w.session(t); s.Turn.Retries != 1 || s.Turn.NotBefore.Sub(asked) < 90*time.Second || !w.wakes.has(wakeTurn) {
		t.Errorf("turn %+v, published %v", s.Turn, w.wakes.all)
	}
	for runs := 0; w.session(t).Turn != nil; runs++ {
		if runs == 5 {
			t.Fatal("never goes on")
		}
		w.mustRun(t)
	}
	w.want(t, "prompt processed: hello", "reply pending: Hello.")
	if waited := w.now.Now().Sub(asked); waited < 90*time.Second || w.model.calls() != 2 {
		t.Errorf("asked again after %s, %d calls", waited, w.model.calls())
	}
}

// case B57: a provider that never has time ends the turn in words, and so does one that asks for longer than a person waits.
func TestRateLimitForEver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after time.Duration
		calls int
	}{"again and again": {90 * time.Second, 4}, "an hour": {time.Hour, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{Checkpoint: 60 * time.Second}, fails(&model.Fault{Kind: model.FaultRateLimited, RetryAfter: tt.after}))
			w.ask(t, "hello", session.WhenNext)
			w.mustRun(t)
			for runs := 0; w.session(t).Turn != nil; runs++ {
				if runs == 20 {
					t.Fatal("never given up")
				}
				w.mustRun(t)
			}
			w.want(t, "prompt error: hello", "notice pending: …")
			if w.model.calls() != tt.calls {
				t.Errorf("%d calls, want %d", w.model.calls(), tt.calls)
			}
		})
	}
}

// Stop ends even a wait for the provider.
func TestStopWhileWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{Checkpoint: 60 * time.Second}, fails(&model.Fault{Kind: model.FaultRateLimited, RetryAfter: 90 * time.Second}))
	w.ask(t, "hello", session.WhenNext)
	w.mustRun(t)
	w.stop(t)
	w.mustRun(t)
	w.want(t, "prompt interrupted: hello", "note pending: …")
	if w.model.calls() != 1 || w.now.Now().Sub(start) > 60*time.Second {
		t.Errorf("%d calls, stopped after %s", w.model.calls(), w.now.Now().Sub(start))
	}
}

// A model call that hangs is given up after its own time and tried again; the turn lives on.
func TestModelHangs(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context, yield func(model.Delta, error) bool) {
		<-ctx.Done()
		yield(model.Delta{}, ctx.Err())
	}
	w := newWorld(t, turn.Config{ModelTimeout: 20 * time.Millisecond}, hang, says("Hello."))
	w.ask(t, "hello", session.WhenNext)
	w.mustRun(t)
	w.want(t, "prompt processed: hello", "reply pending: Hello.")
}

// The handler's own end is no fault of the model's: nothing is told to people, and the wake-up comes again.
func TestHandlerEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, turn.Config{})
	w.model.scenes = []scene{func(ctx context.Context, yield func(model.Delta, error) bool) {
		w.crash()
		yield(model.Delta{}, ctx.Err())
	}}
	w.ask(t, "hello", session.WhenNext)
	if err := w.crashing(t); !errors.Is(err, context.Canceled) || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v, want the context's end", err)
	}
	w.want(t, "prompt processing: hello")
	if got := w.messages(t)[0].Status; got != message.StatusProcessing {
		t.Errorf("prompt %s", got)
	}
}
