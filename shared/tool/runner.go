package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/sync/errgroup"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/telemetry"
)

// Staging keeps results that are too long for a conversation. It may change the name; stagedAs is the one to read it by.
type Staging interface {
	Put(ctx context.Context, name string, data []byte, contentType string) (stagedAs string, err error)
}

// RunnerConfig says how a batch of calls is run. Zero values mean the defaults named beside them.
type RunnerConfig struct {
	Registry Registry
	Staging  Staging
	Logger   *slog.Logger
	Parallel int           // calls of one batch at the same time; 8
	Timeout  time.Duration // for one call; 60 s, well within a function's 540 s
	Inline   int           // bytes of a result that the model sees; 16 KiB, a few thousand tokens
}

// grace is how long a call may still take to end once its time is over, before it is given up.
const grace = 5 * time.Second

// Runner runs the calls of a model step.
type Runner struct {
	cfg     RunnerConfig
	schemas map[string]*jsonschema.Schema
}

// NewRunner compiles the tools' schemas, so that a bad one is found at start and not in a conversation.
func NewRunner(cfg RunnerConfig) (*Runner, error) {
	if cfg.Registry == nil || cfg.Staging == nil || cfg.Logger == nil {
		return nil, errors.New("new tool runner: registry, staging and logger are needed")
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = 8
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.Inline <= 0 {
		cfg.Inline = 16 << 10
	}
	r := &Runner{cfg: cfg, schemas: map[string]*jsonschema.Schema{}}
	for name, t := range cfg.Registry {
		schema, err := compileSchema(t.Spec().Parameters)
		if err != nil {
			return nil, fmt.Errorf("new tool runner: parameters of %s: %w", name, err)
		}
		r.schemas[name] = schema
	}
	return r, nil
}

// Run runs the calls concurrently, each once, and returns their outcomes in the calls' order, whatever happens: a tool that fails,
// panics, outlives its time or does not exist is a failed outcome for the model. It ends when all calls have; no interruption
// reaches it, only the end of ctx, and a caller whose ctx has ended must not take the outcomes for the tools' own.
func (r *Runner) Run(ctx context.Context, scope Scope, calls []message.Call) []message.Outcome {
	out := make([]message.Outcome, len(calls))
	var g errgroup.Group
	g.SetLimit(r.cfg.Parallel)
	for i, call := range calls {
		g.Go(func() error {
			s := scope
			s.CallID = call.ID
			out[i] = r.one(ctx, s, call)
			return nil
		})
	}
	_ = g.Wait() // no call returns an error: it is in its outcome
	return out
}

func (r *Runner) one(ctx context.Context, scope Scope, call message.Call) message.Outcome {
	ctx, end := telemetry.Start(ctx, telemetry.SpanTool(r.known(call.Name)), telemetry.OfTool(r.known(call.Name), call.ID)...)
	defer end(nil)
	out := message.Outcome{CallID: call.ID, Name: call.Name}
	res, err := r.invoke(ctx, scope, call)
	if err != nil {
		telemetry.Fail(ctx, failureOf(err))
		out.Failed = true
		res = Output{Content: "Error: " + err.Error()}
	}
	content := strings.ToValidUTF8(res.Content, "\uFFFD")
	if strings.TrimSpace(content) == "" {
		content = "(no output)"
	}
	if !out.Failed { // an error's words are for the model, not for people
		out.Summary = oneLine(strings.ToValidUTF8(res.Summary, "\uFFFD"), content)
	}
	out.Content, out.StagedAs = r.bound(ctx, scope, call, content)
	return out
}

// known is a name that may be told to anybody: one that a model made up may be a piece of the conversation.
func (r *Runner) known(name string) string {
	if _, ok := r.cfg.Registry[name]; !ok {
		return "_OTHER"
	}
	return name
}

// failure is an error with a name for what kind it is. Its words are for the model.
type failure struct {
	error
	kind string
}

func (f failure) Unwrap() error { return f.error }

// failed is fmt.Errorf of a kind.
func failed(kind, format string, args ...any) error {
	return failure{fmt.Errorf(format, args...), kind}
}

func failureOf(err error) string {
	var f failure
	if errors.As(err, &f) {
		return f.kind
	}
	return "tool_error"
}

// invoke finds the tool, checks the arguments and runs it.
func (r *Runner) invoke(ctx context.Context, scope Scope, call message.Call) (Output, error) {
	t, ok := r.cfg.Registry[call.Name]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(r.cfg.Registry)), ", ")
		return Output{}, failed("unknown_tool", "there is no tool named %q; the tools are: %s", clip(call.Name, 80), known)
	}
	args := json.RawMessage(call.Arguments)
	if strings.TrimSpace(string(args)) == "" {
		args = json.RawMessage("{}")
	}
	if err := checkArguments(r.schemas[call.Name], args); err != nil {
		return Output{}, failed("invalid_arguments", "%s was not run: %w\nIts parameters are, as a JSON schema: %s", call.Name, err, t.Spec().Parameters)
	}
	if ctx.Err() != nil {
		return Output{}, failed("canceled", "%s was not run: the turn was cut off before", call.Name)
	}
	return r.guard(ctx, t, scope, args)
}

// result is what came out of one run.
type result struct {
	out Output
	err error
}

// guard runs the tool under its deadline. A tool that does not end with its context is left behind after a grace, so that it cannot
// hold the session for ever.
func (r *Runner) guard(ctx context.Context, t Tool, scope Scope, args json.RawMessage) (Output, error) {
	name := t.Spec().Name
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Timeout)
	defer cancel()
	done := make(chan result, 1)
	go func() {
		res := result{err: fmt.Errorf("%s ended without a result", name)} // stands if Run calls runtime.Goexit
		defer func() {
			if p := recover(); p != nil {
				r.cfg.Logger.ErrorContext(ctx, "tool panicked", "tool", name, "call", scope.CallID,
					"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				res.err = failed("panic", "%s crashed", name)
			}
			done <- res
		}()
		res.out, res.err = t.Run(ctx, scope, args)
	}()
	select {
	case res := <-done:
		return res.out, r.explain(ctx, name, res.err)
	case <-ctx.Done():
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case res := <-done:
		return res.out, r.explain(ctx, name, res.err)
	case <-late.C:
		r.cfg.Logger.ErrorContext(ctx, "tool ignores its deadline and is left behind", "tool", name, "call", scope.CallID,
			"timeout", r.cfg.Timeout)
		return Output{}, r.explain(ctx, name, ctx.Err())
	}
}

// explain says what a context error means for the call; any other error is the tool's own word. A result that came is a result, also
// when it came late.
func (r *Runner) explain(ctx context.Context, name string, err error) error {
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failed("timeout", "%s did not end within %s; whether it had an effect is unknown", name, r.cfg.Timeout)
	default:
		return failed("canceled", "%s was cut off before it ended; whether it had an effect is unknown", name)
	}
}
