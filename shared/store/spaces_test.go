package store_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/listen"
	"kesoku.dev/shared/testenv"
)

const room = "googlechat:spaces/A"

// soon is after everything that the store has written by its own clock.
func soon() time.Time { return time.Now().Add(time.Minute) }

func (r rig) due(t *testing.T) []listen.Stored {
	t.Helper()
	all, err := r.DueSpaces(t.Context(), soon(), 10)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A space is due once the app has come, until somebody has seen to it; and again when something becomes of its subscription.
func TestSpaces(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	for range 2 { // told twice, it is one
		if err := r.Joined(t.Context(), room, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	all := r.due(t)
	if len(all) != 1 || !all[0].Joined || all[0].State != listen.StateNone || all[0].Platform() != "googlechat" || all[0].Channel() != "spaces/A" {
		t.Fatalf("due %+v", all)
	}
	s := all[0]
	s.Wanted, s.ConfigRevision = true, 3
	s.Hear("subscriptions/a", now.Add(10*365*24*time.Hour), now)
	if err := r.SaveSpace(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := r.due(t); len(got) != 0 {
		t.Errorf("heard, and due: %+v", got)
	}
	if err := r.SaveSpace(t.Context(), s); !errors.Is(err, errs.ErrConflict) {
		t.Errorf("written over an old read: %v", err)
	}
	for _, name := range []string{"subscriptions/other", "subscriptions/a"} {
		if err := r.SubscriptionMoved(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	all = r.due(t)
	if len(all) != 1 || all[0].Subscription != "subscriptions/a" || all[0].State != listen.StateActive || all[0].ExpiresAt == nil {
		t.Fatalf("after its subscription moved: %+v", all)
	}
	if err := r.Left(t.Context(), room, time.Now()); err != nil {
		t.Fatal(err)
	}
	s = r.due(t)[0]
	if s.Joined {
		t.Fatalf("left: %+v", s)
	}
	s.Deaf()
	if err := r.SaveSpace(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if docs, err := env.Firestore.Collection("spaces").Documents(t.Context()).GetAll(); err != nil || len(docs) != 0 {
		t.Errorf("a space that was left and is not heard is kept: %d, %v", len(docs), err)
	}
	if err := r.Left(t.Context(), room, time.Now()); err != nil { // nobody knows it
		t.Error(err)
	}
}

// The configuration's revision tells which spaces are to be looked at anew; the unknown ones are told from the known.
func TestStaleAndUnknownSpaces(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	for _, id := range []string{room, "googlechat:spaces/B"} {
		if err := r.Joined(t.Context(), id, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	s := r.due(t)[0]
	s.ConfigRevision = 7
	if err := r.SaveSpace(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for revision, want := range map[int64]int{0: 0, 7: 1, 8: 2} {
		if got, err := r.StaleSpaces(t.Context(), revision, 10); err != nil || len(got) != want {
			t.Errorf("older than %d: %+v, %v", revision, got, err)
		}
	}
	ids := []string{"googlechat:spaces/C", room, "googlechat:spaces/B"}
	for range 400 {
		ids = append(ids, room)
	}
	ids = append(ids, "googlechat:spaces/D")
	if got, err := r.UnknownSpaces(t.Context(), ids); err != nil || !slices.Equal(got, []string{"googlechat:spaces/C", "googlechat:spaces/D"}) {
		t.Errorf("unknown %q, %v", got, err)
	}
}

// Whoever changes a space at the same time, and however a commit ends: it ends up due, and as the last one says.
func TestSpaceRaces(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	if err := r.Joined(t.Context(), room, time.Now()); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := r.Joined(t.Context(), room, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	unlucky := on(t, env.Instance("unlucky"), impatient{})
	unlucky.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: codes.Unavailable})
	if err := unlucky.Left(t.Context(), room, time.Now()); err != nil {
		t.Error(err)
	}
	if got := r.due(t); len(got) != 1 || got[0].Joined {
		t.Errorf("left with a lost answer: %+v", got)
	}
}
