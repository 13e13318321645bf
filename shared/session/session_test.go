package session_test

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// A6, A7: a press of Stop reaches the live turn that it names, once, and ends its wait for a provider.
func TestStopTurn(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext)
	if s.StopTurn(1, "Chii") || s.StopTurn(0, "Chii") || s.Interrupted() {
		t.Error("a session without a turn was stopped")
	}
	s.ClaimTurn(mine, now)
	s.Begin(now)
	s.Turn.NotBefore = now.Add(time.Hour)
	if s.StopTurn(0, "Chii") || s.StopTurn(2, "Chii") || s.Interrupted() {
		t.Error("a card of another turn stopped this one")
	}
	if !s.StopTurn(1, "Chii") || s.Turn.StoppedBy != "Chii" || !s.Interrupted() || !s.Turn.NotBefore.IsZero() {
		t.Errorf("not stopped: %+v", s.Turn)
	}
	if s.StopTurn(1, "Bo") || s.Turn.StoppedBy != "Chii" {
		t.Error("a second press is not another one")
	}
}

// A4, A7: a new prompt interrupts where the route allows it, and only what may start a turn counts.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allowed bool
		when    session.When
		want    bool
	}{
		{true, session.WhenNext, true}, {true, session.WhenQuiet, false},
		{false, session.WhenNext, false}, {false, session.WhenNow, false}, {false, session.WhenQuiet, false},
	} {
		s := with(session.WhenNext)
		s.Settings.Interrupt = tt.allowed
		s.Begin(now)
		if s.Interrupted() {
			t.Errorf("%+v: interrupted by nothing", tt)
		}
		s.Receive(session.Ref{Key: "new", When: tt.when}, 0)
		if got := s.Interrupted(); got != tt.want {
			t.Errorf("%+v: interrupted = %v", tt, got)
		}
	}
}

// A12: a paused turn is stored, its lease is free, and anybody goes on with it.
func TestPause(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext)
	s.ClaimTurn(mine, now)
	s.Begin(now)
	s.Stored(4, 3)
	until := now.Add(5 * time.Minute)
	s.Pause(until)
	s.Seal("x", now)
	if s.TurnLease.Holder != "" || s.Turn == nil || s.Turn.Step != 4 || !s.TurnWork() || !s.Turn.NotBefore.Equal(until) {
		t.Errorf("paused: lease %+v, turn %+v", s.TurnLease, s.Turn)
	}
	if s.WakeAt == nil || s.WakeAt.Before(until) {
		t.Errorf("the sweep comes at %v, before the turn may go on at %s", s.WakeAt, until)
	}
	if v := s.ClaimTurn(theirs, until); v != session.VerdictClaimed || s.TurnLease.Epoch != 2 || s.Turn.Step != 4 {
		t.Errorf("taken up: %s, %+v", v, s.Turn)
	}
	s.Turn.Retries = 2
	s.Stored(5, 1)
	if !s.Turn.NotBefore.IsZero() || s.Turn.Retries != 0 || s.Turn.ToolCalls != 4 {
		t.Errorf("a stored step is progress: %+v", s.Turn)
	}
}

