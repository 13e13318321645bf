// Package spaces stores the channels that the app is in and may have to listen to: spaces/{hash of the route}.
package spaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/listen"
	"kesoku.dev/shared/store/internal/cas"
	"kesoku.dev/shared/store/internal/weigh"
)

// colSpaces are the channels that the app is in and may have to listen to.
const colSpaces = "spaces"

// readBatch is how many documents one read asks for.
const readBatch = 300

// Spaces is the collection.
type Spaces struct {
	client *firestore.Client
	clock  clock.Clock
}

// New returns the collection of a project.
func New(client *firestore.Client, c clock.Clock) *Spaces { return &Spaces{client: client, clock: c} }

func (s *Spaces) spaceRef(routeID string) *firestore.DocumentRef {
	return s.client.Collection(colSpaces).Doc(chat.Hash(routeID))
}

// Joined notes that the app came into a channel at that time; the next sweep sees to what follows. It may be told of any channel, any number of
// times.
func (s *Spaces) Joined(ctx context.Context, routeID string, at time.Time) error {
	sp := listen.New(routeID, s.clock.Now())
	sp.MovedAt = at
	_, err := s.spaceRef(routeID).Create(ctx, sp)
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.AlreadyExists:
		return s.changeSpace(ctx, routeID, func(sp *listen.Space) { sp.Move(true, at) })
	default:
		return fmt.Errorf("store space %s: %w", routeID, err)
	}
}

// Left notes that the app left a channel at that time; the next sweep gives its subscription back and forgets it.
func (s *Spaces) Left(ctx context.Context, routeID string, at time.Time) error {
	return s.changeSpace(ctx, routeID, func(sp *listen.Space) { sp.Move(false, at) })
}

// SubscriptionMoved has the next sweep look at a subscription that the platform has told something of. One that is not known is none of ours.
func (s *Spaces) SubscriptionMoved(ctx context.Context, name string) error {
	q := s.client.Collection(colSpaces).Where("subscription", "==", name).Limit(1)
	found, err := s.spaces(ctx, q, "space of "+name)
	if err != nil || len(found) == 0 {
		return err
	}
	return s.changeSpace(ctx, found[0].RouteID, func(*listen.Space) {})
}

// changeSpace changes a space that exists and makes it due, again after each lost race. Made twice it is made once: what a commit came to is told
// by reading, and if it moved the space, whoever did it, the change is made anew.
func (s *Spaces) changeSpace(ctx context.Context, routeID string, change func(*listen.Space)) error {
	var last error
	for i, swap := 0, int64(-1); i < cas.Attempts; i++ {
		snap, err := s.spaceRef(routeID).Get(ctx)
		if status.Code(err) == codes.NotFound {
			return nil
		}
		if err != nil {
			return cas.ReadError("space "+routeID, err)
		}
		sp, err := spaceOf(snap)
		if err != nil {
			return err
		}
		if sp.Swap == swap && !errors.Is(last, cas.ErrContended) {
			return last
		}
		swap = sp.Swap
		change(&sp.Space)
		sp.Retry(s.clock.Now())
		if last = s.SaveSpace(ctx, sp); last == nil {
			return nil
		}
		if err := s.clock.Sleep(ctx, cas.Backoff(i)); err != nil {
			return errors.Join(last, err)
		}
	}
	return errs.Retryable(fmt.Errorf("space %s: %d attempts lost, the last one by: %v", routeID, cas.Attempts, last), 0) //nolint:errorlint // hidden on purpose: only time helps
}

// SaveSpace writes a space over the revision it was read at, and forgets one that the app has left and no longer hears. A space that was
// changed meanwhile is errs.ErrConflict and stays as it is.
func (s *Spaces) SaveSpace(ctx context.Context, sp listen.Stored) error {
	sp.Swap++
	if err := weigh.Check("space "+sp.RouteID, sp.Space); err != nil {
		return err
	}
	ref := s.spaceRef(sp.RouteID)
	_, err := cas.Commit(ctx, s.client, func(tx *firestore.Transaction) error {
		if !sp.Joined && sp.State == listen.StateNone && sp.DueAt == nil {
			return tx.Delete(ref, firestore.LastUpdateTime(sp.Revision))
		}
		return tx.Update(ref, cas.Fields(sp.Space), firestore.LastUpdateTime(sp.Revision))
	})
	if err != nil {
		return fmt.Errorf("save space %s: %w", sp.RouteID, err)
	}
	return nil
}

// DueSpaces reads up to limit spaces at which there is something to do now, the most urgent first.
func (s *Spaces) DueSpaces(ctx context.Context, now time.Time, limit int) ([]listen.Stored, error) {
	q := s.client.Collection(colSpaces).Where("due_at", "<=", now).OrderBy("due_at", firestore.Asc).Limit(limit)
	return s.spaces(ctx, q, "due spaces")
}

// StaleSpaces reads up to limit spaces that were last looked at by a configuration older than revision.
func (s *Spaces) StaleSpaces(ctx context.Context, revision int64, limit int) ([]listen.Stored, error) {
	q := s.client.Collection(colSpaces).Where("config_revision", "<", revision).OrderBy("config_revision", firestore.Asc).Limit(limit)
	return s.spaces(ctx, q, "spaces of older configurations")
}

// UnknownSpaces returns those of the routes that no record is kept of.
func (s *Spaces) UnknownSpaces(ctx context.Context, routeIDs []string) ([]string, error) {
	var unknown []string
	for first := 0; first < len(routeIDs); first += readBatch {
		batch := routeIDs[first:min(first+readBatch, len(routeIDs))]
		refs := make([]*firestore.DocumentRef, len(batch))
		for i, id := range batch {
			refs[i] = s.spaceRef(id)
		}
		snaps, err := s.client.GetAll(ctx, refs)
		if err != nil {
			return nil, cas.ReadError("spaces", err)
		}
		for i, snap := range snaps {
			if !snap.Exists() {
				unknown = append(unknown, batch[i])
			}
		}
	}
	return unknown, nil
}

func (s *Spaces) spaces(ctx context.Context, q firestore.Query, what string) ([]listen.Stored, error) {
	snaps, err := q.Documents(ctx).GetAll()
	if err != nil {
		return nil, cas.ReadError(what, err)
	}
	out := make([]listen.Stored, 0, len(snaps))
	var unreadable []error // left out, and named: one bad record must not hold up the others
	for _, snap := range snaps {
		sp, err := spaceOf(snap)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		out = append(out, sp)
	}
	return out, errors.Join(unreadable...)
}

func spaceOf(snap *firestore.DocumentSnapshot) (listen.Stored, error) {
	sp := listen.Stored{Revision: snap.UpdateTime}
	if err := snap.DataTo(&sp.Space); err != nil {
		return listen.Stored{}, errs.Permanentf("space %s is not readable: %w", snap.Ref.ID, err)
	}
	return sp, nil
}
