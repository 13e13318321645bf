package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/message"
)

const (
	heartbeat    = 15 * time.Second
	askAgain     = 2 * time.Second // how often a space is asked for new sessions
	sessionsKept = 5               // sessions of a space that are shown: the newest
	callsKept    = 50              // calls of the webhook that the page begins with
)

type personView struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Locale      string `json:"locale,omitempty"`
	Bot         bool   `json:"bot,omitempty"`
}

type spaceView struct {
	Name        string        `json:"name"`
	DisplayName string        `json:"displayName"`
	Direct      bool          `json:"direct"`
	Members     []string      `json:"members"`
	AppIn       bool          `json:"appIn"`
	Settings    hook.Settings `json:"settings"`
}

// snapshot is everything the page begins with.
type snapshot struct {
	App        personView                 `json:"app"`
	People     []personView               `json:"people"`
	Spaces     []spaceView                `json:"spaces"`
	Messages   map[string][]*wire.Message `json:"messages"`
	Deliveries []hook.Delivery            `json:"deliveries"`
	Traces     bool                       `json:"traces"` // whether turns have traces to show
	Rules      bool                       `json:"rules"`  // whether there are rules to choose from
}

// recordView is one message of a session with its row in the message model's table.
type recordView struct {
	message.Message
	Class message.Class `json:"class"`
}

// recordsView is a session as it stands, or why it cannot be read.
type recordsView struct {
	Space   string       `json:"space"`
	Session string       `json:"session,omitempty"`
	Records []recordView `json:"records"`
	Error   string       `json:"error,omitempty"`
}

func (p *page) snapshot() snapshot {
	out := snapshot{
		App: viewOf(p.chat.App()), Messages: map[string][]*wire.Message{}, Deliveries: p.chat.Deliveries(),
		Traces: p.traces != nil, Rules: p.rules != nil,
	}
	out.Deliveries = out.Deliveries[max(0, len(out.Deliveries)-callsKept):]
	for _, person := range p.chat.People() {
		out.People = append(out.People, viewOf(person))
	}
	for _, s := range p.chat.Spaces() {
		out.Spaces = append(out.Spaces, spaceView{
			Name: s.Space.Name, DisplayName: s.Space.DisplayName, Direct: s.Space.SingleUserBotDm, Members: s.Members, AppIn: s.AppIn, Settings: s.Settings,
		})
		out.Messages[s.Space.Name] = p.chat.Messages(s.Space.Name, readBack)
	}
	return out
}

func viewOf(p world.Person) personView {
	return personView{Name: p.Name, DisplayName: p.DisplayName, Locale: p.Locale, Bot: p.Bot}
}

// stream sends a snapshot, then every change of the chat and the records and decisions of the space that is named in the query. A reader that
// comes back, or has been too slow, begins with a snapshot again.
func (p *page) stream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	changes := p.chat.Subscribe(ctx) // before the snapshot, so that nothing falls between them
	records, decisions := make(chan recordsView), make(chan decisionsView)
	nudge := make(chan struct{}, 1)
	space := r.URL.Query().Get("space")
	if p.records != nil && space != "" {
		go p.follow(ctx, space, nudge, records)
		go p.followDecisions(ctx, space, decisions)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	e := events{w: w, flush: http.NewResponseController(w).Flush}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	spans := p.heard()
	for err := e.send("snapshot", p.snapshot()); err == nil; {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			err = e.beat()
		case v := <-records:
			err = e.send("records", v)
		case v := <-decisions:
			err = e.send("decisions", v)
		case <-spans:
			spans = p.heard()
			err = e.send("spans", struct{}{}) // who shows a trace asks for it
		case c, ok := <-changes:
			if !ok {
				return
			}
			err = p.sendChange(e, c)
			if c.Space == space {
				select {
				case nudge <- struct{}{}:
				default:
				}
			}
		}
	}
}

// heard is closed when there are more spans; it is nil, and so never ready, where there are no traces.
func (p *page) heard() <-chan struct{} {
	if p.traces == nil {
		return nil
	}
	return p.traces.Heard()
}

func (p *page) sendChange(e events, c world.Change) error {
	switch {
	case c.Message != nil:
		return e.send("message", c.Message)
	case c.Delivery != nil:
		return e.send("delivery", c.Delivery)
	default:
		return e.send("spaces", p.snapshot().Spaces)
	}
}

// follow sends the newest sessions of a space as they change, and looks for new ones after every nudge and now and then.
func (p *page) follow(ctx context.Context, space string, nudge <-chan struct{}, out chan<- recordsView) {
	following, ended := map[string]bool{}, make(chan string)
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		ids, err := p.records.Sessions(ctx, space)
		if err != nil && ctx.Err() == nil {
			put(ctx, out, recordsView{Space: space, Error: err.Error()})
		}
		for _, id := range ids[max(0, len(ids)-sessionsKept):] {
			if !following[id] {
				following[id] = true
				go p.followSession(ctx, space, id, out, ended)
			}
		}
		select {
		case <-ctx.Done():
			return
		case id := <-ended:
			delete(following, id)
			select { // a session that cannot be followed is not asked for without pause
			case <-again.C:
			case <-ctx.Done():
			}
		case <-nudge:
		case <-again.C:
		}
	}
}

// followSession sends one session as it changes.
func (p *page) followSession(ctx context.Context, space, id string, out chan<- recordsView, ended chan<- string) {
	for list, err := range p.records.Follow(ctx, id) {
		v := recordsView{Space: space, Session: id}
		if err != nil {
			v.Error = err.Error()
		}
		for _, m := range list {
			v.Records = append(v.Records, recordView{Message: m, Class: m.Class()})
		}
		put(ctx, out, v)
	}
	put(ctx, ended, id)
}

// put sends v unless the context ends first.
func put[T any](ctx context.Context, ch chan<- T, v T) {
	select {
	case ch <- v:
	case <-ctx.Done():
	}
}

// events writes server-sent events.
type events struct {
	w     http.ResponseWriter
	flush func() error
}

func (e events) send(name string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("write a %s event: %w", name, err)
	}
	if _, err := fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, body); err != nil {
		return fmt.Errorf("send a %s event: %w", name, err)
	}
	return e.flush()
}

// beat shows that the connection lives.
func (e events) beat() error {
	if _, err := fmt.Fprint(e.w, ": alive\n\n"); err != nil {
		return fmt.Errorf("send a heartbeat: %w", err)
	}
	return e.flush()
}
