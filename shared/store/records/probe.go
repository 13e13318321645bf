package records

import (
	"context"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/session"
)

// Probe writes a document, reads it and removes it.
func (r *Records) Probe(ctx context.Context) error {
	doc := r.client.Collection("probes").Doc(uuid.NewString())
	if _, err := doc.Create(ctx, map[string]any{"at": r.clock.Now()}); err != nil {
		return fmt.Errorf("write %s: %w", doc.Path, err)
	}
	if _, err := doc.Get(ctx); err != nil {
		return fmt.Errorf("read %s: %w", doc.Path, err)
	}
	if _, err := doc.Delete(ctx); err != nil {
		return fmt.Errorf("delete %s: %w", doc.Path, err)
	}
	return nil
}

// Overdue returns the earliest time at which work that is still outstanding should have been looked at, and where it lies; the zero time if
// nothing is outstanding.
func (r *Records) Overdue(ctx context.Context) (due time.Time, document string, err error) {
	for shard := range session.WakeShards {
		for _, name := range []string{"events", "sessions"} {
			query := r.client.Collection(name).Where("wake_shard", "==", shard).OrderBy("wake_at", firestore.Asc).Limit(1)
			snaps, err := query.Documents(ctx).GetAll()
			if err != nil {
				return time.Time{}, "", fmt.Errorf("read the most urgent of %s in shard %d: %w", name, shard, err)
			}
			for _, snap := range snaps {
				if at := placeOf(snap, "wake_at").At; due.IsZero() || at.Before(due) {
					due, document = at, name+"/"+snap.Ref.ID
				}
			}
		}
	}
	return due, document, nil
}

// Swept returns when a sweep last left its heartbeat, sweeps/last; the zero time if none ever did.
func (r *Records) Swept(ctx context.Context) (time.Time, error) {
	snap, err := r.client.Collection("sweeps").Doc("last").Get(ctx)
	if status.Code(err) == codes.NotFound {
		return time.Time{}, nil
	}
	var beat struct {
		At time.Time `firestore:"at"`
	}
	if err := decode(snap, err, &beat); err != nil {
		return time.Time{}, fmt.Errorf("read the last sweep: %w", err)
	}
	return beat.At, nil
}
