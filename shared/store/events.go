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
	"kesoku.dev/shared/store/internal/cas"
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

// putAgain decides what a second telling of an event changes, anew after each lost race: others tell it too, or settle it.
func (s *Store) putAgain(ctx context.Context, r chat.Record) error {
	exists := fmt.Errorf("event %s: %w", r.Key, errs.ErrExists)
	if r.DirectUnknown {
		return exists
	}
	var lost error
	for range cas.Attempts {
		old, err := s.Event(ctx, r.Key)
		if err != nil {
			return err
		}
		if !old.DirectUnknown || old.SessionID != "" || old.Outcome == chat.OutcomeRecalled {
			return exists
		}
		_, lost = s.commit(ctx, func(tx *firestore.Transaction) error {
			return tx.Update(s.eventRef(r.Key), cas.Fields(r), firestore.LastUpdateTime(old.Revision))
		})
		if !errors.Is(lost, errs.ErrConflict) {
			return lost
		}
	}
	return fmt.Errorf("event %s: %w", r.Key, lost)
}

// Event reads one event, settled or not.
func (s *Store) Event(ctx context.Context, key string) (chat.Stored, error) {
	snap, err := s.eventRef(key).Get(ctx)
	if err != nil {
		return chat.Stored{}, cas.ReadError("event "+key, err)
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

// RecentEvents reads the last events of a route before a time, up to limit, the oldest first, whatever became of them.
func (s *Store) RecentEvents(ctx context.Context, routeID string, before time.Time, limit int) ([]chat.Stored, error) {
	q := s.client.Collection(colEvents).Where("route_id", "==", routeID).Where("at", "<", before).OrderBy("at", firestore.Desc).Limit(limit)
	return s.events(ctx, q, "recent events of "+routeID)
}

// DueEvents reads up to limit events that nobody has settled in time.
func (s *Store) DueEvents(ctx context.Context, now time.Time, limit int) ([]chat.Stored, error) {
	q := s.client.Collection(colEvents).Where("wake_shard", "in", shards()).Where("wake_at", "<=", now).OrderBy("wake_at", firestore.Asc).Limit(limit)
	return s.events(ctx, q, "due events")
}

// events reads what a query finds. Those that cannot be read are left out, and named in a permanent error beside the rest: one bad document must
// not hold up the others.
func (s *Store) events(ctx context.Context, q firestore.Query, what string) ([]chat.Stored, error) {
	snaps, err := q.Documents(ctx).GetAll()
	if err != nil {
		return nil, cas.ReadError(what, err)
	}
	out := make([]chat.Stored, 0, len(snaps))
	var unreadable []error
	for _, snap := range snaps {
		e, err := eventOf(snap)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b chat.Stored) int {
		return cmp.Or(a.At.Compare(b.At), a.ReceivedAt.Compare(b.ReceivedAt), cmp.Compare(a.Key, b.Key))
	})
	return out, errors.Join(unreadable...)
}

func eventOf(snap *firestore.DocumentSnapshot) (chat.Stored, error) {
	e := chat.Stored{Revision: snap.UpdateTime}
	if err := snap.DataTo(&e.Record); err != nil {
		return chat.Stored{}, errs.Permanentf("event %s is not readable: %w", snap.Ref.ID, err)
	}
	return e, nil
}
