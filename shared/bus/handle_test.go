package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
)

var published = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

// pushed is the event that the framework makes of a Pub/Sub push with that data.
func pushed(t *testing.T, data string) cloudevents.Event {
	t.Helper()
	return event(t, map[string]any{"message": map[string]any{"data": []byte(data), "publishTime": published.Format(time.RFC3339Nano)}})
}

func event(t *testing.T, body any) cloudevents.Event {
	t.Helper()
	e := cloudevents.NewEvent()
	e.SetID("4711")
	e.SetSource("//pubsub.googleapis.com/projects/p/topics/turns")
	e.SetType("google.cloud.pubsub.topic.v1.messagePublished")
	e.SetTime(published.Add(time.Minute))
	raw, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		raw = string(encoded)
	}
	if err := e.SetData(cloudevents.ApplicationJSON, json.RawMessage(raw)); err != nil {
		t.Fatal(err)
	}
	return e
}

// morgue remembers what was buried.
type morgue struct {
	ids   []string
	data  string
	cause error
	err   error
	ctx   error // of the burial
}

func (m *morgue) Bury(ctx context.Context, eventID, _ string, data []byte, cause error) error {
	m.ids, m.data, m.cause, m.ctx = append(m.ids, eventID), string(data), cause, ctx.Err()
	return m.err
}

// case B40: an error is never acked by accident. case B41: what no retry can help is buried and acked.
func TestHandleDecides(t *testing.T) {
	t.Parallel()
	lost := errors.New("100%d lost") // with a verb, since the framework prints what it gets as a format
	tests := map[string]struct {
		err            error
		burial         error
		nacked, buried bool
		level          string
	}{
		"done":                         {},
		"unmarked":                     {err: lost, nacked: true, level: "WARN"},
		"retryable":                    {err: errs.Retryable(lost, time.Second), nacked: true, level: "WARN"},
		"context over":                 {err: context.DeadlineExceeded, nacked: true, level: "WARN"},
		"lost race":                    {err: fmt.Errorf("x: %w", errs.ErrConflict), nacked: true, level: "WARN"},
		"permanent":                    {err: errs.Permanent(lost), buried: true, level: "ERROR"},
		"permanent, wrapped":           {err: fmt.Errorf("turn: %w", errs.Permanent(lost)), buried: true, level: "ERROR"},
		"permanent, burial fails":      {err: errs.Permanent(lost), burial: errors.New("no store"), buried: true, nacked: true, level: "WARN"},
		"fenced":                       {err: fmt.Errorf("turn: %w", errs.ErrFenced), level: "INFO"},
		"retryable over permanent":     {err: errs.Retryable(errs.Permanent(lost), 0), nacked: true, level: "WARN"},
		"permanent over fenced":        {err: errs.Permanent(errs.ErrFenced), buried: true, level: "ERROR"},
		"joined with a permanent part": {err: errors.Join(errs.Permanent(lost), errors.New("y")), buried: true, level: "ERROR"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			grave := &morgue{err: tt.burial}
			ctx, cancel := context.WithCancel(t.Context())
			handle := bus.Handle(slog.New(slog.NewTextHandler(&log, nil)), grave, func(_ context.Context, w bus.Wake, d bus.Delivery) error {
				if w.Session != "s1" || d.EventID != "4711" || !d.PublishedAt.Equal(published) {
					t.Errorf("handler got %+v, %+v", w, d)
				}
				cancel() // the handler's time is over: a burial must still be possible
				return tt.err
			})
			err := handle(ctx, pushed(t, `{"session":"s1"}`))
			if (err != nil) != tt.nacked {
				t.Errorf("answer %v, want nack = %v", err, tt.nacked)
			}
			if err != nil && strings.Contains(err.Error(), "%") {
				t.Errorf("the framework is told %q, which it prints as a format", err)
			}
			if (len(grave.ids) == 1) != tt.buried || grave.ctx != nil {
				t.Errorf("buried %v (context: %v), want %v", grave.ids, grave.ctx, tt.buried)
			}
			if tt.buried && (!errors.Is(grave.cause, tt.err) || !strings.Contains(grave.data, "publishTime")) {
				t.Errorf("buried %q because of %v", grave.data, grave.cause)
			}
			if tt.level != "" && (!strings.Contains(log.String(), "level="+tt.level) || !strings.Contains(log.String(), "event_id=4711")) {
				t.Errorf("log has no %s record of the event:\n%s", tt.level, &log)
			}
		})
	}
}

