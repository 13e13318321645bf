// Package boot makes of an environment what every function works with: clients, store, topics, configuration, clock, log; once per
// instance, at the first request, and again at the next if it failed. It imports no model, platform or tool: each function wires those
// that it serves, so that a webhook never links a model's SDK.
package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/uuid"

	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/telemetry"
	"kesoku.dev/shared/telemetry/export"
)

// Base is what every function works with.
type Base struct {
	Store  *store.Store
	Bus    *bus.Publisher
	Blob   *blob.Store
	Config *config.Source
	Clock  clock.Clock
	NewID  func() string
	Log    *slog.Logger
	// Going ends when the instance is asked to go.
	Going context.Context
}

// Assemble makes a Base of its parts.
func Assemble(going context.Context, st *store.Store, publisher *bus.Publisher, files *blob.Store, ck clock.Clock, log *slog.Logger) (*Base, error) {
	source, err := config.NewSource(st, ck, log)
	if err != nil {
		return nil, err
	}
	return &Base{
		Store: st, Bus: publisher, Blob: files, Config: source, Clock: ck, NewID: uuid.NewString, Log: log, Going: going,
	}, nil
}

// connect dials what the environment names. The SDKs of Firestore and Pub/Sub find the emulators by their own variables.
func connect(ctx, going context.Context, function string, v *Vars) (*Base, error) {
	project, bucket := v.Required("GOOGLE_CLOUD_PROJECT"), v.Required("STAGING_BUCKET")
	if err := v.Err(); err != nil {
		return nil, err
	}
	ck := clock.System{}
	files, errFiles := blob.Connect(ctx, bucket, v.Optional("STORAGE_EMULATOR_HOST", ""))
	publisher, errBus := bus.Connect(ctx, project)
	st, errStore := store.Connect(ctx, project, files, ck, uuid.NewString)
	if err := errors.Join(errFiles, errBus, errStore); err != nil {
		return nil, fmt.Errorf("connect to project %s: %w", project, err)
	}
	return Assemble(going, st, publisher, files, ck, NewLog(os.Stderr, function, project))
}

// instance is one function in this process.
type instance[T any] struct {
	name  string
	build func(context.Context, *Base, *Vars) (T, error)
	drain *drain
	log   *slog.Logger

	mu    sync.Mutex
	ready *ready[T]
}

// ready is what the first request has built.
type ready[T any] struct {
	handler T
	traces  *export.Exporter
}

func newInstance[T any](name string, build func(context.Context, *Base, *Vars) (T, error)) *instance[T] {
	return &instance[T]{name: name, build: build, drain: newDrain(), log: NewLog(os.Stderr, name, "")}
}

// get builds the handler at the first request. A failure is told to that request's caller and tried anew at the next.
func (i *instance[T]) get(ctx context.Context) (*ready[T], error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ready != nil {
		return i.ready, nil
	}
	// The clients outlive the request that made them.
	r, err := i.start(context.WithoutCancel(ctx))
	if err != nil {
		return nil, fmt.Errorf("start function %s: %w", i.name, err)
	}
	i.ready = r
	i.drain.onSignal(i.log)
	return r, nil
}

func (i *instance[T]) start(ctx context.Context) (*ready[T], error) {
	vars := Environ()
	base, err := connect(ctx, i.drain.going, i.name, vars)
	if err != nil {
		return nil, err
	}
	traces, err := tracing(ctx, i.name, vars.Optional("GOOGLE_CLOUD_PROJECT", ""), vars, base.Log)
	if err != nil {
		return nil, err
	}
	h, err := i.build(ctx, base, vars)
	if err := errors.Join(vars.Err(), err); err != nil {
		return nil, errors.Join(err, traces.Close(ctx))
	}
	return &ready[T]{handler: h, traces: traces}, nil
}

// errNotReady is all that a caller is told; the log has the reason.
var errNotReady = errors.New("not ready: see the log")

// Event makes a CloudEvent function. build runs once per instance; it reads its own variables from vars and may leave their errors there.
func Event(name string, build func(ctx context.Context, b *Base, vars *Vars) (func(context.Context, cloudevents.Event) error, error)) func(context.Context, cloudevents.Event) error {
	i := newInstance(name, build)
	return func(ctx context.Context, e cloudevents.Event) error {
		leave, ok := i.drain.enter()
		if !ok {
			return errNotReady
		}
		defer leave()
		ready, err := i.get(ctx)
		if err != nil {
			i.log.ErrorContext(ctx, "not started", "error", err)
			return errNotReady
		}
		defer ready.traces.Flush(ctx)
		return ready.handler(telemetry.WithTracer(ctx, ready.traces.Tracer()), e)
	}
}

// HTTP makes an HTTP function. build is as for Event.
func HTTP(name string, build func(ctx context.Context, b *Base, vars *Vars) (http.Handler, error)) http.HandlerFunc {
	i := newInstance(name, build)
	return func(w http.ResponseWriter, r *http.Request) {
		leave, ok := i.drain.enter()
		if !ok {
			http.Error(w, errNotReady.Error(), http.StatusServiceUnavailable)
			return
		}
		defer leave()
		ready, err := i.get(r.Context())
		if err != nil {
			i.log.ErrorContext(r.Context(), "not started", "error", err)
			http.Error(w, errNotReady.Error(), http.StatusInternalServerError)
			return
		}
		serve(name, ready.traces, ready.handler, w, r)
	}
}
