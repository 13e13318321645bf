package session

import "time"

// Outbox is how far delivery has come, and what stands on the platform.
type Outbox struct {
	Cursor int64 `json:"cursor" firestore:"cursor"` // seq of the last message dealt with
	// Card is the card of the newest turn that has one.
	Card Card `json:"card" firestore:"card"`
	// Sending is a reply of several chunks that is partly sent.
	Sending Sending `json:"sending" firestore:"sending"`
	// LastWrite is when the channel was last written to, for the platform's write budget.
	LastWrite time.Time `json:"last_write" firestore:"last_write"`
	// NotBefore is when a platform that asked to wait may be tried again.
	NotBefore time.Time `json:"not_before" firestore:"not_before"`
}

// Card is a card on the platform.
type Card struct {
	Turn     int    `json:"turn" firestore:"turn"`           // 0 when there never was one
	FirstSeq int64  `json:"first_seq" firestore:"first_seq"` // its steps are among the messages from here on
	ID       string `json:"id" firestore:"id"`               // the client-assigned message id
	Revision int    `json:"revision" firestore:"revision"`   // counts writes; 0 is a card that is promised and may or may not stand
	Final    bool   `json:"final" firestore:"final"`         // shows how its turn ended
}

// Sending is the progress of one message.
type Sending struct {
	Seq      int64  `json:"seq" firestore:"seq"`
	Chunks   int    `json:"chunks" firestore:"chunks"`       // sent so far
	ThreadID string `json:"thread_id" firestore:"thread_id"` // where the first really landed
}

// SendWork reports whether delivery has something to do: messages past the cursor, or a card that does not show how things stand.
func (s *Session) SendWork() bool { return s.Outbox.Cursor < s.Seq || s.CardDue() }

// CardDue reports whether the card must change although no message is due: an announced turn has none yet, one is promised, or the card's turn
// is over.
func (s *Session) CardDue() bool {
	c := s.Outbox.Card
	live := 0
	if s.Turn != nil {
		live = s.Turn.Number
		if s.Turn.Announced && c.Turn < live {
			return true
		}
	}
	return c.Turn != 0 && !c.Final && (c.Turn != live || c.Revision == 0)
}

// ClaimSend asks for the send lease.
func (s *Session) ClaimSend(c Claimant, now time.Time) Verdict {
	if !s.SendWork() && !s.SendLease.Live(now) {
		return VerdictIdle
	}
	return s.SendLease.claim(c, now)
}

// RenewSend moves the end of the send lease.
func (s *Session) RenewSend(now time.Time) { s.SendLease.renew(now) }

// ReleaseSend lets go of the send lease if nothing is left, and reports whether it did.
func (s *Session) ReleaseSend() bool {
	if s.SendWork() {
		return false
	}
	s.SendLease.release()
	return true
}

// PauseSend lets go although something is left, to be gone on with no sooner than notBefore.
func (s *Session) PauseSend(notBefore time.Time) {
	s.Outbox.NotBefore = notBefore
	s.SendLease.release()
}
