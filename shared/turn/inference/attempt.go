package inference

import (
	"context"
	"errors"
	"slices"
	"strings"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/telemetry"
)

// Attempt asks a model (provider:model) within a span of its own; attempt counts from 1. A call that was cut short for the cause interrupted is no
// fault of the model's.
func Attempt(ctx context.Context, driver model.Driver, name string, req model.Request, attempt int, interrupted error) (Answer, error) {
	provider, _, _ := strings.Cut(name, ":")
	ctx, end := telemetry.Call(ctx, telemetry.SpanChat(req.Model), telemetry.OfChat(provider, req.Model)...)
	defer end(nil)
	a, err := Ask(ctx, driver, req)
	telemetry.Note(ctx, telemetry.KeyAttempt.Int(attempt), telemetry.KeyInputTokens.Int(a.Usage.Prompt), telemetry.KeyOutputTokens.Int(a.Usage.Output))
	if a.Finish != "" {
		telemetry.Note(ctx, telemetry.KeyFinishReasons.StringSlice([]string{string(a.Finish)}))
	}
	var fault *model.Fault
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), interrupted):
		telemetry.Note(ctx, telemetry.KeyOutcome.String("interrupted"))
	case errors.As(err, &fault):
		telemetry.Fail(ctx, string(fault.Kind))
	default:
		telemetry.Fail(ctx, telemetry.ErrorType(err))
	}
	return a, err
}

// Allowed are the tools that a route allows, by their names; no names mean all.
func Allowed(all []model.Tool, names []string) []model.Tool {
	if len(names) == 0 {
		return all
	}
	var out []model.Tool
	for _, t := range all {
		if slices.Contains(names, t.Name) {
			out = append(out, t)
		}
	}
	return out
}

// Known is a tool's name for logs: one that a model made up may be a piece of the conversation.
func Known(all []model.Tool, name string) string {
	if len(Allowed(all, []string{name})) == 0 {
		return "_OTHER"
	}
	return name
}
