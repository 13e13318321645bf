package control

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
)

// Bytes of a message that a note about it repeats.
const (
	maxExcerpt = 120
	maxEdited  = 4 << 10
)

// deleted follows a message that somebody took back (P19): one that still waits is not answered; of one that is history the model is told. No
// history is rewritten, nobody is woken, no session is made for it. One that has not arrived yet is kept from arriving.
func deleted(ctx context.Context, b *flow.Burst, m *flow.Message) error {
	target, err := target(ctx, b, m)
	switch {
	case errors.Is(err, errs.ErrNotFound):
		return forestall(ctx, b, m)
	case err != nil:
		return err
	case target.Outcome == flow.OutcomeRecalled:
		m.Drop(flow.OutcomeDuplicate)
		return b.End(ctx)
	case target.Pending:
		d := m.Decision
		target.Settle(chat.Decision{Effect: chat.EffectIgnore, Reason: d.Reason, By: d.By}, flow.OutcomeRecalled, "")
		return together(ctx, b, m, flow.OutcomeNoted, target)
	}
	return note(ctx, b, m, target, func(d *session.Draft, target *chat.Stored, was message.Message) (string, error) {
		if d.Withdraw(target.Key) {
			target.Outcome = flow.OutcomeRecalled
			return "", d.Move(&was, message.Withdraw)
		}
		return fmt.Sprintf("%s took back the message that began with: %q", was.Sender, excerpt(was.Content, maxExcerpt)), nil
	})
}

// edited follows a message that somebody changed (P19): one that is not decided on yet has the new text; of one that is, the model is told. A
// change that leaves the text as it was, as when a link gets its preview, is none (case B29).
func edited(ctx context.Context, b *flow.Burst, m *flow.Message) error {
	target, err := target(ctx, b, m)
	if err != nil && !errors.Is(err, errs.ErrNotFound) {
		return err
	}
	text, passes := m.Event.Text, true
	if err == nil && (!target.Pending || target.HeldUntil != nil) { // what is not decided on yet goes through the stages with its new text
		var cleared error
		if text, passes, cleared = b.Cleared(ctx, m.Event.Event, m.Route.Censor); cleared != nil {
			return cleared
		}
	}
	if err != nil || !passes || target.Text == text || text == "" || target.Outcome == flow.OutcomeRecalled {
		m.Drop(flow.OutcomeIgnored)
		return b.End(ctx)
	}
	target.Text = text
	if target.Pending {
		return together(ctx, b, m, flow.OutcomeNoted, target)
	}
	return note(ctx, b, m, target, func(_ *session.Draft, _ *chat.Stored, was message.Message) (string, error) {
		return fmt.Sprintf("%s changed the message that began with: %q\nIt now says: %s", was.Sender, excerpt(was.Content, maxExcerpt), excerpt(text, maxEdited)), nil
	})
}

// target is the event of the message that this event is about.
func target(ctx context.Context, b *flow.Burst, m *flow.Message) (chat.Stored, error) {
	original := chat.Event{Platform: m.Event.Platform, Kind: chat.KindMessage, MessageID: m.Event.MessageID}
	return b.Events.Event(ctx, original.Key())
}

// forestall stores the message as taken back before it arrives, so that it will be a duplicate.
func forestall(ctx context.Context, b *flow.Burst, m *flow.Message) error {
	gone := m.Event.Event
	gone.Kind, gone.EventID, gone.Text = chat.KindMessage, "", ""
	r := chat.NewRecord(gone, b.Clock.Now())
	r.Settle(m.Decision, flow.OutcomeRecalled, "")
	b.Earlier = []chat.Record{r}
	m.Drop(flow.OutcomeNoted)
	return b.End(ctx)
}

// together settles the event in the swap that changes the one it is about.
func together(ctx context.Context, b *flow.Burst, m *flow.Message, outcome string, target chat.Stored) error {
	m.Event = m.Settled(outcome, "")
	if err := b.Events.Commit(ctx, route.Change{Events: []chat.Stored{m.Event, target}}); err != nil {
		return err
	}
	b.Close(ctx)
	return nil
}

// note changes the session that has the target's message. What tell returns, if anything, is put into its inbox as a quiet message.
func note(ctx context.Context, b *flow.Burst, m *flow.Message, target chat.Stored, tell func(*session.Draft, *chat.Stored, message.Message) (string, error)) error {
	if target.Seq == 0 {
		m.Drop(flow.OutcomeIgnored)
		return b.End(ctx)
	}
	b.Ledger = b.Conversations.Session(target.SessionID)
	original, err := b.Ledger.Message(ctx, target.Seq)
	if errors.Is(err, errs.ErrNotFound) {
		m.Drop(flow.OutcomeIgnored)
		return b.End(ctx)
	}
	if err != nil {
		return err
	}
	_, err = b.Ledger.Settle(ctx, func(d *session.Draft) (route.Change, error) {
		about := target // each decision begins with it as it was read
		text, err := tell(d, &about, original)
		if err != nil {
			return route.Change{}, err
		}
		outcome := flow.OutcomeNoted
		if text != "" && !inform(b, d, m, text) {
			outcome = flow.OutcomeFull
		}
		m.Event = m.Settled(outcome, d.ID)
		return route.Change{Events: []chat.Stored{m.Event, about}}, nil
	})
	if err != nil {
		return err
	}
	b.Close(ctx)
	return nil
}

// inform puts a quiet message about the event into the inbox; false means that there is no room.
func inform(b *flow.Burst, d *session.Draft, m *flow.Message, text string) bool {
	if d.MakeRoom() != nil {
		return false
	}
	ref := session.Ref{Key: m.Event.Key, When: session.WhenQuiet, ThreadID: m.Event.ThreadID, At: m.Event.At}
	if d.Receive(ref, session.MaxInbox) != session.ReceiptAccepted {
		return false
	}
	alert := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: b.Clock.Now()}.Alert(text)
	alert.Seq = d.Seq
	d.Create(alert)
	return true
}

// excerpt is the beginning of a text.
func excerpt(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
