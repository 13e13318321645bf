package pipeline

import (
	"context"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/session"
)

// bind ties the event to its conversation's session (P14).
func (f *flow) bind(context.Context) error {
	f.open()
	return nil
}

// open finds the session of the event's conversation, or the one to be made for it.
func (f *flow) open() {
	e := &f.event
	key := f.route.Binding().ConversationKey(&e.Event)
	f.ledger = f.Conversations.Conversation(key, func() session.Session {
		return session.New(f.NewID(), key, e.RouteID, e.Platform, e.ChannelID, e.Direct, f.Clock.Now())
	})
}

// texts are in the person's own language where the platform tells it, else in the route's.
func (f *flow) texts() locale.Texts { return locale.For(f.event.Locale, f.route.Locale) }

// commit settles the event in the swap that changes its session, and publishes the wake-up that goes with it.
func (f *flow) commit(ctx context.Context, outcome string, topic bus.Topic, decide func(*session.Draft) error) error {
	event := f.event
	if f.session == "" {
		s, err := f.ledger.Load(ctx)
		if err != nil {
			return err
		}
		f.session = s.ID
	}
	event.Settle(f.decision, outcome, f.session)
	_, err := f.ledger.Settle(ctx, event, func(d *session.Draft) error {
		if d.ID != f.session {
			// The conversation got a session, or a new one, since; the event must name the right one.
			return errMoved
		}
		return decide(d)
	})
	if err != nil {
		return err
	}
	f.event, f.settled = event, true
	return f.Bus.Publish(ctx, topic, bus.Wake{Session: f.session})
}
