package testenv

import (
	"context"
	"time"

	"kesoku.dev/shared/clock"
)

// jitter is the longest sleep by which racers part. Such sleeps are slept for real: a clock that stands still would never part them.
const jitter = 400 * time.Millisecond

// Stepped is a clock that stands still until the test moves it; whoever sleeps on it looks again after a moment of real time.
type Stepped struct{ *clock.Manual }

// Sleep implements clock.Clock.
func (s Stepped) Sleep(ctx context.Context, d time.Duration) error {
	return clock.System{}.Sleep(ctx, min(d, jitter))
}

// Hasty is a clock on which whoever sleeps makes the time pass.
type Hasty struct{ *clock.Manual }

// Sleep implements clock.Clock.
func (h Hasty) Sleep(ctx context.Context, d time.Duration) error {
	if d < jitter {
		return clock.System{}.Sleep(ctx, d)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	h.Advance(d)
	return ctx.Err()
}
