package googlechat_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/fault"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/clock"
)

const events = "projects/p/topics/events"

// published is a message for a topic.
type published struct {
	topic string
	*wire.Published
}

func (p published) data(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(p.Data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// subscriber is a stand-in with Google's own client for its Workspace Events API.
type subscriber struct {
	*googlechat.Server
	calls *workspaceevents.SubscriptionsService
	ops   *workspaceevents.OperationsService
	now   *clock.Manual
	url   string
	got   chan published
}

func subscribing(t *testing.T) *subscriber {
	t.Helper()
	s := &subscriber{now: clock.NewManual(time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)), got: make(chan published, 100)}
	opts := unlimited()
	opts.Clock = s.now
	opts.Publish = func(_ context.Context, topic string, m *wire.Published) error {
		if topic != events {
			return errors.New("no such topic")
		}
		s.got <- published{topic, m}
		return nil
	}
	s.Server, _, s.url = start(t, opts)
	api, err := workspaceevents.NewService(t.Context(), option.WithEndpoint(s.url+"/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	s.calls, s.ops = api.Subscriptions, api.Operations
	return s
}

func asked(space string) *workspaceevents.Subscription {
	return &workspaceevents.Subscription{
		TargetResource: "//chat.googleapis.com/" + space, EventTypes: []string{wire.EventCreated, wire.EventUpdated},
		NotificationEndpoint: &workspaceevents.NotificationEndpoint{PubsubTopic: events},
		PayloadOptions:       &workspaceevents.PayloadOptions{IncludeResource: true},
	}
}

func (s *subscriber) subscribe(t *testing.T, sub *workspaceevents.Subscription) *workspaceevents.Subscription {
	t.Helper()
	op, err := s.calls.Create(sub).Do()
	if err != nil {
		t.Fatal(err)
	}
	return response(t, op)
}

func response(t *testing.T, op *workspaceevents.Operation) *workspaceevents.Subscription {
	t.Helper()
	var sub workspaceevents.Subscription
	if err := json.Unmarshal(op.Response, &sub); err != nil || !op.Done || !strings.HasPrefix(op.Name, "operations/") {
		t.Fatalf("operation %+v: %v", op, err)
	}
	return &sub
}

func (s *subscriber) post(t *testing.T, text string) string {
	t.Helper()
	m, err := s.Post(world.Post{Space: room, User: alice, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return m.Name
}

// A subscription brings what is said in its space, of the types it asks for, in the binding of CloudEvents to Pub/Sub, and nothing before it.
func TestSubscriptionBringsMessages(t *testing.T) {
	t.Parallel()
	s := subscribing(t)
	s.post(t, "too early")
	sub := s.subscribe(t, asked(room))
	name := s.post(t, "first")
	got := <-s.got
	message, _ := got.data(t)["message"].(map[string]any)
	sender, _ := message["sender"].(map[string]any)
	if message["name"] != name || message["text"] != "first" || sender["name"] != alice || sender["displayName"] != nil {
		t.Errorf("message %v", message)
	}
	for attribute, want := range map[string]string{
		"ce-type": wire.EventCreated, "ce-subject": "//chat.googleapis.com/" + room, "ce-source": "//workspaceevents.googleapis.com/" + sub.Name,
		"ce-specversion": "1.0", "ce-datacontenttype": "application/json",
	} {
		if got.Attributes[attribute] != want {
			t.Errorf("%s is %q, want %q", attribute, got.Attributes[attribute], want)
		}
	}
	if got.OrderingKey != got.Attributes["ce-source"] || got.Attributes["ce-id"] == "" {
		t.Errorf("published %+v", got.Published)
	}
	if err := s.Delete(alice, name); err != nil { // which was not asked for
		t.Fatal(err)
	}
	if _, err := s.calls.Delete(sub.Name).Do(); err != nil {
		t.Fatal(err)
	}
	bare := asked(room)
	bare.PayloadOptions = nil
	s.subscribe(t, bare)
	name = s.post(t, "second")
	if message, _ := (<-s.got).data(t)["message"].(map[string]any); len(message) != 1 || message["name"] != name {
		t.Errorf("without the resource: %v", message)
	}
}

// What the API refuses, and what it finds.
func TestSubscriptionCalls(t *testing.T) {
	t.Parallel()
	s := subscribing(t)
	create := func(change func(*workspaceevents.Subscription)) error {
		sub := asked(room)
		change(sub)
		_, err := s.calls.Create(sub).Do()
		return err
	}
	sub := s.subscribe(t, asked(room))
	wantCode(t, create(func(*workspaceevents.Subscription) {}), http.StatusConflict)
	wantCode(t, create(func(x *workspaceevents.Subscription) { x.TargetResource = "//chat.googleapis.com/spaces/nowhere" }), http.StatusForbidden)
	wantCode(t, create(func(x *workspaceevents.Subscription) { x.EventTypes = []string{"x"} }), http.StatusBadRequest)
	wantCode(t, create(func(x *workspaceevents.Subscription) { x.NotificationEndpoint.PubsubTopic = "events" }), http.StatusBadRequest)
	for filter, want := range map[string]int{
		`event_types:"` + wire.EventCreated + `" AND target_resource="//chat.googleapis.com/` + room + `"`: 1,
		`event_types:"` + wire.EventDeleted + `" OR event_types:"` + wire.EventCreated + `"`:               1,
		`event_types:"` + wire.EventCreated + `" AND target_resource="//chat.googleapis.com/` + dm + `"`:   0,
	} {
		if list, err := s.calls.List().Filter(filter).Do(); err != nil || len(list.Subscriptions) != want {
			t.Errorf("%s: %+v, %v", filter, list, err)
		}
	}
	for _, filter := range []string{"", `target_resource="//chat.googleapis.com/x"`, `event_types:"x" AND name="y"`} {
		_, err := s.calls.List().Filter(filter).Do()
		wantCode(t, err, http.StatusBadRequest)
	}
	_, err := s.calls.Reactivate(sub.Name, &workspaceevents.ReactivateSubscriptionRequest{}).Do()
	wantCode(t, err, http.StatusBadRequest)
	_, err = s.calls.Get("subscriptions/none").Do()
	wantCode(t, err, http.StatusNotFound)
	if _, err := s.calls.Delete("subscriptions/none").AllowMissing(true).Do(); err != nil {
		t.Error(err)
	}
	s.Subscriptions().Later(true)
	op, err := s.calls.Patch(sub.Name, &workspaceevents.Subscription{Ttl: "60s"}).UpdateMask("ttl").Do()
	if err != nil || op.Done {
		t.Fatalf("operation %+v, %v", op, err)
	}
	if op, err = s.ops.Get(op.Name).Do(); err != nil || response(t, op).ExpireTime != "2026-05-27T09:01:00.000000Z" {
		t.Errorf("operation %+v, %v", op, err)
	}
	if err := s.Inject(fault.Fault{Op: "subscriptions.get", Kind: fault.Kind403, Times: 1}); err != nil {
		t.Fatal(err)
	}
	_, err = s.calls.Get(sub.Name).Do()
	wantCode(t, err, http.StatusForbidden)
	s.SetApproved(false)
	_, err = s.calls.Get(sub.Name).Do()
	wantCode(t, err, http.StatusForbidden)
}

// A subscription lives four hours with the message in its events and seven days without; it is reminded of, and then gone.
func TestSubscriptionLife(t *testing.T) {
	t.Parallel()
	s := subscribing(t)
	bare := asked("spaces/AAQAtokyo002")
	bare.PayloadOptions = nil
	if got := s.subscribe(t, bare).ExpireTime; got != "2026-06-03T09:00:00.000000Z" {
		t.Errorf("without the message: until %s", got)
	}
	sub := s.subscribe(t, asked(room))
	if sub.ExpireTime != "2026-05-27T13:00:00.000000Z" || sub.State != "ACTIVE" {
		t.Errorf("with the message: %+v", sub)
	}
	next := func(kind string) {
		t.Helper()
		got := <-s.got
		about, _ := got.data(t)["subscription"].(map[string]any)
		if got.Attributes["ce-type"] != "google.workspace.events.subscription.v1."+kind || about["name"] != sub.Name {
			t.Errorf("got %v %v, want %s", got.Attributes, about, kind)
		}
	}
	s.now.Advance(3*time.Hour + time.Minute)
	s.Subscriptions().Tick()
	next("expirationReminder")
	op, err := s.calls.Patch(sub.Name, &workspaceevents.Subscription{Ttl: "0s"}).UpdateMask("ttl").Do()
	if err != nil || response(t, op).ExpireTime != "2026-05-27T16:01:00.000000Z" {
		t.Errorf("renewed: %+v, %v", op, err)
	}
	s.now.Advance(4 * time.Hour)
	s.Subscriptions().Tick()
	next("expirationReminder")
	next("expired")
	_, err = s.calls.Get(sub.Name).Do()
	wantCode(t, err, http.StatusNotFound)
}

// A suspended subscription says so, brings nothing, and can be reactivated once its reason is mended.
func TestSuspendedSubscription(t *testing.T) {
	t.Parallel()
	s := subscribing(t)
	sub := s.subscribe(t, asked(room))
	resp, err := http.Post(s.url+"/control/subscriptions", "application/json",
		strings.NewReader(`{"suspend":"`+sub.Name+`","reason":"ENDPOINT_PERMISSION_DENIED"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	got := <-s.got
	if about, _ := got.data(t)["subscription"].(map[string]any); got.Attributes["ce-type"] != "google.workspace.events.subscription.v1.suspended" ||
		about["suspension_reason"] != "ENDPOINT_PERMISSION_DENIED" {
		t.Errorf("got %v %v", got.Attributes, about)
	}
	s.post(t, "unheard")
	_, err = s.calls.Reactivate(sub.Name, &workspaceevents.ReactivateSubscriptionRequest{}).Do()
	wantCode(t, err, http.StatusForbidden)
	s.Subscriptions().Mend(sub.Name)
	op, err := s.calls.Reactivate(sub.Name, &workspaceevents.ReactivateSubscriptionRequest{}).Do()
	if err != nil || response(t, op).State != "ACTIVE" {
		t.Fatalf("%+v, %v", op, err)
	}
	name := s.post(t, "heard")
	if message, _ := (<-s.got).data(t)["message"].(map[string]any); message["name"] != name {
		t.Errorf("heard %v", message)
	}
}
