package turn

import (
	"context"
	"errors"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/model"
)

const (
	// maxFailures is how often one step is tried in one invocation.
	maxFailures = 4
	// maxMalformed is how often a model may write a call that is none before the turn fails.
	maxMalformed = 3
	// maxRetries is how often a step goes back to the queue to wait for its provider.
	maxRetries = 3
	// maxWait is the longest that a person is left waiting for a provider.
	maxWait = 10 * time.Minute
)

// onFailure decides on a model call that failed: wait and try again, come back later, or end the turn with words for people. An error that
// it returns is for the handler: the lease is lost, or the handler's time is over.
func (r *run) onFailure(ctx context.Context, err error) (next, error) {
	if ctx.Err() != nil {
		return goOn, context.Cause(ctx)
	}
	if errs.KindOf(err) == errs.KindFenced {
		return goOn, err
	}
	var f *model.Fault
	if !errors.As(err, &f) {
		return r.hapless(ctx, err)
	}
	r.log.WarnContext(ctx, "model fault", "kind", f.Kind, "retry_after", f.RetryAfter, "detail", f.Detail)
	switch f.Kind {
	case model.FaultBlocked:
		return r.conclude(ctx, answer{text: r.texts().Blocked()})
	case model.FaultMalformedCall, model.FaultEmpty:
		if r.failures >= maxMalformed {
			return turnOver, r.fail(ctx, locale.ReasonMalformed)
		}
		return r.again(ctx, 0, locale.ReasonMalformed)
	case model.FaultRateLimited:
		return r.again(ctx, max(f.RetryAfter, r.grow(5*time.Second)), locale.ReasonRateLimited)
	case model.FaultOverloaded:
		return r.again(ctx, max(f.RetryAfter, r.grow(2*time.Second)), locale.ReasonOverloaded)
	case model.FaultContext:
		return turnOver, r.fail(ctx, locale.ReasonContext)
	case model.FaultCredentials:
		return turnOver, r.fail(ctx, locale.ReasonCredentials)
	case model.FaultRequest, model.FaultUnsupported:
		return turnOver, r.fail(ctx, locale.ReasonRequest)
	default:
		return turnOver, r.fail(ctx, locale.ReasonRequest)
	}
}

// hapless decides on a failure that is not the provider's: the network's, the staging area's, or our own.
func (r *run) hapless(ctx context.Context, err error) (next, error) {
	r.log.ErrorContext(ctx, "model call failed", "error", err)
	if errs.KindOf(err) == errs.KindPermanent {
		return turnOver, r.fail(ctx, locale.ReasonRequest)
	}
	return r.again(ctx, r.grow(time.Second), locale.ReasonOverloaded)
}

// grow doubles a wait with each failure.
func (r *run) grow(first time.Duration) time.Duration { return first << min(r.failures, 5) }

// again tries the step once more after a wait: in this invocation while it has time, else in a later one, and at last not at all.
func (r *run) again(ctx context.Context, after time.Duration, why locale.Reason) (next, error) {
	r.failures++
	left := r.cfg.Checkpoint - r.Clock.Now().Sub(r.started)
	here := r.failures <= maxFailures && after <= left
	switch {
	case after > maxWait, !here && r.s.Turn.Retries >= maxRetries:
		return turnOver, r.fail(ctx, why)
	case !here:
		return letGo, r.pause(ctx, r.Clock.Now().Add(max(after, time.Second)), true)
	default:
		return goOn, r.wait(ctx, after)
	}
}
