package boot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"kesoku.dev/shared/telemetry"
)

// sink takes OTLP, or does not answer.
type sink struct {
	mu    sync.Mutex
	spans []*spans.Span
	hangs bool
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if s.hangs {
		<-r.Context().Done()
		return
	}
	var in collector.ExportTraceServiceRequest
	if err := errors.Join(err, proto.Unmarshal(body, &in)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range in.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			s.spans = append(s.spans, ss.GetSpans()...)
		}
	}
}

// listen makes the environment of a function whose spans go to the sink.
func listen(t *testing.T, s *sink) {
	t.Helper()
	web := httptest.NewServer(s)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	setenv(t, environment)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", web.URL+"/v1/traces")
}

// A webhook's request is a trace of ours, whoever calls with whatever header, and its spans are sent before the instance may be put to sleep.
func TestWebhookTrace(t *testing.T) {
	kept := &sink{}
	listen(t, kept)
	f := HTTP("googlechat", func(context.Context, *Base, *Vars) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, end := telemetry.Start(r.Context(), "inside")
			end(nil)
			w.WriteHeader(http.StatusServiceUnavailable)
		}), nil
	})
	r := httptest.NewRequestWithContext(t.Context(), "EVIL", "/?token=canary", http.NoBody)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	w := httptest.NewRecorder()
	f(w, r)
	if w.Code != http.StatusServiceUnavailable || len(kept.spans) != 2 {
		t.Fatalf("answer %d, %d spans", w.Code, len(kept.spans))
	}
	inside, server := kept.spans[0], kept.spans[1]
	if server.GetName() != "_OTHER googlechat" || server.GetKind() != spans.Span_SPAN_KIND_SERVER || len(server.GetParentSpanId()) > 0 || len(server.GetLinks()) != 1 ||
		!bytes.Equal(inside.GetParentSpanId(), server.GetSpanId()) || server.GetStatus().GetCode() != spans.Status_STATUS_CODE_ERROR {
		t.Errorf("spans %v and %v", inside, server)
	}
}

// An exporter that hangs neither fails a message nor holds it up for longer than its bound; the next ones do not wait at all.
func TestHangingExporter(t *testing.T) {
	listen(t, &sink{hangs: true})
	f := Event("turn", func(context.Context, *Base, *Vars) (func(context.Context, cloudevents.Event) error, error) {
		return func(ctx context.Context, _ cloudevents.Event) error {
			ctx, end := telemetry.Start(ctx, "work")
			defer end(nil)
			if !trace.SpanFromContext(ctx).IsRecording() {
				t.Error("nothing is recorded")
			}
			return nil
		}, nil
	})
	for i := range 20 {
		begun := time.Now()
		if err := f(t.Context(), cloudevents.NewEvent()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); (i == 0 && took > 2*time.Second) || (i > 0 && took > 200*time.Millisecond) {
			t.Errorf("message %d took %s", i+1, took)
		}
	}
}

// Credentials that are not to be had cost the traces and nothing else; a variable that makes no sense is told.
func TestTracingIsOptional(t *testing.T) {
	setenv(t, environment)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/key.json")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://telemetry.googleapis.com/v1/traces")
	i := newInstance("turn", func(context.Context, *Base, *Vars) (int, error) { return 1, nil })
	if _, err := i.get(t.Context()); err != nil {
		t.Errorf("without credentials for traces: %v", err)
	}
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "often")
	i = newInstance("turn", func(context.Context, *Base, *Vars) (int, error) { return 1, nil })
	if _, err := i.get(t.Context()); err == nil {
		t.Error("a fraction that is none")
	}
}
