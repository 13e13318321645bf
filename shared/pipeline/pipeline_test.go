package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/pipeline"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/testenv"
)

const served = "chat: {model: 'gemini:flash', locale: en}"

// D3, case B43: a route's events are settled by the platform's clock, whichever wake-up comes first; each wake-up that comes later wakes again.
func TestOrder(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	one, two, three := r.said("one"), r.said("two"), r.said("three")
	last := r.put(t, three)
	first, second := r.put(t, one), r.put(t, two)
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "one", "two", "three")
	s := r.only(t)
	if len(s.Inbox) != 3 || s.Inbox[0].Key != first.Event || s.Inbox[0].ThreadID != "spaces/A/threads/t" || !s.Inbox[0].At.Equal(one.At) {
		t.Errorf("inbox %+v", s.Inbox)
	}
	wake := "turns " + s.ID
	want(t, "published", r.wakes.take(), wake, wake, wake)
	swap := s.Swap
	for _, w := range []bus.Inbound{first, second, last} {
		if err := r.Handle(t.Context(), w, bus.Delivery{}); err != nil {
			t.Error(err)
		}
	}
	want(t, "published again", r.wakes.take(), wake, wake, wake)
	if s := r.only(t); s.Swap != swap {
		t.Error("a wake-up for a settled event changed the session")
	}
}

// L1, M5.1, M6, P14: what a prompt is stored as, and what its session takes over of the route.
func TestAccepted(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', locale: en, session: {ownership: personal, lane: side}, merge: {interrupt: true}, tools: [recall]}")
	e := r.said("hello")
	e.Locale = "zh-CN"
	e.Sender.Name = ""
	key := r.tell(t, e)
	s, m := r.only(t), r.messages(t)[0]
	if s.ConversationKey != "googlechat:spaces/A:user:users/1:lane:side" || s.ChannelID != "spaces/A" || s.ChatbotID != "googlechat" {
		t.Errorf("session %+v", s)
	}
	if s.Settings.Model != "gemini:flash" || !s.Settings.Interrupt || !slices.Equal(s.Settings.Tools, []string{"recall"}) {
		t.Errorf("settings %+v", s.Settings)
	}
	if m.Class() != message.ClassUserPrompt || m.Status != message.StatusPendingAgent || m.Sender != "users/1" || m.Seq != 1 || !m.Timestamp.Equal(e.At) ||
		m.Metadata.PlatformMessageID != e.MessageID || m.Metadata.SenderID != "users/1" || m.Metadata.Locale != "zh-CN" {
		t.Errorf("prompt %+v", m)
	}
	got := r.event(t, key)
	if n := len(got.Stages); n == 0 || got.Stages[0].Stage != "veto" || got.Stages[n-1].Stage != "accept" {
		t.Errorf("stages %+v", got.Stages)
	}
	if got.Pending || got.WakeAt != nil || got.Outcome != flow.OutcomeAccepted || got.SessionID != s.ID || got.Decision.Reason != "at" || got.Decision.By != "rule" {
		t.Errorf("event %+v", got.Record)
	}
	// Another person's message is another conversation.
	other := r.said("me too")
	other.Sender.ID = "users/2"
	r.tell(t, other)
	if n := len(r.sessions(t)); n != 2 {
		t.Errorf("%d sessions, want one a person", n)
	}
}

// P16: what joins a running turn at its next step and what waits for its own is the route's to say.
func TestWhen(t *testing.T) {
	t.Parallel()
	for midTurn, when := range map[string]session.When{"step": session.WhenNow, "turn": session.WhenNext} {
		r := newRoom(t, "chat: {model: 'gemini:flash', observe: {midTurn: "+midTurn+"}}")
		r.tell(t, r.said("x"))
		if got := r.only(t).Inbox[0].When; got != when {
			t.Errorf("midTurn %s: %s, want %s", midTurn, got, when)
		}
	}
}

