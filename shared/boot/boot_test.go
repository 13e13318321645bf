package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2"
)

// environment is complete. The SDKs dial at their first call, so nothing has to listen.
var environment = map[string]string{
	"GOOGLE_CLOUD_PROJECT": "p", "STAGING_BUCKET": "b", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1", "PUBSUB_EMULATOR_HOST": "127.0.0.1:1",
	"STORAGE_EMULATOR_HOST": "127.0.0.1:1",
}

func setenv(t *testing.T, vars map[string]string) {
	t.Helper()
	for name, value := range vars {
		t.Setenv(name, value)
	}
}

// What is wrong with the environment or the wiring is told to the log, not to the caller, and the next request tries anew.
func TestLazyBuildIsRetried(t *testing.T) {
	setenv(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "", "STAGING_BUCKET": ""})
	builds, fails := 0, true
	f := HTTP("hook", func(_ context.Context, b *Base, v *Vars) (http.Handler, error) {
		builds++
		if b.Store == nil || b.Bus == nil || b.Blob == nil || b.Config == nil || b.Clock == nil || b.Going.Err() != nil {
			t.Errorf("base %+v", b)
		}
		if one, two := b.NewID(), b.NewID(); one == two {
			t.Errorf("two ids are %s", one)
		}
		v.Required("NOBODY_SET_THIS")
		if fails {
			return nil, errors.New("no driver")
		}
		return nil, nil
	})
	get := func() (int, string) {
		w := httptest.NewRecorder()
		f(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		return w.Code, w.Body.String()
	}
	if code, body := get(); code != http.StatusInternalServerError || builds != 0 || strings.Contains(body, "STAGING") {
		t.Errorf("without environment: %d %q after %d builds", code, body, builds)
	}
	setenv(t, environment)
	if code, _ := get(); code != http.StatusInternalServerError || builds != 1 {
		t.Errorf("build fails: %d after %d builds", code, builds)
	}
	fails = false
	if code, _ := get(); code != http.StatusInternalServerError || builds != 2 {
		t.Errorf("a variable is missing although build says nothing: %d after %d builds", code, builds)
	}
}

// All that is missing is named at once.
func TestMissingEnvironment(t *testing.T) {
	setenv(t, map[string]string{"GOOGLE_CLOUD_PROJECT": "", "STAGING_BUCKET": ""})
	i := newInstance("turn", func(context.Context, *Base, *Vars) (int, error) { return 1, nil })
	_, err := i.get(t.Context())
	for _, w := range []string{"turn", "GOOGLE_CLOUD_PROJECT", "STAGING_BUCKET"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%v does not name %s", err, w)
		}
	}
}

// Many first requests build one handler, which outlives the request that made it.
func TestBuildOnce(t *testing.T) {
	setenv(t, environment)
	var builds, runs atomic.Int32
	var made context.Context
	f := Event("turn", func(ctx context.Context, _ *Base, _ *Vars) (func(context.Context, cloudevents.Event) error, error) {
		builds.Add(1)
		made = ctx
		return func(context.Context, cloudevents.Event) error { runs.Add(1); return nil }, nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if err := f(ctx, cloudevents.NewEvent()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	cancel()
	if builds.Load() != 1 || runs.Load() != 16 || made.Err() != nil {
		t.Errorf("%d builds, %d runs, the clients' context: %v", builds.Load(), runs.Load(), made.Err())
	}
}

// The handler's error is the caller's, unchanged: it decides between ack and nack.
func TestEventPassesErrors(t *testing.T) {
	setenv(t, environment)
	want := errors.New("nacked")
	f := Event("turn", func(context.Context, *Base, *Vars) (func(context.Context, cloudevents.Event) error, error) {
		return func(context.Context, cloudevents.Event) error { return want }, nil
	})
	if err := f(t.Context(), cloudevents.NewEvent()); !errors.Is(err, want) {
		t.Errorf("%v, want the handler's own", err)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	d := newDrain()
	one, ok1 := d.enter()
	two, ok2 := d.enter()
	if !ok1 || !ok2 {
		t.Fatal("refused while nobody goes")
	}
	one()
	d.stop()
	if leave, ok := d.enter(); ok || leave != nil {
		t.Error("let in after the end")
	}
	select {
	case <-d.idle:
		t.Error("idle with one at work")
	default:
	}
	two()
	select {
	case <-d.idle:
	default:
		t.Error("not idle although nothing runs")
	}
}

// mark is how the test's child is told that it is one.
const mark = "KESOKU_BOOT_TEST_CHILD"

// After SIGTERM what runs comes to its commit, nothing else begins, and then the process ends well. It takes a process of its own to see.
func TestSignal(t *testing.T) {
	if os.Getenv(mark) != "" {
		child()
		return
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSignal$") //nolint:gosec // this very test, once more
	cmd.Env = append(os.Environ(), mark+"=1")
	for name, value := range environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("running\n"))
	if _, err := io.ReadFull(out, first); err != nil {
		t.Fatalf("child: %v\n%s", err, &log)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || string(rest) != "refused\nrefused\ncommitted\n" {
		t.Errorf("child: %v, said %q\n%s", err, rest, &log)
	}
	if !strings.Contains(log.String(), `"message":"going: nothing new is claimed"`) || !strings.Contains(log.String(), `"active":1`) {
		t.Errorf("log:\n%s", &log)
	}
}

func child() {
	var event func(context.Context, cloudevents.Event) error
	event = Event("turn", func(_ context.Context, b *Base, _ *Vars) (func(context.Context, cloudevents.Event) error, error) {
		return func(ctx context.Context, e cloudevents.Event) error {
			fmt.Println("running")
			<-b.Going.Done()
			for range 2 {
				if event(ctx, e) != nil {
					fmt.Println("refused")
				}
			}
			fmt.Println("committed")
			return nil
		}, nil
	})
	_ = event(context.Background(), cloudevents.NewEvent())
	select {} // the process ends by itself, as the framework's would not
}
