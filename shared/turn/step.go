package turn

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/tool"
	"kesoku.dev/shared/turn/inference"
)

// maxCalls bounds the calls of one step; those beyond it are left out, as if the model had not made them.
const maxCalls = 32

// step stores the thought and all calls, runs the calls, and stores all results. Between the two commits a crash leaves calls without
// results, which the next holder shows the model as interrupted and never runs again.
func (r *run) step(ctx context.Context, a inference.Answer) error {
	if len(a.Calls) > maxCalls {
		a.Calls = a.Calls[:maxCalls]
	}
	stored, err := r.storeCalls(ctx, a)
	if err != nil {
		return err
	}
	r.failures = nil
	if err := r.deliver(ctx); err != nil {
		return err
	}
	scope := tool.Scope{SessionID: r.id, ConversationKey: r.s.ConversationKey, Now: r.Clock.Now()}
	var outcomes []message.Outcome
	err = r.watched(ctx, false, func(ctx context.Context) error {
		outcomes = r.runCalls(ctx, scope, a.Calls)
		return ctx.Err() // outcomes of a handler whose time is over are not the tools' own
	})
	if err != nil {
		return fmt.Errorf("tools of session %s: %w", r.id, err)
	}
	if err := r.storeResults(ctx, stored, outcomes); err != nil {
		return err
	}
	return r.deliver(ctx)
}

// runCalls refuses what the route does not offer and has the toolbox run the rest.
func (r *run) runCalls(ctx context.Context, scope tool.Scope, calls []message.Call) []message.Outcome {
	out := make([]message.Outcome, len(calls))
	var offered []message.Call
	var at []int
	for i, c := range calls {
		if r.offers(c.Name) {
			offered, at = append(offered, c), append(at, i)
			continue
		}
		r.log.WarnContext(ctx, "the model called a tool that the route does not offer", "tool", inference.Known(r.Specs, c.Name))
		out[i] = message.Outcome{CallID: c.ID, Name: c.Name, Failed: true,
			Content: fmt.Sprintf("There is no tool %q here. Use only the tools you were given.", c.Name)}
	}
	for i, o := range r.Toolbox.Run(ctx, scope, offered) {
		out[at[i]] = o
	}
	return out
}

// storeCalls commits thought and calls before any of them runs. An interruption that came meanwhile wins: nothing is stored.
func (r *run) storeCalls(ctx context.Context, a inference.Answer) (calls []message.Message, err error) {
	err = r.change(ctx, func(d *session.Draft) error {
		if d.Interrupted() {
			return errInterrupted
		}
		calls = nil
		step := d.Turn.Step + 1
		r.thoughtIn(d, a, step)
		for i, c := range a.Calls {
			calls = append(calls, d.Create(r.author().ToolCall(r.spot(step, i), callText(c), c)))
		}
		d.Stored(step, len(a.Calls))
		d.Spent(a.Usage.Prompt, a.Usage.Total)
		return nil
	})
	return calls, err
}

// thoughtIn stores what the model thought, and what it said besides its calls, as the step's thought.
func (r *run) thoughtIn(d *session.Draft, a inference.Answer, step int) {
	text := a.Thought
	if len(a.Calls) > 0 && !a.Blank() {
		text = strings.TrimLeft(text+"\n\n"+strings.TrimSpace(a.Text), "\n")
	}
	if strings.TrimSpace(text) == "" && len(a.ThoughtSignature) == 0 {
		return
	}
	d.Create(r.author().Thought(r.spot(step, 0), text, a.ThoughtSignature))
}

// storeResults commits all results together, and lets what waits join behind them.
func (r *run) storeResults(ctx context.Context, calls []message.Message, outcomes []message.Outcome) error {
	return r.change(ctx, func(d *session.Draft) error {
		for i, o := range outcomes {
			at := r.spot(calls[i].Step, calls[i].Ordinal)
			at.ParentID = calls[i].ID
			d.Create(r.author().ToolResult(at, o))
		}
		if d.Turn.Stopped {
			return nil
		}
		return r.joinIn(ctx, d, calls[0].Step)
	})
}

// callText is a call as people and plain logs read it.
func callText(c message.Call) string {
	args := string(c.Arguments)
	if len(args) > 2000 {
		args = strings.ToValidUTF8(args[:2000], "") + "…"
	}
	if !utf8.ValidString(args) {
		args = strings.ToValidUTF8(args, "�")
	}
	return fmt.Sprintf("Calling tool `%s` with arguments:\n```json\n%s\n```", c.Name, args)
}
