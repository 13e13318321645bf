package deliver_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/deliver"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/render/compose"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

// written is one write that reached the platform.
type written struct {
	post platform.Post
	edit string // the id edited; empty for a post
	card *render.Card
	at   time.Time
}

// chat is a platform that does what its script says and notes what it is told.
type chat struct {
	features platform.Features
	now      *clock.Manual
	create   func(n int, p platform.Post) error // n counts posts, from 0; nil lets all pass
	edit     func() error

	mu    sync.Mutex
	all   []written
	posts int
}

func (c *chat) Features() platform.Features { return c.features }
func (c *chat) Dialect() render.Dialect     { return render.Plain{} }

func (c *chat) Create(_ context.Context, p platform.Post) (platform.Posted, error) {
	c.mu.Lock()
	c.all = append(c.all, written{post: p, card: p.Card, at: c.now.Now()})
	n := c.posts
	c.posts++
	c.mu.Unlock()
	if c.create != nil {
		if err := c.create(n, p); err != nil {
			return platform.Posted{}, err
		}
	}
	return platform.Posted{MessageID: p.ID, ThreadID: "landed"}, nil
}

func (c *chat) Edit(_ context.Context, _, id string, card *render.Card) error {
	c.mu.Lock()
	c.all = append(c.all, written{edit: id, card: card, at: c.now.Now()})
	c.mu.Unlock()
	if c.edit != nil {
		return c.edit()
	}
	return nil
}

// seen are the writes since the last look, as lines.
func (c *chat) seen() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, len(c.all))
	for i, w := range c.all {
		line := "post " + w.post.Text
		if w.edit != "" {
			line = "edit"
		}
		if w.card != nil {
			line = strings.TrimSpace(line) + fmt.Sprintf(" [%s %s", w.card.State, w.card.Title)
			for _, s := range w.card.Steps {
				line += fmt.Sprintf(" %s:%s", s.Title, s.State)
			}
			line += "]"
		}
		out[i] = line
	}
	return out
}

func (c *chat) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.posts = nil, 0
}

// wakes counts what is published.
type wakes struct {
	mu  sync.Mutex
	all []string
}

func (w *wakes) Publish(_ context.Context, topic bus.Topic, wake any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, fmt.Sprintf("%s %s", topic, wake.(bus.Wake).Session))
	return nil
}

type noStage struct{}

func (noStage) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("nothing here is too large for a document")
}

// world is a project with a session whose outbox is to be delivered.
type world struct {
	*deliver.Deliverer
	id     string
	env    *testenv.Env
	now    *clock.Manual
	store  *store.Store // the test's own view
	chat   *chat
	wakes  *wakes
	hooks  *hooks.Hooks
	match  []censor.Matcher
	leave  context.CancelFunc
	events int
}

