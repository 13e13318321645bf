// Package errs is the one vocabulary of failure. Every error that leaves a handler is retryable (try the same work again),
// permanent (record it and go on) or fenced (another holder owns the work: stop and write nothing). Whoever knows the cause
// marks the error; whoever decides between ack and nack asks KindOf and nothing else. It knows no other package.
package errs

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what to do about an error.
type Kind string

const (
	// KindRetryable is work worth trying again: the default of an unmarked error, since losing work is worse than repeating it.
	KindRetryable Kind = "retryable"
	// KindPermanent is work that fails again however often it is tried: record it and acknowledge.
	KindPermanent Kind = "permanent"
	// KindFenced is work that another holder has taken over: stop without a trace.
	KindFenced Kind = "fenced"
)

var (
	// ErrFenced says that the lease under which the work ran is no longer ours.
	ErrFenced = errors.New("fenced: another holder has the lease")
	// ErrConflict says that what was read has changed since: read again, decide again.
	ErrConflict = errors.New("conflict: changed since it was read")
	// ErrNotFound says that the thing named does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists says that a thing to be created exists already.
	ErrExists = errors.New("exists already")
)

// marked carries a kind, and for a retry the shortest wait worth keeping.
type marked struct {
	err   error
	kind  Kind
	after time.Duration
}

func (m *marked) Error() string { return m.err.Error() }
func (m *marked) Unwrap() error { return m.err }

// Permanent marks err as not worth a retry. A nil err stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, kind: KindPermanent}
}

// Permanentf is Permanent of a formatted error; %w works.
func Permanentf(format string, args ...any) error { return Permanent(fmt.Errorf(format, args...)) }

// Retryable marks err as worth a retry no sooner than after. A nil err stays nil.
func Retryable(err error, after time.Duration) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, kind: KindRetryable, after: after}
}

// KindOf classifies err: the outermost mark wins, ErrFenced is fenced, all else is retryable.
func KindOf(err error) Kind {
	var m *marked
	switch {
	case errors.As(err, &m):
		return m.kind
	case errors.Is(err, ErrFenced):
		return KindFenced
	default:
		return KindRetryable
	}
}

// After returns the shortest wait that a retryable error asks for, or 0.
func After(err error) time.Duration {
	var m *marked
	if errors.As(err, &m) {
		return m.after
	}
	return 0
}
