package flow

import (
	"context"
	"errors"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
)

// Wait lets a time pass. If the instance must go meanwhile, the wake-up is given back at once: what waits is in the store.
func (d *Deps) Wait(ctx context.Context, left time.Duration) error {
	sleeping, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(d.Going, stop)() //nolint:contextcheck // the instance's own life, which is no handler's context
	err := d.Clock.Sleep(sleeping, left)
	if err != nil && d.Going.Err() != nil && ctx.Err() == nil {
		return errs.Retryable(errors.New("the instance is stopping: another one waits on"), 0)
	}
	return err
}

// Announce publishes the wake-up that an outcome asks for.
func (d *Deps) Announce(ctx context.Context, outcome, sessionID string, decided chat.Decision) error {
	switch {
	case outcome == OutcomeAccepted && decided.Effect == chat.EffectWake, outcome == OutcomeStopped:
		return d.Bus.Publish(ctx, bus.TopicTurns, bus.Wake{Session: sessionID})
	case outcome == OutcomeWelcomed, outcome == OutcomeUnknownModel, outcome == OutcomeBlocked:
		return d.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: sessionID})
	default:
		return nil
	}
}

// Cleared is the text of a message that goes another way than through the stages, as the listeners and the route's censor leave it; passes is false
// if one of them stops it.
func (d *Deps) Cleared(ctx context.Context, e chat.Event, rules config.Censor) (text string, passes bool, err error) {
	after, passes, err := d.Hooks.BeforeReceive(ctx, e)
	if err != nil || !passes {
		return "", false, err
	}
	clean, err := d.Censor.Check(ctx, rules, censor.Inbound, after.Text)
	return clean.Text, err == nil && !clean.Blocked, err
}
