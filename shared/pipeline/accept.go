package pipeline

import (
	"context"
	"errors"
	"fmt"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

var (
	errFull      = errors.New("too many prompts wait")
	errDuplicate = errors.New("the inbox has it already")
	// errMoved makes the handler look anew.
	errMoved = fmt.Errorf("the conversation has another session now: %w", errs.ErrConflict)
)

// accept stores the message as a prompt in the inbox (P16), unless too many wait (P15).
func (f *flow) accept(ctx context.Context) error {
	err := f.commit(ctx, OutcomeAccepted, bus.TopicTurns, f.receive)
	switch {
	case errors.Is(err, errFull):
		f.log.WarnContext(ctx, "message dropped: the route's inbox is full", "limit", f.route.MaxPendingPerRoute)
		return f.drop(ctx, OutcomeFull)
	case errors.Is(err, errDuplicate):
		return f.drop(ctx, OutcomeDuplicate)
	default:
		return err
	}
}

// receive puts the prompt into the inbox and stores its message.
func (f *flow) receive(d *session.Draft) error {
	e := &f.event
	ref := session.Ref{Key: e.Key, When: f.when(), ThreadID: e.ThreadID, At: e.At}
	switch d.Receive(ref, f.route.MaxPendingPerRoute) {
	case session.ReceiptFull:
		return errFull
	case session.ReceiptDuplicate:
		return errDuplicate
	case session.ReceiptAccepted:
	}
	d.Settings = f.route.SessionSettings(e.Locale)
	name := e.Sender.Name
	if name == "" {
		name = e.Sender.ID
	}
	author := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: f.Clock.Now()}
	m := author.UserPrompt(name, e.Text, e.At, message.Metadata{
		PlatformMessageID: e.MessageID, SenderID: e.Sender.ID, ThreadID: e.ThreadID, Locale: e.Locale, Attachments: e.Attachments,
	})
	m.Seq = d.Seq
	d.Create(m)
	return nil
}

// when maps the decision to the inbox: what only is observed is quiet; a wake joins the running turn or waits for its own.
func (f *flow) when() session.When {
	switch {
	case f.decision.Effect != chat.EffectWake:
		return session.WhenQuiet
	case f.decision.Busy == chat.BusyStep:
		return session.WhenNow
	default:
		return session.WhenNext
	}
}
