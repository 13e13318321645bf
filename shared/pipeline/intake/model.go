package intake

import (
	"context"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// Model refuses to dispatch on a route whose model nobody serves (P13). It is logged each time; people are told once.
func Model(ctx context.Context, b *flow.Burst) error {
	waker := b.Waker()
	if waker == nil {
		return nil
	}
	asked := waker.Route.Route.Model
	err := model.CheckName(asked)
	if err == nil {
		return nil
	}
	waker.Log.WarnContext(ctx, "dispatch refused: the route's model is unknown", "error", err)
	return b.Tell(ctx, waker, flow.OutcomeUnknownModel, func(d *session.Draft) bool { return d.TellOnce("model " + asked) }, b.Texts(waker).UnknownModel(asked))
}
