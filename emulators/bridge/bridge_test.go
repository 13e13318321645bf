package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/emulators/bridge"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// A push request looks as Pub/Sub makes it.
func TestPushRequest(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	requests := make(chan *http.Request, 1)
	bodies := make(chan []byte, 1)
	fn := server(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- body
		requests <- r
		w.WriteHeader(http.StatusNoContent)
	})
	run(t, bridge.Config{Client: env.PubSub, Authorize: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer token")
		return nil
	}}, bridge.Route{Subscription: sub, URL: fn})
	id := publish(t, env, &pubsub.Message{Data: []byte("look"), Attributes: map[string]string{"session": "s1"}})

	r := <-requests
	if want := "/projects/" + env.ProjectID + "/topics/turns"; r.Method != http.MethodPost || r.URL.Path != want {
		t.Errorf("%s %s, want POST %s", r.Method, r.URL.Path, want)
	}
	if got := r.Header.Get("Content-Type") + "|" + r.Header.Get("Authorization"); got != "application/json|Bearer token" {
		t.Errorf("headers %q", got)
	}
	var got struct {
		Message struct {
			Attributes  map[string]string
			Data        []byte
			MessageID   string `json:"messageId"`
			PublishTime time.Time
		}
		Subscription string
	}
	if err := json.Unmarshal(<-bodies, &got); err != nil {
		t.Fatal(err)
	}
	m := got.Message
	if string(m.Data) != "look" || m.Attributes["session"] != "s1" || m.MessageID != id || m.PublishTime.IsZero() || got.Subscription != sub {
		t.Errorf("body %+v, want message %s of %s", got, id, sub)
	}
}

// Exactly the documented statuses acknowledge; all else comes back.
func TestAcknowledgement(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]bool{200: true, 201: true, 202: true, 204: true, 203: false, 206: false, 302: false, 400: false, 404: false,
		429: false, 500: false, 503: false} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			t.Parallel()
			env, sub := project(t)
			called := make(chan struct{}, 1)
			fn := server(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(code)
				called <- struct{}{}
			})
			client := env.Instance("bridge")
			stop := run(t, bridge.Config{Client: client.PubSub}, bridge.Route{Subscription: sub, URL: fn, Path: "/push"})
			publish(t, env, &pubsub.Message{Data: []byte("x")})
			<-called
			stop() // The default back-off of 10 s keeps a failed message from a second attempt before this.
			if got := acknowledged(client); got != want {
				t.Errorf("status %d: acknowledged = %v, want %v", code, got, want)
			}
		})
	}
}

// Failed attempts wait longer and longer, up to the longest.
func TestBackoff(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	done := make(chan struct{})
	var calls atomic.Int32
	fn := server(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) <= 4 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		close(done)
	})
	waits := &instant{}
	run(t, bridge.Config{Client: env.PubSub, Clock: waits, MinBackoff: 10 * time.Second, MaxBackoff: 45 * time.Second},
		bridge.Route{Subscription: sub, URL: fn})
	publish(t, env, &pubsub.Message{Data: []byte("x")})
	<-done
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 45 * time.Second}
	if got := waits.all(); !slices.Equal(got, want) {
		t.Errorf("waited %v, want %v", got, want)
	}
}

// Requests run side by side up to the limit, never beyond, and a slow one holds up nobody else's slot.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	const limit, messages = 8, 40
	env, sub := project(t)
	var mu sync.Mutex
	var inFlight, most, total int
	full, all := make(chan struct{}), make(chan struct{})
	fn := server(t, func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		inFlight++
		most = max(most, inFlight)
		if inFlight == limit && total == 0 {
			close(full)
		}
		mu.Unlock()
		<-full // The first ones wait until the limit is reached.
		mu.Lock()
		defer mu.Unlock()
		inFlight--
		if total++; total == messages {
			close(all)
		}
	})
	run(t, bridge.Config{Client: env.PubSub, Concurrency: limit}, bridge.Route{Subscription: sub, URL: fn})
	batch := make([]*pubsub.Message, messages)
	for i := range batch {
		batch[i] = &pubsub.Message{Data: []byte("x")}
	}
	publish(t, env, batch...)
	<-all
	mu.Lock()
	defer mu.Unlock()
	if most != limit {
		t.Errorf("%d requests in flight at most, want %d", most, limit)
	}
}

