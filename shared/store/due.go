package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/cas"
)

// DueSessions reads up to limit sessions of one shard whose outstanding work should have moved by now.
func (s *Store) DueSessions(ctx context.Context, shard int, now time.Time, limit int) ([]session.Session, error) {
	q := s.client.Collection(colSessions).Where("wake_shard", "==", shard).Where("wake_at", "<=", now).OrderBy("wake_at", firestore.Asc).Limit(limit)
	return s.sessions(ctx, q, fmt.Sprintf("due sessions of shard %d", shard))
}

// SessionsOf reads the newest sessions of a channel, up to limit, the newest last, for the operator's eyes.
func (s *Store) SessionsOf(ctx context.Context, channelID string, limit int) ([]session.Session, error) {
	q := s.client.Collection(colSessions).Where("channel_id", "==", channelID).OrderBy("created_at", firestore.Desc).Limit(limit)
	out, err := s.sessions(ctx, q, "sessions of "+channelID)
	slices.Reverse(out)
	return out, err
}

// Swept notes that a sweep came to its end: sweeps/last, by which an operator sees that sweeps run.
func (s *Store) Swept(ctx context.Context) error {
	if _, err := s.client.Collection("sweeps").Doc("last").Set(ctx, map[string]any{"at": s.clock.Now()}); err != nil {
		return fmt.Errorf("note the sweep: %w", err)
	}
	return nil
}

func (s *Store) sessions(ctx context.Context, q firestore.Query, what string) ([]session.Session, error) {
	snaps, err := q.Documents(ctx).GetAll()
	if err != nil {
		return nil, cas.ReadError(what, err)
	}
	out := make([]session.Session, len(snaps))
	for i, snap := range snaps {
		if err := snap.DataTo(&out[i]); err != nil {
			return nil, errs.Permanentf("session %s is not readable: %w", snap.Ref.ID, err)
		}
	}
	return out, nil
}
