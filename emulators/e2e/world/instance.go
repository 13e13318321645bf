package world

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"github.com/google/uuid"

	"kesoku.dev/emulators/e2e/host"
	"kesoku.dev/functions/cron"
	"kesoku.dev/functions/deliver"
	"kesoku.dev/functions/googlechat"
	"kesoku.dev/functions/pipeline"
	"kesoku.dev/functions/sweep"
	"kesoku.dev/functions/turn"
	"kesoku.dev/shared/blob"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

// Instance is one running copy of a function, with connections of its own.
type Instance struct {
	Function string
	Client   *testenv.Client

	world *World
	event func(context.Context, cloudevents.Event) error
	http  http.Handler
	life  context.Context
	die   context.CancelFunc
	going context.Context
	leave context.CancelFunc
	runs  sync.WaitGroup
}

// Kill ends the instance as a crash does: what it sent stays, it sends nothing more, and whoever called it loses the connection. The next
// call starts another instance.
func (i *Instance) Kill() {
	i.Client.Kill()
	i.die()
	i.world.replace(i)
}

// Terminate asks the instance to go, as the platform does before it takes it away: what runs comes to its next commit.
func (i *Instance) Terminate() {
	i.leave()
	i.world.replace(i)
}

func (w *World) replace(old *Instance) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.current[old.Function] == old {
		delete(w.current, old.Function)
	}
}

// Instance returns the running copy of a function; it starts one, which outlives ctx, if none runs.
func (w *World) Instance(ctx context.Context, function string) (*Instance, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := w.current[function]; i != nil {
		return i, nil
	}
	w.started[function]++
	i, err := w.start(context.WithoutCancel(ctx), function, fmt.Sprintf("%s-%d", function, w.started[function]))
	if err != nil {
		return nil, err
	}
	w.current[function], w.instances = i, append(w.instances, i)
	return i, nil
}

func (w *World) start(ctx context.Context, function, name string) (*Instance, error) {
	i := &Instance{Function: function, Client: w.Env.Instance(name), world: w}
	i.life, i.die = context.WithCancel(ctx)
	i.going, i.leave = context.WithCancel(ctx)
	base, err := w.base(ctx, i)
	if err != nil {
		return nil, err
	}
	vars := boot.VarsOf(w.vars())
	switch function {
	case webhook:
		i.http, err = googlechat.New(ctx, base, vars)
	case "pipeline":
		i.event, err = pipeline.New(ctx, base, vars)
	case "turn":
		i.event, err = turn.New(ctx, base, vars)
	case "deliver":
		i.event, err = deliver.New(ctx, base, vars)
	case "cron":
		i.event, err = cron.New(ctx, base, vars)
	case "sweep":
		i.event, err = sweep.New(ctx, base, vars)
	default:
		err = fmt.Errorf("unknown function %q", function)
	}
	if err = errors.Join(err, vars.Err()); err != nil {
		return nil, fmt.Errorf("start function %s: %w", function, err)
	}
	if w.opts.OnStart != nil {
		w.opts.OnStart(i)
	}
	return i, nil
}

// base wires an instance as boot does, with the instance's own connections.
func (w *World) base(ctx context.Context, i *Instance) (*boot.Base, error) {
	ck := w.clockOf(i.Function)
	stage, errBlob := blob.Connect(ctx, host.Bucket, host.Storage())
	publisher, errBus := bus.NewPublisher(i.Client.PubSub)
	if err := errors.Join(errBlob, errBus); err != nil {
		return nil, err
	}
	st, err := store.New(i.Client.Firestore, stage, ck, uuid.NewString)
	if err != nil {
		return nil, err
	}
	return boot.Assemble(i.going, st, publisher, stage, ck, w.log.With("instance", i.Client.Name))
}

// clockOf is the time as a function knows it. The webhook checks tokens, whose library reads the machine's clock, so it has that one.
// Deliveries keep a pace, which is hurried; the others' waits are stepped.
func (w *World) clockOf(function string) clock.Clock {
	switch function {
	case webhook:
		return hurried{clock.System{}}
	case "deliver":
		return hurried{w.Clock}
	default:
		return stepped{w.Clock}
	}
}

// webhook is the function that Google Chat calls.
const webhook = "googlechat"

var errKilled = errors.New("the instance was killed")

// Event implements host.World: it hands a push to the function's instance. A killed instance answers nothing: its caller is told at once.
func (w *World) Event(ctx context.Context, function string, e cloudevents.Event) error {
	defer w.busy()()
	i, err := w.Instance(ctx, function)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(i.life, cancel)()
	done := make(chan error, 1)
	i.runs.Go(func() {
		defer cancel()
		done <- i.event(ctx, e)
	})
	select {
	case err = <-done:
	case <-i.life.Done():
		err = errKilled
	}
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ackedIDs[e.ID()] = true
	}
	return err
}

// Request implements host.World: it hands a call of the webhook to its instance.
func (w *World) Request(rw http.ResponseWriter, r *http.Request) {
	defer w.busy()()
	i, err := w.Instance(r.Context(), webhook)
	if err != nil {
		http.Error(rw, "not started", http.StatusInternalServerError)
		w.log.Error("webhook not started", "error", err)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, "unreadable", http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(i.life, cancel)()
	answer := &mortal{ResponseWriter: rw, life: i.life}
	i.http.ServeHTTP(answer, r.WithContext(ctx))
	if i.life.Err() != nil {
		http.Error(rw, "killed", http.StatusServiceUnavailable) // as the platform answers for an instance that died
		return
	}
	if answer.status == http.StatusOK {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, name := range messageName.FindAllString(string(body), -1) {
			w.heard[name] = true
		}
	}
}

// messageName finds the messages that an event is about.
var messageName = regexp.MustCompile(`spaces/[A-Za-z0-9_-]+/messages/[A-Za-z0-9_.-]+`)

// mortal is a response that its instance's death takes back.
type mortal struct {
	http.ResponseWriter
	life   context.Context
	status int
}

// Write implements http.ResponseWriter.
func (m *mortal) Write(b []byte) (int, error) {
	if m.life.Err() != nil {
		return 0, errKilled
	}
	if m.status == 0 {
		m.status = http.StatusOK
	}
	return m.ResponseWriter.Write(b)
}

// WriteHeader implements http.ResponseWriter.
func (m *mortal) WriteHeader(status int) {
	if m.life.Err() == nil {
		m.status = status
		m.ResponseWriter.WriteHeader(status)
	}
}

// busy counts a handler in and returns how it counts itself out.
func (w *World) busy() func() {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	return func() {
		w.mu.Lock()
		w.running--
		w.pushes++
		w.mu.Unlock()
	}
}
