package session_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/session"
)

func keys(refs []session.Ref) string {
	var out string
	for _, r := range refs {
		out += r.Key
	}
	return out
}

// P15: the inbox takes its limit and no more; P16: the same message twice is taken once, also when the inbox is full.
func TestReceive(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ limit, want int }{
		"default": {0, session.MaxInbox}, "negative": {-1, session.MaxInbox}, "less": {3, 3}, "more than may be": {1000, session.MaxInbox},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := empty()
			for i := range tt.want {
				if got := s.Receive(session.Ref{Key: fmt.Sprint(i), When: session.WhenNext}, tt.limit); got != session.ReceiptAccepted {
					t.Fatalf("message %d: %s", i, got)
				}
			}
			before := s.Clone()
			for key, want := range map[string]session.Receipt{"one more": session.ReceiptFull, "0": session.ReceiptDuplicate,
				fmt.Sprint(tt.want - 1): session.ReceiptDuplicate} {
				for _, when := range []session.When{session.WhenNext, session.WhenNow} {
					if got := s.Receive(session.Ref{Key: key, When: when}, tt.limit); got != want {
						t.Errorf("%s: %s, want %s", key, got, want)
					}
				}
			}
			if diff := cmp.Diff(before, s); diff != "" {
				t.Errorf("what was not taken changed the session:\n%s", diff)
			}
			for i, r := range s.Inbox {
				if r.Seq != int64(i+1) {
					t.Errorf("message %d has seq %d", i, r.Seq)
				}
			}
		})
	}
}

// P15, P16: a room that only talks fills its own share; the prompt that wakes the session still gets in and takes all along.
func TestQuietMessagesKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := empty()
	for i := range session.MaxInbox {
		if got := s.Receive(session.Ref{Key: fmt.Sprint("q", i), When: session.WhenQuiet}, 0); got != session.ReceiptAccepted {
			t.Fatalf("quiet message %d: %s", i, got)
		}
	}
	if got := s.Receive(session.Ref{Key: "q", When: session.WhenQuiet}, 0); got != session.ReceiptFull {
		t.Errorf("one quiet message too many: %s", got)
	}
	if got := s.Receive(session.Ref{Key: "@kesoku", When: session.WhenNext}, 0); got != session.ReceiptAccepted {
		t.Fatalf("the prompt: %s", got)
	}
	if v := s.ClaimTurn(mine, now); v != session.VerdictClaimed {
		t.Fatalf("claim: %s", v)
	}
	if refs := s.Begin(now); len(refs) != session.MaxInbox+1 || refs[len(refs)-1].Key != "@kesoku" || len(s.Inbox) != 0 {
		t.Errorf("the turn took %d messages and left %d", len(refs), len(s.Inbox))
	}
}

