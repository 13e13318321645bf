package transcript_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/turn/transcript"
)

// record is a session of messages 1 to last, and what was asked of it.
type record struct {
	last  int64
	asked []int64
	err   error
}

func (r *record) Since(_ context.Context, after int64) ([]message.Message, error) {
	r.asked = append(r.asked, after)
	var out []message.Message
	for seq := after + 1; seq <= r.last; seq++ {
		out = append(out, message.Message{Seq: seq, Content: "stored"})
	}
	return out, r.err
}

// H6: a turn reads a bounded tail once, then only what is new, and never takes what it knows for what it reads.
func TestReadInbox(t *testing.T) {
	t.Parallel()
	known, from := transcript.Transcript{}, &record{last: 1000}
	s := &session.Session{Seq: 1000, Inbox: []session.Ref{{Seq: 1000}}}
	read := func(wantAsked ...int64) {
		t.Helper()
		from.asked = nil
		if err := known.ReadInbox(t.Context(), from, s); err != nil || !slices.Equal(from.asked, wantAsked) {
			t.Errorf("asked for what is after %v, %v; want %v", from.asked, err, wantAsked)
		}
	}
	read(880)
	if len(known) != 120 {
		t.Errorf("%d messages known, want the tail of 120", len(known))
	}
	read() // nothing new
	known[1000] = message.Message{Seq: 1000, Content: "ours"}
	from.last, s.Seq, s.Inbox = 1002, 1002, []session.Ref{{Seq: 1000}, {Seq: 1002}, {Seq: 1001}}
	read(1000)
	if known[1000].Content != "ours" || known[1001].Content != "stored" || known[1002].Content != "stored" {
		t.Errorf("known: %v, %v, %v", known[1000], known[1001], known[1002])
	}
	known, s.Inbox = transcript.Transcript{}, []session.Ref{{Seq: 3}} // a quiet message that has waited for long
	read(2)
	known, s.Seq, from.last, s.Inbox = transcript.Transcript{}, 1, 1, []session.Ref{{Seq: 1}}
	read(0)
}

// A12: the live turn is read whole however long it is, with the tail before it.
func TestReadLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ first, seq, want int64 }{{990, 1000, 880}, {500, 1000, 499}, {1, 5, 0}, {1, 1000, 0}} {
		from, known := &record{last: tt.seq}, transcript.Transcript{}
		s := &session.Session{Seq: tt.seq, Turn: &session.Turn{FirstSeq: tt.first}}
		if err := known.ReadLive(t.Context(), from, s); err != nil || !slices.Equal(from.asked, []int64{tt.want}) {
			t.Errorf("%+v: asked for what is after %v, %v", tt, from.asked, err)
		}
	}
	down := &record{err: errors.New("store is down")}
	if err := (transcript.Transcript{}).ReadLive(t.Context(), down, &session.Session{Turn: &session.Turn{FirstSeq: 1}}); !errors.Is(err, down.err) {
		t.Errorf("%v, want the store's error", err)
	}
}

// A7: the calls that a pre-emption interrupts are those of its turn without a result, in their order, and none twice.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	call := func(seq int64, turn int, status message.Status) message.Message {
		return message.Message{Seq: seq, ID: session.MessageID("s", seq), Turn: turn, Role: message.RoleTool, Type: message.TypeToolCall, Status: status}
	}
	result := call(9, 2, message.StatusResponded)
	result.Type, result.ParentID = message.TypeToolResult, session.MessageID("s", 4)
	known := transcript.Transcript{}
	known.Keep(&session.Draft{
		Created: []message.Message{call(5, 2, message.StatusDelivered), call(3, 2, message.StatusResponded), call(4, 2, message.StatusResponded), result},
		Updated: []message.Message{call(1, 1, message.StatusResponded), call(6, 2, message.StatusInterrupted), {Seq: 7, Turn: 2, Type: message.TypeThought}},
	})
	var got []int64
	for _, m := range known.Unanswered(2) {
		got = append(got, m.Seq)
	}
	if !slices.Equal(got, []int64{3, 5}) {
		t.Errorf("unanswered: %v, want 3 and 5", got)
	}
	var order []int64
	for _, m := range known.InOrder() {
		order = append(order, m.Seq)
	}
	if !slices.IsSorted(order) || len(order) != 7 {
		t.Errorf("in order: %v", order)
	}
}
