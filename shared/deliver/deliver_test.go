package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/deliver"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/session"
)

// L2, M5.5: a plain turn is one write: the reply, with what it cost, in the thread it answers.
func TestPlainReply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.reply(t, "Hello **Ann**.")
	w.mustRun(t)
	w.want(t, "post Hello Ann. [done Done]")
	got := w.chat.all[0]
	if got.post.To != (platform.Address{ChannelID: "c", ThreadID: "thread"}) || got.card.Footer == "" || got.card.Button != nil || got.post.Key == got.post.ID {
		t.Errorf("posted %+v with %+v", got.post, got.card)
	}
	if all := w.statuses(t); !slices.Equal(all, []string{"1 processed", "5 delivered"}) {
		t.Errorf("statuses %v", all)
	}
	w.drained(t)
	w.mustRun(t)
	if n := len(w.chat.all); n != 1 {
		t.Errorf("%d writes after a second wake-up", n)
	}
}

// M5.11: what belongs to no turn has no card.
func TestNotification(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "one")
	w.note(t, "two")
	w.mustRun(t)
	w.want(t, "post one", "post two")
	w.drained(t)
}

// cases B68, B70: chunks have keys of their own and follow the thread in which the first really landed; after a failure the sending goes on
// with the chunk that failed, under its same key.
func TestChunks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chat.features.MaxBytes = 10
	w.note(t, "aaaa aaaa bbbb bbbb cccc cccc dddd")
	fail := true
	w.chat.create = func(n int, _ platform.Post) error {
		if n == 2 && fail {
			return errs.Retryable(errors.New("busy"), 5*time.Minute)
		}
		return nil
	}
	if err := w.run(t.Context()); err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v, want it tried again", err)
	}
	s := w.session(t)
	if s.Outbox.Sending.Chunks != 2 || s.SendLease.Held() || w.messages(t)[0].Status != message.StatusPending {
		t.Errorf("sending %+v, lease %+v, message %s", s.Outbox.Sending, s.SendLease, w.messages(t)[0].Status)
	}
	fail = false
	w.now.Advance(5 * time.Minute)
	w.hire(t) // another instance
	w.mustRun(t)
	w.want(t, "post aaaa aaaa", "post bbbb bbbb", "post cccc cccc", "post cccc cccc", "post dddd")
	keys, ids := map[string]int{}, map[string]int{}
	for i, c := range w.chat.all {
		keys[c.post.Key]++
		ids[c.post.ID]++
		want := "landed"
		if i == 0 {
			want = "thread"
		}
		if c.post.To.ThreadID != want {
			t.Errorf("chunk %d goes to %q, want %q", i, c.post.To.ThreadID, want)
		}
	}
	if len(keys) != 4 || len(ids) != 4 || keys[w.chat.all[2].post.Key] != 2 || w.chat.all[2].post.ID != w.chat.all[3].post.ID {
		t.Errorf("keys %v, ids %v", keys, ids)
	}
	w.drained(t)
}

// A handler that dies between a write and its commit: the next one writes under the same key, which the platform knows.
func TestCrashAfterWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "hello")
	ctx, crash := context.WithCancel(t.Context())
	w.chat.create = func(n int, _ platform.Post) error {
		if n == 0 {
			crash()
		}
		return nil
	}
	if err := w.run(ctx); err == nil {
		t.Fatal("ended well")
	}
	w.now.Advance(61 * time.Second)
	w.mustRun(t)
	w.want(t, "post hello", "post hello")
	if a, b := w.chat.all[0].post, w.chat.all[1].post; a.Key != b.Key || a.ID != b.ID {
		t.Errorf("%+v, then %+v", a, b)
	}
	w.drained(t)
}

// case B65: a text that the platform finds too long is split once more, each piece under a key of its own; one that is too long even so is
// given up.
func TestTooLong(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit int
		want  message.Status
		posts int
	}{"fits in pieces": {1600, message.StatusDelivered, 1 + 3}, "never fits": {100, message.StatusError, 1 + 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.chat.create = func(_ int, p platform.Post) error {
				if len(p.Text) > tt.limit {
					return errs.Permanentf("400: %w", platform.ErrTooLong)
				}
				return nil
			}
			w.note(t, strings.Repeat("word ", 600))
			w.mustRun(t)
			if got := w.messages(t)[0].Status; got != tt.want || len(w.chat.all) != tt.posts {
				t.Errorf("message %s after %d posts", got, len(w.chat.all))
			}
			keys := map[string]bool{}
			for _, c := range w.chat.all {
				keys[c.post.Key] = true
			}
			if len(keys) != tt.posts {
				t.Errorf("%d keys for %d posts", len(keys), tt.posts)
			}
			if last := w.chat.all[len(w.chat.all)-1]; tt.want == message.StatusDelivered && last.post.To.ThreadID != "landed" {
				t.Errorf("the second piece goes to %q", last.post.To.ThreadID)
			}
			w.drained(t)
		})
	}
}

