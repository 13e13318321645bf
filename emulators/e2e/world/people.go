package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"kesoku.dev/emulators/e2e/card"
	"kesoku.dev/emulators/googlechat/wire"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/bus"
)

// Names of the stand-in's default people and places.
const (
	Alice    = "users/100000000000000000001"
	Bo       = "users/100000000000000000002"
	Carol    = "users/100000000000000000003"
	Room     = "spaces/AAQAkesoku01"
	Tokyo    = "spaces/AAQAtokyo002"
	AliceDM  = "spaces/dmKesoku001"
	patience = 60 * time.Second // of a test that waits for something to happen, on a busy machine
)

// Post is what somebody wrote, in the order in which they did.
type Post struct {
	Space, Name string // resource names
	// After says that the message before it in its space was acknowledged when it was written.
	After bool
	// Heard says that the webhook has acknowledged it.
	Heard bool
}

// Posts returns what was written so far.
func (w *World) Posts() []Post {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Clone(w.posts)
	for i := range out {
		out[i].Heard = w.heard[out[i].Name]
	}
	return out
}

// Post writes a message and returns at once.
func (w *World) Post(user, space, text string) *wire.Message {
	w.T.Helper()
	return w.Write(chatworld.Post{User: user, Space: space, Text: text})
}

// Write is Post with everything that a message may have.
func (w *World) Write(p chatworld.Post) *wire.Message {
	w.T.Helper()
	m, err := w.Chat.Post(p)
	if err != nil {
		w.T.Errorf("post %q: %v", p.Text, err)
		return &wire.Message{}
	}
	v, known := w.view(p.Space)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts = append(w.posts, Post{Space: p.Space, Name: m.Name})
	if known && v.AppIn && m.Sender.Type != "BOT" && (v.Space.SingleUserBotDm || m.Mentions(w.Chat.App().Name)) {
		w.expected += max(1, v.Settings.Copies)
	}
	return m
}

// view is how a space stands.
func (w *World) view(space string) (chatworld.SpaceView, bool) {
	for _, v := range w.Chat.Spaces() {
		if v.Space.Name == space {
			return v, true
		}
	}
	return chatworld.SpaceView{}, false
}

// Join adds the app to a space, or takes it out.
func (w *World) Join(user, space string, in bool) {
	w.T.Helper()
	w.mu.Lock()
	w.expected++
	w.mu.Unlock()
	if err := w.Chat.SetApp(space, user, in); err != nil {
		w.T.Fatal(err)
	}
}

// PostAcked writes a message and returns once the webhook has acknowledged it, or the platform has given it up.
func (w *World) PostAcked(user, space, text string) *wire.Message {
	w.T.Helper()
	return w.WriteAcked(chatworld.Post{User: user, Space: space, Text: text})
}

// WriteAcked is PostAcked with everything that a message may have. A message that the app is not told of is not waited for.
func (w *World) WriteAcked(p chatworld.Post) *wire.Message {
	w.T.Helper()
	m := w.Write(p)
	w.mu.Lock()
	w.posts[w.indexOf(m.Name)].After = true
	w.mu.Unlock()
	begun := time.Now()
	w.Until("the webhook's answer", func() bool {
		w.mu.Lock()
		heard := w.heard[m.Name]
		w.mu.Unlock()
		return heard || time.Since(begun) > quiet && w.hooksDone() // unheard: every attempt failed, or there was none
	})
	return m
}

// indexOf finds a post. The caller holds mu.
func (w *World) indexOf(name string) int {
	for i := range w.posts {
		if w.posts[i].Name == name {
			return i
		}
	}
	return 0
}

// remembered is how many calls of the webhook the stand-in tells of.
const remembered = 500

// hooksDone reports whether every call of the webhook has been begun and has ended, those included that the platform will repeat. The
// stand-in makes them in the background.
func (w *World) hooksDone() bool {
	type try struct {
		space, kind   string
		copy, attempt int
	}
	begun, failed, interactions := map[try]int{}, map[try]int{}, 0
	all := w.Chat.Deliveries()
	for _, d := range all {
		if !d.Done {
			return false
		}
		begun[try{d.Space, d.Kind, d.Copy, d.Attempt}]++
		if d.Status/100 != 2 {
			failed[try{d.Space, d.Kind, d.Copy, d.Attempt}]++
		}
		if d.Attempt == 1 && !strings.Contains(d.Kind, ".") { // a space event's kind is a type with dots
			interactions++
		}
	}
	for t, n := range failed {
		v, _ := w.view(t.space)
		if t.attempt <= v.Settings.Retries && begun[try{t.space, t.kind, t.copy, t.attempt + 1}] < n {
			return false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return interactions >= w.expected || len(all) >= remembered
}

// Until waits until something has become true; it looks every few milliseconds and fails the test after its patience.
func (w *World) Until(what string, done func() bool) {
	w.T.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		if time.Now().After(deadline) {
			w.T.Fatalf("no %s within %s", what, patience)
		}
		pause()
	}
}

// pause is how long a test looks away between two looks.
func pause() { time.Sleep(4 * time.Millisecond) }

// Publish publishes a wake-up as Cloud Scheduler does.
func (w *World) Publish(topic bus.Topic, wake any) {
	w.T.Helper()
	data, err := json.Marshal(wake)
	if err != nil {
		w.T.Fatal(err)
	}
	p := w.Env.PubSub.Publisher(string(topic))
	defer p.Stop()
	if _, err := p.Publish(w.T.Context(), &pubsub.Message{Data: data}).Get(w.T.Context()); err != nil {
		w.T.Errorf("publish to %s: %v", topic, err)
	}
}

// Sweep publishes one sweep.
func (w *World) Sweep() { w.Publish(bus.TopicSweeps, bus.Sweep{}) }

// Cron publishes a trigger of a cron job.
func (w *World) Cron(job string) { w.Publish(bus.TopicCron, bus.Cron{Job: job}) }

// Press presses the button of the newest card in a space that has one.
func (w *World) Press(user, space string) error {
	all := w.Sent(space)
	for i := len(all) - 1; i >= 0; i-- {
		for _, c := range card.Of(all[i]) {
			if c.Button == "" {
				continue
			}
			w.mu.Lock()
			w.expected++
			w.mu.Unlock()
			return w.Chat.Click(chatworld.Click{User: user, Message: all[i].Name, Function: c.Function, Parameters: c.Parameters})
		}
	}
	return fmt.Errorf("no card in %s has a button", space)
}

// Sent returns what stands of the app's in a space, oldest first.
func (w *World) Sent(space string) []*wire.Message {
	var out []*wire.Message
	for _, m := range w.Chat.Messages(space, 20_000) {
		if m.Sender.Name == w.Chat.App().Name && m.DeleteTime == "" {
			out = append(out, m)
		}
	}
	return out
}
