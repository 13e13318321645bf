package outgoing

import (
	"context"
	"strings"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/render/compose"
)

// Turn is what a card is about.
type Turn struct {
	Number   int
	Live     bool
	End      *message.Message  // the output that ended it; nil while it runs, and where it ended without one
	Messages []message.Message // with all of its steps among them
	Params   map[string]string // of its buttons
}

// EndOf returns the output that ended the turn, or nil where it ended without one.
func EndOf(messages []message.Message, turn int) *message.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Turn == turn && m.Class().Flow() == message.FlowOutput {
			return m
		}
	}
	return nil
}

// Steps are the turn's thoughts, calls and results, in their order.
func Steps(messages []message.Message, turn int) []message.Message {
	var out []message.Message
	for _, m := range messages {
		if m.Turn == turn && m.Class().Flow() == message.FlowStep {
			out = append(out, m)
		}
	}
	return out
}

// Card is what people see of a turn: while it runs with a Stop button, after its end with what it cost.
func (v *View) Card(ctx context.Context, turn Turn, t locale.Texts) (*render.Card, error) {
	c := &render.Card{State: turn.state(), Earlier: t.EarlierSteps}
	steps := Steps(turn.Messages, turn.Number)
	shown, err := v.steps(ctx, steps, c.State == render.StateRunning, t)
	if err != nil {
		return nil, err
	}
	c.Steps, c.Fold = shown, t.Fold(len(shown))
	switch c.State {
	case render.StateRunning:
		c.Title = t.Working()
		if len(steps) == 0 {
			c.Title = t.Thinking()
		}
		c.Button = v.Registry.Button(compose.ActionStop, t, turn.Params)
	case render.StateDone:
		c.Title = t.Done()
	case render.StateFailed:
		c.Title = t.Failed()
	case render.StateStopped:
		c.Title = t.Stopped()
	}
	if turn.End != nil && turn.End.Metadata.TurnMetrics != nil {
		c.Footer = t.Footer(*turn.End.Metadata.TurnMetrics)
	}
	return c, nil
}

func (t Turn) state() render.State {
	switch {
	case t.End == nil && t.Live:
		return render.StateRunning
	case t.End == nil:
		return render.StateStopped
	}
	switch t.End.Class() {
	case message.ClassFinalReply:
		return render.StateDone
	case message.ClassCrashNotice:
		return render.StateFailed
	default:
		return render.StateStopped
	}
}

// Bounds of a step's texts, in runes: a card is a glance, the record has the whole.
const (
	maxName    = 64
	maxThought = 1200
	maxArgs    = 300
	maxResult  = 240
)

// steps pairs calls with their results and leaves out what the route hides. A call without a result runs while the turn does, and was interrupted
// after it or before a later step.
func (v *View) steps(ctx context.Context, steps []message.Message, live bool, t locale.Texts) ([]render.Step, error) {
	results := map[string]message.Message{}
	last := 0
	for _, m := range steps {
		last = max(last, m.Step)
		if m.Type == message.TypeToolResult {
			results[m.ParentID] = m
		}
	}
	var out []render.Step
	for _, m := range steps {
		var s render.Step
		var err error
		switch {
		case m.Type == message.TypeThought && v.render.Thoughts != config.ShowHidden && strings.TrimSpace(m.Content) != "":
			s = render.Step{Kind: render.StepThought, State: render.StateDone, Title: t.Thought()}
			s.Detail, err = v.line(ctx, strings.TrimSpace(m.Content), maxThought, t)
		case m.Type == message.TypeToolCall && v.render.Tools != config.ShowHidden:
			result, ended := results[m.ID]
			s, err = v.tool(ctx, m, result, ended, live && m.Step == last && m.Status != message.StatusInterrupted, t)
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// tool shows a call with its result, if it has ended.
func (v *View) tool(ctx context.Context, call, result message.Message, ended, running bool, t locale.Texts) (render.Step, error) {
	title, err := v.line(ctx, call.Metadata.ToolName, maxName, t) // the model may have made it up
	if err != nil {
		return render.Step{}, err
	}
	s := render.Step{Kind: render.StepTool, State: render.StateRunning, Title: title}
	detail, line := v.Registry.Display(compose.ToolCall{
		Name: call.Metadata.ToolName, Arguments: string(call.Metadata.ToolArguments), Result: result.Metadata.ToolResult,
	})
	detail, err = v.line(ctx, detail, maxArgs, t)
	if err != nil {
		return render.Step{}, err
	}
	s.Detail = detail
	switch {
	case ended && result.Metadata.ToolFailed:
		// What went wrong is for the model; it may hold what people should not read in a card.
		s.State, s.Result = render.StateFailed, t.ToolFailed()
	case ended:
		s.State = render.StateDone
		s.Result, err = v.line(ctx, line, maxResult, t)
	case !running:
		s.State, s.Result = render.StateFailed, t.Interrupted()
	}
	return s, err
}

// line judges a text of a card and bounds it: in this order, lest half of what a pattern would have rewritten is shown. What is blocked is told as such.
func (v *View) line(ctx context.Context, text string, runes int, t locale.Texts) (string, error) {
	if text == "" {
		return "", nil
	}
	key := t.Tag() + text
	known, ok := v.judged[key]
	if !ok {
		res, err := v.Gate.Check(ctx, v.censor, censor.Outbound, text)
		switch {
		case errs.KindOf(err) == errs.KindPermanent, res.Blocked:
			known = t.Censored() // a card is no reason to hold up a reply
		case err != nil:
			return "", err
		default:
			known = res.Text
		}
		v.judged[key] = known
	}
	return bound(known, runes), nil
}

func bound(text string, runes int) string {
	r := []rune(text)
	if len(r) <= runes {
		return text
	}
	return string(r[:runes-1]) + "…"
}
