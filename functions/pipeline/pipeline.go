// Package pipeline is the function that decides on events: it is pushed the topic inbound.
package pipeline

import (
	"context"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/pipeline"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
)

func init() { functions.CloudEvent("pipeline", boot.Event("pipeline", New)) }

// New wires the function. Its variable: CHAT_ENDPOINT, the Chat API's where it is not Google's.
func New(ctx context.Context, b *boot.Base, v *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	chat, err := googlechat.New(ctx, googlechat.Config{Endpoint: v.URL("CHAT_ENDPOINT", "")})
	if err != nil {
		return nil, err
	}
	p, err := pipeline.New(pipeline.Deps{
		Events: b.Store, Conversations: conversations{b.Store}, Config: b.Config, Bus: b.Bus,
		Media: media{fetch: map[string]fetcher{googlechat.Platform: chat}, stage: b.Blob},
		Clock: b.Clock, NewID: b.NewID, Draw: b.Draw, Log: b.Log,
	})
	if err != nil {
		return nil, err
	}
	return bus.Handle(b.Log, b.Store, p.Handle), nil
}

// conversations gives the pipeline the store's sessions.
type conversations struct{ store *store.Store }

func (c conversations) Conversation(key string, fresh func() session.Session) pipeline.Ledger {
	return c.store.Conversation(key, fresh)
}

func (c conversations) Session(id string) pipeline.Ledger { return c.store.Session(id) }
