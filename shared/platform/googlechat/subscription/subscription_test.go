package subscription_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"google.golang.org/api/option"
	api "google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/errs"
	"kesoku.dev/shared/listen"
	"kesoku.dev/shared/platform/googlechat/subscription"
	"kesoku.dev/shared/platform/googlechat/subscription/subscriptiontest"
)

const (
	topic  = "projects/kesoku/topics/workspace-events"
	target = "//chat.googleapis.com/spaces/A"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

type world struct {
	*subscriptiontest.API
	client *subscription.Client
	now    *clock.Manual
	space  listen.Space
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{now: clock.NewManual(start), space: listen.New("googlechat:spaces/A", start)}
	w.space.Wanted = true
	w.API = subscriptiontest.New(t, w.now)
	var err error
	w.client, err = subscription.New(t.Context(), subscription.Config{Endpoint: w.URL, Topic: topic}, option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// reconcile must make exactly the calls.
func (w *world) reconcile(t *testing.T, calls ...string) error {
	t.Helper()
	err := w.client.Reconcile(t.Context(), &w.space, w.now.Now())
	if got := w.Calls(); !slices.Equal(got, calls) {
		t.Errorf("calls %q, want %q", got, calls)
	}
	return err
}

func (w *world) wantActive(t *testing.T, name, told string) {
	t.Helper()
	s, now := w.space, w.now.Now()
	if s.State != listen.StateActive || s.Subscription != name || s.Told != told || s.ExpiresAt == nil || s.DueAt == nil {
		t.Fatalf("record %+v, want %q active, told %q", s, name, told)
	}
	if !s.ExpiresAt.Equal(now.Add(subscriptiontest.Life)) || !s.DueAt.Equal(now.Add(subscriptiontest.Life/2)) {
		t.Errorf("expires %s, due %s: want it looked at when half of its life is over", s.ExpiresAt, s.DueAt)
	}
}

// A subscription is made with what we need of it, renewed in time, and given back.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.reconcile(t, "list", "create"); err != nil {
		t.Fatal(err)
	}
	w.wantActive(t, "subscriptions/s1", "")
	sub := w.Subs["subscriptions/s1"]
	if sub.TargetResource != target || sub.NotificationEndpoint.PubsubTopic != topic || !sub.PayloadOptions.IncludeResource || len(sub.EventTypes) != 3 {
		t.Errorf("asked for %+v", sub)
	}
	w.now.Advance(2 * time.Hour)
	if err := w.reconcile(t, "get", "patch"); err != nil {
		t.Fatal(err)
	}
	w.wantActive(t, "subscriptions/s1", "")
	w.space.Wanted = false
	if err := w.reconcile(t, "delete"); err != nil {
		t.Fatal(err)
	}
	if w.space.State != listen.StateNone || w.space.DueAt != nil || w.space.Subscription != "" || len(w.Spaces()) != 0 {
		t.Errorf("record %+v, subscriptions %v", w.space, w.Spaces())
	}
	if err := w.reconcile(t); err != nil { // and again: nothing
		t.Error(err)
	}
}

// A space that the app has left is not asked about, however much its route wants to listen.
func TestLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.space.Joined, w.space.Subscription = false, "subscriptions/gone"
	if err := w.reconcile(t, "delete"); err != nil || w.space.State != listen.StateNone {
		t.Errorf("%+v, %v", w.space, err)
	}
}

// What stands is found: after an answer that was lost, a rival, an operation that takes long, a subscription that lapsed, and one of an older
// deployment is replaced.
func TestWhatStandsIsFound(t *testing.T) {
	t.Parallel()
	standing := func(change func(*api.Subscription)) func(*subscriptiontest.API) {
		return func(a *subscriptiontest.API) {
			s := &api.Subscription{
				Name: "subscriptions/old", TargetResource: target, EventTypes: []string{"google.workspace.chat.message.v1.created"}, State: "ACTIVE",
				NotificationEndpoint: &api.NotificationEndpoint{PubsubTopic: topic}, PayloadOptions: &api.PayloadOptions{IncludeResource: true},
			}
			change(s)
			a.Subs[s.Name] = s
		}
	}
	for name, tt := range map[string]struct {
		known string
		have  func(*subscriptiontest.API)
		calls []string
		want  string
	}{
		"the answer was lost": {"", standing(func(*api.Subscription) {}), []string{"list", "patch"}, "subscriptions/old"},
		"lapsed":              {"subscriptions/s0", func(*subscriptiontest.API) {}, []string{"get", "list", "create"}, "subscriptions/s1"},
		"another topic": {"subscriptions/old", standing(func(s *api.Subscription) { s.NotificationEndpoint.PubsubTopic = "projects/kesoku/topics/other" }),
			[]string{"get", "delete", "create"}, "subscriptions/s1"},
		"without the message": {"", standing(func(s *api.Subscription) { s.PayloadOptions = nil }), []string{"list", "delete", "create"}, "subscriptions/s1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Set(tt.have)
			w.space.Subscription = tt.known
			if err := w.reconcile(t, tt.calls...); err != nil {
				t.Fatal(err)
			}
			w.wantActive(t, tt.want, "")
		})
	}
	w := newWorld(t)
	w.Set(func(a *subscriptiontest.API) { a.Later = true })
	if err := w.reconcile(t, "list", "create"); err != nil || !w.space.DueAt.Equal(start.Add(time.Minute)) || w.space.State != listen.StateNone {
		t.Fatalf("an operation under way: %+v, %v", w.space, err)
	}
	w.Set(func(a *subscriptiontest.API) { a.Later = false })
	if err := w.reconcile(t, "list", "patch"); err != nil {
		t.Fatal(err)
	}
	w.wantActive(t, "subscriptions/s1", "")
}

