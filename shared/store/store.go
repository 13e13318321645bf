// Package store keeps everything in Firestore and is the only package that imports it. Each change is a compare-and-swap: what was read
// outside is written by a write-only transaction that carries the read's update time, since reads inside a transaction take locks for
// which racers wait seconds. Lost races are read and decided again a bounded number of times; a commit whose outcome is unknown is
// settled by reading. It knows the pure packages and nothing of platforms, models or topics.
package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
)

// Collections.
const (
	colEvents   = "events"
	colHeads    = "heads"
	colSessions = "sessions"
	colMessages = "messages"
	colNotes    = "notes"
	colFirings  = "cronjobs"
	colConfig   = "config"
)

// Stager puts what is too large for a document into the staging area.
type Stager interface {
	Put(ctx context.Context, name string, data []byte, contentType string) (stagedAs string, err error)
}

// Store is the database of one project.
type Store struct {
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
	return &Store{client: client, stage: stage, clock: c, newID: newID}, nil
}

// Connect returns a store on the project's default database. The SDK finds the emulator by FIRESTORE_EMULATOR_HOST.
func Connect(ctx context.Context, project string, stage Stager, c clock.Clock, newID func() string) (*Store, error) {
	client, err := firestore.NewClient(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("connect to Firestore of %s: %w", project, err)
	}
	return New(client, stage, c, newID)
}

// write is one document's part of a commit.
type write func(tx *firestore.Transaction) error

// commit writes all or nothing and returns the update time of the first write. What it returns is errs.ErrConflict when a precondition
// failed (nothing is written), errUnknown when nobody can tell, or another error when nothing is written.
func (s *Store) commit(ctx context.Context, writes ...write) (time.Time, error) {
	var response firestore.CommitResponse
	err := s.client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		for _, w := range writes {
			if err := w(tx); err != nil {
				return errs.Permanent(err)
			}
		}
		return nil
	}, firestore.MaxAttempts(1), firestore.WithCommitResponseTo(&response))
	if err != nil {
		return time.Time{}, commitError(err)
	}
	results, err := response.WriteResults()
	if err != nil || len(results) == 0 {
		return time.Time{}, fmt.Errorf("commit: no write results: %w", err)
	}
	return results[0].UpdateTime, nil
}

// errUnknown says that a commit may or may not have happened.
var errUnknown = errors.New("outcome of the commit is unknown")

// errContended says that the database gave way to another transaction: nothing is written, try again.
var errContended = errors.New("the database aborted the commit")

func commitError(err error) error {
	if errs.KindOf(err) == errs.KindPermanent {
		return err
	}
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.AlreadyExists, codes.NotFound:
		return fmt.Errorf("commit: %w (%w)", errs.ErrConflict, err)
	case codes.Aborted, codes.ResourceExhausted:
		return fmt.Errorf("commit: %w: %w", errContended, err)
	case codes.InvalidArgument, codes.OutOfRange, codes.Unimplemented:
		return errs.Permanent(fmt.Errorf("commit: %w", err))
	case codes.PermissionDenied, codes.Unauthenticated:
		// Nothing is written. It is worth a retry: rights that were just granted, or taken by mistake, take minutes to arrive.
		return errs.Retryable(fmt.Errorf("commit: %w", err), 0)
	default:
		return fmt.Errorf("commit: %w: %w", errUnknown, err)
	}
}

// readError gives a failed read its meaning.
func readError(what string, err error) error {
	switch status.Code(err) {
	case codes.NotFound:
		return fmt.Errorf("read %s: %w", what, errs.ErrNotFound)
	case codes.InvalidArgument:
		return errs.Permanentf("read %s: %w", what, err)
	default:
		return fmt.Errorf("read %s: %w", what, err)
	}
}

// fields lists the top-level fields of a struct as updates, by their firestore names, embedded structs included: a whole document written
// by an update, which takes a precondition where a set takes none. An omitempty field that is empty is deleted, and so leaves its index.
func fields(v any) []firestore.Update {
	var out []firestore.Update
	rv := reflect.Indirect(reflect.ValueOf(v))
	for i := range rv.NumField() {
		f := rv.Type().Field(i)
		if f.Anonymous {
			out = append(out, fields(rv.Field(i).Interface())...)
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("firestore"), ",")
		switch {
		case name == "" || name == "-":
		case option == "omitempty" && rv.Field(i).IsZero():
			out = append(out, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: firestore.Delete})
		default:
			out = append(out, firestore.Update{FieldPath: firestore.FieldPath{name}, Value: rv.Field(i).Interface()})
		}
	}
	return out
}
