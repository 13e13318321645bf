package chat

import "time"

// Effect is what becomes of a message.
type Effect string

// The effects.
const (
	EffectWake    Effect = "wake"    // answer it
	EffectObserve Effect = "observe" // record it
	EffectIgnore  Effect = "ignore"  // neither
)

// Busy says where a message goes that meets a running turn.
type Busy string

// Where a message joins.
const (
	BusyStep Busy = "step" // the running turn, at its next step
	BusyTurn Busy = "turn" // the next turn
)

// Decision is the verdict on one message.
type Decision struct {
	Effect   Effect `json:"effect" firestore:"effect"`
	Priority int    `json:"priority" firestore:"priority"`
	Reason   string `json:"reason" firestore:"reason"` // e.g. "at", "quote", "direct"
	By       string `json:"by" firestore:"by"`         // the decider: rule, activity, judge
	// Delay holds the message back; Settle waits for a pause in the burst instead.
	Delay  time.Duration `json:"delay,omitempty" firestore:"delay,omitempty"`
	Settle bool          `json:"settle,omitempty" firestore:"settle,omitempty"`
	Busy   Busy          `json:"busy,omitempty" firestore:"busy,omitempty"`
	// Urge and Threshold are what a decider weighed, both 0 to 1; zero where it weighs nothing.
	Urge      float64 `json:"urge,omitempty" firestore:"urge,omitempty"`
	Threshold float64 `json:"threshold,omitempty" firestore:"threshold,omitempty"`
}

// Choose returns the verdict of several deciders: the wake of the highest priority, else the first observe, else ignore (the first
// one given, for its reason). Of two wakes with one priority the earlier decider wins. An effect that is none of the three is ignore.
func Choose(all []Decision) Decision {
	best := Decision{Effect: EffectIgnore, Reason: "none", By: "none"}
	for i, d := range all {
		if d.Effect != EffectWake && d.Effect != EffectObserve {
			d.Effect = EffectIgnore
		}
		switch {
		case i == 0,
			d.Effect == EffectWake && (best.Effect != EffectWake || d.Priority > best.Priority),
			d.Effect == EffectObserve && best.Effect == EffectIgnore:
			best = d
		}
	}
	return best
}
