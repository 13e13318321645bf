// Package subscriptiontest is a small Workspace Events API for tests: the calls that package subscription makes, over subscriptions that a test
// can look at and spoil.
package subscriptiontest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	api "google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/shared/clock"
)

// Life is how long a subscription lives from its last renewal.
const Life = 4 * time.Hour

// API is the server. Change its fields by Set.
type API struct {
	URL string

	mu      sync.Mutex
	clock   clock.Clock
	next    int
	calls   []string
	Subs    map[string]*api.Subscription // by name
	Refuse  int                          // the status that all calls are answered with; 0 answers them
	Reason  string                       // of the refusal
	Later   bool                         // writes are done later than they are answered
	Lasting bool                         // what suspended a subscription lasts, and it cannot be reactivated
	Status  int                          // of google.rpc.Code, with which operations fail; 0 for none
}

// New starts a server that ends with the test.
func New(t *testing.T, c clock.Clock) *API {
	t.Helper()
	a := &API{clock: c, Subs: map[string]*api.Subscription{}}
	s := httptest.NewServer(a)
	t.Cleanup(s.Close)
	a.URL = s.URL
	return a
}

// Set changes the server between two calls.
func (a *API) Set(change func(*API)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(a)
}

// Calls returns the calls since the last look, each as its verb, in short.
func (a *API) Calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls = nil
	return calls
}

// Spaces returns the spaces that have a subscription.
func (a *API) Spaces() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.Subs)) {
		out = append(out, strings.TrimPrefix(a.Subs[name].TargetResource, "//chat.googleapis.com/"))
	}
	return out
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/v1/")
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	if r.Method == http.MethodGet && name == "subscriptions" {
		verb = "list"
	}
	if cut, ok := strings.CutSuffix(name, ":reactivate"); ok {
		name, verb = cut, "reactivate"
	}
	a.calls = append(a.calls, verb)
	if a.Refuse != 0 {
		fail(w, a.Refuse, a.Reason)
		return
	}
	sub, known := a.Subs[name]
	if verb != "create" && verb != "list" && !known && (verb != "delete" || r.URL.Query().Get("allowMissing") != "true") {
		fail(w, http.StatusNotFound, "")
		return
	}
	switch verb {
	case "list":
		answer(w, a.list(r.URL.Query().Get("filter")))
	case "get":
		answer(w, sub)
	case "delete":
		delete(a.Subs, name)
		a.operation(w, nil)
	default:
		a.write(w, r, verb, sub)
	}
}

func (a *API) list(filter string) *api.ListSubscriptionsResponse {
	out := &api.ListSubscriptionsResponse{}
	for _, sub := range a.Subs {
		if filter == fmt.Sprintf("event_types:%q AND target_resource=%q", sub.EventTypes[0], sub.TargetResource) {
			out.Subscriptions = append(out.Subscriptions, sub)
		}
	}
	return out
}

func (a *API) write(w http.ResponseWriter, r *http.Request, verb string, sub *api.Subscription) {
	var asked api.Subscription
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		fail(w, http.StatusBadRequest, "")
		return
	}
	switch verb {
	case "create":
		for _, have := range a.Subs {
			if have.TargetResource == asked.TargetResource {
				fail(w, http.StatusConflict, "")
				return
			}
		}
		a.next++
		asked.Name, asked.State = fmt.Sprintf("subscriptions/s%d", a.next), "ACTIVE"
		if a.Status == 0 {
			a.Subs[asked.Name] = &asked
		}
		sub = &asked
	case "reactivate":
		if a.Lasting {
			fail(w, http.StatusForbidden, "")
			return
		}
		sub.State, sub.SuspensionReason = "ACTIVE", ""
	case "patch":
		if r.URL.Query().Get("updateMask") != "ttl" || asked.Ttl != "0s" {
			fail(w, http.StatusBadRequest, "")
			return
		}
	}
	sub.Ttl, sub.ExpireTime = "", a.clock.Now().Add(Life).Format(time.RFC3339Nano)
	a.operation(w, sub)
}

func (a *API) operation(w http.ResponseWriter, sub *api.Subscription) {
	op := map[string]any{"name": "operations/o", "done": !a.Later}
	switch {
	case a.Later:
	case a.Status != 0:
		op["error"] = map[string]any{"code": a.Status, "message": "no"}
	default:
		response := map[string]any{"@type": "type.googleapis.com/google.protobuf.Empty"}
		if sub != nil {
			response = map[string]any{
				"@type": "type.googleapis.com/google.apps.events.subscriptions.v1.Subscription", "name": sub.Name, "state": sub.State,
				"expireTime": sub.ExpireTime,
			}
		}
		op["response"] = response
	}
	answer(w, op)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone, there is nobody left to tell
}

func fail(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	details := []any{}
	if reason != "" {
		details = append(details, map[string]string{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": code, "message": "no", "details": details}})
}
