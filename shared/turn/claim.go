package turn

import (
	"context"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// claim asks for the lease and, in the same swap, begins a turn or takes up the live one where it was left.
func (r *run) claim(ctx context.Context) (session.Verdict, error) {
	var verdict session.Verdict
	var draft *session.Draft
	s, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		draft = d
		verdict = d.ClaimTurn(r.claimant, r.Clock.Now())
		if verdict != session.VerdictClaimed {
			d.Unchanged = true
			return nil
		}
		// What an attempt that lost has read may lack what the winner wrote: a model would answer again what is answered.
		clear(r.messages)
		if d.Turn == nil {
			return r.beginIn(ctx, d)
		}
		return r.resumeIn(ctx, d)
	})
	if err != nil {
		return "", err
	}
	r.keep(s, draft)
	r.epoch = s.TurnLease.Epoch
	if verdict == session.VerdictClaimed && r.s.Turn == nil {
		return session.VerdictIdle, nil
	}
	if verdict == session.VerdictClaimed {
		r.log = r.log.With("turn", r.s.Turn.Number, "epoch", r.epoch)
		r.log.InfoContext(ctx, "claimed", "prompts", len(r.s.Turn.Prompts), "step", r.s.Turn.Step, "recoveries", r.s.Turn.Recoveries)
	}
	return verdict, nil
}

// begin starts the next turn under the lease that the last one left with us.
func (r *run) begin(ctx context.Context) error {
	return r.change(ctx, func(d *session.Draft) error { return r.beginIn(ctx, d) })
}

// beginIn drains the inbox into a new turn: all that waits becomes one prompt, in order. What waited may have been taken back meanwhile.
func (r *run) beginIn(ctx context.Context, d *session.Draft) error {
	if !d.TurnWork() {
		d.Rest()
		return nil
	}
	if err := r.messages.ReadInbox(ctx, r.ledger, &d.Session); err != nil {
		return err
	}
	return r.messages.Take(d, d.Begin(r.Clock.Now()), 0, message.PhaseThought)
}

// joinIn lets what may join the running turn stand behind a step's results.
func (r *run) joinIn(ctx context.Context, d *session.Draft, step int) error {
	if err := r.messages.ReadInbox(ctx, r.ledger, &d.Session); err != nil {
		return err
	}
	return r.messages.Take(d, d.Join(), step, message.PhaseText)
}

// resumeIn takes up a live turn. Its prompts are processing still, or were put back by the sweep and are claimed again.
func (r *run) resumeIn(ctx context.Context, d *session.Draft) error {
	if err := r.messages.ReadLive(ctx, r.ledger, &d.Session); err != nil {
		return err
	}
	return r.messages.Reclaim(d)
}
