package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/turn"
)

// A turn is one span with its session, its tokens and how it ended; below it is one span for each call of the model, failed ones too. Nothing
// that anybody wrote is on them.
func TestSpans(t *testing.T) {
	t.Parallel()
	const secret = "canary"
	for name, tt := range map[string]struct {
		scenes  []scene
		outcome string
		failed  string   // of the turn
		chats   []string // error type of each
	}{
		"tools":   {[]scene{wants("a"), says("Done " + secret)}, "finished", "", []string{"", ""}},
		"retry":   {[]scene{fails(&model.Fault{Kind: model.FaultOverloaded, Detail: secret}), says("Done")}, "finished", "", []string{"overloaded", ""}},
		"refused": {[]scene{fails(&model.Fault{Kind: model.FaultContext, Detail: secret})}, "failed", "context", []string{"context"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, turn.Config{}, tt.scenes...)
			w.ask(t, secret, session.WhenNext)
			kept := tracetest.NewInMemoryExporter()
			tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)).Tracer("test")
			ctx, end := telemetry.Start(telemetry.WithTracer(t.Context(), tracer), "process turns")
			if err := w.run(ctx); err != nil {
				t.Fatal(err)
			}
			end(nil)
			var agent tracetest.SpanStub
			var chats []tracetest.SpanStub
			for _, s := range kept.GetSpans() {
				switch {
				case s.Name == "invoke_agent kesoku":
					agent = s
				case strings.HasPrefix(s.Name, "chat "):
					chats = append(chats, s)
				case s.Name == "process turns" && of(s)[telemetry.KeyVerdict] != "claimed":
					t.Errorf("verdict %v", of(s))
				}
			}
			a := of(agent)
			if a[telemetry.KeySession] != id || a[telemetry.KeyTurn] != "1" || a[telemetry.KeyOutcome] != tt.outcome || a[telemetry.KeyErrorType] != tt.failed ||
				(agent.Status.Code == codes.Error) != (tt.failed != "") || a[telemetry.KeyModel] == "" {
				t.Errorf("agent %v, status %v", a, agent.Status)
			}
			if len(chats) != len(tt.chats) {
				t.Fatalf("%d calls of the model, want %d", len(chats), len(tt.chats))
			}
			for i, s := range chats {
				c := of(s)
				if s.Parent.SpanID() != agent.SpanContext.SpanID() || c[telemetry.KeyErrorType] != tt.chats[i] || c[telemetry.KeySession] != id {
					t.Errorf("call %d: %v, want %q", i+1, c, tt.chats[i])
				}
			}
			if name == "tools" && (a[telemetry.KeyInputTokens] == "0" || of(chats[0])[telemetry.KeyInputTokens] == "0" || of(chats[1])[telemetry.KeyAttempt] != "1") {
				t.Errorf("tokens: %v, %v", a, of(chats[0]))
			}
			if name == "retry" && of(chats[1])[telemetry.KeyAttempt] != "2" {
				t.Errorf("second attempt: %v", of(chats[1]))
			}
			if all, err := json.Marshal(kept.GetSpans()); err != nil || strings.Contains(string(all), secret) {
				t.Errorf("%v: somebody's words are on the spans: %s", err, all)
			}
		})
	}
}

func of(s tracetest.SpanStub) map[attribute.Key]string {
	out := map[attribute.Key]string{}
	for _, kv := range s.Attributes {
		out[kv.Key] = kv.Value.String()
	}
	return out
}
