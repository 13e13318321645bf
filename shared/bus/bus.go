// Package bus is the only package that knows Pub/Sub: the topics, what a wake-up says, how it is published and decoded, and the one place
// where an error becomes ack or nack. A wake-up carries no state that is not in Firestore; it says where to look. Losing, repeating or
// reordering wake-ups must not change any result.
package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"go.opentelemetry.io/otel/trace"

	"kesoku.dev/shared/telemetry"
)

// Topic is a Pub/Sub topic's id.
type Topic string

// The topics, each read by the function that the comment names.
const (
	TopicInbound    Topic = "inbound"    // pipeline
	TopicTurns      Topic = "turns"      // turn
	TopicDeliveries Topic = "deliveries" // deliver
	TopicCron       Topic = "cron"       // cron
	TopicSweeps     Topic = "sweeps"     // sweep
)

// TopicLifecycle is for other systems: hooks.Lifecycle as JSON. Nothing of ours reads it.
const TopicLifecycle Topic = "lifecycle"

// Topics lists the topics of wake-ups.
func Topics() []Topic {
	return []Topic{TopicInbound, TopicTurns, TopicDeliveries, TopicCron, TopicSweeps}
}

// Inbound says that a route has an event to decide on.
type Inbound struct {
	Route string `json:"route"`
	Event string `json:"event"` // key
}

// Wake says that a session may have work, on TopicTurns or TopicDeliveries.
type Wake struct {
	Session string `json:"session"`
}

// Cron says that a job is due.
type Cron struct {
	Job string `json:"job"`
}

// Sweep says that it is time to look for what was left behind.
type Sweep struct{}

// documentID is the form of the ids that wake-ups name. No document has a name like "" or "a/b": reading it fails for ever, and not as
// something that is not found.
var documentID = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)

func (w Inbound) valid() bool { return w.Route != "" && documentID.MatchString(w.Event) }
func (w Wake) valid() bool    { return documentID.MatchString(w.Session) }
func (w Cron) valid() bool    { return w.Job != "" }
func (Sweep) valid() bool     { return true }

// publishFor bounds one publish, its retries included.
const publishFor = 20 * time.Second

// Publisher publishes wake-ups.
type Publisher struct {
	topics map[Topic]*pubsub.Publisher
}

// NewPublisher returns a publisher for the topics of the client's project.
func NewPublisher(client *pubsub.Client) (*Publisher, error) {
	if client == nil {
		return nil, errors.New("bus.NewPublisher: client must not be nil")
	}
	p := &Publisher{topics: map[Topic]*pubsub.Publisher{}}
	for _, t := range append(Topics(), TopicLifecycle) {
		pub := client.Publisher(string(t))
		// The default of 10 ms waits for a batch; a wake-up goes alone.
		pub.PublishSettings.DelayThreshold = time.Millisecond
		pub.PublishSettings.Timeout = publishFor
		p.topics[t] = pub
	}
	return p, nil
}

// Connect returns a publisher for the project. The SDK finds the emulator by PUBSUB_EMULATOR_HOST.
func Connect(ctx context.Context, project string) (*Publisher, error) {
	client, err := pubsub.NewClient(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub of %s: %w", project, err)
	}
	return NewPublisher(client)
}

// Publish returns once Pub/Sub has the wake-up, which carries on the trace of ctx. An error is retryable: the caller must not ack what the
// wake-up was to continue.
func (p *Publisher) Publish(ctx context.Context, topic Topic, wake any) (err error) {
	data, err := json.Marshal(wake)
	if err != nil {
		return fmt.Errorf("encode wake-up for %s: %w", topic, err)
	}
	pub, ok := p.topics[topic]
	if !ok {
		return fmt.Errorf("unknown topic %q", topic)
	}
	ctx, end := telemetry.StartSpan(ctx, telemetry.SpanSend(string(topic)),
		trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(telemetry.OfSend(string(topic))...))
	defer end(&err)
	id, err := pub.Publish(ctx, &pubsub.Message{Data: data, Attributes: telemetry.Inject(ctx)}).Get(ctx)
	if err != nil {
		return fmt.Errorf("publish to %s: %w", topic, err)
	}
	telemetry.Note(ctx, telemetry.KeyMessageID.String(id))
	return nil
}

// Stop sends what is still buffered.
func (p *Publisher) Stop() {
	for _, t := range p.topics {
		t.Stop()
	}
}
