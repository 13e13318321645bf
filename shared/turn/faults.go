package turn

import (
	"context"
	"time"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/turn/inference"
)

const (
	// maxFailures is how often one step is tried in one invocation.
	maxFailures = 4
	// maxRetries is how often a step goes back to the queue to wait for its provider.
	maxRetries = 3
	// maxWait is the longest that a person is left waiting for a provider.
	maxWait = 10 * time.Minute
)

// onFailure goes on after a model call that failed: wait and try again, come back later, or end the turn with words for people. An error
// that it returns is for the handler: the lease is lost, or the handler's time is over.
func (r *run) onFailure(ctx context.Context, err error) (next, error) {
	if ctx.Err() != nil {
		return goOn, context.Cause(ctx)
	}
	if errs.KindOf(err) == errs.KindFenced {
		return goOn, err
	}
	before := r.failures.Of(err)
	r.failures = r.failures.With(err)
	remedy := inference.RemedyFor(err, before)
	r.log.WarnContext(ctx, "model call failed", "error", err, "remedy", remedy.Do, "after", remedy.After)
	switch remedy.Do {
	case inference.Refuse:
		return r.conclude(ctx, inference.Answer{Text: r.texts().Blocked()})
	case inference.Again:
		return r.again(ctx, remedy)
	case inference.Fail:
		return turnOver, r.fail(ctx, remedy.Reason)
	default:
		return goOn, err
	}
}

// again tries the step once more after a wait: in this invocation while it has time, else in a later one, and at last not at all.
func (r *run) again(ctx context.Context, remedy inference.Remedy) (next, error) {
	left := r.cfg.Checkpoint - r.Clock.Now().Sub(r.started)
	here := r.failures.All() <= maxFailures && remedy.After <= left
	switch {
	case remedy.After > maxWait, !here && r.s.Turn.Retries >= maxRetries:
		return turnOver, r.fail(ctx, remedy.Reason)
	case !here:
		return letGo, r.pause(ctx, r.Clock.Now().Add(max(remedy.After, time.Second)), true)
	default:
		return goOn, r.wait(ctx, remedy.After)
	}
}
