package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"kesoku.dev/emulators/process"
)

// mark is how the test's own binary is told to be a function, and which.
const mark = "KESOKU_PROCESS_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(mark) {
	case "":
		os.Exit(m.Run())
	case "serve":
		serve()
	case "exit":
		os.Exit(3)
	case "deaf":
		time.Sleep(time.Hour) // it is killed long before
	}
}

// serve answers with its own id and its name until it is asked to go.
func serve() {
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGTERM)
	go func() {
		<-gone
		os.Exit(0)
	}()
	err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "%d %s", os.Getpid(), os.Getenv("FUNCTION_TARGET"))
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func start(ctx context.Context, mode string) (*process.Process, error) {
	return process.Start(ctx, "turn", []string{os.Args[0]}, []string{mark + "=" + mode}, io.Discard, slog.New(slog.DiscardHandler))
}

// get asks until the function answers, for it may just be starting anew.
func get(t *testing.T, p *process.Process, not string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		resp, err := http.DefaultClient.Do(r)
		if err == nil {
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err == nil && string(body) != not {
				return string(body)
			}
		}
		if ctx.Err() != nil {
			t.Fatalf("no answer but %q: %v", not, err)
		}
	}
}

// D4: a function runs in a process of its own, under its name; when it dies it is there again at the same address, and when it is stopped it stays so.
func TestLife(t *testing.T) {
	t.Parallel()
	p, err := start(t.Context(), "serve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	first := get(t, p, "")
	if want := fmt.Sprintf("%d turn", p.PID()); first != want {
		t.Errorf("answered by %q, want %q", first, want)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	second := get(t, p, first)
	if err := p.Terminate(); err != nil {
		t.Fatal(err)
	}
	if third := get(t, p, second); third == first || !strings.HasSuffix(third, " turn") {
		t.Errorf("after its end: %q", third)
	}
	p.Stop()
	if conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://")); err == nil {
		_ = conn.Close()
		t.Error("listens although it was stopped")
	}
	if err := syscall.Kill(p.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("its process is there: %v", err)
	}
	p.Stop() // does nothing
}

// A program that cannot be started, ends at once, or never listens is told at the start, and nothing is left of it.
func TestStartFails(t *testing.T) {
	t.Parallel()
	if _, err := process.Start(t.Context(), "turn", []string{"./no-such-program"}, nil, io.Discard, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "turn") {
		t.Errorf("no such program: %v", err)
	}
	began := time.Now()
	if _, err := start(t.Context(), "exit"); err == nil || !strings.Contains(err.Error(), "turn ended") {
		t.Errorf("ends at once: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second { // it is not started again and again until the time is up
		t.Errorf("told after %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := start(ctx, "deaf"); err == nil || !strings.Contains(err.Error(), "does not listen") {
		t.Errorf("never listens: %v", err)
	}
}
