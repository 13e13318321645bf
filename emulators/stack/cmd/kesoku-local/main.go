// Command kesoku-local runs all of Kesoku on this machine:
//
//	kesoku-local run    everything, and the page, until Ctrl-C
//	kesoku-local demo   one conversation without a browser
//
// It starts itself once for each function, with FUNCTION_TARGET set.
package main

import (
	"context"
	"errors"
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
	if len(os.Args) != 2 {
		return errors.New("say what to do: run or demo")
	}
	switch os.Args[1] {
	case "run":
		return stack.Run(ctx, os.Stdout)
	case "demo":
		return stack.Demo(ctx, os.Stdout)
	default:
		return fmt.Errorf("unknown command %q: say run or demo", os.Args[1])
	}
}