// A10: the metrics of a turn.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext)
	s.Begin(now)
	s.Stored(1, 2)
	s.Spent(100, 150)
	s.Stored(2, 1)
	s.Spent(300, 370)
	got := s.Metrics(now.Add(2104 * time.Millisecond))
	if diff := cmp.Diff(message.TurnMetrics{SessionTurns: 1, ContextTokens: 300, TurnToolCalls: 3, TurnTokens: 520, TurnTime: 2.1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// P13: people are told once, by reason, and the memory of it is bounded.
func TestTellOnce(t *testing.T) {
	t.Parallel()
	s := empty()
	for i := range 40 {
		if !s.TellOnce(fmt.Sprint(i)) || s.TellOnce(fmt.Sprint(i)) {
			t.Fatalf("reason %d is not told exactly once", i)
		}
	}
	if len(s.Told) != 16 || s.TellOnce("39") || s.TellOnce("24") {
		t.Errorf("remembers %d reasons", len(s.Told))
	}
}

// Case B37: a session remembers its last swaps, so that a writer whose answer was lost can tell what became of its own.
func TestEarlierSwaps(t *testing.T) {
	t.Parallel()
	s := empty()
	if !s.Remembers("") || s.Wrote("a") {
		t.Error("a session without a swap does not know that there was none")
	}
	const remembered = 64
	for i := range remembered + 1 {
		s.Seal(strconv.Itoa(i), now)
	}
	for swap, want := range map[string]bool{"64": true, "63": true, "0": true, "65": false} {
		if s.Wrote(swap) != want || s.Remembers(swap) != want {
			t.Errorf("swap %s: wrote %v, remembers %v, want %v", swap, s.Wrote(swap), s.Remembers(swap), want)
		}
	}
	s.Seal("65", now)
	if s.Wrote("0") || s.Remembers("") || !s.Wrote("1") {
		t.Errorf("remembers %v of the swaps before %s, want the last %d", s.Earlier, s.Swap, remembered)
	}
	c := s.Clone()
	c.Seal("66", now)
	if s.Wrote("66") || s.Earlier[0] != "1" {
		t.Error("a clone shares its memory")
	}
}

// V, H-cards: when the card must change although no message is due.
func TestCardDue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		turn *session.Turn
		card session.Card
		want bool
	}{
		"nothing yet":                         {nil, session.Card{}, false},
		"silent turn":                         {&session.Turn{Number: 1}, session.Card{}, false},
		"announced":                           {&session.Turn{Number: 1, Announced: true}, session.Card{}, true},
		"announced and shown":                 {&session.Turn{Number: 1, Announced: true}, session.Card{Turn: 1, Revision: 1}, false},
		"announced and promised":              {&session.Turn{Number: 1, Announced: true}, session.Card{Turn: 1}, true},
		"over, card open":                     {nil, session.Card{Turn: 1}, true},
		"over, card final":                    {nil, session.Card{Turn: 1, Final: true}, false},
		"next turn runs, card open":           {&session.Turn{Number: 2}, session.Card{Turn: 1}, true},
		"next turn runs, card final":          {&session.Turn{Number: 2}, session.Card{Turn: 1, Final: true}, false},
		"next turn announced over final card": {&session.Turn{Number: 2, Announced: true}, session.Card{Turn: 1, Final: true}, true},
	}
	for name, tt := range tests {
		s := empty()
		s.Turn, s.Outbox.Card = tt.turn, tt.card
		if got := s.CardDue(); got != tt.want || s.SendWork() != tt.want {
			t.Errorf("%s: due = %v, send work = %v, want %v", name, got, s.SendWork(), tt.want)
		}
	}
}

// P18, cases B32, B73: delivery lets go only on the read that shows nothing left, or on purpose, for a platform that asked to wait.
func TestReleaseSend(t *testing.T) {
	t.Parallel()
	s := empty()
	s.NextSeq()
	s.NextSeq()
	s.ClaimSend(mine, now)
	for cursor := int64(0); cursor < 2; cursor++ {
		s.Outbox.Cursor = cursor
		if s.ReleaseSend() || !s.SendLease.Holds("me", 1) {
			t.Fatalf("let go at %d of 2", cursor)
		}
	}
	s.Outbox.Cursor, s.Outbox.Card = 2, session.Card{Turn: 1}
	if s.ReleaseSend() {
		t.Error("let go of an open card of a turn that is over")
	}
	s.Outbox.Card.Final = true
	if !s.ReleaseSend() || s.SendLease.Holder != "" || s.SendLease.Epoch != 1 {
		t.Errorf("not let go: %+v", s.SendLease)
	}

	s.NextSeq()
	s.ClaimSend(mine, now)
	until := now.Add(10 * time.Minute)
	s.PauseSend(until)
	s.Seal("x", now)
	if s.SendLease.Holder != "" || s.WakeAt == nil || s.WakeAt.Before(until) {
		t.Errorf("paused: %+v, the sweep comes at %v", s.SendLease, s.WakeAt)
	}
}

