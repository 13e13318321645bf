// Package pipeline takes stored events through the chat pipeline's stages to their verdict: ignored, or prompts in the inbox of their
// conversation's session. Each stage is a file; their order is the list in stages. Events of a route are settled in the order of the
// platform's clock, whichever wake-up comes first, and each is settled by the very swap that stores what came of it. What must wait (a burst
// for its pause, a decision for its delay) waits as a pending event in the store while its handler sleeps: a crash replays the wake-up, and
// the next handler reads from the store how long is left.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/pipeline/flow"
)

// What a Pipeline works with stands in flow.
type (
	// Deps is what a Pipeline works with. Nothing may be nil.
	Deps = flow.Deps
	// Ledger is one session's record.
	Ledger = flow.Ledger
)

// Pipeline handles wake-ups of routes.
type Pipeline struct {
	Deps
	diagnosed sync.Map // what of the rules is logged already
	resolved  resolved
}

// New returns a Pipeline, or an error that names every missing dependency.
func New(d Deps) (*Pipeline, error) {
	if err := errs.Unset("pipeline.New", d); err != nil {
		return nil, err
	}
	return &Pipeline{Deps: d}, nil
}

const (
	// batch is how many pending events of a route one look takes.
	batch = 64
	// nap is how long a handler sleeps before it looks again: it need not wait on once a later message of its burst came, whose own handler waits.
	nap = 2 * time.Second
	// looks bounds how often a handler looks anew because another one was faster.
	looks = 16
)

// Handle settles the route's events up to the one that the wake-up names, and waits for it if it has to wait.
func (p *Pipeline) Handle(ctx context.Context, wake bus.Inbound, _ bus.Delivery) error {
	for lost := 0; lost < looks; {
		if err := p.Clock.Sleep(ctx, jitter(lost)); err != nil {
			return err
		}
		done, wait, err := p.look(ctx, wake)
		switch {
		case errors.Is(err, flow.ErrAgain):
		case errors.Is(err, errs.ErrConflict):
			lost++
		case err != nil:
			return err
		case done:
			return nil
		case wait > 0:
			if err := p.Wait(ctx, min(wait, nap)); err != nil {
				return err
			}
		}
	}
	return errs.Retryable(fmt.Errorf("route %s: other handlers were faster %d times", wake.Route, looks), 0)
}

// jitter parts handlers that race for one route.
func jitter(attempt int) time.Duration {
	if attempt == 0 {
		return 0
	}
	return rand.N(20 * time.Millisecond << min(attempt, 4)) //nolint:gosec // jitter needs no secrecy
}

// look settles what is pending and need not wait, oldest first. It reports whether the named event is settled and its session woken, or how
// long that one has to wait. It has nothing to wait for if a later event of the same burst does, whose own handler waits.
func (p *Pipeline) look(ctx context.Context, wake bus.Inbound) (done bool, wait time.Duration, err error) {
	now := p.Clock.Now() // before the read: what arrives after it must not find its burst closed by a clock that ran on meanwhile
	pending, err := p.Events.PendingEvents(ctx, wake.Route, batch)
	if errs.KindOf(err) == errs.KindPermanent && len(pending) > 0 {
		p.Log.ErrorContext(ctx, "events left out: they cannot be read", "route", wake.Route, "error", err) // they must not hold up the rest
	} else if err != nil {
		return false, 0, err
	}
	active, err := p.Config.Active(ctx)
	if err != nil {
		return false, 0, err
	}
	if err := p.identify(ctx, pending); err != nil {
		return false, 0, err
	}
	settled, shortest := 0, time.Duration(0)
	for _, b := range bursts(p.resolver(active), pending) {
		i := b.Index(wake.Event)
		if left := b.ClosesAt().Sub(now); left > 0 {
			if i >= 0 {
				return i < len(b.Messages)-1, left, nil
			}
			if shortest == 0 || left < shortest {
				shortest = left
			}
			continue
		}
		p.ready(ctx, b)
		if err := settle(ctx, b); err != nil {
			return false, 0, fmt.Errorf("event %s: %w", b.Messages[0].Event.Key, err)
		}
		settled++
		if i >= 0 {
			return true, 0, nil
		}
	}
	switch {
	case len(pending) < batch:
		return true, 0, p.wakeAgain(ctx, wake)
	case settled == 0:
		return false, shortest, nil
	default:
		return false, 0, nil
	}
}

// identify asks the platform whether a channel is direct where the event's form does not say.
func (p *Pipeline) identify(ctx context.Context, pending []chat.Stored) error {
	for i := range pending {
		e := &pending[i]
		if !e.DirectUnknown {
			continue
		}
		direct, err := p.Channels.Direct(ctx, &e.Event)
		switch {
		case errs.KindOf(err) == errs.KindPermanent:
			// It stays marked, so that a telling which says more is decided on anew.
			p.Log.WarnContext(ctx, "nobody says whether the channel is direct: it is taken for a room", "route", e.RouteID, "error", err)
		case err != nil:
			return fmt.Errorf("event %s: %w", e.Key, err)
		default:
			e.Direct, e.DirectUnknown = direct, false
		}
	}
	return nil
}

// wakeAgain publishes for an event that is settled already: whoever settled it may have died before it did.
func (p *Pipeline) wakeAgain(ctx context.Context, wake bus.Inbound) error {
	e, err := p.Events.Event(ctx, wake.Event)
	if errors.Is(err, errs.ErrNotFound) {
		return errs.Permanentf("wake-up for an event that is not stored: %w", err)
	}
	if err != nil {
		return err
	}
	if e.Woken != "" {
		return p.Bus.Publish(ctx, bus.TopicTurns, bus.Wake{Session: e.Woken})
	}
	if e.SessionID == "" {
		return nil
	}
	return p.Announce(ctx, e.Outcome, e.SessionID, e.Decision)
}