// A stopping bridge lets the request in flight end and acknowledges it.
func TestStopWaitsForRequestsInFlight(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	started, release := make(chan struct{}), make(chan struct{})
	fn := server(t, func(http.ResponseWriter, *http.Request) {
		close(started)
		<-release
	})
	stopping := make(chan struct{})
	client := env.Instance("bridge")
	stop := run(t, bridge.Config{Client: client.PubSub, Clock: &announcing{sleeping: stopping}}, bridge.Route{Subscription: sub, URL: fn})
	publish(t, env, &pubsub.Message{Data: []byte("x")})
	<-started
	go func() {
		<-stopping // The bridge has begun its grace.
		close(release)
	}()
	stop()
	if !acknowledged(client) {
		t.Error("the message was not acknowledged")
	}
}

// A request that outlives the grace is given up, and its message stays with Pub/Sub.
func TestStopGivesUpAfterGrace(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	started := make(chan struct{})
	fn := server(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // The server watches for a closed connection once the body is read.
		close(started)
		<-r.Context().Done()
	})
	client := env.Instance("bridge")
	stop := run(t, bridge.Config{Client: client.PubSub, Grace: time.Millisecond}, bridge.Route{Subscription: sub, URL: fn})
	publish(t, env, &pubsub.Message{Data: []byte("x")})
	<-started
	stop()
	if acknowledged(client) {
		t.Error("the message was acknowledged")
	}
}

