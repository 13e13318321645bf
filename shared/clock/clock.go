// Package clock brings time in from outside, so that tests step it instead of sleeping. It knows no other package.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits. Production uses System; tests use a Manual.
type Clock interface {
	Now() time.Time
	// Sleep returns nil after d, or the context's error as soon as it ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// System is the machine's own clock, in UTC and cut to microseconds, which is what Firestore keeps.
type System struct{}

// Now returns the current time.
func (System) Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Sleep waits for d or for the end of ctx.
func (System) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
