package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

func mustStore(t *testing.T, c *testenv.Client, stage store.Stager) *store.Store {
	t.Helper()
	s, err := store.New(c.Firestore, stage, impatient{}, func() string { return fmt.Sprintf("%p-%s", c, t.Name()) + chat.Hash(fmt.Sprint(c.Counts()))[:8] })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lost are the codes by which a commit may end although it happened.
var lost = []codes.Code{codes.DeadlineExceeded, codes.Canceled, codes.Internal, codes.Unknown, codes.Unavailable}

// victim is a session under a store whose commits are tampered with, and a rival on another instance.
type victim struct {
	rig
	rival rig
	id    string
	h     *store.Session
}

func newVictim(t *testing.T) victim {
	t.Helper()
	env, r := open(t)
	v := victim{rig: r, rival: on(t, env.Instance("rival"), impatient{}), id: r.started(t)}
	v.h = v.Session(v.id)
	if _, err := v.h.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return v
}

// acts is a rival's swap, run as part of a fault.
func (v victim) acts(t *testing.T, times int) func() {
	return func() {
		h := v.rival.Session(v.id)
		for i := range times {
			if _, err := h.Change(context.WithoutCancel(t.Context()), say(fmt.Sprint("rival ", i))); err != nil {
				t.Errorf("rival: %v", err)
			}
		}
	}
}

// case B37: a commit happened and its answer was lost: it counts, and counts once.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	for _, code := range lost {
		for name, rivals := range map[string]int{"alone": 0, "another on top": 1, "many on top": 20} {
			t.Run(fmt.Sprint(code, "/", name), func(t *testing.T) {
				t.Parallel()
				v := newVictim(t)
				v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, After: v.acts(t, rivals), Lose: code})
				s, err := v.h.Change(t.Context(), say("mine"))
				if err != nil {
					t.Fatal(err)
				}
				got := v.contents(t, v.id)
				if len(got) != 1+rivals || got[0] != "mine" || slices.Contains(got[1:], "mine") {
					t.Errorf("messages %v", got)
				}
				if s.Seq != int64(1+rivals) {
					t.Errorf("the returned session stands at %d", s.Seq)
				}
				if _, err := v.h.Change(t.Context(), say("more")); err != nil {
					t.Errorf("the handle is of no use any more: %v", err)
				}
			})
		}
	}
}

// case B37: a commit did not happen: nothing is written, and the work comes again. The SDK itself repeats what was Unavailable.
func TestCommitThatDidNotHappen(t *testing.T) {
	t.Parallel()
	for _, code := range lost {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Fail: code})
			_, err := v.h.Change(t.Context(), say("mine"))
			if code == codes.Unavailable {
				if err != nil {
					t.Errorf("not repeated: %v", err)
				}
				return
			}
			if err == nil || errs.KindOf(err) != errs.KindRetryable || errors.Is(err, errs.ErrConflict) || len(v.contents(t, v.id)) != 0 {
				t.Errorf("%v, messages %v", err, v.contents(t, v.id))
			}
			if _, err := v.h.Change(t.Context(), say("again")); err != nil {
				t.Errorf("the handle is of no use any more: %v", err)
			}
		})
	}
}

// case B37: a commit did not happen, and another came first: it is decided anew on what stands there now.
func TestCommitThatCameTooLate(t *testing.T) {
	t.Parallel()
	for _, code := range lost {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Before: v.acts(t, 1), Fail: code})
			if _, err := v.h.Change(t.Context(), say("mine")); err != nil {
				t.Fatal(err)
			}
			if got := v.contents(t, v.id); !slices.Equal(got, []string{"rival 0", "mine"}) {
				t.Errorf("messages %v", got)
			}
		})
	}
}

// case B37: where so much came since that nobody can tell, the change is not repeated here: it may have happened.
func TestForgottenSwap(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, After: v.acts(t, 80), Lose: codes.DeadlineExceeded})
	_, err := v.h.Change(t.Context(), say("mine"))
	if err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v, want it to be retryable", err)
	}
	if got := v.contents(t, v.id); len(got) != 81 || got[0] != "mine" {
		t.Errorf("%d messages, the first %q", len(got), got[0])
	}
}

// case B37: the handler's own time is over while it commits: what happened is found out all the same.
func TestCancelledCommit(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, After: cancel, Lose: codes.Canceled})
	if _, err := v.h.Change(ctx, say("mine")); err != nil {
		t.Errorf("committed, but %v", err)
	}
	if got := v.contents(t, v.id); len(got) != 1 {
		t.Errorf("messages %v", got)
	}
}

// case B37: nobody answers the question either: the work comes again, and the handle forgets what it believed.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: codes.DeadlineExceeded})
	v.client.Faults.Add(testenv.Fault{Method: "BatchGetDocuments", Times: 1, Fail: codes.PermissionDenied})
	if _, err := v.h.Change(t.Context(), say("mine")); err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v", err)
	}
	if s, err := v.h.Change(t.Context(), say("more")); err != nil || s.Seq != 2 {
		t.Errorf("seq %d, %v", s.Seq, err)
	}
}

// P1, case B37: the commit that makes a conversation loses its answer: there is one session, and the prompt is in it once.
func TestLostAnswerOfTheFirstChange(t *testing.T) {
	t.Parallel()
	for _, code := range lost {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			_, r := open(t)
			r.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: code})
			s, err := r.conversation().Change(t.Context(), receive("k", "hi"))
			if err != nil {
				t.Fatal(err)
			}
			now, err := r.conversation().Load(t.Context())
			if err != nil || now.ID != s.ID || len(now.Inbox) != 1 || len(r.contents(t, s.ID)) != 1 {
				t.Errorf("%+v, %v", now, err)
			}
		})
	}
}