// The sweep's wake-up exists exactly while something is outstanding, and never falls before the work could have moved by itself.
func TestSeal(t *testing.T) {
	t.Parallel()
	claimed := func() session.Session {
		s := with(session.WhenNext)
		s.ClaimTurn(mine, now)
		s.Begin(now)
		return s
	}
	const none = -1
	tests := map[string]struct {
		s    func() session.Session
		want time.Duration // the earliest moment at which the sweep may look, counted from now
	}{
		"empty":                          {empty, none},
		"quiet waits":                    {func() session.Session { return with(session.WhenQuiet) }, none},
		"prompt waits":                   {func() session.Session { return with(session.WhenNext) }, 0},
		"turn under lease":               {claimed, session.LeaseFor},
		"turn paused":                    {func() session.Session { s := claimed(); s.Pause(now.Add(time.Hour)); return s }, time.Hour},
		"turn released":                  {func() session.Session { s := claimed(); s.Pause(time.Time{}); return s }, 0},
		"turn over":                      {func() session.Session { s := claimed(); s.End(now); return s }, none},
		"reply to send":                  {func() session.Session { s := empty(); s.NextSeq(); return s }, 0},
		"reply being sent":               {func() session.Session { s := empty(); s.NextSeq(); s.ClaimSend(mine, now); return s }, session.LeaseFor},
		"platform asks for":              {func() session.Session { s := empty(); s.NextSeq(); s.PauseSend(now.Add(time.Hour)); return s }, time.Hour},
		"both sides, the earlier counts": {func() session.Session { s := claimed(); s.NextSeq(); return s }, 0},
		"card open":                      {func() session.Session { s := empty(); s.Outbox.Card.Turn = 1; return s }, 0},
		// What was withdrawn leaves nothing to do. Were it due, it would be so for ever: no claim on it is granted that would end it.
		"turn lease over nothing": {func() session.Session { s := with(session.WhenNext); s.ClaimTurn(mine, now); s.Inbox = nil; return s }, none},
		"send lease over nothing": {func() session.Session {
			s := empty()
			s.NextSeq()
			s.ClaimSend(mine, now)
			s.Outbox.Cursor = 1
			return s
		}, none},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tt.s()
			stale := now.Add(-time.Hour)
			s.WakeAt = &stale
			s.Seal("nonce", now)
			if s.Swap != "nonce" || !s.UpdatedAt.Equal(now) {
				t.Errorf("the write is not stamped: %q, %s", s.Swap, s.UpdatedAt)
			}
			switch {
			case tt.want == none && s.WakeAt != nil:
				t.Errorf("nothing is outstanding, but the sweep comes at %s", s.WakeAt)
			case tt.want != none && s.WakeAt == nil:
				t.Error("nobody would come")
			case tt.want != none && s.WakeAt.Before(now.Add(tt.want)):
				t.Errorf("the sweep comes %s from now, want no sooner than %s", s.WakeAt.Sub(now), tt.want)
			case tt.want != none && s.WakeAt.After(now.Add(tt.want+2*time.Minute)):
				t.Errorf("the sweep comes only %s from now", s.WakeAt.Sub(now))
			}
		})
	}
}

// A copy shares nothing: what is decided on one read must not leak into another. Every field is filled, so that a new one is covered too.
func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	var s session.Session
	fill(reflect.ValueOf(&s).Elem())
	c := s.Clone()
	if diff := cmp.Diff(s, c); diff != "" {
		t.Fatalf("the copy differs:\n%s", diff)
	}
	shared(t, "Session", reflect.ValueOf(s), reflect.ValueOf(c))
}

