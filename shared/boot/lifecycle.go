package boot

import (
	"context"
	"fmt"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/hooks"
)

// Listeners are the hooks that every function begins with: what the configuration names under lifecycle is announced to other systems. A
// deployment's own listeners are added to them.
func (b *Base) Listeners() *hooks.Hooks {
	h := &hooks.Hooks{}
	h.AnnounceTo(lifecycle{bus: b.Bus, config: b.Config}, b.Clock.Now)
	b.Config.OnChange = func(ctx context.Context, revision int64) {
		if err := h.RulesChange(ctx, revision); err != nil {
			b.Log.ErrorContext(ctx, "a listener failed", "error", err)
		}
	}
	return h
}

// lifecycle announces what the configuration asks for.
type lifecycle struct {
	bus    *bus.Publisher
	config *config.Source
}

// Announce implements hooks.Announcer.
func (l lifecycle) Announce(ctx context.Context, e hooks.Lifecycle) error {
	active, err := l.config.Active(ctx)
	if err != nil {
		return fmt.Errorf("announce %s: %w", e.Type, err)
	}
	if !active.Announces(string(e.Type)) {
		return nil
	}
	return l.bus.Publish(ctx, bus.TopicLifecycle, e)
}
