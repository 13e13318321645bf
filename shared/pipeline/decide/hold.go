package decide

import (
	"context"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/pipeline/flow"
)

// maxDelay bounds how long a decision may be held: the handler sleeps meanwhile, and its wake-up is redelivered after ten minutes.
const maxDelay = time.Minute

// Hold stores decisions that wait: for the delay that a decider asked for, or for a pause in the burst where messages wake at once otherwise.
// They stand from then on; the messages stay pending, and those of the conversation that come meanwhile join them.
func Hold(ctx context.Context, b *flow.Burst) error {
	waker := b.Waker()
	if waker == nil || b.Held() {
		return nil
	}
	now, d := b.Clock.Now(), waker.Decision
	wait := min(d.Delay, maxDelay)
	if d.Settle && !b.Waits() {
		wait = max(wait, waker.Route.Route.Merge.Quiet.Duration())
	}
	if wait <= 0 {
		return nil
	}
	var events []chat.Stored
	for _, m := range b.Messages {
		if m.Live() {
			m.Event.Hold(m.Decision, now.Add(wait))
		} else {
			m.Event = m.Settled(m.Outcome, "")
		}
		events = append(events, m.Event)
	}
	if err := b.Events.Commit(ctx, b.Change(events...)); err != nil {
		return err
	}
	b.Close(ctx)
	waker.Log.InfoContext(ctx, "held", "for", wait, "reason", d.Reason, "by", d.By)
	return flow.ErrAgain
}
