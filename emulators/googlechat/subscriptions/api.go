package subscriptions

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/emulators/googlechat/wire"
)

var (
	topicName = regexp.MustCompile(`^projects/[^/]+/topics/[^/]+$`)
	eventTerm = regexp.MustCompile(`event_types:"([^"]+)"`)
	spaceTerm = regexp.MustCompile(`target_resource="([^"]+)"`)
	// whole is a filter that has been read in full: what is left of it when its terms are gone.
	whole = regexp.MustCompile(`^(?:[()\s]|AND|OR)*$`)

	eventTypes = []string{wire.EventCreated, wire.EventUpdated, wire.EventDeleted}
)

// Target is the space that a subscription is asked for, or an error as the API tells it.
func Target(sub *workspaceevents.Subscription) (string, error) {
	space, ok := strings.CutPrefix(sub.TargetResource, wire.ChatResource)
	if !ok {
		return "", wire.Errorf(http.StatusBadRequest, "Invalid target_resource: %.80q", sub.TargetResource)
	}
	return space, nil
}

// Create is subscriptions.create on a space that the app is in.
func (s *Set) Create(asked *workspaceevents.Subscription, project string) (*workspaceevents.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse()
	switch {
	case len(asked.EventTypes) == 0 || slices.ContainsFunc(asked.EventTypes, func(typ string) bool { return !slices.Contains(eventTypes, typ) }):
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid event_types: %.200q", asked.EventTypes)
	case asked.NotificationEndpoint == nil || !topicName.MatchString(asked.NotificationEndpoint.PubsubTopic):
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid notification_endpoint.")
	case slices.ContainsFunc(s.all, func(have *subscription) bool { return have.TargetResource == asked.TargetResource }):
		return nil, wire.Errorf(http.StatusConflict, "Subscription already exists for the target resource.")
	}
	now, id := s.clock.Now().UTC(), randomID()
	sub := &subscription{Subscription: workspaceevents.Subscription{
		Name: "subscriptions/chat-spaces-" + id, Uid: id, TargetResource: asked.TargetResource, EventTypes: asked.EventTypes,
		NotificationEndpoint: asked.NotificationEndpoint, PayloadOptions: asked.PayloadOptions, State: stateActive,
		CreateTime: now.Format(wire.TimeFormat), UpdateTime: now.Format(wire.TimeFormat), Etag: id,
		ServiceAccountAuthority: "projects/" + project + "/serviceAccounts/111111111111111111111",
	}}
	if err := s.live(sub, asked.Ttl, asked.ExpireTime); err != nil {
		return nil, err
	}
	s.all = append(s.all, sub)
	return s.operation(sub.copy())
}

// live sets when a subscription ends: as asked, within what it may live; as long as it may if nothing is asked.
func (s *Set) live(sub *subscription, ttl, expire string) error {
	most, now := withoutResource, s.clock.Now().UTC()
	if sub.PayloadOptions != nil && sub.PayloadOptions.IncludeResource {
		most = withResource
	}
	life := most
	switch {
	case ttl != "" && ttl != "0s":
		d, err := time.ParseDuration(ttl)
		if err != nil || d <= 0 || d > most {
			return wire.Errorf(http.StatusBadRequest, "Invalid ttl: %.40q", ttl)
		}
		life = d
	case ttl == "" && expire != "":
		at, err := time.Parse(time.RFC3339Nano, expire)
		if err != nil || !at.After(now) || at.Sub(now) > most {
			return wire.Errorf(http.StatusBadRequest, "Invalid expire_time: %.40q", expire)
		}
		life = at.Sub(now)
	}
	sub.expires, sub.reminded = now.Add(life), false
	sub.ExpireTime = sub.expires.Format(wire.TimeFormat)
	return nil
}

// Get is subscriptions.get.
func (s *Set) Get(name string) (*workspaceevents.Subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, err := s.known(name)
	if err != nil {
		return nil, err
	}
	return sub.copy(), nil
}

