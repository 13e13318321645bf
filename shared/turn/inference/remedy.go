package inference

import (
	"errors"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/model"
)

// Remedy is what to do about a call that failed.
type Remedy struct {
	Do    Action
	After time.Duration // with Again: no sooner than this
	// Reason is what people are told if it comes to that.
	Reason locale.Reason
}

// Action is one way to go on.
type Action string

// The ways.
const (
	Again  Action = "again"  // try the step once more, later
	Refuse Action = "refuse" // answer with a polite refusal
	Fail   Action = "fail"   // end the turn as failed
)

// maxMalformed is how often a model may write a call that is none.
const maxMalformed = 3

// Failures counts calls that failed by what went wrong. The zero value is none.
type Failures map[model.FaultKind]int

// unanswered counts what was no answer of the provider's.
const unanswered model.FaultKind = ""

// Of is how many calls failed in the way that err did.
func (f Failures) Of(err error) int { return f[kindOf(err)] }

// All is how many calls failed in whatever way.
func (f Failures) All() (n int) {
	for _, times := range f {
		n += times
	}
	return n
}

// With is f and one failure more. It leaves f as it is.
func (f Failures) With(err error) Failures {
	more := Failures{kindOf(err): f.Of(err) + 1}
	for kind, times := range f {
		if _, known := more[kind]; !known {
			more[kind] = times
		}
	}
	return more
}

func kindOf(err error) model.FaultKind {
	var f *model.Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return unanswered
}

// RemedyFor decides on the err of a call that failed for the n-th time in this way, from 0. The context's own end is not its business.
func RemedyFor(err error, n int) Remedy {
	var f *model.Fault
	if !errors.As(err, &f) {
		if errs.KindOf(err) == errs.KindPermanent {
			return Remedy{Do: Fail, Reason: locale.ReasonInternal}
		}
		return Remedy{Do: Again, After: grow(time.Second, n), Reason: locale.ReasonOverloaded} // the network's, or the staging area's
	}
	why := locale.Reason(f.Kind)
	switch f.Kind {
	case model.FaultBlocked:
		return Remedy{Do: Refuse, Reason: why}
	case model.FaultMalformedCall, model.FaultEmpty:
		if n+1 >= maxMalformed {
			return Remedy{Do: Fail, Reason: why}
		}
		return Remedy{Do: Again, Reason: why}
	case model.FaultRateLimited:
		return Remedy{Do: Again, After: max(f.RetryAfter, grow(5*time.Second, n)), Reason: why}
	case model.FaultOverloaded:
		return Remedy{Do: Again, After: max(f.RetryAfter, grow(2*time.Second, n)), Reason: why}
	case model.FaultContext, model.FaultCredentials, model.FaultRequest, model.FaultUnsupported:
		return Remedy{Do: Fail, Reason: why}
	default:
		return Remedy{Do: Fail, Reason: locale.ReasonInternal}
	}
}

// grow doubles a wait with each failure, up to 32 times the first.
func grow(first time.Duration, n int) time.Duration { return first << min(n, 5) }
