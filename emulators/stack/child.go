package stack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// startFor is how long a function may take until it accepts connections.
	startFor = 20 * time.Second
	// stopFor is how long a function may take to go after SIGTERM; Cloud Run gives ten seconds.
	stopFor = 10 * time.Second
)

// Child is one function in a process of its own, restarted whenever it dies, as the platform starts an instance whenever one is needed.
type Child struct {
	Name string
	URL  string

	command []string
	env     []string
	out     io.Writer
	log     *slog.Logger

	mu      sync.Mutex
	cmd     *exec.Cmd
	stopped bool
	ended   chan struct{}
}

// startChild runs the function on a free port and returns when it accepts connections.
func startChild(ctx context.Context, name string, command, env []string, out io.Writer, log *slog.Logger) (*Child, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c := &Child{
		Name: name, URL: "http://127.0.0.1:" + port, command: command, out: out, log: log, ended: make(chan struct{}),
		env: append(env, "FUNCTION_TARGET="+name, "PORT="+port),
	}
	started := make(chan error, 1)
	go c.supervise(started)
	if err := <-started; err != nil {
		return nil, err
	}
	if err := c.ready(ctx, "127.0.0.1:"+port); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func (c *Child) spawn() error {
	cmd := exec.Command(c.command[0], c.command[1:]...) //nolint:gosec // our own binary
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), c.env...), c.out, c.out
	// Its own group, so that Ctrl-C in a terminal reaches the stack alone, which stops its functions in order.
	cmd.SysProcAttr = groupOfItsOwn()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start function %s: %w", c.Name, err)
	}
	c.cmd = cmd
	return nil
}

// supervise starts the function, and anew whenever it ends, until it is stopped. It keeps one thread for all its life: Linux kills a child
// when the thread that started it ends, not the process.
func (c *Child) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.ended)
	err := c.spawn()
	started <- err
	if err != nil {
		return
	}
	for {
		err := c.cmd.Wait()
		c.mu.Lock()
		if c.stopped {
			c.mu.Unlock()
			return
		}
		c.log.Warn("function ended: starting it anew", "function", c.Name, "error", err)
		err = c.spawn()
		c.mu.Unlock()
		if err != nil {
			c.log.Error("function cannot be started", "function", c.Name, "error", err)
			return
		}
	}
}

func (c *Child) ready(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	for {
		d := net.Dialer{Timeout: time.Second}
		conn, err := d.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("function %s does not listen: %w", c.Name, err)
		case <-c.ended:
			return fmt.Errorf("function %s ended at its start", c.Name)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID is the process's id at this moment.
func (c *Child) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cmd.Process.Pid
}

// Kill ends the process as a crash does. It is started anew.
func (c *Child) Kill() error { return syscall.Kill(c.PID(), syscall.SIGKILL) }

// Terminate asks the process to go, as the platform does when it takes an instance away. It is started anew.
func (c *Child) Terminate() error { return syscall.Kill(c.PID(), syscall.SIGTERM) }

// Stop ends the function for good: SIGTERM, and SIGKILL if it does not go.
func (c *Child) Stop() {
	c.mu.Lock()
	c.stopped = true
	process := c.cmd.Process
	c.mu.Unlock()
	_ = process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-c.ended:
	case <-time.After(stopFor):
		_ = process.Kill()
		<-c.ended
	}
}

// serve runs a stand-in on a free loopback port until ctx ends and returns its URL.
func serve(ctx context.Context, l net.Listener, h http.Handler) string {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(l) }() // ends with ErrServerClosed
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return "http://" + l.Addr().String()
}
