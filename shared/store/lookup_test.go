package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
)

// case B33: a session is due while work is outstanding, from its time on, the longest overdue first; and no longer.
func TestDueSessions(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	id := r.started(t)
	find := func(at time.Time, limit int) []string {
		var out []string
		got, err := r.DueSessions(t.Context(), at, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			out = append(out, s.ID)
		}
		return out
	}
	late := time.Now().Add(time.Hour)
	if got := find(late, 10); len(got) != 0 {
		t.Errorf("nothing to do, and due: %v", got)
	}
	h := r.Session(id)
	if _, err := h.Change(t.Context(), receive("k", "hi")); err != nil {
		t.Fatal(err)
	}
	if got := find(time.Now(), 10); len(got) != 0 {
		t.Errorf("due at once: %v", got)
	}
	if got := find(late, 10); !slices.Equal(got, []string{id}) {
		t.Errorf("a prompt waits, and due are %v", got)
	}
	if _, err := h.Change(t.Context(), func(d *session.Draft) error { d.Begin(now); d.End(now); return nil }); err != nil {
		t.Fatal(err)
	}
	if got := find(late, 10); len(got) != 0 {
		t.Errorf("the turn is over, and due: %v", got)
	}
	snap, err := env.Firestore.Doc("sessions/" + id).Get(t.Context())
	if _, there := snap.Data()["wake_at"]; err != nil || there {
		t.Errorf("wake_at is still in the document, and so in its index: %v", err)
	}
	for i, ago := range []time.Duration{2, 3, 1} {
		s := session.New(fmt.Sprint("s", i), "k", "r", "p", "c", false, now)
		s.WakeShard = 3
		at := now.Add(-ago * time.Minute)
		s.WakeAt = &at
		if _, err := env.Firestore.Doc("sessions/"+s.ID).Set(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if got := find(now, 2); !slices.Equal(got, []string{"s1", "s0"}) {
		t.Errorf("the two longest overdue are %v", got)
	}
}

// C1: the sessions of a channel, for the operator: the newest ones, the newest last.
func TestSessionsOf(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	for i := range 5 {
		s := session.New(fmt.Sprint("s", i*7%5), "k", "r", "p", "c", false, now.Add(time.Duration(i*7%5)*time.Hour))
		if i == 4 {
			s.ChannelID = "other"
		}
		if _, err := env.Firestore.Doc("sessions/"+s.ID).Set(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]string{10: "s0 s1 s2 s4", 2: "s2 s4"} {
		got, err := r.SessionsOf(t.Context(), "c", limit)
		var names []string
		for _, s := range got {
			names = append(names, s.ID)
		}
		if err != nil || strings.Join(names, " ") != want {
			t.Errorf("limit %d: %v, %v, want %s", limit, names, err, want)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	for i, id := range []string{"a", "b", "c", "b"} {
		if err := r.AddNote(t.Context(), "discord:c", id, fmt.Sprint("note ", i), now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.AddNote(t.Context(), "discord:other", "x", "not ours", now); err != nil {
		t.Fatal(err)
	}
	got, err := r.Notes(t.Context(), "discord:c", 2)
	if err != nil || len(got) != 2 || got[0].ID != "c" || got[1].Text != "note 1" || !got[1].At.Equal(now.Add(time.Second)) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := r.Notes(t.Context(), "discord:nobody", 2); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// case B41: what no retry can help is recorded, once, bounded, for as long as an operator needs to look.
func TestBury(t *testing.T) {
	t.Parallel()
	env, r := open(t)
	for range 2 {
		if err := r.Bury(t.Context(), "events/1", "//pubsub/turns", []byte(strings.Repeat("x", 2<<20)), errors.New("does not decode")); err != nil {
			t.Fatal(err)
		}
	}
	all, err := env.Firestore.Collection("dead_letters").Documents(t.Context()).GetAll()
	if err != nil || len(all) != 1 {
		t.Fatalf("%d records, %v", len(all), err)
	}
	d := all[0].Data()
	if d["event_id"] != "events/1" || d["source"] != "//pubsub/turns" || d["error"] != "does not decode" || len(d["data"].([]byte)) != 256<<10 {
		t.Errorf("record %v", maps.Keys(d))
	}
	if until := d["expire_at"].(time.Time).Sub(d["at"].(time.Time)); until < 7*24*time.Hour {
		t.Errorf("kept for %s", until)
	}
}

// P12, P20: the configuration is replaced by who knows the current one, and by nobody else.
func TestConfig(t *testing.T) {
	t.Parallel()
	_, r := open(t)
	if files, revision, err := r.Config(t.Context()); err != nil || revision != 0 || len(files) != 0 {
		t.Errorf("before the first: %v, %d, %v", files, revision, err)
	}
	one, two := map[string]string{"rules/a.b.yaml": "x: 文"}, map[string]string{"other": ""}
	if n, err := r.PublishConfig(t.Context(), one, 0); err != nil || n != 1 {
		t.Fatalf("first: %d, %v", n, err)
	}
	if _, err := r.PublishConfig(t.Context(), two, 0); !errors.Is(err, errs.ErrConflict) {
		t.Errorf("over a revision that is past: %v", err)
	}
	if n, err := r.PublishConfig(t.Context(), two, 1); err != nil || n != 2 {
		t.Errorf("second: %d, %v", n, err)
	}
	files, revision, err := r.Config(t.Context())
	if diff := cmp.Diff(two, files); diff != "" || revision != 2 || err != nil {
		t.Errorf("revision %d, %v (-want +got):\n%s", revision, err, diff)
	}
}
