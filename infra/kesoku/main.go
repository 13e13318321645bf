// Command kesoku is the operators' command line: it checks and publishes the configuration, shows sessions and dead letters, fires cron jobs
// and sweeps, and examines a deployment. Run it without arguments for help. It exits with 0 if all is well, 1 if what was asked failed and
// 2 if it was asked wrongly.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"kesoku.dev/infra/kesoku/cli"
	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/clock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	vars := boot.Environ()
	plain := vars.Optional("NO_COLOR", "") != "" || vars.Optional("TERM", "") == "dumb"
	columns, _, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		columns = 0 // a file or a pipe
	}
	code := cli.Run(ctx, app.Host{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Columns: columns,
		Colour:  isTerminal(os.Stdout) && !plain,
		Live:    isTerminal(os.Stderr) && !plain,
		Project: vars.Optional("GOOGLE_CLOUD_PROJECT", ""), Bucket: vars.Optional("STAGING_BUCKET", ""),
		Storage: vars.Optional("STORAGE_EMULATOR_HOST", ""), Webhook: vars.Optional("KESOKU_WEBHOOK", ""), ChatAPI: vars.Optional("CHAT_ENDPOINT", ""),
		Local: vars.Optional("FIRESTORE_EMULATOR_HOST", "") != "" && vars.Optional("PUBSUB_EMULATOR_HOST", "") != "",
		Clock: clock.System{},
	}, os.Args[1:])
	stop()
	os.Exit(code)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
