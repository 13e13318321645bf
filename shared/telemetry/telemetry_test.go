package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	genai "go.opentelemetry.io/otel/semconv/v1.41.0"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/telemetry"
)

// record returns a context whose spans are kept, and what reads them.
func record(t *testing.T) (context.Context, func() tracetest.SpanStubs) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	return telemetry.WithTracer(t.Context(), provider.Tracer("test")), kept.GetSpans
}

func attrs(s tracetest.SpanStub) map[attribute.Key]attribute.Value {
	out := map[attribute.Key]attribute.Value{}
	for _, kv := range s.Attributes {
		out[kv.Key] = kv.Value
	}
	return out
}

// Our names are the conventions' names.
func TestConventions(t *testing.T) {
	t.Parallel()
	for ours, theirs := range map[attribute.Key]attribute.Key{
		telemetry.KeyOperation: genai.GenAIOperationNameKey, telemetry.KeyProvider: genai.GenAIProviderNameKey,
		telemetry.KeyModel: genai.GenAIRequestModelKey, telemetry.KeyFinishReasons: genai.GenAIResponseFinishReasonsKey,
		telemetry.KeyInputTokens: genai.GenAIUsageInputTokensKey, telemetry.KeyOutputTokens: genai.GenAIUsageOutputTokensKey,
		telemetry.KeyAgentName: genai.GenAIAgentNameKey, telemetry.KeyToolName: genai.GenAIToolNameKey, telemetry.KeyToolType: genai.GenAIToolTypeKey,
		telemetry.KeyToolCallID: genai.GenAIToolCallIDKey, telemetry.KeySession: genai.GenAIConversationIDKey,
		telemetry.KeyMessagingSystem: semconv.MessagingSystemKey, telemetry.KeyDestination: semconv.MessagingDestinationNameKey,
		telemetry.KeyMessagingType: semconv.MessagingOperationTypeKey, telemetry.KeyMessagingName: semconv.MessagingOperationNameKey,
		telemetry.KeyMessageID: semconv.MessagingMessageIDKey, telemetry.KeyHTTPMethod: semconv.HTTPRequestMethodKey,
		telemetry.KeyHTTPStatus: semconv.HTTPResponseStatusCodeKey, telemetry.KeyTrigger: semconv.FaaSTriggerKey, telemetry.KeyErrorType: semconv.ErrorTypeKey,
	} {
		if ours != theirs {
			t.Errorf("%s is called %s", ours, theirs)
		}
	}
	values := attribute.NewSet(append(telemetry.OfChat("gemini", "m"), telemetry.OfSend("turns")...)...)
	for _, want := range []attribute.KeyValue{genai.GenAIOperationNameChat, genai.GenAIProviderNameGCPGenAI, semconv.MessagingSystemGCPPubSub, semconv.MessagingOperationTypeSend} {
		if got, _ := values.Value(want.Key); got != want.Value {
			t.Errorf("%s is %s, want %s", want.Key, got.AsString(), want.Value.AsString())
		}
	}
	if got := telemetry.OfAgent("claude", "m", 1, 2); got[0] != genai.GenAIOperationNameInvokeAgent || got[2] != genai.GenAIProviderNameAnthropic {
		t.Errorf("agent: %v", got)
	}
	if got := telemetry.OfTool("t", "c"); got[0] != genai.GenAIOperationNameExecuteTool {
		t.Errorf("tool: %v", got)
	}
	if got := telemetry.OfProcess("turns", "1"); got[2] != semconv.MessagingOperationTypeProcess || got[5] != semconv.FaaSTriggerPubSub {
		t.Errorf("process: %v", got)
	}
}

