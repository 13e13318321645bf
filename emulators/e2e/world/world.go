// Package world runs a whole Kesoku in a test process: every function behind the functions framework, fed by the bridge from real Pub/Sub
// subscriptions, over the Firestore emulator and the stand-ins for Google Chat, Gemini and Cloud Storage. A world is one test's own project.
// Its instances can be killed, its time stands still until it is stepped, and Check proves the invariants on what is left at the end.
//
// It may know everything; nothing but tests may know it.
package world

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"kesoku.dev/emulators/bridge"
	"kesoku.dev/emulators/e2e/host"
	"kesoku.dev/emulators/e2e/webpage"
	"kesoku.dev/emulators/googlechat"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/models"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/store"
	"kesoku.dev/shared/testenv"
)

// Options set a world up. The zero value is a quiet world with the stand-ins' own people and places.
type Options struct {
	Config map[string]string // configuration files by name; nil is DefaultConfig
	Chat   googlechat.Options
	Models models.Options
	Chaos  bridge.Chaos
	// Start is what the clock shows at first; zero is now.
	Start time.Time
	// OnStart sees each instance before it gets its first call: to arm its faults.
	OnStart func(*Instance)
	// OnChat and OnModel stand before the stand-ins' HTTP servers.
	OnChat, OnModel func(http.Handler) http.Handler
}

// DefaultConfig is a world's configuration: everything in English, answered by the stand-in model.
func DefaultConfig() map[string]string {
	return map[string]string{"kesoku.yaml": "chat:\n  model: gemini:gemini-2.5-flash\n  locale: en\n  activation:\n    nicknames: [kesoku]\n"}
}

// World is a whole Kesoku with its people.
type World struct {
	Project string
	Env     *testenv.Env
	Clock   *clock.Manual
	Chat    *googlechat.Server
	Page    *webpage.Server
	Store   *store.Store
	T       testing.TB

	opts     Options
	log      *slog.Logger
	logged   *safeBuffer
	chatURL  string
	modelURL string
	pageURL  string

	mu        sync.Mutex
	current   map[string]*Instance
	started   map[string]int
	instances []*Instance
	running   int
	pushes    int
	ackedIDs  map[string]bool // of wake-ups
	heard     map[string]bool // messages that the webhook acknowledged
	posts     []Post
	expected  int // interactions that the webhook must hear of
}

const (
	projectNumber = "123456789012"
	audience      = "https://kesoku.example/googlechat"
	pushAccount   = "pubsub-invoker@kesoku-e2e.iam.gserviceaccount.com"
)

// New starts a world that ends with the test.
func New(t *testing.T, o Options) *World {
	t.Helper()
	if o.Config == nil {
		o.Config = DefaultConfig()
	}
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	w := &World{
		Env: testenv.New(t), Clock: clock.NewManual(o.Start), Page: webpage.New(), T: t, opts: o, logged: &safeBuffer{},
		current: map[string]*Instance{}, started: map[string]int{}, ackedIDs: map[string]bool{}, heard: map[string]bool{},
	}
	w.Project = w.Env.ProjectID
	w.log = slog.New(slog.NewTextHandler(w.logged, nil))
	t.Cleanup(w.tell)
	w.standIns(t)
	var err error
	if w.Store, err = store.New(w.Env.Firestore, unstaged{}, stepped{w.Clock}, func() string { return "test" }); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.PublishConfig(t.Context(), o.Config, 0); err != nil {
		t.Fatal(err)
	}
	leave := host.Enter(w.Project, w)
	w.startBridge(t, leave)
	w.Chat.SetWebhook(hook.Webhook{
		URL: host.HookURL(w.Project), Audience: audience, ProjectNumber: projectNumber, PushServiceAccount: pushAccount,
		PushAudience: audience,
	})
	return w
}

// unstaged is the staging area of a store that only looks.
type unstaged struct{}

// Put implements store.Stager.
func (unstaged) Put(context.Context, string, []byte, string) (string, error) {
	return "", errors.New("a test stores no messages of its own")
}

