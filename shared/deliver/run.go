package deliver

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/deliver/outgoing"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/session"
)

// run is one handler's hold on an outbox.
type run struct {
	*Deliverer
	id       string
	ledger   Ledger
	claimant session.Claimant
	epoch    int64
	started  time.Time
	log      *slog.Logger
	adapter  platform.Adapter
	view     *outgoing.View

	s        session.Session   // as of the last read or commit
	messages []message.Message // from the card's first step or the cursor on, as of readAt
	readAt   string            // the swap of the session they were read with
	promised string            // the card that this run has promised and not begun to create
}

func (r *run) claim(ctx context.Context) (session.Verdict, error) {
	var verdict session.Verdict
	s, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		verdict = d.ClaimSend(r.claimant, r.Clock.Now())
		d.Unchanged = verdict != session.VerdictClaimed
		return nil
	})
	if err != nil {
		return "", err
	}
	r.s, r.epoch = s, s.SendLease.Epoch
	if verdict != session.VerdictClaimed {
		return verdict, nil
	}
	adapter, ok := r.Adapters[s.ChatbotID]
	if !ok {
		return "", errs.Permanentf("session %s: no adapter serves platform %q here", r.id, s.ChatbotID)
	}
	r.adapter = adapter
	r.view = outgoing.NewView(outgoing.Parts{
		Config: r.Config, Gate: r.Censor, Hooks: r.Hooks, Registry: r.Registries[s.ChatbotID], Dialect: adapter.Dialect(),
	}, config.Facts{Platform: s.ChatbotID, Channel: s.ChannelID, Direct: s.Direct})
	return verdict, nil
}

// drain does one piece of work after the other until the release finds nothing left.
func (r *run) drain(ctx context.Context) error {
	for r.s.SendLease.Holds(r.claimant.Holder, r.epoch) {
		if r.stopping() || r.Clock.Now().Sub(r.started) > budget {
			return r.pause(ctx, time.Time{})
		}
		if err := r.read(ctx, &r.s); err != nil {
			return err
		}
		if err := r.view.Follow(ctx); err != nil {
			return r.onFailure(ctx, err)
		}
		if err := r.advance(ctx); err != nil {
			return r.onFailure(ctx, err)
		}
	}
	return nil
}

// advance does the first thing that is due: close the card of a turn that is over, send the next output, or show new steps. Steps wait
// while an output of their own turn is due, since its end shows them too: superseded edits are never sent.
func (r *run) advance(ctx context.Context) error {
	card := r.s.Outbox.Card
	out, found := r.nextOutput()
	open := card.Turn != 0 && !card.Final
	switch {
	case open && card.Turn != r.liveTurn() && (!found || out.Turn != card.Turn):
		return r.closeCard(ctx)
	case found:
		return r.send(ctx, out)
	case r.liveTurn() != 0 && (r.hasNewSteps(r.liveTurn()) || r.s.CardDue()):
		return r.showSteps(ctx)
	default:
		return r.pass(ctx)
	}
}

func (r *run) liveTurn() int {
	if r.s.Turn == nil {
		return 0
	}
	return r.s.Turn.Number
}

// nextOutput returns the first message past the cursor that people are sent.
func (r *run) nextOutput() (message.Message, bool) {
	for _, m := range r.messages {
		if m.Seq > r.s.Outbox.Cursor && m.Status == message.StatusPending {
			return m, true
		}
	}
	return message.Message{}, false
}

func (r *run) hasNewSteps(turn int) bool {
	for _, m := range r.messages {
		if m.Seq > r.s.Outbox.Cursor && m.Turn == turn && m.Class().Flow() == message.FlowStep {
			return true
		}
	}
	return false
}

// pass moves the cursor over what nobody is sent: inputs, and steps of turns that ended without a card.
func (r *run) pass(ctx context.Context) error {
	seq := r.s.Seq
	return r.change(ctx, func(d *session.Draft) error {
		d.Outbox.Cursor = max(d.Outbox.Cursor, seq)
		return r.shown(d, 0, seq)
	})
}

