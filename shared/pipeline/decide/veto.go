package decide

import (
	"context"
	"strings"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/pipeline/flow"
)

// maxText is how long a text may be that a listener gives a message, in bytes.
const maxText = 256 << 10

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
		if m.Event.Text = strings.ToValidUTF8(after.Text, "�"); len(m.Event.Text) > maxText {
			return errs.Permanentf("a listener made a text of %d bytes of the message, at most %d are stored", len(m.Event.Text), maxText)
		}
		if !pass {
			m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "veto", By: "hook"}
			m.Drop(flow.OutcomeVetoed)
		}
	}
	return nil
}
