package pipeline

import (
	"context"
	"sync"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
)

// room looks a channel up on its platform.
type room interface {
	History(ctx context.Context, channelID string, before time.Time, limit int) ([]chat.Event, error)
	Direct(ctx context.Context, channelID string) (bool, error)
}

// maxKnown bounds how many channels' kinds an instance remembers.
const maxKnown = 10_000

// channels looks channels up by their event's platform. What kind a channel is never changes, so it is asked once an instance.
type channels struct {
	platforms map[string]room

	mu     sync.Mutex
	direct map[string]bool // by route
}

func newChannels(platform string, r room) *channels {
	return &channels{platforms: map[string]room{platform: r}, direct: map[string]bool{}}
}

// History implements pipeline.Channels.
func (c *channels) History(ctx context.Context, e *chat.Event, limit int) ([]chat.Event, error) {
	r, ok := c.platforms[e.Platform]
	if !ok {
		return nil, errs.Permanentf("platform %s has no history", e.Platform)
	}
	return r.History(ctx, e.ChannelID, e.At, limit)
}

// Direct implements pipeline.Channels.
func (c *channels) Direct(ctx context.Context, e *chat.Event) (bool, error) {
	route := e.RouteID()
	c.mu.Lock()
	known, ok := c.direct[route]
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	r, ok := c.platforms[e.Platform]
	if !ok {
		return false, errs.Permanentf("platform %s does not tell the kind of a channel", e.Platform)
	}
	direct, err := r.Direct(ctx, e.ChannelID)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.direct) >= maxKnown {
		clear(c.direct)
	}
	c.direct[route] = direct
	return direct, nil
}
