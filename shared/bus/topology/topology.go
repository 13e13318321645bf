// Package topology is the operator's view of Pub/Sub: which topics and subscriptions stand, with which limits, and how a wake-up that was
// buried is published again. It creates nothing and changes nothing; that is Terraform's.
package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/errs"
)

// Topology looks at one project.
type Topology struct{ client *pubsub.Client }

// New returns a view of the client's project.
func New(client *pubsub.Client) (*Topology, error) {
	if client == nil {
		return nil, errors.New("topology.New: client must not be nil")
	}
	return &Topology{client: client}, nil
}

// Connect returns a view of the project. The SDK finds the emulator by PUBSUB_EMULATOR_HOST.
func Connect(ctx context.Context, project string) (*Topology, error) {
	client, err := pubsub.NewClient(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub of %s: %w", project, err)
	}
	return New(client)
}

// Subscription is what matters of one.
type Subscription struct {
	Name            string // full
	PushEndpoint    string // empty for one that is pulled
	PushAccount     string // service account whose OIDC token the push carries
	AckDeadline     time.Duration
	MinBackoff      time.Duration // both 0 without a retry policy
	MaxBackoff      time.Duration
	DeadLetterTopic string // full; empty without a dead-letter policy
	MaxAttempts     int
	Detached        bool // its topic is gone, or somebody detached it: nothing arrives
}

// Topic reports whether a topic exists. Its name may be an id or full.
func (t *Topology) Topic(ctx context.Context, name string) (bool, error) {
	_, err := t.client.TopicAdminClient.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: t.full(name)})
	switch status.Code(err) {
	case codes.OK:
		return true, nil
	case codes.NotFound:
		return false, nil
	default:
		return false, fmt.Errorf("look for topic %s: %w", name, err)
	}
}

// Subscriptions lists the subscriptions of a topic.
func (t *Topology) Subscriptions(ctx context.Context, topic bus.Topic) ([]Subscription, error) {
	names := t.client.TopicAdminClient.ListTopicSubscriptions(ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: t.full(string(topic))})
	var all []Subscription
	for {
		name, err := names.Next()
		if errors.Is(err, iterator.Done) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list subscriptions of %s: %w", topic, err)
		}
		s, err := t.client.SubscriptionAdminClient.GetSubscription(ctx, &pubsubpb.GetSubscriptionRequest{Subscription: name})
		if err != nil {
			return nil, fmt.Errorf("read subscription %s: %w", name, err)
		}
		all = append(all, subscriptionOf(s))
	}
}

func subscriptionOf(s *pubsubpb.Subscription) Subscription {
	return Subscription{
		Name: s.GetName(), Detached: s.GetDetached(), AckDeadline: time.Duration(s.GetAckDeadlineSeconds()) * time.Second,
		PushEndpoint: s.GetPushConfig().GetPushEndpoint(), PushAccount: s.GetPushConfig().GetOidcToken().GetServiceAccountEmail(),
		MinBackoff: s.GetRetryPolicy().GetMinimumBackoff().AsDuration(), MaxBackoff: s.GetRetryPolicy().GetMaximumBackoff().AsDuration(),
		DeadLetterTopic: s.GetDeadLetterPolicy().GetDeadLetterTopic(), MaxAttempts: int(s.GetDeadLetterPolicy().GetMaxDeliveryAttempts()),
	}
}

func (t *Topology) full(topic string) string {
	if strings.HasPrefix(topic, "projects/") {
		return topic
	}
	return "projects/" + t.client.Project() + "/topics/" + topic
}

// WakeUp is what a push carried.
type WakeUp struct {
	Topic bus.Topic
	Data  []byte
}

// Original reads the wake-up out of a buried push: source is a CloudEvent's, such as //pubsub.googleapis.com/projects/p/topics/turns. What
// names none of our topics, or is not a whole push message, is a permanent error.
func Original(source string, body []byte) (WakeUp, error) {
	topic := bus.Topic(source[strings.LastIndex(source, "/")+1:])
	if !slices.Contains(bus.Topics(), topic) {
		return WakeUp{}, errs.Permanentf("source %.200q names none of the topics", source)
	}
	var push struct {
		Message *struct {
			Data []byte `json:"data"`
		} `json:"message"`
	}
	err := json.Unmarshal(body, &push)
	if err == nil && push.Message == nil {
		err = errors.New("there is no message in it")
	}
	if err != nil {
		return WakeUp{}, errs.Permanentf("not a whole push message (a body over 256 KiB is cut when it is buried): %w", err)
	}
	return WakeUp{Topic: topic, Data: push.Message.Data}, nil
}

// Publish publishes data as it stands, and returns the new message's id.
func (t *Topology) Publish(ctx context.Context, w WakeUp) (id string, err error) {
	p := t.client.Publisher(string(w.Topic))
	defer p.Stop()
	p.PublishSettings.DelayThreshold = time.Millisecond
	data := w.Data
	if len(data) == 0 {
		data = []byte("{}") // Pub/Sub takes no message without data and attributes
	}
	id, err = p.Publish(ctx, &pubsub.Message{Data: data}).Get(ctx)
	if err != nil {
		return "", fmt.Errorf("publish to %s: %w", w.Topic, err)
	}
	return id, nil
}
