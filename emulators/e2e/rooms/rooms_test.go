// Package rooms_test plays how a room comes to be heard: the sweep subscribes it at the stand-in's Workspace Events API, what is said there goes
// through a real topic and the bridge to the webhook, and the pipeline decides on it.
package rooms_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"
	"google.golang.org/api/workspaceevents/v1"

	"kesoku.dev/emulators/bridge"
	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/topic"
	"kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/emulators/oauth"
	webhook "kesoku.dev/functions/googlechat"
	"kesoku.dev/functions/pipeline"
	"kesoku.dev/functions/sweep"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

const (
	room    = "spaces/AAQAkesoku01"
	alice   = "users/100000000000000000001"
	number  = "123456789012"
	account = "kesoku@rooms.iam.gserviceaccount.com"
	events  = "workspace-events"
	quiet   = "chat: {model: 'gemini:flash', observe: {mode: quiet, backfill: {limit: 0}}}"
)

// stage is a project with the functions that a heard message passes, and Google Chat.
type stage struct {
	env    *testenv.Env
	chat   *googlechat.Server
	store  *store.Store
	now    *clock.Manual
	calls  chan int // status of each call of the webhook
	sweep  func(context.Context, cloudevents.Event) error
	decide func(context.Context, cloudevents.Event) error
}

// newStage sets a stage up. The time of a stepped one is the test's; what tokens are checked by is the machine's, so that there others sign them.
func newStage(t *testing.T, stepped bool) *stage {
	t.Helper()
	s := &stage{env: testenv.New(t), now: clock.NewManual(time.Now()), calls: make(chan int, 1000)}
	s.env.Subscription(events, events+"-push")
	tokens, err := oauth.New(account)
	if err != nil {
		t.Fatal(err)
	}
	key, err := tokens.WriteKey(t.TempDir(), s.env.ProjectID, serve(t, tokens))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", key)
	if s.chat, err = googlechat.New(googlechat.Options{RequireBearer: true, Clock: s.now, Publish: topic.Publish(s.env.PubSub)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.chat.Close)
	signer := s.chat
	if stepped {
		if signer, err = googlechat.New(googlechat.Options{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(signer.Close)
	}
	s.functions(t, serve(t, s.chat.Handler()), signer)
	if _, err := s.store.PublishConfig(t.Context(), map[string]string{config.FileKesoku: quiet}, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *stage) functions(t *testing.T, api string, signer *googlechat.Server) {
	t.Helper()
	const audience = "https://kesoku.example/googlechat"
	certs := serve(t, signer.Handler()) + "/certs/"
	vars := boot.VarsOf(map[string]string{
		"CHAT_ENDPOINT": api, "WORKSPACE_EVENTS_ENDPOINT": api, "WORKSPACE_EVENTS_TOPIC": "projects/" + s.env.ProjectID + "/topics/" + events,
		"CHAT_PROJECT_NUMBER": number, "CHAT_AUDIENCE": audience, "CHAT_PUSH_ACCOUNT": account, "CHAT_APP_USER": s.chat.App().Name,
		"CHAT_CERTS_URL": certs + "chat.json", "GOOGLE_CERTS_URL": certs + "oidc.json", "GEMINI_API_KEY": "none", "GEMINI_BASE_URL": api,
	})
	base := func(name string, c clock.Clock) *boot.Base {
		return boottest.Base(t, s.env, s.env.Instance(name), c, slog.New(slog.DiscardHandler))
	}
	hooked, err := webhook.New(t.Context(), base("googlechat", clock.System{}), vars)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		hooked.ServeHTTP(answer, r)
		w.WriteHeader(answer.Code)
		s.calls <- answer.Code
	}))
	swept := base("sweep", testenv.Stepped{Manual: s.now})
	s.store = swept.Store
	if s.sweep, err = sweep.New(t.Context(), swept, vars); err != nil {
		t.Fatal(err)
	}
	if s.decide, err = pipeline.New(t.Context(), base("pipeline", clock.System{}), vars); err != nil {
		t.Fatal(err)
	}
	where := hook.Webhook{URL: url, Audience: audience, ProjectNumber: number, PushAudience: audience, PushServiceAccount: account}
	s.chat.SetWebhook(where)
	signer.SetWebhook(where)
	b, err := bridge.New(bridge.Config{
		Client: s.env.PubSub, Grace: time.Second, MinBackoff: 25 * time.Millisecond, Authorize: signer.AuthorizePush, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(life, bridge.Route{Subscription: events + "-push", URL: url}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("bridge: %v", err)
		}
	})
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// heard waits until the webhook has taken n more calls.
func (s *stage) heard(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case status := <-s.calls:
			if status != http.StatusOK {
				t.Fatalf("the webhook answered %d", status)
			}
		case <-t.Context().Done():
			t.Fatal("the webhook was not called")
		}
	}
}

