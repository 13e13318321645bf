package decide

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/route"
)

// priorityJudged is above a drawn lot and the activity of the room, below whoever addresses the bot.
const priorityJudged = 20

// judged returns the judge's verdict on a message, an empty decision if there is none to be had. A question is taken from the route's budget and
// noted at the event in one swap before it is put, outside of any, and its answer is stored before anything is decided on it: the message is
// asked about once, whoever dies or races. What the question cost is spent whatever comes of it.
func judged(ctx context.Context, b *flow.Burst, m *flow.Message, memory *route.Stored) (chat.Decision, error) {
	settings, now, v := m.Route.Route.Activation.Judge, b.Clock.Now(), m.Event.Verdict
	until := now.Add(judge.Timeout + time.Second)
	switch {
	case v == nil && !memory.Judge.May(now, limits(settings)):
		return chat.Decision{}, nil
	case v == nil:
		return chat.Decision{}, question(ctx, b, m, settings, until)
	case !v.Done && now.Before(v.Until):
		// Another handler asks; what comes after this message waits for its answer.
		if err := b.Wait(ctx, min(v.Until.Sub(now), 250*time.Millisecond)); err != nil {
			return chat.Decision{}, err
		}
		return chat.Decision{}, flow.ErrAgain
	}
	d := chat.Decision{Effect: chat.EffectIgnore, Reason: "judge", By: byJudge, Urge: v.Urge, Threshold: settings.MinUrge}
	if v.Done && v.Speak && v.Urge >= settings.MinUrge {
		d.Effect, d.Priority, d.Delay = chat.EffectWake, priorityJudged, time.Duration(v.WaitMS)*time.Millisecond
	}
	return d, nil
}

// withheld reports whether a message that came to that is for no model's eyes.
func withheld(outcome string) bool {
	return outcome == flow.OutcomeRecalled || outcome == flow.OutcomeVetoed || outcome == flow.OutcomeBlocked
}

func limits(j config.Judge) route.Limits {
	return route.Limits{DailyBudget: j.DailyBudget, MinInterval: j.MinInterval.Duration(), Concurrency: j.Concurrency}
}

// question claims the question, puts it, and stores the answer. It ends in flow.ErrAgain: the decision is made on what is stored.
func question(ctx context.Context, b *flow.Burst, m *flow.Message, settings config.Judge, until time.Time) error {
	memory, err := b.Events.Route(ctx, m.Event.RouteID)
	if err != nil {
		return err
	}
	if !memory.Judge.Ask(b.Clock.Now(), until, limits(settings)) {
		return flow.ErrAgain // somebody spent it meanwhile
	}
	asked := m.AsRead // without what stages have made of it: they run again
	asked.Verdict = &chat.Verdict{Holder: b.NewID(), Until: until}
	err = b.Events.Commit(ctx, route.Change{Events: []chat.Stored{asked}, Route: &memory})
	if err != nil && !claimed(ctx, b, &asked) {
		return err
	}
	verdict := put(ctx, b, m, settings)
	verdict.Holder, verdict.Until, verdict.Done = asked.Verdict.Holder, until, true
	return answered(ctx, b, m.Event.Key, verdict)
}

// claimed reports whether a claim that was not confirmed was stored after all: its answer may have been lost on the way.
func claimed(ctx context.Context, b *flow.Burst, asked *chat.Stored) bool {
	e, err := b.Events.Event(ctx, asked.Key)
	return err == nil && e.Verdict != nil && e.Verdict.Holder == asked.Verdict.Holder
}

// put asks the model. Whatever goes wrong is a no: nobody who said nothing to the bot must see its errors.
func put(ctx context.Context, b *flow.Burst, m *flow.Message, settings config.Judge) chat.Verdict {
	q, err := shown(ctx, b, m, settings.Window)
	if err == nil {
		var a judge.Answer
		if a, err = b.Judge.Ask(ctx, settings.Model, q); err == nil {
			return chat.Verdict{Speak: a.Speak, Urge: a.Urge, WaitMS: int(a.Wait.Milliseconds()), Reason: a.Reason}
		}
	}
	m.Log.WarnContext(ctx, "the judge gave no answer, which means no", "error", err)
	return chat.Verdict{Reason: "no answer"}
}

// shown is the end of the conversation, whether it was recorded or not.
func shown(ctx context.Context, b *flow.Burst, m *flow.Message, window int) (judge.Question, error) {
	earlier, err := b.Events.RecentEvents(ctx, m.Event.RouteID, m.Event.At, window*2)
	if err != nil {
		return judge.Question{}, err
	}
	q := judge.Question{Names: m.Route.Route.Activation.Nicknames}
	for _, e := range append(earlier, m.Event) {
		if e.Kind != chat.KindMessage || withheld(e.Outcome) || (e.Key == m.Event.Key && !e.Revision.Equal(m.Event.Revision)) {
			continue
		}
		clean, err := b.Censor.Check(ctx, m.Route.Censor, censor.Inbound, e.Text)
		if err != nil {
			return judge.Question{}, err
		}
		if e.Text = clean.Text; !clean.Blocked {
			q.Lines = append(q.Lines, judge.Line{Sender: e.Sender.Name, Bot: e.Sender.Self, At: e.At.UTC().Format(time.TimeOnly), Text: e.Text})
		}
	}
	q.Lines = slices.Clone(q.Lines[max(0, len(q.Lines)-window):])
	return q, nil
}

// maxTries is how often an answer is stored: it was paid for.
const maxTries = 10

// answered stores the answer at its event and closes the question in the route's memory.
func answered(ctx context.Context, b *flow.Burst, key string, v chat.Verdict) error {
	var lost error
	for i := range maxTries {
		if i > 0 {
			if err := b.Wait(ctx, time.Duration(i)*20*time.Millisecond); err != nil {
				return err
			}
		}
		e, err := b.Events.Event(ctx, key)
		if err != nil {
			lost = err
			continue
		}
		if !e.Pending || e.Verdict == nil || e.Verdict.Done || e.Verdict.Holder != v.Holder {
			return flow.ErrAgain
		}
		memory, err := b.Events.Route(ctx, e.RouteID)
		if err != nil {
			lost = err
			continue
		}
		e.Verdict = &v
		memory.Judge.Answered(v.Until)
		if lost = b.Events.Commit(ctx, route.Change{Events: []chat.Stored{e}, Route: &memory}); lost == nil {
			return flow.ErrAgain
		}
	}
	return fmt.Errorf("store the judge's answer: %w", lost)
}
