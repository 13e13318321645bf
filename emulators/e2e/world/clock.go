package world

import (
	"context"
	"time"

	"kesoku.dev/shared/clock"
)

// short is the longest sleep that is slept for real: the jitter by which racers part. Everything longer is a wait that a test steps over.
const short = 400 * time.Millisecond

// stepped is a world's time. It stands still until the test moves it, so that what a conversation looks like does not depend on the machine.
type stepped struct{ *clock.Manual }

// Sleep implements clock.Clock.
func (s stepped) Sleep(ctx context.Context, d time.Duration) error {
	if d < short {
		return clock.System{}.Sleep(ctx, d)
	}
	return s.Manual.Sleep(ctx, d)
}

// hurried tells the same time and sleeps a hundredth: for waits that only keep a pace, such as a platform's write budget.
type hurried struct{ clock.Clock }

// Sleep implements clock.Clock.
func (h hurried) Sleep(ctx context.Context, d time.Duration) error {
	if d >= short {
		d /= 100
	}
	return clock.System{}.Sleep(ctx, d)
}
