package boot

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// drainFor is how long work may take to reach its next commit after SIGTERM. Cloud Run kills the instance after ten seconds.
const drainFor = 9 * time.Second

// drain lets an instance go in peace: after SIGTERM nothing new is claimed, and the process ends once what runs has come to a commit. The
// functions framework handles no signal itself.
type drain struct {
	going  context.Context
	stop   context.CancelFunc
	mu     sync.Mutex
	active int
	idle   chan struct{}
}

func newDrain() *drain {
	ctx, cancel := context.WithCancel(context.Background())
	return &drain{going: ctx, stop: cancel, idle: make(chan struct{}, 1)}
}

// enter counts one handler in and returns how it counts itself out; ok is false once the instance is going.
func (d *drain) enter() (leave func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.going.Err() != nil {
		return nil, false
	}
	d.active++
	return d.leave, true
}

func (d *drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active--
	if d.active == 0 && d.going.Err() != nil {
		d.idle <- struct{}{}
	}
}

// onSignal ends the process after SIGTERM or an interrupt, as soon as nothing runs.
func (d *drain) onSignal(log *slog.Logger) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-signals
		d.mu.Lock()
		d.stop()
		active := d.active
		d.mu.Unlock()
		log.Info("going: nothing new is claimed", "active", active)
		if active > 0 {
			select {
			case <-d.idle:
			case <-time.After(drainFor):
				log.Warn("gone with work under way: its leases expire and others take over")
			}
		}
		os.Exit(0)
	}()
}
