package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/genai"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/model/internal/geminiapi"
)

// fail says what went wrong: the context's end before all else, then the provider's own error as a fault, then the network's.
func (d *Driver) fail(ctx context.Context, what, name string, header *http.Header, err error) error {
	var api genai.APIError
	var fault *model.Fault
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s with %s: %w", what, name, ctx.Err())
	case errors.As(err, &fault):
		return fault
	case errors.As(err, &api):
		status := geminiapi.Status{Code: api.Code, Status: api.Status, Message: api.Message, Details: api.Details}
		if api.Details == nil {
			status = withBody(status)
		}
		return status.Fault(*header, d.secret, geminiapi.Scrub(err, d.secret))
	default:
		return fmt.Errorf("%s with %s: %w", what, name, err)
	}
}

// withBody looks again at a message in which the SDK has kept a body that it could not read, such as an error within an array.
func withBody(s geminiapi.Status) geminiapi.Status {
	if !strings.HasPrefix(strings.TrimSpace(s.Message), "[") {
		return s
	}
	return geminiapi.ParseStatus(s.Code, []byte(s.Message))
}

// headerKey is where a context keeps the place for a refusal's headers.
type headerKey struct{}

// awaitHeader makes a place for the headers of a refused request, which the SDK's error does not keep; Retry-After is among them.
func awaitHeader(ctx context.Context) (context.Context, *http.Header) {
	place := new(http.Header)
	return context.WithValue(ctx, headerKey{}, place), place
}

// headerKeeper is the transport that fills such a place.
type headerKeeper struct{ next http.RoundTripper }

func (k headerKeeper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(r)
	if place, ok := r.Context().Value(headerKey{}).(*http.Header); ok && err == nil && resp.StatusCode >= http.StatusBadRequest {
		*place = resp.Header
	}
	return resp, err
}

// keepHeaders returns a copy of client, or a new client, with a headerKeeper in it.
func keepHeaders(client *http.Client) *http.Client {
	kept := &http.Client{}
	if client != nil {
		*kept = *client
	}
	next := kept.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	kept.Transport = headerKeeper{next: next}
	return kept
}