// M3, case B75: what can never be delivered ends in error; the session is told by a quiet alert that wakes nobody, and the next message is not held up.
func TestUndeliverable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin(t)
	w.reply(t, "lost")
	w.note(t, "found")
	w.chat.create = func(_ int, p platform.Post) error {
		if p.Text == "lost" {
			return errs.Permanentf("403: not a member")
		}
		return nil
	}
	w.mustRun(t)
	all := w.messages(t)
	if m := all[1]; m.Status != message.StatusError || !strings.Contains(m.Metadata.DeliveryError, "403") {
		t.Errorf("message %+v", m)
	}
	if m := all[2]; m.Status != message.StatusDelivered {
		t.Errorf("the next one is %s", m.Status)
	}
	alert := all[3]
	if alert.Class() != message.ClassAlert || alert.Status != message.StatusPendingAgent || strings.Contains(alert.Content, "403") {
		t.Errorf("alert %+v", alert)
	}
	s := w.session(t)
	if len(s.Inbox) != 1 || s.Inbox[0].When != session.WhenQuiet || s.Inbox[0].Seq != alert.Seq || s.TurnWork() {
		t.Errorf("inbox %+v, turn work %v", s.Inbox, s.TurnWork())
	}
	w.drained(t)
}

// Failures that pass are waited out in place, at least as long as the platform asks, under one key.
func TestRetriesInPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "hello")
	w.chat.create = func(n int, _ platform.Post) error {
		return []error{errors.New("connection reset"), errs.Retryable(errors.New("429"), 7*time.Second), errs.Retryable(errors.New("503"), 0), nil}[n]
	}
	w.mustRun(t)
	var waits []time.Duration
	for i := 1; i < len(w.chat.all); i++ {
		waits = append(waits, w.chat.all[i].at.Sub(w.chat.all[i-1].at))
		if w.chat.all[i].post.Key != w.chat.all[0].post.Key {
			t.Error("another key")
		}
	}
	if !slices.Equal(waits, []time.Duration{time.Second, 7 * time.Second, 4 * time.Second}) {
		t.Errorf("waited %v", waits)
	}
	w.drained(t)
}

// A platform that stays down gets five tries a wake-up; the lease is let go, so that the retry need not wait for it.
func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "hello")
	w.chat.create = func(int, platform.Post) error { return errors.New("down") }
	err := w.run(t.Context())
	if err == nil || errs.KindOf(err) != errs.KindRetryable || len(w.chat.all) != 5 {
		t.Errorf("%v after %d tries", err, len(w.chat.all))
	}
	if s := w.session(t); s.SendLease.Held() || !s.SendWork() || s.WakeAt == nil {
		t.Errorf("lease %+v, wake at %v", s.SendLease, s.WakeAt)
	}
}

// A delay that is longer than a handler waits is kept by whoever comes next, however soon that is.
func TestNamedDelayIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "hello")
	until := start.Add(5 * time.Minute)
	w.chat.create = func(int, platform.Post) error {
		if w.now.Now().Before(until) {
			return errs.Retryable(errors.New("429"), until.Sub(w.now.Now()))
		}
		return nil
	}
	if err := w.run(t.Context()); err == nil || len(w.chat.all) != 1 {
		t.Fatalf("%v after %d tries", err, len(w.chat.all))
	}
	s := w.session(t)
	if !s.Outbox.NotBefore.Equal(until) || s.WakeAt == nil || s.WakeAt.Before(until) {
		t.Errorf("not before %s, the sweep comes at %v", s.Outbox.NotBefore, s.WakeAt)
	}
	for range 3 { // new messages wake the outbox, and Pub/Sub tries again after 10 s
		w.now.Advance(10 * time.Second)
		w.note(t, "more")
		if err := w.run(t.Context()); err == nil || errs.KindOf(err) != errs.KindRetryable {
			t.Errorf("%v, want it to come again", err)
		}
		if s := w.session(t); s.SendLease.Held() || !s.Outbox.NotBefore.Equal(until) {
			t.Errorf("lease %+v, not before %s", s.SendLease, s.Outbox.NotBefore)
		}
	}
	w.now.Advance(until.Sub(w.now.Now()) - 5*time.Second)
	w.mustRun(t) // the rest is waited out in place
	if first := w.chat.all[1].at; first.Before(until) || len(w.chat.all) != 5 {
		t.Errorf("written to at %s, %d writes", first, len(w.chat.all))
	}
	w.drained(t)
}

