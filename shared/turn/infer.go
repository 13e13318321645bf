package turn

import (
	"context"
	"fmt"
	"slices"

	"kesoku.dev/shared/model"
	"kesoku.dev/shared/turn/inference"
)

// infer asks the model for the live turn's next step. The lease is kept meanwhile, and an interruption ends it.
func (r *run) infer(ctx context.Context) (inference.Answer, error) {
	var a inference.Answer
	driver, name, err := r.Models.Lookup(r.s.Settings.Model)
	if err != nil {
		return a, &model.Fault{Kind: model.FaultRequest, Detail: err.Error(), Err: err}
	}
	persona, err := r.Roles.Intro(ctx, r.s.Settings.Role)
	if err != nil {
		return a, fmt.Errorf("persona of role %q: %w", r.s.Settings.Role, err)
	}
	prompt := inference.Prompt{Persona: persona, Session: &r.s, Messages: r.messages.InOrder(), Tools: r.tools()}
	err = r.watched(ctx, true, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, r.cfg.ModelTimeout)
		defer cancel()
		req, err := prompt.Request(ctx, name, r.Files, r.log)
		if err != nil {
			return err
		}
		a, err = inference.Attempt(ctx, driver, r.s.Settings.Model, req, r.failures.All()+1, errInterrupted)
		r.used.Prompt, r.used.Output = r.used.Prompt+a.Usage.Prompt, r.used.Output+a.Usage.Output
		return err
	})
	return a, err
}

// tools lists what the route allows.
func (r *run) tools() []model.Tool { return inference.Allowed(r.Specs, r.s.Settings.Tools) }

// offers reports whether the route allows a tool.
func (r *run) offers(name string) bool {
	return slices.ContainsFunc(r.tools(), func(t model.Tool) bool { return t.Name == name })
}
