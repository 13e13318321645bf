// Package world is the state behind Google Chat: people, spaces, what was said, and what follows from it. People act on it (Post, Edit,
// Click, …), and so does the app (CreateAsApp, …); whoever must hear of it does, through the hook and the change feed. It knows nothing of
// HTTP servers. Everything is in memory and bounded.
package world

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/api/chat/v1"

	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/media"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/shared/clock"
)

// Options are what the world begins with. All fields must be set.
type Options struct {
	App             Person
	People          []Person
	Places          []Place
	Settings        hook.Settings // that each space starts with
	WritesPerSecond float64       // by the app, of one space; negative means without limit
	KeepMessages    int           // per space
	Clock           clock.Clock
}

// Person is somebody in the chat.
type Person struct {
	Name        string // resource name, "users/…"
	DisplayName string
	Email       string
	AvatarURL   string
	Locale      string // BCP 47
	Bot         bool
}

// Place is a space to begin with.
type Place struct {
	Name        string // resource name, "spaces/…"
	DisplayName string
	Direct      bool
	Members     []string // resource names of people
	WithoutApp  bool
}

// World is the state.
type World struct {
	opts  Options
	clock clock.Clock
	hook  *hook.Sender
	rooms func(e *wire.SpaceEvent) // tells subscriptions, and does not wait
	feed  feed

	mu     sync.Mutex
	people map[string]*Person
	order  []string // of people, the app first
	spaces map[string]*space
	places []string // order of spaces
	media  media.Store
	last   time.Time
}

// New makes the world. Connect it to a hook before anything happens in it.
func New(opts Options) (*World, error) {
	w := &World{opts: opts, clock: opts.Clock, people: map[string]*Person{}, spaces: map[string]*space{}}
	for _, p := range append([]Person{opts.App}, opts.People...) {
		w.people[p.Name] = &p
		w.order = append(w.order, p.Name)
	}
	set, err := opts.Settings.Checked()
	if err != nil {
		return nil, err
	}
	for _, p := range opts.Places {
		for _, m := range p.Members {
			if w.people[m] == nil {
				return nil, fmt.Errorf("make %s: member %q is nobody", p.Name, m)
			}
		}
		w.spaces[p.Name] = newSpace(p, opts, set, w.stamp())
		w.places = append(w.places, p.Name)
	}
	return w, nil
}

// Connect names the hook that hears of what concerns the app, and what tells subscriptions of messages.
func (w *World) Connect(h *hook.Sender, rooms func(*wire.SpaceEvent)) { w.hook, w.rooms = h, rooms }

// Delivered tells the readers of the change feed about a delivery.
func (w *World) Delivered(d hook.Delivery) { w.feed.publish(Change{Space: d.Space, Delivery: &d}) }

// Configure changes how a space's events are sent.
func (w *World) Configure(name string, set hook.Settings) error {
	set, err := set.Checked()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	sp, err := w.space(name)
	if err != nil {
		return err
	}
	sp.settings = set
	w.feed.publish(Change{Space: name})
	return nil
}

// interact tells the app of an interaction. The caller holds mu.
func (w *World) interact(sp *space, event *wire.Interaction) {
	event.Space = sp.info
	w.hook.Interaction(sp.settings, event)
}

// announce tells the subscriptions of the space about a message, while the app is in it. The caller holds mu.
func (w *World) announce(sp *space, kind string, m *wire.Message) {
	event := wire.SpaceEvent{Type: kind, ID: randomID(24), At: w.stamp(), Space: sp.info.Name, Message: m}
	event.PubsubID = strconv.FormatInt(w.last.UnixMicro(), 10)
	if sp.appIn {
		w.rooms(&event)
	}
	w.hook.SpaceEvent(sp.settings, &event)
}

// stamp is the next create time: never the same twice, never backwards. The caller holds mu, or has the server to itself.
func (w *World) stamp() string {
	now := w.clock.Now().UTC().Truncate(time.Microsecond)
	if !now.After(w.last) {
		now = w.last.Add(time.Microsecond)
	}
	w.last = now
	return now.Format(wire.TimeFormat)
}

// space finds a space. The caller holds mu.
func (w *World) space(name string) (*space, error) {
	if sp := w.spaces[name]; sp != nil {
		return sp, nil
	}
	return nil, wire.Errorf(http.StatusNotFound, "Space %q not found.", name)
}

// users returns the members of a space and, where it is one, the app. The caller holds mu.
func (w *World) users(sp *space) []*chat.User {
	all := make([]*chat.User, 0, len(sp.members)+1)
	if sp.appIn {
		all = append(all, w.people[w.opts.App.Name].user())
	}
	for _, m := range sp.members {
		all = append(all, w.people[m].user())
	}
	return all
}

func (p *Person) user() *chat.User {
	u := &chat.User{Name: p.Name, DisplayName: p.DisplayName, Email: p.Email, AvatarUrl: p.AvatarURL, Type: "HUMAN"}
	if p.Bot {
		u.Type = "BOT"
	}
	return u
}

func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
}

// randomID is n random bytes in the alphabet of Google's ids.
func randomID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return strings.TrimRight(base64.URLEncoding.EncodeToString(b), "=")
}
