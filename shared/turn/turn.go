// Package turn runs the agent's turns: it claims a session under a fenced lease, merges what waits into one prompt, asks the model, runs
// its tools, stores each step and ends with exactly one outcome. Everything it knows between two steps is stored, so that another instance
// can go on after a crash. It reaches the store, the topics, the models and the tools through the small interfaces it declares.
package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/tool"
	"kesoku.dev/shared/turn/inference"
	"kesoku.dev/shared/turn/transcript"
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

// Toolbox runs the calls of a step, each once, and returns their outcomes in the calls' order.
type Toolbox interface {
	Run(ctx context.Context, scope tool.Scope, calls []message.Call) []message.Outcome
}

// Roles gives a role's persona.
type Roles interface {
	Intro(ctx context.Context, role string) (string, error)
}

// Deps is what a Turner works with. Nothing may be nil.
type Deps struct {
	Open    func(sessionID string) Ledger
	Bus     Publisher
	Models  model.Registry
	Toolbox Toolbox
	Specs   []model.Tool
	Roles   Roles
	Files   inference.Files
	Hooks   *hooks.Hooks
	Clock   clock.Clock
	NewID   func() string
	Log     *slog.Logger
	// Going ends when the instance is asked to go: a turn gives up an inference, reaches its next commit and lets go.
	Going context.Context
}

// Config bounds a turn. Zero values mean the defaults.
type Config struct {
	Checkpoint   time.Duration // run time after which the turn goes on in the next invocation; 480 s, since functions end at 540 s
	ModelTimeout time.Duration // for one model call; 240 s
	Announce     time.Duration // silence after which a card appears; 2 s
	MaxSteps     int           // model calls with tools in one turn; 40
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&c.Checkpoint, 480*time.Second)
	set(&c.ModelTimeout, 240*time.Second)
	set(&c.Announce, 2*time.Second)
	if c.MaxSteps == 0 {
		c.MaxSteps = 40
	}
	return c
}

// Turner handles wake-ups of sessions.
type Turner struct {
	Deps
	cfg Config
}

// New returns a Turner, or an error that names every missing dependency.
func New(d Deps, cfg Config) (*Turner, error) {
	if err := errs.Unset("turn.New", d); err != nil {
		return nil, err
	}
	return &Turner{Deps: d, cfg: cfg.withDefaults()}, nil
}

// Handle drains the session that the wake-up names: claim, run its turns one after the other, release. It returns nil when nothing is left
// to do for this wake-up.
func (t *Turner) Handle(ctx context.Context, wake bus.Wake, d bus.Delivery) error {
	if t.stopping() {
		return errors.New("the instance is stopping: no new turn is claimed")
	}
	ctx = telemetry.WithSession(ctx, wake.Session)
	r := &run{
		Turner: t, id: wake.Session, ledger: t.Open(wake.Session), started: t.Clock.Now(), messages: transcript.Transcript{},
		claimant: session.Claimant{Holder: t.NewID(), EventID: d.EventID},
		log:      t.Log,
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
		return errs.Retryable(fmt.Errorf("session %s: an earlier run of this wake-up holds the lease until %s", wake.Session, r.s.TurnLease.Until), 0)
	case session.VerdictIdle, session.VerdictBusy:
		// The handler before us may have died between its last commit and the wake-up for delivery.
		return r.wakeDelivery(ctx)
	default:
		return fmt.Errorf("unknown verdict %q", verdict)
	}
}

func (t *Turner) stopping() bool { return t.Going.Err() != nil }
