package store

import (
	"context"
	"time"

	"cloud.google.com/go/firestore"

	"kesoku.dev/shared/session"
	"kesoku.dev/shared/store/internal/cas"
)

// Firing is one run of a cron job: cronjobs/{id}. Its id is made of the job and the time it was due, so that however often a trigger is
// delivered, a firing is stored once.
type Firing struct {
	ID        string    `firestore:"id"`
	Job       string    `firestore:"job"`
	DueAt     time.Time `firestore:"due_at"`
	SessionID string    `firestore:"session_id"`
	FiredAt   time.Time `firestore:"fired_at"`
	ExpireAt  time.Time `firestore:"expire_at"`
}

// Fire is Change that stores a firing in the same swap. If the firing is there already, it is errs.ErrConflict.
func (d *Session) Fire(ctx context.Context, f Firing, decide func(*session.Draft) error) (session.Session, error) {
	ref := d.store.client.Collection(colFirings).Doc(f.ID)
	create := func(tx *firestore.Transaction) error { return tx.Create(ref, f) }
	return d.change(ctx, decide, func() ([]cas.Write, error) { return []cas.Write{create}, nil })
}
