package pipeline

import (
	"sync"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
)

// maxResolved bounds what an instance remembers.
const maxResolved = 4096

// resolved remembers the settings of messages that wait: each look takes up all of a route's, and rules may search long texts.
type resolved struct {
	mu    sync.Mutex
	of    *config.Config
	known map[string]config.Resolved
}

// resolver resolves by a configuration, each text once.
func (p *Pipeline) resolver(active *config.Config) func(*chat.Stored) config.Resolved {
	return func(e *chat.Stored) config.Resolved {
		key := chat.Hash(e.Key, e.Text)
		r := &p.resolved
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.of != active || len(r.known) >= maxResolved {
			r.of, r.known = active, map[string]config.Resolved{}
		}
		found, ok := r.known[key]
		if !ok {
			found = active.Resolve(config.FactsOf(&e.Event))
			r.known[key] = found
		}
		return found
	}
}
