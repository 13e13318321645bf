package errs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"kesoku.dev/shared/errs"
)

// Every error has one kind, whatever it is wrapped in; what nobody marked is retried, since losing work is worse than repeating it.
func TestKindOf(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	tests := map[string]struct {
		err   error
		kind  errs.Kind
		after time.Duration
	}{
		"unmarked":                {plain, errs.KindRetryable, 0},
		"cancelled":               {context.Canceled, errs.KindRetryable, 0},
		"conflict":                {fmt.Errorf("swap: %w", errs.ErrConflict), errs.KindRetryable, 0},
		"not found":               {errs.ErrNotFound, errs.KindRetryable, 0},
		"permanent":               {errs.Permanent(plain), errs.KindPermanent, 0},
		"permanent, wrapped":      {fmt.Errorf("op: %w", errs.Permanentf("text %d: %w", 1, plain)), errs.KindPermanent, 0},
		"permanent, joined":       {errors.Join(plain, errs.Permanent(plain)), errs.KindPermanent, 0},
		"retryable with a wait":   {fmt.Errorf("op: %w", errs.Retryable(plain, 54*time.Second)), errs.KindRetryable, 54 * time.Second}, // case B57
		"fenced":                  {errs.ErrFenced, errs.KindFenced, 0},
		"fenced, wrapped":         {fmt.Errorf("turn: %w", errs.ErrFenced), errs.KindFenced, 0},
		"fenced, joined":          {errors.Join(plain, errs.ErrFenced), errs.KindFenced, 0},
		"outer permanent":         {errs.Permanent(errs.Retryable(plain, time.Second)), errs.KindPermanent, 0},
		"outer retryable":         {errs.Retryable(errs.Permanent(plain), time.Second), errs.KindRetryable, time.Second},
		"mark over fenced":        {errs.Permanent(errs.ErrFenced), errs.KindPermanent, 0},
		"mark far outside":        {fmt.Errorf("a: %w", errs.Retryable(fmt.Errorf("b: %w", errs.Permanent(plain)), 0)), errs.KindRetryable, 0},
		"two causes, first marks": {fmt.Errorf("%w; and %w", errs.Permanent(plain), errs.Retryable(plain, time.Second)), errs.KindPermanent, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := errs.KindOf(tt.err); got != tt.kind {
				t.Errorf("kind %s, want %s", got, tt.kind)
			}
			if got := errs.After(tt.err); got != tt.after {
				t.Errorf("after %s, want %s", got, tt.after)
			}
		})
	}
}

// A mark hides nothing: the cause is still found, and reads as it did.
func TestMarksKeepTheCause(t *testing.T) {
	t.Parallel()
	cause := fmt.Errorf("read x: %w", errs.ErrNotFound)
	for _, err := range []error{errs.Permanent(cause), errs.Retryable(cause, time.Second), errs.Permanentf("%w", cause)} {
		if !errors.Is(err, errs.ErrNotFound) || err.Error() != cause.Error() {
			t.Errorf("%v hides %v", err, cause)
		}
	}
	if errs.Permanent(nil) != nil || errs.Retryable(nil, time.Second) != nil {
		t.Error("a nil error becomes an error by being marked")
	}
	if errs.After(nil) != 0 {
		t.Error("no error asks for a wait")
	}
}
