// Package control settles the events that are no messages: the app came or went, somebody pressed a button, changed or took back what they wrote.
package control

import (
	"context"
	"errors"
	"regexp"
	"strconv"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/pipeline/decide"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// Control settles what is no message to decide on.
func Control(ctx context.Context, b *flow.Burst) error {
	m := b.Messages[0]
	m.Decision = chat.Decision{Effect: chat.EffectIgnore, Reason: string(m.Event.Kind), By: "control"}
	switch m.Event.Kind {
	case chat.KindJoined:
		return joined(ctx, b, m)
	case chat.KindLeft:
		if err := b.Spaces.Left(ctx, m.Event.RouteID, m.Event.At); err != nil {
			return err
		}
	case chat.KindAction:
		return press(ctx, b, m)
	case chat.KindEdited:
		return edited(ctx, b, m)
	case chat.KindDeleted:
		return deleted(ctx, b, m)
	case chat.KindCommand:
		m.Decision.By = "rule" // whose third one leaves commands to those who run them
	default:
		return errs.Permanentf("unknown kind of event %q", m.Event.Kind)
	}
	m.Drop(flow.OutcomeIgnored)
	return b.End(ctx)
}

// joined notes that the app is in a channel and greets who is there.
func joined(ctx context.Context, b *flow.Burst, m *flow.Message) error {
	if err := b.Spaces.Joined(ctx, m.Event.RouteID, m.Event.At); err != nil {
		return err
	}
	if err := decide.Engine(ctx, b); err != nil || !m.Live() {
		return errors.Join(err, b.End(ctx)) // whom nobody will answer nobody greets
	}
	text := b.Texts(m).WelcomeRoom()
	if m.Event.Direct {
		text = b.Texts(m).WelcomeDirect()
	}
	return b.Tell(ctx, m, flow.OutcomeWelcomed, func(*session.Draft) bool { return true }, text)
}

// sessionID is the form of our sessions' ids. Reading a document by a name like "a/b" fails for ever, and would hold up the route as long.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// press does what a pressed button asks for. The only button is Stop; it names a session and a turn, which must be the channel's own.
func press(ctx context.Context, b *flow.Burst, m *flow.Message) error {
	a := m.Event.Action
	turn, err := strconv.Atoi(a.Params["turn"])
	if a.Name != "stop" || !sessionID.MatchString(a.Params["session"]) || err != nil {
		m.Log.WarnContext(ctx, "unknown action", "action", a.Name)
		m.Drop(flow.OutcomeIgnored)
		return b.End(ctx)
	}
	b.Ledger = b.Conversations.Session(a.Params["session"])
	s, err := b.Ledger.Load(ctx)
	if errors.Is(err, errs.ErrNotFound) || (err == nil && s.RouteID != m.Event.RouteID) {
		m.Log.WarnContext(ctx, "stop refused: the session is not this channel's", "session", a.Params["session"])
		m.Drop(flow.OutcomeIgnored)
		return b.End(ctx)
	}
	if err != nil {
		return err
	}
	err = b.Commit(ctx, func(d *session.Draft) ([]chat.Stored, error) {
		if !d.StopTurn(turn, m.Event.Sender.Name) {
			return nil, errTooLate
		}
		return []chat.Stored{m.Settled(flow.OutcomeStopped, d.ID)}, nil
	})
	if errors.Is(err, errTooLate) {
		m.Drop(flow.OutcomeTooLate)
		return b.End(ctx)
	}
	return err
}

var errTooLate = errors.New("the turn is over")