// case B41: what cannot be read, belongs to another topic or names nothing that could exist never reaches the handler and never comes again.
func TestHandleRefusesMalformed(t *testing.T) {
	t.Parallel()
	tests := map[string]cloudevents.Event{
		"no JSON object":       event(t, `"x"`),
		"data no base64":       event(t, `{"message":{"data":"%%%"}}`),
		"no message":           event(t, `{}`),
		"no data":              event(t, `{"message":{"publishTime":"2026-05-27T09:00:00Z"}}`),
		"empty data":           pushed(t, ""),
		"data no JSON":         pushed(t, "hello"),
		"data of another form": pushed(t, `["s1"]`),
		"null":                 pushed(t, `null`),
		"empty object":         pushed(t, `{}`),
		"empty name":           pushed(t, `{"session":""}`),
		"name of another path": pushed(t, `{"session":"a/messages/b"}`),
		"name too long":        pushed(t, `{"session":"`+strings.Repeat("a", 129)+`"}`),
		"reserved name":        pushed(t, `{"session":"__s1__"}`),
		"dots":                 pushed(t, `{"session":".."}`),
		"name of another type": pushed(t, `{"session":7}`),
		"unknown field":        pushed(t, `{"session":"s1","route":"r"}`),
		"another topic's":      pushed(t, `{"job":"daily"}`),
		"two values":           pushed(t, `{"session":"s1"}{"session":"s2"}`),
		"a stray brace":        pushed(t, `{"session":"s1"}}`),
		"bad publish time":     event(t, `{"message":{"data":"eyJzZXNzaW9uIjoiczEifQ==","publishTime":"yesterday"}}`),
	}
	for name, e := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grave := &morgue{}
			handle := bus.Handle(slog.New(slog.DiscardHandler), grave, func(_ context.Context, w bus.Wake, _ bus.Delivery) error {
				t.Errorf("the handler was called with %+v", w)
				return nil
			})
			if err := handle(t.Context(), e); err != nil || len(grave.ids) != 1 {
				t.Errorf("answer %v, buried %v; want it buried and acked", err, grave.ids)
			}
		})
	}
}

// A sweep says nothing but "now", so it may come without data; the other wake-ups name something.
func TestHandleAcceptsEveryTopic(t *testing.T) {
	t.Parallel()
	key := strings.Repeat("0f", 32)
	var got any
	grave, log := &morgue{}, slog.New(slog.DiscardHandler)
	sweeps := bus.Handle(log, grave, func(_ context.Context, w bus.Sweep, _ bus.Delivery) error { got = w; return nil })
	for _, tt := range []struct {
		data   string
		handle func(context.Context, cloudevents.Event) error
		want   any
	}{
		{`{"route":"googlechat:spaces/A","event":"` + key + `"}`, bus.Handle(log, grave,
			func(_ context.Context, w bus.Inbound, _ bus.Delivery) error { got = w; return nil }), bus.Inbound{Route: "googlechat:spaces/A", Event: key}},
		{`{"session":"0b6c2f2e-5d0c-4c7e-9d6f-000000000000"}`, bus.Handle(log, grave,
			func(_ context.Context, w bus.Wake, _ bus.Delivery) error { got = w; return nil }), bus.Wake{Session: "0b6c2f2e-5d0c-4c7e-9d6f-000000000000"}},
		{`{"job":"daily"}`, bus.Handle(log, grave,
			func(_ context.Context, w bus.Cron, _ bus.Delivery) error { got = w; return nil }), bus.Cron{Job: "daily"}},
		{`{}`, sweeps, bus.Sweep{}},
		{``, sweeps, bus.Sweep{}},
	} {
		got = nil
		if err := tt.handle(t.Context(), pushed(t, tt.data)); err != nil || got != tt.want {
			t.Errorf("%s: %v, buried for %v, handled as %+v", tt.data, err, grave.cause, got)
		}
	}
}

// The time of publication names a cron firing; without one it is the event's own.
func TestHandleFallsBackToEventTime(t *testing.T) {
	t.Parallel()
	var got time.Time
	handle := bus.Handle(slog.New(slog.DiscardHandler), &morgue{}, func(_ context.Context, _ bus.Wake, d bus.Delivery) error {
		got = d.PublishedAt
		return nil
	})
	if err := handle(t.Context(), event(t, `{"message":{"data":"eyJzZXNzaW9uIjoiczEifQ=="}}`)); err != nil || !got.Equal(published.Add(time.Minute)) {
		t.Errorf("published at %s, %v; want the event's time", got, err)
	}
}

func FuzzHandle(f *testing.F) {
	for _, s := range []string{`{"message":{"data":"eyJzZXNzaW9uIjoiczEifQ=="}}`, `{"message":{"data":"bnVsbA=="}}`, `{`, `[]`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e := cloudevents.NewEvent()
		e.SetID("1")
		e.DataEncoded = body
		grave, called := &morgue{}, false
		handle := bus.Handle(slog.New(slog.DiscardHandler), grave, func(_ context.Context, w bus.Wake, _ bus.Delivery) error {
			called = true
			if w.Session == "" || strings.ContainsAny(w.Session, "/.") {
				t.Errorf("session %q", w.Session)
			}
			return nil
		})
		if err := handle(t.Context(), e); err != nil || called == (len(grave.ids) == 1) {
			t.Errorf("%v, handled %v, buried %v", err, called, grave.ids)
		}
	})
}
