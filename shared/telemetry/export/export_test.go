package export_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/telemetry/export"
)

// receiver takes OTLP and keeps what it got.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*spans.Span
	resource map[string]string
	headers  http.Header
	calls    int
	answer   func(w http.ResponseWriter, r *http.Request) bool // false lets the request be taken
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.calls, r.headers = r.calls+1, req.Header
	answer := r.answer
	r.mu.Unlock()
	if answer != nil && answer(w, req) {
		return
	}
	var in collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resource = map[string]string{}
	for _, rs := range in.GetResourceSpans() {
		for _, kv := range rs.GetResource().GetAttributes() {
			r.resource[kv.GetKey()] = kv.GetValue().GetStringValue()
		}
		for _, ss := range rs.GetScopeSpans() {
			r.spans = append(r.spans, ss.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (r *receiver) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, s := range r.spans {
		out = append(out, s.GetName())
	}
	return out
}

func exporter(t *testing.T, c export.Config) *export.Exporter {
	t.Helper()
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Function, c.Project = "turn", "p"
	e, err := export.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// span runs one span of the exporter.
func span(t *testing.T, e *export.Exporter) trace.SpanContext {
	t.Helper()
	ctx, end := telemetry.Start(telemetry.WithTracer(t.Context(), e.Tracer()), "x")
	end(nil)
	return trace.SpanContextFromContext(ctx)
}

// After a flush the spans are there, with their instance; those that libraries make of our context are not.
func TestExport(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	e := exporter(t, export.Config{Endpoint: to.URL + "/v1/traces", Fraction: 1, Version: "turn-00001-abc"})
	ctx, end := telemetry.Start(telemetry.WithTracer(t.Context(), e.Tracer()), "ours", telemetry.KeyOutcome.String(strings.Repeat("x", 1000)))
	_, lib := trace.SpanFromContext(ctx).TracerProvider().Tracer("otelhttp").Start(ctx, "HTTP GET")
	lib.SetAttributes(telemetry.KeyOutcome.String("https://example.com/?key=canary"))
	lib.End()
	end(nil)
	e.Flush(ctx)
	if got := to.names(); len(got) != 1 || got[0] != "ours" {
		t.Fatalf("exported %q", got)
	}
	if v := to.spans[0].GetAttributes()[0].GetValue().GetStringValue(); len(v) != 256 {
		t.Errorf("an attribute of %d bytes", len(v))
	}
	for key, want := range map[string]string{"service.name": "turn", "service.version": "turn-00001-abc", "gcp.project_id": "p"} {
		if to.resource[key] != want {
			t.Errorf("resource %v", to.resource)
		}
	}
	if to.headers.Get("Authorization") != "" {
		t.Error("a stranger was sent a token")
	}
}

// Whoever begins a trace decides; whoever goes on with one follows; a stranger decides nothing.
func TestSampling(t *testing.T) {
	t.Parallel()
	sampled := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	unsampled := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}}
	for name, tt := range map[string]struct {
		fraction float64
		public   http.Header
		wakeUp   map[string]string
		want     bool
	}{
		"all":                          {fraction: 1, want: true},
		"none":                         {fraction: 0},
		"stranger asks for recording":  {fraction: 0, public: sampled},
		"stranger asks for silence":    {fraction: 1, public: unsampled, want: true},
		"publisher records":            {fraction: 0, wakeUp: map[string]string{"traceparent": sampled.Get("traceparent")}, want: true},
		"publisher does not":           {fraction: 1, wakeUp: map[string]string{"traceparent": unsampled.Get("traceparent")}},
		"sweep's trace is recorded":    {fraction: 0, wakeUp: map[string]string{"kesoku-link-traceparent": sampled.Get("traceparent")}},
		"sweep's trace is not, yet we": {fraction: 1, wakeUp: map[string]string{"kesoku-link-traceparent": unsampled.Get("traceparent")}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newReceiver(t)
			e := exporter(t, export.Config{Endpoint: to.URL + "/v1/traces", Fraction: tt.fraction})
			ctx := telemetry.WithTracer(t.Context(), e.Tracer())
			var opts []trace.SpanStartOption
			if tt.public != nil {
				opts = telemetry.Linked(ctx, carrier(tt.public))
			} else {
				ctx, opts = telemetry.Extract(ctx, tt.wakeUp)
			}
			ctx, end := telemetry.StartSpan(ctx, "x", opts...)
			end(nil)
			e.Flush(ctx)
			got := trace.SpanContextFromContext(ctx)
			if got.IsSampled() != tt.want || (len(to.names()) == 1) != tt.want {
				t.Errorf("sampled %v, exported %q; want %v", got.IsSampled(), to.names(), tt.want)
			}
			if _, follows := tt.wakeUp["traceparent"]; !got.IsValid() || (got.TraceID().String() == "0af7651916cd43dd8448eb211c80319c") != follows {
				t.Errorf("trace %s", got.TraceID())
			}
		})
	}
}

