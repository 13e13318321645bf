package testenv

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/clock"
)

// Fault is something that befalls some calls of one client. Its steps happen in the order of its fields. The SDKs see exactly what a
// server would have answered, so those codes that they retry by themselves (Unavailable) are retried, and the retry is one more call.
type Fault struct {
	Method string             // RPC name without its service: "Commit", "RunQuery", "Publish"; "" is any
	Match  func(req any) bool // looks at the request's protobuf message; nil matches any

	Skip  int // matching calls that pass before the first one is hit
	Times int // calls that are hit; 0 is all

	Before func()        // runs before the call: kill the client, cancel a handler's context, let a rival go first
	Delay  time.Duration // latency before the call, in real time, cut short by the call's own context
	Fail   codes.Code    // unless OK: answered instead of making the call
	After  func()        // runs after the call, before its answer arrives
	Lose   codes.Code    // unless OK: the call is made and succeeds, but this arrives instead of the answer
}

// Faults holds the faults of one client. The zero value injects none.
type Faults struct {
	mu    sync.Mutex
	armed []*armed
}

type armed struct {
	Fault
	hits int
}

// Add arms a fault. Of several that match a call, the one added first befalls it.
func (f *Faults) Add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = append(f.armed, &armed{Fault: fault})
}

// Clear disarms all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = nil
}

// take returns the fault that befalls this call; the zero Fault does nothing.
func (f *Faults) take(method string, req any) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, a := range f.armed {
		if (a.Method != "" && a.Method != method) || (a.Match != nil && !a.Match(req)) {
			continue
		}
		if a.Skip > 0 {
			a.Skip--
			continue
		}
		a.hits++
		if a.Times > 0 && a.hits == a.Times {
			f.armed = slices.Delete(f.armed, i, i+1)
		}
		return a.Fault
	}
	return Fault{}
}

// before runs what comes before the call, and returns the error that replaces it.
func (f Fault) before(ctx context.Context, method string) error {
	if f.Before != nil {
		f.Before()
	}
	if f.Delay > 0 {
		if err := (clock.System{}).Sleep(ctx, f.Delay); err != nil {
			return status.FromContextError(err).Err()
		}
	}
	return injected(f.Fail, method)
}

// after runs what comes after the call, and returns the error that replaces its success.
func (f Fault) after(method string) error {
	if f.After != nil {
		f.After()
	}
	return injected(f.Lose, method)
}

func injected(code codes.Code, method string) error {
	if code == codes.OK {
		return nil
	}
	return status.Error(code, fmt.Sprintf("injected into %s", method))
}
