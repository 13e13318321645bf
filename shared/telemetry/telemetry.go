// Package telemetry is how Kesoku's code says what it does: spans that begin and end, and the names of everything that is measured. It
// knows OpenTelemetry's API and not its SDK: where spans go is decided by the tracer that a context carries, and without one they go
// nowhere. There is no global tracer, so that every instance, and every test, has its own.
//
// What people write, what models answer, a tool's arguments and results, error texts and secrets are never put on a span: whoever may read
// traces need not be whoever may read conversations. A span says which, how long, how much and how it ended.
package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"kesoku.dev/shared/errs"
)

// scope is what a context carries beside its span.
type scope struct {
	tracer  trace.Tracer
	session string
	apart   bool
}

type scopeKey struct{}

func scopeOf(ctx context.Context) scope {
	s, ok := ctx.Value(scopeKey{}).(scope)
	if !ok {
		return scope{tracer: noop.Tracer{}}
	}
	return s
}

// WithTracer returns a context whose spans the tracer makes.
func WithTracer(ctx context.Context, t trace.Tracer) context.Context {
	s := scopeOf(ctx)
	s.tracer = t
	return context.WithValue(ctx, scopeKey{}, s)
}

// WithSession returns a context whose spans and log entries name the session, and names it on the span under way.
func WithSession(ctx context.Context, id string) context.Context {
	s := scopeOf(ctx)
	s.session = id
	Note(ctx, KeySession.String(id))
	return context.WithValue(ctx, scopeKey{}, s)
}

// Session is the session that the context is about, or "".
func Session(ctx context.Context) string { return scopeOf(ctx).session }

// End ends a span. It is called with the address of the error that the work ended with, so that `defer end(&err)` sees what is returned; nil
// means that nothing went wrong, or that Fail has said it already.
type End func(err *error)

// Start begins a span below the context's. Its End must be called.
//
//	ctx, end := telemetry.Start(ctx, "censor", telemetry.KeyPlatform.String(e.Platform))
//	defer end(&err)
func Start(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, End) {
	return StartSpan(ctx, name, trace.WithAttributes(attrs...))
}

// Call is Start for a call of another system.
func Call(ctx context.Context, name string, attrs ...attribute.KeyValue) (context.Context, End) {
	return StartSpan(ctx, name, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
}

// StartSpan is Start with all of OpenTelemetry's options: kind, links, a root of its own.
func StartSpan(ctx context.Context, name string, opts ...trace.SpanStartOption) (context.Context, End) {
	s := scopeOf(ctx)
	ctx, span := s.tracer.Start(ctx, name, opts...)
	if s.session != "" {
		span.SetAttributes(KeySession.String(s.session))
	}
	return ctx, func(err *error) {
		if err != nil && *err != nil {
			Fail(ctx, ErrorType(*err))
		}
		span.End()
	}
}

// Note adds to the span under way.
func Note(ctx context.Context, attrs ...attribute.KeyValue) {
	trace.SpanFromContext(ctx).SetAttributes(attrs...)
}

// Fail marks the span under way as failed, by a short name of a kind of failure. It takes no words: they may be somebody's.
func Fail(ctx context.Context, errorType string) {
	span := trace.SpanFromContext(ctx)
	span.SetAttributes(KeyErrorType.String(errorType))
	span.SetStatus(codes.Error, "")
}

// ErrorType is the name of an error's kind.
func ErrorType(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	default:
		return string(errs.KindOf(err))
	}
}
