package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"cloud.google.com/go/firestore"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/cas"
	"kesoku.dev/shared/store/internal/weigh"
)

const (
	// maxContent is how many bytes of a message stay in its document, whose own limit is 1 MiB. Above it the whole goes to the staging area.
	maxContent = 256 << 10
	// maxSwap is how many bytes of content the messages of one swap keep together: a request of 4 MiB and more is never answered.
	maxSwap = 2 << 20
	// previewBytes is what then stays.
	previewBytes = 8 << 10
	// readBatch is how many documents one read asks for.
	readBatch = 300
)

func (s *Store) messageRef(sessionID, id string) *firestore.DocumentRef {
	return s.sessionRef(sessionID).Collection(colMessages).Doc(id)
}

// createMessage returns the write for a new message, after moving content that has no room to the staging area. There it lies under the swap's
// name too: a rival that loses the race for this seq must not write over what the winner staged.
func (s *Store) createMessage(ctx context.Context, m *message.Message, nonce string, room int) (cas.Write, error) {
	if m.Class() == message.ClassSystemPrompt || m.Class() == message.ClassUnknown {
		return nil, errs.Permanentf("message %s: class %d is never stored", m.ID, m.Class())
	}
	if !utf8.ValidString(m.Content) {
		return nil, errs.Permanentf("message %s: its content is not valid UTF-8", m.ID)
	}
	room = min(room, maxContent)
	if len(m.Content) > room && m.Metadata.StagedAs == "" {
		name := fmt.Sprintf("sessions/%s/content/%s-%s/content.txt", m.SessionID, m.ID, nonce)
		at, err := s.stage.Put(ctx, name, []byte(m.Content), "text/plain; charset=utf-8")
		if err != nil {
			return nil, fmt.Errorf("stage content of message %s: %w", m.ID, err)
		}
		m.Metadata.StagedAs = at
	}
	if len(m.Content) > room {
		m.Content = cut(m.Content, previewBytes) + "\n…"
	}
	if err := weigh.Check("message "+m.ID, m); err != nil {
		return nil, err
	}
	ref := s.messageRef(m.SessionID, m.ID)
	doc := *m
	return func(tx *firestore.Transaction) error { return tx.Create(ref, doc) }, nil
}

// cut returns at most n bytes of text, ending on a rune's edge.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// updateMessage writes what a stored message may change: its status, and the place a prompt gets when its turn begins.
func (s *Store) updateMessage(m message.Message) cas.Write {
	ref := s.messageRef(m.SessionID, m.ID)
	updates := []firestore.Update{
		{Path: "status", Value: m.Status}, {Path: "turn", Value: m.Turn}, {Path: "step", Value: m.Step},
		{Path: "phase", Value: m.Phase}, {Path: "ordinal", Value: m.Ordinal},
	}
	if m.Metadata.DeliveryError != "" {
		why := cut(strings.ToValidUTF8(m.Metadata.DeliveryError, "�"), previewBytes) // a platform's words, as they came
		updates = append(updates, firestore.Update{Path: "metadata.delivery_error", Value: why})
	}
	return func(tx *firestore.Transaction) error { return tx.Update(ref, updates) }
}

// messages reads the messages with seqs from first to last by their names.
func (s *Store) messages(ctx context.Context, sessionID string, first, last int64) ([]message.Message, error) {
	var out []message.Message
	for ; first <= last; first += readBatch {
		var refs []*firestore.DocumentRef
		for seq := max(first, 1); seq <= min(last, first+readBatch-1); seq++ {
			refs = append(refs, s.messageRef(sessionID, session.MessageID(sessionID, seq)))
		}
		snaps, err := s.client.GetAll(ctx, refs)
		if err != nil {
			return nil, cas.ReadError("messages of session "+sessionID, err)
		}
		for _, snap := range snaps {
			if !snap.Exists() {
				continue
			}
			var m message.Message
			if err := snap.DataTo(&m); err != nil {
				return nil, errs.Permanentf("message %s is not readable: %w", snap.Ref.ID, err)
			}
			out = append(out, m)
		}
	}
	return out, nil
}
