package googlechat

import (
	"errors"
	"net/http"

	"google.golang.org/api/googleapi"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/platform/googlechat/internal/fault"
)

// createFault is fault.Of for a new message, whose text may be the cause. What Google says of it is only INVALID_ARGUMENT; a text shorter
// than any bound met so far is not refused for its length.
func createFault(err error, textBytes int) error {
	var e *googleapi.Error
	switch {
	case !errors.As(err, &e):
	case e.Code == http.StatusRequestEntityTooLarge,
		e.Code == http.StatusBadRequest && fault.Status(e) == "INVALID_ARGUMENT" && textBytes > maxBytes/2:
		return errs.Permanentf("%w: %w", platform.ErrTooLong, err)
	case e.Code == http.StatusNotFound: // the space, not a message of ours
		return errs.Permanent(err)
	}
	return fault.Of(err)
}
