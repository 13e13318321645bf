// Command kesoku-bench measures all of Kesoku on this machine and prints one table:
//
//	kesoku-bench [-quick] [-profile a,b] [-clients N] [-messages N] [-json bench.json] [-log FILE]
//
// It must run at the root of the repository. It builds every function as it is deployed, and ends with 1 if a message was not answered or
// answered out of order.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"kesoku.dev/emulators/bench"
	"kesoku.dev/emulators/stack"
	"kesoku.dev/shared/testenv/emulator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kesoku-bench:", err)
		os.Exit(1)
	}
}

// settings are what the command line says.
type settings struct {
	quick                   bool
	profiles, json, logFile string
	clients, messages       int
}

func parse() settings {
	var s settings
	flag.BoolVar(&s.quick, "quick", false, "few messages: shows that all works, not how fast")
	flag.StringVar(&s.profiles, "profile", "", "measure only these: a, b, c, c-quota")
	flag.IntVar(&s.clients, "clients", 0, "people who write at the same time, instead of each profile's own number")
	flag.IntVar(&s.messages, "messages", 0, "messages of each profile, instead of its own number")
	flag.StringVar(&s.json, "json", "bench.json", "where to write the report as JSON; empty is nowhere")
	flag.StringVar(&s.logFile, "log", "", "where to write what functions and stack log")
	flag.Parse()
	return s
}

// starts is how often each function's start is measured; quickStarts is once.
const (
	starts      = 5
	quickStarts = 1
)

func run(ctx context.Context) (err error) {
	s := parse()
	o := bench.Options{Starts: starts, Progress: progress(time.Now())}
	if s.quick {
		o.Starts = quickStarts
	}
	if o.Profiles, err = bench.Pick(bench.Profiles(s.quick), s.profiles, s.clients, s.messages); err != nil {
		return err
	}
	if o.Config, err = stack.ConfigFiles(os.DirFS(filepath.Join("infra", "config"))); err != nil {
		return fmt.Errorf("run this at the root of the repository: %w", err)
	}
	logs, err := open(s.logFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	o.FunctionLog, o.Log = logs, slog.New(slog.NewTextHandler(logs, nil))
	dir, err := os.MkdirTemp("", "kesoku-bench-")
	if err != nil {
		return fmt.Errorf("make a folder for the functions: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.Progress("build each function")
	if o.Command, err = bench.Build(ctx, dir); err != nil {
		return err
	}
	return measure(ctx, o, s.json)
}

func measure(ctx context.Context, o bench.Options, file string) (err error) {
	if o.Emulators, err = emulator.Start(ctx, emulator.Options{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Emulators.Stop()) }()
	report, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	if file != "" {
		if err := report.Save(file); err != nil {
			return err
		}
	}
	return report.Err()
}

// progress tells on the terminal what goes on, so that the table has standard output to itself.
func progress(began time.Time) func(string) {
	return func(what string) { fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", time.Since(began).Seconds(), what) }
}

// open opens the log, or one that nobody reads.
func open(file string) (io.WriteCloser, error) {
	if file == "" {
		file = os.DevNull
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}
