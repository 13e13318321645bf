package stack

import (
	"context"
	"iter"
	"net/http"
	"time"

	"kesoku.dev/emulators/page"
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

// Page is the look-alike of Google Chat over this stack, with the records and the traces beside it.
func (s *Stack) Page() http.Handler { return page.New(s.Chat, records{s.Store}, traces{s.Traces}) }

// traces shows the page what the functions' spans say of a turn.
type traces struct{ *standin.Server }

// Turn implements page.Traces.
func (t traces) Turn(sessionID string, turn int) [][]standin.Span {
	return t.Find(map[string]any{string(telemetry.KeySession): sessionID, string(telemetry.KeyTurn): int64(turn)})
}

// records shows the page what the store keeps.
type records struct{ store *store.Store }

// Sessions implements page.Records.
func (r records) Sessions(ctx context.Context, channelID string) ([]string, error) {
	all, err := r.store.SessionsOf(ctx, channelID, 20)
	ids := make([]string, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return ids, err
}

// Follow implements page.Records.
func (r records) Follow(ctx context.Context, sessionID string) iter.Seq2[[]message.Message, error] {
	return func(yield func([]message.Message, error) bool) {
		ledger, seen := r.store.Session(sessionID), ""
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
