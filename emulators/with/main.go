// Command with starts the Firestore and Pub/Sub emulators, runs a command with FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST set, stops
// the emulators and exits as the command did:
//
//	go run ./emulators/with -- go test ./...
//
// Signals go to the command; the emulators stop when it has ended, however it ended. It may know shared/testenv/emulator and nothing else of Kesoku.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"kesoku.dev/shared/testenv/emulator"
)

// Exit codes of our own, as a shell would use them.
const (
	exitUsage     = 2
	exitNoStart   = 125
	exitNoCommand = 127
	exitSignalled = 128 // plus the signal's number
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: with -- command [argument ...]")
		return exitUsage
	}
	if _, err := exec.LookPath(args[0]); err != nil { // Said before the emulators' seconds, not after.
		fmt.Fprintln(os.Stderr, "with:", err)
		return exitNoCommand
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	pair, err := start(signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		return exitNoStart
	}
	code := runCommand(args, pair, signals)
	if err := pair.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		return max(code, 1)
	}
	return code
}

// start starts the emulators; a signal gives up.
func start(signals <-chan os.Signal) (*emulator.Pair, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	started := make(chan struct{})
	defer close(started)
	go func() {
		select {
		case s := <-signals:
			cancel(fmt.Errorf("stopped by signal %v", s))
		case <-started:
		}
	}()
	pair, err := emulator.Start(ctx, emulator.Options{})
	return pair, errors.Join(err, context.Cause(ctx))
}

// runCommand runs the command in our own process group (so that it keeps the terminal) and returns its exit code.
func runCommand(args []string, pair *emulator.Pair, signals <-chan os.Signal) int {
	//nolint:gosec,noctx // Running the caller's command is what this program is for; signals end it, not a context.
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pair.Environ()...)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "with:", err)
		return exitNoCommand
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	dead := pair.Ended()
	for {
		select {
		case err := <-ended:
			return exitCode(err)
		case s := <-signals:
			tell(cmd.Process, s)
		case <-dead:
			dead = nil // Said once.
			fmt.Fprintln(os.Stderr, "with: an emulator ended by itself; stopping the command")
			tell(cmd.Process, syscall.SIGTERM)
		}
	}
}

// tell forwards a signal; a command that has ended already needs none.
func tell(p *os.Process, s os.Signal) {
	if err := p.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		fmt.Fprintf(os.Stderr, "with: pass on signal %v: %v\n", s, err)
	}
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintln(os.Stderr, "with:", err)
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignalled + int(status.Signal())
	}
	return exit.ExitCode()
}
