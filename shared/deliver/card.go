package deliver

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/session"
)

// ActionStop is the action of a card's Stop button; its params are session and turn.
const ActionStop = "stop"

// ridingCard is the card that goes along with a turn's end: where none stands yet, a reply brings its metrics and a turn with steps its
// steps.
func (r *run) ridingCard(m message.Message) (render.Card, bool) {
	c := r.s.Outbox.Card
	if !r.adapter.Features().Steps || m.Turn == 0 || c.Turn > m.Turn || (c.Turn == m.Turn && !r.onlyPromised(c)) {
		return render.Card{}, false
	}
	steps := r.steps(m.Turn)
	if m.Class() != message.ClassFinalReply && len(steps) == 0 {
		return render.Card{}, false
	}
	return r.card(m.Turn, steps, &m), true
}

// showSteps creates or edits the card of the live turn, with all its steps so far.
func (r *run) showSteps(ctx context.Context) error {
	turn, seq := r.liveTurn(), r.s.Seq
	if !r.adapter.Features().Steps {
		return r.hideSteps(ctx, turn, seq)
	}
	steps := r.steps(turn)
	shown := r.card(turn, steps, nil)
	next := r.s.Outbox.Card
	if next.Turn != turn {
		return r.promise(ctx, turn)
	}
	if !next.Final {
		if err := r.put(ctx, next, &shown); err != nil {
			return r.cardFailed(ctx, next, err)
		}
	}
	next.Revision++
	return r.change(ctx, func(d *session.Draft) error {
		d.Outbox.Card, d.Outbox.LastWrite = next, r.Clock.Now()
		d.Outbox.Cursor = max(d.Outbox.Cursor, r.lastBeforeOutput(seq))
		return r.shown(d, turn, seq)
	})
}

// promise notes the card of the live turn before it is created. Whoever takes over then knows of a card that may stand already; it would
// claim for ever to be at work otherwise.
func (r *run) promise(ctx context.Context, turn int) error {
	card := session.Card{Turn: turn, ID: key(r.id, "card", turn), FirstSeq: r.firstSeq(turn)}
	err := r.change(ctx, func(d *session.Draft) error {
		d.Outbox.Card = card
		return nil
	})
	if err == nil {
		r.promised = card.ID
	}
	return err
}

// onlyPromised reports whether the card certainly does not stand: this very run has promised it, and not created it yet.
func (r *run) onlyPromised(c session.Card) bool {
	return c.Revision == 0 && c.ID == r.promised && !c.Final
}

// put makes the card on the platform look as shown. One that was promised by another run is created and then edited, since the creation finds
// a card that stands already, and that one looks as it did then.
func (r *run) put(ctx context.Context, c session.Card, shown *render.Card) error {
	if c.Revision == 0 {
		mine := r.onlyPromised(c)
		post := platform.Post{
			To:  platform.Address{ChannelID: r.s.ChannelID, ThreadID: r.threadOf(c.Turn)},
			Key: key(r.id, "create card", c.Turn), ID: c.ID, Card: shown,
		}
		r.promised = "" // from here on it may stand
		if _, err := r.create(ctx, post); err != nil || mine {
			return err
		}
	}
	return r.edit(ctx, c, shown)
}

// threadOf is where a turn's messages belong.
func (r *run) threadOf(turn int) string {
	if turn == r.liveTurn() {
		return r.s.Turn.ThreadID
	}
	for _, m := range r.messages {
		if m.Turn == turn && m.Metadata.ThreadID != "" {
			return m.Metadata.ThreadID
		}
	}
	return ""
}

// hideSteps marks steps as dealt with on a platform that shows none.
func (r *run) hideSteps(ctx context.Context, turn int, seq int64) error {
	return r.change(ctx, func(d *session.Draft) error {
		d.Outbox.Card = session.Card{Turn: turn, Final: true}
		d.Outbox.Cursor = max(d.Outbox.Cursor, r.lastBeforeOutput(seq))
		return r.shown(d, turn, seq)
	})
}

// lastBeforeOutput is the seq up to which the card speaks for everything: an output that came meanwhile is still to be sent.
func (r *run) lastBeforeOutput(seq int64) int64 {
	for _, m := range r.messages {
		if m.Seq <= seq && m.Seq > r.s.Outbox.Cursor && m.Status == message.StatusPending {
			return m.Seq - 1
		}
	}
	return seq
}

// firstSeq is the seq from which on the turn's steps are found.
func (r *run) firstSeq(turn int) int64 {
	for _, m := range r.messages {
		if m.Turn == turn {
			return m.Seq
		}
	}
	return r.s.Seq + 1
}

