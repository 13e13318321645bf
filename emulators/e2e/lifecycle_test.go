package e2e_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/hooks"
)

// P20: other systems hear of what is decided and of how turns stand, and of no more than the configuration names.
func TestLifecycle(t *testing.T) {
	t.Parallel()
	w := world.New(t, world.Options{Config: map[string]string{
		"kesoku.yaml": "lifecycle: [receive, agent-status]\nchat: {model: 'gemini:gemini-2.5-flash', locale: en}",
	}})
	w.Env.Topic(string(bus.TopicLifecycle))
	subscription := w.Env.Subscription(string(bus.TopicLifecycle), "listener")
	w.Post(world.Alice, world.Room, "@Kesoku what time is it in Tokyo?")
	w.Settle()

	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	var mu sync.Mutex
	var told []string
	err := w.Env.PubSub.Subscriber(subscription).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		m.Ack()
		var l hooks.Lifecycle
		if err := json.Unmarshal(m.Data, &l); err != nil {
			t.Errorf("%s: %v", m.Data, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if l.Route == "" || l.At.IsZero() || (l.Session == "") {
			t.Errorf("event %s", m.Data)
		}
		told = append(told, string(l.Type)+" "+string(l.Effect)+string(l.Status))
		if slices.Contains(told, "agent-status finished") && slices.Contains(told, "receive wake") {
			stop()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(told)
	if got := slices.Compact(told); !slices.Equal(got, []string{"agent-status finished", "agent-status started", "receive wake"}) {
		t.Errorf("told %q", got)
	}
}