// publish publishes kesoku.yaml; instances follow it once their cache is old.
func (w *world) publish(t *testing.T, yaml string) {
	t.Helper()
	_, revision, err := w.store.Config(t.Context())
	if err == nil {
		_, err = w.store.PublishConfig(t.Context(), map[string]string{config.FileKesoku: yaml}, revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.now.Advance(31 * time.Second)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	now := clock.NewManual(start)
	w := &world{
		id: "s1", env: testenv.New(t), now: now, wakes: &wakes{}, hooks: &hooks.Hooks{},
		chat: &chat{now: now, features: platform.Features{Edit: true, Threads: true, Steps: true, MaxBytes: 4000}},
	}
	w.store = w.open(t, w.env.Client)
	w.hire(t)
	return w
}

func (w *world) open(t *testing.T, c *testenv.Client) *store.Store {
	t.Helper()
	st, err := store.New(c.Firestore, noStage{}, testenv.Hasty{Manual: w.now}, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// hire starts another instance of the function, which takes the place of the one before.
func (w *world) hire(t *testing.T) {
	t.Helper()
	w.events++
	st := w.open(t, w.env.Instance(fmt.Sprint("deliver-", w.events)))
	going, leave := context.WithCancel(t.Context())
	w.leave = leave
	log := slog.New(slog.DiscardHandler)
	source, err1 := config.NewSource(st, testenv.Hasty{Manual: w.now}, log)
	censors, err2 := gate.New(log, w.match...)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	var err error
	w.Deliverer, err = deliver.New(deliver.Deps{
		Open: func(id string) deliver.Ledger { return st.Session(id) }, Bus: w.wakes, Adapters: map[string]platform.Adapter{"test": w.chat},
		Registries: map[string]*compose.Registry{"test": compose.Plain()}, Config: source, Censor: censors, Hooks: w.hooks,
		Clock: testenv.Hasty{Manual: w.now}, NewID: uuid.NewString, Log: log, Going: going,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) run(ctx context.Context) error {
	w.events++
	return w.Handle(ctx, bus.Wake{Session: w.id}, bus.Delivery{EventID: fmt.Sprint("e", w.events)})
}

func (w *world) mustRun(t *testing.T) {
	t.Helper()
	if err := w.run(t.Context()); err != nil {
		t.Fatalf("handle: %v", err)
	}
}

// drained fails unless nothing is left to send and nobody holds the outbox.
func (w *world) drained(t *testing.T) {
	t.Helper()
	if s := w.session(t); s.SendWork() || s.SendLease.Held() || s.Outbox.Sending != (session.Sending{}) {
		t.Errorf("seq %d, outbox %+v, lease %+v: want it drained and free", s.Seq, s.Outbox, s.SendLease)
	}
}

func (w *world) change(t *testing.T, decide func(*session.Draft) error) {
	t.Helper()
	key := "conversation of " + w.id
	ledger := w.store.Conversation(key, func() session.Session {
		s := session.New(w.id, key, "test:c", "test", "c", false, w.now.Now())
		s.Settings.Locale = "en"
		return s
	})
	if _, err := ledger.Change(t.Context(), decide); err != nil {
		t.Errorf("change: %v", err)
	}
}

func (w *world) session(t *testing.T) session.Session {
	t.Helper()
	s, err := w.store.Session(w.id).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) messages(t *testing.T) []message.Message {
	t.Helper()
	all, err := w.store.Session(w.id).Since(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func (w *world) statuses(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, m := range w.messages(t) {
		out = append(out, fmt.Sprintf("%d %s", m.Class(), m.Status))
	}
	return out
}

func author(d *session.Draft, now time.Time) message.Author {
	return message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: now}
}

func spot(d *session.Draft, step int) message.Spot {
	prompt := d.Turn.Prompts[len(d.Turn.Prompts)-1]
	return message.Spot{Turn: d.Turn.Number, Step: step, ThreadID: "thread", ParentID: session.MessageID(d.ID, prompt)}
}

// note leaves a notification outside any turn.
func (w *world) note(t *testing.T, text string) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		d.Create(author(d, w.now.Now()).Notification(message.Spot{ThreadID: "thread"}, text))
		return nil
	})
}

// begin begins a turn.
func (w *world) begin(t *testing.T) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		d.Receive(session.Ref{Key: fmt.Sprint(d.Seq), When: session.WhenNext, ThreadID: "thread"}, 0)
		m := author(d, w.now.Now()).UserPrompt("Ann", "hello", w.now.Now(), message.Metadata{})
		m.Seq = d.Seq
		d.Create(m)
		return nil
	})
	w.change(t, func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "turn", EventID: "t"}, w.now.Now())
		for _, ref := range d.Begin(w.now.Now()) {
			m := w.messages(t)[ref.Seq-1]
			m.Turn = d.Turn.Number
			if err := d.Move(&m, message.Claim); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) announce(t *testing.T) {
	t.Helper()
	w.change(t, func(d *session.Draft) error { d.Turn.Announced = true; return nil })
}

// call stores a step of one call, and result its result.
func (w *world) call(t *testing.T, name string) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		step := d.Turn.Step + 1
		d.Create(author(d, w.now.Now()).ToolCall(spot(d, step), "calling", message.Call{ID: name, Name: name, Arguments: `{"x":1}`}))
		d.Stored(step, 1)
		return nil
	})
}

func (w *world) result(t *testing.T, name string, failed bool) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		at := spot(d, d.Turn.Step)
		for _, m := range w.messages(t) {
			if m.Metadata.CallID == name {
				at.ParentID = m.ID
			}
		}
		d.Create(author(d, w.now.Now()).ToolResult(at, message.Outcome{CallID: name, Name: name, Content: "secret detail", Summary: "ok", Failed: failed}))
		return nil
	})
}

// end ends the turn with the message that make makes, or with none.
func (w *world) end(t *testing.T, with func(message.Author, message.Spot, message.TurnMetrics) message.Message) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		if with != nil {
			d.Create(with(author(d, w.now.Now()), spot(d, d.Turn.Step+1), d.Metrics(w.now.Now())))
		}
		for _, seq := range d.Turn.Prompts {
			m := w.messages(t)[seq-1]
			if err := d.Move(&m, message.Finish); err != nil {
				return err
			}
		}
		d.End(w.now.Now())
		return nil
	})
}

// reply ends the turn well.
func (w *world) reply(t *testing.T, text string) {
	t.Helper()
	w.end(t, func(a message.Author, at message.Spot, m message.TurnMetrics) message.Message {
		return a.FinalReply(at, text, m, nil)
	})
}

// want compares the platform's writes.
func (w *world) want(t *testing.T, want ...string) {
	t.Helper()
	if got := w.chat.seen(); !slices.Equal(got, want) {
		t.Errorf("written:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
