package clock

import (
	"context"
	"sync"
	"time"
)

// Manual is a clock that stands still until it is told to move. Its zero value is not usable: call NewManual.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	waiters map[*waiter]struct{}
}

type waiter struct {
	until time.Time
	done  chan struct{}
}

// NewManual returns a clock that shows now.
func NewManual(now time.Time) *Manual {
	return &Manual{now: now.UTC().Truncate(time.Microsecond), waiters: map[*waiter]struct{}{}}
}

// Now returns the time the clock shows.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Sleep blocks until Advance has moved the clock by d, or ctx ends.
func (m *Manual) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	m.mu.Lock()
	w := &waiter{until: m.now.Add(d), done: make(chan struct{})}
	m.waiters[w] = struct{}{}
	m.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		m.mu.Lock()
		delete(m.waiters, w)
		m.mu.Unlock()
		return ctx.Err()
	}
}

// Advance moves the clock forward and wakes every sleeper whose time has come.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	for w := range m.waiters {
		if !w.until.After(m.now) {
			close(w.done)
			delete(m.waiters, w)
		}
	}
}

// Sleepers reports how many callers wait in Sleep.
func (m *Manual) Sleepers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiters)
}
