package emulator

import (
	"context"
	"fmt"
	"strings"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ackDeadlineSeconds is what every subscription of Kesoku has: the largest that Pub/Sub allows.
const ackDeadlineSeconds = 600

// EnsureTopic creates the topic unless it exists, and returns its full name. An id has at least 3 characters.
func EnsureTopic(ctx context.Context, c *pubsub.Client, id string) (string, error) {
	name := resource(c.Project(), "topics", id)
	_, err := c.TopicAdminClient.CreateTopic(ctx, &pubsubpb.Topic{Name: name})
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return "", fmt.Errorf("create topic %s: %w", name, err)
	}
	return name, nil
}

// EnsureSubscription creates the subscription unless it exists, and returns its full name. Name and Topic may be ids or full names;
// an ack deadline of 0 becomes 600 s.
func EnsureSubscription(ctx context.Context, c *pubsub.Client, s *pubsubpb.Subscription) (string, error) {
	s.Name, s.Topic = resource(c.Project(), "subscriptions", s.GetName()), resource(c.Project(), "topics", s.GetTopic())
	if s.GetAckDeadlineSeconds() == 0 {
		s.AckDeadlineSeconds = ackDeadlineSeconds
	}
	_, err := c.SubscriptionAdminClient.CreateSubscription(ctx, s)
	if err != nil && status.Code(err) != codes.AlreadyExists {
		return "", fmt.Errorf("create subscription %s of %s: %w", s.GetName(), s.GetTopic(), err)
	}
	return s.GetName(), nil
}

func resource(project, kind, id string) string {
	if strings.HasPrefix(id, "projects/") {
		return id
	}
	return "projects/" + project + "/" + kind + "/" + id
}
