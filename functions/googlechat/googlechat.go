// Package googlechat is the webhook of the Google Chat app: it verifies who calls, reads the event, stores it, wakes the pipeline and answers,
// in well under a second. It decides nothing. It also takes Workspace events that Pub/Sub pushes.
package googlechat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform/googlechat/token"
	"kesoku.dev/shared/platform/googlechat/webhook"
)

func init() { functions.HTTP("googlechat", boot.HTTP("googlechat", New)) }

const (
	// maxBody is the largest event that is read; Google's have a few kilobytes.
	maxBody = 1 << 20
	// answerIn is when the webhook gives up: Google Chat waits 30 s for an answer, and people notice less.
	answerIn = 10 * time.Second
)

// New wires the function. Its variables: CHAT_PROJECT_NUMBER and CHAT_AUDIENCE (the webhook's own URL), by which tokens are verified;
// CHAT_PUSH_ACCOUNT, the service account of the Workspace Events push subscription; CHAT_APP_USER, the app's user if known (users/123);
// CHAT_CERTS_URL and GOOGLE_CERTS_URL, where the keys are if not at Google.
func New(_ context.Context, b *boot.Base, v *boot.Vars) (http.Handler, error) {
	config := token.Config{
		ProjectNumber: v.Required("CHAT_PROJECT_NUMBER"), Endpoint: v.URL("CHAT_AUDIENCE", v.Required("CHAT_AUDIENCE")),
		PushAccount:  v.Optional("CHAT_PUSH_ACCOUNT", ""),
		ChatCertsURL: v.URL("CHAT_CERTS_URL", ""), GoogleCertsURL: v.URL("GOOGLE_CERTS_URL", ""),
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	verifier, err := token.New(config, b.Clock)
	if err != nil {
		return nil, err
	}
	return &hook{
		verify: verifier.Verify, decoder: webhook.Decoder{AppUser: v.Optional("CHAT_APP_USER", "")},
		events: b.Store, spaces: b.Store, bus: b.Bus, clock: b.Clock, log: b.Log,
	}, nil
}

// events stores what came in.
type events interface {
	PutEvent(ctx context.Context, r chat.Record) error
}

// spaces hear of what becomes of subscriptions.
type spaces interface {
	SubscriptionMoved(ctx context.Context, name string) error
}

// publisher sends wake-ups.
type publisher interface {
	Publish(ctx context.Context, topic bus.Topic, wake any) error
}

type hook struct {
	verify  func(ctx context.Context, authorization string) (token.Caller, error)
	decoder webhook.Decoder
	events  events
	spaces  spaces
	bus     publisher
	clock   clock.Clock
	log     *slog.Logger
}

// ServeHTTP answers 200 once every event of the body is stored and announced, 401 to whoever cannot prove to be Google, 413 and 400 to
// bodies that are too large or unreadable, and 503 when it could not do its work and the sender should try again.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerIn)
	defer cancel()
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "send events by POST", http.StatusMethodNotAllowed)
		return
	}
	status, err := h.receive(ctx, w, r)
	if err != nil {
		h.log.Log(ctx, levelOf(status), "event not taken", "status", status, "error", err)
	}
	if status != http.StatusOK {
		http.Error(w, strings.ToLower(http.StatusText(status)), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	// An empty object is "no answer now" to both forms of app; the real one is posted when it is ready.
	if _, err := io.WriteString(w, "{}"); err != nil {
		h.log.WarnContext(ctx, "answer not written", "error", err)
	}
}

func levelOf(status int) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case status == http.StatusOK:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

// receive returns the status to answer with, and why if an event was not taken.
func (h *hook) receive(ctx context.Context, w http.ResponseWriter, r *http.Request) (int, error) {
	caller, err := h.verify(ctx, r.Header.Get("Authorization"))
	switch {
	case errors.Is(err, token.ErrUnauthenticated):
		return http.StatusUnauthorized, err
	case err != nil:
		return http.StatusServiceUnavailable, err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, fmt.Errorf("body over %d bytes", maxBody)
	case err != nil:
		return http.StatusBadRequest, fmt.Errorf("read body: %w", err)
	}
	if name, ok := webhook.Subscription(caller, body); ok {
		return h.moved(ctx, name)
	}
	all, decodeErr := h.decoder.Decode(caller, body)
	for _, e := range all {
		if err := h.take(ctx, e); err != nil {
			return statusOf(err), errors.Join(err, decodeErr)
		}
	}
	if errors.Is(decodeErr, webhook.ErrMalformed) && len(all) == 0 {
		return http.StatusBadRequest, decodeErr
	}
	return http.StatusOK, decodeErr
}

// moved has the next sweep look at a subscription that something has become of: what, the API says best.
func (h *hook) moved(ctx context.Context, name string) (int, error) {
	if name == "" {
		return http.StatusOK, errors.New("subscription event of a form that is not known")
	}
	h.log.InfoContext(ctx, "subscription event taken", "subscription", name)
	if err := h.spaces.SubscriptionMoved(ctx, name); err != nil {
		return statusOf(err), err
	}
	return http.StatusOK, nil
}

func statusOf(err error) int {
	if errs.KindOf(err) == errs.KindPermanent {
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}

// take stores one event and wakes the pipeline. A duplicate is announced too: whoever stored it may have died before that.
func (h *hook) take(ctx context.Context, e chat.Event) error {
	now := h.clock.Now()
	if e.At.IsZero() {
		e.At = now // some events come without a time
	}
	r := chat.NewRecord(e, now)
	err := h.events.PutEvent(ctx, r)
	duplicate := errors.Is(err, errs.ErrExists)
	if err != nil && !duplicate {
		return err
	}
	h.log.InfoContext(ctx, "event taken", "event", r.Key, "kind", e.Kind, "route", r.RouteID, "duplicate", duplicate)
	return h.bus.Publish(ctx, bus.TopicInbound, bus.Inbound{Route: r.RouteID, Event: r.Key})
}
