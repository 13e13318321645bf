package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
)

const (
	// renewEvery is the longest a lease of 60 s goes without renewal.
	renewEvery = 10 * time.Second
	// lookEvery is how often a waiting turn looks whether it was stopped.
	lookEvery = time.Second
	// lookOften is the same on a route where a new prompt interrupts, which it must within a second.
	lookOften = 500 * time.Millisecond
)

// watched runs work while the lease is kept alive. If interruptible, work's context ends with errInterrupted as its cause once the turn
// must give way or the instance must go; it ends with errs.ErrFenced once the lease is lost, and whatever work returns then is void.
func (r *run) watched(ctx context.Context, interruptible bool, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	watching := make(chan struct{})
	watch, stop := context.WithCancel(ctx)
	go func() {
		defer close(watching)
		if err := r.watch(watch, interruptible); err != nil {
			cancel(err)
		}
	}()
	if interruptible {
		//nolint:contextcheck // the instance's own life, which is no handler's context
		defer context.AfterFunc(r.Going, func() { cancel(errInterrupted) })()
	}
	err := work(ctx)
	stop()
	<-watching
	cause := context.Cause(ctx)
	cancel(nil)
	if errors.Is(cause, errs.ErrFenced) || (interruptible && errors.Is(cause, errInterrupted)) {
		return cause
	}
	return err
}

// watch looks at the session until ctx ends, renews the lease, and announces a turn that stays silent. It returns why work must end.
func (r *run) watch(ctx context.Context, interruptible bool) error {
	every := lookEvery
	if r.s.Settings.Interrupt {
		every = lookOften
	}
	begun, renewed := r.Clock.Now(), r.Clock.Now()
	for r.Clock.Sleep(ctx, every) == nil {
		s, err := r.ledger.Load(ctx)
		if err != nil {
			// A look that fails is not a lost lease: the next commit decides.
			r.log.WarnContext(ctx, "could not look at the session", "error", err)
			continue
		}
		switch now := r.Clock.Now(); {
		case !s.TurnLease.Holds(r.claimant.Holder, r.epoch):
			return fmt.Errorf("turn of session %s: %w", r.id, errs.ErrFenced)
		case interruptible && s.Interrupted():
			return errInterrupted
		case r.mustAnnounce(&s, now.Sub(begun)), now.Sub(renewed) >= renewEvery:
			if err := r.renew(ctx, now.Sub(begun)); err != nil && ctx.Err() == nil {
				return err
			}
			renewed = now
		}
	}
	return nil
}

func (r *run) mustAnnounce(s *session.Session, silent time.Duration) bool {
	return silent >= r.cfg.Announce && s.Turn != nil && !s.Turn.Announced && s.Outbox.Card.Turn < s.Turn.Number
}

// renew moves the lease's end and, once the turn was silent long enough, asks for its card.
func (r *run) renew(ctx context.Context, silent time.Duration) error {
	announce := false
	s, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		if !d.TurnLease.Holds(r.claimant.Holder, r.epoch) {
			return fmt.Errorf("turn of session %s: %w", r.id, errs.ErrFenced)
		}
		announce = r.mustAnnounce(&d.Session, silent)
		d.Turn.Announced = d.Turn.Announced || announce
		d.RenewTurn(r.Clock.Now())
		return nil
	})
	switch {
	case errors.Is(err, errs.ErrFenced):
		return err
	case err != nil:
		r.log.WarnContext(ctx, "could not renew the lease", "error", err)
		return nil
	}
	if announce && s.CardDue() {
		if err := r.deliver(ctx); err != nil {
			r.log.WarnContext(ctx, "could not announce the turn", "error", err)
		}
	}
	return nil
}

// wait lets a delay pass under the lease, or ends early for an interruption or because the instance must go.
func (r *run) wait(ctx context.Context, d time.Duration) error {
	if left := r.cfg.Checkpoint - r.Clock.Now().Sub(r.started); d > left {
		d = max(left, 0)
	}
	err := r.watched(ctx, true, func(ctx context.Context) error { return r.Clock.Sleep(ctx, d) })
	if errors.Is(err, errInterrupted) {
		return r.look(ctx)
	}
	return err
}

// look reads the session anew, for a decision on what stands there now.
func (r *run) look(ctx context.Context) error {
	s, err := r.ledger.Load(ctx)
	if err != nil {
		return err
	}
	if !s.TurnLease.Holds(r.claimant.Holder, r.epoch) {
		return fmt.Errorf("turn of session %s: %w", r.id, errs.ErrFenced)
	}
	r.s = s
	return nil
}
