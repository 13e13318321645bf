// Command kesoku-local runs all of Kesoku on this machine:
//
//	kesoku-local run [-env FILE]   everything, and the page, until Ctrl-C
//	kesoku-local demo              one conversation without a browser
//
// While it runs, FILE tells a shell, and so the operators' command line, where everything is.
//
// It starts itself once for each function, with FUNCTION_TARGET set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"kesoku.dev/emulators/stack"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kesoku-local:", err)
		os.Exit(1)
	}
}

func run() error {
	if os.Getenv("FUNCTION_TARGET") != "" {
		return stack.ServeFunction(os.Getenv("PORT"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("kesoku-local", flag.ContinueOnError)
	envFile := flags.String("env", "", "with run: a `file` to write the environment to, for as long as it runs")
	if len(os.Args) < 2 {
		return errors.New("say what to do: run or demo")
	}
	if err := flags.Parse(os.Args[2:]); err != nil {
		return err
	}
	switch command := os.Args[1]; {
	case flags.NArg() > 0:
		return fmt.Errorf("%q is too much: say run or demo", flags.Arg(0))
	case command == "run":
		return stack.Run(ctx, os.Stdout, *envFile)
	case command == "demo":
		return stack.Demo(ctx, os.Stdout)
	default:
		return fmt.Errorf("unknown command %q: say run or demo", command)
	}
}