// read reads the messages that the next decisions need, unless they are known as of this very state of the session.
func (r *run) read(ctx context.Context, s *session.Session) error {
	if r.readAt == s.Swap && r.readAt != "" {
		return nil
	}
	after := s.Outbox.Cursor
	if c := s.Outbox.Card; c.Turn != 0 && !c.Final && c.FirstSeq > 0 {
		after = min(after, c.FirstSeq-1)
	}
	messages, err := r.ledger.Since(ctx, after)
	if err != nil {
		return err
	}
	r.messages, r.readAt = messages, s.Swap
	return nil
}

// change is every commit of a claimed outbox: refused if the lease is no longer ours, decided on messages as fresh as the session, and
// released in the same swap if nothing is left.
func (r *run) change(ctx context.Context, decide func(*session.Draft) error) error {
	var draft *session.Draft
	s, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		if !d.SendLease.Holds(r.claimant.Holder, r.epoch) {
			return fmt.Errorf("delivery of session %s: %w", r.id, errs.ErrFenced)
		}
		if err := r.read(ctx, &d.Session); err != nil {
			return err
		}
		draft = d
		if err := decide(d); err != nil {
			return err
		}
		if !d.ReleaseSend() {
			d.RenewSend(r.Clock.Now())
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range r.messages {
		for _, u := range draft.Updated {
			if u.Seq == r.messages[i].Seq {
				r.messages[i] = u
			}
		}
	}
	r.messages = append(r.messages, draft.Created...)
	// Only what we wrote is known. If others wrote since, which happens where our commit's answer was lost, it is read before the next look.
	r.s, r.readAt = s, draft.Swap
	return nil
}

// shown marks steps up to seq as standing on the platform: those of one turn, or with turn 0 of all.
func (r *run) shown(d *session.Draft, turn int, seq int64) error {
	for _, m := range r.messages {
		if m.Seq > seq || m.Status != message.StatusResponded || m.Class().Flow() != message.FlowStep || (turn != 0 && m.Turn != turn) {
			continue
		}
		if err := d.Move(&m, message.Show); err != nil {
			return err
		}
	}
	return nil
}

// pause lets go with work left and wakes the next holder.
func (r *run) pause(ctx context.Context, notBefore time.Time) error {
	_, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		if !d.SendLease.Holds(r.claimant.Holder, r.epoch) {
			return fmt.Errorf("delivery of session %s: %w", r.id, errs.ErrFenced)
		}
		d.PauseSend(notBefore)
		return nil
	})
	if err != nil {
		return err
	}
	return r.Bus.Publish(ctx, bus.TopicDeliveries, bus.Wake{Session: r.id})
}

// onFailure lets go of the lease after a failure that a retry may help, so that the retry need not wait for it to expire.
func (r *run) onFailure(ctx context.Context, err error) error {
	if errs.KindOf(err) != errs.KindRetryable || ctx.Err() != nil {
		return err
	}
	_, released := r.ledger.Change(ctx, func(d *session.Draft) error {
		if !d.SendLease.Holds(r.claimant.Holder, r.epoch) {
			return fmt.Errorf("delivery of session %s: %w", r.id, errs.ErrFenced)
		}
		d.PauseSend(r.Clock.Now().Add(errs.After(err)))
		return nil
	})
	if released != nil {
		r.log.WarnContext(ctx, "could not let go of the send lease", "error", released)
	}
	return err
}

// textsOf speaks to whoever the turn answers.
func (r *run) textsOf(turn int) locale.Texts {
	if turn == r.liveTurn() {
		return locale.For(r.s.Turn.Locale, r.s.Settings.Locale)
	}
	for _, m := range slices.Backward(r.messages) { // its end answers the last of its prompts
		if m.Turn == turn && m.Metadata.Locale != "" {
			return locale.For(m.Metadata.Locale, r.s.Settings.Locale)
		}
	}
	return locale.For(r.s.Settings.Locale)
}
