package pipeline

import (
	"context"
	"errors"
	"regexp"
	"strconv"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
)

// control settles what is no message to decide on.
func (f *flow) control(ctx context.Context) error {
	f.decision = chat.Decision{Effect: chat.EffectIgnore, Reason: string(f.event.Kind), By: "control"}
	switch f.event.Kind {
	case chat.KindMessage, chat.KindCommand:
		return nil
	case chat.KindJoined:
		if f.route.Engine == engineOff {
			return nil // whom nobody will answer nobody greets
		}
		f.open()
		text := f.texts().WelcomeRoom()
		if f.event.Direct {
			text = f.texts().WelcomeDirect()
		}
		return f.tell(ctx, OutcomeWelcomed, func(*session.Draft) bool { return true }, text)
	case chat.KindAction:
		return f.press(ctx)
	case chat.KindLeft, chat.KindEdited, chat.KindDeleted:
		return f.drop(ctx, OutcomeIgnored)
	default:
		return errs.Permanentf("unknown kind of event %q", f.event.Kind)
	}
}

// sessionID is the form of our sessions' ids. Reading a document by a name like "a/b" fails for ever, and would hold up the route as long.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// press does what a pressed button asks for. The only button is Stop; it names a session and a turn, which must be the channel's own.
func (f *flow) press(ctx context.Context) error {
	a := f.event.Action
	turn, err := strconv.Atoi(a.Params["turn"])
	if a.Name != "stop" || !sessionID.MatchString(a.Params["session"]) || err != nil {
		f.log.WarnContext(ctx, "unknown action", "action", a.Name)
		return f.drop(ctx, OutcomeIgnored)
	}
	f.ledger = f.Conversations.Session(a.Params["session"])
	s, err := f.ledger.Load(ctx)
	if errors.Is(err, errs.ErrNotFound) || (err == nil && s.RouteID != f.event.RouteID) {
		f.log.WarnContext(ctx, "stop refused: the session is not this channel's", "session", a.Params["session"])
		return f.drop(ctx, OutcomeIgnored)
	}
	if err != nil {
		return err
	}
	f.session = s.ID
	err = f.commit(ctx, OutcomeStopped, bus.TopicTurns, func(d *session.Draft) error {
		if !d.StopTurn(turn, f.event.Sender.Name) {
			return errTooLate
		}
		return nil
	})
	if errors.Is(err, errTooLate) {
		return f.drop(ctx, OutcomeTooLate)
	}
	return err
}

var errTooLate = errors.New("the turn is over")
