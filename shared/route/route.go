// Package route is what the pipeline remembers of a channel between two messages: when the bot was last woken, how lively the room is, how
// often a judge was asked and how other bots behave. It is bounded, pure, and written in the swap that settles the events it was decided by.
package route

import (
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/urge"
)

// State is routes/{route}.
type State struct {
	RouteID string `json:"route_id" firestore:"route_id"`
	// WokenAt is when the last message that woke the bot was written.
	WokenAt   time.Time       `json:"woken_at" firestore:"woken_at"`
	Room      urge.Room       `json:"room" firestore:"room"`
	Judge     Judge           `json:"judge" firestore:"judge"`
	Peers     map[string]Peer `json:"peers" firestore:"peers"` // other bots, by a hash of their ids
	Writes    int64           `json:"writes" firestore:"writes"`
	UpdatedAt time.Time       `json:"updated_at" firestore:"updated_at"`
}

// Stored is a state as it was read, with the revision that proves it unchanged; a zero revision means that there is none yet.
type Stored struct {
	State
	Revision time.Time
}

// Change is what one swap does to events and to the memory of their route.
type Change struct {
	Events []chat.Stored // each as it shall stand
	Fresh  []chat.Record // events that must not exist yet
	Route  *Stored       // nil leaves the memory as it is
}

// Cooling reports whether a wake at that time would come within the cooldown of the last one.
func (s *State) Cooling(at time.Time, cooldown time.Duration) bool {
	return cooldown > 0 && !s.WokenAt.IsZero() && at.Sub(s.WokenAt).Abs() < cooldown
}

// Woke notes that a message of that time woke the bot, so that a reply of its own will follow.
func (s *State) Woke(at time.Time) {
	if at.After(s.WokenAt) {
		s.WokenAt = at
	}
	s.Room.Spoke(at)
}
