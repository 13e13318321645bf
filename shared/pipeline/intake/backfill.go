package intake

import (
	"context"
	"errors"
	"fmt"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// Backfill fetches what was said before a conversation began (P9), so that the first prompt is understood: bounded, as text alone, and each
// message claimed like one that came by itself, since the same may arrive a moment later (case B3).
func Backfill(ctx context.Context, b *flow.Burst) error {
	waker := b.Waker()
	if waker == nil || waker.Event.Direct || waker.Route.Route.Observe.Mode != "quiet" || waker.Route.Route.Observe.Backfill.Limit == 0 {
		return nil
	}
	if err := b.Load(ctx); err != nil || !b.Fresh {
		return err
	}
	said, err := b.Channels.History(ctx, &b.Messages[0].Event.Event, min(waker.Route.Route.Observe.Backfill.Limit, session.MaxInbox))
	if errs.KindOf(err) == errs.KindPermanent {
		waker.Log.WarnContext(ctx, "what was said before cannot be had", "error", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("backfill: %w", err)
	}
	for _, e := range said {
		known, err := known(ctx, b, e)
		if err != nil {
			return err
		}
		if known || (e.Sender.Self && !waker.Route.Route.Observe.Self) {
			continue
		}
		e.Attachments = nil
		r := chat.NewRecord(e, b.Clock.Now())
		r.Settle(chat.Decision{Effect: chat.EffectObserve, Reason: "backfill", By: "observe"}, flow.OutcomeBackfilled, "")
		b.Earlier = append(b.Earlier, r)
	}
	return nil
}

// known reports whether the event came already, or comes with this burst.
func known(ctx context.Context, b *flow.Burst, e chat.Event) (bool, error) {
	key := e.Key()
	if b.Index(key) >= 0 {
		return true, nil
	}
	_, err := b.Events.Event(ctx, key)
	if errors.Is(err, errs.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
