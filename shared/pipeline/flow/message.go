// Package flow is what the pipeline's stages work on: a burst of messages of one conversation on its way, with the swap that settles it. It knows
// when a burst is complete and how it ends; what is decided and stored on the way is the stages' business.
package flow

import (
	"log/slog"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline/activation"
)

// Outcomes of an event, one word for operators.
const (
	OutcomeAccepted     = "accepted"
	OutcomeIgnored      = "ignored"
	OutcomeVetoed       = "vetoed" // by a hook
	OutcomeFull         = "full"   // back-pressure: too many prompts wait
	OutcomeDuplicate    = "duplicate"
	OutcomeUnknownModel = "unknown_model"
	OutcomeBlocked      = "censor_blocked"
	OutcomeWelcomed     = "welcomed"
	OutcomeBackfilled   = "backfilled"
	OutcomeStopped      = "stopped"
	OutcomeTooLate      = "too_late"           // the turn to stop was over
	OutcomeRecalled     = chat.OutcomeRecalled // taken back before it was answered
	OutcomeNoted        = "noted"              // an edit or a recall that the history now tells of
	OutcomeFailed       = "failed"
)

// Message is one event on its way.
type Message struct {
	AsRead   chat.Stored // before any stage
	Event    chat.Stored
	Route    config.Resolved
	Decision chat.Decision
	// Outcome is empty until the event's way has ended.
	Outcome string
	Log     *slog.Logger
}

// Drop ends a message's way; the burst's commit stores it.
func (m *Message) Drop(outcome string) { m.Outcome = outcome }

// Live reports whether the message is still on its way.
func (m *Message) Live() bool { return m.Outcome == "" }

// Settled is the event as it shall stand, its session if it has to do with one.
func (m *Message) Settled(outcome, sessionID string) chat.Stored {
	e := m.Event
	e.Settle(m.Decision, outcome, sessionID)
	return e
}

// ReasonMerged is the reason of a message that is answered along with another one of its burst.
const ReasonMerged = "merged"

// Wakes reports whether the message itself wakes the bot, rather than going along with one that does.
func (m *Message) Wakes() bool {
	return m.Decision.Effect == chat.EffectWake && m.Decision.Reason != ReasonMerged
}

// addresses reports whether the message speaks to the bot, as far as that shows without deciding.
func (m *Message) addresses() bool {
	e := &m.Event
	return e.AtMe || e.QuoteMe || e.Direct || activation.Named(e.Text, m.Route.Route.Activation)
}