// A span names the session, how it ended, and never the words of an error.
func TestSpan(t *testing.T) {
	t.Parallel()
	const secret = "canary: somebody's words"
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"well":      {nil, ""},
		"unmarked":  {errors.New(secret), "retryable"},
		"permanent": {errs.Permanentf("%s", secret), "permanent"},
		"fenced":    {fmt.Errorf("%s: %w", secret, errs.ErrFenced), "fenced"},
		"timeout":   {fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), "timeout"},
		"canceled":  {fmt.Errorf("%s: %w", secret, context.Canceled), "canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, spans := record(t)
			ctx, endOuter := telemetry.Start(ctx, "outer")
			ctx = telemetry.WithSession(ctx, "s1")
			_ = func() (err error) {
				ctx, end := telemetry.Call(ctx, "inner", telemetry.KeyAttempt.Int(1))
				defer end(&err)
				telemetry.Note(ctx, telemetry.KeyOutcome.String("ok"))
				return tt.err
			}()
			endOuter(nil)
			got := spans()
			inner, outer := got[0], got[1]
			if inner.Parent.SpanID() != outer.SpanContext.SpanID() || inner.SpanKind != trace.SpanKindClient {
				t.Errorf("inner %v of %v, kind %v", inner.Parent.SpanID(), outer.SpanContext.SpanID(), inner.SpanKind)
			}
			a := attrs(inner)
			if a[telemetry.KeySession].AsString() != "s1" || attrs(outer)[telemetry.KeySession].AsString() != "s1" || telemetry.Session(ctx) != "s1" ||
				a[telemetry.KeyAttempt].AsInt64() != 1 || a[telemetry.KeyOutcome].AsString() != "ok" {
				t.Errorf("attributes %v, outer's %v", a, attrs(outer))
			}
			if a[telemetry.KeyErrorType].AsString() != tt.want || (inner.Status.Code == codes.Error) != (tt.want != "") || inner.Status.Description != "" || len(inner.Events) > 0 {
				t.Errorf("status %+v, type %q, events %v; want %q", inner.Status, a[telemetry.KeyErrorType].AsString(), inner.Events, tt.want)
			}
		})
	}
}

// Without a tracer everything works and nothing is recorded; an identity that came is passed on.
func TestNoTracer(t *testing.T) {
	t.Parallel()
	ctx, opts := telemetry.Extract(t.Context(), map[string]string{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	ctx, end := telemetry.StartSpan(ctx, "x", opts...)
	telemetry.Note(ctx, telemetry.KeyAttempt.Int(1))
	telemetry.Fail(ctx, "x")
	end(nil)
	if got := telemetry.Inject(ctx)["traceparent"]; got != "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" {
		t.Errorf("passes on %q", got)
	}
	if got := telemetry.Inject(t.Context()); len(got) > 0 {
		t.Errorf("no trace carries %v", got)
	}
}

// A wake-up goes on with its publisher's trace; one that was sent apart begins its own and points back.
func TestCarry(t *testing.T) {
	t.Parallel()
	ctx, spans := record(t)
	from, end := telemetry.Start(ctx, "from")
	follow := func(name string, carried map[string]string) {
		next, opts := telemetry.Extract(ctx, carried)
		_, end := telemetry.StartSpan(next, name, opts...)
		end(nil)
	}
	follow("child", telemetry.Inject(from))
	follow("apart", telemetry.Inject(telemetry.Apart(from)))
	follow("broken", map[string]string{"traceparent": "00-zz"})
	follow("none", nil)
	end(nil)
	got := map[string]tracetest.SpanStub{}
	for _, s := range spans() {
		got[s.Name] = s
	}
	origin := got["from"].SpanContext
	if c := got["child"]; c.SpanContext.TraceID() != origin.TraceID() || c.Parent.SpanID() != origin.SpanID() || len(c.Links) > 0 {
		t.Errorf("child: %+v", c)
	}
	if a := got["apart"]; a.SpanContext.TraceID() == origin.TraceID() || a.Parent.IsValid() || len(a.Links) != 1 || a.Links[0].SpanContext.SpanID() != origin.SpanID() {
		t.Errorf("apart: %+v", a)
	}
	for _, name := range []string{"broken", "none"} {
		if s := got[name]; s.SpanContext.TraceID() == origin.TraceID() || s.Parent.IsValid() || len(s.Links) > 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A stranger's request begins a trace of ours, whatever it claims.
func TestLinked(t *testing.T) {
	t.Parallel()
	ctx, spans := record(t)
	header := http.Header{}
	header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	header.Set("tracestate", "canary=1")
	_, end := telemetry.StartSpan(ctx, "public", telemetry.Linked(ctx, propagation.HeaderCarrier(header))...)
	end(nil)
	s := spans()[0]
	if s.Parent.IsValid() || len(s.Links) != 1 || s.Links[0].SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" ||
		s.Links[0].SpanContext.TraceID() == s.SpanContext.TraceID() || s.Links[0].SpanContext.TraceState().Len() > 0 || s.SpanContext.TraceState().Len() > 0 {
		t.Errorf("span %+v", s)
	}
}