// fill gives every field under v something that is not its zero.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(now))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 5))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	default:
		panic("fill does not know " + v.Type().String())
	}
}

func shared(t *testing.T, path string, a, b reflect.Value) {
	t.Helper()
	if a.Type() == reflect.TypeFor[time.Time]() {
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			shared(t, path+"."+a.Type().Field(i).Name, a.Field(i), b.Field(i))
		}
	case reflect.Slice, reflect.Pointer, reflect.Map:
		if a.Pointer() == b.Pointer() {
			t.Errorf("%s is shared", path)
		} else if a.Kind() == reflect.Pointer {
			shared(t, path, a.Elem(), b.Elem())
		}
	default:
	}
}

// Two holders can never store two messages in one place, since the place names the message; a prompt keeps the seq of its receipt.
func TestDraftCreate(t *testing.T) {
	t.Parallel()
	s := with(session.WhenNext)
	d, rival := session.NewDraft(&s), session.NewDraft(&s)
	author := message.Author{SessionID: "forged", Now: now}
	prompt := author.UserPrompt("Chii", "hi", now, message.Metadata{})
	prompt.Seq = d.Inbox[0].Seq
	if got := d.Create(prompt); got.Seq != 1 || d.Seq != 1 || got.ID != session.MessageID("s1", 1) || got.SessionID != "s1" {
		t.Errorf("prompt: %+v", got)
	}
	first, second := d.Create(author.Alert("a")), d.Create(author.Alert("b"))
	if first.Seq != 2 || second.Seq != 3 || first.ID == second.ID || len(d.Created) != 3 {
		t.Errorf("created: %+v", d.Created)
	}
	if other := rival.Create(author.Alert("c")); other.ID != first.ID {
		t.Error("two drafts of one read put their messages in different places")
	}
	if s.Seq != 1 {
		t.Error("the draft changed the session that it was made of")
	}
	seen := map[string]bool{}
	for _, id := range []string{"s1", "s", "s1/", "s1/1"} {
		for seq := range int64(200) {
			name := session.MessageID(id, seq)
			if seen[name] || len(name) != 24 {
				t.Fatalf("name %q of %s/%d", name, id, seq)
			}
			seen[name] = true
		}
	}
}

// M3: a draft moves a message along the edges and no other way, and writes each message once.
func TestDraftMove(t *testing.T) {
	t.Parallel()
	s := empty()
	d := session.NewDraft(&s)
	m := message.Author{Now: now}.Alert("a")
	m.ID = "m1"
	other := m
	other.ID = "m2"
	for _, step := range []struct {
		m  *message.Message
		tr message.Transition
	}{{&m, message.Claim}, {&other, message.Claim}, {&m, message.Finish}} {
		if err := d.Move(step.m, step.tr); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.Updated) != 2 || d.Updated[0].Status != message.StatusProcessed || d.Updated[1].Status != message.StatusProcessing {
		t.Errorf("updated: %+v", d.Updated)
	}
	var illegal *message.IllegalTransitionError
	if err := d.Move(&m, message.Claim); !errors.As(err, &illegal) || len(d.Updated) != 2 || m.Status != message.StatusProcessed {
		t.Errorf("illegal move: %v, %+v", err, d.Updated)
	}
}

// case B33: sessions spread over all shards of the sweep.
func TestWakeShards(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for i := range 400 {
		s := session.New(fmt.Sprint("s", i), "k", "r", "p", "c", true, now)
		if s.WakeShard < 0 || s.WakeShard >= session.WakeShards {
			t.Fatalf("shard %d", s.WakeShard)
		}
		seen[s.WakeShard] = true
	}
	if len(seen) != session.WakeShards {
		t.Errorf("400 sessions lie in %d of %d shards", len(seen), session.WakeShards)
	}
}
