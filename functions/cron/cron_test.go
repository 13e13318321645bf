package cron_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"google.golang.org/grpc/codes"

	"kesoku.dev/functions/cron"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

const jobs = `jobs:
  - name: daily
    schedule: '0 9 * * *'
    prompt: What is on today?
    chatbot_id: googlechat
    channel_id: spaces/A
  - name: weekly
    schedule: '0 9 * * 1'
    prompt: Last week?
    chatbot_id: googlechat
    channel_id: spaces/A
`

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

func pushed(t *testing.T, id, data string, at time.Time) cloudevents.Event {
	t.Helper()
	return boottest.Push(t, bus.TopicCron, id, []byte(data), at)
}

// world is a project whose daily job is due at start.
type world struct {
	*boottest.Instance
	env   *testenv.Env
	now   *clock.Manual
	store *store.Store
}

func newWorld(t *testing.T, kesoku string) *world {
	t.Helper()
	w := &world{env: testenv.New(t), now: clock.NewManual(start)}
	w.Instance = boottest.Start(t, w.env, "cron-1", testenv.Stepped{Manual: w.now}, cron.New)
	w.store = boottest.Base(t, w.env, w.env.Client, testenv.Stepped{Manual: w.now}, slog.New(slog.DiscardHandler)).Store
	if _, err := w.store.PublishConfig(t.Context(), map[string]string{config.FileCronjobs: jobs, config.FileKesoku: kesoku}, 0); err != nil {
		t.Fatal(err)
	}
	return w
}

// fire delivers a trigger published at that time.
func (w *world) fire(t *testing.T, job string, at time.Time) error {
	t.Helper()
	return w.Handle(t.Context(), pushed(t, "t "+at.String(), `{"job":"`+job+`"}`, at))
}

func (w *world) sessions(t *testing.T) []session.Session {
	t.Helper()
	all, err := w.store.SessionsOf(t.Context(), "spaces/A", 10)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (w *world) prompts(t *testing.T) []message.Message {
	t.Helper()
	var out []message.Message
	for _, s := range w.sessions(t) {
		all, err := w.store.Session(s.ID).Since(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, all...)
	}
	return out
}

func (w *world) count(t *testing.T, collection string) int {
	t.Helper()
	docs, err := w.env.Firestore.Collection(collection).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	return len(docs)
}

// M5.2, C2: the job's prompt is stored in its channel's conversation, with the route's settings, and the session is woken.
func TestFires(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "chat: {locale: en, model: 'gemini:flash', maxPendingPerRoute: 3}")
	if err := w.fire(t, "daily", start); err != nil {
		t.Fatal(err)
	}
	all, prompts := w.sessions(t), w.prompts(t)
	if len(all) != 1 || len(prompts) != 1 {
		t.Fatalf("%d sessions, %d prompts", len(all), len(prompts))
	}
	s, m := all[0], prompts[0]
	if s.RouteID != "googlechat:spaces/A" || s.Settings.Model != "gemini:flash" || s.Settings.Locale != "en" || len(s.Inbox) != 1 || s.Inbox[0].When != session.WhenNext {
		t.Errorf("session %+v", s)
	}
	if m.Class() != message.ClassCronPrompt || m.Status != message.StatusPendingAgent || m.Content != "What is on today?" || m.Sender != "Cronjob" || !m.Metadata.IsCronjob {
		t.Errorf("prompt %+v", m)
	}
	if got, want := w.Heard(), []string{`turns {"session":"` + s.ID + `"}`}; !slices.Equal(got, want) {
		t.Errorf("published %v, want %v", got, want)
	}
}

// C2: a firing runs once, however often, late or concurrently its trigger is delivered; the session is woken each time, for whoever stored
// it may have died before that.
func TestFiresOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	rival := boottest.Start(t, w.env, "cron-2", testenv.Stepped{Manual: w.now}, cron.New)
	var all sync.WaitGroup
	for i := range 8 {
		one := []*boottest.Instance{w.Instance, rival}[i%2]
		at := start.Add(time.Duration(i) * time.Second)
		all.Go(func() {
			// One that loses the race to make the conversation's session is nacked, and comes again.
			err := one.Handle(t.Context(), pushed(t, fmt.Sprint(i), `{"job":"daily"}`, at))
			if err != nil {
				err = one.Handle(t.Context(), pushed(t, fmt.Sprint(i), `{"job":"daily"}`, at))
			}
			if err != nil {
				t.Errorf("trigger %d: %v", i, err)
			}
		})
	}
	all.Wait()
	w.now.Advance(20 * time.Hour)
	for _, late := range []time.Duration{-20 * time.Second, time.Hour, 20 * time.Hour} {
		if err := w.fire(t, "daily", start.Add(late)); err != nil {
			t.Errorf("%s late: %v", late, err)
		}
	}
	if n, firings := len(w.prompts(t)), w.count(t, "cronjobs"); n != 1 || firings != 1 || len(w.sessions(t)) != 1 {
		t.Errorf("%d prompts of %d firings in %d sessions, want one", n, firings, len(w.sessions(t)))
	}
	if n := len(w.Heard()) + len(rival.Heard()); n != 8+3 {
		t.Errorf("woken %d times, want every time", n)
	}
	// The next day is another firing, and so is a trigger that comes half a minute early for it.
	if err := w.fire(t, "daily", start.Add(24*time.Hour-30*time.Second)); err != nil {
		t.Error(err)
	}
	if n := len(w.prompts(t)); n != 2 {
		t.Errorf("%d prompts after the next day's trigger, want 2", n)
	}
}