// P1, cases B2, B38: handlers that race for one route lose nothing and accept nothing twice.
func TestRacingHandlers(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	workers := []*worker{r.worker, r.hire(t, "pipeline-2"), r.hire(t, "pipeline-3")}
	var all []bus.Inbound
	var texts []string
	for i := range 9 {
		texts = append(texts, fmt.Sprint("m", i))
		all = append(all, r.put(t, r.said(texts[i])))
	}
	var running sync.WaitGroup
	for i, w := range all {
		for j := range 2 { // every wake-up twice
			running.Go(func() {
				handler := workers[(i+j)%len(workers)]
				err := handler.Handle(t.Context(), w, bus.Delivery{})
				for try := 0; err != nil && try < 20; try++ { // a nack comes again
					err = handler.Handle(t.Context(), w, bus.Delivery{})
				}
				if err != nil {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
	}
	running.Wait()
	want(t, "prompts", contents(r.messages(t)), texts...)
	if n := len(r.only(t).Inbox); n != 9 {
		t.Errorf("%d in the inbox", n)
	}
}

// An event that another handler settles between our look and our commit is not decided on twice.
func TestSettleConflict(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	r.tell(t, r.said("before")) // so that the session stands, and only the event is raced for
	r.wakes.take()
	wake := r.put(t, r.said("raced"))
	rival := r.hire(t, "pipeline-2")
	r.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Before: func() {
		if err := rival.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
			t.Errorf("rival: %v", err)
		}
	}})
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "before", "raced")
	want(t, "published by the loser", r.wakes.take(), "turns "+r.only(t).ID)
}

// The conversation's session is made by somebody else between our look and our commit: the prompt and the event name that one.
func TestConversationMoves(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	wake := r.put(t, r.said("mine"))
	rival := r.hire(t, "pipeline-2")
	r.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Before: func() {
		ledger := rival.store.Conversation("googlechat:spaces/A", func() session.Session {
			return session.New("rival", "googlechat:spaces/A", "googlechat:spaces/A", "googlechat", "spaces/A", false, start)
		})
		if _, err := ledger.Change(t.Context(), func(*session.Draft) error { return nil }); err != nil {
			t.Errorf("rival: %v", err)
		}
	}})
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	if s := r.only(t); s.ID != "rival" || len(s.Inbox) != 1 {
		t.Errorf("session %+v", s)
	}
	if e := r.event(t, wake.Event); e.SessionID != "rival" || e.Outcome != flow.OutcomeAccepted {
		t.Errorf("event %+v", e.Record)
	}
	want(t, "published", r.wakes.take(), "turns rival")
}

// case B41: a wake-up for an event that nobody stored fails for good.
func TestMissingEvent(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	err := r.Handle(t.Context(), bus.Inbound{Route: "googlechat:spaces/A", Event: "gone"}, bus.Delivery{})
	if errs.KindOf(err) != errs.KindPermanent || !errors.Is(err, errs.ErrNotFound) {
		t.Errorf("%v, want a permanent error", err)
	}
}

// One bad event does not hold up its route; it is settled as failed.
func TestPermanentStageError(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	bad := r.said("bad")
	bad.Kind = "reaction"
	badKey, good := r.put(t, bad).Event, r.put(t, r.said("good"))
	if err := r.Handle(t.Context(), good, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "good")
	if e := r.event(t, badKey); e.Outcome != flow.OutcomeFailed || e.Pending {
		t.Errorf("bad event: %+v", e.Record)
	}
}

