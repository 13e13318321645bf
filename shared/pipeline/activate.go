package pipeline

import (
	"context"

	"kesoku.dev/shared/chat"
)

// activate asks the deciders that the route uses (P4) and ends the way of what is neither answered nor recorded.
func (f *flow) activate(ctx context.Context) error {
	var verdicts []chat.Decision
	for _, name := range f.route.Activation.Use {
		if name == f.rule.Name() {
			verdicts = append(verdicts, f.rule.Decide(&f.event.Event, f.route.Activation))
		}
	}
	f.decision = chat.Choose(verdicts)
	if f.decision.Effect == chat.EffectWake {
		f.decision.Busy = f.route.Observe.MidTurn
		return nil
	}
	if f.decision.Effect == chat.EffectObserve && f.route.Observe.Mode == "quiet" {
		return nil
	}
	return f.drop(ctx, OutcomeIgnored)
}
