package intake

import (
	"context"
	"errors"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// fresh is how old a message must be to be fetched: a younger one may be on its way, and would be lost as a duplicate of what was fetched.
const fresh = time.Minute

// Backfill fetches what was said before a conversation began (P9), so that the first prompt is understood: bounded, as text alone, and each
// message claimed like one that came by itself, since the same may arrive a moment later (case B3). A platform that cannot say does not keep
// the prompt.
func Backfill(ctx context.Context, b *flow.Burst) error {
	waker := b.Waker()
	if waker == nil || waker.Event.Direct || waker.Route.Route.Observe.Mode != "quiet" || waker.Route.Route.Observe.Backfill.Limit == 0 {
		return nil
	}
	if err := b.Load(ctx); err != nil || !b.Fresh {
		return err
	}
	limit := min(waker.Route.Route.Observe.Backfill.Limit, session.MaxInbox)
	said, err := b.Channels.History(ctx, &b.Messages[0].Event.Event, limit)
	if err != nil {
		waker.Log.WarnContext(ctx, "what was said before cannot be had", "error", err)
		return nil
	}
	for _, e := range said {
		belongs, err := belongs(ctx, b, waker, &e)
		if err != nil {
			return err
		}
		if !belongs {
			continue
		}
		e.Attachments = nil
		r := chat.NewRecord(e, b.Clock.Now())
		r.Settle(chat.Decision{Effect: chat.EffectObserve, Reason: "backfill", By: "observe"}, flow.OutcomeBackfilled, "")
		b.Earlier = append(b.Earlier, r)
	}
	return nil
}

// belongs reports whether a message of the past is to be told to the conversation of the burst, with the text that hooks and censor leave of it:
// not if somebody waits for its answer, if it is of another conversation, or if it came already.
func belongs(ctx context.Context, b *flow.Burst, waker *flow.Message, e *chat.Event) (bool, error) {
	binding := waker.Route.Route.Binding()
	switch {
	case e.AtMe, e.QuoteMe, waker.Event.At.Sub(e.At) < fresh, binding.ConversationKey(e) != b.Key:
		return false, nil
	case e.Sender.Self && (!waker.Route.Route.Observe.Self || locale.Greets(e.Text)):
		return false, nil
	}
	if known, err := known(ctx, b, *e); err != nil || known {
		return false, err
	}
	text, passes, err := b.Cleared(ctx, *e, waker.Route.Censor)
	e.Text = text
	return passes, err
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