// L1: an attachment is copied before its prompt is stored; one that can never be had stays named, and one that cannot be had now holds
// the event back, for the prompt would be answered without it.
func TestAttachments(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	r.media["forbidden.csv"] = errs.Permanentf("no permission")
	e := r.said("look")
	e.Attachments = []message.Attachment{{Name: "a.csv", Source: "x"}, {Name: "forbidden.csv", Source: "y"}}
	r.tell(t, e)
	got := r.messages(t)[0].Metadata.Attachments
	if len(got) != 2 || got[0].StagedAs != "sessions/"+r.only(t).ID+"/a.csv" || got[1].StagedAs != "" || got[1].Name != "forbidden.csv" {
		t.Errorf("attachments %+v", got)
	}
	r.media["slow.csv"] = errors.New("timeout")
	e = r.said("and this")
	e.Attachments = []message.Attachment{{Name: "slow.csv", Source: "z"}}
	wake := r.put(t, e)
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err == nil || errs.KindOf(err) != errs.KindRetryable || !r.event(t, wake.Event).Pending {
		t.Errorf("%v, pending %v: want it tried again", err, r.event(t, wake.Event).Pending)
	}
	delete(r.media, "slow.csv")
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil || len(r.messages(t)) != 2 {
		t.Errorf("%v, %d prompts", err, len(r.messages(t)))
	}
}

// P15: beyond what may wait a message is dropped with a warning; what waits is not touched, and there is room again once a turn has begun.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {model: 'gemini:flash', maxPendingPerRoute: 2}")
	r.tell(t, r.said("one"))
	r.tell(t, r.said("two"))
	r.wakes.take()
	key := r.tell(t, r.said("three"))
	if e := r.event(t, key); e.Outcome != flow.OutcomeFull || e.SessionID != "" {
		t.Errorf("event %+v", e.Record)
	}
	if log := r.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "limit=2") {
		t.Errorf("log:\n%s", log)
	}
	want(t, "published", r.wakes.take())
	if _, err := r.store.Session(r.only(t).ID).Change(t.Context(), func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, r.now.Now())
		d.Begin(r.now.Now())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	r.tell(t, r.said("four"))
	want(t, "prompts", contents(r.messages(t)), "one", "two", "four")
}

// P3, P5, P19: what is nobody's business makes no session, costs one write and wakes nobody.
func TestIgnored(t *testing.T) {
	t.Parallel()
	off := "chat: {engine: off, model: 'gemini:flash'}"
	for name, tt := range map[string]struct {
		kesoku string
		change func(*chat.Event)
		reason string
	}{
		"engine off":             {off, func(*chat.Event) {}, "engine_off"},
		"joined with engine off": {off, func(e *chat.Event) { e.Kind, e.EventID = chat.KindJoined, "j" }, "engine_off"},
		"not addressed":          {served, func(e *chat.Event) { e.AtMe = false }, "none"},
		"own message":            {served, func(e *chat.Event) { e.Sender.Self = true }, "self"},
		"a command":              {served, func(e *chat.Event) { e.Kind = chat.KindCommand }, "command"},
		"edited":                 {served, func(e *chat.Event) { e.Kind, e.EventID = chat.KindEdited, "x" }, "edited"},
		"left":                   {served, func(e *chat.Event) { e.Kind, e.EventID = chat.KindLeft, "x" }, "left"},
		"no decider":             {"chat: {model: 'gemini:flash', activation: {use: []}}", func(*chat.Event) {}, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, tt.kesoku)
			e := r.said("hello")
			tt.change(&e)
			wake := r.put(t, e)
			before := r.client.Counts()
			for range 2 { // the second finds it settled
				if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
					t.Fatal(err)
				}
			}
			got := r.event(t, wake.Event)
			if got.Outcome != flow.OutcomeIgnored || got.Decision.Effect != chat.EffectIgnore || got.Decision.Reason != tt.reason || got.Pending {
				t.Errorf("event %+v", got.Record)
			}
			if n := len(r.sessions(t)); n != 0 || len(r.wakes.take()) != 0 || r.client.Counts().Minus(before).Writes != 1 {
				t.Errorf("%d sessions, %+v", n, r.client.Counts().Minus(before))
			}
		})
	}
}

