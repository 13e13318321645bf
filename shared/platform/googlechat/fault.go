package googlechat

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
	"kesoku.dev/shared/platform"
)

// maxWait bounds the delay that an answer may ask for.
const maxWait = time.Hour

// createFault is fault for a new message, whose text may be the cause. What Google says of it is only INVALID_ARGUMENT; a text shorter
// than any bound met so far is not refused for its length.
func createFault(err error, textBytes int) error {
	var e *googleapi.Error
	switch {
	case !errors.As(err, &e):
	case e.Code == http.StatusRequestEntityTooLarge,
		e.Code == http.StatusBadRequest && status(e) == "INVALID_ARGUMENT" && textBytes > maxBytes/2:
		return errs.Permanentf("%w: %w", platform.ErrTooLong, err)
	case e.Code == http.StatusNotFound: // the space, not a message of ours
		return errs.Permanent(err)
	}
	return fault(err)
}

// fault says what a failed call means. Without an answer, and with one of the server's faults, the call may work another time.
func fault(err error) error {
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

// status is the canonical code of an answer, which the client leaves in the body.
func status(e *googleapi.Error) string {
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
