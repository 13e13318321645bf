package intake

import (
	"context"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/flow"
)

// Observe limits what is kept of messages that wake nobody (P9): how many attachments of one are named, and how many of those are copied for
// the model.
func Observe(_ context.Context, b *flow.Burst) error {
	for _, m := range b.Messages {
		limits := m.Route.Route.Observe.Media
		files := m.Event.Attachments
		if !m.Live() || len(files) == 0 {
			continue
		}
		if m.Decision.Effect != chat.EffectWake {
			files = files[:min(len(files), limits.PerMessage)]
			kept := append([]message.Attachment(nil), files...)
			for i := limits.Attach; i < len(kept); i++ {
				kept[i].Source = "" // named, but not copied
			}
			files = kept
		}
		m.Event.Attachments = files
	}
	return nil
}
