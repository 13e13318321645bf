package pipeline_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"kesoku.dev/functions/pipeline"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/testenv"
)

func base(t *testing.T, env *testenv.Env) *boot.Base {
	t.Helper()
	return boottest.Base(t, env, env.Instance("pipeline"), clock.System{}, slog.New(slog.DiscardHandler))
}

var vars = map[string]string{"CHAT_ENDPOINT": "http://127.0.0.1:1/"}

// D3: a stored event becomes a prompt by the published configuration, and its session is woken. An attachment that nobody can fetch does not
// keep it.
func TestEventBecomesPrompt(t *testing.T) {
	boottest.Credentials(t)
	env := testenv.New(t)
	b := base(t, env)
	if _, err := b.Store.PublishConfig(t.Context(), map[string]string{config.FileKesoku: "chat: {model: 'gemini:flash'}"}, 0); err != nil {
		t.Fatal(err)
	}
	handle, err := pipeline.New(t.Context(), b, boot.VarsOf(vars))
	if err != nil {
		t.Fatal(err)
	}
	e := chat.NewRecord(chat.Event{Platform: "googlechat", Kind: chat.KindMessage, MessageID: "spaces/A/messages/1", ChannelID: "spaces/A", AtMe: true,
		Text: "hello", At: time.Now(), Attachments: []message.Attachment{{Name: "a.csv"}}}, time.Now())
	if err := b.Store.PutEvent(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if err := handle(t.Context(), boottest.Wake(t, bus.TopicInbound, bus.Inbound{Route: e.RouteID, Event: e.Key})); err != nil {
		t.Fatal(err)
	}
	all, err := b.Store.SessionsOf(t.Context(), "spaces/A", 10)
	if err != nil || len(all) != 1 || len(all[0].Inbox) != 1 {
		t.Fatalf("sessions %+v, %v", all, err)
	}
	prompts, err := b.Store.Session(all[0].ID).Since(t.Context(), 0)
	if err != nil || len(prompts) != 1 || prompts[0].Content != "hello" || prompts[0].Metadata.Attachments[0].StagedAs != "" {
		t.Errorf("prompts %+v, %v", prompts, err)
	}
	if got := env.Instance("pipeline").Counts().Published; got != 1 {
		t.Errorf("%d wake-ups", got)
	}
}

// case B41: a wake-up for nothing is recorded and acked; an endpoint that is none is told.
func TestFaults(t *testing.T) {
	boottest.Credentials(t)
	env := testenv.New(t)
	b := base(t, env)
	handle, err := pipeline.New(t.Context(), b, boot.VarsOf(vars))
	if err != nil {
		t.Fatal(err)
	}
	if err := handle(t.Context(), boottest.Wake(t, bus.TopicInbound, bus.Inbound{Route: "googlechat:spaces/A", Event: "gone"})); err != nil || boottest.DeadLetters(t, env) != 1 {
		t.Errorf("%v, %d dead letters", err, boottest.DeadLetters(t, env))
	}
	v := boot.VarsOf(map[string]string{"CHAT_ENDPOINT": "chat"})
	_, err = pipeline.New(t.Context(), b, v)
	if all := v.Err(); all == nil || !strings.Contains(all.Error(), "CHAT_ENDPOINT") {
		t.Errorf("%v, %v; want CHAT_ENDPOINT named", err, all)
	}
}
