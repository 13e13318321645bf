// Package listen is what is known of a channel in which the app may hear more than what mentions it, and of the subscription by which it
// does. It is pure: who asks the platform and who keeps the record are others.
package listen

import (
	"strings"
	"time"
)

// State is how the subscription stands.
type State string

// The states. The platform's own word counts; these are what was last heard of it.
const (
	StateNone      State = "none"      // there is none, and none is asked for
	StateActive    State = "active"    // the room is heard
	StateRefused   State = "refused"   // the platform does not let us; it is asked again from time to time
	StateSuspended State = "suspended" // the platform has stopped delivering
)

// Space is spaces/{hash of the route id}.
type Space struct {
	RouteID string `firestore:"route_id"`
	// Joined is whether the app is in the channel, Wanted whether the route listens by the configuration of ConfigRevision.
	Joined         bool  `firestore:"joined"`
	Wanted         bool  `firestore:"wanted"`
	ConfigRevision int64 `firestore:"config_revision"`
	// MovedAt is when the app last came or went, by the platform's clock: what is told late changes nothing.
	MovedAt time.Time `firestore:"moved_at"`

	State        State      `firestore:"state"`
	Subscription string     `firestore:"subscription,omitempty"` // the platform's name of it
	ExpiresAt    *time.Time `firestore:"expires_at,omitempty"`
	// Told is the reason that was reported last; the same one is not reported again.
	Told string `firestore:"told,omitempty"`
	// DueAt is when the sweep looks at it; nil while there is nothing to do but to follow the configuration.
	DueAt *time.Time `firestore:"due_at,omitempty"`
	// Swap counts the changes, so that each one changes something.
	Swap int64 `firestore:"swap"`
}

// Stored is a record as it was read.
type Stored struct {
	Space
	Revision time.Time // of the read; a change is written over this one alone
}

// New is the record of a channel that the app has come into.
func New(routeID string, now time.Time) Space {
	return Space{RouteID: routeID, Joined: true, State: StateNone, DueAt: &now}
}

// Move notes that the app came into the channel or left it at that time, unless something later is known.
func (s *Space) Move(joined bool, at time.Time) {
	if !at.Before(s.MovedAt) {
		s.Joined, s.MovedAt = joined, at
	}
}

// Platform is the part of the route id that names the platform, Channel the one that names the channel there.
func (s *Space) Platform() string {
	platform, _, _ := strings.Cut(s.RouteID, ":")
	return platform
}

// Channel is the platform's id of the channel.
func (s *Space) Channel() string {
	_, channel, _ := strings.Cut(s.RouteID, ":")
	return channel
}

// Due tells whether there is something to do now.
func (s *Space) Due(now time.Time) bool { return s.DueAt != nil && !s.DueAt.After(now) }

// Hear notes a subscription that delivers until then. It is looked at again when half of its life is over: late enough to cost little, early
// enough to be tried many times more.
func (s *Space) Hear(name string, until, now time.Time) {
	due := now.Add(until.Sub(now) / 2)
	s.State, s.Subscription, s.ExpiresAt, s.DueAt = StateActive, name, &until, &due
}

// Deaf notes that there is no subscription, and none is to be.
func (s *Space) Deaf() {
	s.State, s.Subscription, s.ExpiresAt, s.Told, s.DueAt = StateNone, "", nil, "", nil
}

// Refuse notes that the platform does not deliver, and why. It is asked again later, for what is missing is mended without us.
func (s *Space) Refuse(state State, reason string, again time.Time) {
	s.State, s.Told, s.DueAt = state, reason, &again
}

// Retry looks at it again at that time and changes nothing else.
func (s *Space) Retry(at time.Time) { s.DueAt = &at }
