// Package boot makes of an environment what every function works with: clients, store, topics, configuration, clock, log; once per
// instance, at the first request, and again at the next if it failed. It imports no model, platform or tool: each function wires those
// that it serves, so that a webhook never links a model's SDK.
package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
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
)

// Base is what every function works with.
type Base struct {
	Store  *store.Store
	Bus    *bus.Publisher
	Blob   *blob.Store
	Config *config.Source
	Clock  clock.Clock
	NewID  func() string
	Draw   func() float64
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
		Store: st, Bus: publisher, Blob: files, Config: source, Clock: ck, NewID: uuid.NewString, Draw: rand.Float64, Log: log, Going: going,
	}, nil
}

// connect dials what the environment names. The SDKs find the emulators by their own variables.
func connect(ctx, going context.Context, v *Vars, log *slog.Logger) (*Base, error) {
	project, bucket := v.Required("GOOGLE_CLOUD_PROJECT"), v.Required("STAGING_BUCKET")
	if err := v.Err(); err != nil {
		return nil, err
	}
	ck := clock.System{}
	files, errFiles := blob.Connect(ctx, bucket)
	publisher, errBus := bus.Connect(ctx, project)
	st, errStore := store.Connect(ctx, project, files, ck, uuid.NewString)
	if err := errors.Join(errFiles, errBus, errStore); err != nil {
		return nil, fmt.Errorf("connect to project %s: %w", project, err)
	}
	return Assemble(going, st, publisher, files, ck, log)
}

// instance is one function in this process.
type instance[T any] struct {
	name  string
	build func(context.Context, *Base, *Vars) (T, error)
	drain *drain
	log   *slog.Logger

	mu      sync.Mutex
	handler *T
}

func newInstance[T any](name string, build func(context.Context, *Base, *Vars) (T, error)) *instance[T] {
	return &instance[T]{name: name, build: build, drain: newDrain(), log: NewLog(os.Stderr, name)}
}

// get builds the handler at the first request. A failure is told to that request's caller and tried anew at the next.
func (i *instance[T]) get(ctx context.Context) (T, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.handler != nil {
		return *i.handler, nil
	}
	var none T
	// The clients outlive the request that made them.
	ctx = context.WithoutCancel(ctx)
	vars := Environ()
	base, err := connect(ctx, i.drain.going, vars, i.log)
	if err != nil {
		return none, fmt.Errorf("start function %s: %w", i.name, err)
	}
	h, err := i.build(ctx, base, vars)
	if err := errors.Join(vars.Err(), err); err != nil {
		return none, fmt.Errorf("start function %s: %w", i.name, err)
	}
	i.handler = &h
	i.drain.onSignal(i.log)
	return h, nil
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
		h, err := i.get(ctx)
		if err != nil {
			i.log.ErrorContext(ctx, "not started", "error", err)
			return errNotReady
		}
		return h(ctx, e)
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
		h, err := i.get(r.Context())
		if err != nil {
			i.log.ErrorContext(r.Context(), "not started", "error", err)
			http.Error(w, errNotReady.Error(), http.StatusInternalServerError)
			return
		}
		h.ServeHTTP(w, r)
	}
}
