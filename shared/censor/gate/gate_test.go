package gate_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/telemetry"
)

// P11: each hit is a span censor:<action>; the log has what is flagged and blocked, and neither has anybody's words.
func TestHitsAreTraced(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g, err := gate.New(slog.New(slog.NewJSONHandler(&log, nil)), censor.Matcher{
		Name: "numbers", Match: func(_ context.Context, _ censor.Direction, text string) ([]censor.Finding, error) {
			if i := strings.Index(text, "42"); i >= 0 {
				return []censor.Finding{{Action: censor.ActionFlag, Span: censor.Span{Start: i, End: i + 2}}}, nil
			}
			return nil, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	spans := tracetest.NewInMemoryExporter()
	ctx := telemetry.WithTracer(t.Context(), sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test"))
	rules := config.Censor{
		BlockWords: []string{"绝密"}, FlagWords: []string{"careful"}, ReplaceRules: []config.Replace{{Pattern: "secret", Replacement: "***"}},
	}
	res, err := g.Check(ctx, rules, censor.Outbound, "Careful: Secret 42")
	if err != nil || res.Text != "Careful: *** 42" || res.Blocked {
		t.Errorf("%+v, %v", res, err)
	}
	if res, err := g.Check(ctx, rules, censor.Inbound, "绝 密 绝密"); err != nil || !res.Blocked || res.Text != "" {
		t.Errorf("%+v, %v", res, err)
	}
	var got []string
	for _, s := range spans.GetSpans() {
		line := s.Name
		for _, a := range s.Attributes {
			line += " " + a.Value.AsString()
		}
		got = append(got, line)
	}
	want := []string{
		"censor:flag flagWords[0] outbound", "censor:replace replaceRules[0] outbound", "censor:flag numbers outbound", "censor:block blockWords[0] inbound",
	}
	if !slices.Equal(got, want) {
		t.Errorf("spans %q, want %q", got, want)
	}
	if n := strings.Count(log.String(), `"level":"WARN"`); n != 3 || strings.Contains(strings.ToLower(log.String()), "secret") || strings.Contains(log.String(), "绝密") {
		t.Errorf("logged %s", log.String())
	}
}

// P11: a word that only another reading of a text has counts as in the text itself, and once; patterns are for the text alone.
func TestReadings(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g, err := gate.New(slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	rules := config.Censor{
		BlockWords: []string{"secret"}, FlagWords: []string{"careful"}, ReplaceRules: []config.Replace{{Pattern: "x", Replacement: "y"}},
	}
	if res, err := g.Check(t.Context(), rules, censor.Outbound, "sec`ret` x", "secret x"); err != nil || !res.Blocked || res.Text != "" {
		t.Errorf("%+v, %v", res, err)
	}
	log.Reset()
	res, err := g.Check(t.Context(), rules, censor.Outbound, "careful `x`", "careful x xx", "careful")
	if err != nil || res.Blocked || res.Text != "careful `y`" || len(res.Hits) != 2 || strings.Count(log.String(), `"level":"WARN"`) != 1 {
		t.Errorf("%+v, %v, logged %s", res, err, log.String())
	}
}

// P11: a route's rules are its own, and rules that change hold from the next text on.
func TestRulesByRoute(t *testing.T) {
	t.Parallel()
	g, err := gate.New(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		word := strings.Repeat("a", 1+i%100) + "b"
		one, err1 := g.Check(t.Context(), config.Censor{BlockWords: []string{word}}, censor.Inbound, "x"+word)
		other, err2 := g.Check(t.Context(), config.Censor{FlagWords: []string{word}}, censor.Inbound, "x"+word)
		none, err3 := g.Check(t.Context(), config.Censor{}, censor.Inbound, "x"+word)
		if err := errors.Join(err1, err2, err3); err != nil || !one.Blocked || other.Blocked || len(other.Hits) != 1 || len(none.Hits) != 0 {
			t.Fatalf("%+v, %+v, %+v, %v", one, other, none, err)
		}
	}
}

// Rules that cannot be compiled are no verdict.
func TestNoVerdict(t *testing.T) {
	t.Parallel()
	g, err := gate.New(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := g.Check(t.Context(), config.Censor{ReplaceRules: []config.Replace{{Pattern: "("}}}, censor.Inbound, "x"); err == nil || res.Text != "" {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := gate.New(nil); err == nil {
		t.Error("made without a log")
	}
	if _, err := gate.New(slog.New(slog.DiscardHandler), censor.Matcher{}); err == nil {
		t.Error("made with a matcher that is none")
	}
}
