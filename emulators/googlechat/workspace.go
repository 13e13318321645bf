package googlechat

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/emulators/googlechat/subscriptions"
	"kesoku.dev/emulators/googlechat/wire"
)

// workspaceEvents serves the Google Workspace Events API under the same address as Chat's: their paths do not meet.
func (s *Server) workspaceEvents(mux *http.ServeMux) {
	const one = "/v1/subscriptions/{subscription}"
	for pattern, op := range map[string]struct {
		name string
		do   operation
	}{
		"POST /v1/subscriptions":         {"subscriptions.create", s.createSubscription},
		"GET /v1/subscriptions":          {"subscriptions.list", s.listSubscriptions},
		"GET " + one:                     {"subscriptions.get", s.getSubscription},
		"PATCH " + one:                   {"subscriptions.patch", s.patchSubscription},
		"DELETE " + one:                  {"subscriptions.delete", s.deleteSubscription},
		"POST " + one:                    {"subscriptions.reactivate", s.reactivateSubscription},
		"GET /v1/operations/{operation}": {"", s.getOperation},
	} {
		mux.Handle(pattern, s.serve(op.name, s.approved(op.do)))
	}
	mux.HandleFunc("/control/subscriptions", s.controlSubscriptions)
}

// subscriptionControl is what controlSubscriptions takes.
type subscriptionControl struct {
	Approved *bool  `json:"approved"` // whether an administrator has approved the app
	Suspend  string `json:"suspend"`  // name of a subscription
	Reason   string `json:"reason"`   // of the suspension, as the API names it
	Mend     string `json:"mend"`     // name of a subscription; what suspended it is over
}

// controlSubscriptions lists subscriptions (GET), suspends and mends them and takes the approval away (POST). It is the stand-in's own, no part
// of Google's API.
func (s *Server) controlSubscriptions(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var c subscriptionControl
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&c); err != nil {
			writeJSON(w, nil, wire.Errorf(http.StatusBadRequest, "read what to do: %v", err))
			return
		}
		if c.Approved != nil {
			s.SetApproved(*c.Approved)
		}
		s.events.Suspend(c.Suspend, c.Reason, false)
		s.events.Mend(c.Mend)
	}
	writeJSON(w, map[string]any{"subscriptions": s.events.All(), "approved": !s.unapproved.Load()}, nil)
}

// SetApproved says whether an administrator has approved the app for the scope chat.app.messages.readonly, as one has at first. Without it the
// app can neither subscribe to spaces nor list what was said in them.
func (s *Server) SetApproved(approved bool) { s.unapproved.Store(!approved) }

// approved is an operation that needs the administrator's approval.
func (s *Server) approved(do operation) operation {
	return func(r *http.Request) (any, error) {
		if s.unapproved.Load() {
			e := wire.Errorf(http.StatusForbidden, "Request had insufficient authentication scopes.")
			e.Details = []any{map[string]any{
				"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "domain": "googleapis.com",
			}}
			return nil, e
		}
		return do(r)
	}
}

// Subscriptions are the app's at the Workspace Events API, to be looked at, suspended and mended.
func (s *Server) Subscriptions() *subscriptions.Set { return s.events }

func subscriptionName(r *http.Request) string { return "subscriptions/" + r.PathValue("subscription") }

func decodeSubscription(r *http.Request) (*workspaceevents.Subscription, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, wire.Errorf(http.StatusBadRequest, "Request payload size exceeds the limit: %d bytes.", maxBody)
	}
	strict := json.NewDecoder(strings.NewReader(string(body)))
	strict.DisallowUnknownFields()
	var sub workspaceevents.Subscription
	if err := strict.Decode(&sub); err != nil {
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid JSON payload received. %v", err)
	}
	return &sub, nil
}

func (s *Server) createSubscription(r *http.Request) (any, error) {
	sub, err := decodeSubscription(r)
	if err != nil {
		return nil, err
	}
	space, err := subscriptions.Target(sub)
	if err != nil {
		return nil, err
	}
	if _, _, err := s.SpaceAsApp(space); err != nil {
		return nil, wire.Errorf(http.StatusForbidden, "The caller does not have permission") // to whom it does not say whether there is such a space
	}
	return s.events.Create(sub, s.hook.Project())
}

func (s *Server) listSubscriptions(r *http.Request) (any, error) {
	return s.events.List(r.URL.Query().Get("filter"))
}

func (s *Server) getSubscription(r *http.Request) (any, error) {
	return s.events.Get(subscriptionName(r))
}

func (s *Server) patchSubscription(r *http.Request) (any, error) {
	sub, err := decodeSubscription(r)
	if err != nil {
		return nil, err
	}
	return s.events.Patch(subscriptionName(r), sub, r.URL.Query().Get("updateMask"))
}

func (s *Server) deleteSubscription(r *http.Request) (any, error) {
	return s.events.Delete(subscriptionName(r), r.URL.Query().Get("allowMissing") == "true")
}

func (s *Server) reactivateSubscription(r *http.Request) (any, error) {
	name, ok := strings.CutSuffix(subscriptionName(r), ":reactivate")
	if !ok {
		return nil, wire.Errorf(http.StatusNotFound, "Method %s %s not found.", r.Method, r.URL.Path)
	}
	return s.events.Reactivate(name)
}

func (s *Server) getOperation(r *http.Request) (any, error) {
	return s.events.Operation("operations/" + r.PathValue("operation"))
}
