package pipeline

import (
	"context"

	"kesoku.dev/shared/chat"
)

// engine ends the way of everything on a route whose engine is off (P3).
func (f *flow) engine(ctx context.Context) error {
	if f.route.Engine != "off" {
		return nil
	}
	f.decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "engine_off", By: "engine"}
	return f.drop(ctx, OutcomeIgnored)
}
