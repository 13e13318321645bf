package export

import (
	"context"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"kesoku.dev/shared/clock"
)

const (
	// quiet is how long after a failure nobody waits for a flush; what is sent meanwhile is sent on the side.
	quiet = 30 * time.Second
	// sayEvery is how often a failure is logged.
	sayEvery = time.Minute
)

// watch sends spans on and keeps the failures: the log hears of them once a minute, and nobody else does.
type watch struct {
	next  sdktrace.SpanExporter
	clock clock.Clock
	log   *slog.Logger

	mu    sync.Mutex
	until time.Time // as long as this, the endpoint counts as failing
	said  time.Time
	lost  int // spans, since it was said
}

// ExportSpans implements the SDK's SpanExporter. It reports no error, since the SDK would print it as plain text.
func (w *watch) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := w.next.ExportSpans(ctx, spans); err != nil {
		w.failed(ctx, err, len(spans))
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = time.Time{}
	return nil
}

// Shutdown implements the SDK's SpanExporter.
func (w *watch) Shutdown(ctx context.Context) error { return w.next.Shutdown(ctx) }

func (w *watch) failing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.clock.Now().Before(w.until)
}

// hold lets nobody wait for a while.
func (w *watch) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.until = w.clock.Now().Add(quiet)
}

// failed notes a failure that cost so many spans.
func (w *watch) failed(ctx context.Context, err error, spans int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	w.until = now.Add(quiet)
	w.lost += spans
	if !w.said.IsZero() && now.Sub(w.said) < sayEvery {
		return
	}
	w.log.WarnContext(ctx, "spans not exported", "lost", w.lost, "error", err)
	w.said, w.lost = now, 0
}
