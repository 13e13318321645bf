package emulator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"kesoku.dev/shared/clock"
)

const (
	startTimeout = 60 * time.Second       // a cold JVM on a busy two-core machine took 15 s at worst
	pollInterval = 50 * time.Millisecond  // of the readiness probe
	tailBytes    = 4 << 10                // how much of an emulator's output an error may quote
	probeTimeout = 500 * time.Millisecond // of one readiness probe
)

// process is one emulator: a Java virtual machine in a process group of its own, so that a Ctrl-C in the terminal reaches the
// command that uses the emulator first, and so that Stop takes all of it.
type process struct {
	name string
	pid  int
	host string // host:port
	tail *tail
	done chan struct{} // closed when the process has ended
}

// startProcess starts the command with a free port appended as the flag that portFlag makes of it.
func startProcess(ctx context.Context, name, java string, args []string, portFlag string, log io.Writer) (*process, error) {
	host, err := freeAddress(ctx)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return nil, fmt.Errorf("start %s on %s: %w", name, host, err)
	}
	p := &process{name: name, host: host, tail: &tail{also: log}, done: make(chan struct{})}
	//nolint:gosec,noctx // Java's path is this machine's own set-up; the emulator outlives the context of its start, until kill.
	cmd := exec.Command(java, append(args, portFlag+port)...)
	cmd.Stdout, cmd.Stderr = p.tail, p.tail
	cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	go p.run(cmd, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// run starts the command and waits for its end on one locked thread. Linux sends the parent-death signal when the *thread* that
// forked ends, not the process, so the thread has to live as long as its child does: hence the lock, held until Wait returns.
func (p *process) run(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	if err := cmd.Wait(); err != nil {
		p.tail.note(p.name + ": " + err.Error())
	}
}

// ready waits until the emulator answers HTTP, then warms it up. It fails as soon as the process ends.
func (p *process) ready(ctx context.Context, warm func(ctx context.Context, host string) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		if probe(ctx, client, "http://"+p.host+"/") {
			return warm(ctx, p.host)
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready; its last words: %s", p.name, p.tail)
		default:
		}
		if err := (clock.System{}).Sleep(ctx, pollInterval); err != nil {
			return fmt.Errorf("wait for %s on %s: %w; its last words: %s", p.name, p.host, err, p.tail)
		}
	}
}

// probe asks once. Both emulators answer "Ok" on their root when they serve.
func probe(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, 16))
	return err == nil && strings.EqualFold(strings.TrimSpace(string(body)), "ok")
}

// kill ends the whole process group at once (the emulators keep everything in memory, so nothing is lost) and waits for the end.
func (p *process) kill() error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(-p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s (process group %d): %w", p.name, p.pid, err)
	}
	<-p.done
	return nil
}

// freeAddress returns a loopback address that nobody listens on at this moment.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	host := l.Addr().String()
	if err := l.Close(); err != nil {
		return "", fmt.Errorf("release port %s: %w", host, err)
	}
	return host, nil
}

// tail keeps the last bytes written, for error messages, and passes everything on when asked to.
type tail struct {
	mu   sync.Mutex
	last []byte
	also io.Writer
}

// Write never fails: a reader that went away must not stop an emulator.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.also != nil {
		if _, err := t.also.Write(b); err != nil {
			t.also = nil
		}
	}
	t.last = append(t.last, b...)
	if n := len(t.last); n > tailBytes {
		t.last = bytes.Clone(t.last[n-tailBytes:])
	}
	return len(b), nil
}

func (t *tail) note(s string) {
	_, _ = t.Write([]byte(s + "\n")) // Write of a tail cannot fail.
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
