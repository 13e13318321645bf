package bus_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/testenv"
)

func publisher(t *testing.T, client *pubsub.Client) *bus.Publisher {
	t.Helper()
	p, err := bus.NewPublisher(client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// What one function publishes, another one decodes: through the real topic and the very handler.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	sub := env.Subscription(string(bus.TopicTurns), "turns-sub")
	p := publisher(t, env.Instance("function").PubSub)
	if err := p.Publish(t.Context(), bus.TopicTurns, bus.Wake{Session: "s1"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got bus.Wake
	var via bus.Delivery
	handle := bus.Handle(slog.New(slog.DiscardHandler), &morgue{}, func(_ context.Context, w bus.Wake, d bus.Delivery) error {
		got, via = w, d
		return nil
	})
	err := env.PubSub.Subscriber(sub).Receive(ctx, func(ctx context.Context, m *pubsub.Message) {
		defer cancel()
		// The JSON of a push has the bytes in base64, as encoding/json writes them.
		body, err := json.Marshal(map[string]any{"message": map[string]any{"data": m.Data, "publishTime": m.PublishTime}})
		if err != nil {
			t.Error(err)
		}
		if err := handle(ctx, event(t, string(body))); err != nil {
			t.Errorf("handle: %v", err)
		}
		m.Ack()
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Session != "s1" || via.PublishedAt.IsZero() {
		t.Errorf("received %+v, %+v", got, via)
	}
}

// Every topic can be published to, one wake-up a message, and a failure is one that a retry may help: nothing may be acked on it.
func TestPublish(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for _, topic := range bus.Topics() {
		env.Topic(string(topic))
	}
	c := env.Instance("function")
	p := publisher(t, c.PubSub)
	for _, topic := range bus.Topics() {
		if err := p.Publish(t.Context(), topic, bus.Sweep{}); err != nil {
			t.Errorf("publish to %s: %v", topic, err)
		}
	}
	if got := c.Counts(); got.Published != len(bus.Topics()) {
		t.Errorf("%d messages published, want one a topic", got.Published)
	}
	c.Faults.Add(testenv.Fault{Method: "Publish", Times: 1, Fail: codes.PermissionDenied})
	if err := p.Publish(t.Context(), bus.TopicTurns, bus.Wake{Session: "s1"}); err == nil || errs.KindOf(err) != errs.KindRetryable {
		t.Errorf("refused publish: %v, want a retryable error", err)
	}
	if err := p.Publish(t.Context(), "nowhere", bus.Wake{Session: "s1"}); err == nil {
		t.Error("published to a topic that is none")
	}
	if err := p.Publish(t.Context(), bus.TopicTurns, make(chan int)); err == nil {
		t.Error("published what cannot be encoded")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Publish(ended, bus.TopicTurns, bus.Wake{Session: "s1"}); err == nil {
		t.Error("published under a context that has ended, and said so")
	}
	if _, err := bus.NewPublisher(nil); err == nil {
		t.Error("a publisher without a client")
	}
}