func (s *stage) post(t *testing.T, text string) string {
	t.Helper()
	m, err := s.chat.Post(world.Post{Space: room, User: alice, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	return m.Name
}

// sweeps and returns the room's subscription.
func (s *stage) sweeps(t *testing.T) *workspaceevents.Subscription {
	t.Helper()
	if err := s.sweep(t.Context(), boottest.Wake(t, bus.TopicSweeps, bus.Sweep{})); err != nil {
		t.Fatal(err)
	}
	for _, sub := range s.chat.Subscriptions().All() {
		if sub.TargetResource == "//chat.googleapis.com/"+room {
			return sub
		}
	}
	return nil
}

// records are the stored events of a message, by kind.
func (s *stage) records(t *testing.T, name string) map[chat.Kind]chat.Record {
	t.Helper()
	docs, err := s.env.Firestore.Collection("events").Where("message_id", "==", name).Documents(t.Context()).GetAll()
	if err != nil {
		t.Fatal(err)
	}
	out := map[chat.Kind]chat.Record{}
	for _, d := range docs {
		var r chat.Record
		if err := d.DataTo(&r); err != nil {
			t.Fatal(err)
		}
		if _, twice := out[r.Kind]; twice {
			t.Errorf("%s of %s is stored twice", r.Kind, name)
		}
		out[r.Kind] = r
	}
	return out
}

// P1, cases B2–B4: what does not mention the app comes by a subscription alone; what does comes twice and counts once.
func TestRoomIsHeard(t *testing.T) {
	s := newStage(t, false)
	unheard := s.post(t, "nobody listens yet")
	asked := s.post(t, "@Kesoku but this is told")
	s.heard(t, 1)
	if len(s.records(t, unheard)) != 0 || len(s.records(t, asked)) != 1 {
		t.Fatalf("unheard %v, asked %v", s.records(t, unheard), s.records(t, asked))
	}
	if sub := s.sweeps(t); sub == nil || sub.State != "ACTIVE" {
		t.Fatalf("subscription %+v", sub)
	}
	said := s.post(t, "the build is red")
	s.heard(t, 1)
	if r := s.records(t, said)[chat.KindMessage]; r.Text != "the build is red" || r.AtMe || r.Sender.ID != alice || r.Sender.Type != chat.SenderHuman {
		t.Errorf("heard %+v", r)
	}
	if _, err := s.chat.Edit(alice, said, "the build is green"); err != nil {
		t.Fatal(err)
	}
	if err := s.chat.Delete(alice, said); err != nil {
		t.Fatal(err)
	}
	s.heard(t, 2)
	if all := s.records(t, said); all[chat.KindEdited].Text != "the build is green" || all[chat.KindDeleted].Kind == "" {
		t.Errorf("edit and deletion: %v", all)
	}
	twice := s.post(t, "@Kesoku what is red?") // the interaction and the space's event race
	s.heard(t, 2)
	r := s.records(t, twice)[chat.KindMessage]
	if !r.AtMe || r.Text != "what is red?" {
		t.Fatalf("told and heard: %+v", r)
	}
	for range 2 { // each was announced
		if err := s.decide(t.Context(), boottest.Wake(t, bus.TopicInbound, bus.Inbound{Route: r.RouteID, Event: r.Key})); err != nil {
			t.Fatal(err)
		}
	}
	sessions, err := s.store.SessionsOf(t.Context(), room, 10)
	if err != nil || len(sessions) != 1 {
		t.Fatalf("%d sessions, %v", len(sessions), err)
	}
	prompts, err := s.store.Session(sessions[0].ID).Since(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range prompts {
		count[m.Content]++
	}
	if count["what is red?"] != 1 || count["but this is told"] != 1 {
		t.Errorf("prompts %v: want each once", count)
	}
}

// A subscription is renewed before it lapses, made anew after it did, reactivated when it is suspended, and given back when the app leaves; of
// each of these the stand-in tells by the same topic.
func TestSubscriptionIsKept(t *testing.T) {
	s := newStage(t, true)
	first := s.sweeps(t)
	if first == nil {
		t.Fatal("not subscribed")
	}
	s.now.Advance(3*time.Hour + time.Minute) // no sweep came by
	s.chat.Subscriptions().Tick()
	n := len(s.chat.Subscriptions().All())
	s.heard(t, n) // reminders
	if sub := s.sweeps(t); sub.Name != first.Name || sub.ExpireTime == first.ExpireTime {
		t.Errorf("not renewed: %+v", sub)
	}
	s.chat.Subscriptions().Suspend(first.Name, "OTHER", true)
	s.heard(t, 1)
	if sub := s.sweeps(t); sub.Name != first.Name || sub.State != "ACTIVE" {
		t.Errorf("not reactivated: %+v", sub)
	}
	s.now.Advance(5 * time.Hour)
	s.chat.Subscriptions().Tick()
	s.heard(t, 2*n) // reminders, and the end
	second := s.sweeps(t)
	if second == nil || second.Name == first.Name {
		t.Fatalf("not made anew: %+v", second)
	}
	if err := s.store.Left(t.Context(), "googlechat:"+room, time.Now()); err != nil {
		t.Fatal(err)
	}
	if sub := s.sweeps(t); sub != nil {
		t.Errorf("left, and subscribed: %+v", sub)
	}
	s.chat.SetApproved(false)
	if err := s.store.Joined(t.Context(), "googlechat:"+room, time.Now()); err != nil {
		t.Fatal(err)
	}
	if sub := s.sweeps(t); sub != nil {
		t.Errorf("subscribed without approval: %+v", sub)
	}
	doc, err := s.env.Firestore.Collection("spaces").Doc(chat.Hash("googlechat:" + room)).Get(t.Context())
	if err != nil || fmt.Sprint(doc.Data()["state"], " ", doc.Data()["told"]) != "refused ACCESS_TOKEN_SCOPE_INSUFFICIENT" {
		t.Errorf("record %v, %v", doc.Data(), err)
	}
}
