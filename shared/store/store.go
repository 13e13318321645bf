// Package store keeps everything in Firestore and is the only package that imports it. Each change is a compare-and-swap: what was read
// outside is written by a write-only transaction that carries the read's update time, since reads inside a transaction take locks for
// which racers wait seconds. Lost races are read and decided again a bounded number of times; a commit whose outcome is unknown is
// settled by reading. It knows the pure packages and nothing of platforms, models or topics.
package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cloud.google.com/go/firestore"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/store/internal/cas"
	"kesoku.dev/shared/store/internal/published"
	"kesoku.dev/shared/store/internal/spaces"
)

// Collections.
const (
	colEvents   = "events"
	colHeads    = "heads"
	colSessions = "sessions"
	colMessages = "messages"
	colNotes    = "notes"
	colFirings  = "cronjobs"
	colRoutes   = "routes"
)

// Stager puts what is too large for a document into the staging area.
type Stager interface {
	Put(ctx context.Context, name string, data []byte, contentType string) (stagedAs string, err error)
}

// Store is the database of one project.
type Store struct {
	*published.Published
	*spaces.Spaces
	client *firestore.Client
	stage  Stager
	clock  clock.Clock
	newID  func() string
}

// New returns a store. Nothing may be nil; newID must return random ids of at most 64 characters of [a-zA-Z0-9-].
func New(client *firestore.Client, stage Stager, c clock.Clock, newID func() string) (*Store, error) {
	if client == nil || stage == nil || c == nil || newID == nil {
		return nil, errors.New("store.New: client, stage, clock and newID must not be nil")
	}
	return &Store{Published: published.New(client, c), Spaces: spaces.New(client, c), client: client, stage: stage, clock: c, newID: newID}, nil
}

// Connect returns a store on the project's default database. The SDK finds the emulator by FIRESTORE_EMULATOR_HOST.
func Connect(ctx context.Context, project string, stage Stager, c clock.Clock, newID func() string) (*Store, error) {
	client, err := firestore.NewClient(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("connect to Firestore of %s: %w", project, err)
	}
	return New(client, stage, c, newID)
}

// commit writes all or nothing: see cas.Commit.
func (s *Store) commit(ctx context.Context, writes ...cas.Write) (time.Time, error) {
	return cas.Commit(ctx, s.client, writes...)
}
