package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/weigh"
)

func (s *Store) eventRef(key string) *firestore.DocumentRef {
	return s.client.Collection(colEvents).Doc(key)
}

// PutEvent stores a new event. One that is there already is errs.ErrExists and stays as it is, unless it was told by a form of event that
// does not say whether its channel is direct, came to nothing for that, and is now told by one that does: then it is decided on anew.
func (s *Store) PutEvent(ctx context.Context, r chat.Record) error {
	if err := weigh.Check("event "+r.Key, r); err != nil {
		return err
	}
	_, err := s.eventRef(r.Key).Create(ctx, r)
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.AlreadyExists:
		return s.putAgain(ctx, r)
	case codes.InvalidArgument:
		return errs.Permanentf("store event %s: %w", r.Key, err)
	default:
		return fmt.Errorf("store event %s: %w", r.Key, err)
	}
}

// putAgain decides what a second telling of an event changes.
func (s *Store) putAgain(ctx context.Context, r chat.Record) error {
	exists := fmt.Errorf("event %s: %w", r.Key, errs.ErrExists)
	if r.DirectUnknown {
		return exists
	}
	old, err := s.Event(ctx, r.Key)
	if err != nil {
		return err
	}
	if !old.DirectUnknown || old.SessionID != "" {
		return exists
	}
	_, err = s.commit(ctx, func(tx *firestore.Transaction) error {
		return tx.Update(s.eventRef(r.Key), fields(r), firestore.LastUpdateTime(old.Revision))
	})
	return err
}

// Event reads one event, settled or not.
func (s *Store) Event(ctx context.Context, key string) (chat.Stored, error) {
	snap, err := s.eventRef(key).Get(ctx)
	if err != nil {
		return chat.Stored{}, readError("event "+key, err)
	}
	return eventOf(snap)
}

// PendingEvents reads up to limit unsettled events of a route, in the order of the platform's clock. An event that was acknowledged
// before another was sent is always among them or settled, so that whoever settles them in this order keeps the room's order.
func (s *Store) PendingEvents(ctx context.Context, routeID string, limit int) ([]chat.Stored, error) {
	q := s.client.Collection(colEvents).Where("route_id", "==", routeID).Where("pending", "==", true).
		OrderBy("at", firestore.Asc).Limit(limit)
	return s.events(ctx, q, "pending events of "+routeID)
}

// DueEvents reads up to limit events of one shard that nobody has settled in time.
func (s *Store) DueEvents(ctx context.Context, shard int, now time.Time, limit int) ([]chat.Stored, error) {
	q := s.client.Collection(colEvents).Where("wake_shard", "==", shard).Where("wake_at", "<=", now).Limit(limit)
	return s.events(ctx, q, fmt.Sprintf("due events of shard %d", shard))
}

func (s *Store) events(ctx context.Context, q firestore.Query, what string) ([]chat.Stored, error) {
	snaps, err := q.Documents(ctx).GetAll()
	if err != nil {
		return nil, readError(what, err)
	}
	out := make([]chat.Stored, 0, len(snaps))
	for _, snap := range snaps {
		e, err := eventOf(snap)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b chat.Stored) int {
		return cmp.Or(a.At.Compare(b.At), a.ReceivedAt.Compare(b.ReceivedAt), cmp.Compare(a.Key, b.Key))
	})
	return out, nil
}

func eventOf(snap *firestore.DocumentSnapshot) (chat.Stored, error) {
	e := chat.Stored{Revision: snap.UpdateTime}
	if err := snap.DataTo(&e.Record); err != nil {
		return chat.Stored{}, errs.Permanentf("event %s is not readable: %w", snap.Ref.ID, err)
	}
	return e, nil
}

// Settle is Change that settles an event in the same swap. If somebody settled it first, it is errs.ErrConflict: the caller must look anew.
func (d *Session) Settle(ctx context.Context, e chat.Stored, decide func(*session.Draft) error) (session.Session, error) {
	return d.change(ctx, decide, d.store.settleWrite(e))
}

func (s *Store) settleWrite(e chat.Stored) write {
	ref, revision := s.eventRef(e.Key), e.Revision
	updates := []firestore.Update{
		{Path: "pending", Value: firestore.Delete}, {Path: "wake_at", Value: firestore.Delete}, {Path: "decision", Value: e.Decision},
		{Path: "session_id", Value: e.SessionID}, {Path: "outcome", Value: e.Outcome},
	}
	return func(tx *firestore.Transaction) error {
		return tx.Update(ref, updates, firestore.LastUpdateTime(revision))
	}
}

// SettleEvent settles an event that changes nothing else. If somebody did it first, it is errs.ErrConflict.
func (s *Store) SettleEvent(ctx context.Context, e chat.Stored) error {
	_, err := s.commit(ctx, s.settleWrite(e))
	if errors.Is(err, errs.ErrConflict) {
		return fmt.Errorf("settle event %s: %w", e.Key, errs.ErrConflict)
	}
	return err
}
