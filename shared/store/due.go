package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"

	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/cas"
)

// shards are all shards: asked for in one query, since each query that finds nothing costs as much as a document.
func shards() []int {
	all := make([]int, session.WakeShards)
	for i := range all {
		all[i] = i
	}
	return all
}

// DueSessions reads up to limit sessions whose outstanding work should have moved by now, the longest overdue first. Those that cannot be read
// are left out, and named in a permanent error beside the rest.
func (s *Store) DueSessions(ctx context.Context, now time.Time, limit int) ([]session.Session, error) {
	q := s.client.Collection(colSessions).Where("wake_shard", "in", shards()).Where("wake_at", "<=", now).OrderBy("wake_at", firestore.Asc).Limit(limit)
	return s.sessions(ctx, q, "due sessions")
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
	out := make([]session.Session, 0, len(snaps))
	var unreadable []error
	for _, snap := range snaps {
		var one session.Session
		if err := snap.DataTo(&one); err != nil {
			unreadable = append(unreadable, errs.Permanentf("session %s is not readable: %w", snap.Ref.ID, err))
			continue
		}
		out = append(out, one)
	}
	return out, errors.Join(unreadable...)
}
