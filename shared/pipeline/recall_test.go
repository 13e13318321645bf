package pipeline_test

import (
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
)

// about is an edit or recall of a message.
func about(e chat.Event, kind chat.Kind, id, text string) chat.Event {
	e.Kind, e.EventID, e.Text, e.At = kind, id, text, e.At.Add(time.Minute)
	return e
}

// P19, case B30: of m1, m2, m3 that wait, m2 is taken back: the model sees m1 and m3, and m2 is interrupted. Taking it back twice is once.
func TestRecallQueued(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	one, two, three := r.said("one"), r.said("two"), r.said("three")
	for _, e := range []chat.Event{one, two, three} {
		r.tell(t, e)
	}
	r.wakes.take()
	for _, id := range []string{"r1", "r2"} {
		r.tell(t, about(two, chat.KindDeleted, id, ""))
	}
	s := r.only(t)
	if len(s.Inbox) != 2 || s.Inbox[0].Key != one.Key() || s.Inbox[1].Key != three.Key() {
		t.Errorf("inbox %+v", s.Inbox)
	}
	all := r.messages(t)
	if all[1].Status != message.StatusInterrupted || len(all) != 3 || r.event(t, two.Key()).Outcome != flow.OutcomeRecalled {
		t.Errorf("messages %+v", all)
	}
	want(t, "published", r.wakes.take())
}

// P19: one that waits for its burst is taken out of it, one that has not arrived never arrives, and one that nobody kept is nobody's business.
func TestRecallBeforeHistory(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	one, two := r.said("one"), r.said("two")
	last := r.put(t, one)
	r.put(t, two)
	r.tell(t, about(two, chat.KindDeleted, "r", ""))
	r.now.Advance(3 * time.Second)
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "one")

	late := r.said("late")
	r.tell(t, about(late, chat.KindDeleted, "r", ""))
	if err := r.store.PutEvent(t.Context(), chat.NewRecord(late, r.now.Now())); err == nil {
		t.Error("a message that was taken back before it came is taken")
	}
	r.now.Advance(time.Minute)
	unheard := r.chatter("Bo", "psst")
	wake := r.put(t, unheard)
	r.now.Advance(time.Minute)
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	before := r.only(t).Swap
	key := r.tell(t, about(unheard, chat.KindDeleted, "r", ""))
	if e := r.event(t, key); e.Outcome != flow.OutcomeIgnored || r.only(t).Swap != before {
		t.Errorf("%+v", e.Record)
	}
}

// P19: of a prompt that runs or is answered, the model is told by a quiet message; nothing is rewritten and nobody is woken.
func TestRecallHistory(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	one := r.said("the password is swordfish")
	r.tell(t, one)
	if _, err := r.store.Session(r.only(t).ID).Change(t.Context(), func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, r.now.Now())
		d.Begin(r.now.Now())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	r.wakes.take()
	r.tell(t, about(one, chat.KindDeleted, "r", ""))
	all, s := r.messages(t), r.only(t)
	if len(all) != 2 || all[0].Content != one.Text || all[1].Class() != message.ClassAlert || !strings.Contains(all[1].Content, "took back") {
		t.Errorf("messages %+v", all)
	}
	if len(s.Inbox) != 1 || s.Inbox[0].When != session.WhenQuiet || len(r.wakes.take()) != 0 {
		t.Errorf("inbox %+v", s.Inbox)
	}
}

// P19, case B29: an edit of what waits for its decision is the new text; of history it is told; a preview that a link got is no edit.
func TestEdit(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	one := r.said("helo https://example.com")
	wake := r.put(t, one)
	r.tell(t, about(one, chat.KindEdited, "v1", "hello https://example.com"))
	r.now.Advance(3 * time.Second)
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "hello https://example.com")
	unfurled := r.tell(t, about(one, chat.KindEdited, "v2", "hello https://example.com"))
	if e := r.event(t, unfurled); e.Outcome != flow.OutcomeIgnored || len(r.messages(t)) != 1 {
		t.Errorf("%+v", e.Record)
	}
	r.wakes.take()
	r.tell(t, about(one, chat.KindEdited, "v3", "goodbye"))
	all := r.messages(t)
	if len(all) != 2 || !strings.Contains(all[1].Content, "goodbye") || all[0].Content != "hello https://example.com" || len(r.wakes.take()) != 0 {
		t.Errorf("messages %q", contents(all))
	}
	if e := r.event(t, r.tell(t, about(one, chat.KindEdited, "v4", "goodbye"))); e.Outcome != flow.OutcomeIgnored {
		t.Errorf("the same text again: %+v", e.Record)
	}
	if e := r.event(t, r.tell(t, about(r.said("never seen"), chat.KindEdited, "v1", "x"))); e.Outcome != flow.OutcomeIgnored {
		t.Errorf("an edit of nothing: %+v", e.Record)
	}
}
