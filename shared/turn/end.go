package turn

import (
	"context"
	"time"

	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/turn/inference"
)

// nudgeText is M5.10: what a model is told that answered nothing.
const nudgeText = "Your previous response had empty content. Answer the user now, with text."

// conclude ends the turn with the model's text; a blank one is nudged once per turn and then replaced by a fixed text.
func (r *run) conclude(ctx context.Context, a inference.Answer) (next, error) {
	if a.Blank() && !r.s.Turn.Nudged {
		return goOn, r.nudge(ctx, a)
	}
	if a.Blank() {
		a.Text = r.texts().EmptyReply()
	}
	a.Cut(r.texts().ReplyCut())
	return turnOver, r.finish(ctx, a)
}

func (r *run) nudge(ctx context.Context, a inference.Answer) error {
	r.log.WarnContext(ctx, "empty answer: nudging the model")
	err := r.change(ctx, func(d *session.Draft) error {
		step := d.Turn.Step + 1
		d.Create(r.author().Nudge(r.spot(step, 0), nudgeText))
		d.Stored(step, 0)
		d.Spent(a.Usage.Prompt, a.Usage.Total)
		d.Turn.Nudged = true
		return nil
	})
	if err == nil {
		r.failures = nil
	}
	return err
}

// finish stores the final reply, ends the prompts and the turn, and lets go if nothing waits: one swap. Somebody who pressed Stop
// before it is heeded; a new prompt is not, for the answer is there.
func (r *run) finish(ctx context.Context, a inference.Answer) error {
	err := r.change(ctx, func(d *session.Draft) error {
		if d.Turn.Stopped {
			return errInterrupted
		}
		step := d.Turn.Step + 1
		r.thoughtIn(d, a, step)
		d.Spent(a.Usage.Prompt, a.Usage.Total)
		d.Create(r.author().FinalReply(r.spot(step, 0), a.Text, d.Metrics(r.Clock.Now()), a.TextSignature))
		return r.endIn(d, message.Finish)
	})
	if err != nil {
		return err
	}
	r.log.InfoContext(ctx, "turn finished", "truncated", a.Truncated)
	r.stands(ctx, hooks.StatusFinished)
	return r.deliver(ctx)
}

// fail ends the turn for good: its prompts are in error, and people are told why.
func (r *run) fail(ctx context.Context, why locale.Reason) error {
	err := r.change(ctx, func(d *session.Draft) error {
		d.Create(r.author().CrashNotice(r.spot(d.Turn.Step+1, 0), r.texts().CrashNotice(why)))
		return r.endIn(d, message.Fail)
	})
	if err != nil {
		return err
	}
	r.log.ErrorContext(ctx, "turn failed", "reason", why)
	r.stands(ctx, hooks.StatusFailed)
	telemetry.Fail(ctx, string(why))
	return r.deliver(ctx)
}

// stop ends the turn because somebody pressed Stop.
func (r *run) stop(ctx context.Context) error {
	err := r.change(ctx, func(d *session.Draft) error {
		if err := r.messages.Abandon(d); err != nil {
			return err
		}
		d.Create(r.author().Notification(r.spot(d.Turn.Step+1, 0), r.texts().StoppedBy(d.Turn.StoppedBy)))
		return r.endIn(d, message.Interrupt)
	})
	if err != nil {
		return err
	}
	r.log.InfoContext(ctx, "turn stopped")
	r.stands(ctx, hooks.StatusStopped)
	return r.deliver(ctx)
}

// preempt ends the turn in favour of what waits, which begins at once.
func (r *run) preempt(ctx context.Context) error {
	err := r.change(ctx, func(d *session.Draft) error {
		if err := r.messages.Abandon(d); err != nil {
			return err
		}
		return r.endIn(d, message.Interrupt)
	})
	if err != nil {
		return err
	}
	r.log.InfoContext(ctx, "turn pre-empted")
	r.stands(ctx, hooks.StatusPreempted)
	return r.wakeDelivery(ctx)
}

// endIn moves the turn's prompts to their end and closes it.
func (r *run) endIn(d *session.Draft, t message.Transition) error {
	if err := r.messages.End(d, t); err != nil {
		return err
	}
	d.End(r.Clock.Now())
	return nil
}

// pause lets go with the turn stored, to be gone on with from notBefore.
func (r *run) pause(ctx context.Context, notBefore time.Time, retry bool) error {
	err := r.change(ctx, func(d *session.Draft) error {
		if retry {
			d.Turn.Retries++
		}
		d.Pause(notBefore)
		return nil
	})
	if err == nil {
		r.log.InfoContext(ctx, "turn paused", "not_before", notBefore)
		r.stands(ctx, hooks.StatusPaused)
	}
	return err
}

// stands tells of how the turn stands now; a listener that fails changes nothing.
func (r *run) stands(ctx context.Context, status hooks.Status) {
	telemetry.Note(ctx, telemetry.KeyOutcome.String(string(status)))
	err := r.Hooks.AgentStatus(ctx, hooks.AgentStatus{RouteID: r.s.RouteID, SessionID: r.id, Turn: r.s.Turns, Status: status})
	if err != nil {
		r.log.ErrorContext(ctx, "a listener failed", "error", err)
	}
}
