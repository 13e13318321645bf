// Package view shows the page what a stack keeps: the records of its sessions, what was decided on its events, the traces of its turns, and the
// rules that may be tried on it. It reads the store and the collected spans, and publishes rules; it must not know how a stack runs.
package view

import (
	"context"
	"iter"
	"time"

	standin "kesoku.dev/emulators/telemetry"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/telemetry"
)

const (
	// lookEvery is how often the page's records are looked at: one small read by name.
	lookEvery = 200 * time.Millisecond
	// shown is how many messages of a session the page shows.
	shown = 200
)

// Traces shows the page what the functions' spans say of a turn.
type Traces struct{ *standin.Server }

// Turn implements page.Traces.
func (t Traces) Turn(sessionID string, turn int) [][]standin.Span {
	return t.Find(map[string]any{string(telemetry.KeySession): sessionID, string(telemetry.KeyTurn): int64(turn)})
}

// Records shows the page what the store keeps.
type Records struct{ Store *store.Store }

// Sessions implements page.Records.
func (r Records) Sessions(ctx context.Context, channelID string) ([]string, error) {
	all, err := r.Store.SessionsOf(ctx, channelID, 20)
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids, err
}

// Follow implements page.Records.
func (r Records) Follow(ctx context.Context, sessionID string) iter.Seq2[[]message.Message, error] {
	return func(yield func([]message.Message, error) bool) {
		ledger, seen := r.Store.Session(sessionID), ""
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			s, err := ledger.Load(ctx)
			if err == nil && s.Swap != seen {
				var all []message.Message
				if all, err = ledger.Since(ctx, max(0, s.Seq-shown)); err == nil {
					seen = s.Swap
					if !yield(all, nil) {
						return
					}
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
}
