package clock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"kesoku.dev/shared/clock"
)

var (
	_ clock.Clock = clock.System{}
	_ clock.Clock = (*clock.Manual)(nil)
)

// sleep starts a sleeper and returns once it waits.
func sleep(ctx context.Context, m *clock.Manual, d time.Duration) <-chan error {
	done, before := make(chan error, 1), m.Sleepers()
	go func() { done <- m.Sleep(ctx, d) }()
	for m.Sleepers() == before {
		runtime.Gosched()
	}
	return done
}

func TestManualWakesExactlyWhoIsDue(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 5, 27, 20, 0, 0, 1234, time.FixedZone("SGT", 8*3600))
	m := clock.NewManual(start)
	if got := m.Now(); !got.Equal(start.Truncate(time.Microsecond)) || got.Location() != time.UTC {
		t.Errorf("shows %s, want %s in UTC, cut to microseconds", got, start)
	}
	short, long := sleep(t.Context(), m, time.Second), sleep(t.Context(), m, time.Minute)
	m.Advance(time.Second - 1)
	if n := m.Sleepers(); n != 2 {
		t.Errorf("%d sleepers one nanosecond early, want 2", n)
	}
	m.Advance(1)
	if err := <-short; err != nil {
		t.Errorf("short sleeper: %v", err)
	}
	if n := m.Sleepers(); n != 1 {
		t.Errorf("%d sleepers, want 1", n)
	}
	m.Advance(time.Hour)
	if err := <-long; err != nil {
		t.Errorf("long sleeper: %v", err)
	}
	if got := m.Now().Sub(start.Truncate(time.Microsecond)); got != time.Hour+time.Second {
		t.Errorf("advanced by %s", got)
	}
}

func TestManualSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := clock.NewManual(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	done := sleep(ctx, m, time.Second)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the context's error", err)
	}
	if n := m.Sleepers(); n != 0 {
		t.Errorf("%d sleepers are left", n)
	}
	m.Advance(time.Second) // must not close twice
}

func TestSleepOfNothing(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]clock.Clock{"system": clock.System{}, "manual": clock.NewManual(time.Unix(0, 0))} {
		for _, d := range []time.Duration{0, -time.Second} {
			if err := c.Sleep(t.Context(), d); err != nil {
				t.Errorf("%s: sleep of %s: %v", name, d, err)
			}
			if err := c.Sleep(ended, d); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: sleep of %s under an ended context: %v", name, d, err)
			}
		}
		if err := c.Sleep(ended, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: long sleep under an ended context: %v", name, err)
		}
	}
}

func TestSystem(t *testing.T) {
	t.Parallel()
	got := clock.System{}.Now()
	if got.Location() != time.UTC || got.Nanosecond()%1000 != 0 {
		t.Errorf("%s is not in UTC microseconds, which is what Firestore keeps", got)
	}
	if err := (clock.System{}).Sleep(t.Context(), time.Nanosecond); err != nil {
		t.Errorf("sleep: %v", err)
	}
}
