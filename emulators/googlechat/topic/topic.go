// Package topic sends what the stand-in publishes to real topics. It knows Pub/Sub and no chat.
package topic

import (
	"context"
	"fmt"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"kesoku.dev/emulators/googlechat/subscriptions"
	"kesoku.dev/emulators/googlechat/wire"
)

// Publish publishes by the client, one message a call, so that their order is kept.
func Publish(client *pubsub.Client) subscriptions.Publish {
	return func(ctx context.Context, topic string, m *wire.Published) error {
		_, err := client.TopicAdminClient.Publish(ctx, &pubsubpb.PublishRequest{Topic: topic, Messages: []*pubsubpb.PubsubMessage{
			{Attributes: m.Attributes, Data: m.Data, OrderingKey: m.OrderingKey},
		}})
		if err != nil {
			return fmt.Errorf("publish %s to %s: %w", m.Attributes["ce-type"], topic, err)
		}
		return nil
	}
}