// P13: an unknown model is refused, logged each time, and told once in each conversation.
func TestUnknownModel(t *testing.T) {
	t.Parallel()
	r := newRoom(t, "chat: {locale: en}") // the default model has no driver here
	for range 3 {
		key := r.tell(t, r.said("hello"))
		if e := r.event(t, key); e.Outcome != flow.OutcomeUnknownModel || e.SessionID != r.only(t).ID {
			t.Errorf("event %+v", e.Record)
		}
	}
	all := r.messages(t)
	if len(all) != 1 || all[0].Class() != message.ClassNotification || !strings.Contains(all[0].Content, "openai:gpt-4o-mini") || all[0].Status != message.StatusPending ||
		all[0].Metadata.ThreadID != "spaces/A/threads/t" {
		t.Errorf("told %+v", all)
	}
	if n := strings.Count(r.log.String(), "dispatch refused"); n != 3 || len(r.only(t).Inbox) != 0 {
		t.Errorf("logged %d times, inbox %v", n, r.only(t).Inbox)
	}
	wake := "deliveries " + r.only(t).ID
	want(t, "published", r.wakes.take(), wake, wake, wake)
}

// M6, M5.11: whoever adds the app is greeted, in their own language where the platform tells it.
func TestWelcome(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, direct := range []bool{false, true} {
		for _, locale := range []string{"", "zh-CN"} {
			r := newRoom(t, served)
			e := r.said("")
			e.Kind, e.EventID, e.Direct, e.Locale = chat.KindJoined, "joined", direct, locale
			key := r.tell(t, e)
			all := r.messages(t)
			if len(all) != 1 || all[0].Class() != message.ClassNotification || r.event(t, key).Outcome != flow.OutcomeWelcomed {
				t.Fatalf("%+v, event %+v", all, r.event(t, key).Record)
			}
			said[all[0].Content] = true
			want(t, "published", r.wakes.take(), "deliveries "+r.only(t).ID)
		}
	}
	if len(said) != 4 {
		t.Errorf("said %v, want four different greetings", said)
	}
}

