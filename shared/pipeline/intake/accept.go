// Package intake holds the stages that make prompts of the messages that were decided on: they are checked, tied to their conversation's session,
// completed by what was said before and by their attachments, and stored.
package intake

import (
	"cmp"
	"context"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// Accept stores the messages as prompts in the inbox (P16), unless too many wait (P15). What was said before them lies ahead of them.
func Accept(ctx context.Context, b *flow.Burst) error {
	return b.Commit(ctx, func(d *session.Draft) ([]chat.Stored, error) {
		waker := b.Waker()
		for i := range b.Earlier {
			receipt, err := receive(d, &b.Earlier[i], session.WhenQuiet, session.MaxInbox)
			if err != nil {
				return nil, err
			}
			if receipt == session.ReceiptAccepted {
				b.Earlier[i].SessionID = d.ID
			}
		}
		var events []chat.Stored
		for _, m := range b.Messages {
			outcome := m.Outcome
			if m.Live() {
				var err error
				if outcome, err = take(d, m); err != nil {
					return nil, err
				}
			}
			at := ""
			if outcome == flow.OutcomeAccepted {
				at = d.ID
			}
			events = append(events, m.Settled(outcome, at))
		}
		if from := cmp.Or(waker, b.First()); waker != nil || d.Settings.Model == "" {
			d.Settings = from.Route.Route.SessionSettings(from.Event.Locale)
		}
		return events, nil
	})
}

// take puts a message on its way into the inbox and returns what became of it.
func take(d *session.Draft, m *flow.Message) (string, error) {
	limit := m.Route.Route.MaxPendingPerRoute
	receipt, err := receive(d, &m.Event.Record, when(m), limit)
	switch {
	case err != nil:
		return "", err
	case receipt == session.ReceiptFull:
		m.Log.Warn("message dropped: the route's inbox is full", "limit", limit)
		return flow.OutcomeFull, nil
	case receipt == session.ReceiptDuplicate:
		return flow.OutcomeDuplicate, nil
	default:
		return flow.OutcomeAccepted, nil
	}
}

// receive puts an event's message into the inbox and stores it. Of quiet ones the oldest gives way.
func receive(d *session.Draft, e *chat.Record, when session.When, limit int) (session.Receipt, error) {
	if when == session.WhenQuiet {
		if err := d.MakeRoom(); err != nil {
			return session.ReceiptFull, err
		}
	}
	receipt := d.Receive(session.Ref{Key: e.Key, When: when, ThreadID: e.ThreadID, At: e.At}, limit)
	if receipt != session.ReceiptAccepted {
		return receipt, nil
	}
	author := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID}
	m := author.UserPrompt(cmp.Or(e.Sender.Name, e.Sender.ID), e.Text, e.At, message.Metadata{
		PlatformMessageID: e.MessageID, SenderID: e.Sender.ID, ThreadID: e.ThreadID, Locale: e.Locale, Attachments: e.Attachments, Observed: when == session.WhenQuiet,
	})
	m.Seq, e.Seq = d.Seq, d.Seq
	d.Create(m)
	return receipt, nil
}

// when maps the decision to the inbox: what only is observed is quiet; a wake joins the running turn or waits for its own.
func when(m *flow.Message) session.When {
	switch {
	case m.Decision.Effect != chat.EffectWake:
		return session.WhenQuiet
	case m.Decision.Busy == chat.BusyStep:
		return session.WhenNow
	default:
		return session.WhenNext
	}
}
