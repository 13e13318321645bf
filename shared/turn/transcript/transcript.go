// Package transcript is what a turn knows of its session's messages: read once, then kept current from the turn's own commits, since while
// the lease is held nobody else changes a message in a way that the turn must see. It must not know models or topics.
package transcript

import (
	"context"
	"slices"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// tail is how many messages before the live turn a model is shown at the most. Older ones are for summaries.
const tail = 120

// Reader reads a session's messages with a seq above after.
type Reader interface {
	Since(ctx context.Context, after int64) ([]message.Message, error)
}

// Transcript is the messages known so far, by seq.
type Transcript map[int64]message.Message

// ReadInbox reads the messages that wait, and at the first time the tail of the conversation before them.
func (t Transcript) ReadInbox(ctx context.Context, from Reader, s *session.Session) error {
	after := s.Seq
	for _, ref := range s.Inbox {
		if _, known := t[ref.Seq]; !known {
			after = min(after, ref.Seq-1)
		}
	}
	if len(t) == 0 {
		after = min(after, max(0, s.Seq-tail))
	}
	if after == s.Seq {
		return nil
	}
	return t.read(ctx, from, after)
}

// ReadLive reads the live turn and the tail of the conversation before it.
func (t Transcript) ReadLive(ctx context.Context, from Reader, s *session.Session) error {
	return t.read(ctx, from, max(0, min(s.Turn.FirstSeq-1, s.Seq-tail)))
}

// read keeps what is not known yet; what is known is newer.
func (t Transcript) read(ctx context.Context, from Reader, after int64) error {
	all, err := from.Since(ctx, after)
	if err != nil {
		return err
	}
	for _, m := range all {
		if _, known := t[m.Seq]; !known {
			t[m.Seq] = m
		}
	}
	return nil
}

// Keep takes over what a commit stored.
func (t Transcript) Keep(d *session.Draft) {
	for _, m := range slices.Concat(d.Created, d.Updated) {
		t[m.Seq] = m
	}
}

// InOrder returns what is known, by seq.
func (t Transcript) InOrder() []message.Message {
	out := make([]message.Message, 0, len(t))
	for _, m := range t {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b message.Message) int { return int(a.Seq - b.Seq) })
	return out
}

// Unanswered returns the calls of a turn that have no result, by seq.
func (t Transcript) Unanswered(turn int) []message.Message {
	answered := map[string]bool{}
	for _, m := range t {
		if m.Type == message.TypeToolResult {
			answered[m.ParentID] = true
		}
	}
	return slices.DeleteFunc(t.InOrder(), func(m message.Message) bool {
		return m.Turn != turn || m.Type != message.TypeToolCall || answered[m.ID] || m.Status == message.StatusInterrupted
	})
}

// Take moves the messages of refs into the live turn: they stand at a step, and are being processed from now on.
func (t Transcript) Take(d *session.Draft, refs []session.Ref, step int, phase message.Phase) error {
	for i, ref := range refs {
		m, ok := t[ref.Seq]
		if !ok {
			return errs.Permanentf("session %s: the inbox names message %d, which is not stored", d.ID, ref.Seq)
		}
		m.Turn, m.Step, m.Phase, m.Ordinal = d.Turn.Number, step, phase, i
		if m.Metadata.Locale != "" && (ref.When != session.WhenQuiet || d.Turn.Locale == "") {
			d.Turn.Locale = m.Metadata.Locale
		}
		if err := d.Move(&m, message.Claim); err != nil {
			return err
		}
	}
	return nil
}

// Reclaim claims again those prompts of the live turn that were put back.
func (t Transcript) Reclaim(d *session.Draft) error {
	for _, seq := range d.Turn.Prompts {
		if m := t[seq]; m.Status == message.StatusPendingAgent {
			if err := d.Move(&m, message.Claim); err != nil {
				return err
			}
		}
	}
	return nil
}

// End moves the live turn's prompts to their end.
func (t Transcript) End(d *session.Draft, by message.Transition) error {
	for _, seq := range d.Turn.Prompts {
		m := t[seq]
		if err := d.Move(&m, by); err != nil {
			return err
		}
	}
	return nil
}

// Abandon marks the calls of the live turn that never got a result.
func (t Transcript) Abandon(d *session.Draft) error {
	for _, m := range t.Unanswered(d.Turn.Number) {
		if err := d.Move(&m, message.Preempt); err != nil {
			return err
		}
	}
	return nil
}
