package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/hooks"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/pipeline/judge"
)

// P9: of what is only listened to the last counts: where as much waits as may, the oldest gives way, and ends as interrupted.
func TestOldestGivesWay(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', observe: {mode: quiet, backfill: {limit: 0}}}")
	for i := range 70 {
		r.put(t, r.chatter("Bo", fmt.Sprint("talk ", i)))
	}
	r.tell(t, r.said("what do you think of that?"))
	s, all := r.only(t), r.messages(t)
	if len(s.Inbox) != 65 || s.Inbox[0].Seq != 7 || all[len(all)-1].Content != "what do you think of that?" {
		t.Errorf("%d wait, from %d; last %q", len(s.Inbox), s.Inbox[0].Seq, all[len(all)-1].Content)
	}
	for i, m := range all[:7] {
		if want := []message.Status{message.StatusInterrupted, message.StatusPendingAgent}[i/6]; m.Status != want {
			t.Errorf("message %d: %s, want %s", i, m.Status, want)
		}
	}
}

// P11, P2: neither an edit nor what was said before goes past the censor and the listeners; an edit that leaves what they had left is none.
func TestNoWayAround(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', observe: {mode: quiet}}\ncensor: {blockWords: [secret], replaceRules: [{pattern: '[0-9]{4}', replacement: '****'}]}")
	r.hooks.OnBeforeReceive = append(r.hooks.OnBeforeReceive, func(_ context.Context, e chat.Event) (hooks.Verdict, error) {
		if strings.Contains(e.Text, "spam") {
			return hooks.Drop(), nil
		}
		return hooks.Pass(), nil
	})
	for _, text := range []string{"my secret", "spam", "code 5678"} {
		e := r.chatter("Bo", text)
		e.At = e.At.Add(-time.Hour)
		r.platform.history = append(r.platform.history, e)
	}
	one := r.said("pin 1234")
	r.tell(t, one)
	want(t, "prompts", contents(r.messages(t)), "code ****", "pin ****")
	for i, text := range []string{"pin 1234", "the secret 9999", "spam and more"} {
		key := r.tell(t, about(one, chat.KindEdited, fmt.Sprint("v", i), text))
		if e := r.event(t, key); e.Outcome != flow.OutcomeIgnored {
			t.Errorf("%s: %s", text, e.Outcome)
		}
	}
	r.tell(t, about(one, chat.KindEdited, "v9", "pin 4321, sorry"))
	if all := contents(r.messages(t)); len(all) != 3 || !strings.Contains(all[2], "pin ****, sorry") || strings.Contains(all[2], "4321") {
		t.Errorf("told %q", all)
	}
}

// P9: the greeting does not stand for a conversation, and what is young, addresses the bot or is of another conversation is not fetched.
func TestBackfillAfterJoining(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', locale: en, observe: {mode: quiet}, session: {ownership: personal}}")
	joined := r.said("")
	joined.Kind, joined.EventID = chat.KindJoined, "j"
	r.tell(t, joined)
	add := func(ago time.Duration, change func(*chat.Event)) {
		e := r.said(fmt.Sprint("said ", r.n))
		e.AtMe, e.At = false, start.Add(time.Hour-ago)
		change(&e)
		r.platform.history = append(r.platform.history, e)
	}
	add(30*time.Minute, func(*chat.Event) {})
	add(29*time.Minute, func(e *chat.Event) { e.AtMe = true })
	add(28*time.Minute, func(e *chat.Event) { e.Sender.ID = "users/2" })
	add(27*time.Minute, func(e *chat.Event) { e.Sender.Self, e.Text = true, r.messages(t)[0].Content })
	add(10*time.Second, func(*chat.Event) {})
	ask := r.said("so?")
	ask.At = start.Add(time.Hour)
	r.tell(t, ask)
	all := contents(r.messages(t))
	want(t, "messages", all[1:], "said 1", "so?")
}

// P11, P10: who addressed the bot and was blocked is told, and nobody else is answered in their place.
func TestBlockedInABurst(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', locale: en, merge: {mode: settle}}\ncensor: {blockWords: [secret]}")
	r.put(t, r.said("the secret"))
	last := r.put(t, r.chatter("Bo", "lunch?"))
	r.now.Advance(3 * time.Second)
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	if all := r.messages(t); len(all) != 1 || all[0].Class() != message.ClassNotification || len(r.only(t).Inbox) != 0 {
		t.Errorf("stored %q", contents(all))
	}
	r.wakes.take()
	r.put(t, r.said("a secret again"))
	last = r.put(t, r.said("and this"))
	r.now.Advance(3 * time.Second)
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	id := r.only(t).ID
	want(t, "published", r.wakes.take(), "deliveries "+id, "turns "+id)
	if all := r.messages(t); len(all) != 3 {
		t.Errorf("stored %q", contents(all))
	}
}

