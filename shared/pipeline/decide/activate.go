// Package decide holds the stages that decide on messages: may they be looked at at all, does anybody want them answered, and when. The deciders
// themselves are package activation's and judge's.
package decide

import (
	"context"
	"slices"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline/activation"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/route"
)

// Names of the deciders, in the order in which they are asked.
const (
	byRule     = "rule"
	byActivity = "activity"
	byJudge    = "judge"
)

// Deciders lists the deciders that there are, in the order in which they are asked.
func Deciders() []string { return []string{byRule, byActivity, byJudge} }

// Activate asks the deciders that the route uses about each message (P4). A message whose decision was held needs none. What joined a burst
// that wakes is answered with it, unless it is nobody's business.
func Activate(ctx context.Context, b *flow.Burst) error {
	for _, m := range b.Messages {
		if !m.Live() || m.Event.HeldUntil != nil {
			continue
		}
		if err := decide(ctx, b, m); err != nil {
			return err
		}
	}
	waker := b.Waker()
	for _, m := range b.Messages {
		if m.Live() && waker == nil && m.Decision.Reason == flow.ReasonMerged {
			m.Decision.Effect = chat.EffectObserve // what it was to be answered with is gone
		}
		switch {
		case !m.Live():
		case m.Decision.Effect == chat.EffectWake:
			m.Decision.Busy = m.Route.Route.Observe.MidTurn
		case waker != nil && mayJoin(m.Decision):
			m.Decision = chat.Decision{
				Effect: chat.EffectWake, Priority: m.Decision.Priority, Reason: flow.ReasonMerged, By: waker.Decision.By, Busy: waker.Route.Route.Observe.MidTurn,
				Urge: m.Decision.Urge, Threshold: m.Decision.Threshold,
			}
		case m.Decision.Effect != chat.EffectObserve || m.Route.Route.Observe.Mode != "quiet":
			m.Drop(flow.OutcomeIgnored)
		}
	}
	return nil
}

// mayJoin reports whether a message that wakes nobody may be answered with one that does: one that the rules leave to others, not one that they
// refuse.
func mayJoin(d chat.Decision) bool {
	return d.Effect == chat.EffectObserve || d.Reason == activation.ReasonNone
}

// decide asks the deciders about one message and notes in the route's memory what it will be remembered for.
func decide(ctx context.Context, b *flow.Burst, m *flow.Message) error {
	a, e := m.Route.Route.Activation, &m.Event
	peer := e.Sender.Type != chat.SenderHuman && !e.Sender.Self
	var memory *route.Stored
	if peer || a.MsgCooldown > 0 || slices.Contains(a.Use, byActivity) || slices.Contains(a.Use, byJudge) {
		var err error
		if memory, err = b.Remember(ctx); err != nil {
			return err
		}
	}
	verdicts, err := ask(ctx, b, m, memory)
	if err != nil {
		return err
	}
	m.Decision = chat.Choose(verdicts)
	if peer && m.Decision.Effect == chat.EffectWake {
		b.Changed = true
		if memory.Looping(e.Sender.ID, e.At) {
			m.Log.WarnContext(ctx, "a bot is not answered: it answers us without end", "sender", e.Sender.ID)
			m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "bot_loop", By: byRule}
		} else {
			memory.Replied(e.Sender.ID, e.At)
		}
	}
	if e.Sender.Self && m.Decision.Effect == chat.EffectWake {
		m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "self", By: byRule} // whatever is configured: nobody answers himself (P18)
	}
	if m.Decision.Effect == chat.EffectWake && memory != nil {
		memory.Woke(e.At)
		b.Changed = true
	}
	if m.Decision.Reason == activation.ReasonNone && m.Route.Route.Observe.Mode == "quiet" {
		m.Decision.Effect = chat.EffectObserve // what wakes nobody is recorded where the route listens (P9)
	}
	return nil
}

// ask collects the verdicts of the deciders that the route uses.
func ask(ctx context.Context, b *flow.Burst, m *flow.Message, memory *route.Stored) ([]chat.Decision, error) {
	a, e := m.Route.Route.Activation, &m.Event
	var verdicts []chat.Decision
	var urge, threshold float64
	if slices.Contains(a.Use, byRule) {
		verdicts = append(verdicts, cooled(activation.Rule{Draw: func() float64 { return e.Draw("random") }}.Decide(&e.Event, a), a, memory, e.At))
	}
	if slices.Contains(a.Use, byActivity) && !e.Direct {
		b.Changed = true
		d, reading, speaks := activation.Activity{}.Decide(&e.Event, a, &memory.Room, e.Draw("activity"))
		urge, threshold = reading.Urge, reading.Threshold
		if speaks {
			verdicts = append(verdicts, d)
		}
	}
	if slices.Contains(a.Use, byJudge) && !e.Sender.Self && mayAsk(verdicts) {
		d, err := judged(ctx, b, m, memory)
		if err != nil {
			return nil, err
		}
		if d.By != "" {
			urge, threshold = d.Urge, d.Threshold
		}
		if wakes(d) {
			verdicts = append(verdicts, d)
		}
	}
	for i := range verdicts {
		if verdicts[i].Urge == 0 {
			verdicts[i].Urge, verdicts[i].Threshold = urge, threshold
		}
	}
	return verdicts, nil
}

func wakes(d chat.Decision) bool { return d.Effect == chat.EffectWake }

// mayAsk reports whether a message may be put to the judge: not if it wakes anyway by more than the judge could say, nor if the rules refuse it or
// let it pass for its cooldown.
func mayAsk(verdicts []chat.Decision) bool {
	return !slices.ContainsFunc(verdicts, func(d chat.Decision) bool {
		if wakes(d) {
			return d.Priority >= priorityJudged
		}
		return d.By == byRule && d.Reason != activation.ReasonNone
	})
}

// cooled is a rule's verdict after the cooldown (P6): a wake within it is only observed.
func cooled(d chat.Decision, a config.Activation, memory *route.Stored, at time.Time) chat.Decision {
	if d.Effect == chat.EffectWake && memory != nil && memory.Cooling(at, time.Duration(a.MsgCooldown)*time.Second) {
		d.Effect, d.Priority, d.Reason = chat.EffectObserve, 0, "cooldown"
	}
	return d
}
