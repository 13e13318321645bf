// Package deliver is the function that brings replies to their platforms: it is pushed the topic deliveries and wires the platforms that it
// serves.
package deliver

import (
	"context"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/deliver"
	"kesoku.dev/shared/platform"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/render/compose"
)

func init() { functions.CloudEvent("deliver", boot.Event("deliver", New)) }

// New wires the function. Its variables: CHAT_ENDPOINT, the Chat API's where it is not Google's; CHAT_ACTION_URL, the webhook's own URL
// where the app is an add-on.
func New(ctx context.Context, b *boot.Base, v *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	chat, err := googlechat.New(ctx, googlechat.Config{Endpoint: v.URL("CHAT_ENDPOINT", ""), ActionURL: v.URL("CHAT_ACTION_URL", "")})
	if err != nil {
		return nil, err
	}
	words, err := gate.New(b.Log)
	if err != nil {
		return nil, err
	}
	d, err := deliver.New(deliver.Deps{
		Open: func(id string) deliver.Ledger { return b.Store.Session(id) },
		Bus:  b.Bus, Adapters: map[string]platform.Adapter{googlechat.Platform: chat},
		Registries: map[string]*compose.Registry{googlechat.Platform: compose.GoogleChat()},
		Config:     b.Config, Censor: words, Hooks: b.Listeners(), // a deployment's own matchers and listeners are added here
		Clock: b.Clock, NewID: b.NewID, Log: b.Log, Going: b.Going,
	})
	if err != nil {
		return nil, err
	}
	return bus.Handle(b.Log, b.Store, d.Handle), nil
}
