package pipeline

import (
	"context"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
)

// model refuses to dispatch on a route whose model nobody serves (P13). It is logged each time; people are told once.
func (f *flow) model(ctx context.Context) error {
	err := model.CheckName(f.route.Model)
	if err == nil {
		return nil
	}
	f.log.WarnContext(ctx, "dispatch refused: the route's model is unknown", "error", err)
	f.open()
	text := f.texts().UnknownModel(f.route.Model)
	return f.tell(ctx, OutcomeUnknownModel, func(d *session.Draft) bool { return d.TellOnce("model " + f.route.Model) }, text)
}

// tell settles the event and stores a notification in its conversation, if wanted says so.
func (f *flow) tell(ctx context.Context, outcome string, wanted func(*session.Draft) bool, text string) error {
	return f.commit(ctx, outcome, bus.TopicDeliveries, func(d *session.Draft) error {
		if !wanted(d) {
			return nil
		}
		author := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: f.Clock.Now()}
		d.Create(author.Notification(message.Spot{ThreadID: f.event.ThreadID}, text))
		return nil
	})
}
