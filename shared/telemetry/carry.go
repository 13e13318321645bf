package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// w3c is how a trace's identity travels: the header, or attribute, traceparent (https://www.w3.org/TR/trace-context/).
var w3c propagation.TraceContext

// linkPrefix marks the identity of a trace that is the reason of the work and not its beginning.
const linkPrefix = "kesoku-link-"

// Apart returns a context whose wake-ups begin traces of their own, with a link back to this one. It is for whoever wakes what others left
// behind: a sweep that finds a hundred sessions is not a trace of a hundred turns.
func Apart(ctx context.Context) context.Context {
	s := scopeOf(ctx)
	s.apart = true
	return context.WithValue(ctx, scopeKey{}, s)
}

// Inject returns the identity of the context's trace as attributes of a wake-up; there are none without a trace.
func Inject(ctx context.Context) map[string]string {
	carried := propagation.MapCarrier{}
	w3c.Inject(ctx, carried)
	if !scopeOf(ctx).apart {
		return carried
	}
	linked := map[string]string{}
	for name, value := range carried {
		linked[linkPrefix+name] = value
	}
	return linked
}

// Extract takes up the trace that Inject put into a wake-up's attributes: the span that is then started with the options goes on with it, or
// is linked to it. Only whoever may publish to our topics can write these, so they are trusted, the decision on sampling included.
func Extract(ctx context.Context, attributes map[string]string) (context.Context, []trace.SpanStartOption) {
	linked := propagation.MapCarrier{}
	for _, name := range w3c.Fields() {
		if v, ok := attributes[linkPrefix+name]; ok {
			linked[name] = v
		}
	}
	if len(linked) > 0 {
		return ctx, Linked(ctx, linked)
	}
	return w3c.Extract(ctx, propagation.MapCarrier(attributes)), nil
}

// Linked are the options of a span that begins a trace of its own and points to the one that a stranger's request claims to belong to. A
// stranger decides neither on the identity of our traces nor on their sampling.
func Linked(ctx context.Context, request propagation.TextMapCarrier) []trace.SpanStartOption {
	opts := []trace.SpanStartOption{trace.WithNewRoot()}
	from := trace.SpanContextFromContext(w3c.Extract(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), request))
	if from.IsValid() {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: from.WithTraceState(trace.TraceState{})}))
	}
	return opts
}