// P18: whatever a route is configured to, the bot's own words never wake it.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	for _, kesoku := range []string{
		"chat: {model: 'gemini:flash', activation: {use: [activity, judge], judge: {minInterval: 0}}}\nmodels: {decide: 'gemini:small'}",
		"chat: {model: 'gemini:flash', activation: {ignoreSelf: false, nicknames: [kesoku], isNickNameWithContent: true}}",
	} {
		r := newRoom(t, kesoku)
		r.judge.answer = judge.Answer{Speak: true, Urge: 1}
		e := r.chatter("Kesoku", "kesoku at your service")
		e.Sender.Self = true
		if got := r.event(t, r.tell(t, e)); got.Outcome != flow.OutcomeIgnored || len(r.judge.asked) != 0 {
			t.Errorf("%s: %+v", kesoku, got.Decision)
		}
	}
}

// An event that fails for long, or that a listener makes impossible to store, does not hold up its route.
func TestPoison(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	r.hooks.OnBeforeReceive = append(r.hooks.OnBeforeReceive, func(_ context.Context, e chat.Event) (hooks.Verdict, error) {
		switch e.Text {
		case "huge":
			return hooks.Replace(strings.Repeat("x", 2<<20)), nil
		case "broken":
			return hooks.Pass(), errors.New("listener is down")
		}
		return hooks.Replace(e.Text + "\xff"), nil
	})
	huge, broken := r.put(t, r.said("huge")), r.put(t, r.said("broken"))
	good := r.put(t, r.said("good"))
	if err := r.Handle(t.Context(), good, bus.Delivery{}); errs.KindOf(err) != errs.KindRetryable || err == nil {
		t.Fatalf("%v, want it tried again", err)
	}
	if e := r.event(t, huge.Event); e.Outcome != flow.OutcomeFailed || e.Text != "huge" {
		t.Errorf("huge: %s", e.Outcome)
	}
	r.now.Advance(31 * time.Minute)
	if err := r.Handle(t.Context(), good, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	if e := r.event(t, broken.Event); e.Outcome != flow.OutcomeFailed {
		t.Errorf("broken: %s", e.Outcome)
	}
	want(t, "prompts", contents(r.messages(t)), "good�")
}

// D3, P10: a handler that dies between the commit of a burst and its wake-up leaves the session to whoever comes again, for a message that came to
// nothing too.
func TestDroppedMemberWakes(t *testing.T) {
	t.Parallel()
	r := newRoom(t, settling)
	r.put(t, r.said("answer me"))
	own := r.chatter("Kesoku", "own words")
	own.Sender.Self = true
	last := r.put(t, own)
	r.now.Advance(3 * time.Second)
	r.wakes.fail = errors.New("dies here")
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err == nil {
		t.Fatal("acked although nobody was woken")
	}
	r.wakes.fail = nil
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "published", r.wakes.take(), "turns "+r.only(t).ID)
}

// P8, P11: what was vetoed or is blocked is not shown to the judge's model either.
func TestJudgeSeesWhatModelsMay(t *testing.T) {
	t.Parallel()
	r := newRoom(t, strings.Replace(judged, "minInterval: 1000", "minInterval: 0", 1)+"censor: {blockWords: [secret]}\n")
	r.hooks.OnBeforeReceive = append(r.hooks.OnBeforeReceive, func(_ context.Context, e chat.Event) (hooks.Verdict, error) {
		if e.Text == "vetoed" {
			return hooks.Drop(), nil
		}
		return hooks.Replace(e.Text + "!"), nil
	})
	r.tell(t, r.chatter("Bo", "vetoed"))
	r.tell(t, r.chatter("Bo", "a secret"))
	key := r.tell(t, r.chatter("Bo", "well"))
	for _, l := range r.judge.asked[len(r.judge.asked)-1].Lines {
		if strings.Contains(l.Text, "secret") || strings.Contains(l.Text, "vetoed") || strings.Contains(l.Text, "!!") {
			t.Errorf("shown %q", l.Text)
		}
	}
	if e := r.event(t, key); e.Text != "well!" {
		t.Errorf("the listener ran twice: %q", e.Text)
	}
}

// P9: the limit of attachments is for what is only listened to.
func TestManyAttachments(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', observe: {mode: quiet, backfill: {limit: 0}, media: {perMessage: 2, attach: 1}}}")
	for _, at := range []bool{false, true} {
		e := r.chatter("Bo", "files")
		e.AtMe = at
		for i := range 4 {
			e.Attachments = append(e.Attachments, message.Attachment{Name: fmt.Sprint(i), Source: "x"})
		}
		r.tell(t, e)
	}
	all := r.messages(t)
	if a := all[0].Metadata.Attachments; len(a) != 2 || a[0].StagedAs == "" || a[1].StagedAs != "" {
		t.Errorf("listened to: %+v", a)
	}
	if a := all[1].Metadata.Attachments; len(a) != 4 || a[3].StagedAs == "" {
		t.Errorf("answered: %+v", a)
	}
}