// A firing whose prompt has been answered meanwhile, and so has left the inbox, is still known.
func TestFiredAndAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	if err := w.fire(t, "daily", start); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Session(w.sessions(t)[0].ID).Change(t.Context(), func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, w.now.Now())
		d.Begin(w.now.Now())
		d.End(w.now.Now())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.fire(t, "daily", start.Add(time.Minute)); err != nil {
		t.Error(err)
	}
	if s := w.sessions(t)[0]; len(w.prompts(t)) != 1 || len(s.Inbox) != 0 {
		t.Errorf("%d prompts, inbox %v", len(w.prompts(t)), s.Inbox)
	}
}

// A lost answer of the database is no second firing.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.Client.Faults.Clear()
	w.Client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: codes.DeadlineExceeded})
	_ = w.fire(t, "daily", start) // whatever it says, its trigger may come again
	if err := w.fire(t, "daily", start); err != nil {
		t.Error(err)
	}
	if n := len(w.prompts(t)); n != 1 || w.count(t, "cronjobs") != 1 {
		t.Errorf("%d prompts, want 1", n)
	}
}

// case B41: a trigger for a job that nobody configured, or that was not due, is recorded for the operator and never comes again.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	for _, job := range []string{"monthly", "weekly"} { // start is a Wednesday
		if err := w.fire(t, job, start); err != nil {
			t.Errorf("%s: %v, want it acked", job, err)
		}
	}
	docs, err := w.env.Firestore.Collection("dead_letters").Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	var causes []string
	for _, d := range docs {
		causes = append(causes, fmt.Sprint(d.Data()["error"]))
	}
	if all := strings.Join(causes, "\n"); len(docs) == 0 || !strings.Contains(all, `"monthly"`) {
		t.Errorf("dead letters:\n%s", all)
	}
	if len(w.sessions(t)) != 0 || len(w.Heard()) != 0 {
		t.Error("something was stored or woken")
	}
}

// P15: a prompt that finds no room waits with its trigger: it is neither dropped nor stored, and fits in when there is room.
func TestFullInbox(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "chat: {maxPendingPerRoute: 1}")
	if err := w.fire(t, "daily", start); err != nil {
		t.Fatal(err)
	}
	next := start.Add(24 * time.Hour)
	w.now.Advance(24 * time.Hour)
	for range 2 {
		if err := w.fire(t, "daily", next); err == nil {
			t.Error("acked although it was not taken")
		}
	}
	if n := len(w.prompts(t)); n != 1 || w.count(t, "cronjobs") != 1 || w.count(t, "dead_letters") != 0 {
		t.Errorf("%d prompts, %d firings, %d dead letters", n, w.count(t, "cronjobs"), w.count(t, "dead_letters"))
	}
	if _, err := w.store.Session(w.sessions(t)[0].ID).Change(t.Context(), func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, w.now.Now())
		d.Begin(w.now.Now())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.fire(t, "daily", next); err != nil || len(w.prompts(t)) != 2 {
		t.Errorf("with room: %v, %d prompts", err, len(w.prompts(t)))
	}
}

// Nothing is acked that was not stored, or stored and not announced.
func TestDown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method string
		code   codes.Code // one that the SDK does not retry by itself
		stored int
	}{
		"configuration cannot be read": {"BatchGetDocuments", codes.PermissionDenied, 0},
		"store down":                   {"Commit", codes.Internal, 0},
		"Pub/Sub down":                 {"Publish", codes.PermissionDenied, 1},
	} {
		w := newWorld(t, "")
		w.Client.Faults.Clear()
		w.Client.Faults.Add(testenv.Fault{Method: tt.method, Times: 1, Fail: tt.code})
		err := w.fire(t, "daily", start)
		if err == nil {
			t.Errorf("%s: acked", name)
		}
		if n := len(w.prompts(t)); n != tt.stored {
			t.Errorf("%s: %d prompts", name, n)
		}
		if err := w.fire(t, "daily", start); err != nil || len(w.prompts(t)) != 1 || w.Client.Counts().Published == 0 {
			t.Errorf("%s, then the retry: %v, %d prompts", name, err, len(w.prompts(t)))
		}
	}
}
