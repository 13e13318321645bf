// Package cas is the one form of change that the store makes: what was read outside is written by a write-only transaction under preconditions.
// It knows what the outcomes of a commit mean, and nothing of what is written.
package cas

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/errs"
)

// Attempts bounds how often a lost race is read and decided again before the handler gives its wake-up back.
const Attempts = 12

// Backoff waits up to 10, 20, 40 … 320 ms, at random, so that racers part.
func Backoff(attempt int) time.Duration {
	ceiling := 10 * time.Millisecond << min(attempt, 5)
	return rand.N(ceiling) //nolint:gosec // jitter needs no secrecy
}

// Write is one document's part of a commit.
type Write func(tx *firestore.Transaction) error

// Commit writes all or nothing and returns the update time of the first write. What it returns is errs.ErrConflict when a precondition
// failed (nothing is written), ErrUnknown when nobody can tell, or another error when nothing is written.
func Commit(ctx context.Context, client *firestore.Client, writes ...Write) (time.Time, error) {
	var response firestore.CommitResponse
	err := client.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
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

// ErrUnknown says that a commit may or may not have happened.
var ErrUnknown = errors.New("outcome of the commit is unknown")

// ErrContended says that the database gave way to another transaction: nothing is written, try again.
var ErrContended = errors.New("the database aborted the commit")

func commitError(err error) error {
	if errs.KindOf(err) == errs.KindPermanent {
		return err
	}
	switch status.Code(err) {
	case codes.FailedPrecondition, codes.AlreadyExists, codes.NotFound:
		return fmt.Errorf("commit: %w (%w)", errs.ErrConflict, err)
	case codes.Aborted, codes.ResourceExhausted:
		return fmt.Errorf("commit: %w: %w", ErrContended, err)
	case codes.InvalidArgument, codes.OutOfRange, codes.Unimplemented:
		return errs.Permanent(fmt.Errorf("commit: %w", err))
	case codes.PermissionDenied, codes.Unauthenticated:
		// Nothing is written. It is worth a retry: rights that were just granted, or taken by mistake, take minutes to arrive.
		return errs.Retryable(fmt.Errorf("commit: %w", err), 0)
	default:
		return fmt.Errorf("commit: %w: %w", ErrUnknown, err)
	}
}

// ReadError gives a failed read its meaning.
func ReadError(what string, err error) error {
	switch status.Code(err) {
	case codes.NotFound:
		return fmt.Errorf("read %s: %w", what, errs.ErrNotFound)
	case codes.InvalidArgument:
		return errs.Permanentf("read %s: %w", what, err)
	default:
		return fmt.Errorf("read %s: %w", what, err)
	}
}

// Fields lists the top-level fields of a struct as updates, by their firestore names, embedded structs included: a whole document written
// by an update, which takes a precondition where a set takes none. An omitempty field that is empty is deleted, and so leaves its index.
func Fields(v any) []firestore.Update {
	var out []firestore.Update
	rv := reflect.Indirect(reflect.ValueOf(v))
	for i := range rv.NumField() {
		f := rv.Type().Field(i)
		if f.Anonymous {
			out = append(out, Fields(rv.Field(i).Interface())...)
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
