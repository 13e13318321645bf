package store_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

func event(id, channel string, at time.Duration) chat.Record {
	return chat.NewRecord(chat.Event{Platform: "discord", Kind: chat.KindMessage, MessageID: id, ChannelID: channel, Text: id, At: now.Add(at)}, now)
}

func (r rig) put(t *testing.T, e chat.Record) chat.Stored {
	t.Helper()
	if err := r.PutEvent(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got, err := r.Event(t.Context(), e.Key)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func ids(events []chat.Stored) string {
	var out string
	for _, e := range events {
		out += e.MessageID
	}
	return out
}

// P1; cases B1, B2, B3, B4: of any number that put one event, one does; the record stays as it is, settled or not.
func TestPutEventTwice(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	e := event("1", "c", 0)
	won := make([]bool, 10)
	var group errgroup.Group
	for i := range won {
		group.Go(func() error {
			err := r.PutEvent(t.Context(), e)
			won[i] = err == nil
			if err != nil && !errors.Is(err, errs.ErrExists) {
				return err
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(won, func(b bool) bool { return !b })); n != 1 {
		t.Errorf("%d of 10 put it", n)
	}
	stored, err := r.Event(t.Context(), e.Key)
	if err != nil {
		t.Fatal(err)
	}
	stored.Settle(chat.Decision{Effect: chat.EffectIgnore}, "ignored", "")
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{stored}}); err != nil {
		t.Fatal(err)
	}
	if err := r.PutEvent(t.Context(), e); !errors.Is(err, errs.ErrExists) {
		t.Errorf("put again: %v", err)
	}
	if got, err := r.Event(t.Context(), e.Key); err != nil || got.Pending || got.WakeAt != nil || got.Outcome != "ignored" {
		t.Errorf("the second put revived it: %+v, %v", got, err)
	}
	if _, err := r.Event(t.Context(), "none"); !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("unknown event: %v", err)
	}
}

// case B37: an event whose answer was lost is there; to put it again says so.
func TestPutEventLostAnswer(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.DeadlineExceeded, codes.Unavailable} {
		_, r := open(t)
		e := event("1", "c", 0)
		r.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: code})
		if err := r.PutEvent(t.Context(), e); err != nil && errs.KindOf(err) != errs.KindRetryable {
			t.Errorf("%s: %v", code, err)
		}
		if err := r.PutEvent(t.Context(), e); !errors.Is(err, errs.ErrExists) {
			t.Errorf("%s, put again: %v", code, err)
		}
	}
}

// P19: what waits of a route is read in the order of the platform's clock, the oldest first even where there is more than is read.
func TestPendingEvents(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	for i, id := range []string{"e", "b", "d", "a", "c"} {
		r.put(t, event(id, "c", time.Duration(id[0])*time.Second-time.Duration(i)*time.Millisecond))
	}
	r.put(t, event("x", "other", -time.Hour))
	settled := r.put(t, event("y", "c", -time.Hour))
	settled.Settle(chat.Decision{}, "ignored", "")
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{settled}}); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int]string{100: "abcde", 5: "abcde", 3: "abc", 1: "a"} {
		got, err := r.PendingEvents(t.Context(), "discord:c", limit)
		if err != nil || ids(got) != want {
			t.Errorf("limit %d: %s, %v, want %s", limit, ids(got), err, want)
		}
	}
}

// case B1: an event that nobody settled in time is due until it is settled.
func TestDueEvents(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	e := r.put(t, event("1", "c", 0))
	due := func(at time.Time) string {
		got, err := r.DueEvents(t.Context(), at, 10)
		if err != nil {
			t.Fatal(err)
		}
		return ids(got)
	}
	if got := due(now); got != "" {
		t.Errorf("due at once: %s", got)
	}
	if got := due(now.Add(time.Hour)); got != "1" {
		t.Errorf("due after an hour: %q", got)
	}
	e.Settle(chat.Decision{}, "ignored", "")
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{e}}); err != nil {
		t.Fatal(err)
	}
	if got := due(now.Add(time.Hour)); got != "" {
		t.Errorf("settled, and due: %s", got)
	}
}

// case B1: an event is settled once: in one swap with its session, or alone. Who comes second gets a conflict, and nothing of theirs is written.
func TestSettleOnce(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	e := r.put(t, event("1", "c", 0))
	e.Settle(chat.Decision{Effect: chat.EffectWake, By: "rule"}, "accepted", id)
	if _, err := r.Session(id).Settle(t.Context(), settling(e, receive("k1", "one"))); err != nil {
		t.Fatal(err)
	}
	before := r.client.Counts()
	if _, err := r.Session(id).Settle(t.Context(), settling(e, receive("k2", "two"))); !errors.Is(err, errs.ErrConflict) {
		t.Errorf("settled twice: %v", err)
	}
	if _, err := r.conversation().Settle(t.Context(), settling(e, receive("k3", "three"))); !errors.Is(err, errs.ErrConflict) {
		t.Errorf("settled twice by the conversation: %v", err)
	}
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{e}}); !errors.Is(err, errs.ErrConflict) {
		t.Errorf("settled twice, alone: %v", err)
	}
	if n := r.client.Counts().Minus(before).Calls["Commit"]; n != 3 {
		t.Errorf("%d commits for three conflicts: it was tried again", n)
	}
	if got := r.contents(t, id); !slices.Equal(got, []string{"one"}) {
		t.Errorf("messages %v", got)
	}
	if got, err := r.Event(t.Context(), e.Key); err != nil || got.Pending || got.SessionID != id || got.Decision != e.Decision {
		t.Errorf("%+v, %v", got, err)
	}
}

