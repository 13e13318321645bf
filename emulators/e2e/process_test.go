package e2e_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"

	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/googlechat"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/models"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// processes is a stack whose functions are processes of their own, over a model that takes a second for each step.
type processes struct {
	*stack.Stack
	t     *testing.T
	env   *testenv.Env
	page  *httptest.Server
	reads chan string
}

func newProcesses(t *testing.T) *processes {
	t.Helper()
	return newProcessesWith(t, world.DefaultConfig())
}

func newProcessesWith(t *testing.T, config map[string]string) *processes {
	t.Helper()
	pair, err := emulator.Shared()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &processes{t: t, env: testenv.New(t), reads: make(chan string, 100)}
	p.page = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.reads <- r.URL.Path
		_, _ = io.WriteString(w, "A page.")
	}))
	t.Cleanup(p.page.Close)
	p.Stack, err = stack.Start(t.Context(), stack.Options{
		Command: []string{self}, Project: p.env.ProjectID, Emulators: pair, Config: config,
		Chat: googlechat.Options{WritesPerSecond: -1}, Models: models.Options{Pace: models.Pace{First: time.Second}},
		Env: []string{"FETCH_ALLOW=" + strings.TrimPrefix(p.page.URL, "http://")}, MinBackoff: 100 * time.Millisecond,
		MaxBackoff: 200 * time.Millisecond, Sweep: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// session returns the only session, or nil before there is one, as a document.
func (p *processes) session() *firestore.DocumentSnapshot {
	p.t.Helper()
	docs, err := p.env.Firestore.Collection("sessions").Documents(p.t.Context()).GetAll()
	if err != nil || len(docs) == 0 {
		return nil
	}
	return docs[0]
}

// has reports whether the session has a message of the class with the status.
func (p *processes) has(class message.Class, status message.Status) bool {
	for _, m := range p.records() {
		if m.Class() == class && m.Status == status {
			return true
		}
	}
	return false
}

func (p *processes) records() []message.Message {
	doc := p.session()
	if doc == nil {
		return nil
	}
	all, err := p.Store.Session(doc.Ref.ID).Since(p.t.Context(), 0)
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}

func (p *processes) until(what string, done func() bool) {
	p.t.Helper()
	for begun := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			p.t.Fatalf("no %s within a minute: %+v", what, p.records())
		}
	}
}

// expire lets the turn lease's time be over, which would take a minute, and sweeps.
func (p *processes) expire() {
	p.t.Helper()
	past := time.Now().Add(-10 * time.Minute)
	_, err := p.session().Ref.Update(p.t.Context(), []firestore.Update{
		{Path: "turn_lease.until", Value: past}, {Path: "wake_at", Value: past}, {Path: "swap", Value: "the test's"},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	publisher := p.PubSub.Publisher(string(bus.TopicSweeps))
	defer publisher.Stop()
	if _, err := publisher.Publish(p.t.Context(), &pubsub.Message{Data: []byte("{}")}).Get(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
}

func (p *processes) ask() {
	p.t.Helper()
	text := "@Kesoku read " + p.page.URL + "/one"
	if _, err := p.Chat.Post(chatworld.Post{User: world.Alice, Space: world.Room, Text: text}); err != nil {
		p.t.Fatal(err)
	}
}

// answered checks the end of the conversation: one reply, and no tool run twice.
func (p *processes) answered() {
	p.t.Helper()
	p.until("delivered reply", func() bool { return p.has(message.ClassFinalReply, message.StatusDelivered) })
	texts := 0
	for _, m := range p.Chat.Messages(world.Room, 100) {
		if m.Sender.Name == p.Chat.App().Name && m.Text != "" {
			texts++
		}
	}
	if texts != 1 || len(p.reads) > 1 {
		p.t.Errorf("%d replies, page read %d times: %+v", texts, len(p.reads), p.records())
	}
}

// The same with real processes: kill -9 of the turn function at several moments of a turn with one tool.
func TestKillProcess(t *testing.T) { // L5, A1, cases B33, B34
	t.Parallel()
	moments := map[string]func(p *processes) bool{
		"while the model thinks": func(p *processes) bool { return p.has(message.ClassUserPrompt, message.StatusProcessing) },
		"when the calls are stored": func(p *processes) bool {
			return p.has(message.ClassToolCall, message.StatusResponded) || len(p.reads) > 0
		},
		"before the last answer": func(p *processes) bool { return len(p.reads) > 0 },
	}
	for name, moment := range moments {
		t.Run(name, func(t *testing.T) {
			p := newProcesses(t)
			p.ask()
			p.until("moment "+name, func() bool { return moment(p) })
			if err := p.Functions["turn"].Kill(); err != nil {
				t.Fatal(err)
			}
			p.expire()
			p.answered()
		})
	}
}

// SIGTERM in the middle of a turn: its state is stored, and the next instance goes on at once, without waiting for a lease to expire.
func TestTerminateProcess(t *testing.T) { // A12
	t.Parallel()
	p := newProcesses(t)
	p.ask()
	p.until("running turn", func() bool { return p.has(message.ClassUserPrompt, message.StatusProcessing) })
	begun := time.Now()
	if err := p.Functions["turn"].Terminate(); err != nil {
		t.Fatal(err)
	}
	p.answered()
	if took := time.Since(begun); took > 45*time.Second {
		t.Errorf("going on took %s: it waited for the lease", took)
	}
	doc := p.session()
	if recoveries, err := doc.DataAt("turn"); err == nil && recoveries != nil {
		t.Errorf("the turn is live still: %v", recoveries)
	}
}

// serveFunction makes this test process a function, if its environment says so.
func serveFunction() {
	if os.Getenv("FUNCTION_TARGET") == "" {
		return
	}
	if err := stack.ServeFunction(os.Getenv("PORT")); err != nil {
		panic(err)
	}
}
