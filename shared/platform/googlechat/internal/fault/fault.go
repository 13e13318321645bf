// Package fault says what a failed call of one of Google's APIs means to us. It knows the SDK's errors and nothing of what was called.
package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/googleapis/gax-go/v2/apierror"
	"google.golang.org/api/googleapi"

	"kesoku.dev/shared/errs"
)

// maxWait bounds the delay that an answer may ask for.
const maxWait = time.Hour

// Of marks an error by what it means. Without an answer, and with one of the server's faults, the call may work another time.
func Of(err error) error {
	var e *googleapi.Error
	if !errors.As(err, &e) {
		return errs.Retryable(err, 0)
	}
	switch {
	case e.Code == http.StatusTooManyRequests, e.Code >= http.StatusInternalServerError:
		return errs.Retryable(err, delay(e))
	case e.Code == http.StatusRequestTimeout, e.Code == http.StatusUnauthorized: // credentials are mended without us
		return errs.Retryable(err, 0)
	case e.Code == http.StatusNotFound:
		return errs.Permanent(fmt.Errorf("%w: %w", errs.ErrNotFound, err))
	default:
		return errs.Permanent(err)
	}
}

// Code is the HTTP status of an answer, or 0 where there was none.
func Code(err error) int {
	var e *googleapi.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Status is the canonical code of an answer, which the client leaves in the body.
func Status(e *googleapi.Error) string {
	var body struct {
		Error struct {
			Status string `json:"status"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(e.Body), &body); err != nil {
		return "" // not a JSON answer: not one of the API's own
	}
	return body.Error.Status
}

// delay is how long to wait: by the header Retry-After, in seconds or as a date beside the answer's own, or by RetryInfo.
func delay(e *googleapi.Error) time.Duration {
	after := e.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(after); err == nil {
		return bounded(time.Duration(seconds) * time.Second)
	}
	until, err := http.ParseTime(after)
	now, errNow := http.ParseTime(e.Header.Get("Date"))
	if err == nil && errNow == nil {
		return bounded(until.Sub(now))
	}
	var api *apierror.APIError
	if errors.As(e, &api) {
		return bounded(api.Details().RetryInfo.GetRetryDelay().AsDuration())
	}
	return 0
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), maxWait) }