// A function that never answers is given up at the timeout and tried again.
func TestTimeout(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	again := make(chan struct{})
	var calls atomic.Int32
	fn := server(t, func(_ http.ResponseWriter, r *http.Request) {
		if calls.Add(1) == 2 {
			close(again)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	run(t, bridge.Config{Client: env.PubSub, Clock: &instant{}, Timeout: 50 * time.Millisecond}, bridge.Route{Subscription: sub, URL: fn})
	publish(t, env, &pubsub.Message{Data: []byte("x")})
	<-again
}

// The emulator counts the attempts of a subscription with a dead-letter policy, and parks the message after the last.
func TestDeadLetter(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	parked := env.Subscription("turns-dead", "turns-dead-look")
	env.Topic("turns")
	sub, err := emulator.EnsureSubscription(t.Context(), env.PubSub, &pubsubpb.Subscription{Name: "turns-turn", Topic: "turns",
		DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: "projects/" + env.ProjectID + "/topics/turns-dead", MaxDeliveryAttempts: 5}})
	if err != nil {
		t.Fatal(err)
	}
	attempts := make(chan int, 100)
	fn := server(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ DeliveryAttempt int }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		attempts <- body.DeliveryAttempt
		w.WriteHeader(http.StatusInternalServerError)
	})
	run(t, bridge.Config{Client: env.PubSub, Clock: &instant{}}, bridge.Route{Subscription: sub, URL: fn})
	publish(t, env, &pubsub.Message{Data: []byte("poison")})
	await(t, env, parked)
	close(attempts)
	var got []int
	for a := range attempts {
		got = append(got, a)
	}
	if want := []int{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
}

// Chaos delivers each message twice at once, some again after that, and loses none.
func TestChaos(t *testing.T) {
	t.Parallel()
	const messages = 40
	env, sub := project(t)
	var mu sync.Mutex
	seen := map[string]int{}
	done := make(chan struct{})
	enough := sync.OnceFunc(func() { close(done) })
	fn := server(t, func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			Message struct {
				MessageID string `json:"messageId"`
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		seen[body.Message.MessageID]++
		least, most := messages, 0
		for _, n := range seen {
			least, most = min(least, n), max(most, n)
		}
		if len(seen) == messages && least >= 2 && most >= 4 { // Four: two deliveries, both doubled.
			enough()
		}
	})
	run(t, bridge.Config{Client: env.PubSub, MinBackoff: time.Millisecond, MaxBackoff: time.Millisecond,
		Chaos: bridge.Chaos{Seed: 1, Duplicate: 1, Redeliver: 0.5, MaxDelay: 5 * time.Millisecond}}, bridge.Route{Subscription: sub, URL: fn})
	batch := make([]*pubsub.Message, messages)
	for i := range batch {
		batch[i] = &pubsub.Message{Data: []byte("x")}
	}
	publish(t, env, batch...)
	<-done
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	env, sub := project(t)
	for name, cfg := range map[string]bridge.Config{
		"no client":             {},
		"timeout over 600 s":    {Client: env.PubSub, Timeout: 601 * time.Second},
		"negative concurrency":  {Client: env.PubSub, Concurrency: -1},
		"back-off upside down":  {Client: env.PubSub, MinBackoff: time.Minute, MaxBackoff: time.Second},
		"chaos that never ends": {Client: env.PubSub, Chaos: bridge.Chaos{Redeliver: 1}},
	} {
		if _, err := bridge.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	b, err := bridge.New(bridge.Config{Client: env.PubSub})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context(), bridge.Route{Subscription: "nowhere", URL: "http://127.0.0.1:1"}); status.Code(errors.Unwrap(err)) != codes.NotFound {
		t.Errorf("missing subscription: %v, want NotFound", err)
	}
	for _, r := range []bridge.Route{{Subscription: sub, URL: "127.0.0.1:1"}, {Subscription: sub, URL: "file:///x"}, {URL: "http://127.0.0.1:1"}} {
		if err := b.Run(t.Context(), r); err == nil {
			t.Errorf("route %+v: accepted", r)
		}
	}
}

// project returns a test's own project with topic "turns" and one subscription.
func project(t *testing.T) (*testenv.Env, string) {
	t.Helper()
	env := testenv.New(t)
	sub := env.Subscription("turns", "turns-turn")
	return env, sub
}

func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// run starts a bridge and returns the function that stops it and waits; it is stopped at the end of the test anyway.
func run(t *testing.T, cfg bridge.Config, routes ...bridge.Route) (stop func()) {
	t.Helper()
	cfg.Log = slog.New(slog.DiscardHandler)
	b, err := bridge.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, routes...) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// publish sends the messages and returns the id of the last.
func publish(t *testing.T, env *testenv.Env, messages ...*pubsub.Message) string {
	t.Helper()
	p := env.PubSub.Publisher("turns")
	defer p.Stop()
	p.PublishSettings.DelayThreshold = time.Millisecond
	results := make([]*pubsub.PublishResult, 0, len(messages))
	for _, m := range messages {
		results = append(results, p.Publish(t.Context(), m))
	}
	id := ""
	for _, r := range results {
		var err error
		if id, err = r.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

// acknowledged reports whether a client has acknowledged anything.
func acknowledged(c *testenv.Client) bool { return c.Counts().Calls["Acknowledge"] > 0 }

// await blocks until the subscription has a message. A pull may return nothing; the test's deadline bounds the wait.
func await(t *testing.T, env *testenv.Env, sub string) {
	t.Helper()
	for {
		res, err := env.PubSub.SubscriptionAdminClient.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: sub, MaxMessages: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(res.GetReceivedMessages()) > 0 {
			return
		}
	}
}

// instant is a clock whose waits are over at once, and remembered.
type instant struct {
	clock.System
	mu    sync.Mutex
	waits []time.Duration
}

func (c *instant) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waits = append(c.waits, d)
	}
	return ctx.Err()
}

func (c *instant) all() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waits)
}

// announcing is the machine's clock, but tells when the first real wait begins.
type announcing struct {
	clock.System
	once     sync.Once
	sleeping chan struct{}
}

func (c *announcing) Sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		c.once.Do(func() { close(c.sleeping) })
	}
	return c.System.Sleep(ctx, d)
}
