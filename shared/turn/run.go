package turn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/turn/inference"
	"kesoku.dev/shared/turn/transcript"
)

// run is one handler's hold on a session.
type run struct {
	*Turner
	id       string
	ledger   Ledger
	claimant session.Claimant
	epoch    int64
	started  time.Time
	log      *slog.Logger

	s        session.Session // as of the last read or commit
	messages transcript.Transcript
	failures inference.Failures // since the last stored step
	used     model.Usage        // by this turn in this invocation
}

// errInterrupted ends an inference that must give way.
var errInterrupted = errors.New("interrupted")

// next says how the loop goes on after a part of a turn.
type next int

const (
	goOn     next = iota // with this turn's next step
	turnOver             // the turn has ended
	letGo                // the turn is stored and released
)

// drain runs turns until nothing waits. A turn that ended left the lease with us exactly if more waits.
func (r *run) drain(ctx context.Context) error {
	for {
		n, err := r.live(ctx)
		if err != nil {
			return err
		}
		switch {
		case n == letGo:
			return r.Bus.Publish(ctx, bus.TopicTurns, bus.Wake{Session: r.id})
		case n == turnOver && !r.s.TurnLease.Holds(r.claimant.Holder, r.epoch):
			return nil
		case n == turnOver:
			if err := r.begin(ctx); err != nil {
				return err
			}
		}
	}
}

// live runs the live turn until it is over or let go, within a span of its own.
func (r *run) live(ctx context.Context) (n next, err error) {
	if r.s.Turn == nil {
		return turnOver, nil
	}
	provider, name, _ := strings.Cut(r.s.Settings.Model, ":")
	ctx, end := telemetry.Start(ctx, telemetry.SpanAgent, telemetry.OfAgent(provider, name, r.s.Turn.Number, r.epoch)...)
	defer end(&err)
	r.used, r.failures = model.Usage{}, nil // of the turn before
	r.stands(ctx, hooks.StatusStarted)
	for n == goOn && err == nil {
		n, err = r.advance(ctx)
	}
	telemetry.Note(ctx, telemetry.KeyInputTokens.Int(r.used.Prompt), telemetry.KeyOutputTokens.Int(r.used.Output))
	return n, err
}

// advance does the next thing that the live turn needs.
func (r *run) advance(ctx context.Context) (next, error) {
	if err := ctx.Err(); err != nil {
		return goOn, err
	}
	switch {
	case r.s.Turn == nil:
		return turnOver, nil
	case r.s.Turn.Stopped:
		return turnOver, r.stop(ctx)
	case r.s.Interrupted():
		return turnOver, r.preempt(ctx)
	case r.s.Turn.Recoveries >= session.MaxRecoveries:
		return turnOver, r.fail(ctx, locale.ReasonRecoveries)
	case r.stopping() || r.Clock.Now().Sub(r.started) >= r.cfg.Checkpoint:
		return letGo, r.pause(ctx, r.s.Turn.NotBefore, false)
	case r.s.Turn.NotBefore.After(r.Clock.Now()):
		return goOn, r.wait(ctx, r.s.Turn.NotBefore.Sub(r.Clock.Now()))
	case r.s.Turn.Step >= r.cfg.MaxSteps:
		return turnOver, r.fail(ctx, locale.ReasonSteps)
	}
	return r.think(ctx)
}

// think makes one model call and does what it asks for.
func (r *run) think(ctx context.Context) (n next, err error) {
	a, err := r.infer(ctx)
	switch {
	case errors.Is(err, errInterrupted):
	case err != nil:
		n, err = r.onFailure(ctx, err)
	case len(a.Calls) > 0:
		n, err = goOn, r.step(ctx, a)
	default:
		n, err = r.conclude(ctx, a)
	}
	if errors.Is(err, errInterrupted) {
		return goOn, r.look(ctx)
	}
	return n, err
}

// change is every commit of a claimed session: it is refused if the lease is no longer ours, and it keeps our picture current.
func (r *run) change(ctx context.Context, decide func(*session.Draft) error) error {
	var draft *session.Draft
	s, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		if !d.TurnLease.Holds(r.claimant.Holder, r.epoch) {
			return fmt.Errorf("turn of session %s: %w", r.id, errs.ErrFenced)
		}
		draft = d
		return decide(d)
	})
	if err != nil {
		return err
	}
	r.keep(s, draft)
	return nil
}

// keep takes over what a commit made of the session.
func (r *run) keep(s session.Session, d *session.Draft) {
	r.s = s
	if !d.Unchanged {
		r.messages.Keep(d)
	}
}

// wakeDelivery publishes if the outbox has something that nobody is sending.
func (r *run) wakeDelivery(ctx context.Context) error {
	if !r.s.SendWork() || r.s.SendLease.Live(r.Clock.Now()) {
		return nil
	}
	return r.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: r.id})
}

// deliver publishes after a commit that made something to send. It does so although a live send lease would see it too: the holder may
// be past its last look.
func (r *run) deliver(ctx context.Context) error {
	return r.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: r.id})
}

// texts speaks to whoever the live turn answers.
func (r *run) texts() locale.Texts { return locale.For(r.s.Turn.Locale, r.s.Settings.Locale) }

func (r *run) author() message.Author {
	return message.Author{SessionID: r.id, ChatbotID: r.s.ChatbotID, ChannelID: r.s.ChannelID, Now: r.Clock.Now()}
}

// spot is where a message of the live turn's step stands; it answers the turn's last prompt.
func (r *run) spot(step, ordinal int) message.Spot {
	at := message.Spot{Turn: r.s.Turn.Number, Step: step, Ordinal: ordinal, ThreadID: r.s.Turn.ThreadID, Locale: r.s.Turn.Locale}
	if n := len(r.s.Turn.Prompts); n > 0 {
		at.ParentID = session.MessageID(r.id, r.s.Turn.Prompts[n-1])
	}
	return at
}
