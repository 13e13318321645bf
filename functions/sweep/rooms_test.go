package sweep_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/functions/sweep"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/listen"
	"kesoku.dev/shared/platform/googlechat/subscription/subscriptiontest"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

// google serves tokens, and the Chat API over two rooms and a direct conversation.
func google(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"access_token":"a","token_type":"Bearer","expires_in":3600}`)
	})
	mux.HandleFunc("GET /v1/spaces", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"spaces":[{"name":"spaces/A","spaceType":"SPACE"},{"name":"spaces/D","spaceType":"DIRECT_MESSAGE"}]}`)
	})
	mux.HandleFunc("GET /v1/spaces/{space}", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"spaceType": map[string]string{"D": "DIRECT_MESSAGE"}[r.PathValue("space")]})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "sweep@p.iam.gserviceaccount.com", "token_uri": server.URL + "/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", path)
	return server.URL
}

// rooms is a sweep that listens.
type rooms struct {
	*subscriptiontest.API
	store  *store.Store
	now    *clock.Manual
	log    *bytes.Buffer
	handle func(context.Context, cloudevents.Event) error
}

const (
	listening = "chat: {model: 'gemini:flash', observe: {mode: quiet}}"
	deaf      = "chat: {model: 'gemini:flash'}"
)

func newRooms(t *testing.T, vars map[string]string) *rooms {
	t.Helper()
	env := testenv.New(t)
	r := &rooms{now: clock.NewManual(start), log: &bytes.Buffer{}}
	r.API = subscriptiontest.New(t, r.now)
	all := map[string]string{
		"CHAT_ENDPOINT": google(t), "WORKSPACE_EVENTS_ENDPOINT": r.URL, "WORKSPACE_EVENTS_TOPIC": "projects/kesoku/topics/workspace-events",
	}
	for name, value := range vars {
		all[name] = value
	}
	b := boottest.Base(t, env, env.Instance("sweep"), testenv.Stepped{Manual: r.now}, slog.New(slog.NewTextHandler(r.log, nil)))
	r.store = b.Store
	var err error
	if r.handle, err = sweep.New(t.Context(), b, boot.VarsOf(all)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rooms) publish(t *testing.T, text string) {
	t.Helper()
	_, revision, err := r.store.Config(t.Context())
	if err == nil {
		_, err = r.store.PublishConfig(t.Context(), map[string]string{config.FileKesoku: text}, revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.now.Advance(time.Minute) // and the function follows it
}

// sweep must leave exactly these spaces subscribed to.
func (r *rooms) sweep(t *testing.T, want ...string) {
	t.Helper()
	if err := r.handle(t.Context(), pushed(t, "e", "{}", r.now.Now())); err != nil {
		t.Errorf("sweep: %v", err)
	}
	if got := r.Spaces(); !slices.Equal(got, want) {
		t.Fatalf("subscribed to %q, want %q", got, want)
	}
}

// reports counts what a person was told.
func (r *rooms) reports() int { return strings.Count(r.log.String(), "room not heard") }

// alarms counts those of them that were errors.
func (r *rooms) alarms() int {
	return strings.Count(r.log.String(), "level=ERROR msg=\"room not heard\"")
}

// A room is subscribed to where its route listens: when the app comes, when the rules change, and before the subscription lapses; and given
// back when it does not any more.
func TestRooms(t *testing.T) {
	r := newRooms(t, nil)
	r.publish(t, deaf)
	r.sweep(t)
	if got := r.Calls(); len(got) != 0 {
		t.Errorf("nobody listens, and calls %q", got)
	}
	r.publish(t, listening) // the app was in room A before anybody listened, and its join was never told
	r.sweep(t, "spaces/A")
	for _, route := range []string{"googlechat:spaces/B", "googlechat:spaces/D", "discord:7"} {
		if err := r.store.Joined(t.Context(), route, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	r.sweep(t, "spaces/A", "spaces/B") // not in the direct conversation, where everything comes by itself
	r.Calls()
	r.now.Advance(2*time.Hour - 2*time.Minute)
	r.sweep(t, "spaces/A", "spaces/B")
	if got := r.Calls(); len(got) != 0 {
		t.Errorf("nothing is due, and calls %q", got)
	}
	r.now.Advance(2 * time.Minute)
	r.sweep(t, "spaces/A", "spaces/B")
	if got := r.Calls(); !slices.Equal(got, []string{"get", "patch", "get", "patch"}) {
		t.Errorf("renewed by %q", got)
	}
	if err := r.store.Left(t.Context(), "googlechat:spaces/B", time.Now()); err != nil {
		t.Fatal(err)
	}
	r.sweep(t, "spaces/A")
	r.publish(t, deaf)
	r.sweep(t)
	if r.reports() != 0 {
		t.Errorf("reported:\n%s", r.log)
	}
}

// A refusal is reported once, with what to do, and is one alarm however many rooms it concerns; it is asked again each hour. Mended, the room is
// heard; refused anew, it is reported anew. What may pass is not reported.
func TestRefusedRoom(t *testing.T) {
	r := newRooms(t, nil)
	r.publish(t, listening)
	r.Set(func(a *subscriptiontest.API) { a.Refuse = http.StatusServiceUnavailable })
	r.sweep(t)
	if r.reports() != 0 {
		t.Errorf("a fault that passes is reported:\n%s", r.log)
	}
	r.now.Advance(time.Minute)
	if err := r.store.Joined(t.Context(), "googlechat:spaces/B", time.Now()); err != nil {
		t.Fatal(err)
	}
	r.Set(func(a *subscriptiontest.API) {
		a.Refuse, a.Reason = http.StatusForbidden, "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
	})
	for range 3 {
		r.sweep(t)
		r.now.Advance(time.Hour)
	}
	if r.reports() != 2 || r.alarms() != 1 || !strings.Contains(r.log.String(), "chat.app.messages.readonly") {
		t.Errorf("%d reports:\n%s", r.reports(), r.log)
	}
	r.Set(func(a *subscriptiontest.API) { a.Refuse = 0 })
	r.sweep(t, "spaces/A", "spaces/B")
	r.Set(func(a *subscriptiontest.API) {
		s := a.Subs["subscriptions/s1"]
		s.State, s.SuspensionReason, a.Lasting = "SUSPENDED", "ENDPOINT_PERMISSION_DENIED", true
	})
	for range 2 { // as the lifecycle event would have it
		if err := r.store.SubscriptionMoved(t.Context(), "subscriptions/s1"); err != nil {
			t.Fatal(err)
		}
		r.sweep(t, "spaces/A", "spaces/B")
	}
	if r.reports() != 3 || r.alarms() != 2 || !strings.Contains(r.log.String(), "chat-api-push@system.gserviceaccount.com") {
		t.Errorf("%d reports:\n%s", r.reports(), r.log)
	}
	due, err := r.store.DueSpaces(t.Context(), r.now.Now().Add(90*time.Minute), 1)
	if err != nil || len(due) != 1 || due[0].State != listen.StateSuspended {
		t.Errorf("%+v, %v", due, err)
	}
}

// Without a topic nothing is asked of anybody, and the log says so once.
func TestNoTopic(t *testing.T) {
	r := newRooms(t, map[string]string{"WORKSPACE_EVENTS_TOPIC": ""})
	r.publish(t, listening)
	for range 2 {
		r.sweep(t)
	}
	if got := r.Calls(); len(got) != 0 || strings.Count(r.log.String(), "WORKSPACE_EVENTS_TOPIC") != 1 {
		t.Errorf("calls %q, log:\n%s", got, r.log)
	}
	v := boot.VarsOf(map[string]string{"WORKSPACE_EVENTS_TOPIC": "workspace-events"})
	env := testenv.New(t)
	if _, err := sweep.New(t.Context(), boottest.Base(t, env, env.Client, r.now, slog.New(slog.DiscardHandler)), v); err == nil {
		t.Error("a topic without its project is taken")
	}
}
