package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/flow"
)

const settling = "chat: {model: 'gemini:flash', locale: en, merge: {mode: settle, quiet: 2500, max: 15000}}"

// waiting runs handlers for wake-ups and lets the test move the clock until they are done.
type waiting struct {
	sync.WaitGroup
	errs chan error
}

func (r *room) start(t *testing.T, by *worker, wakes ...bus.Inbound) *waiting {
	t.Helper()
	w := &waiting{errs: make(chan error, len(wakes))}
	for _, wake := range wakes {
		w.Go(func() { w.errs <- by.Handle(t.Context(), wake, bus.Delivery{}) })
	}
	return w
}

// done waits for all handlers and returns what went wrong.
func (w *waiting) done() error {
	w.Wait()
	close(w.errs)
	var all []error
	for err := range w.errs {
		all = append(all, err)
	}
	return errors.Join(all...)
}

// said by somebody, without addressing the bot, at a time in seconds.
func (r *room) chatter(who, text string) chat.Event {
	e := r.said(text)
	e.AtMe, e.Sender = false, chat.Sender{ID: "users/" + who, Name: who, Type: chat.SenderHuman}
	return e
}

// P10, A2: a burst whose first message addresses the bot wakes it once, with every message of it, each with its sender, time and attachments; the
// quiet time starts anew with each message.
func TestSettle(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	first := r.put(t, r.said("one"))
	run := r.start(t, r.worker, first)
	r.now.Advance(2 * time.Second)
	two := r.chatter("Bo", "two")
	two.Attachments = []message.Attachment{{Name: "b.csv", Source: "x"}}
	second := r.put(t, two)
	r.now.Advance(2 * time.Second) // four seconds after the first, two after the second
	third := r.put(t, r.chatter("Cy", "three"))
	others := r.start(t, r.worker, second, third)
	time.Sleep(500 * time.Millisecond) // handlers look
	if n := len(r.sessions(t)); n != 0 {
		t.Fatalf("%d sessions before the pause", n)
	}
	r.now.Advance(2500 * time.Millisecond)
	if err := errors.Join(run.done(), others.done()); err != nil {
		t.Fatal(err)
	}
	all := r.messages(t)
	want(t, "prompts", contents(all), "one", "two", "three")
	if all[1].Sender != "Bo" || !all[1].Timestamp.Equal(two.At) || all[1].Metadata.Attachments[0].StagedAs == "" {
		t.Errorf("second prompt %+v", all[1])
	}
	if s := r.only(t); s.Inbox[0].When != s.Inbox[2].When {
		t.Errorf("the burst is torn: %+v", s.Inbox)
	}
	e := r.event(t, third.Event)
	if e.Decision.Effect != chat.EffectWake || e.Decision.Reason != "merged" || e.HeldUntil != nil {
		t.Errorf("merged event %+v", e.Decision)
	}
	woken := r.wakes.take()
	want(t, "published", slices.Compact(woken), "turns "+r.only(t).ID)
	if len(woken) > 2 {
		t.Errorf("%d wake-ups for one burst", len(woken))
	}
}

// P10: who never pauses is answered after the maximum.
func TestSettleAtMost(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	wake := r.put(t, r.said("0"))
	texts := []string{"0"}
	for i := 1; i <= 7; i++ {
		r.now.Advance(2 * time.Second)
		texts = append(texts, fmt.Sprint(i))
		wake = r.put(t, r.chatter("Bo", texts[i]))
	}
	run := r.start(t, r.worker, wake)
	r.now.Advance(time.Second) // 15 s after the first
	if err := run.done(); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), texts...)
}

// P10: a burst that addresses nobody wakes nobody and stores nothing.
func TestSettleNobody(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	r.put(t, r.chatter("Ann", "hi"))
	wake := r.put(t, r.chatter("Bo", "hi Ann"))
	r.now.Advance(3 * time.Second)
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.sessions(t)); n != 0 || r.event(t, wake.Event).Outcome != flow.OutcomeIgnored {
		t.Errorf("%d sessions, %+v", n, r.event(t, wake.Event).Decision)
	}
}

// P10: directMode holds in direct chats alone.
func TestDirectMode(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', merge: {mode: settle, directMode: immediate}}")
	e := r.said("now")
	e.Direct = true
	if r.tell(t, e); len(r.messages(t)) != 1 {
		t.Error("a direct message waits")
	}
}

// P10: bursts of different conversations of one route do not wait for each other, and what is no message never waits.
func TestSettleByConversation(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', merge: {mode: settle}, session: {ownership: personal}}")
	old := r.said("old")
	old.Sender.ID = "users/2"
	r.put(t, old)
	r.now.Advance(2 * time.Second)
	fresh := r.put(t, r.said("fresh"))
	run := r.start(t, r.worker, fresh)
	r.now.Advance(600 * time.Millisecond)
	time.Sleep(time.Second)
	if s := r.only(t); s.ConversationKey != "googlechat:spaces/A:user:users/2" {
		t.Errorf("settled %s", s.ConversationKey)
	}
	press := chat.Event{Platform: "googlechat", Kind: chat.KindAction, MessageID: "card", EventID: "p", ChannelID: "spaces/A", Action: chat.Action{Name: "x"}, At: start}
	r.tell(t, press)
	r.now.Advance(3 * time.Second)
	if err := run.done(); err != nil || len(r.sessions(t)) != 2 {
		t.Errorf("%v, %d sessions", err, len(r.sessions(t)))
	}
}

// P10: an instance that must go gives its wake-up back; another one reads from the store how long is left.
func TestSettleSurvives(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	r.put(t, r.said("one"))
	last := r.put(t, r.chatter("Bo", "two"))
	run := r.start(t, r.worker, last)
	time.Sleep(200 * time.Millisecond)
	r.leave()
	if err := run.done(); errs.KindOf(err) != errs.KindRetryable {
		t.Fatalf("%v, want it to come again", err)
	}
	r.going = context.Background()
	other := r.hire(t, "pipeline-2")
	r.now.Advance(2500 * time.Millisecond)
	if err := other.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "one", "two")
}

// P15: a burst that is too long is settled without its pause, and what has no room is dropped.
func TestLongBurst(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', maxPendingPerRoute: 30, merge: {mode: settle}}")
	var last bus.Inbound
	for i := range 40 {
		last = r.put(t, r.said(fmt.Sprint(i)))
	}
	run := r.start(t, r.worker, last)
	time.Sleep(time.Second)
	r.now.Advance(3 * time.Second)
	if err := run.done(); err != nil {
		t.Fatal(err)
	}
	if n := len(r.messages(t)); n != 30 {
		t.Errorf("%d prompts", n)
	}
	if e := r.event(t, last.Event); e.Outcome != flow.OutcomeFull {
		t.Errorf("last %+v", e.Record)
	}
}
