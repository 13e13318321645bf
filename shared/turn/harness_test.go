package turn_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/history"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/tool"
	"kesoku.dev/shared/turn"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

// script is a model that plays its scenes, one a call, the last one for ever.
type script struct {
	mu     sync.Mutex
	scenes []scene
	asked  []model.Request
}

type scene func(ctx context.Context, yield func(model.Delta, error) bool)

func (s *script) Generate(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	play := s.scenes[min(len(s.asked), len(s.scenes)-1)]
	s.asked = append(s.asked, req)
	return func(yield func(model.Delta, error) bool) { play(ctx, yield) }
}

func (s *script) CountTokens(context.Context, model.Request) (int, error) { return 0, nil }

func (s *script) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// request is what the n-th call showed the model, as one text.
func (s *script) request(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, t := range s.asked[n].Turns {
		for _, p := range t.Parts {
			fmt.Fprintf(&b, "%s: %s", t.Speaker, p.Text)
			if p.Call != nil {
				fmt.Fprintf(&b, "call %s", p.Call.ID)
			}
			if p.Result != nil {
				fmt.Fprintf(&b, "result %s %s", p.Result.ID, p.Result.Content)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// says answers with text; each call costs 10 tokens of 100.
func says(text string) scene {
	return func(_ context.Context, yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: text}, nil) && yield(model.Delta{Usage: &model.Usage{Prompt: 100, Output: 10, Total: 110}, Finish: model.FinishStop}, nil)
	}
}

// wants asks for tools, by name; a call's id is its name.
func wants(names ...string) scene {
	return func(_ context.Context, yield func(model.Delta, error) bool) {
		if !yield(model.Delta{Thought: "I need " + strings.Join(names, ", ")}, nil) {
			return
		}
		for _, n := range names {
			if !yield(model.Delta{Call: &history.Call{ID: n, Name: n, Args: `{"x":1}`}, Signature: []byte("sig " + n)}, nil) {
				return
			}
		}
		yield(model.Delta{Usage: &model.Usage{Prompt: 50, Output: 10, Total: 60}, Finish: model.FinishStop}, nil)
	}
}

func fails(err error) scene {
	return func(_ context.Context, yield func(model.Delta, error) bool) { yield(model.Delta{}, err) }
}

// call is a model call, or a batch of tools, as a test sees it that does something meanwhile.
type call struct{ ctx context.Context }

// wait lets the time pass until d is over, or returns why the call has to end before.
func (c call) wait(now *clock.Manual, d time.Duration) error { return now.Sleep(c.ctx, d) }

// ended returns once the call is cancelled.
func (c call) ended() { <-c.ctx.Done() }

// after does something and goes on with the next scene.
func after(do func(call), next scene) scene {
	return func(ctx context.Context, yield func(model.Delta, error) bool) {
		do(call{ctx})
		if err := ctx.Err(); err != nil {
			yield(model.Delta{}, err)
			return
		}
		next(ctx, yield)
	}
}

// toolbox notes the calls it runs.
type toolbox struct {
	mu  sync.Mutex
	ran []string
	do  func(call) // while they run
}

func (b *toolbox) Run(ctx context.Context, _ tool.Scope, calls []message.Call) []message.Outcome {
	out := make([]message.Outcome, len(calls))
	b.mu.Lock()
	for i, c := range calls {
		b.ran = append(b.ran, c.ID)
		out[i] = message.Outcome{CallID: c.ID, Name: c.Name, Content: "result of " + c.ID, Summary: "done"}
	}
	b.mu.Unlock()
	if b.do != nil && len(calls) > 0 {
		b.do(call{ctx})
	}
	return out
}

// persona is everybody's.
type persona struct{}

func (persona) Intro(context.Context, string) (string, error) { return "You are Kesoku.", nil }

type noFiles struct{}

func (noFiles) Get(_ context.Context, name string) ([]byte, string, error) {
	return nil, "", fmt.Errorf("get %s: %w", name, errs.ErrNotFound)
}

func (noFiles) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("nothing here is too large for a document")
}

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

func (w *wakes) has(wake string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.all, wake)
}

func (w *wakes) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = nil
}

const (
	id          = "s1"
	wakeTurn    = "turns s1"
	wakeDeliver = "deliveries s1"
)

// world is a project with one session, and the function that runs its turns.
type world struct {
	*turn.Turner
	env    *testenv.Env
	client *testenv.Client // of the function
	now    *clock.Manual
	store  *store.Store // the test's own view
	model  *script
	tools  *toolbox
	wakes  *wakes
	leave  context.CancelFunc // tells the instance to go
	crash  context.CancelFunc // ends the handler that crashing runs
	events int
	keys   int
	conf   session.Settings
}

func newWorld(t *testing.T, cfg turn.Config, scenes ...scene) *world {
	t.Helper()
	w := &world{
		env: testenv.New(t), now: clock.NewManual(start), model: &script{scenes: scenes}, tools: &toolbox{}, wakes: &wakes{},
		conf: session.Settings{Model: "test:model", Locale: "en"},
	}
	w.store = w.open(t, w.env.Client)
	w.hire(t, cfg)
	return w
}