type carrier http.Header

func (c carrier) Get(key string) string { return http.Header(c).Get(key) }
func (c carrier) Set(key, v string)     { http.Header(c).Set(key, v) }
func (c carrier) Keys() []string        { return nil }

// Without an endpoint a span has an identity, for the log, and costs nothing.
func TestOff(t *testing.T) {
	t.Parallel()
	e := exporter(t, export.Config{Fraction: 1})
	if got := span(t, e); !got.IsValid() || got.IsSampled() {
		t.Errorf("span %v", got)
	}
	e.Flush(t.Context())
	if _, err := export.New(t.Context(), export.Config{}); err == nil {
		t.Error("an exporter without clock and log")
	}
}

// An endpoint that hangs or fails costs one bounded wait, then none, and a line in the log a minute; once it works again, so does all.
func TestBadEndpoint(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"hangs": func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true },
		"500": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		},
		"503": func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		},
		"403": func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true },
		"nonsense": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = w.Write([]byte("\xff\xff"))
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := newReceiver(t)
			to.answer = answer
			now, log := clock.NewManual(time.Now()), &safe{}
			e := exporter(t, export.Config{Endpoint: to.URL + "/v1/traces", Fraction: 1, Clock: now, Log: slog.New(slog.NewTextHandler(log, nil))})
			flush := func() time.Duration {
				span(t, e)
				begun := time.Now()
				e.Flush(t.Context())
				return time.Since(begun)
			}
			if took := flush(); took > 2*time.Second {
				t.Errorf("the first flush took %s", took)
			}
			for range 50 {
				if took := flush(); took > 200*time.Millisecond {
					t.Fatalf("a flush took %s although the endpoint fails", took)
				}
			}
			for until := time.Now().Add(5 * time.Second); log.lines() == 0 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
			}
			now.Advance(45 * time.Second)
			flush() // it may be tried again, and is not said again
			if n := log.lines(); n != 1 {
				t.Errorf("%d lines in a minute:\n%s", n, log)
			}
			to.mu.Lock()
			to.answer = nil
			to.mu.Unlock()
			// An export that hangs on the side has to end first.
			for until := time.Now().Add(20 * time.Second); len(to.names()) == 0 && time.Now().Before(until); {
				now.Advance(45 * time.Second)
				flush()
			}
			if len(to.names()) == 0 {
				t.Error("nothing comes although the endpoint works again")
			}
		})
	}
}

// More spans than the queue holds are dropped, and nobody waits for room.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	to := newReceiver(t)
	to.answer = func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	e := exporter(t, export.Config{Endpoint: to.URL + "/v1/traces", Fraction: 1})
	begun := time.Now()
	for range 10_000 {
		span(t, e)
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("10,000 spans took %s", took)
	}
}

// Google is told who we are: by a token of the default credentials, and nobody else is.
func TestGoogle(t *testing.T) {
	to := newReceiver(t)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"token-of-the-account","token_type":"Bearer","expires_in":3600}`)
	}))
	defer tokens.Close()
	path := t.TempDir() + "/key.json"
	// The form of `gcloud auth application-default login`, whose user has no project of its own.
	key := `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","quota_project_id":"payer"}`
	if err := os.WriteFile(path, []byte(key), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	base := &redirect{to: to.Listener.Addr().String(), tokens: tokens.Listener.Addr().String()}
	http.DefaultTransport = base // the token's own request; this test is alone
	defer func() { http.DefaultTransport = original }()
	e := exporter(t, export.Config{Endpoint: "https://telemetry.googleapis.com/v1/traces", Fraction: 1, Base: base})
	span(t, e)
	e.Flush(t.Context())
	if len(to.names()) != 1 || to.headers.Get("Authorization") != "Bearer token-of-the-account" || to.headers.Get("X-Goog-User-Project") != "payer" {
		t.Errorf("spans %q, headers %v", to.names(), to.headers)
	}
}

var original = http.DefaultTransport

// redirect brings requests for Google to the test's servers.
type redirect struct{ to, tokens string }

func (r *redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme = "http"
	if strings.HasPrefix(req.URL.Host, "oauth2") {
		req.URL.Host = r.tokens
	} else {
		req.URL.Host = r.to
	}
	return original.RoundTrip(req)
}

// safe is a log that several goroutines write.
type safe struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safe) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safe) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *safe) lines() int { return strings.Count(s.String(), "\n") }
