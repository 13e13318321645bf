// Package pipeline is the function that decides on events: it is pushed the topic inbound.
package pipeline

import (
	"context"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/models"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/censor/gate"
	"kesoku.dev/shared/pipeline"
	"kesoku.dev/shared/pipeline/decide"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/platform/googlechat"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store"
)

func init() { functions.CloudEvent("pipeline", boot.Event("pipeline", New)) }

// New wires the function. Its variables: CHAT_ENDPOINT, the Chat API's where it is not Google's; CHAT_APP_USER, the app's user if known; those of
// models.Connect, for the judge. Listeners and matchers of a deployment's own are registered here.
func New(ctx context.Context, b *boot.Base, v *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	adapter, err := googlechat.New(ctx, googlechat.Config{Endpoint: v.URL("CHAT_ENDPOINT", ""), AppUser: v.Optional("CHAT_APP_USER", "")})
	if err != nil {
		return nil, err
	}
	registry, err := models.Connect(ctx, v)
	if err != nil {
		return nil, err
	}
	words, err := gate.New(b.Log)
	if err != nil {
		return nil, err
	}
	listeners := b.Listeners()
	if err := listeners.Deciders(ctx, decide.Deciders()); err != nil {
		b.Log.ErrorContext(ctx, "a listener failed", "error", err)
	}
	p, err := pipeline.New(pipeline.Deps{
		Events: b.Store, Conversations: conversations{b.Store}, Config: b.Config, Bus: b.Bus,
		Media: media{fetch: map[string]fetcher{googlechat.Platform: adapter}, stage: b.Blob}, Channels: newChannels(googlechat.Platform, adapter),
		Spaces: b.Store, Judge: judge.Judge{Models: registry}, Censor: words, Hooks: listeners,
		Clock: b.Clock, NewID: b.NewID, Log: b.Log, Going: b.Going,
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
