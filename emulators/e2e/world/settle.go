package world

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"kesoku.dev/shared/session"
)

// quiet is how long nothing may happen until a world whose counts do not add up (after a kill, or a lost answer) counts as drained.
const quiet = 150 * time.Millisecond

// Idle reports whether nothing is outstanding: no session and no event asks to be woken.
func (w *World) Idle() bool {
	ctx := context.WithoutCancel(w.T.Context())
	for _, q := range []firestore.Query{
		w.Env.Firestore.Collection("events").Where("pending", "==", true).Limit(1),
		w.Env.Firestore.Collection("sessions").Where("wake_at", ">", time.Time{}).Limit(1),
	} {
		docs, err := q.Documents(ctx).GetAll()
		if err != nil {
			w.T.Errorf("look for outstanding work: %v", err)
			return false
		}
		if len(docs) > 0 {
			return false
		}
	}
	return true
}

// drained reports whether every wake-up that was published has been acknowledged and no handler runs.
func (w *World) drained() bool {
	if !w.hooksDone() {
		return false
	}
	published := w.Env.Total().Published + w.Env.Counts().Published
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running == 0 && len(w.ackedIDs) >= published
}

// calm waits, no longer than patience, until no handler runs and none has ended for a while. It reports whether it came to that.
func (w *World) calm() bool {
	p := w.passing()
	for begun := time.Now(); time.Since(begun) < patience; pause() {
		if p.still(quiet) {
			return true
		}
		p.step() // one who was overtaken may still sleep
	}
	return false
}

// WaitIdle waits until nothing is outstanding and every wake-up has been handled, with the time standing still.
func (w *World) WaitIdle() {
	w.T.Helper()
	w.Until("end of all work", func() bool { return w.drained() && w.Idle() })
}

// Advancing steps the clock by step, again and again, until something has become true.
func (w *World) Advancing(step time.Duration, what string, done func() bool) {
	w.T.Helper()
	w.Until(what, func() bool {
		if done() {
			return true
		}
		w.Clock.Advance(step)
		return done()
	})
}

// maxRounds bounds Settle: what has not come to an end after so many leases and sweeps never will.
const maxRounds = 40

// Settle lets the platform do what it does in time: leases expire, wake-ups come again, sweeps run. It fails the test if work is left then.
func (w *World) Settle() {
	w.T.Helper()
	for range maxRounds {
		w.breathe()
		if w.Idle() && w.calm() && w.Idle() {
			return
		}
		w.Clock.Advance(session.LeaseFor + time.Second)
		w.breathe()
		w.Clock.Advance(session.LeaseFor + time.Second)
		w.Sweep()
	}
	w.T.Errorf("work is left after %d rounds of expiry and sweep", maxRounds)
}

// breathe gives what runs a moment, in which time passes in small steps for whoever waits: until nothing is left, or nobody moves.
func (w *World) breathe() {
	p := w.passing()
	for begun := time.Now(); time.Since(begun) < patience; pause() {
		if p.still(quiet/2) || (w.drained() && w.Idle()) {
			return
		}
		p.step()
	}
}

// passing lets time pass for a world at work, but not while anybody talks to the databases: what expires because the machine is busy proves
// nothing.
type passing struct {
	w             *World
	pushes, calls int
	since         time.Time
}

func (w *World) passing() *passing { return &passing{w: w, pushes: -1, since: time.Now()} }

// still reports whether no handler has run for that long.
func (p *passing) still(long time.Duration) bool {
	p.w.mu.Lock()
	running, pushes := p.w.running, p.w.pushes
	p.w.mu.Unlock()
	if running > 0 || pushes != p.pushes || !p.w.hooksDone() {
		p.pushes, p.since = pushes, time.Now()
	}
	return time.Since(p.since) > long
}

func (p *passing) step() {
	calls := 0
	for _, n := range p.w.Env.Total().Calls {
		calls += n
	}
	if calls == p.calls {
		p.w.Clock.Advance(50 * time.Millisecond)
	}
	p.calls = calls
}
