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
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/session"
)

// P2, P20: a listener drops a message or gives it another text before anything is decided; one that fails holds it back.
func TestVeto(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	r.hooks.OnBeforeReceive = append(r.hooks.OnBeforeReceive, func(_ context.Context, e chat.Event) (hooks.Verdict, error) {
		switch {
		case strings.Contains(e.Text, "spam"):
			return hooks.Drop(), nil
		case strings.Contains(e.Text, "broken"):
			return hooks.Pass(), errors.New("listener failed")
		}
		return hooks.Replace(strings.ToUpper(e.Text)), nil
	})
	var received []string
	r.hooks.OnReceive = append(r.hooks.OnReceive, func(_ context.Context, e hooks.Received) error {
		received = append(received, fmt.Sprint(e.Event.Text, " ", e.Decision.Effect, " ", e.SessionID != ""))
		return errors.New("too late to matter")
	})
	key := r.tell(t, r.said("spam"))
	if e := r.event(t, key); e.Outcome != flow.OutcomeVetoed || e.Decision.Reason != "veto" || len(r.sessions(t)) != 0 {
		t.Errorf("%+v", e.Record)
	}
	r.tell(t, r.said("hello"))
	want(t, "prompts", contents(r.messages(t)), "HELLO")
	want(t, "received", received, "spam ignore false", "HELLO wake true")
	if err := r.Handle(t.Context(), r.put(t, r.said("broken")), bus.Delivery{}); errs.KindOf(err) != errs.KindRetryable || err == nil {
		t.Errorf("%v", err)
	}
}

// P6: a rule's wake within the cooldown is only observed, and recorded where the route listens; a duplicate does not move it (case B26).
func TestCooldown(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', activation: {msgCooldown: 5}, observe: {mode: quiet, backfill: {limit: 0}}}")
	var effects []string
	for range 8 { // a second apart
		key := r.tell(t, r.said("x"))
		effects = append(effects, string(r.event(t, key).Decision.Effect)+" "+r.event(t, key).Decision.Reason)
	}
	cool := "observe cooldown"
	want(t, "effects", effects, "wake at", cool, cool, cool, cool, "wake at", cool, cool)
	if n := len(r.messages(t)); n != 8 {
		t.Errorf("%d of 8 are recorded", n)
	}
}

// P9: where the route listens, what wakes nobody is recorded without waking; where it does not, nothing is kept. Own messages never are.
func TestObserve(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', observe: {mode: quiet, backfill: {limit: 0}}}")
	r.tell(t, r.chatter("Bo", "lunch?"))
	own := r.chatter("Kesoku", "echo")
	own.Sender.Self = true
	r.tell(t, own)
	want(t, "recorded", contents(r.messages(t)), "lunch?")
	want(t, "published", r.wakes.take())
	if s := r.only(t); s.Inbox[0].When != session.WhenQuiet || s.TurnWork() {
		t.Errorf("inbox %+v", s.Inbox)
	}
	r.tell(t, r.said("and you?"))
	want(t, "recorded", contents(r.messages(t)), "lunch?", "and you?")
	want(t, "published", r.wakes.take(), "turns "+r.only(t).ID)
}

// P9, case B3: a conversation that begins is given what was said before, once, oldest first, without what came by itself.
func TestBackfill(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', observe: {mode: quiet, backfill: {limit: 3}}}")
	for i := range 5 {
		e := r.chatter("Bo", fmt.Sprint("before ", i))
		e.At = e.At.Add(-time.Hour)
		r.platform.history = append(r.platform.history, e)
	}
	r.platform.history[3].Sender.Self = true
	r.tell(t, r.platform.history[4]) // came by itself, and began the session
	if r.platform.asked != 0 {
		t.Error("history is fetched for what wakes nobody")
	}
	r.tell(t, r.said("so?"))
	want(t, "prompts", contents(r.messages(t)), "before 4", "so?")

	r = newRoom(t, "chat: {model: 'gemini:flash', observe: {mode: quiet, backfill: {limit: 3}}}")
	for i := range 5 {
		e := r.chatter("Bo", fmt.Sprint("before ", i))
		e.At = e.At.Add(-time.Hour)
		r.platform.history = append(r.platform.history, e)
	}
	r.tell(t, r.said("so?"))
	r.tell(t, r.said("and?"))
	want(t, "prompts", contents(r.messages(t)), "before 2", "before 3", "before 4", "so?", "and?")
	if r.platform.asked != 1 {
		t.Errorf("asked %d times", r.platform.asked)
	}
	late := r.platform.history[3]
	if err := r.store.PutEvent(t.Context(), chat.NewRecord(late, r.now.Now())); !errors.Is(err, errs.ErrExists) {
		t.Errorf("a message that was fetched comes again: %v", err)
	}
	r.platform.err = errs.Permanentf("no permission")
	if key := r.tell(t, r.said("go on")); r.event(t, key).Outcome != flow.OutcomeAccepted {
		t.Error("a platform without history keeps the prompt")
	}
}

