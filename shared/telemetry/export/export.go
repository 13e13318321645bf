// Package export is the only package that knows OpenTelemetry's SDK: it makes an instance's tracer and brings its spans to an OTLP endpoint,
// Cloud Trace's or any other. It must not matter to the work that is traced: what cannot be sent is dropped, and said in the log.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/httptransport"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/clock"
)

// Bounds of what telemetry may cost its instance.
const (
	flushFor   = 1500 * time.Millisecond // at the end of a request, whose CPU is taken away after it
	exportFor  = 5 * time.Second         // one request to the endpoint, away from any flush
	queued     = 2048                    // spans, beyond which they are dropped; a turn has about 15
	maxValue   = 256                     // bytes of an attribute
	maxEntries = 32                      // attributes of a span, and links
)

// Config says what spans are told of their instance and where they go.
type Config struct {
	Function string
	Version  string // of what runs: the revision
	Project  string
	// Endpoint is the whole URL of an OTLP/HTTP receiver, such as https://telemetry.googleapis.com/v1/traces. Empty keeps nothing: spans then
	// have an identity, which the log shows, and are not recorded.
	Endpoint string
	// Fraction of traces that are recorded, 0 to 1, decided where a trace begins.
	Fraction float64
	// Base, if not nil, stands in for http.DefaultTransport.
	Base  http.RoundTripper
	Clock clock.Clock
	Log   *slog.Logger
}

// Exporter is one instance's tracer and its way out.
type Exporter struct {
	provider *sdktrace.TracerProvider
	watch    *watch // nil where nothing is sent
}

// New returns an exporter, or an error for a configuration that cannot work; it dials nothing.
func New(ctx context.Context, c Config) (*Exporter, error) {
	if c.Clock == nil || c.Log == nil {
		return nil, errors.New("export.New: clock and log must not be nil")
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit, limits.AttributeCountLimit, limits.LinkCountLimit = maxValue, maxEntries, maxEntries
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(describe(c)), sdktrace.WithRawSpanLimits(limits)}
	if c.Endpoint == "" {
		return &Exporter{provider: sdktrace.NewTracerProvider(append(opts, sdktrace.WithSampler(sdktrace.NeverSample()))...)}, nil
	}
	client, err := clientFor(c)
	if err != nil {
		return nil, err
	}
	out, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(c.Endpoint), otlptracehttp.WithHTTPClient(client), otlptracehttp.WithTimeout(exportFor),
		// One more try is all that fits into a flush.
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: 200 * time.Millisecond, MaxInterval: 400 * time.Millisecond, MaxElapsedTime: time.Second,
		}))
	if err != nil {
		return nil, fmt.Errorf("export spans to %s: %w", c.Endpoint, err)
	}
	w := &watch{next: out, clock: c.Clock, log: c.Log}
	opts = append(opts,
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.Fraction))),
		sdktrace.WithSpanProcessor(own{sdktrace.NewBatchSpanProcessor(w, sdktrace.WithMaxQueueSize(queued), sdktrace.WithExportTimeout(exportFor))}))
	return &Exporter{provider: sdktrace.NewTracerProvider(opts...), watch: w}, nil
}

// scopeName tells our own spans from those of libraries.
const scopeName = "kesoku.dev"

// Tracer makes the instance's spans.
func (e *Exporter) Tracer() trace.Tracer { return e.provider.Tracer(scopeName) }

// own lets through what our own code says. Google's clients find the tracer in the context and make a span of every HTTP request, with its URL;
// of one provider the key is in there.
type own struct{ sdktrace.SpanProcessor }

// OnEnd implements the SDK's SpanProcessor.
func (o own) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.InstrumentationScope().Name == scopeName {
		o.SpanProcessor.OnEnd(s)
	}
}

// Flush sends what has ended, and waits for it no longer than 1.5 s. While the endpoint fails it does not wait at all.
func (e *Exporter) Flush(ctx context.Context) {
	if e.watch == nil || e.watch.failing() {
		return
	}
	// The spans of a request whose time is over are the ones that somebody will want to see.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
	defer cancel()
	if err := e.provider.ForceFlush(ctx); err != nil {
		e.watch.hold() // the export that did not end in time says why
	}
}

// Close sends what is left and ends the exporter.
func (e *Exporter) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushFor)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("end the export of spans: %w", err)
	}
	return nil
}

// describe is what every span of the instance is told of it: go.opentelemetry.io/otel/semconv/v1.43.0, and gcp.project_id, by which Google's
// Telemetry API finds the project (https://cloud.google.com/stackdriver/docs/reference/telemetry/overview).
func describe(c Config) *resource.Resource {
	attrs := []attribute.KeyValue{
		attribute.String("service.name", c.Function), attribute.String("service.namespace", "kesoku"),
		attribute.String("service.instance.id", uuid.NewString()), attribute.String("gcp.project_id", c.Project),
	}
	if c.Version != "" {
		attrs = append(attrs, attribute.String("service.version", c.Version))
	}
	return resource.NewSchemaless(attrs...)
}

// clientFor returns a client that proves to Google who we are, and to nobody else: a token that another endpoint was sent would be anybody's.
// The project that is charged is the account's own, or the one that the credentials name, which goes into X-Goog-User-Project.
func clientFor(c Config) (*http.Client, error) {
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("export spans to %s: %w", c.Endpoint, err)
	}
	base := c.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if u.Scheme != "https" || !strings.HasSuffix(u.Hostname(), ".googleapis.com") {
		return &http.Client{Transport: base, Timeout: exportFor}, nil
	}
	client, err := httptransport.NewClient(&httptransport.Options{
		BaseRoundTripper: base, DisableTelemetry: true, Headers: http.Header{}, // it adds X-Goog-User-Project to a map that is there, only
		DetectOpts: &credentials.DetectOptions{Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}},
	})
	if err != nil {
		return nil, fmt.Errorf("export spans to %s: find credentials: %w", c.Endpoint, err)
	}
	client.Timeout = exportFor
	return client, nil
}
