package pipeline

import (
	"context"

	"kesoku.dev/shared/chat"
)

// engineOff is the engine of a route that nothing is answered on.
const engineOff = "off"

// engine ends the way of everything on a route whose engine is off (P3).
func (f *flow) engine(ctx context.Context) error {
	if f.route.Engine != engineOff {
		return nil
	}
	f.decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "engine_off", By: "engine"}
	return f.drop(ctx, OutcomeIgnored)
}
