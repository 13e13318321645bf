package boot

import (
	"context"
	"io"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/telemetry"
)

// NewLog returns a logger that writes what Cloud Logging reads: one JSON object a line with severity and message and, where the context has
// them, the session and the trace. Without a project no trace is named, since nothing could find it.
func NewLog(w io.Writer, function, project string) *slog.Logger {
	h := slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) > 0 {
			return a
		}
		switch a.Key {
		case slog.LevelKey:
			return slog.String("severity", severity(a.Value.String()))
		case slog.MessageKey:
			a.Key = "message"
		}
		return a
	}})
	return slog.New(contextual{Handler: h, project: project}).With("function", function)
}

// severity is Cloud Logging's name of a level.
func severity(level string) string {
	if level == slog.LevelWarn.String() {
		return "WARNING"
	}
	return level
}

// contextual adds what the context knows to each entry.
type contextual struct {
	slog.Handler
	project string
	session bool // named by the logger already
}

// Handle implements slog.Handler.
func (c contextual) Handle(ctx context.Context, r slog.Record) error {
	if id := telemetry.Session(ctx); id != "" && !c.session && !names(r, telemetry.LogSession) {
		r.AddAttrs(slog.String(telemetry.LogSession, id))
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() && c.project != "" {
		r.AddAttrs(
			slog.String(telemetry.LogTrace, "projects/"+c.project+"/traces/"+span.TraceID().String()),
			slog.String(telemetry.LogSpan, span.SpanID().String()),
			slog.Bool(telemetry.LogSampled, span.IsSampled()),
		)
	}
	return c.Handler.Handle(ctx, r)
}

// names reports whether the entry has an attribute of that name.
func names(r slog.Record, key string) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}

// WithAttrs implements slog.Handler.
func (c contextual) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		c.session = c.session || a.Key == telemetry.LogSession
	}
	c.Handler = c.Handler.WithAttrs(attrs)
	return c
}

// WithGroup implements slog.Handler.
func (c contextual) WithGroup(name string) slog.Handler {
	c.Handler = c.Handler.WithGroup(name)
	return c
}