func (w *World) standIns(t *testing.T) {
	o := w.opts.Chat
	o.RequireBearer, o.Clock = true, hurried{clock.System{}}
	if o.WritesPerSecond == 0 {
		o.WritesPerSecond = -1
	}
	var err error
	if w.Chat, err = googlechat.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Chat.Close)
	serve := func(h http.Handler, around func(http.Handler) http.Handler) string {
		if around != nil {
			h = around(h)
		}
		s := httptest.NewServer(h)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return s.URL
	}
	w.chatURL = serve(w.Chat.Handler(), w.opts.OnChat)
	w.modelURL = serve(models.New(w.opts.Models), w.opts.OnModel)
	w.pageURL = serve(w.Page, nil)
}

// vars are what the functions are told: other endpoints, and no more.
func (w *World) vars() map[string]string {
	page, err := url.Parse(w.pageURL)
	if err != nil {
		panic(err) // httptest's own URL
	}
	return map[string]string{
		"GOOGLE_CLOUD_PROJECT": w.Project, "STAGING_BUCKET": host.Bucket,
		"CHAT_ENDPOINT": w.chatURL, "CHAT_PROJECT_NUMBER": projectNumber, "CHAT_AUDIENCE": audience, "CHAT_ACTION_URL": audience,
		"CHAT_PUSH_ACCOUNT": pushAccount, "CHAT_APP_USER": w.Chat.App().Name,
		"CHAT_CERTS_URL": w.chatURL + "/certs/chat.json", "GOOGLE_CERTS_URL": w.chatURL + "/certs/oidc.json",
		"GEMINI_API_KEY": "local", "GEMINI_BASE_URL": w.modelURL, "FETCH_ALLOW": page.Host,
	}
}

// startBridge makes the topics and subscriptions and pushes from each to its function. Redeliveries come fast: what a wake-up must wait out
// is the stepped time, not the bridge's.
func (w *World) startBridge(t *testing.T, leave func()) {
	var routes []bridge.Route
	for topic, function := range host.Subscribers() {
		w.Env.Subscription(string(topic), string(topic)+"-push")
		routes = append(routes, bridge.Route{Subscription: string(topic) + "-push", URL: host.PushURL(function)})
	}
	b, err := bridge.New(bridge.Config{
		Client: w.Env.PubSub, Chaos: w.opts.Chaos, Grace: 100 * time.Millisecond, MinBackoff: 25 * time.Millisecond,
		MaxBackoff: 200 * time.Millisecond, Log: w.log.With("instance", "bridge"),
	})
	if err != nil {
		t.Fatal(err)
	}
	life, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- b.Run(life, routes...) }()
	t.Cleanup(func() {
		w.Chat.SetWebhook(hook.Webhook{})
		w.mu.Lock()
		all := w.instances
		w.mu.Unlock()
		for _, i := range all {
			i.die()
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("bridge: %v", err)
		}
		for _, i := range all {
			i.runs.Wait()
		}
		leave()
		w.forget()
	})
}

// forget removes the topics and subscriptions: the emulator keeps what it has until it ends, and a run makes many worlds.
func (w *World) forget() {
	ctx := context.WithoutCancel(w.T.Context())
	for topic := range host.Subscribers() {
		sub, top := "projects/"+w.Project+"/subscriptions/"+string(topic)+"-push", "projects/"+w.Project+"/topics/"+string(topic)
		if err := w.Env.PubSub.SubscriptionAdminClient.DeleteSubscription(ctx, &pubsubpb.DeleteSubscriptionRequest{Subscription: sub}); err != nil {
			w.T.Errorf("delete %s: %v", sub, err)
		}
		if err := w.Env.PubSub.TopicAdminClient.DeleteTopic(ctx, &pubsubpb.DeleteTopicRequest{Topic: top}); err != nil {
			w.T.Errorf("delete %s: %v", top, err)
		}
	}
}

// PageURL is an address that fetch_url may read; the page counts how often each path is read.
func (w *World) PageURL(path string) string { return w.pageURL + path }

// tell prints the functions' log if the test failed.
func (w *World) tell() {
	if w.T.Failed() {
		w.T.Logf("log of world %s:\n%s", w.Project, w.logged.String())
	}
}

// safeBuffer is a bytes.Buffer for many writers, which keeps the first megabyte.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.buf.Len() < 1<<20 {
		_, _ = b.buf.Write(p) // never fails
	}
	return len(p), nil
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