// closeCard shows on the standing card how its turn ended.
func (r *run) closeCard(ctx context.Context) error {
	next := r.s.Outbox.Card
	end := r.endOf(next.Turn)
	if !r.onlyPromised(next) {
		shown := r.card(next.Turn, r.steps(next.Turn), end)
		if err := r.put(ctx, next, &shown); err != nil {
			return r.cardFailed(ctx, next, err)
		}
		next.Revision++
	}
	next.Final = true
	return r.change(ctx, func(d *session.Draft) error {
		if err := r.shown(d, next.Turn, d.Seq); err != nil {
			return err
		}
		d.Outbox.Card, d.Outbox.LastWrite = next, r.Clock.Now()
		return nil
	})
}

// cardFailed gives a card up that can never be written, since it is gone or refused: the reply matters more than its card.
func (r *run) cardFailed(ctx context.Context, c session.Card, cause error) error {
	if !errors.Is(cause, errs.ErrNotFound) && errs.KindOf(cause) != errs.KindPermanent {
		return cause
	}
	r.log.WarnContext(ctx, "card given up", "turn", c.Turn, "error", cause)
	c.Final = true
	return r.change(ctx, func(d *session.Draft) error {
		d.Outbox.Card = c
		return nil
	})
}

func (r *run) edit(ctx context.Context, c session.Card, shown *render.Card) error {
	return r.write(ctx, func() error { return r.adapter.Edit(ctx, r.s.ChannelID, c.ID, shown) })
}

// endOf returns the output that ended the turn, or nil where it ended without one.
func (r *run) endOf(turn int) *message.Message {
	for i := len(r.messages) - 1; i >= 0; i-- {
		m := &r.messages[i]
		if m.Turn == turn && m.Class().Flow() == message.FlowOutput {
			return m
		}
	}
	return nil
}

// steps are the turn's thoughts, calls and results, in their order.
func (r *run) steps(turn int) []message.Message {
	var out []message.Message
	for _, m := range r.messages {
		if m.Turn == turn && m.Class().Flow() == message.FlowStep {
			out = append(out, m)
		}
	}
	return out
}

// card is what people see of a turn: while it runs with a Stop button, after its end with what it cost.
func (r *run) card(turn int, steps []message.Message, end *message.Message) render.Card {
	t := r.textsOf(turn)
	c := render.Card{State: r.stateOf(turn, end), Earlier: t.EarlierSteps}
	live := c.State == render.StateRunning
	c.Steps = stepsOf(steps, live, t)
	c.Fold = t.Fold(len(c.Steps))
	switch c.State {
	case render.StateRunning:
		c.Title = t.Working()
		if len(steps) == 0 {
			c.Title = t.Thinking()
		}
		c.Button = &render.Button{Label: t.Stop(), Action: ActionStop, Params: map[string]string{"session": r.id, "turn": strconv.Itoa(turn)}}
	case render.StateDone:
		c.Title = t.Done()
	case render.StateFailed:
		c.Title = t.Failed()
	case render.StateStopped:
		c.Title = t.Stopped()
	}
	if end != nil && end.Metadata.TurnMetrics != nil {
		c.Footer = t.Footer(*end.Metadata.TurnMetrics)
	}
	return c
}

func (r *run) stateOf(turn int, end *message.Message) render.State {
	switch {
	case end == nil && turn == r.liveTurn():
		return render.StateRunning
	case end == nil:
		return render.StateStopped
	}
	switch end.Class() {
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
	maxThought = 1200
	maxArgs    = 300
	maxResult  = 240
)

// stepsOf pairs calls with their results. A call without one runs while the turn does, and was interrupted after it or before a later step.
func stepsOf(steps []message.Message, live bool, t locale.Texts) []render.Step {
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
		switch m.Type {
		case message.TypeThought:
			if text := strings.TrimSpace(m.Content); text != "" {
				out = append(out, render.Step{Kind: render.StepThought, State: render.StateDone, Title: t.Thought(), Detail: bound(text, maxThought)})
			}
		case message.TypeToolCall:
			s := render.Step{Kind: render.StepTool, State: render.StateRunning, Title: m.Metadata.ToolName, Detail: bound(string(m.Metadata.ToolArguments), maxArgs)}
			switch res, ok := results[m.ID]; {
			case ok && res.Metadata.ToolFailed:
				// What went wrong is for the model; it may hold what people should not read in a card.
				s.State, s.Result = render.StateFailed, t.ToolFailed()
			case ok:
				s.State, s.Result = render.StateDone, bound(res.Metadata.ToolResult, maxResult)
			case !live || m.Step < last || m.Status == message.StatusInterrupted:
				s.State, s.Result = render.StateFailed, t.Interrupted()
			}
			out = append(out, s)
		case message.TypeText, message.TypeToolResult:
		}
	}
	return out
}

func bound(text string, runes int) string {
	r := []rune(text)
	if len(r) <= runes {
		return text
	}
	return string(r[:runes-1]) + "…"
}
