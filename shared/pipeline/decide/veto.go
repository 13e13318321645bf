package decide

import (
	"context"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/pipeline/flow"
)

// Veto asks the listeners that code registered before anything is decided (P2): one may drop a message, or give it another text.
func Veto(ctx context.Context, b *flow.Burst) error {
	for _, m := range b.Messages {
		if m.Event.HeldUntil != nil {
			continue
		}
		after, pass, err := b.Hooks.BeforeReceive(ctx, m.Event.Event)
		if err != nil {
			return err
		}
		m.Event.Text = after.Text
		if !pass {
			m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "veto", By: "hook"}
			m.Drop(flow.OutcomeVetoed)
		}
	}
	return nil
}