// P11: what is blocked is not stored, and who waited for an answer is told; what nobody waited for is dropped in silence.
func TestCensored(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', locale: en, observe: {mode: quiet, backfill: {limit: 0}}}\ncensor: {blockWords: [secret]}")
	key := r.tell(t, r.said("the secret is out"))
	all := r.messages(t)
	if e := r.event(t, key); e.Outcome != flow.OutcomeBlocked || len(all) != 1 || !strings.Contains(all[0].Content, "CENSOR_BLOCKED") {
		t.Errorf("%+v, told %q", e.Record, contents(all))
	}
	want(t, "published", r.wakes.take(), "deliveries "+r.only(t).ID)
	if err := r.Handle(t.Context(), bus.Inbound{Route: "googlechat:spaces/A", Event: key}, bus.Delivery{}); err != nil {
		t.Error(err)
	}
	want(t, "published again", r.wakes.take(), "deliveries "+r.only(t).ID)
	r.tell(t, r.chatter("Bo", "a secret"))
	if n := len(r.messages(t)); n != 1 {
		t.Errorf("%d messages", n)
	}
}

// case B25: two bots that address each other are not answered without end; humans in the same room always are.
func TestBotLoop(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	var woken int
	for range 12 {
		e := r.said("you said?")
		e.Sender = chat.Sender{ID: "users/bot", Name: "Bot", Type: chat.SenderBot}
		if r.event(t, r.tell(t, e)).Decision.Effect == chat.EffectWake {
			woken++
		}
	}
	if woken != 2 {
		t.Errorf("a bot is answered %d times", woken)
	}
	if e := r.event(t, r.tell(t, r.said("me"))); e.Decision.Effect != chat.EffectWake {
		t.Errorf("a person is not: %+v", e.Decision)
	}
}

const judged = `
chat:
  model: gemini:flash
  activation: {use: [rule, judge], judge: {minInterval: 1000, dailyBudget: 3}}
models: {decide: "gemini:small"}
`

// P8: the judge is asked about what the rules leave open, shown what was said before, and its yes wakes.
func TestJudge(t *testing.T) {
	t.Parallel()
	r := newRoom(t, judged)
	r.judge.answer = judge.Answer{Speak: true, Urge: 0.4, Reason: "unsure"}
	first := r.tell(t, r.chatter("Bo", "what is Kyoto's population?"))
	if e := r.event(t, first); e.Decision.Effect != chat.EffectIgnore || e.Decision.Urge != 0.4 || e.Decision.Threshold != 0.55 || !e.Verdict.Done {
		t.Errorf("below minUrge: %+v", e.Record)
	}
	r.now.Advance(2 * time.Second)
	r.judge.answer.Urge = 0.9
	second := r.tell(t, r.chatter("Cy", "anyone?"))
	if e := r.event(t, second); e.Decision.Effect != chat.EffectWake || e.Decision.By != "judge" {
		t.Errorf("above minUrge: %+v", e.Record)
	}
	lines := r.judge.asked[1].Lines
	if len(lines) != 2 || lines[0].Text != "what is Kyoto's population?" || lines[1].Sender != "Cy" {
		t.Errorf("shown %+v", lines)
	}
	if r.tell(t, r.said("@you")); len(r.judge.asked) != 2 {
		t.Error("the judge is asked about what wakes anyway")
	}
	r.now.Advance(2 * time.Second)
	r.judge.err = errors.New("quota")
	if e := r.event(t, r.tell(t, r.chatter("Bo", "hm"))); e.Outcome != flow.OutcomeIgnored || strings.Contains(fmt.Sprint(e.Verdict), "quota") {
		t.Errorf("a judge that fails: %+v", e.Record)
	}
	r.now.Advance(2 * time.Second)
	if r.tell(t, r.chatter("Bo", "hm?")); len(r.judge.asked) != 3 {
		t.Errorf("%d questions of a budget of 3", len(r.judge.asked))
	}
}

