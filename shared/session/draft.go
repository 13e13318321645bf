package session

import (
	"fmt"

	"kesoku.dev/shared/message"
)

// Draft is a session being changed: what is decided on one read and written in one swap. A decision is made anew on each read, so it
// must depend on nothing but the draft and values fixed before.
type Draft struct {
	Session
	Created []message.Message
	Updated []message.Message
	// Unchanged says that nothing is to be written.
	Unchanged bool
}

// NewDraft starts from a copy of s.
func NewDraft(s *Session) *Draft { return &Draft{Session: s.Clone()} }

// Create adds a message to the swap under the next seq, which also names it: two holders can never both store a message in one place.
// A message that Receive has counted already keeps its seq.
func (d *Draft) Create(m message.Message) message.Message {
	if m.Seq == 0 {
		m.Seq = d.NextSeq()
	}
	m.SessionID, m.ID = d.ID, MessageID(d.ID, m.Seq)
	d.Created = append(d.Created, m)
	return m
}

// Move takes a stored message along a transition within the swap.
func (d *Draft) Move(m *message.Message, t message.Transition) error {
	if err := m.Apply(t); err != nil {
		return fmt.Errorf("session %s: %w", d.ID, err)
	}
	for i := range d.Updated {
		if d.Updated[i].ID == m.ID {
			d.Updated[i] = *m
			return nil
		}
	}
	d.Updated = append(d.Updated, *m)
	return nil
}

// MakeRoom lets a quiet message in although as many wait as may: what was said last is worth more than what was said long ago, so the oldest one
// goes, and will be no part of any turn.
func (d *Draft) MakeRoom() error {
	r, full := d.oldestQuiet()
	if !full {
		return nil
	}
	// Only the status of a stored message is written, and every message of an inbox is input.
	old := message.Author{SessionID: d.ID}.UserPrompt("", "", r.At, message.Metadata{})
	old.ID, old.Seq = MessageID(d.ID, r.Seq), r.Seq
	return d.Move(&old, message.Withdraw)
}
