// Package googlechat stands in for Google Chat: the REST API that an app calls, the Workspace Events API by which it subscribes to spaces, and
// the platform that calls the app's webhook when people do something. It knows the public protocol and nothing of the app behind it. People act through the methods that Server has from
// package world; a test or a page calls them.
package googlechat

import (
	"log/slog"
	"net/http"
	"sync/atomic"

	"kesoku.dev/emulators/googlechat/fault"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/subscriptions"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/clock"
)

const (
	// writesPerSecond is the documented limit of one space, shared by create, patch and delete.
	writesPerSecond = 1
	// maxKept is how many messages a space remembers at most.
	maxKept = 20_000
)

// Options configure a Server. The zero value of each field is a sensible default, but for the webhook's URL: without one nothing is sent.
type Options struct {
	App    world.Person   // the app itself; default "Kesoku"
	People []world.Person // default: Alice, 小波 Bo, Carol and the bot Builder
	Places []world.Place  // default: two rooms with everybody, and a direct message of each person with the app

	Webhook hook.Webhook
	// Publish sends what subscriptions of the Workspace Events API bring to their topics; without it they bring nothing.
	Publish subscriptions.Publish
	// Settings are those that each space starts with.
	Settings hook.Settings
	// WritesPerSecond limits the writes of one space; 0 means Google's own limit, a negative number none.
	WritesPerSecond float64
	// RequireBearer refuses REST calls that carry no bearer token. What the token says is never looked at.
	RequireBearer bool
	KeepMessages  int // per space; default and most 20,000

	Clock  clock.Clock
	Logger *slog.Logger
}

// Server is the stand-in.
type Server struct {
	*world.World
	hook          *hook.Sender
	events        *subscriptions.Set
	faults        fault.Set
	requireBearer bool
	unapproved    atomic.Bool
}

// New makes a stand-in with its people and places. Close it to stop its deliveries.
func New(opts Options) (*Server, error) {
	opts = opts.withDefaults()
	w, err := world.New(world.Options{
		App: opts.App, People: opts.People, Places: opts.Places, Settings: opts.Settings, WritesPerSecond: opts.WritesPerSecond,
		KeepMessages: opts.KeepMessages, Clock: opts.Clock,
	})
	if err != nil {
		return nil, err
	}
	h, err := hook.New(opts.Webhook, opts.Clock, opts.Logger, w.Delivered)
	if err != nil {
		return nil, err
	}
	events := subscriptions.New(opts.Publish, opts.Clock, opts.Logger)
	w.Connect(h, events.Announce)
	return &Server{World: w, hook: h, events: events, requireBearer: opts.RequireBearer}, nil
}

func (o Options) withDefaults() Options {
	if o.App.Name == "" {
		o.App = world.Person{Name: "users/100000000000000000000", DisplayName: "Kesoku"}
	}
	o.App.Bot = true
	if o.People == nil {
		o.People = defaultPeople()
	}
	if o.Places == nil {
		o.Places = defaultPlaces()
	}
	if o.WritesPerSecond == 0 {
		o.WritesPerSecond = writesPerSecond
	}
	if o.KeepMessages <= 0 || o.KeepMessages > maxKept {
		o.KeepMessages = maxKept
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Close stops deliveries and waits until they have ended.
func (s *Server) Close() {
	s.events.Close()
	s.hook.Close()
}

// AuthorizePush gives a request the token that Pub/Sub's push to the webhook would carry.
func (s *Server) AuthorizePush(r *http.Request) error { return s.hook.AuthorizePush(r) }

// SetWebhook changes where the app listens.
func (s *Server) SetWebhook(w hook.Webhook) { s.hook.SetWebhook(w) }

// Deliveries returns the last calls of the webhook, oldest first.
func (s *Server) Deliveries() []hook.Delivery { return s.hook.Deliveries() }

// Inject arms a fault of the REST API.
func (s *Server) Inject(f fault.Fault) error {
	if err := s.faults.Add(f); err != nil {
		return wire.Errorf(http.StatusBadRequest, "%v", err)
	}
	return nil
}

// Faults lists what is armed.
func (s *Server) Faults() []fault.Fault { return s.faults.List() }

// ClearFaults disarms every fault.
func (s *Server) ClearFaults() { s.faults.Clear() }
