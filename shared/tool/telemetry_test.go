package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/tool"
)

// Each run is a span that says which tool and how it ended, and nothing of what went in or came out, be it the name that a model made up.
func TestSpans(t *testing.T) {
	t.Parallel()
	const secret = "canary"
	synctest.Test(t, func(t *testing.T) {
		runner := newRunner(t, tool.RunnerConfig{Timeout: time.Second},
			says("good", secret),
			fn{name: "bad", run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) {
				return tool.Output{}, errors.New(secret)
			}},
			fn{name: "mad", run: func(context.Context, tool.Scope, json.RawMessage) (tool.Output, error) { panic(secret) }},
			fn{name: "slow", run: func(ctx context.Context, _ tool.Scope, _ json.RawMessage) (tool.Output, error) {
				<-ctx.Done()
				return tool.Output{}, ctx.Err()
			}},
			fn{name: "strict", schema: `{"type":"object","required":["x"]}`},
		)
		kept := tracetest.NewInMemoryExporter()
		ctx := telemetry.WithTracer(t.Context(), sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("test"))
		ctx, end := telemetry.Start(telemetry.WithSession(ctx, "s1"), "invoke_agent kesoku")
		want := map[string]string{"good": "", "bad": "tool_error", "mad": "panic", "slow": "timeout", "strict": "invalid_arguments", "_OTHER": "unknown_tool"}
		var calls []message.Call
		for name := range want {
			c := call("id-"+name, name, `{"text":"`+secret+`"}`)
			if name == "_OTHER" {
				c.Name = secret
			}
			calls = append(calls, c)
		}
		runner.Run(ctx, tool.Scope{}, calls)
		end(nil)
		spans := kept.GetSpans()
		parent := spans[len(spans)-1]
		if len(spans) != len(want)+1 {
			t.Fatalf("%d spans", len(spans))
		}
		for _, s := range spans[:len(want)] {
			a := map[attribute.Key]string{}
			for _, kv := range s.Attributes {
				a[kv.Key] = kv.Value.String()
			}
			name := strings.TrimPrefix(s.Name, "execute_tool ")
			failed, ok := want[name]
			if !ok || a[telemetry.KeyToolName] != name || a[telemetry.KeyToolCallID] != "id-"+name || a[telemetry.KeyErrorType] != failed ||
				(s.Status.Code == codes.Error) != (failed != "") || s.Parent.SpanID() != parent.SpanContext.SpanID() || a[telemetry.KeySession] != "s1" {
				t.Errorf("%s: %v, status %v; want %q", s.Name, a, s.Status, failed)
			}
		}
		if all, err := json.Marshal(spans); err != nil || strings.Contains(string(all), secret) {
			t.Errorf("%v: somebody's words are on the spans: %s", err, all)
		}
	})
}
