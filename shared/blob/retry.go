package blob

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"cloud.google.com/go/auth"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/googleapi"

	"kesoku.dev/shared/errs"
)

// retry calls until it goes well, fails for good, or ctx ends, with pauses that grow and differ from one caller to the next. Nothing that
// is called here does harm when it is done twice.
func retry(ctx context.Context, call func() error) error {
	var last error
	err := gax.Invoke(ctx, func(context.Context, gax.CallSettings) error {
		last = call()
		return last
	}, gax.WithRetry(func() gax.Retryer {
		return gax.OnErrorFunc(gax.Backoff{Initial: 200 * time.Millisecond, Max: 5 * time.Second, Multiplier: 2}, func(err error) bool {
			return ctx.Err() == nil && transient(err)
		})
	}))
	if err != nil && !errors.Is(last, err) { // the time was up during a pause
		return errors.Join(err, last)
	}
	return err
}

// transient tells what may go well a moment later: the network, and the statuses that the service documents as such; but not a token
// that is refused.
func transient(err error) bool {
	if status := code(err); status != 0 {
		return passing(status)
	}
	var (
		refused *auth.Error
		network *url.Error
	)
	if errors.As(err, &refused) {
		return refused.Temporary()
	}
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errDamaged)
}

// passing tells the statuses that a retry may mend.
func passing(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
}

// code is the HTTP status behind err, or 0.
func code(err error) int {
	var api *googleapi.Error
	if errors.As(err, &api) {
		return api.Code
	}
	return 0
}

// classify marks what no retry mends. All else (the network, 5xx, 429, 408) stays retryable.
func classify(err error) error {
	status := code(err)
	if errors.Is(err, ErrTooLarge) || (status >= http.StatusBadRequest && !passing(status)) {
		return errs.Permanent(err)
	}
	return err
}
