package deliver

import (
	"sync"
	"time"
)

// pace keeps the writes of this instance to one channel apart, whichever sessions they come from. What other instances write is told by
// the session's last write and, at the latest, by the platform's 429.
type pace struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// maxChannels bounds the memory of an instance.
const maxChannels = 4096

func newPace() *pace { return &pace{next: map[string]time.Time{}} }

// wait books the next free moment of the channel and returns how far off it is.
func (p *pace) wait(channel string, now, last time.Time, every time.Duration) time.Duration {
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
func (p *pace) forget(now time.Time) {
	for c, t := range p.next {
		if t.Before(now) {
			delete(p.next, c)
		}
	}
}
