package decide

import (
	"context"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/pipeline/flow"
)

// engineOff is the engine of a route that nothing is answered on.
const engineOff = "off"

// Engine ends the way of everything on a route whose engine is off (P3).
func Engine(_ context.Context, b *flow.Burst) error {
	for _, m := range b.Messages {
		if m.Live() && m.Route.Route.Engine == engineOff {
			m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "engine_off", By: "engine"}
			m.Drop(flow.OutcomeIgnored)
		}
	}
	return nil
}
