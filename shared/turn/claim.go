package turn

import (
	"context"
	"slices"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// tail is how many messages before the live turn a model is shown at the most. Older ones are for summaries.
const tail = 120

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

// beginIn drains the inbox into a new turn: all that waits becomes one prompt, in order.
func (r *run) beginIn(ctx context.Context, d *session.Draft) error {
	if err := r.readInbox(ctx, &d.Session); err != nil {
		return err
	}
	return r.take(d, d.Begin(r.Clock.Now()), 0, message.PhaseThought)
}

// joinIn lets what may join the running turn stand behind a step's results.
func (r *run) joinIn(ctx context.Context, d *session.Draft, step int) error {
	if err := r.readInbox(ctx, &d.Session); err != nil {
		return err
	}
	return r.take(d, d.Join(), step, message.PhaseText)
}

// take moves the messages of refs into the live turn.
func (r *run) take(d *session.Draft, refs []session.Ref, step int, phase message.Phase) error {
	for i, ref := range refs {
		m, ok := r.messages[ref.Seq]
		if !ok {
			return errs.Permanentf("session %s: the inbox names message %d, which is not stored", r.id, ref.Seq)
		}
		m.Turn, m.Step, m.Phase, m.Ordinal = d.Turn.Number, step, phase, i
		if err := d.Move(&m, message.Claim); err != nil {
			return err
		}
	}
	return nil
}

// resumeIn takes up a live turn. Its prompts are processing still, or were put back by the sweep and are claimed again.
func (r *run) resumeIn(ctx context.Context, d *session.Draft) error {
	if err := r.read(ctx, max(0, min(d.Turn.FirstSeq-1, d.Seq-tail))); err != nil {
		return err
	}
	for _, seq := range d.Turn.Prompts {
		if m := r.messages[seq]; m.Status == message.StatusPendingAgent {
			if err := d.Move(&m, message.Claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// readInbox reads the messages that wait, and at the first time the tail of the conversation before them.
func (r *run) readInbox(ctx context.Context, s *session.Session) error {
	after := s.Seq
	for _, ref := range s.Inbox {
		if _, known := r.messages[ref.Seq]; !known {
			after = min(after, ref.Seq-1)
		}
	}
	if len(r.messages) == 0 {
		after = min(after, max(0, s.Seq-tail))
	}
	if after == s.Seq {
		return nil
	}
	return r.read(ctx, after)
}

// read keeps all messages after a seq that are not known yet. What is known stays: while the lease is ours, nobody else changes a
// message in a way that a turn must see.
func (r *run) read(ctx context.Context, after int64) error {
	all, err := r.ledger.Since(ctx, after)
	if err != nil {
		return err
	}
	for _, m := range all {
		if _, known := r.messages[m.Seq]; !known {
			r.messages[m.Seq] = m
		}
	}
	return nil
}

// inOrder returns what is known of the session, by seq.
func (r *run) inOrder() []message.Message {
	out := make([]message.Message, 0, len(r.messages))
	for _, m := range r.messages {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b message.Message) int { return int(a.Seq - b.Seq) })
	return out
}
