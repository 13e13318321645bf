// Package process runs one function in a process of its own, as the platform runs an instance: it is started anew whenever it dies, asked to go
// by SIGTERM, and never outlives the program that started it.
package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
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

// Process is one function in a process of its own, restarted whenever it dies, as the platform starts an instance whenever one is needed.
type Process struct {
	Name string
	URL  string

	command []string
	env     []string
	out     io.Writer
	log     *slog.Logger

	mu      sync.Mutex
	cmd     *exec.Cmd
	up      bool // it has accepted a connection: from now on it is started anew
	stopped bool
	ended   chan struct{}
}

// Start runs command as the function on a free port, told by FUNCTION_TARGET and PORT, and returns when it accepts connections.
func Start(ctx context.Context, name string, command, env []string, out io.Writer, log *slog.Logger) (*Process, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	p := &Process{
		Name: name, URL: "http://127.0.0.1:" + port, command: command, out: out, log: log, ended: make(chan struct{}),
		env: slices.Concat(env, []string{"FUNCTION_TARGET=" + name, "PORT=" + port}), // env is the caller's, and may be another function's too
	}
	started := make(chan error, 1)
	go p.supervise(started)
	if err := <-started; err != nil {
		return nil, err
	}
	if err := p.ready(ctx, "127.0.0.1:"+port); err != nil {
		p.Stop()
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, fmt.Errorf("function %s ended at its start", name)
	}
	p.up = true
	return p, nil
}

func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

func (p *Process) spawn() error {
	cmd := exec.Command(p.command[0], p.command[1:]...) //nolint:gosec,noctx // our own binary; supervise ends it, not a context
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), p.env...), p.out, p.out
	// Its own group, so that Ctrl-C in a terminal reaches the stack alone, which stops its functions in order.
	cmd.SysProcAttr = groupOfItsOwn()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start function %s: %w", p.Name, err)
	}
	p.cmd = cmd
	return nil
}

// supervise starts the function, and anew whenever it ends once it was up, until it is stopped. It keeps one thread for all its life: Linux kills a child
// when the thread that started it ends, not the process.
func (p *Process) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.ended)
	err := p.spawn()
	started <- err
	if err != nil {
		return
	}
	for {
		err := p.cmd.Wait()
		p.mu.Lock()
		if p.stopped || !p.up {
			p.stopped = true
			p.mu.Unlock()
			return
		}
		p.log.Warn("function ended: starting it anew", "function", p.Name, "error", err)
		err = p.spawn()
		p.mu.Unlock()
		if err != nil {
			p.log.Error("function cannot be started", "function", p.Name, "error", err)
			return
		}
	}
}

func (p *Process) ready(ctx context.Context, address string) error {
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
			return fmt.Errorf("function %s does not listen: %w", p.Name, err)
		case <-p.ended:
			return fmt.Errorf("function %s ended at its start", p.Name)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// PID is the process's id at this moment.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Kill ends the process as a crash does. It is started anew.
func (p *Process) Kill() error { return syscall.Kill(p.PID(), syscall.SIGKILL) }

// Terminate asks the process to go, as the platform does when it takes an instance away. It is started anew.
func (p *Process) Terminate() error { return syscall.Kill(p.PID(), syscall.SIGTERM) }

// Stop ends the function for good: SIGTERM, and SIGKILL if it does not go.
func (p *Process) Stop() {
	p.mu.Lock()
	p.stopped = true
	process := p.cmd.Process
	p.mu.Unlock()
	_ = process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-p.ended:
	case <-time.After(stopFor):
		_ = process.Kill()
		<-p.ended
	}
}