// List is subscriptions.list, in one page.
func (s *Set) List(filter string) (*workspaceevents.ListSubscriptionsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lapse()
	types, spaces := eventTerm.FindAllStringSubmatch(filter, -1), spaceTerm.FindAllStringSubmatch(filter, -1)
	rest := spaceTerm.ReplaceAllString(eventTerm.ReplaceAllString(filter, ""), "")
	if len(types) == 0 || len(spaces) > 1 || !whole.MatchString(rest) {
		return nil, wire.Errorf(http.StatusBadRequest, "Invalid filter: %.200q", filter)
	}
	out := &workspaceevents.ListSubscriptionsResponse{}
	for _, sub := range s.all {
		if len(spaces) == 1 && sub.TargetResource != spaces[0][1] {
			continue
		}
		if slices.ContainsFunc(types, func(m []string) bool { return slices.Contains(sub.EventTypes, m[1]) }) {
			out.Subscriptions = append(out.Subscriptions, sub.copy())
		}
	}
	return out, nil
}

// Patch is subscriptions.patch.
func (s *Set) Patch(name string, change *workspaceevents.Subscription, mask string) (*workspaceevents.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, err := s.known(name)
	if err != nil {
		return nil, err
	}
	for _, path := range strings.Split(mask, ",") {
		switch path {
		case "ttl":
			err = s.live(sub, change.Ttl, "")
		case "expire_time", "expireTime":
			err = s.live(sub, "", change.ExpireTime)
		case "event_types", "eventTypes":
			sub.EventTypes = change.EventTypes
		default:
			err = wire.Errorf(http.StatusBadRequest, "Invalid update_mask: %.80q", path)
		}
		if err != nil {
			return nil, err
		}
	}
	sub.UpdateTime = s.clock.Now().UTC().Format(wire.TimeFormat)
	return s.operation(sub.copy())
}

// Delete is subscriptions.delete.
func (s *Set) Delete(name string, allowMissing bool) (*workspaceevents.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.known(name); err != nil && !allowMissing {
		return nil, err
	}
	s.all = slices.DeleteFunc(s.all, func(sub *subscription) bool { return sub.Name == name })
	return s.operation(nil)
}

// Reactivate is subscriptions.reactivate. It is refused while the reason lasts.
func (s *Set) Reactivate(name string) (*workspaceevents.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, err := s.known(name)
	switch {
	case err != nil:
		return nil, err
	case sub.State != stateSuspended:
		return nil, wire.Errorf(http.StatusBadRequest, "The subscription is not suspended.")
	case sub.broken:
		return nil, wire.Errorf(http.StatusForbidden, "The caller does not have permission")
	}
	sub.State, sub.SuspensionReason = stateActive, ""
	return s.operation(sub.copy())
}

// Operation is operations.get: whatever was asked for is done by now.
func (s *Set) Operation(name string) (*workspaceevents.Operation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op := s.ops[name]; op != nil {
		return op, nil
	}
	return nil, wire.Errorf(http.StatusNotFound, "Requested entity was not found.")
}

// operation is the answer to a write: done, or, where that is asked for, done later. The caller holds mu.
func (s *Set) operation(sub *workspaceevents.Subscription) (*workspaceevents.Operation, error) {
	response := map[string]any{"@type": "type.googleapis.com/google.protobuf.Empty"}
	if sub != nil {
		raw, err := json.Marshal(sub)
		if err == nil {
			err = json.Unmarshal(raw, &response)
		}
		if err != nil {
			return nil, wire.Errorf(http.StatusInternalServerError, "%v", err)
		}
		response["@type"] = "type.googleapis.com/google.apps.events.subscriptions.v1.Subscription"
	}
	raw, err := json.Marshal(response)
	if err != nil {
		return nil, wire.Errorf(http.StatusInternalServerError, "%v", err)
	}
	op := &workspaceevents.Operation{Name: "operations/" + randomID(), Done: true, Response: googleapi.RawMessage(raw)}
	if !s.later {
		return op, nil
	}
	if len(s.ops) > maxQueue {
		clear(s.ops)
	}
	s.ops[op.Name] = op
	return &workspaceevents.Operation{Name: op.Name}, nil
}
