package records_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/store/records"
	"kesoku.dev/shared/testenv"
)

var now = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

type noStage struct{}

func (noStage) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("nothing here is too large for a document")
}

func open(t *testing.T) (*testenv.Env, *store.Store, *records.Records) {
	t.Helper()
	env := testenv.New(t)
	st, err := store.New(env.Firestore, noStage{}, clock.NewManual(now), uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	r, err := records.New(env.Firestore, clock.NewManual(now))
	if err != nil {
		t.Fatal(err)
	}
	return env, st, r
}

// A probe leaves nothing behind.
func TestProbe(t *testing.T) {
	t.Parallel()
	env, _, r := open(t)
	if err := r.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	left, err := env.Firestore.Collection("probes").Documents(t.Context()).GetAll()
	if err != nil || len(left) != 0 {
		t.Errorf("%d documents are left, %v", len(left), err)
	}
}

// The most urgent of sessions and events counts; what is settled does not.
func TestOverdue(t *testing.T) {
	t.Parallel()
	_, st, r := open(t)
	overdue := func(want time.Time, document string) {
		t.Helper()
		due, where, err := r.Overdue(t.Context())
		if err != nil || !due.Equal(want) || where != document {
			t.Errorf("%s at %s, %v; want %s at %s", where, due, err, document, want)
		}
	}
	overdue(time.Time{}, "")
	ledger := st.Conversation("k", func() session.Session { return session.New("s1", "k", "p:c", "p", "c", false, now) })
	_, err := ledger.Change(t.Context(), func(d *session.Draft) error {
		d.Receive(session.Ref{Key: "e", When: session.WhenNext, At: now}, 64)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	overdue(now.Add(time.Minute), "sessions/s1")
	e := chat.NewRecord(chat.Event{Platform: "p", Kind: chat.KindMessage, MessageID: "m", ChannelID: "c", At: now}, now)
	if err := st.PutEvent(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	overdue(*e.WakeAt, "events/"+e.Key)
	stored, err := st.Event(t.Context(), e.Key)
	if err == nil {
		stored.Settle(chat.Decision{}, "ignored", "")
		_, err = ledger.Settle(t.Context(), func(*session.Draft) (route.Change, error) { return route.Change{Events: []chat.Stored{stored}}, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	overdue(now.Add(time.Minute), "sessions/s1")
}

// An id may be given by its beginning if that is no other's, or whole though it is another's beginning.
func TestIDsByTheirBeginning(t *testing.T) {
	t.Parallel()
	_, st, r := open(t)
	for _, id := range []string{"aa", "aab", "Zz9-"} {
		ledger := st.Conversation(id, func() session.Session { return session.New(id, id, "p:c", "p", "c", false, now) })
		if _, err := ledger.Change(t.Context(), func(*session.Draft) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for prefix, want := range map[string]string{"aa": "aa", "aab": "aab", "Z": "Zz9-", "Zz9-": "Zz9-"} {
		if id, err := r.Session(t.Context(), prefix); err != nil || id != want {
			t.Errorf("%q: %q, %v", prefix, id, err)
		}
	}
	for prefix, want := range map[string]error{"a": errs.ErrConflict, "b": errs.ErrNotFound, "": errs.ErrNotFound, "a/b": errs.ErrNotFound, "..": errs.ErrNotFound, "z": errs.ErrNotFound} {
		if id, err := r.Session(t.Context(), prefix); !errors.Is(err, want) {
			t.Errorf("%q: %q, %v, want %v", prefix, id, err, want)
		}
	}
}

func TestNewRefusesNothing(t *testing.T) {
	t.Parallel()
	if r, err := records.New(nil, nil); err == nil {
		t.Errorf("%v", r)
	}
}
