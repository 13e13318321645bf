package deliver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/deliver/outgoing"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/telemetry"
)

// send brings one output to its channel, chunk by chunk, and marks it. A turn's end whose card does not stand yet takes the card along on
// its first chunk, so that a plain turn costs the channel one write.
func (r *run) send(ctx context.Context, m message.Message) error {
	text, err := r.text(ctx, m)
	switch {
	case outgoing.Blocked(err):
		return r.withhold(ctx, m)
	case err != nil && errs.KindOf(err) == errs.KindPermanent:
		return r.undeliverable(ctx, m, err)
	case err != nil:
		return fmt.Errorf("text of message %s: %w", m.ID, err)
	}
	chunks := render.Split(text, r.adapter.Features().MaxBytes)
	card, err := r.ridingCard(ctx, m)
	if err != nil {
		return err
	}
	at := r.sendingOf(m)
	for k := at.Chunks; k < len(chunks); k++ {
		post := r.post(m, k, chunks[k], at.ThreadID)
		if k == 0 {
			post.Card = card
		}
		posted, err := r.create(ctx, post)
		if errs.KindOf(err) == errs.KindPermanent {
			return r.undeliverable(ctx, m, err)
		}
		if err != nil {
			return fmt.Errorf("send message %s, chunk %d of %d: %w", m.ID, k+1, len(chunks), err)
		}
		if k == 0 {
			// Later chunks follow the thread in which the first really landed.
			at.ThreadID = posted.ThreadID
		}
		at.Chunks = k + 1
		if at.Chunks < len(chunks) {
			if err := r.progress(ctx, at); err != nil {
				return err
			}
		}
	}
	return r.sent(ctx, m, card != nil)
}

// sendingOf is how far the message has been sent already.
func (r *run) sendingOf(m message.Message) session.Sending {
	if r.s.Outbox.Sending.Seq == m.Seq {
		return r.s.Outbox.Sending
	}
	return session.Sending{Seq: m.Seq, ThreadID: m.Metadata.ThreadID}
}

func (r *run) post(m message.Message, chunk int, text, thread string) platform.Post {
	return platform.Post{
		To:  platform.Address{ChannelID: m.ChannelID, ThreadID: thread},
		Key: key(m.ID, "reply", chunk), ID: key(m.ID, "message", chunk), Text: text,
	}
}

// key makes a post idempotent: the same message, purpose and chunk always have the same one.
func key(id, purpose string, chunk int) string {
	return chat.Hash(id, purpose, strconv.Itoa(chunk))[:40]
}

// progress stores that part of a message is sent.
func (r *run) progress(ctx context.Context, at session.Sending) error {
	return r.change(ctx, func(d *session.Draft) error {
		d.Outbox.Sending, d.Outbox.LastWrite = at, r.Clock.Now()
		return nil
	})
}

// sent marks the message as delivered and moves the cursor over it.
func (r *run) sent(ctx context.Context, m message.Message, withCard bool) error {
	return r.change(ctx, func(d *session.Draft) error {
		m := m
		if err := d.Move(&m, message.Deliver); err != nil {
			return err
		}
		d.Outbox.Cursor, d.Outbox.Sending, d.Outbox.LastWrite = m.Seq, session.Sending{}, r.Clock.Now()
		if withCard {
			d.Outbox.Card = session.Card{Turn: m.Turn, ID: key(m.ID, "message", 0), Final: true}
			return r.shown(d, m.Turn, m.Seq)
		}
		if c := d.Outbox.Card; c.Turn != m.Turn || c.Final { // no card will be edited to show them
			return r.shown(d, m.Turn, m.Seq)
		}
		return nil
	})
}

// undeliverable ends a message that no retry can bring over, and tells the session: the model reads of it in its next turn.
func (r *run) undeliverable(ctx context.Context, m message.Message, cause error) error {
	r.log.ErrorContext(ctx, "message can never be delivered", "message_id", m.ID, "error", cause)
	return r.change(ctx, func(d *session.Draft) error {
		m := m
		m.Metadata.DeliveryError = cause.Error()
		if err := d.Move(&m, message.Undeliverable); err != nil {
			return err
		}
		d.Outbox.Cursor, d.Outbox.Sending = m.Seq, session.Sending{}
		if c := &d.Outbox.Card; c.Turn == m.Turn {
			c.Final = true
		}
		alert := message.Author{ChatbotID: d.ChatbotID, ChannelID: d.ChannelID, Now: r.Clock.Now()}.
			Alert("[System Alert] A message of yours could not be delivered to the channel and was not read by anybody.")
		ref := session.Ref{Key: "undeliverable:" + m.ID, When: session.WhenQuiet, ThreadID: m.Metadata.ThreadID, At: alert.Timestamp}
		if receipt := d.Receive(ref, session.MaxInbox); receipt != session.ReceiptAccepted {
			r.log.WarnContext(ctx, "the session could not be told", "receipt", receipt)
			return nil
		}
		alert.Seq = d.Seq
		d.Create(alert)
		return nil
	})
}

