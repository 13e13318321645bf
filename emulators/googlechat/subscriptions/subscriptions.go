// Package subscriptions plays the Google Workspace Events API for Chat spaces: subscriptions that live for a while, and what they publish. Its
// forms are those of google.golang.org/api/workspaceevents/v1 and of developers.google.com/workspace/events/guides. It knows no HTTP and no
// Pub/Sub: what it publishes goes to a function that is given to it, one message at a time and in order.
package subscriptions

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/shared/clock"
)

const (
	withResource    = 4 * time.Hour      // the longest life of a subscription whose events carry the message
	withoutResource = 7 * 24 * time.Hour // and of one whose events name it
	remindBefore    = time.Hour
	maxQueue        = 10_000 // messages that wait to be published

	stateActive    = "ACTIVE"
	stateSuspended = "SUSPENDED"
	typePrefix     = "google.workspace.events.subscription.v1."
)

// Publish sends a message to a Pub/Sub topic, "projects/p/topics/t".
type Publish func(ctx context.Context, topic string, m *wire.Published) error

// Set is all subscriptions of the one app.
type Set struct {
	clock   clock.Clock
	log     *slog.Logger
	publish Publish

	life   context.Context
	cancel context.CancelFunc
	sender sync.WaitGroup
	queue  chan outgoing

	mu    sync.Mutex
	all   []*subscription
	ops   map[string]*workspaceevents.Operation
	later bool
}

type subscription struct {
	workspaceevents.Subscription
	expires  time.Time
	reminded bool
	broken   bool // what suspended it lasts
}

type outgoing struct {
	topic string
	name  string // of the subscription
	m     *wire.Published
}

// New makes an empty set. Without publish its subscriptions are kept and say nothing. Close it.
func New(publish Publish, c clock.Clock, log *slog.Logger) *Set {
	s := &Set{clock: c, log: log, publish: publish, queue: make(chan outgoing, maxQueue), ops: map[string]*workspaceevents.Operation{}}
	s.life, s.cancel = context.WithCancel(context.Background())
	s.sender.Go(s.send)
	return s
}

// Close stops publishing and waits until that has ended.
func (s *Set) Close() {
	s.cancel()
	s.sender.Wait()
}

func (s *Set) send() {
	for {
		select {
		case <-s.life.Done():
			return
		case out := <-s.queue:
			if s.publish == nil {
				continue
			}
			if err := s.publish(s.life, out.topic, out.m); err != nil && s.life.Err() == nil {
				s.log.Warn("event not published: the subscription is suspended", "subscription", out.name, "error", err)
				s.Suspend(out.name, "ENDPOINT_NOT_FOUND", false)
			}
		}
	}
}

// tell queues a message of a subscription. The caller holds mu.
func (s *Set) tell(sub *subscription, m *wire.Published) {
	select {
	case s.queue <- outgoing{sub.NotificationEndpoint.PubsubTopic, sub.Name, m}:
	default:
		s.log.Error("event dropped: too many wait", "subscription", sub.Name)
	}
}

// Announce publishes an event about a message to the subscriptions that ask for it. It does not wait.
func (s *Set) Announce(e *wire.SpaceEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse()
	for _, sub := range s.all {
		if sub.TargetResource != wire.ChatResource+e.Space || sub.State != stateActive || !slices.Contains(sub.EventTypes, e.Type) {
			continue
		}
		told := *e
		told.Source = wire.EventsResource + sub.Name
		told.NameOnly = sub.PayloadOptions == nil || !sub.PayloadOptions.IncludeResource
		m, err := told.Published()
		if err != nil {
			s.log.Error("event not published", "subscription", sub.Name, "error", err)
			continue
		}
		s.tell(sub, m)
	}
}

// lifecycle publishes what has become of a subscription. The caller holds mu.
func (s *Set) lifecycle(sub *subscription, kind string) {
	e := wire.LifecycleEvent{
		Type: typePrefix + kind, ID: randomID(), At: s.clock.Now().UTC().Format(wire.TimeFormat), Subscription: sub.Name, Reason: sub.SuspensionReason,
	}
	m, err := e.Published()
	if err != nil {
		s.log.Error("lifecycle event not published", "subscription", sub.Name, "error", err)
		return
	}
	s.tell(sub, m)
}

// Tick lets time do its work: reminders, and the end of what has expired. Every call of the API does so too.
func (s *Set) Tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse()
}

func (s *Set) lapse() {
	now := s.clock.Now()
	s.all = slices.DeleteFunc(s.all, func(sub *subscription) bool {
		if !sub.reminded && now.After(sub.expires.Add(-remindBefore)) {
			sub.reminded = true
			s.lifecycle(sub, "expirationReminder")
		}
		if now.Before(sub.expires) {
			return false
		}
		s.lifecycle(sub, "expired")
		return true
	})
}

// Suspend stops a subscription for a reason of the API's and says so to it. Unless it is mended, the reason lasts until Mend.
func (s *Set) Suspend(name, reason string, mended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.find(name); sub != nil && sub.State == stateActive {
		sub.State, sub.SuspensionReason, sub.broken = stateSuspended, reason, !mended
		s.lifecycle(sub, "suspended")
	}
}

// Mend takes away what suspended a subscription; it can then be reactivated.
func (s *Set) Mend(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.find(name); sub != nil {
		sub.broken = false
	}
}

// Later makes operations take until they are asked for, instead of being done when they are answered.
func (s *Set) Later(later bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later = later
}

// All returns the subscriptions as they stand, in the order in which they were made.
func (s *Set) All() []*workspaceevents.Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse()
	all := make([]*workspaceevents.Subscription, len(s.all))
	for i, sub := range s.all {
		all[i] = sub.copy()
	}
	return all
}

func (sub *subscription) copy() *workspaceevents.Subscription {
	c := sub.Subscription
	return &c
}

// find finds a subscription by name, or returns nil. The caller holds mu.
func (s *Set) find(name string) *subscription {
	i := slices.IndexFunc(s.all, func(sub *subscription) bool { return sub.Name == name })
	if i < 0 {
		return nil
	}
	return s.all[i]
}

func (s *Set) known(name string) (*subscription, error) {
	s.lapse()
	if sub := s.find(name); sub != nil {
		return sub, nil
	}
	return nil, wire.Errorf(http.StatusNotFound, "Requested entity was not found.")
}

func randomID() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails: crypto/rand ends the process instead
	return hex.EncodeToString(b)
}
