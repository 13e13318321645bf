package pipeline

import (
	"context"
	"errors"
	"log/slog"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
)

// stage is one step of the pipeline. It may settle the event, which ends its way, or change what later stages see.
type stage struct {
	name string
	run  func(*flow, context.Context) error
}

// stages is the pipeline, in the order in which an event goes through it. Duplicates (P1) are dropped before all of them: a second event with
// the same key is never stored, and one that is settled is not pending.
var stages = []stage{
	{"control", (*flow).control},   // what is no message: joined, left, a pressed button, edits and recalls
	{"engine", (*flow).engine},     // P3
	{"activate", (*flow).activate}, // P4, P5
	{"model", (*flow).model},       // P13
	{"bind", (*flow).bind},         // P14
	{"media", (*flow).media},       // L1: attachments are copied before the prompt is stored
	{"accept", (*flow).accept},     // P15, P16
}

// Outcomes of an event, one word for operators.
const (
	OutcomeAccepted     = "accepted"
	OutcomeIgnored      = "ignored"
	OutcomeFull         = "full" // back-pressure: too many prompts wait
	OutcomeDuplicate    = "duplicate"
	OutcomeUnknownModel = "unknown_model"
	OutcomeWelcomed     = "welcomed"
	OutcomeStopped      = "stopped"
	OutcomeTooLate      = "too_late" // the turn to stop was over
	OutcomeFailed       = "failed"
)

// flow is one event on its way.
type flow struct {
	*Pipeline
	event    chat.Stored
	route    config.Route
	decision chat.Decision
	ledger   Ledger
	session  string
	settled  bool
	log      *slog.Logger
}

// drop settles the event with nothing else stored.
func (f *flow) drop(ctx context.Context, outcome string) error {
	f.event.Settle(f.decision, outcome, "")
	err := f.Events.SettleEvent(ctx, f.event)
	if errors.Is(err, errs.ErrConflict) {
		return err
	}
	f.settled = err == nil
	return err
}
