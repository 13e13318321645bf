// Package pace keeps the writes of one instance to a channel apart, whichever sessions they come from. It knows channels by name and waits for
// nothing itself.
package pace

import (
	"sync"
	"time"
)

// Pace is when each channel may be written to next. What other instances write is told by a session's last write and, at the latest, by the
// platform's 429. It is safe for concurrent use.
type Pace struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// maxChannels bounds the memory of an instance.
const maxChannels = 4096

// New returns a pace that knows no channel yet.
func New() *Pace { return &Pace{next: map[string]time.Time{}} }

// Wait books the next free moment of the channel and returns how far off it is.
func (p *Pace) Wait(channel string, now, last time.Time, every time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := now
	if free := last.Add(every); free.After(at) && !last.IsZero() {
		at = free
	}
	if free := p.next[channel]; free.After(at) {
		at = free
	}
	if len(p.next) >= maxChannels {
		p.forget(now)
	}
	p.next[channel] = at.Add(every)
	return at.Sub(now)
}

// forget drops the channels that are free by now.
func (p *Pace) forget(now time.Time) {
	for c, t := range p.next {
		if t.Before(now) {
			delete(p.next, c)
		}
	}
}
