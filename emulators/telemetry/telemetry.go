// Package telemetry stands in for Cloud Trace's OTLP endpoint: it takes spans as protobuf over HTTP (https://opentelemetry.io/docs/specs/otlp/)
// and keeps them in memory, within bounds, to be looked at. It knows the public protocol and nothing of who sends.
package telemetry

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Bounds of what is kept: the newest traces, each up to a size.
const (
	maxBody   = 4 << 20 // bytes of one request
	maxTraces = 500
	maxSpans  = 1000 // of one trace
)

// Span is one span of a trace, as it was sent.
type Span struct {
	Trace  string `json:"trace"` // hexadecimal, as are ID, Parent and Links
	ID     string `json:"id"`
	Parent string `json:"parent,omitempty"`
	// Service is the sender's service.name.
	Service string            `json:"service"`
	Name    string            `json:"name"`
	Kind    string            `json:"kind"` // internal, server, client, producer, consumer
	Start   time.Time         `json:"start"`
	End     time.Time         `json:"end"`
	Failed  bool              `json:"failed,omitempty"`
	Message string            `json:"message,omitempty"` // why it failed
	Attrs   map[string]any    `json:"attrs"`
	Events  []string          `json:"events,omitempty"`
	Links   map[string]string `json:"links,omitempty"` // spans by their traces
}

// Server keeps spans. It is an http.Handler for POST /v1/traces.
type Server struct {
	mu     sync.Mutex
	traces map[string][]Span
	order  []string // of the traces, by their first span's arrival
	heard  chan struct{}
}

// New returns an empty server.
func New() *Server { return &Server{traces: map[string][]Span{}, heard: make(chan struct{})} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
		http.Error(w, "send spans by POST /v1/traces", http.StatusNotFound)
		return
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-protobuf" || r.Header.Get("Content-Encoding") != "" {
		http.Error(w, "send application/x-protobuf without an encoding", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	var in collector.ExportTraceServiceRequest
	switch {
	case errors.As(err, &large):
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil, proto.Unmarshal(body, &in) != nil:
		http.Error(w, "not an ExportTraceServiceRequest", http.StatusBadRequest)
		return
	}
	s.keep(&in)
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK) // an empty message: everything was taken
}

func (s *Server) keep(in *collector.ExportTraceServiceRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range in.GetResourceSpans() {
		service, _ := attributes(from.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range from.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.add(read(service, span))
			}
		}
	}
	close(s.heard)
	s.heard = make(chan struct{})
}

func (s *Server) add(one Span) {
	have, ok := s.traces[one.Trace]
	if !ok {
		s.order = append(s.order, one.Trace)
	}
	if len(have) < maxSpans {
		s.traces[one.Trace] = append(have, one)
	}
	if len(s.order) > maxTraces {
		delete(s.traces, s.order[0])
		s.order = slices.Delete(s.order, 0, 1)
	}
}

// Find returns the traces with a span that has all the attributes, the oldest first, each in the order in which its spans began.
func (s *Server) Find(want map[string]any) [][]Span {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out [][]Span
	for _, id := range s.order {
		if slices.ContainsFunc(s.traces[id], func(one Span) bool { return one.has(want) }) {
			trace := slices.Clone(s.traces[id])
			slices.SortStableFunc(trace, func(a, b Span) int { return cmp.Or(a.Start.Compare(b.Start), b.End.Compare(a.End)) })
			out = append(out, trace)
		}
	}
	return out
}

// Heard returns a channel that is closed when more spans have come.
func (s *Server) Heard() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

func (one *Span) has(want map[string]any) bool {
	for key, value := range want {
		if have, ok := one.Attrs[key]; !ok || have != value {
			return false
		}
	}
	return true
}

func read(service string, in *spans.Span) Span {
	out := Span{
		Trace: hex.EncodeToString(in.GetTraceId()), ID: hex.EncodeToString(in.GetSpanId()), Parent: hex.EncodeToString(in.GetParentSpanId()),
		Service: service, Name: in.GetName(), Kind: kinds[in.GetKind()], Start: at(in.GetStartTimeUnixNano()), End: at(in.GetEndTimeUnixNano()),
		Failed: in.GetStatus().GetCode() == spans.Status_STATUS_CODE_ERROR, Message: in.GetStatus().GetMessage(), Attrs: attributes(in.GetAttributes()),
	}
	for _, e := range in.GetEvents() {
		out.Events = append(out.Events, e.GetName())
	}
	for _, l := range in.GetLinks() {
		if out.Links == nil {
			out.Links = map[string]string{}
		}
		out.Links[hex.EncodeToString(l.GetTraceId())] = hex.EncodeToString(l.GetSpanId())
	}
	return out
}

var kinds = map[spans.Span_SpanKind]string{
	spans.Span_SPAN_KIND_INTERNAL: "internal", spans.Span_SPAN_KIND_SERVER: "server", spans.Span_SPAN_KIND_CLIENT: "client",
	spans.Span_SPAN_KIND_PRODUCER: "producer", spans.Span_SPAN_KIND_CONSUMER: "consumer",
}

func at(nanos uint64) time.Time {
	return time.Unix(0, int64(nanos)).UTC() //nolint:gosec // until the year 2262
}

// attributes are a sender's keys and values, as JSON has them; numbers are int64 or float64.
func attributes(in []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, kv := range in {
		out[kv.GetKey()] = value(kv.GetValue())
	}
	return out
}

func value(v *common.AnyValue) any {
	switch v := v.GetValue().(type) {
	case *common.AnyValue_StringValue:
		return v.StringValue
	case *common.AnyValue_BoolValue:
		return v.BoolValue
	case *common.AnyValue_IntValue:
		return v.IntValue
	case *common.AnyValue_DoubleValue:
		return v.DoubleValue
	case *common.AnyValue_ArrayValue:
		list := []any{}
		for _, e := range v.ArrayValue.GetValues() {
			list = append(list, value(e))
		}
		return list
	default:
		return nil
	}
}