// A2, P16: a new turn takes now and quiet before next, each in the order they came; a running turn is joined by now and quiet only.
func TestBeginAndJoin(t *testing.T) {
	t.Parallel()
	const (
		next  = session.WhenNext
		nowIn = session.WhenNow
		quiet = session.WhenQuiet
	)
	tests := map[string]struct {
		waiting []session.When
		begin   string
		thread  string // of the turn begun
		join    string
		left    string
	}{
		"one":          {[]session.When{next}, "a", "A", "", "a"},
		"three":        {[]session.When{next, next, next}, "abc", "C", "", "abc"},
		"all kinds":    {[]session.When{next, quiet, nowIn, next, quiet}, "bcead", "D", "bce", "ad"},
		"now only":     {[]session.When{nowIn, nowIn}, "ab", "B", "ab", ""},
		"quiet first":  {[]session.When{quiet, next}, "ab", "B", "a", "b"},
		"quiet last":   {[]session.When{next, quiet}, "ba", "A", "b", "a"},
		"now and next": {[]session.When{next, nowIn}, "ba", "A", "b", "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := with(tt.waiting...)
			if got := keys(s.Begin(now)); got != tt.begin {
				t.Errorf("a new turn takes %s, want %s", got, tt.begin)
			}
			if len(s.Inbox) != 0 || s.Turn.Number != 1 || s.Turns != 1 || len(s.Turn.Prompts) != len(tt.waiting) || s.Turn.FirstSeq != 1 {
				t.Errorf("after begin: inbox %v, turn %+v", s.Inbox, s.Turn)
			}
			if s.Turn.ThreadID != tt.thread {
				t.Errorf("the reply belongs to thread %s, want %s", s.Turn.ThreadID, tt.thread)
			}

			s = with(tt.waiting...)
			s.Turn = &session.Turn{Number: 1, Prompts: []int64{99}, FirstSeq: 99, ThreadID: "T"}
			if got := keys(s.Join()); got != tt.join {
				t.Errorf("a running turn is joined by %s, want %s", got, tt.join)
			}
			if got := keys(s.Inbox); got != tt.left {
				t.Errorf("there wait %s, want %s", got, tt.left)
			}
			if len(s.Turn.Prompts) != 1+len(tt.join) || s.Turn.Prompts[0] != 99 {
				t.Errorf("prompts of the turn: %v", s.Turn.Prompts)
			}
		})
	}
}

// P16: only what wakes makes the turn side work; a quiet message joins without moving the reply to its thread.
func TestQuietRidesAlong(t *testing.T) {
	t.Parallel()
	s := with(session.WhenQuiet)
	if s.TurnWork() {
		t.Error("a quiet message wakes")
	}
	s.Turn = &session.Turn{Number: 1, ThreadID: "T", FirstSeq: 9}
	if !s.TurnWork() {
		t.Error("a live turn is no work")
	}
	s.Join()
	if s.Turn.ThreadID != "T" || s.Turn.FirstSeq != 1 {
		t.Errorf("after a quiet join: %+v", s.Turn)
	}
}

// case B32: a message that came before the release is seen by it, in the same swap.
func TestEndSeesWhatCame(t *testing.T) {
	t.Parallel()
	for when, more := range map[session.When]bool{session.WhenNext: true, session.WhenNow: true, session.WhenQuiet: false} {
		s := with(session.WhenNext)
		s.ClaimTurn(mine, now)
		s.Begin(now)
		s.Receive(session.Ref{Key: "late", When: when}, 0)
		later := now.Add(30 * session.LeaseFor / 60)
		if got := s.End(later); got != more {
			t.Errorf("%s: more = %v", when, got)
		}
		if s.Turn != nil || len(s.Inbox) != 1 {
			t.Errorf("%s: after the end: turn %v, inbox %v", when, s.Turn, s.Inbox)
		}
		if held := s.TurnLease.Holds("me", 1); held != more || (more && !s.TurnLease.Until.Equal(later.Add(session.LeaseFor))) {
			t.Errorf("%s: lease after the end: %+v", when, s.TurnLease)
		}
		if s.TurnLease.Epoch != 1 {
			t.Errorf("%s: the release forgot the epoch", when)
		}
	}
}

// Input is nothing to send: it moves a drained outbox along, and leaves one that is not drained alone.
func TestInputIsNotOutput(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext, session.WhenNow, session.WhenQuiet)
	if s.SendWork() || s.Outbox.Cursor != 3 || s.Seq != 3 {
		t.Errorf("three prompts left something to send: cursor %d of %d", s.Outbox.Cursor, s.Seq)
	}
	if seq := s.NextSeq(); seq != 4 || !s.SendWork() {
		t.Errorf("a reply of seq %d is nothing to send", seq)
	}
	s.Receive(session.Ref{Key: "later"}, 0)
	if s.Outbox.Cursor != 3 || s.Seq != 5 {
		t.Errorf("a prompt hid the reply before it: cursor %d of %d", s.Outbox.Cursor, s.Seq)
	}
}