// case B73: writes to one channel keep apart, whichever session they come from, and also after another instance's.
func TestPace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.chat.features.Every = time.Second
	w.chat.features.MaxBytes = 10
	w.note(t, "aaaa aaaa bbbb bbbb")
	w.note(t, "cccc")
	w.mustRun(t)
	w.id = "s2" // another conversation of the same channel
	w.note(t, "dddd")
	w.mustRun(t)
	w.id = "s1"
	w.note(t, "eeee")
	w.hire(t)
	w.mustRun(t)
	for i := 1; i < 4; i++ {
		if gap := w.chat.all[i].at.Sub(w.chat.all[i-1].at); gap < time.Second {
			t.Errorf("write %d came %s after the one before", i, gap)
		}
	}
	if gap := w.chat.all[4].at.Sub(w.chat.all[2].at); gap < time.Second {
		t.Errorf("another instance wrote %s after the session's last write", gap)
	}
}

// case B32: what comes while the outbox is drained is sent by the same handler; nothing is stranded between "empty" and "released".
func TestMoreWhileSending(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "one")
	w.chat.create = func(n int, _ platform.Post) error {
		if n < 3 {
			w.note(t, fmt.Sprint("more ", n))
		}
		return nil
	}
	w.mustRun(t)
	w.want(t, "post one", "post more 0", "post more 1", "post more 2")
	w.drained(t)
}

// cases B31, B44: a sender whose lease was taken over marks nothing; whoever has it sends under the same key.
func TestFenced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "hello")
	w.chat.create = func(n int, _ platform.Post) error {
		if n == 0 {
			w.change(t, func(d *session.Draft) error {
				d.ClaimSend(session.Claimant{Holder: "rival", EventID: "r"}, d.SendLease.Until)
				return nil
			})
		}
		return nil
	}
	if err := w.run(t.Context()); errs.KindOf(err) != errs.KindFenced {
		t.Errorf("%v, want it fenced", err)
	}
	if s := w.session(t); w.messages(t)[0].Status != message.StatusPending || s.SendLease.Holder != "rival" || s.Outbox.Cursor != 0 {
		t.Errorf("message %s, lease %+v", w.messages(t)[0].Status, s.SendLease)
	}
	w.now.Advance(3 * time.Minute)
	w.mustRun(t)
	if w.chat.all[0].post.Key != w.chat.all[1].post.Key {
		t.Error("another key")
	}
	w.drained(t)
}

// A sender that waits long for the platform keeps its lease alive meanwhile.
func TestLeaseOutlivesWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.note(t, "hello")
	w.chat.create = func(n int, _ platform.Post) error {
		if s := w.session(t); !s.SendLease.Live(w.now.Now().Add(25 * time.Second)) {
			t.Errorf("try %d at %s under a lease until %s", n, w.now.Now(), s.SendLease.Until)
		}
		if n < 4 {
			return errs.Retryable(errors.New("429"), 29*time.Second)
		}
		return nil
	}
	w.mustRun(t)
	w.drained(t)
}

// The lease's table, and what can never be done.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.run(t.Context()); errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("no session: %v, want a permanent error", err)
	}
	w.note(t, "hello")
	w.change(t, func(d *session.Draft) error {
		d.ClaimSend(session.Claimant{Holder: "h", EventID: "mine"}, w.now.Now())
		return nil
	})
	if err := w.run(t.Context()); err != nil {
		t.Errorf("another's lease: %v, want it acked", err)
	}
	if err := w.Handle(t.Context(), bus.Wake{Session: w.id}, bus.Delivery{EventID: "mine"}); errs.KindOf(err) != errs.KindRetryable || err == nil {
		t.Errorf("this very wake-up's: %v, want it to come back", err)
	}
	w.want(t)
	w.leave()
	if err := w.run(t.Context()); err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("while it goes: %v, want it nacked", err)
	}
}

// A platform that this function does not serve is the operator's to mend.
func TestUnknownPlatform(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(t, func(d *session.Draft) error { d.ChatbotID = "pigeon"; return nil })
	w.note(t, "hello")
	if err := w.run(t.Context()); errs.KindOf(err) != errs.KindPermanent {
		t.Errorf("%v, want a permanent error", err)
	}
}

// A sender that is told to go, or whose time is up, comes to its commit, lets go and wakes the next.
func TestLetsGo(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*world){
		"told to go":  func(w *world) { w.leave() },
		"out of time": func(w *world) { w.now.Advance(401 * time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.note(t, "one")
			w.note(t, "two")
			w.chat.create = func(n int, _ platform.Post) error {
				if n == 0 {
					end(w)
				}
				return nil
			}
			w.mustRun(t)
			w.want(t, "post one")
			if s := w.session(t); s.SendLease.Held() || !slices.Equal(w.wakes.all, []string{"deliveries s1"}) {
				t.Errorf("lease %+v, published %v", s.SendLease, w.wakes.all)
			}
			w.hire(t)
			w.mustRun(t)
			w.want(t, "post one", "post two")
			w.drained(t)
		})
	}
}

// New refuses to be built without what it needs, and names it.
func TestNew(t *testing.T) {
	t.Parallel()
	_, err := deliver.New(deliver.Deps{})
	for _, name := range []string{"Open", "Bus", "Adapters", "Clock", "NewID", "Log", "Going"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}
