package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/telemetry"
)

// One start tells everything that is wrong with the environment, and never a value that may be a secret.
func TestVars(t *testing.T) {
	t.Parallel()
	v := VarsOf(map[string]string{
		"NAME": "x", "EMPTY": "", "URL": "https://a.example/b", "LOCAL": "http://127.0.0.1:80/", "FILE": "file:///etc", "BARE": "a.example/s3cret",
		"SPACE": "https://a b/", "SOON": "90s", "BAD": "soon", "ZERO": "0s", "PAST": "-1s", "UNITLESS": "90",
		"QUARTER": "0.25", "MUCH": "1.5", "NAN": "NaN", "WORD": "half",
	})
	for got, want := range map[any]any{
		v.Required("NAME"): "x", v.Optional("NAME", "y"): "x", v.Optional("EMPTY", "y"): "y", v.Optional("ABSENT", "z"): "z",
		v.URL("URL", ""): "https://a.example/b", v.URL("LOCAL", ""): "http://127.0.0.1:80/", v.URL("ABSENT", ""): "",
		v.Duration("SOON", time.Second): 90 * time.Second, v.Duration("ABSENT", 3*time.Second): 3 * time.Second,
		v.Fraction("QUARTER", 1): 0.25, v.Fraction("ABSENT", 0.5): 0.5,
	} {
		if got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if err := v.Err(); err != nil {
		t.Fatalf("nothing is wrong yet: %v", err)
	}
	v.Required("EMPTY")
	v.Required("ABSENT")
	for _, name := range []string{"FILE", "BARE", "SPACE"} {
		v.URL(name, "")
	}
	for _, name := range []string{"BAD", "ZERO", "PAST", "UNITLESS"} {
		if got := v.Duration(name, 7*time.Second); got != 7*time.Second {
			t.Errorf("%s is %s, want the default", name, got)
		}
	}
	for _, name := range []string{"MUCH", "NAN", "WORD"} {
		if got := v.Fraction(name, 0.7); got != 0.7 {
			t.Errorf("%s is %v, want the default", name, got)
		}
	}
	err := v.Err()
	for _, name := range []string{"MUCH", "NAN", "WORD", "EMPTY", "ABSENT", "FILE", "BARE", "SPACE", "BAD", "ZERO", "PAST", "UNITLESS"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	if err != nil && strings.Contains(err.Error(), "s3cret") {
		t.Errorf("%v shows what may be a secret", err)
	}
}

// Cloud Logging reads severity and message; a group's own fields of those names are left alone.
func TestLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := NewLog(&out, "turn", "p")
	log.Info("one", "error", errors.New("e1"))
	log.Warn("two\nlines")
	log.Error("three", slog.Group("g", "level", "x", "msg", "y"))
	var got []map[string]any
	for line := range strings.Lines(out.String()) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%q is not one JSON object a line: %v", line, err)
		}
		got = append(got, record)
	}
	if len(got) != 3 {
		t.Fatalf("%d records: %v", len(got), got)
	}
	for i, want := range []struct{ severity, message string }{{"INFO", "one"}, {"WARNING", "two\nlines"}, {"ERROR", "three"}} {
		r := got[i]
		if r["severity"] != want.severity || r["message"] != want.message || r["function"] != "turn" || r["level"] != nil || r["msg"] != nil || r["time"] == nil {
			t.Errorf("record %v, want %+v", r, want)
		}
	}
	if g, ok := got[2]["g"].(map[string]any); !ok || g["level"] != "x" || g["msg"] != "y" || got[0]["error"] != "e1" {
		t.Errorf("fields of their own: %v", got)
	}
}

// An entry names the trace as Cloud Logging finds it, and the session, once.
func TestLogOfContext(t *testing.T) {
	t.Parallel()
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	ctx := telemetry.WithSession(trace.ContextWithSpanContext(t.Context(), span), "s1")
	for name, tt := range map[string]struct {
		project string
		ctx     context.Context
		log     func(context.Context, *slog.Logger)
		want    map[string]any // nil means that it must not be there
	}{
		"all": {"p", ctx, func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "x") }, map[string]any{
			"logging.googleapis.com/trace": "projects/p/traces/01000000000000000000000000000000", "logging.googleapis.com/spanId": "0200000000000000",
			"logging.googleapis.com/trace_sampled": true, "session": "s1", "function": "turn",
		}},
		"no context":     {"p", t.Context(), func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "x") }, map[string]any{"logging.googleapis.com/trace": nil, "session": nil}},
		"no project":     {"", ctx, func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "x") }, map[string]any{"logging.googleapis.com/trace": nil, "session": "s1"}},
		"entry's own":    {"p", ctx, func(ctx context.Context, l *slog.Logger) { l.InfoContext(ctx, "x", "session", "s2") }, map[string]any{"session": "s2"}},
		"logger's own":   {"p", ctx, func(ctx context.Context, l *slog.Logger) { l.With("session", "s3").InfoContext(ctx, "x") }, map[string]any{"session": "s3"}},
		"behind a group": {"p", ctx, func(ctx context.Context, l *slog.Logger) { l.WithGroup("g").InfoContext(ctx, "x") }, map[string]any{"function": "turn"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			tt.log(tt.ctx, NewLog(&out, "turn", tt.project))
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil || strings.Count(out.String(), `"session":`) > 1 {
				t.Fatalf("%v: %s", err, &out)
			}
			for key, want := range tt.want {
				if got[key] != want {
					t.Errorf("%s is %v, want %v", key, got[key], want)
				}
			}
		})
	}
}
