package deliver

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"kesoku.dev/shared/deliver/outgoing"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/session"
)

// ridingCard is the card that goes along with a turn's end: where none stands yet, a reply brings its metrics and a turn with steps its
// steps.
func (r *run) ridingCard(ctx context.Context, m message.Message) (*render.Card, error) {
	c := r.s.Outbox.Card
	if !r.adapter.Features().Steps || m.Turn == 0 || c.Turn > m.Turn || (c.Turn == m.Turn && !r.onlyPromised(c)) {
		return nil, nil //nolint:nilnil // no card is no error
	}
	if m.Class() != message.ClassFinalReply && len(outgoing.Steps(r.messages, m.Turn)) == 0 {
		return nil, nil //nolint:nilnil // no card is no error
	}
	return r.card(ctx, m.Turn, &m)
}

// showSteps creates or edits the card of the live turn, with all its steps so far.
func (r *run) showSteps(ctx context.Context) error {
	turn, seq := r.liveTurn(), r.s.Seq
	if !r.adapter.Features().Steps {
		return r.hideSteps(ctx, turn, seq)
	}
	next := r.s.Outbox.Card
	if next.Turn != turn {
		return r.promise(ctx, turn)
	}
	shown, err := r.card(ctx, turn, nil)
	if err != nil {
		return err
	}
	// A card that stands and has nothing to show of the steps, since the route hides them, stays as it is.
	if !next.Final && (next.Revision == 0 || len(shown.Steps) > 0) {
		if err := r.put(ctx, next, shown); err != nil {
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
		if _, err := r.create(ctx, post); err != nil {
			return err
		}
		r.offered(ctx, c.Turn, shown.Button)
		if mine {
			return nil
		}
	}
	return r.edit(ctx, c, shown)
}

// offered tells whoever listens that people have a button now.
func (r *run) offered(ctx context.Context, turn int, b *render.Button) {
	if b == nil {
		return
	}
	err := r.Hooks.EngineAction(ctx, hooks.EngineAction{RouteID: r.s.RouteID, SessionID: r.id, Turn: turn, Action: b.Action, Params: b.Params})
	if err != nil {
		r.log.WarnContext(ctx, "a listener failed", "error", err)
	}
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
	if !r.onlyPromised(next) {
		shown, err := r.card(ctx, next.Turn, outgoing.EndOf(r.messages, next.Turn))
		if err != nil {
			return err
		}
		if err := r.put(ctx, next, shown); err != nil {
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
	return r.write(ctx, "edit_message", func(ctx context.Context) error { return r.adapter.Edit(ctx, r.s.ChannelID, c.ID, shown) })
}

// card is what people see of a turn; end is the output that ended it, or nil.
func (r *run) card(ctx context.Context, turn int, end *message.Message) (*render.Card, error) {
	c, err := r.view.Card(ctx, outgoing.Turn{
		Number: turn, Live: turn == r.liveTurn(), End: end, Messages: r.messages,
		Params: map[string]string{"session": r.id, "turn": strconv.Itoa(turn)},
	}, r.textsOf(turn))
	if err != nil {
		return nil, fmt.Errorf("card of turn %d: %w", turn, err)
	}
	return c, nil
}
