package pipeline_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

// active is the configuration in force.
type active struct{ *config.Config }

func (a active) Active(context.Context) (*config.Config, error) { return a.Config, nil }

// wakes notes what is published, and fails if it is told to.
type wakes struct {
	mu   sync.Mutex
	all  []string
	fail error
}

func (w *wakes) Publish(_ context.Context, topic bus.Topic, wake any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return w.fail
	}
	w.all = append(w.all, fmt.Sprintf("%s %s", topic, wake.(bus.Wake).Session))
	return nil
}

func (w *wakes) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.all
	w.all = nil
	return all
}

// media stages what it is told to, by name.
type media map[string]error

func (m media) Stage(_ context.Context, _ *chat.Event, sessionID string, a message.Attachment) (message.Attachment, error) {
	if err := m[a.Name]; err != nil {
		return a, err
	}
	a.StagedAs = "sessions/" + sessionID + "/" + a.Name
	return a, nil
}

type conversations struct{ *store.Store }

func (c conversations) Conversation(key string, fresh func() session.Session) pipeline.Ledger {
	return c.Store.Conversation(key, fresh)
}

func (c conversations) Session(id string) pipeline.Ledger { return c.Store.Session(id) }

// worker is one instance of the function.
type worker struct {
	*pipeline.Pipeline
	client *testenv.Client
	store  *store.Store
	wakes  *wakes
	log    *bytes.Buffer
}

// room is a route of a project of its own. The test looks at it by its own client.
type room struct {
	*worker
	env      *testenv.Env
	now      *clock.Manual
	conf     *config.Config
	media    media
	platform *platform
	judge    *bench
	hooks    *hooks.Hooks
	going    context.Context
	leave    context.CancelFunc
	n        int
}

// platform tells what the test wants of channels, and notes where the app is.
type platform struct {
	mu      sync.Mutex
	history []chat.Event
	direct  bool
	err     error
	asked   int
	spaces  []string
}

func (p *platform) History(_ context.Context, _ *chat.Event, limit int) ([]chat.Event, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return p.history[max(0, len(p.history)-limit):], p.err
}

func (p *platform) Direct(context.Context, *chat.Event) (bool, error) { return p.direct, p.err }

func (p *platform) Joined(_ context.Context, routeID string, _ time.Time) error {
	return p.note("joined " + routeID)
}

func (p *platform) Left(_ context.Context, routeID string, _ time.Time) error {
	return p.note("left " + routeID)
}

func (p *platform) note(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spaces = append(p.spaces, what)
	return p.err
}

// bench is a judge that answers as the test says, and counts.
type bench struct {
	mu     sync.Mutex
	answer judge.Answer
	decide func(judge.Question) judge.Answer // instead of answer
	err    error
	before func()
	asked  []judge.Question
}

func (b *bench) Ask(_ context.Context, _ string, q judge.Question) (judge.Answer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, q)
	if b.before != nil {
		b.before()
	}
	if b.decide != nil {
		return b.decide(q), b.err
	}
	return b.answer, b.err
}

type noStage struct{}

func (noStage) Put(context.Context, string, []byte, string) (string, error) {
	return "", errs.Permanentf("nothing here is too large for a document")
}

func newRoom(t *testing.T, kesoku string) *room {
	t.Helper()
	conf, err := config.Parse(map[string]string{config.FileKesoku: kesoku})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{env: testenv.New(t), now: clock.NewManual(start), conf: conf, media: media{}, platform: &platform{}, judge: &bench{}, hooks: &hooks.Hooks{}}
	r.going, r.leave = context.WithCancel(t.Context())
	r.worker = r.hire(t, "pipeline-1")
	return r
}

// hire starts another worker.
func (r *room) hire(t *testing.T, name string) *worker {
	t.Helper()
	return r.hireOn(t, name, testenv.Stepped{Manual: r.now})
}

// hireOn starts another worker with a clock of its own.
func (r *room) hireOn(t *testing.T, name string, ck clock.Clock) *worker {
	t.Helper()
	w := &worker{client: r.env.Instance(name), wakes: &wakes{}, log: &bytes.Buffer{}}
	var err error
	if w.store, err = store.New(w.client.Firestore, noStage{}, testenv.Stepped{Manual: r.now}, uuid.NewString); err != nil {
		t.Fatal(err)
	}
	words, err := gate.New(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.Pipeline, err = pipeline.New(pipeline.Deps{
		Events: w.store, Conversations: conversations{w.store}, Config: active{r.conf}, Bus: w.wakes, Media: r.media, Channels: r.platform,
		Spaces: r.platform, Judge: r.judge, Censor: words, Hooks: r.hooks, Clock: ck, NewID: uuid.NewString,
		Log: slog.New(slog.NewTextHandler(w.log, nil)), Going: r.going,
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// said is a message to the app that nobody stored yet; each has a later time than the one before.
func (r *room) said(text string) chat.Event {
	r.n++
	return chat.Event{
		Platform: "googlechat", Kind: chat.KindMessage, MessageID: fmt.Sprintf("spaces/A/messages/%d", r.n), ChannelID: "spaces/A",
		ThreadID: "spaces/A/threads/t", Sender: chat.Sender{ID: "users/1", Name: "Ann", Type: chat.SenderHuman}, Text: text, AtMe: true,
		At: start.Add(time.Duration(r.n) * time.Second),
	}
}

// put stores an event as the webhook does, and returns its wake-up.
func (r *room) put(t *testing.T, e chat.Event) bus.Inbound {
	t.Helper()
	record := chat.NewRecord(e, r.now.Now())
	if err := r.store.PutEvent(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	return bus.Inbound{Route: record.RouteID, Event: record.Key}
}

// tell stores and handles an event, and returns its key.
func (r *room) tell(t *testing.T, e chat.Event) string {
	t.Helper()
	wake := r.put(t, e)
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	return wake.Event
}

func (r *room) event(t *testing.T, key string) chat.Stored {
	t.Helper()
	e, err := r.store.Event(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (r *room) sessions(t *testing.T) []session.Session {
	t.Helper()
	all, err := r.store.SessionsOf(t.Context(), "spaces/A", 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// only is the one session there must be.
func (r *room) only(t *testing.T) session.Session {
	t.Helper()
	all := r.sessions(t)
	if len(all) != 1 {
		t.Fatalf("%d sessions, want one", len(all))
	}
	return all[0]
}

func (r *room) messages(t *testing.T) []message.Message {
	t.Helper()
	all, err := r.store.Session(r.only(t).ID).Since(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// contents are the messages' texts, in their order.
func contents(all []message.Message) []string {
	var out []string
	for _, m := range all {
		out = append(out, m.Content)
	}
	return out
}

// want compares what is there with what should be.
func want[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