// case B35: the database gives way to another transaction: it is tried again.
func TestAborted(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Aborted, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 3, Fail: code})
			if _, err := v.h.Change(t.Context(), say("mine")); err != nil {
				t.Error(err)
			}
			if got := v.contents(t, v.id); !slices.Equal(got, []string{"mine"}) {
				t.Errorf("messages %v", got)
			}
		})
	}
}

// cases B35, B38: it is tried a bounded number of times, then the wake-up goes back. (The SDK pauses up to a second after each ABORTED.)
func TestAbortedForEver(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.client.Faults.Add(testenv.Fault{Method: "Commit", Fail: codes.Aborted})
	before := v.client.Counts()
	decisions := 0
	_, err := v.h.Change(t.Context(), func(d *session.Draft) error { decisions++; return say("never")(d) })
	if err == nil || errs.KindOf(err) != errs.KindRetryable || errors.Is(err, errs.ErrConflict) {
		t.Errorf("%v", err)
	}
	if n := v.client.Counts().Minus(before).Calls["Commit"]; n != decisions || n < 5 || n > 20 {
		t.Errorf("%d commits for %d decisions", n, decisions)
	}
	if got := v.contents(t, v.id); len(got) != 0 {
		t.Errorf("messages %v", got)
	}
}

// case B38: rivals that win every time end it after a bounded number of attempts, and it is no conflict for the caller to look into.
func TestAlwaysTooLate(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	n := 0
	_, err := v.h.Change(t.Context(), func(d *session.Draft) error {
		n++
		v.acts(t, 1)()
		return say("never")(d)
	})
	if err == nil || errs.KindOf(err) != errs.KindRetryable || errors.Is(err, errs.ErrConflict) || n > 20 {
		t.Errorf("after %d attempts: %v", n, err)
	}
}

// What the database will never take is permanent; what it refuses for want of rights may pass once they arrive. Neither leaves anything behind.
func TestRefusedCommit(t *testing.T) {
	t.Parallel()
	for code, kind := range map[codes.Code]errs.Kind{
		codes.InvalidArgument: errs.KindPermanent, codes.PermissionDenied: errs.KindRetryable, codes.Unauthenticated: errs.KindRetryable,
	} {
		v := newVictim(t)
		v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Fail: code})
		if _, err := v.h.Change(t.Context(), say("mine")); errs.KindOf(err) != kind || err == nil {
			t.Errorf("%s: %v, want it %s", code, err, kind)
		}
		if got := v.contents(t, v.id); len(got) != 0 {
			t.Errorf("%s: messages %v", code, got)
		}
	}
}

// Text that no document holds is a permanent error before anything is sent: the SDK reports it like a lost connection, and it would be
// retried for ever, or hang.
func TestUnstorable(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	bad, huge := "a\xffb", strings.Repeat("x", 5<<20)
	change := func(decide func(*session.Draft) error) func() error {
		return func() error { return second(r.Session(id).Change(t.Context(), decide)) }
	}
	call := func(c message.Call) func(*session.Draft) error {
		return func(d *session.Draft) error {
			d.Create(author().ToolCall(message.Spot{Turn: 1, Step: 1}, "x", c))
			return nil
		}
	}
	event := func(e chat.Event) func() error {
		e.Platform, e.MessageID, e.Kind = "discord", "1", chat.KindMessage
		return func() error { return r.PutEvent(t.Context(), chat.NewRecord(e, now)) }
	}
	before := r.client.Counts()
	for name, try := range map[string]func() error{
		"content":            change(say(bad)),
		"huge bad content":   change(say(huge + bad)),
		"arguments":          change(call(message.Call{Name: "shell", Arguments: message.Arguments(`{"a":"` + bad + `"}`)})),
		"huge arguments":     change(call(message.Call{Name: "shell", Arguments: message.Arguments(`{"a":"` + huge + `"}`)})),
		"huge signature":     change(call(message.Call{Name: "shell", Signature: []byte(huge)})),
		"session":            change(func(d *session.Draft) error { d.Settings.Role = bad; return nil }),
		"told":               change(func(d *session.Draft) error { d.TellOnce(bad); return nil }),
		"huge session":       change(func(d *session.Draft) error { d.Settings.Tools = []string{huge}; return nil }),
		"system prompt":      change(func(d *session.Draft) error { d.Create(author().SystemPrompt("x")); return nil }), // M5.8
		"unknown class":      change(func(d *session.Draft) error { d.Create(message.Message{Role: "robot"}); return nil }),
		"event":              event(chat.Event{Text: bad}),
		"event's sender":     event(chat.Event{Sender: chat.Sender{Name: bad}}),
		"event's parameters": event(chat.Event{Action: chat.Action{Params: map[string]string{bad: "1"}}}),
		"huge event":         event(chat.Event{Text: huge}),
		"note":               func() error { return r.AddNote(t.Context(), "k", "n", bad, now) },
		"huge note":          func() error { return r.AddNote(t.Context(), "k", "n", huge, now) },
	} {
		if err := try(); err == nil || errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("%s: %v, want a permanent error", name, err)
		}
	}
	if n := r.client.Counts().Minus(before).Calls["Commit"]; n != 0 {
		t.Errorf("%d of them were sent", n)
	}
	if got := r.contents(t, id); len(got) != 0 {
		t.Errorf("messages %v", got)
	}
	// A dead letter is the last resort: it takes anything.
	if err := r.Bury(t.Context(), "e1", "turns", []byte(bad), errors.New(bad+huge)); err != nil {
		t.Errorf("bury: %v", err)
	}
}
