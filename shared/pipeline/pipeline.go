// Package pipeline takes a stored event through the chat pipeline's stages to its verdict: ignored, or a prompt in the inbox of its
// conversation's session. Each stage is a file; their order is the list in stages. Events of a route are settled in the order of the
// platform's clock, whichever wake-up comes first, and each is settled by the very swap that stores what came of it.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/activation"
	"kesoku.dev/shared/session"
)

// Events is where events are stored.
type Events interface {
	PendingEvents(ctx context.Context, routeID string, limit int) ([]chat.Stored, error)
	Event(ctx context.Context, key string) (chat.Stored, error)
	SettleEvent(ctx context.Context, e chat.Stored) error
}

// Ledger is one session's record.
type Ledger interface {
	Load(ctx context.Context) (session.Session, error)
	// Settle changes the session and settles the event in one swap; errs.ErrConflict means that somebody settled it first.
	Settle(ctx context.Context, e chat.Stored, decide func(*session.Draft) error) (session.Session, error)
}

// Conversations finds sessions.
type Conversations interface {
	// Conversation is the current session of a conversation, or the fresh one.
	Conversation(key string, fresh func() session.Session) Ledger
	Session(id string) Ledger
}

// Configuration gives the settings in force.
type Configuration interface {
	Active(ctx context.Context) (*config.Config, error)
}

// Publisher sends wake-ups.
type Publisher interface {
	Publish(ctx context.Context, topic bus.Topic, wake any) error
}

// Media copies an attachment into the staging area and returns it with its name there. An errs.Permanent error means it cannot be had.
type Media interface {
	Stage(ctx context.Context, e *chat.Event, sessionID string, a message.Attachment) (message.Attachment, error)
}

// Deps is what a Pipeline works with. Nothing may be nil.
type Deps struct {
	Events        Events
	Conversations Conversations
	Config        Configuration
	Bus           Publisher
	Media         Media
	Clock         clock.Clock
	NewID         func() string
	// Draw is the dice of random replies: a number in [0,1).
	Draw func() float64
	Log  *slog.Logger
}

// Pipeline handles wake-ups of routes.
type Pipeline struct {
	Deps
	rule activation.Rule
}

// New returns a Pipeline, or an error that names every missing dependency.
func New(d Deps) (*Pipeline, error) {
	if err := errs.Unset("pipeline.New", d); err != nil {
		return nil, err
	}
	return &Pipeline{Deps: d, rule: activation.Rule{Draw: d.Draw}}, nil
}

const (
	// batch is how many pending events of a route one look takes.
	batch = 64
	// looks bounds how often a handler looks anew because another one was faster.
	looks = 16
)

// Handle settles the route's events up to the one that the wake-up names.
func (p *Pipeline) Handle(ctx context.Context, wake bus.Inbound, _ bus.Delivery) error {
	for i := range looks {
		if err := p.Clock.Sleep(ctx, jitter(i)); err != nil {
			return err
		}
		done, err := p.look(ctx, wake)
		if err != nil && !errors.Is(err, errs.ErrConflict) {
			return err
		}
		if done {
			return nil
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

// look settles what is pending, oldest first, and reports whether the named event is settled and its session woken.
func (p *Pipeline) look(ctx context.Context, wake bus.Inbound) (bool, error) {
	pending, err := p.Events.PendingEvents(ctx, wake.Route, batch)
	if err != nil {
		return false, err
	}
	for _, e := range pending {
		if err := p.settle(ctx, e); err != nil {
			return false, fmt.Errorf("event %s: %w", e.Key, err)
		}
		if e.Key == wake.Event {
			return true, nil
		}
	}
	if len(pending) == batch {
		return false, nil
	}
	return true, p.wakeAgain(ctx, wake)
}

// wakeAgain publishes for an event that is settled already: whoever settled it may have died before it did.
func (p *Pipeline) wakeAgain(ctx context.Context, wake bus.Inbound) error {
	e, err := p.Events.Event(ctx, wake.Event)
	if errors.Is(err, errs.ErrNotFound) {
		return errs.Permanentf("wake-up for an event that is not stored: %w", err)
	}
	if err != nil || e.SessionID == "" {
		return err
	}
	if e.Kind == chat.KindMessage && e.Outcome == OutcomeAccepted || e.Outcome == OutcomeStopped {
		return p.Bus.Publish(ctx, bus.TopicTurns, bus.Wake{Session: e.SessionID})
	}
	return p.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: e.SessionID})
}

// settle takes one event through the stages.
func (p *Pipeline) settle(ctx context.Context, e chat.Stored) error {
	active, err := p.Config.Active(ctx)
	if err != nil {
		return err
	}
	f := &flow{Pipeline: p, event: e, route: active.Route(e.RouteID), log: p.Log.With("event", e.Key, "route", e.RouteID)}
	for _, s := range stages {
		err := s.run(f, ctx)
		if errs.KindOf(err) == errs.KindPermanent {
			// One bad event must not hold up its route for ever.
			f.log.ErrorContext(ctx, "event failed for good", "stage", s.name, "error", err)
			return f.drop(ctx, OutcomeFailed)
		}
		if err != nil {
			return fmt.Errorf("stage %s: %w", s.name, err)
		}
		if f.settled {
			f.log.InfoContext(ctx, "settled", "stage", s.name, "outcome", f.event.Outcome, "effect", f.decision.Effect, "reason", f.decision.Reason, "by", f.decision.By)
			return nil
		}
	}
	return errs.Permanentf("event %s went through all stages without a verdict", e.Key)
}