func (w *world) open(t *testing.T, c *testenv.Client) *store.Store {
	t.Helper()
	st, err := store.New(c.Firestore, noFiles{}, testenv.Hasty{Manual: w.now}, uuid.NewString)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// hire starts another instance of the function, which takes the place of the one before.
func (w *world) hire(t *testing.T, cfg turn.Config) {
	t.Helper()
	w.events++
	w.client = w.env.Instance(fmt.Sprint("turn-", w.events))
	st := w.open(t, w.client)
	going, leave := context.WithCancel(t.Context())
	w.leave = leave
	var err error
	w.Turner, err = turn.New(turn.Deps{
		Open: func(id string) turn.Ledger { return st.Session(id) }, Bus: w.wakes, Models: model.Registry{"test": w.model}, Toolbox: w.tools,
		Specs: []model.Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Roles: persona{}, Files: noFiles{}, Hooks: &hooks.Hooks{}, Clock: testenv.Hasty{Manual: w.now}, NewID: uuid.NewString,
		Log: slog.New(slog.DiscardHandler), Going: going,
	}, cfg)
	if err != nil {
		t.Fatal(err)
	}
}

// run handles one more wake-up.
func (w *world) run(ctx context.Context) error {
	w.events++
	return w.Handle(ctx, bus.Wake{Session: id}, bus.Delivery{EventID: fmt.Sprint("e", w.events)})
}

func (w *world) mustRun(t *testing.T) {
	t.Helper()
	if err := w.run(t.Context()); err != nil {
		t.Fatalf("handle: %v", err)
	}
}

// change is what somebody else does to the session.
func (w *world) change(t *testing.T, decide func(*session.Draft) error) {
	t.Helper()
	ledger := w.store.Conversation("k", func() session.Session {
		return session.New(id, "k", "test:c", "test", "c", false, w.now.Now())
	})
	if _, err := ledger.Change(t.Context(), decide); err != nil {
		t.Errorf("change: %v", err)
	}
}

// ask puts a prompt into the inbox.
func (w *world) ask(t *testing.T, text string, when session.When) {
	t.Helper()
	w.keys++
	key := fmt.Sprint("k", w.keys)
	w.change(t, func(d *session.Draft) error {
		if got := d.Receive(session.Ref{Key: key, When: when, ThreadID: "thread"}, 0); got != session.ReceiptAccepted {
			return fmt.Errorf("receive %s: %s", text, got)
		}
		d.Settings = w.conf
		m := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID}.UserPrompt("Ann", text, w.now.Now(), message.Metadata{})
		m.Seq = d.Seq
		d.Create(m)
		return nil
	})
}

// stop presses the button of turn 1.
func (w *world) stop(t *testing.T) {
	t.Helper()
	w.change(t, func(d *session.Draft) error {
		if !d.StopTurn(1, "Bo") {
			return errors.New("nothing to stop")
		}
		return nil
	})
}

func (w *world) session(t *testing.T) session.Session {
	t.Helper()
	s, err := w.store.Session(id).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) messages(t *testing.T) []message.Message {
	t.Helper()
	all, err := w.store.Session(id).Since(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// record is the session's messages as lines of class, status and text.
func (w *world) record(t *testing.T) []string {
	t.Helper()
	names := map[message.Class]string{
		message.ClassUserPrompt: "prompt", message.ClassThought: "thought", message.ClassFinalReply: "reply", message.ClassToolCall: "call",
		message.ClassToolResult: "result", message.ClassNudge: "nudge", message.ClassNotification: "note", message.ClassCrashNotice: "notice",
	}
	var out []string
	for _, m := range w.messages(t) {
		text := m.Content
		if m.Type == message.TypeToolCall {
			text = m.Metadata.CallID
		}
		out = append(out, fmt.Sprintf("%s %s: %s", names[m.Class()], m.Status, text))
	}
	return out
}

// want compares the record, line by line; a line that ends in … is the beginning of one.
func (w *world) want(t *testing.T, want ...string) {
	t.Helper()
	got := w.record(t)
	same := func(got, want string) bool {
		begin, open := strings.CutSuffix(want, "…")
		return got == want || open && strings.HasPrefix(got, begin)
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("record:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// free fails unless nobody holds the session, and says whether a turn is left.
func (w *world) free(t *testing.T, live bool) {
	t.Helper()
	if s := w.session(t); s.TurnLease.Held() || (s.Turn != nil) != live {
		t.Errorf("lease %+v, turn %+v; want it free, live turn = %v", s.TurnLease, s.Turn, live)
	}
}

// crashing runs a handler that a scene can end by crash.
func (w *world) crashing(t *testing.T) error {
	t.Helper()
	ctx, crash := context.WithCancel(t.Context())
	defer crash()
	w.crash = crash
	return w.run(ctx)
}
