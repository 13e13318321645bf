// Package deliver brings a session's outbox to its platform: it claims the session under a fenced lease of its own, renders what the turns
// left there, sends it once, and marks it. It knows no platform but through the adapters it is given, and no model.
package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/deliver/outgoing"
	"kesoku.dev/shared/deliver/pace"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/render/compose"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
)

// Ledger is one session's record. It serves one handler at a time.
type Ledger interface {
	Load(ctx context.Context) (session.Session, error)
	Change(ctx context.Context, decide func(*session.Draft) error) (session.Session, error)
	Since(ctx context.Context, after int64) ([]message.Message, error)
}

// Publisher sends wake-ups.
type Publisher interface {
	Publish(ctx context.Context, topic bus.Topic, wake any) error
}

// Deps is what a Deliverer works with. Nothing may be nil.
type Deps struct {
	Open func(sessionID string) Ledger
	Bus  Publisher
	// Adapters are the platforms by chatbot id, and Registries how each shows things.
	Adapters   map[string]platform.Adapter
	Registries map[string]*compose.Registry
	Config     outgoing.Configuration
	Censor     *gate.Gate
	Hooks      *hooks.Hooks // BeforeSend and EngineAction are called here
	Clock      clock.Clock
	NewID      func() string
	Log        *slog.Logger
	// Going ends when the instance is asked to go: a delivery reaches its next commit and lets go.
	Going context.Context
}

// Deliverer handles wake-ups of outboxes.
type Deliverer struct {
	Deps
	pace *pace.Pace
}

// New returns a Deliverer, or an error that names every missing dependency.
func New(d Deps) (*Deliverer, error) {
	if err := errs.Unset("deliver.New", d); err != nil {
		return nil, err
	}
	for id := range d.Adapters {
		registry, ok := d.Registries[id]
		if !ok {
			return nil, fmt.Errorf("deliver.New: platform %s has no registry", id)
		}
		if err := registry.Err(); err != nil {
			return nil, fmt.Errorf("deliver.New: platform %s: %w", id, err)
		}
	}
	return &Deliverer{Deps: d, pace: pace.New()}, nil
}

// budget is how long one handler sends before it lets go for the next, well within the 540 s of an event's function.
const budget = 400 * time.Second

// Handle drains the outbox of the session that the wake-up names. It returns nil when nothing is left to do for this wake-up.
func (d *Deliverer) Handle(ctx context.Context, wake bus.Wake, via bus.Delivery) error {
	if d.stopping() {
		return errors.New("the instance is stopping: no new delivery is claimed")
	}
	ctx = telemetry.WithSession(ctx, wake.Session)
	r := &run{
		Deliverer: d, id: wake.Session, ledger: d.Open(wake.Session), started: d.Clock.Now(),
		claimant: session.Claimant{Holder: d.NewID(), EventID: via.EventID},
		log:      d.Log,
	}
	verdict, err := r.claim(ctx)
	if errors.Is(err, errs.ErrNotFound) {
		return errs.Permanentf("wake-up for a session that does not exist: %w", err)
	}
	if err != nil {
		return err
	}
	telemetry.Note(ctx, telemetry.KeyVerdict.String(string(verdict)))
	switch verdict {
	case session.VerdictClaimed:
		return r.drain(ctx)
	case session.VerdictComeBack:
		return errs.Retryable(fmt.Errorf("session %s: an earlier run of this wake-up holds the send lease until %s", wake.Session, r.s.SendLease.Until), 0)
	case session.VerdictIdle, session.VerdictBusy:
		return nil
	default:
		return fmt.Errorf("unknown verdict %q", verdict)
	}
}

func (d *Deliverer) stopping() bool { return d.Going.Err() != nil }