// A6: Stop reaches the live turn that the button names, once, and only from its own channel.
func TestStop(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	r.tell(t, r.said("work"))
	id := r.only(t).ID
	if _, err := r.store.Session(id).Change(t.Context(), func(d *session.Draft) error {
		d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, r.now.Now())
		d.Begin(r.now.Now())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	r.wakes.take()
	press := func(channel, action string, params map[string]string) chat.Stored {
		t.Helper()
		r.n++
		e := chat.Event{Platform: "googlechat", Kind: chat.KindAction, MessageID: "card", EventID: fmt.Sprint(r.n), ChannelID: channel,
			Sender: chat.Sender{ID: "users/2", Name: "Bo"}, Action: chat.Action{Name: action, Params: params}, At: start}
		return r.event(t, r.tell(t, e))
	}
	for name, tt := range map[string]struct {
		channel, action string
		params          map[string]string
		want            string
	}{
		"another channel's session": {"spaces/B", "stop", map[string]string{"session": id, "turn": "1"}, flow.OutcomeIgnored},
		"no such session":           {"spaces/A", "stop", map[string]string{"session": "gone", "turn": "1"}, flow.OutcomeIgnored},
		"another turn":              {"spaces/A", "stop", map[string]string{"session": id, "turn": "2"}, flow.OutcomeTooLate},
		"no turn at all":            {"spaces/A", "stop", map[string]string{"session": id}, flow.OutcomeIgnored},
		"no number":                 {"spaces/A", "stop", map[string]string{"session": id, "turn": "1; drop"}, flow.OutcomeIgnored},
		"no session named":          {"spaces/A", "stop", map[string]string{"turn": "1"}, flow.OutcomeIgnored},
		"another action":            {"spaces/A", "start", map[string]string{"session": id, "turn": "1"}, flow.OutcomeIgnored},
	} {
		if e := press(tt.channel, tt.action, tt.params); e.Outcome != tt.want {
			t.Errorf("%s: %s, want %s", name, e.Outcome, tt.want)
		}
		if r.only(t).Turn.Stopped {
			t.Fatalf("%s: stopped", name)
		}
	}
	want(t, "published for nothing", r.wakes.take())
	mine := map[string]string{"session": id, "turn": "1"}
	e := press("spaces/A", "stop", mine)
	if s := r.only(t); e.Outcome != flow.OutcomeStopped || !s.Turn.Stopped || s.Turn.StoppedBy != "Bo" {
		t.Errorf("event %+v, turn %+v", e.Record, s.Turn)
	}
	want(t, "published", r.wakes.take(), "turns "+id)
	if e := press("spaces/A", "stop", mine); e.Outcome != flow.OutcomeTooLate {
		t.Errorf("second press: %s", e.Outcome)
	}
	if err := r.Handle(t.Context(), bus.Inbound{Route: e.RouteID, Event: e.Key}, bus.Delivery{}); err != nil {
		t.Error(err)
	}
	want(t, "published on redelivery", r.wakes.take(), "turns "+id)
}

// A stop that names what no document can be called is refused, not tried for ever.
func TestStopOfImpossibleSession(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	for _, id := range []string{"a/b", "..", "a/messages/b", strings.Repeat("x", 1000), "__x__"} {
		r.n++
		e := chat.Event{Platform: "googlechat", Kind: chat.KindAction, MessageID: "card", EventID: fmt.Sprint(r.n), ChannelID: "spaces/A",
			Action: chat.Action{Name: "stop", Params: map[string]string{"session": id, "turn": "1"}}, At: start}
		wake := r.put(t, e)
		if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil || r.event(t, wake.Event).Pending {
			t.Errorf("session %.20q: %v, pending %v", id, err, r.event(t, wake.Event).Pending)
		}
	}
}

// Nothing is acked that was not announced, and the redelivery announces it.
func TestPublishFails(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	wake := r.put(t, r.said("hello"))
	r.wakes.fail = errors.New("Pub/Sub is down")
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); !errors.Is(err, r.wakes.fail) || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("%v, want the publisher's error, retryable", err)
	}
	r.wakes.fail = nil
	if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
		t.Error(err)
	}
	want(t, "published", r.wakes.take(), "turns "+r.only(t).ID)
	want(t, "prompts", contents(r.messages(t)), "hello")
}

// case B37: a commit whose answer is lost is settled by asking, and nothing is stored twice.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	wake := r.put(t, r.said("hello"))
	r.client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Lose: codes.DeadlineExceeded})
	err := r.Handle(t.Context(), wake, bus.Delivery{})
	if err != nil {
		err = r.Handle(t.Context(), wake, bus.Delivery{})
	}
	if err != nil {
		t.Error(err)
	}
	want(t, "prompts", contents(r.messages(t)), "hello")
}

// The handler's time is over: it says so and leaves the event for the next one.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	wake := r.put(t, r.said("hello"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Handle(ctx, wake, bus.Delivery{}); err == nil || errs.KindOf(err) != errs.KindRetryable || !r.event(t, wake.Event).Pending {
		t.Errorf("%v", err)
	}
}

// More events than one look takes are all settled by the wake-up of the last.
func TestManyPending(t *testing.T) {
	t.Parallel()
	r := newRoom(t, served)
	for range 70 {
		e := r.said("chatter")
		e.AtMe = false
		r.put(t, e)
	}
	last := r.put(t, r.said("hello"))
	if err := r.Handle(t.Context(), last, bus.Delivery{}); err != nil {
		t.Fatal(err)
	}
	want(t, "prompts", contents(r.messages(t)), "hello")
}

// New refuses to be built without what it needs, and names it.
func TestNew(t *testing.T) {
	t.Parallel()
	_, err := pipeline.New(pipeline.Deps{})
	for _, name := range []string{"Events", "Conversations", "Config", "Bus", "Media", "Channels", "Spaces", "Judge", "Censor", "Hooks", "Clock", "NewID", "Log", "Going"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}