// A refusal is kept with its reason and asked again later; each reason has a remedy of its own.
func TestRefusals(t *testing.T) {
	t.Parallel()
	remedies := map[string]bool{}
	for reason, spoil := range map[string]func(*subscriptiontest.API){
		"ACCESS_TOKEN_SCOPE_INSUFFICIENT": func(a *subscriptiontest.API) {
			a.Refuse, a.Reason = http.StatusForbidden, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
		},
		"SERVICE_DISABLED": func(a *subscriptiontest.API) { a.Refuse, a.Reason = http.StatusForbidden, "SERVICE_DISABLED" },
		"Forbidden":        func(a *subscriptiontest.API) { a.Status = 7 },
		"Bad Request":      func(a *subscriptiontest.API) { a.Refuse = http.StatusBadRequest },
		"Not Found":        func(a *subscriptiontest.API) { a.Status = 5 },
	} {
		w := newWorld(t)
		w.Set(spoil)
		if err := w.client.Reconcile(t.Context(), &w.space, start); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
		if s := w.space; s.State != listen.StateRefused || s.Told != reason || !s.DueAt.Equal(start.Add(time.Hour)) {
			t.Errorf("%s: record %+v", reason, s)
		}
		remedies[subscription.Remedy(reason)] = true
		w.Set(func(a *subscriptiontest.API) { a.Refuse, a.Status = 0, 0 })
		if err := w.client.Reconcile(t.Context(), &w.space, start); err != nil {
			t.Errorf("%s mended: %v", reason, err)
		}
		w.wantActive(t, "subscriptions/"+map[bool]string{true: "s2", false: "s1"}[reason == "Forbidden" || reason == "Not Found"], "")
	}
	if len(remedies) != 4 { // both refusals for want of the approval have one
		t.Errorf("remedies %v", remedies)
	}
}

// What may pass comes again soon, and leaves the record as it was.
func TestRetries(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusUnauthorized} {
		w := newWorld(t)
		w.Set(func(a *subscriptiontest.API) { a.Refuse = code })
		err := w.client.Reconcile(t.Context(), &w.space, start)
		if s := w.space; errs.KindOf(err) != errs.KindRetryable || s.State != listen.StateNone || s.Told != "" || !s.DueAt.Equal(start.Add(time.Minute)) {
			t.Errorf("%d: %+v, %v", code, s, err)
		}
	}
}

// A suspended subscription is reactivated, and its reason told; where that cannot be, it stays and is tried again later.
func TestSuspension(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.reconcile(t, "list", "create"); err != nil {
		t.Fatal(err)
	}
	suspend := func(lasting bool) {
		w.Set(func(a *subscriptiontest.API) {
			s := a.Subs["subscriptions/s1"]
			s.State, s.SuspensionReason, a.Lasting = "SUSPENDED", "ENDPOINT_PERMISSION_DENIED", lasting
		})
	}
	suspend(true)
	if err := w.reconcile(t, "get", "reactivate"); err != nil {
		t.Fatal(err)
	}
	if s := w.space; s.State != listen.StateSuspended || s.Told != "ENDPOINT_PERMISSION_DENIED" || s.Subscription == "" || !s.DueAt.Equal(start.Add(time.Hour)) {
		t.Errorf("record %+v", s)
	}
	suspend(false)
	if err := w.reconcile(t, "get", "reactivate"); err != nil {
		t.Fatal(err)
	}
	w.wantActive(t, "subscriptions/s1", "ENDPOINT_PERMISSION_DENIED")
	if err := w.reconcile(t, "get", "patch"); err != nil { // it lasts
		t.Fatal(err)
	}
	w.wantActive(t, "subscriptions/s1", "")
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{"", "workspace-events", "projects/p/topics/a/b"} {
		if _, err := subscription.New(t.Context(), subscription.Config{Topic: topic}, option.WithoutAuthentication()); err == nil {
			t.Errorf("topic %q is taken", topic)
		}
	}
	w := newWorld(t)
	w.space.RouteID = "googlechat:../x"
	if err := w.reconcile(t); err != nil || w.space.DueAt != nil {
		t.Errorf("%+v, %v", w.space, err)
	}
}
