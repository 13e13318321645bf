package store

import (
	"time"

	"cloud.google.com/go/firestore"
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

// Fired is the part of a swap that stores a firing: it fails with errs.ErrConflict if the firing is there already.
func (s *Store) Fired(f Firing) With {
	ref := s.client.Collection(colFirings).Doc(f.ID)
	return With{func(tx *firestore.Transaction) error { return tx.Create(ref, f) }}
}
