// Package fault holds the failures that a test asks of the stand-in: which operation, how it fails, how often. It knows no HTTP and no
// chat; the server asks it before and after each call.
package fault

import (
	"fmt"
	"slices"
	"sync"
)

// The kinds of failure.
const (
	Kind429             = "429"
	Kind500             = "500"
	Kind503             = "503"
	Kind403             = "403"
	Kind404             = "404"
	KindInvalidArgument = "invalid_argument"
	// KindDrop closes the connection and does nothing.
	KindDrop = "drop"
	// KindTimeoutAfterWrite does the work and then closes the connection, as if the answer had been lost.
	KindTimeoutAfterWrite = "timeout_after_write"
)

// maxArmed bounds the list, maxTimes one entry of it.
const (
	maxArmed = 100
	maxTimes = 10_000
)

var (
	kinds = []string{Kind429, Kind500, Kind503, Kind403, Kind404, KindInvalidArgument, KindDrop, KindTimeoutAfterWrite}
	ops   = []string{"create", "patch", "get", "list", "delete",
		"subscriptions.create", "subscriptions.list", "subscriptions.get", "subscriptions.patch", "subscriptions.delete", "subscriptions.reactivate"}
)

// Fault is one failure to come.
type Fault struct {
	// Op is create, patch, get, list or delete, of messages, or one of these or reactivate behind "subscriptions.".
	Op    string `json:"op"`
	Kind  string `json:"kind"` // one of the Kind constants
	Times int    `json:"times"`
	// RetryAfterSeconds goes into the answer of a 429 or 503; 0 leaves it out.
	RetryAfterSeconds int `json:"retry_after_seconds,omitempty"`
	// Space limits the fault to one space ("spaces/…"); empty means all.
	Space string `json:"space,omitempty"`
}

// Set is the failures still to come, in the order in which they were asked for. Its zero value is empty and ready.
type Set struct {
	mu    sync.Mutex
	armed []Fault
}

// Add arms f. It fails on what it does not know.
func (s *Set) Add(f Fault) error {
	switch {
	case !slices.Contains(ops, f.Op):
		return fmt.Errorf("op %q is none of %v", f.Op, ops)
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("kind %q is none of %v", f.Kind, kinds)
	case f.Times < 1 || f.Times > maxTimes:
		return fmt.Errorf("times %d is not within 1 to %d", f.Times, maxTimes)
	case f.RetryAfterSeconds < 0:
		return fmt.Errorf("retry_after_seconds %d is negative", f.RetryAfterSeconds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.armed) >= maxArmed {
		return fmt.Errorf("%d faults are armed already", maxArmed)
	}
	s.armed = append(s.armed, f)
	return nil
}

// Take uses up one failure of the operation in the space, and reports whether there was one.
func (s *Set) Take(op, space string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.armed, func(f Fault) bool { return f.Op == op && (f.Space == "" || f.Space == space) })
	if i < 0 {
		return Fault{}, false
	}
	taken := s.armed[i]
	if s.armed[i].Times--; s.armed[i].Times == 0 {
		s.armed = slices.Delete(s.armed, i, i+1)
	}
	return taken, true
}

// List returns what is armed.
func (s *Set) List() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Fault{}, s.armed...)
}

// Clear disarms everything.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = nil
}
