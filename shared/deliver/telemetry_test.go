package deliver_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/telemetry"
)

// Each write to a platform is a span with the platform, its attempts and how it ended, and nothing of what was written or why it was refused.
func TestSpans(t *testing.T) {
	t.Parallel()
	const secret = "canary"
	w := newWorld(t)
	w.note(t, secret+" one")
	w.note(t, secret+" two")
	w.chat.create = func(n int, _ platform.Post) error {
		switch n {
		case 0:
			return errs.Retryable(errors.New(secret), 0)
		case 2:
			return errs.Permanentf(secret)
		}
		return nil
	}
	kept := tracetest.NewInMemoryExporter()
	ctx, end := telemetry.Start(telemetry.WithTracer(t.Context(), sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("test")), "process deliveries")
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	end(nil)
	spans := kept.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("%d spans, want two writes and the delivery", len(spans))
	}
	delivery := of(spans[2])
	if delivery[telemetry.KeyVerdict] != "claimed" || delivery[telemetry.KeySession] != w.id {
		t.Errorf("delivery %v", delivery)
	}
	for i, want := range []struct{ attempt, failed string }{{"2", ""}, {"1", "permanent"}} {
		s, a := spans[i], of(spans[i])
		if !strings.HasPrefix(s.Name, "create_message ") || a[telemetry.KeyPlatform] == "" || a[telemetry.KeyAttempt] != want.attempt ||
			a[telemetry.KeyErrorType] != want.failed || (s.Status.Code == codes.Error) != (want.failed != "") || s.Parent.SpanID() != spans[2].SpanContext.SpanID() {
			t.Errorf("write %d is %s: %v, status %v", i+1, s.Name, a, s.Status)
		}
	}
	if all, err := json.Marshal(spans); err != nil || strings.Contains(string(all), secret) {
		t.Errorf("%v: somebody's words are on the spans: %s", err, all)
	}
}

func of(s tracetest.SpanStub) map[attribute.Key]string {
	out := map[attribute.Key]string{}
	for _, kv := range s.Attributes {
		out[kv.Key] = kv.Value.String()
	}
	return out
}
