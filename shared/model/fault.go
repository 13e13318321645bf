package model

import (
	"fmt"
	"time"
)

// FaultKind is a way in which a provider fails.
type FaultKind string

// The faults. What to do about each stands beside it; the turn decides nothing else.
const (
	FaultBlocked       FaultKind = "blocked"        // refused for its content: tell the person politely, no retry
	FaultMalformedCall FaultKind = "malformed_call" // the model wrote a call that is none: retry a few times
	FaultEmpty         FaultKind = "empty"          // neither text nor call: nudge
	FaultRateLimited   FaultKind = "rate_limited"   // wait RetryAfter, or come back later
	FaultOverloaded    FaultKind = "overloaded"     // the provider's 5xx: retry a few times, then come back later
	FaultContext       FaultKind = "context"        // the request is too long: no retry as it stands
	FaultCredentials   FaultKind = "credentials"    // refused key or permission: the operator must act
	FaultRequest       FaultKind = "request"        // the provider refuses the request: our fault, no retry
	FaultUnsupported   FaultKind = "unsupported"    // the driver or model cannot do what was asked
)

// Fault is what a provider did instead of answering.
type Fault struct {
	Kind       FaultKind
	RetryAfter time.Duration // 0 where the provider named none
	// Detail is the provider's own words, for logs. It never holds a key.
	Detail string
	Err    error // the SDK's error, if any
}

func (f *Fault) Error() string { return fmt.Sprintf("model fault %s: %s", f.Kind, f.Detail) }
func (f *Fault) Unwrap() error { return f.Err }

// Transient reports whether the same request may succeed later.
func (f *Fault) Transient() bool {
	switch f.Kind {
	case FaultMalformedCall, FaultEmpty, FaultRateLimited, FaultOverloaded:
		return true
	default:
		return false
	}
}
