package telemetry_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"kesoku.dev/emulators/telemetry"
)

func text(key, value string) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(key string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}

// span is one of the trace, begun so many milliseconds after the epoch.
func span(trace, id byte, name string, at uint64, attrs ...*common.KeyValue) *spans.Span {
	return &spans.Span{
		TraceId: bytes.Repeat([]byte{trace}, 16), SpanId: bytes.Repeat([]byte{id}, 8), Name: name, Kind: spans.Span_SPAN_KIND_CLIENT,
		StartTimeUnixNano: at * 1e6, EndTimeUnixNano: at*1e6 + 5e6, Attributes: attrs,
	}
}

func post(t *testing.T, s *telemetry.Server, service string, list ...*spans.Span) {
	t.Helper()
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*spans.ResourceSpans{{
		Resource:   &resource.Resource{Attributes: []*common.KeyValue{text("service.name", service)}},
		ScopeSpans: []*spans.ScopeSpans{{Spans: list}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if code := send(t, s, http.MethodPost, "/v1/traces", "application/x-protobuf", body, ""); code != http.StatusOK {
		t.Fatalf("answer %d", code)
	}
}

func send(t *testing.T, s *telemetry.Server, method, path, kind string, body []byte, encoding string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code
}

// What comes in several requests and out of order is one trace, found by the attributes of one of its spans.
func TestFind(t *testing.T) {
	t.Parallel()
	s := telemetry.New()
	heard := s.Heard()
	failed := span(1, 3, "last", 30, text("s", "a"), number("n", 1))
	failed.Status = &spans.Status{Code: spans.Status_STATUS_CODE_ERROR, Message: "why"}
	failed.ParentSpanId = bytes.Repeat([]byte{2}, 8)
	failed.Links = []*spans.Span_Link{{TraceId: bytes.Repeat([]byte{9}, 16), SpanId: bytes.Repeat([]byte{8}, 8)}}
	failed.Events = []*spans.Span_Event{{Name: "event"}}
	post(t, s, "two", failed)
	post(t, s, "one", span(1, 2, "first", 10), span(2, 2, "other", 20, text("s", "a"), number("n", 2)))
	select {
	case <-heard:
	default:
		t.Error("nothing was heard")
	}
	found := s.Find(map[string]any{"s": "a", "n": int64(1)})
	if len(found) != 1 || len(found[0]) != 2 || found[0][0].Name != "first" || found[0][0].Service != "one" {
		t.Fatalf("found %+v", found)
	}
	got := found[0][1]
	if got.Service != "two" || got.Kind != "client" || !got.Failed || got.Message != "why" || got.Parent != found[0][0].ID || got.End.Sub(got.Start) != 5*time.Millisecond ||
		got.Links[strings.Repeat("09", 16)] != strings.Repeat("08", 8) || len(got.Events) != 1 {
		t.Errorf("span %+v", got)
	}
	if all := s.Find(map[string]any{"s": "a"}); len(all) != 2 {
		t.Errorf("%d traces", len(all))
	}
	if none := s.Find(map[string]any{"s": "b"}); len(none) != 0 {
		t.Errorf("found %v", none)
	}
}

// Memory is bounded: the oldest traces go, and a trace has an end.
func TestBounds(t *testing.T) {
	t.Parallel()
	s := telemetry.New()
	var many []*spans.Span
	for i := range 1200 {
		many = append(many, span(1, byte(i), fmt.Sprint(i), 1, text("k", "first")))
	}
	post(t, s, "x", many...)
	if got := len(s.Find(map[string]any{"k": "first"})[0]); got != 1000 {
		t.Errorf("a trace of %d spans", got)
	}
	for i := range 600 {
		one := span(1, 1, "x", 1, number("i", int64(i)))
		one.TraceId = fmt.Appendf(nil, "%016d", i)
		post(t, s, "x", one)
	}
	if len(s.Find(map[string]any{"k": "first"})) != 0 || len(s.Find(map[string]any{"i": int64(99)})) != 0 || len(s.Find(map[string]any{"i": int64(100)})) != 1 {
		t.Error("what is kept are not the newest 500 traces")
	}
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	s := telemetry.New()
	for name, tt := range map[string]struct {
		method, path, kind string
		body               []byte
		encoding           string
		want               int
	}{
		"nothing":        {"POST", "/v1/traces", "application/x-protobuf", nil, "", 200},
		"get":            {"GET", "/v1/traces", "application/x-protobuf", nil, "", 404},
		"another signal": {"POST", "/v1/metrics", "application/x-protobuf", nil, "", 404},
		"json":           {"POST", "/v1/traces", "application/json", []byte("{}"), "", 415},
		"gzip":           {"POST", "/v1/traces", "application/x-protobuf", nil, "gzip", 415},
		"nonsense":       {"POST", "/v1/traces", "application/x-protobuf", []byte("\xff\xff"), "", 400},
		"large":          {"POST", "/v1/traces", "application/x-protobuf", make([]byte, 5<<20), "", 413},
	} {
		if got := send(t, s, tt.method, tt.path, tt.kind, tt.body, tt.encoding); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}
