package store

import (
	"context"
	"errors"
	"fmt"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/route"
	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/cas"
	"kesoku.dev/shared/store/internal/weigh"
)

func (s *Store) routeRef(routeID string) *firestore.DocumentRef {
	return s.client.Collection(colRoutes).Doc(chat.Hash(routeID))
}

// Route reads what is remembered of a route; one that nothing is remembered of has an empty state.
func (s *Store) Route(ctx context.Context, routeID string) (route.Stored, error) {
	snap, err := s.routeRef(routeID).Get(ctx)
	if status.Code(err) == codes.NotFound {
		return route.Stored{State: route.State{RouteID: routeID}}, nil
	}
	if err != nil {
		return route.Stored{}, cas.ReadError("route "+routeID, err)
	}
	r := route.Stored{Revision: snap.UpdateTime}
	if err := snap.DataTo(&r.State); err != nil {
		return route.Stored{}, errs.Permanentf("route %s is not readable: %w", routeID, err)
	}
	return r, nil
}

// Commit writes a change that touches no session. If somebody changed any of it first, nothing is written and it is errs.ErrConflict: the
// caller must look anew.
func (s *Store) Commit(ctx context.Context, c route.Change) error {
	writes, err := s.changeWrites(c)
	if err != nil {
		return err
	}
	_, err = s.commit(ctx, writes...)
	if errors.Is(err, errs.ErrConflict) {
		return fmt.Errorf("settle events: %w", errs.ErrConflict)
	}
	return err
}

// Settle is Change together with a change of events and their route. If somebody changed any of those first, it is errs.ErrConflict: the
// caller must look anew.
func (d *Session) Settle(ctx context.Context, decide func(*session.Draft) (route.Change, error)) (session.Session, error) {
	var c route.Change
	return d.change(ctx, func(draft *session.Draft) (err error) {
		c, err = decide(draft)
		return err
	}, func() ([]cas.Write, error) { return d.store.changeWrites(c) })
}

// changeWrites are the documents' parts of a change.
func (s *Store) changeWrites(c route.Change) ([]cas.Write, error) {
	var writes []cas.Write
	for _, e := range c.Events {
		if err := weigh.Check("event "+e.Key, e.Record); err != nil {
			return nil, err
		}
		writes = append(writes, s.eventWrite(e))
	}
	for _, r := range c.Fresh {
		if err := weigh.Check("event "+r.Key, r); err != nil {
			return nil, err
		}
		ref := s.eventRef(r.Key)
		writes = append(writes, func(tx *firestore.Transaction) error { return tx.Create(ref, r) })
	}
	if c.Route != nil {
		w, err := s.routeWrite(*c.Route)
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// eventWrite writes what the pipeline may change of an event.
func (s *Store) eventWrite(e chat.Stored) cas.Write {
	ref, revision := s.eventRef(e.Key), e.Revision
	kept := map[string]bool{
		"text": true, "direct": true, "direct_unknown": true, "pending": true, "wake_at": true, "held_until": true, "verdict": true,
		"decision": true, "session_id": true, "seq": true, "woken": true, "outcome": true, "stages": true,
	}
	var updates []firestore.Update
	for _, u := range cas.Fields(e.Record) {
		if kept[u.FieldPath[0]] {
			updates = append(updates, u)
		}
	}
	return func(tx *firestore.Transaction) error {
		return tx.Update(ref, updates, firestore.LastUpdateTime(revision))
	}
}

func (s *Store) routeWrite(r route.Stored) (cas.Write, error) {
	ref, revision := s.routeRef(r.RouteID), r.Revision
	next := r.State
	next.Writes, next.UpdatedAt = next.Writes+1, s.clock.Now()
	if err := weigh.Check("route "+r.RouteID, next); err != nil {
		return nil, err
	}
	return func(tx *firestore.Transaction) error {
		if revision.IsZero() {
			return tx.Create(ref, next)
		}
		return tx.Update(ref, cas.Fields(next), firestore.LastUpdateTime(revision))
	}, nil
}
