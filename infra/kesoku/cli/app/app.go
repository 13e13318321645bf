// Package app is what all commands share: what they run in, the clients of the project, and how they fail. It holds no command.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"kesoku.dev/infra/kesoku/screen"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/bus/topology"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/store/records"
)

// Host is what the command line runs in.
type Host struct {
	In       io.Reader
	Out, Err io.Writer
	Columns  int    // how wide Out is; 0 where it is no terminal
	Colour   bool   // Out may be coloured
	Live     bool   // Err is a terminal
	Project  string // where --project says nothing
	Bucket   string // the staging bucket, where --bucket says nothing
	Storage  string // a stand-in for Cloud Storage; empty for Google's own
	Webhook  string // its URL, where --webhook says nothing
	ChatAPI  string // a stand-in for the Chat API, where --chat-endpoint says nothing
	Local    bool   // the SDKs are pointed at emulators
	Clock    clock.Clock
}

// App is one run. Its methods that connect fail with advice.
type App struct {
	Host
	Screen *screen.Screen
}

// New returns the run of a host.
func New(h Host) *App {
	return &App{Host: h, Screen: &screen.Screen{Out: h.Out, Err: h.Err, Columns: h.Columns, Colour: h.Colour, Live: h.Live}}
}

// Trouble is an error with what to do about it.
type Trouble struct {
	What  error
	Do    string
	Usage bool // the command was asked wrongly
}

// Error says what is wrong.
func (t *Trouble) Error() string { return t.What.Error() }

// Unwrap returns what is wrong.
func (t *Trouble) Unwrap() error { return t.What }

// Fail says what to do about err.
func Fail(err error, do string) error { return &Trouble{What: err, Do: do} }

// Misuse says that the command was asked wrongly.
func Misuse(c *cobra.Command, format string, args ...any) error {
	return &Trouble{What: fmt.Errorf(format, args...), Do: "see " + c.CommandPath() + " --help", Usage: true}
}

// Ambiguous adds advice to what a search by an id's beginning found.
func Ambiguous(err error) error {
	if errors.Is(err, errs.ErrConflict) {
		return Fail(err, "write more of the id")
	}
	return err
}

// Between checks how many arguments there are; what names them.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Misuse(c, "%d arguments, but it takes %s", len(args), what)
		}
		return nil
	}
}

// Group is a command that only holds others.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: NoSuchCommand, RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	c.AddCommand(commands...)
	return c
}

// NoSuchCommand refuses arguments, which can only be commands that do not exist.
func NoSuchCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	near := ""
	if s := c.SuggestionsFor(args[0]); len(s) > 0 {
		near = "; did you mean " + strings.Join(s, " or ") + "?"
	}
	return Misuse(c, "unknown command %q%s", args[0], near)
}

// More says how to see the next page, if there is one.
func (a *App) More(next string) {
	if next != "" {
		a.Screen.Note("more may follow: add --after %s", next)
	}
}

// NeedProject refuses to go on without a project.
func (a *App) NeedProject() error {
	if a.Project == "" {
		return &Trouble{What: errors.New("no project"), Do: "say --project ID, or set GOOGLE_CLOUD_PROJECT", Usage: true}
	}
	return nil
}

const connectFirst = "run gcloud auth application-default login, or point the SDKs at emulators; kesoku doctor tells more"

// open makes a client of the project.
func open[T any](ctx context.Context, a *App, connect func(context.Context) (T, error)) (T, error) {
	var none T
	if err := a.NeedProject(); err != nil {
		return none, err
	}
	client, err := connect(ctx)
	if err != nil {
		return none, Fail(err, connectFirst)
	}
	return client, nil
}

// Store connects to what the functions read and write.
func (a *App) Store(ctx context.Context) (*store.Store, error) {
	return open(ctx, a, func(ctx context.Context) (*store.Store, error) {
		return store.Connect(ctx, a.Project, unstaged{}, a.Clock, uuid.NewString)
	})
}

// Records connects to the operator's view of the store.
func (a *App) Records(ctx context.Context) (*records.Records, error) {
	return open(ctx, a, func(ctx context.Context) (*records.Records, error) { return records.Connect(ctx, a.Project, a.Clock) })
}

// Topology connects to the operator's view of Pub/Sub.
func (a *App) Topology(ctx context.Context) (*topology.Topology, error) {
	return open(ctx, a, func(ctx context.Context) (*topology.Topology, error) { return topology.Connect(ctx, a.Project) })
}

// Publish publishes one wake-up.
func (a *App) Publish(ctx context.Context, topic bus.Topic, wake any) error {
	publisher, err := open(ctx, a, func(ctx context.Context) (*bus.Publisher, error) { return bus.Connect(ctx, a.Project) })
	if err != nil {
		return err
	}
	defer publisher.Stop()
	return publisher.Publish(ctx, topic, wake)
}

// unstaged is the staging area of a store that stores no messages.
type unstaged struct{}

// Put implements store.Stager.
func (unstaged) Put(context.Context, string, []byte, string) (string, error) {
	return "", errs.Permanent(errors.New("the command line stores no messages"))
}
