package intake

import (
	"context"

	"kesoku.dev/shared/censor"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// Censor checks what people wrote before it is stored (P11). A message that is blocked goes no further; whoever waited for an answer is told.
func Censor(ctx context.Context, b *flow.Burst) error {
	waker := b.Waker()
	for _, m := range b.Messages {
		if !m.Live() {
			continue
		}
		clean, err := b.Censor.Check(ctx, m.Route.Censor, censor.Inbound, m.Event.Text)
		if err != nil {
			return err
		}
		m.Event.Text = clean.Text
		if clean.Blocked {
			if m != waker && m.Wakes() {
				b.Notices = append(b.Notices, flow.Notice{ThreadID: m.Event.ThreadID, Text: b.Texts(m).NotPassedOn()})
			}
			m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: "censor", By: "censor"}
			m.Drop(flow.OutcomeBlocked)
		}
	}
	if waker == nil || waker.Live() {
		return nil
	}
	if b.Waker() != nil {
		b.Notices = append(b.Notices, flow.Notice{ThreadID: waker.Event.ThreadID, Text: b.Texts(waker).NotPassedOn()})
		return nil
	}
	for _, m := range b.Messages {
		if m.Live() {
			m.Drop(flow.OutcomeIgnored) // it was to be answered along with what is blocked
		}
	}
	return b.Tell(ctx, waker, flow.OutcomeBlocked, func(*session.Draft) bool { return true }, b.Texts(waker).NotPassedOn())
}
