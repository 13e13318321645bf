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
			if receive(d, &b.Earlier[i], session.WhenQuiet, session.MaxInbox) == session.ReceiptAccepted {
				b.Earlier[i].SessionID = d.ID
			}
		}
		var events []chat.Stored
		for _, m := range b.Messages {
			outcome := m.Outcome
			if m.Live() {
				outcome = take(d, m)
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
func take(d *session.Draft, m *flow.Message) string {
	limit := m.Route.Route.MaxPendingPerRoute
	switch receive(d, &m.Event.Record, when(m), limit) {
	case session.ReceiptFull:
		m.Log.Warn("message dropped: the route's inbox is full", "limit", limit)
		return flow.OutcomeFull
	case session.ReceiptDuplicate:
		return flow.OutcomeDuplicate
	default:
		return flow.OutcomeAccepted
	}
}

// receive puts an event's message into the inbox and stores it.
func receive(d *session.Draft, e *chat.Record, when session.When, limit int) session.Receipt {
	receipt := d.Receive(session.Ref{Key: e.Key, When: when, ThreadID: e.ThreadID, At: e.At}, limit)
	if receipt != session.ReceiptAccepted {
		return receipt
	}
	author := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID}
	m := author.UserPrompt(cmp.Or(e.Sender.Name, e.Sender.ID), e.Text, e.At, message.Metadata{
		PlatformMessageID: e.MessageID, SenderID: e.Sender.ID, ThreadID: e.ThreadID, Locale: e.Locale, Attachments: e.Attachments,
	})
	m.Seq, e.Seq = d.Seq, d.Seq
	d.Create(m)
	return receipt
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