// maxTries is how often a write is tried before the wake-up goes back to the queue.
const maxTries = 5

// create posts within the channel's write budget, and again after a passing failure: under the same key it is never posted twice. A text
// that is too long after all is split once more.
func (r *run) create(ctx context.Context, p platform.Post) (platform.Posted, error) {
	var posted platform.Posted
	err := r.write(ctx, "create_message", func(ctx context.Context) (err error) {
		posted, err = r.adapter.Create(ctx, p)
		return err
	})
	if errors.Is(err, platform.ErrTooLong) {
		return r.createSmaller(ctx, p)
	}
	return posted, err
}

// createSmaller posts a refused text in smaller pieces, each under a key of its own, and returns where the first landed.
func (r *run) createSmaller(ctx context.Context, p platform.Post) (first platform.Posted, err error) {
	for i, text := range render.Split(p.Text, max(len(p.Text)/2, 1000)) {
		piece := p
		piece.Text, piece.Key, piece.ID = text, key(p.Key, "piece", i), key(p.ID, "piece", i)
		if i > 0 {
			piece.Card, piece.To.ThreadID = nil, first.ThreadID
		}
		var posted platform.Posted
		err := r.write(ctx, "create_message", func(ctx context.Context) (err error) {
			posted, err = r.adapter.Create(ctx, piece)
			return err
		})
		if errors.Is(err, platform.ErrTooLong) {
			return first, errs.Permanentf("refused as too long even in pieces of %d bytes: %w", len(text), err)
		}
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = posted
		}
	}
	return first, nil
}

// write runs one API write when the channel's budget allows it, and again after passing failures, within one span: the wait is a part of what
// people see as slow.
func (r *run) write(ctx context.Context, operation string, do func(context.Context) error) (err error) {
	ctx, end := telemetry.Call(ctx, telemetry.SpanPlatform(operation, r.s.ChatbotID), telemetry.KeyPlatform.String(r.s.ChatbotID))
	defer end(&err)
	asked := r.s.Outbox.NotBefore.Sub(r.Clock.Now())
	if asked > maxHold {
		return errs.Retryable(fmt.Errorf("channel %s: the platform asked to be left alone until %s", r.s.ChannelID, r.s.Outbox.NotBefore), asked)
	}
	wait := max(asked, r.pace.Wait(r.s.ChannelID, r.Clock.Now(), r.s.Outbox.LastWrite, r.adapter.Features().Every))
	for try := 1; ; try++ {
		if err := r.hold(ctx, wait); err != nil {
			return err
		}
		telemetry.Note(ctx, telemetry.KeyAttempt.Int(try))
		err := do(ctx)
		if err == nil || errs.KindOf(err) != errs.KindRetryable || errors.Is(err, platform.ErrTooLong) || errors.Is(err, errs.ErrNotFound) {
			return err
		}
		wait = max(errs.After(err), time.Second<<(try-1))
		if try == maxTries || ctx.Err() != nil || wait > maxHold {
			return err
		}
		r.log.WarnContext(ctx, "write failed: trying again", "try", try, "wait", wait, "error", err)
	}
}

// maxHold is the longest that a handler waits for a platform before it gives its wake-up back; it fits into the lease.
const maxHold = 30 * time.Second

// hold waits, and makes sure that the lease outlasts the write that follows.
func (r *run) hold(ctx context.Context, wait time.Duration) error {
	if err := r.Clock.Sleep(ctx, wait); err != nil {
		return err
	}
	if r.s.SendLease.Until.Sub(r.Clock.Now()) > maxHold {
		return nil
	}
	s, err := r.ledger.Change(ctx, func(d *session.Draft) error {
		if !d.SendLease.Holds(r.claimant.Holder, r.epoch) {
			return fmt.Errorf("delivery of session %s: %w", r.id, errs.ErrFenced)
		}
		d.RenewSend(r.Clock.Now())
		return nil
	})
	if err == nil {
		r.s.SendLease = s.SendLease
	}
	return err
}
