package googlechat_test

import (
	"encoding/base64"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/testenv"
)

// moved is the push of a lifecycle event.
func moved(kind, name string) string {
	data := base64.StdEncoding.EncodeToString([]byte(`{"subscription":{"name":"` + name + `","suspension_reason":"OTHER"}}`))
	return `{"message":{"attributes":{"ce-type":"google.workspace.events.subscription.v1.` + kind + `"},"data":"` + data + `"},"subscription":"s"}`
}

// What becomes of a subscription makes its space due for the next sweep. It is no event, wakes nobody, and is acknowledged even where it is not
// understood; but not before it is noted.
func TestSubscriptionEvents(t *testing.T) {
	t.Parallel()
	h := newHook(t)
	const room = "googlechat:spaces/A"
	heard := func() {
		t.Helper()
		if err := h.base.Store.Joined(t.Context(), room, time.Now()); err != nil {
			t.Fatal(err)
		}
		due, err := h.base.Store.DueSpaces(t.Context(), time.Now().Add(time.Minute), 1)
		if err != nil || len(due) != 1 {
			t.Fatal(due, err)
		}
		due[0].Hear("subscriptions/a", time.Now().Add(4*time.Hour), time.Now())
		if err := h.base.Store.SaveSpace(t.Context(), due[0]); err != nil {
			t.Fatal(err)
		}
	}
	isDue := func() bool {
		t.Helper()
		due, err := h.base.Store.DueSpaces(t.Context(), time.Now().Add(time.Minute), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(due) == 1
	}
	for _, tt := range []struct {
		name, kind, subscription string
		due                      bool
	}{
		{"suspended", "suspended", "subscriptions/a", true},
		{"reminder", "expirationReminder", "subscriptions/a", true},
		{"expired", "expired", "subscriptions/a", true},
		{"another's", "expired", "subscriptions/b", false},
		{"unknown kind", "renamed", "subscriptions/a", false},
	} {
		heard()
		if w := h.send(t, h.oidc(t, pushAccount), moved(tt.kind, tt.subscription)); w.Code != http.StatusOK || isDue() != tt.due {
			t.Errorf("%s: %d, due %t", tt.name, w.Code, isDue())
		}
	}
	heard()
	if w := h.send(t, h.oidc(t, chatAccount), moved("expired", "subscriptions/a")); w.Code != http.StatusBadRequest || isDue() {
		t.Errorf("told by Chat itself: %d", w.Code)
	}
	h.client.Faults.Add(testenv.Fault{Method: "RunQuery", Times: 1, Fail: codes.PermissionDenied})
	if w := h.send(t, h.oidc(t, pushAccount), moved("expired", "subscriptions/a")); w.Code != http.StatusServiceUnavailable {
		t.Errorf("not noted: %d, want it to come again", w.Code)
	}
	if len(stored(t, h.env)) != 0 || h.client.Counts().Published != 0 {
		t.Errorf("%d events, %d wake-ups", len(stored(t, h.env)), h.client.Counts().Published)
	}
}
