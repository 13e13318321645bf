package boot

import (
	"context"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/telemetry/export"
)

// tracing makes the instance's exporter. Its variables: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, the whole URL that spans are sent to, without which
// none are; OTEL_TRACES_SAMPLER_ARG, the fraction of traces that are recorded. They are OpenTelemetry's own names.
func tracing(ctx context.Context, function, project string, v *Vars, log *slog.Logger) (*export.Exporter, error) {
	c := export.Config{
		Function: function, Project: project, Version: v.Optional("K_REVISION", ""), Clock: clock.System{}, Log: log,
		Endpoint: v.URL("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""), Fraction: v.Fraction("OTEL_TRACES_SAMPLER_ARG", 1),
	}
	if v.Err() != nil {
		c.Endpoint = "" // the start fails anyway, once it has told everything that is wrong
	}
	e, err := export.New(ctx, c)
	if err == nil {
		return e, nil
	}
	// Without credentials there are no traces, and everything else works.
	log.ErrorContext(ctx, "no spans will be exported", "error", err)
	c.Endpoint = ""
	return export.New(ctx, c)
}

// serve handles a request within a span. A webhook is public: the span begins a trace of its own, linked to the one that the caller, or Cloud
// Run, says that it belongs to, so that no caller can have everything recorded, or nothing, or choose what trace we write to.
func serve(function string, e *export.Exporter, h http.Handler, w http.ResponseWriter, r *http.Request) {
	ctx := telemetry.WithTracer(r.Context(), e.Tracer())
	defer e.Flush(ctx)
	method := methodName(r.Method)
	opts := append(telemetry.Linked(ctx, propagation.HeaderCarrier(r.Header)), trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(telemetry.KeyHTTPMethod.String(method), telemetry.KeyTrigger.String("http")))
	ctx, end := telemetry.StartSpan(ctx, method+" "+function, opts...)
	defer end(nil)
	answer := &answered{ResponseWriter: w}
	h.ServeHTTP(answer, r.WithContext(ctx))
	status := answer.code()
	telemetry.Note(ctx, telemetry.KeyHTTPStatus.Int(status))
	if status >= http.StatusInternalServerError {
		telemetry.Fail(ctx, http.StatusText(status))
	}
}

// methodName is a method that can be named in public: anybody can make one up.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "_OTHER"
	}
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func (a *answered) code() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}