// P8: a yes may wait; the decision stands meanwhile and is not made again. Whoever addresses the bot does not wait for it.
func TestJudgeWaits(t *testing.T) {
	t.Parallel()
	r := newRoom(t, judged)
	r.judge.answer = judge.Answer{Speak: true, Urge: 0.9, Wait: 20 * time.Second}
	wake := r.put(t, r.chatter("Bo", "anyone?"))
	run := r.start(t, r.worker, wake)
	for range 50 {
		if r.event(t, wake.Event).HeldUntil != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if e := r.event(t, wake.Event); e.HeldUntil == nil || !e.Pending || e.WakeAt == nil || e.WakeAt.Before(*e.HeldUntil) {
		t.Fatalf("not held: %+v", e.Record)
	}
	r.now.Advance(5 * time.Second)
	r.tell(t, r.said("you, bot"))
	if err := run.done(); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "anyone?", "you, bot")
	if len(r.judge.asked) != 1 {
		t.Errorf("asked %d times", len(r.judge.asked))
	}
}

// P8: of handlers that race one asks, and one that died while asking is taken for a no: no message is judged twice.
func TestJudgedOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t, judged)
	wake := r.put(t, r.chatter("Bo", "anyone?"))
	rival := r.hire(t, "pipeline-2")
	var other *waiting
	r.judge.answer = judge.Answer{Speak: true, Urge: 0.9}
	r.judge.before = func() {
		other = r.start(t, rival, wake)
		time.Sleep(600 * time.Millisecond)
	}
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	if err := other.done(); err != nil || len(r.judge.asked) != 1 {
		t.Errorf("%v, asked %d times", err, len(r.judge.asked))
	}
	want(t, "prompts", contents(r.messages(t)), "anyone?")

	r.now.Advance(2 * time.Second)
	dead := chat.NewRecord(r.chatter("Bo", "still?"), r.now.Now())
	dead.Verdict = &chat.Verdict{Until: r.now.Now().Add(-time.Second)}
	if err := r.store.PutEvent(t.Context(), dead); err != nil {
		t.Fatal(err)
	}
	if err := r.Handle(t.Context(), bus.Inbound{Route: dead.RouteID, Event: dead.Key}, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	if e := r.event(t, dead.Key); e.Outcome != flow.OutcomeIgnored || len(r.judge.asked) != 1 {
		t.Errorf("%+v, asked %d times", e.Record, len(r.judge.asked))
	}
}

// P7: a lively room makes the bot speak up, after a pause; what is said meanwhile goes along.
func TestActivity(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', activation: {use: [rule, activity], activity: {threshold: 0.3}}}")
	var held chat.Stored
	for i := range 60 {
		r.now.Advance(time.Second)
		e := r.chatter([]string{"Ann", "Bo", "Cy"}[i%3], fmt.Sprint("talk ", i, "?"))
		wake := r.put(t, e)
		run := r.start(t, r.worker, wake)
		for held = r.event(t, wake.Event); held.Pending && held.HeldUntil == nil; held = r.event(t, wake.Event) {
			time.Sleep(5 * time.Millisecond)
		}
		if held.HeldUntil != nil {
			tail := r.put(t, r.chatter("Dee", "and the last one"))
			more := r.start(t, r.worker, tail)
			time.Sleep(300 * time.Millisecond)
			r.now.Advance(3 * time.Second)
			if err := errors.Join(run.done(), more.done()); err != nil {
				t.Fatal(err)
			}
			break
		}
		if err := run.done(); err != nil {
			t.Fatal(err)
		}
	}
	if held.HeldUntil == nil || held.Decision.By != "activity" || held.Decision.Urge < held.Decision.Threshold || held.Decision.Threshold == 0 {
		t.Fatalf("never spoke up: %+v", held.Decision)
	}
	all := contents(r.messages(t))
	want(t, "prompts", all, held.Text, "and the last one")
}
