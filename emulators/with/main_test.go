package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play the program itself, so that signals and exit codes are those of a real process.
func TestMain(m *testing.M) {
	if os.Getenv("BE_WITH") == "1" {
		main()
	}
	os.Exit(m.Run())
}

// command prepares a run of the program.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...) //nolint:gosec // The test binary itself.
	cmd.Env = append(os.Environ(), "BE_WITH=1", "FIRESTORE_EMULATOR_HOST=", "PUBSUB_EMULATOR_HOST=")
	return cmd
}

// The command sees two live emulators, its exit code comes out, and nothing runs afterwards.
func TestRun(t *testing.T) {
	t.Parallel()
	cmd := command(t, "--", "sh", "-c", "echo $FIRESTORE_EMULATOR_HOST $PUBSUB_EMULATOR_HOST; cat; exit 7")
	cmd.Stdin = strings.NewReader("input")
	out, err := cmd.Output()
	if code := exitCode(err); code != 7 {
		t.Errorf("exit code %d (%v), want the command's 7", code, err)
	}
	line, rest, _ := strings.Cut(string(out), "\n")
	if rest != "input" {
		t.Errorf("standard input did not arrive: %q", rest)
	}
	assertGone(t, line)
}

// Stopping a running command: a signal reaches it and decides the exit code; a kill of the program itself still leaves no emulator.
func TestSignals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		signal syscall.Signal
		want   int
	}{
		"terminate is passed on": {syscall.SIGTERM, 4},
		"killed":                 {syscall.SIGKILL, exitSignalled + int(syscall.SIGKILL)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The shell waits on its input, and ends when that closes.
			cmd := command(t, "--", "sh", "-c", `trap 'exit 4' TERM; echo $FIRESTORE_EMULATOR_HOST $PUBSUB_EMULATOR_HOST; read x`)
			stdin, err := cmd.StdinPipe()
			must(t, err)
			stdout, err := cmd.StdoutPipe()
			must(t, err)
			must(t, cmd.Start())
			line, err := bufio.NewReader(stdout).ReadString('\n')
			must(t, err)
			must(t, cmd.Process.Signal(tt.signal))
			if tt.signal == syscall.SIGKILL {
				must(t, stdin.Close()) // Lets the orphaned shell go.
			}
			if _, err := io.Copy(io.Discard, stdout); err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
			if code := exitCode(cmd.Wait()); code != tt.want {
				t.Errorf("exit code %d, want %d", code, tt.want)
			}
			assertGone(t, line)
		})
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for name, tt := range map[string]struct {
		args, env []string
		want      int
		says      string
	}{
		"no command":      {[]string{"--"}, nil, exitUsage, "usage:"},
		"unknown command": {[]string{"--", filepath.Join(empty, "nothing")}, nil, exitNoCommand, "nothing"},
		"no emulators":    {[]string{"--", "true"}, []string{"KESOKU_GCLOUD_SDK=" + empty}, exitNoStart, "gcloud components install"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, tt.args...)
			cmd.Env = append(cmd.Env, tt.env...)
			out, err := cmd.CombinedOutput()
			if code := exitCode(err); code != tt.want {
				t.Errorf("exit code %d, want %d", code, tt.want)
			}
			if !strings.Contains(string(out), tt.says) {
				t.Errorf("output lacks %q: %s", tt.says, out)
			}
		})
	}
}

// assertGone waits until nobody listens on the two addresses: the kernel ends orphans a moment after their parent.
func assertGone(t *testing.T, line string) {
	t.Helper()
	hosts := strings.Fields(line)
	if len(hosts) != 2 {
		t.Fatalf("the command saw emulators %q, want two", line)
	}
	deadline := time.Now().Add(10 * time.Second)
	for _, host := range hosts {
		for {
			conn, err := net.Dial("tcp", host)
			if err != nil {
				break
			}
			_ = conn.Close()
			if time.Now().After(deadline) {
				t.Fatalf("the emulator on %s still runs", host)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
