// Package bench measures the whole of Kesoku on this machine: every function as a process of its own over the real Firestore and Pub/Sub
// emulators, driven through the webhook over HTTP by clients that wait for their replies. Times are reported, never asserted; that every
// message is answered, and in order, is.
//
// It may know the stack, how it is driven and counted, and this machine's processes; it must not know how functions work inside.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	"kesoku.dev/emulators/bench/drive"
	"kesoku.dev/emulators/bench/meter"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv/emulator"
)

// Options say what is measured, and over what.
type Options struct {
	// Command starts a function as a process, told by FUNCTION_TARGET and PORT which and where: that of Build, or a test's own binary.
	Command []string
	// Emulators are used and not stopped.
	Emulators *emulator.Pair
	// Config are Kesoku's configuration files by name.
	Config   map[string]string
	Profiles []Profile
	// Starts is how often the start of each function is measured.
	Starts int
	// FunctionLog takes what the functions print; nil is nobody.
	FunctionLog io.Writer
	Log         *slog.Logger // the stack's own; nil is nobody
	// Progress, if not nil, hears of each part before it begins.
	Progress func(what string)
}

func (o Options) validate() error {
	var problems []error
	if len(o.Command) == 0 {
		problems = append(problems, errors.New("bench: no command that starts a function"))
	}
	if o.Emulators == nil {
		problems = append(problems, errors.New("bench: no emulators"))
	}
	for _, p := range o.Profiles {
		problems = append(problems, p.validate())
	}
	return errors.Join(problems...)
}

// Run measures one profile after the other, then the functions' starts. It fails if something cannot be measured; messages that were lost
// or reordered are for the report's Err to tell.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	counted, err := meter.Start(ctx, o.Emulators)
	if err != nil {
		return nil, err
	}
	defer func() { _ = counted.Close() }() // nothing is under way any more
	r := &Report{At: time.Now().UTC(), Go: runtime.Version(), CPUs: runtime.NumCPU()}
	for _, p := range o.Profiles {
		o.progress(p.String())
		result, err := o.measure(ctx, p, counted)
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", p, err)
		}
		r.Profiles = append(r.Profiles, result)
	}
	o.progress("start of each function")
	if r.Functions, err = o.starts(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

func (o Options) progress(what string) {
	if o.Progress != nil {
		o.Progress(what)
	}
}

// measure runs one profile over a stack and a project of its own: the emulator's queries scan all that a project holds, so that a profile
// would pay for those before it.
func (o Options) measure(ctx context.Context, p Profile, counted *meter.Meter) (Result, error) {
	d, err := o.start(ctx, p, counted.Pair)
	if err != nil {
		return Result{}, err
	}
	defer d.Stop()
	if _, err := d.Drive(ctx, min(warmUp, p.Messages), warmClients); err != nil {
		return Result{}, fmt.Errorf("warm up: %w", err)
	}
	before, cpuBefore := quiet(ctx, counted), cpuOf(d.Stack)
	done, err := d.Drive(ctx, p.Messages, p.Clients)
	if err != nil {
		return Result{}, err
	}
	after := quiet(ctx, counted)
	r := resultOf(p, done, after.Minus(before))
	r.Memory, r.CPU = memoryOf(d.Stack), perMessage(cpuOf(d.Stack), cpuBefore, done.Messages)
	return r, ctx.Err()
}

func (o Options) start(ctx context.Context, p Profile, emulators *emulator.Pair) (*drive.Driver, error) {
	return drive.Start(ctx, drive.Options{
		Command: o.Command, Emulators: emulators, Config: o.Config, Model: p.Model, Clients: p.Clients, Spaces: p.Spaces, Quota: p.Quota,
		FunctionLog: o.FunctionLog, Log: o.Log,
	})
}

const (
	// warmUp is how many messages go before those that count: a function connects at its first request, and Java compiles what is used often.
	warmUp      = 64
	warmClients = 16
	// quietFor without a document or a message is quiet; a delivery's last commit comes after its reply.
	quietFor = 400 * time.Millisecond
	// quietBy is when that is no longer waited for.
	quietBy = 10 * time.Second
)

// quiet waits until nothing is read, written or published any more, and returns the counts.
func quiet(ctx context.Context, counted *meter.Meter) meter.Counts {
	c := clock.System{}
	seen := counted.Counts()
	for waited := time.Duration(0); waited < quietBy; waited += quietFor {
		if c.Sleep(ctx, quietFor) != nil {
			return seen
		}
		now := counted.Counts()
		if now.Reads == seen.Reads && now.Writes == seen.Writes && now.Published == seen.Published {
			return now
		}
		seen = now
	}
	return seen
}
