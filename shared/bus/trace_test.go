package bus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/testenv"
)

// recorded returns a context whose spans are kept, and what reads them by name.
func recorded(t *testing.T) (context.Context, func() map[string]tracetest.SpanStub) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("test")
	return telemetry.WithTracer(t.Context(), tracer), func() map[string]tracetest.SpanStub {
		out := map[string]tracetest.SpanStub{}
		for _, s := range kept.GetSpans() {
			out[s.Name] = s
		}
		return out
	}
}

func attributesOf(s tracetest.SpanStub) map[attribute.Key]string {
	out := map[attribute.Key]string{}
	for _, kv := range s.Attributes {
		out[kv.Key] = kv.Value.String()
	}
	return out
}

// Through the real Pub/Sub: what handles a wake-up goes on with its publisher's trace, and what a sweep sent begins its own.
func TestTraceThroughPubSub(t *testing.T) {
	t.Parallel()
	for name, apart := range map[string]bool{"goes on": false, "apart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			env.Topic(string(bus.TopicTurns))
			sub := env.Subscription(string(bus.TopicTurns), "turns-pull")
			ctx, spans := recorded(t)
			from, end := telemetry.Start(ctx, "from")
			if apart {
				from = telemetry.Apart(from)
			}
			if err := publisher(t, env.PubSub).Publish(from, bus.TopicTurns, bus.Wake{Session: "s1"}); err != nil {
				t.Fatal(err)
			}
			end(nil)
			receive, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			var inside trace.SpanContext
			handle := bus.Handle(slog.New(slog.DiscardHandler), &morgue{}, func(ctx context.Context, _ bus.Wake, _ bus.Delivery) error {
				inside = trace.SpanContextFromContext(ctx)
				return nil
			})
			err := env.PubSub.Subscriber(sub).Receive(receive, func(_ context.Context, m *pubsub.Message) {
				defer cancel()
				body, err := json.Marshal(map[string]any{"message": map[string]any{"data": m.Data, "attributes": m.Attributes, "publishTime": m.PublishTime}})
				if err != nil {
					t.Error(err)
				}
				if err := handle(ctx, event(t, string(body))); err != nil {
					t.Errorf("handle: %v", err)
				}
				m.Ack()
			})
			if err != nil {
				t.Fatal(err)
			}
			got := spans()
			send, process := got["send turns"], got["process turns"]
			if send.Parent.SpanID() != got["from"].SpanContext.SpanID() || send.SpanKind != trace.SpanKindProducer || process.SpanKind != trace.SpanKindConsumer {
				t.Errorf("send %+v", send)
			}
			same := process.SpanContext.TraceID() == send.SpanContext.TraceID() && process.Parent.SpanID() == send.SpanContext.SpanID()
			if same == apart || inside.SpanID() != process.SpanContext.SpanID() || (len(process.Links) == 1) != apart {
				t.Errorf("process %+v after send %v", process, send.SpanContext)
			}
			if a := attributesOf(process); a[telemetry.KeyDecision] != "ack" || a[telemetry.KeyDestination] != "turns" || a[telemetry.KeyMessageID] != "4711" {
				t.Errorf("attributes %v", a)
			}
		})
	}
}

// What became of a wake-up stands on its span; why, in the log of the same trace alone.
func TestDecisionOnSpan(t *testing.T) {
	t.Parallel()
	const words = "canary: somebody's words"
	for name, tt := range map[string]struct {
		data     string
		err      error
		decision string
		failed   string
	}{
		"done":        {`{"session":"s1"}`, nil, "ack", ""},
		"retryable":   {`{"session":"s1"}`, errors.New(words), "nack", "retryable"},
		"timeout":     {`{"session":"s1"}`, context.DeadlineExceeded, "nack", "timeout"},
		"permanent":   {`{"session":"s1"}`, errs.Permanentf(words), "bury", "permanent"},
		"fenced":      {`{"session":"s1"}`, errs.ErrFenced, "fenced", ""},
		"undecodable": {`{"` + words + `":1}`, nil, "bury", "permanent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, spans := recorded(t)
			log := &traceLog{}
			handle := bus.Handle(slog.New(log), &morgue{}, func(context.Context, bus.Wake, bus.Delivery) error { return tt.err })
			_ = handle(ctx, pushed(t, tt.data))
			got := spans()["process turns"]
			a := attributesOf(got)
			if a[telemetry.KeyDecision] != tt.decision || a[telemetry.KeyErrorType] != tt.failed || (got.Status.Code == codes.Error) != (tt.failed != "") {
				t.Errorf("attributes %v, status %v", a, got.Status)
			}
			if all, err := json.Marshal(got); err != nil || bytes.Contains(all, []byte("canary")) {
				t.Errorf("%v: somebody's words are on the span: %s", err, all)
			}
			if tt.decision != "ack" && log.seen != got.SpanContext.SpanID() {
				t.Errorf("logged in span %s, want %s", log.seen, got.SpanContext.SpanID())
			}
		})
	}
}

// traceLog remembers the span that was logged in.
type traceLog struct{ seen trace.SpanID }

func (l *traceLog) Enabled(context.Context, slog.Level) bool { return true }
func (l *traceLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *traceLog) WithGroup(string) slog.Handler            { return l }
func (l *traceLog) Handle(ctx context.Context, _ slog.Record) error {
	l.seen = trace.SpanContextFromContext(ctx).SpanID()
	return nil
}
