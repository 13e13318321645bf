package session

import (
	"slices"
	"time"
)

// When says how a message in the inbox meets a turn.
type When string

// The three ways.
const (
	// WhenNext wakes an idle session and otherwise waits for the next turn.
	WhenNext When = "next"
	// WhenNow wakes an idle session and otherwise joins the running turn at its next step; it never cancels a request in flight.
	WhenNow When = "now"
	// WhenQuiet never wakes; it joins at a step boundary or rides along with the next turn.
	WhenQuiet When = "quiet"
)

// Ref names a message that waits.
type Ref struct {
	Key      string    `json:"key" firestore:"key"` // of the event or firing it came from
	When     When      `json:"when" firestore:"when"`
	Seq      int64     `json:"seq" firestore:"seq"`
	ThreadID string    `json:"thread_id" firestore:"thread_id"`
	At       time.Time `json:"at" firestore:"at"`
}

// Receipt says what became of a message put into the inbox.
type Receipt string

// The receipts.
const (
	ReceiptAccepted  Receipt = "accepted"
	ReceiptDuplicate Receipt = "duplicate"
	ReceiptFull      Receipt = "full" // limit reached: the message is not taken
)

// Receive puts a message into the inbox and gives it the next seq. At most limit messages (MaxInbox at the most) wait for an answer, and
// as many quiet ones ride along: they are counted apart, since quiet ones never wake a turn that would drain them, and a room that only
// talks must not keep out the prompt that does.
func (s *Session) Receive(ref Ref, limit int) Receipt {
	if limit <= 0 || limit > MaxInbox || ref.When == WhenQuiet {
		limit = MaxInbox
	}
	waiting := 0
	for _, r := range s.Inbox {
		if r.Key == ref.Key {
			return ReceiptDuplicate
		}
		if (r.When == WhenQuiet) == (ref.When == WhenQuiet) {
			waiting++
		}
	}
	if waiting >= limit {
		return ReceiptFull
	}
	ref.Seq = s.nextInput()
	s.Inbox = append(s.Inbox, ref)
	return ReceiptAccepted
}

// nextInput counts a message that nobody needs to be sent, so a drained outbox stays drained.
func (s *Session) nextInput() int64 {
	if s.Outbox.Cursor == s.Seq {
		s.Outbox.Cursor++
	}
	s.Seq++
	return s.Seq
}

// NextSeq counts one more stored message and returns its seq.
func (s *Session) NextSeq() int64 {
	s.Seq++
	return s.Seq
}

// wakes reports whether a message waits that may start a turn.
func (s *Session) wakes() bool {
	for _, r := range s.Inbox {
		if r.When != WhenQuiet {
			return true
		}
	}
	return false
}

// drain empties the inbox: now and quiet first, then next, each in the order they came. Without next it leaves those that wait for
// a turn of their own.
func (s *Session) drain(next bool) []Ref {
	var taken, left []Ref
	for _, r := range s.Inbox {
		if r.When != WhenNext {
			taken = append(taken, r)
		}
	}
	for _, r := range s.Inbox {
		switch {
		case r.When != WhenNext:
		case next:
			taken = append(taken, r)
		default:
			left = append(left, r)
		}
	}
	s.Inbox = left
	return taken
}

// oldestQuiet takes the quiet message that waits longest out of a side of the inbox that is full.
func (s *Session) oldestQuiet() (Ref, bool) {
	quiet, oldest := 0, -1
	for i, r := range s.Inbox {
		if r.When == WhenQuiet {
			quiet++
			if oldest < 0 {
				oldest = i
			}
		}
	}
	if quiet < MaxInbox {
		return Ref{}, false
	}
	r := s.Inbox[oldest]
	s.Inbox = slices.Delete(s.Inbox, oldest, oldest+1)
	return r, true
}

// Withdraw takes a message that still waits out of the inbox and reports whether it was there. The caller moves it to interrupted in the same
// swap.
func (s *Session) Withdraw(key string) bool {
	i := slices.IndexFunc(s.Inbox, func(r Ref) bool { return r.Key == key })
	if i < 0 {
		return false
	}
	s.Inbox = slices.Delete(s.Inbox, i, i+1)
	return true
}
