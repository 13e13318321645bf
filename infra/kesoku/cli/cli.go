// Package cli is kesoku's command line as a whole: the root of the commands, and how an error becomes two lines and an exit code. It reads no
// environment; main tells it what stands there.
package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/infra/kesoku/cli/app"
	"kesoku.dev/infra/kesoku/cli/configure"
	"kesoku.dev/infra/kesoku/cli/deployment"
	"kesoku.dev/infra/kesoku/cli/work"
	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/errs"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// Run runs one command line, without the program's name, and returns its exit code.
func Run(ctx context.Context, h app.Host, args []string) int {
	a := app.New(h)
	root := newRoot(a) //nolint:contextcheck // a command gets its context when it is executed
	root.SetArgs(args)
	root.SetIn(h.In)
	root.SetOut(h.Out)
	root.SetErr(h.Err)
	err := root.ExecuteContext(ctx)
	a.Screen.Done()
	if err == nil {
		return exitOK
	}
	return report(a, err)
}

const longHelp = `Kesoku's command line for operators.

It reaches Firestore and Pub/Sub with the application's default credentials (gcloud auth
application-default login), or the emulators that FIRESTORE_EMULATOR_HOST and PUBSUB_EMULATOR_HOST
name. The project is --project, else GOOGLE_CLOUD_PROJECT. Colours are for terminals alone, and
NO_COLOR turns them off.

Exit codes: 0 all is well, 1 what was asked failed, 2 it was asked wrongly.`

func newRoot(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use: "kesoku", Short: "Operate Kesoku", Long: longHelp, SilenceErrors: true, SilenceUsage: true, Args: app.NoSuchCommand,
		Example: `  kesoku doctor --webhook https://googlechat-xyz.run.app
  kesoku config push infra/config
  kesoku sessions
  kesoku show 6f1c2a9e --follow`,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.Project, "project", a.Project, "Google Cloud `project` id")
	flags.BoolVar(&a.Screen.JSON, "json", false, "write results, and errors, as JSON")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return app.Misuse(c, "%w", err) })
	root.AddCommand(configure.Commands(a)...)
	root.AddCommand(work.Commands(a)...)
	root.AddCommand(deployment.Commands(a)...)
	return root
}

// report writes one line about what is wrong and one about what to do, and returns the exit code.
func report(a *app.App, err error) int {
	t := &app.Trouble{}
	if !errors.As(err, &t) {
		t = &app.Trouble{What: err, Do: remedy(err)}
	}
	what := screen.OneLine(err.Error())
	beside := screen.Screen{Out: a.Err, Colour: a.Live}
	if a.Screen.JSON {
		_ = beside.Line(map[string]string{"error": what, "do": t.Do}) // if that fails nobody listens
	} else {
		beside.Say("%s %s", beside.Paint(screen.Red, "kesoku:"), what)
		beside.Say("  → %s", t.Do)
	}
	if t.Usage {
		return exitUsage
	}
	return exitFailed
}

// remedy says what to do about an error that came without advice.
func remedy(err error) string {
	if errors.Is(err, context.Canceled) {
		return "it was interrupted; run it again"
	}
	if errors.Is(err, errs.ErrNotFound) {
		return "check the id; kesoku sessions and kesoku dead-letters list show them"
	}
	switch status.Code(err) {
	case codes.PermissionDenied:
		return "ask for the role that the message names, or check --project"
	case codes.Unauthenticated:
		return "run gcloud auth application-default login"
	case codes.NotFound:
		return "check --project, and run kesoku doctor"
	case codes.FailedPrecondition:
		return "run kesoku doctor: an index may be missing"
	case codes.Unavailable, codes.DeadlineExceeded:
		return "check the network and the *_EMULATOR_HOST variables, then try again"
	default:
		return "run kesoku doctor"
	}
}
