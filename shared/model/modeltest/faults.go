package modeltest

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"kesoku.dev/shared/model"
)

// faults is one row per way in which a provider fails. B53, B54, B55, B57.
var faults = []struct {
	scenario string
	want     model.FaultKind
	after    time.Duration
}{
	{"prompt-blocked", model.FaultBlocked, 0},
	{"safety", model.FaultBlocked, 0},
	{"recitation", model.FaultBlocked, 0},
	{"blocklist", model.FaultBlocked, 0},
	{"prohibited", model.FaultBlocked, 0},
	{"spii", model.FaultBlocked, 0},
	{"malformed-call", model.FaultMalformedCall, 0},
	{"nameless-call", model.FaultMalformedCall, 0},
	{"empty", model.FaultEmpty, 0},
	{"empty-text", model.FaultEmpty, 0},
	{"no-candidates", model.FaultEmpty, 0},
	{"other", model.FaultOverloaded, 0},
	{"rate-limited", model.FaultRateLimited, 54 * time.Second},
	{"rate-limited-header", model.FaultRateLimited, 7 * time.Second},
	{"internal", model.FaultOverloaded, 0},
	{"overloaded", model.FaultOverloaded, 0},
	{"gateway", model.FaultOverloaded, 0},
	{"context", model.FaultContext, 0},
	{"bad-key", model.FaultCredentials, 0},
	{"unauthenticated", model.FaultCredentials, 0},
	{"forbidden", model.FaultCredentials, 0},
	{"bad-request", model.FaultRequest, 0},
	{"not-found", model.FaultRequest, 0},
}

func testFaults(t *testing.T, h Harness) {
	for _, row := range faults {
		t.Run(row.scenario, func(t *testing.T) {
			t.Parallel()
			s := h.start(t, row.scenario)
			g := s.generate(t.Context(), h.ask())
			f := g.fault()
			if f == nil || f.Kind != row.want || f.RetryAfter != row.after {
				t.Fatalf("error = %v, want fault %s after %v", g.err, row.want, row.after)
			}
			if f.Detail == "" {
				t.Error("the fault has no detail")
			}
			if n := s.calls(); n != 1 {
				t.Errorf("%d requests went out: a driver retries nothing", n)
			}
		})
	}
}

// testNetwork breaks the connection: that is no answer of the provider's, so it is no fault.
func testNetwork(t *testing.T, h Harness) {
	for _, scenario := range []string{"cut", "broken-json"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			g := h.start(t, scenario).generate(t.Context(), h.ask())
			if g.err == nil || g.fault() != nil {
				t.Errorf("error = %v, want one that is no fault", g.err)
			}
		})
	}
	t.Run("no candidate", func(t *testing.T) { // null where an object should be: any error will do, a panic will not
		t.Parallel()
		g := h.start(t, "null-candidate").generate(t.Context(), h.ask())
		if g.err == nil && g.text() != "Hello" {
			t.Errorf("got %q", g.texts)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		web := httptest.NewServer(nil)
		web.Close()
		s := &server{h: h, t: t, driver: h.New(t, web.URL)}
		if g := s.generate(t.Context(), h.ask()); g.err == nil || g.fault() != nil {
			t.Errorf("error = %v, want one that is no fault", g.err)
		}
	})
	t.Run("cancelled in the middle", func(t *testing.T) { testCancel(t, h) }) // A4
	t.Run("cancelled before", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if g := h.start(t, "text").generate(ctx, h.ask()); !errors.Is(g.err, context.Canceled) || g.fault() != nil {
			t.Errorf("error = %v, want context.Canceled", g.err)
		}
	})
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if g := h.start(t, "hang").generate(ctx, h.ask()); !errors.Is(g.err, context.DeadlineExceeded) || g.fault() != nil {
			t.Errorf("error = %v, want context.DeadlineExceeded", g.err)
		}
	})
	t.Run("left early", func(t *testing.T) {
		t.Parallel()
		s := h.start(t, "hang")
		for range s.driver.Generate(t.Context(), h.ask()) {
			break
		}
		s.wantHangUp()
	})
	t.Run("many at once", func(t *testing.T) {
		t.Parallel()
		s := h.start(t, "text")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if g := s.generate(t.Context(), h.ask()); g.text() != "Hello, wörld 世界!" {
					t.Errorf("got %q, %v", g.texts, g.err)
				}
			})
		}
		all.Wait()
	})
}

func testCancel(t *testing.T, h Harness) {
	t.Parallel()
	s := h.start(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var text string
	var last error
	for delta, err := range s.driver.Generate(ctx, h.ask()) {
		text, last = text+delta.Text, err
		cancel()
	}
	if text != "Hello" || !errors.Is(last, context.Canceled) {
		t.Errorf("got %q, %v; want the first words, then context.Canceled", text, last)
	}
	s.wantHangUp()
}
