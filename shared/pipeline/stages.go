package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/pipeline/control"
	"kesoku.dev/shared/pipeline/decide"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/pipeline/intake"
	"kesoku.dev/shared/telemetry"
)

// stages is the pipeline, in the order in which a burst of messages goes through it; most bursts are one message. A stage may drop messages,
// which ends their way, settle the burst, which ends it for all, or change what later stages see. Duplicates (P1) are dropped before all of
// them: a second event with the same key is never stored, and one that is settled is not pending. What is no message goes its own way, control.
var stages = []struct {
	name string
	run  func(context.Context, *flow.Burst) error
}{
	{"veto", decide.Veto},         // P2
	{"engine", decide.Engine},     // P3
	{"activate", decide.Activate}, // P4 to P8
	{"hold", decide.Hold},         // P10: a decision that waits
	{"censor", intake.Censor},     // P11
	{"observe", intake.Observe},   // P9: what wakes nobody
	{"model", intake.Model},       // P13
	{"bind", intake.Bind},         // P14
	{"backfill", intake.Backfill}, // P9: what was said before
	{"media", intake.Media},       // L1: attachments are copied before the prompt is stored
	{"accept", intake.Accept},     // P15, P16
}

// Closes tells when the bursts of pending events will have waited long enough, by the events' keys; what need not wait is not in it.
func Closes(active *config.Config, pending []chat.Stored) map[string]time.Time {
	at := map[string]time.Time{}
	resolve := func(e *chat.Stored) config.Resolved { return active.Resolve(config.FactsOf(&e.Event)) }
	for _, b := range bursts(resolve, pending) {
		if closes := b.ClosesAt(); !closes.IsZero() {
			for _, m := range b.Messages {
				at[m.Event.Key] = closes
			}
		}
	}
	return at
}

// bursts groups pending events, given in their order. A message begins a burst of its own, unless one of its conversation is open.
func bursts(resolve func(*chat.Stored) config.Resolved, pending []chat.Stored) []*flow.Burst {
	var all []*flow.Burst
	open := map[string]*flow.Burst{}
	for _, e := range pending {
		resolved := resolve(&e)
		m := &flow.Message{AsRead: e, Event: e, Route: resolved}
		if e.HeldUntil != nil {
			m.Decision = e.Decision
		}
		key := ""
		if e.Kind == chat.KindMessage {
			binding := resolved.Route.Binding()
			key = binding.ConversationKey(&e.Event)
		}
		if b := open[key]; key != "" && b != nil && b.Waits() && len(b.Messages) < flow.MaxMessages {
			b.Messages = append(b.Messages, m)
			continue
		}
		b := &flow.Burst{Messages: []*flow.Message{m}, Key: key}
		all, open[key] = append(all, b), b
	}
	return all
}

// ready gives a burst what it works with.
func (p *Pipeline) ready(ctx context.Context, b *flow.Burst) {
	b.Deps = &p.Deps
	for _, m := range b.Messages {
		m.Log = p.Log.With("event", m.Event.Key, "route", m.Event.RouteID)
		p.diagnose(ctx, m.Route)
	}
}

// diagnose logs what an operator should mend in the rules, each thing once an instance.
func (p *Pipeline) diagnose(ctx context.Context, r config.Resolved) {
	for _, d := range r.Diagnostics {
		if _, told := p.diagnosed.LoadOrStore(d, true); !told {
			p.Log.WarnContext(ctx, "rules: "+d.Says, "rule", d.Rule)
		}
	}
}

// settle takes a burst to its end. A message that fails for good must not hold up its route for ever, nor take the rest of its burst along.
func settle(ctx context.Context, b *flow.Burst) error {
	err := run(ctx, b)
	if errs.KindOf(err) != errs.KindPermanent && !hopeless(ctx, b, err) {
		return err
	}
	for _, m := range b.Messages {
		m.Event = m.AsRead // what was tried may be what cannot be stored
	}
	log := b.Messages[0].Log
	if len(b.Messages) == 1 {
		log.ErrorContext(ctx, "event failed for good", "error", err)
		b.Changed, b.Earlier, b.Notices = false, nil, nil
		b.Messages[0].Drop(flow.OutcomeFailed)
		return b.End(ctx)
	}
	log.WarnContext(ctx, "a burst failed for good: its messages are taken one by one", "error", err)
	for _, m := range b.Messages {
		alone := &flow.Message{AsRead: m.AsRead, Event: m.AsRead, Route: m.Route, Log: m.Log}
		if m.AsRead.HeldUntil != nil {
			alone.Decision = m.AsRead.Decision
		}
		if err := settle(ctx, &flow.Burst{Deps: b.Deps, Messages: []*flow.Message{alone}, Key: b.Key}); err != nil {
			return err
		}
	}
	return nil
}

// patience is how long a burst is tried: whatever fails for longer must not hold up its route.
const patience = 30 * time.Minute

// hopeless reports whether a failure that may pass has been failing for too long.
func hopeless(ctx context.Context, b *flow.Burst, err error) bool {
	if err == nil || ctx.Err() != nil || errors.Is(err, flow.ErrAgain) || errors.Is(err, errs.ErrConflict) {
		return false
	}
	return b.Clock.Now().Sub(b.Messages[0].AsRead.ReceivedAt) > patience
}

// run takes a burst through the stages, within a span that says what was decided.
func run(ctx context.Context, b *flow.Burst) (err error) {
	ctx, end := telemetry.Start(ctx, telemetry.SpanSettle, telemetry.KeyMessages.Int(len(b.Messages)))
	defer func() {
		if errors.Is(err, flow.ErrAgain) || errors.Is(err, errs.ErrConflict) {
			end(nil) // no failure: somebody was faster, or the next look goes on
			return
		}
		end(&err)
	}()
	if b.Key == "" {
		return control.Control(ctx, b)
	}
	for _, s := range stages {
		b.Begin(s.name)
		err := s.run(ctx, b)
		b.Ran()
		if err != nil {
			return fmt.Errorf("stage %s: %w", s.name, err)
		}
		if !b.Settled && b.First() == nil {
			err = b.End(ctx)
		}
		if err != nil || b.Settled {
			return err
		}
	}
	return errs.Permanentf("event %s went through all stages without a verdict", b.Messages[0].Event.Key)
}