// cases B1, B37: the swap that settles an event loses its answer, alone and with a rival's swap on top: it counts once.
func TestSettleLostAnswer(t *testing.T) {
	t.Parallel()
	for _, code := range lost {
		for rivals := range 2 {
			t.Run(fmt.Sprint(code, rivals), func(t *testing.T) {
				t.Parallel()
				v := newVictim(t)
				e := v.put(t, event("1", "c", 0))
				e.Settle(chat.Decision{Effect: chat.EffectWake}, "accepted", v.id)
				v.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, After: v.acts(t, rivals), Lose: code})
				if _, err := v.h.Settle(t.Context(), settling(e, receive("k", "mine"))); err != nil {
					t.Fatal(err)
				}
				if got := v.contents(t, v.id); len(got) != 1+rivals || got[0] != "mine" {
					t.Errorf("messages %v", got)
				}
			})
		}
	}
}

// A lost race for the session is no conflict about the event: it is decided again, and the event settled with it.
func TestSettleAfterALostRace(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	e := v.put(t, event("1", "c", 0))
	e.Settle(chat.Decision{}, "accepted", v.id)
	v.acts(t, 3)()
	if _, err := v.h.Settle(t.Context(), settling(e, receive("k", "mine"))); err != nil {
		t.Fatal(err)
	}
	if got, err := v.Event(t.Context(), e.Key); err != nil || got.Pending || len(v.contents(t, v.id)) != 4 {
		t.Errorf("%+v, %v", got, err)
	}
}

// C2: a firing is stored once, with its prompt.
func TestFireOnce(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	id := r.started(t)
	f := store.Firing{ID: "job-20260527T1250", Job: "job", DueAt: now, SessionID: id, FiredAt: now, ExpireAt: now.Add(time.Hour)}
	fired := make([]bool, 5)
	var group errgroup.Group
	for i := range fired {
		group.Go(func() error {
			_, err := r.Session(id).Fire(t.Context(), f, receive(f.ID, "daily"))
			fired[i] = err == nil
			if err != nil && !errors.Is(err, errs.ErrConflict) && err.Error() != "prompt "+f.ID+": duplicate" {
				return err
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := len(slices.DeleteFunc(fired, func(b bool) bool { return !b })); n != 1 {
		t.Errorf("fired %d times", n)
	}
	if got := r.contents(t, id); !slices.Equal(got, []string{"daily"}) {
		t.Errorf("messages %v", got)
	}
}

// Case B4: a subscription may tell a message before the interaction does, without saying that the channel is direct. If it came to nothing for
// that, the fuller telling is decided on; once anything came of the message, it is a duplicate like any other.
func TestPutEventToldBetter(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	vague := event("1", "c", 0)
	vague.DirectUnknown = true
	full := event("1", "c", 0)
	full.Direct = true
	ignored := r.put(t, vague)
	ignored.Settle(chat.Decision{Effect: chat.EffectIgnore}, "ignored", "")
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{ignored}}); err != nil {
		t.Fatal(err)
	}
	if err := r.PutEvent(t.Context(), vague); !errors.Is(err, errs.ErrExists) {
		t.Errorf("told as vaguely again: %v, want ErrExists", err)
	}
	got := r.put(t, full)
	if !got.Pending || !got.Direct || got.Outcome != "" || got.WakeAt == nil {
		t.Errorf("after the fuller telling: %+v, want it pending and direct", got.Record)
	}
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{ignored}}); !errors.Is(err, errs.ErrConflict) {
		t.Errorf("a verdict on the vague telling: %v, want ErrConflict", err)
	}
	if err := r.PutEvent(t.Context(), full); !errors.Is(err, errs.ErrExists) {
		t.Errorf("told fully twice: %v, want ErrExists", err)
	}
	answered := event("2", "c", 0)
	answered.DirectUnknown = true
	taken := r.put(t, answered)
	taken.Settle(chat.Decision{Effect: chat.EffectWake}, "accepted", "s")
	if err := r.Commit(t.Context(), route.Change{Events: []chat.Stored{taken}}); err != nil {
		t.Fatal(err)
	}
	if err := r.PutEvent(t.Context(), event("2", "c", 0)); !errors.Is(err, errs.ErrExists) {
		t.Errorf("told again after it was answered: %v, want ErrExists", err)
	}
}

// An event that cannot be read does not hold up the others of its route, nor those that are due: it is named beside them.
func TestUnreadableEvent(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	r.put(t, event("1", "c", 0))
	bad := r.put(t, event("2", "c", 1))
	if _, err := env.Firestore.Collection("events").Doc(bad.Key).Update(t.Context(), []firestore.Update{{Path: "sender", Value: "nobody"}}); err != nil {
		t.Fatal(err)
	}
	route := bad.RouteID
	for name, read := range map[string]func() ([]chat.Stored, error){
		"pending": func() ([]chat.Stored, error) { return r.PendingEvents(t.Context(), route, 10) },
		"due":     func() ([]chat.Stored, error) { return r.DueEvents(t.Context(), now.Add(time.Hour), 10) },
	} {
		got, err := read()
		if ids(got) != "1" || errs.KindOf(err) != errs.KindPermanent {
			t.Errorf("%s: %s, %v", name, ids(got), err)
		}
	}
}
