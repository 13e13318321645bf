// Package turn is the function that runs agent turns: it is pushed the topic turns and wires the models and tools that it serves.
package turn

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/GoogleCloudPlatform/functions-framework-go/functions"
	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/models"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/tool"
	"kesoku.dev/shared/tool/egress"
	"kesoku.dev/shared/turn"
)

func init() { functions.CloudEvent("turn", boot.Event("turn", New)) }

// New wires the function. Its variables: those of models.Connect, which must find a provider; TURN_CHECKPOINT; FETCH_ALLOW, addresses with ports that fetch_url may reach although they are not public.
func New(ctx context.Context, b *boot.Base, v *boot.Vars) (func(context.Context, cloudevents.Event) error, error) {
	registry, err := models.Connect(ctx, v)
	if err != nil {
		return nil, err
	}
	if len(registry) == 0 {
		return nil, errors.New("set GEMINI_API_KEY, or VERTEX_PROJECT and VERTEX_LOCATION")
	}
	toolbox, err := tools(b, v)
	if err != nil {
		return nil, err
	}
	runner, err := tool.NewRunner(tool.RunnerConfig{Registry: toolbox, Staging: b.Blob, Logger: b.Log})
	if err != nil {
		return nil, err
	}
	t, err := turn.New(turn.Deps{
		Open: func(id string) turn.Ledger { return b.Store.Session(id) },
		Bus:  b.Bus, Models: registry, Toolbox: runner, Specs: toolbox.Specs(), Roles: b.Config, Files: b.Blob, Hooks: b.Listeners(),
		Clock: b.Clock, NewID: b.NewID, Log: b.Log, Going: b.Going,
	}, turn.Config{Checkpoint: v.Duration("TURN_CHECKPOINT", 0)})
	if err != nil {
		return nil, err
	}
	return bus.Handle(b.Log, b.Store, t.Handle), nil
}

func tools(b *boot.Base, v *boot.Vars) (tool.Registry, error) {
	var allow []netip.AddrPort
	for _, s := range strings.Fields(v.Optional("FETCH_ALLOW", "")) {
		a, err := netip.ParseAddrPort(s)
		if err != nil {
			return nil, fmt.Errorf("environment variable FETCH_ALLOW: %w; write addresses like 127.0.0.1:8080, separated by blanks", err)
		}
		allow = append(allow, a)
	}
	n := notes{b.Store}
	return tool.NewRegistry(tool.CurrentTime{}, tool.NewFetchURL(egress.Config{Allow: allow}), tool.Remember{Notes: n}, tool.Recall{Notes: n})
}

// notes gives the tools the store's notes.
type notes struct{ store *store.Store }

func (n notes) AddNote(ctx context.Context, conversationKey, id, text string, at time.Time) error {
	return n.store.AddNote(ctx, conversationKey, id, text, at)
}

func (n notes) Notes(ctx context.Context, conversationKey string, limit int) ([]tool.Note, error) {
	stored, err := n.store.Notes(ctx, conversationKey, limit)
	if err != nil {
		return nil, err
	}
	out := make([]tool.Note, len(stored))
	for i, s := range stored {
		out[i] = tool.Note(s)
	}
	return out, nil
}
