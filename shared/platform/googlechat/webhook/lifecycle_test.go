package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"kesoku.dev/shared/platform/googlechat/token"
	"kesoku.dev/shared/platform/googlechat/webhook"
)

func lifecycle(t *testing.T, kind, data string) []byte {
	t.Helper()
	body, err := json.Marshal(map[string]any{"message": map[string]any{
		"attributes": map[string]string{"ce-type": kind, "ce-source": "//workspaceevents.googleapis.com/subscriptions/chat-spaces-a"},
		"data":       base64.StdEncoding.EncodeToString([]byte(data)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// What becomes of a subscription is told apart from what is said in its space, and only Pub/Sub may tell it.
func TestSubscription(t *testing.T) {
	t.Parallel()
	const v1 = "google.workspace.events.subscription.v1."
	for name, tt := range map[string]struct {
		from       token.Caller
		kind, data string
		want       string
		ok         bool
	}{
		"suspended":  {token.Push, v1 + "suspended", `{"subscription":{"name":"subscriptions/chat-spaces-a","suspension_reason":"OTHER"}}`, "subscriptions/chat-spaces-a", true},
		"reminder":   {token.Push, v1 + "expirationReminder", `{"subscription":{"name":"subscriptions/a"}}`, "subscriptions/a", true},
		"expired":    {token.Push, v1 + "expired", `{"subscription":{"name":"subscriptions/a"}}`, "subscriptions/a", true},
		"new kind":   {token.Push, v1 + "renamed", `{"subscription":{"name":"subscriptions/a"}}`, "", true},
		"no name":    {token.Push, v1 + "expired", `{}`, "", true},
		"bad name":   {token.Push, v1 + "expired", `{"subscription":{"name":"subscriptions/a/b"}}`, "", true},
		"endless":    {token.Push, v1 + "expired", `{"subscription":{"name":"subscriptions/` + strings.Repeat("a", 501) + `"}}`, "", true},
		"no object":  {token.Push, v1 + "expired", `[]`, "", true},
		"a message":  {token.Push, "google.workspace.chat.message.v1.created", `{"message":{"name":"spaces/a/messages/b"}}`, "", false},
		"not pushed": {token.Chat, v1 + "expired", `{"subscription":{"name":"subscriptions/a"}}`, "", false},
	} {
		if got, ok := webhook.Subscription(tt.from, lifecycle(t, tt.kind, tt.data)); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %q, %t", name, got, ok)
		}
	}
	if _, ok := webhook.Subscription(token.Push, []byte("[]")); ok {
		t.Error("an array is taken for an event")
	}
}

// Our own card changes with every step: no news. Somebody else's edit is.
func TestOwnEditsAreNone(t *testing.T) {
	t.Parallel()
	for sender, want := range map[string]int{"users/999": 0, "users/1": 1} {
		body := lifecycle(t, "google.workspace.chat.message.v1.updated", `{"message":{"name":"spaces/a/messages/b","sender":{"name":"`+sender+`","type":"BOT"},`+
			`"createTime":"2026-05-27T09:00:00Z","lastUpdateTime":"2026-05-27T09:01:00Z","text":"x"}}`)
		all, err := webhook.Decoder{AppUser: "users/999"}.Decode(token.Push, body)
		if len(all) != want || (err == nil) != (want == 1) {
			t.Errorf("%s: %d events, %v", sender, len(all), err)
		}
	}
}
