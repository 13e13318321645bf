package testenv_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// The counts are documents and messages, not calls; those of the test's own client stay out of the total.
func TestCounts(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	ctx := t.Context()
	env.Topic("inbound")
	mustSet(t, env.Client, "c/own")
	a, b := env.Instance("a"), env.Instance("b")

	mustSet(t, a, "c/1")
	must(t, b.Firestore.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
		return errors.Join(tx.Set(b.Firestore.Doc("c/2"), map[string]any{"n": 1, "at": firestore.ServerTimestamp}),
			tx.Delete(b.Firestore.Doc("c/3")))
	}))
	if got := env.Total(); got.Writes != 3 || got.Reads != 0 || got.Calls["Commit"] != 2 {
		t.Errorf("after writes: %+v, want 3 writes in 2 commits and no read", got)
	}
	before := env.Total()
	if _, err := a.Firestore.GetAll(ctx, []*firestore.DocumentRef{a.Firestore.Doc("c/1"), a.Firestore.Doc("c/missing")}); err != nil {
		t.Fatal(err)
	}
	docs, err := b.Firestore.Collection("c").Documents(ctx).GetAll()
	if err != nil || len(docs) != 3 {
		t.Fatalf("query: %d documents, %v, want 3", len(docs), err)
	}
	got := env.Total().Minus(before)
	if got.Reads != 2+3 || got.Writes != 0 || got.Calls["BatchGetDocuments"] != 1 || got.Calls["RunQuery"] != 1 {
		t.Errorf("reads: %+v, want 5 documents in two calls", got)
	}
	mustPublish(t, a, "inbound")
	if got := env.Total(); got.Published != 1 || got.Calls["Publish"] != 1 {
		t.Errorf("publish: %+v", got)
	}
	if own := env.Counts(); own.Writes != 1 {
		t.Errorf("own client: %+v, want its 1 write", own)
	}
}

// Two tests never see each other's documents, for their projects differ, and every id is one that Google would allow.
func TestProjects(t *testing.T) {
	t.Parallel()
	one, two := testenv.New(t), testenv.New(t)
	mustSet(t, one.Client, "c/1")
	if _, err := two.Firestore.Doc("c/1").Get(t.Context()); status.Code(err) != codes.NotFound {
		t.Errorf("other project: %v, want NotFound", err)
	}
	shape := regexp.MustCompile(`^[a-z][a-z0-9-]{5,29}$`)
	if !shape.MatchString(one.ProjectID) || one.ProjectID == two.ProjectID {
		t.Errorf("project ids %q, %q", one.ProjectID, two.ProjectID)
	}
}

// Code under test runs with the emulator variables set; interception has to work there too, and leave them alone.
func TestWithEmulatorVariables(t *testing.T) {
	env := testenv.New(t)
	e, err := emulator.Shared()
	must(t, err)
	t.Setenv("FIRESTORE_EMULATOR_HOST", e.FirestoreHost)
	t.Setenv("PUBSUB_EMULATOR_HOST", e.PubSubHost)
	env.Topic("inbound")
	c := env.Instance("under-variables")
	mustSet(t, c, "c/1")
	mustPublish(t, c, "inbound")
	if got := c.Counts(); got.Writes != 1 || got.Published != 1 {
		t.Errorf("counts %+v, want 1 write and 1 message: the SDK used a connection of its own", got)
	}
	other, err := firestore.NewClient(t.Context(), env.ProjectID, c.FirestoreOptions()...)
	must(t, err)
	if _, err := other.Doc("c/1").Get(t.Context()); err != nil || c.Counts().Reads != 1 {
		t.Errorf("a second client on the same connection: %v, counts %+v", err, c.Counts())
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	isCommit := func(req any) bool { _, ok := req.(*firestorepb.CommitRequest); return ok }
	tests := map[string]struct {
		fault        testenv.Fault
		want         codes.Code
		wantStored   bool
		wantCommits  int
		wantNextFine bool
	}{
		"fails before the call":                  {testenv.Fault{Method: "Commit", Times: 1, Fail: codes.Aborted}, codes.Aborted, false, 1, true},
		"answer lost":                            {testenv.Fault{Match: isCommit, Times: 1, Lose: codes.DeadlineExceeded}, codes.DeadlineExceeded, true, 1, true},
		"unavailable is retried by the SDK":      {testenv.Fault{Method: "Commit", Times: 2, Fail: codes.Unavailable}, codes.OK, true, 3, true},
		"for ever":                               {testenv.Fault{Method: "Commit", Fail: codes.PermissionDenied}, codes.PermissionDenied, false, 1, false},
		"skipped":                                {testenv.Fault{Method: "Commit", Skip: 1, Fail: codes.Aborted}, codes.OK, true, 1, false},
		"another method":                         {testenv.Fault{Method: "Publish", Fail: codes.Aborted}, codes.OK, true, 1, true},
		"latency":                                {testenv.Fault{Method: "Commit", Times: 1, Delay: time.Millisecond}, codes.OK, true, 1, true},
		"latency longer than the call's context": {testenv.Fault{Method: "Commit", Times: 1, Delay: time.Hour}, codes.DeadlineExceeded, false, 1, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			c := env.Instance("victim")
			c.Faults.Add(tt.fault)
			ctx := t.Context()
			if tt.fault.Delay >= time.Hour {
				short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
				defer cancel()
				ctx = short
			}
			_, err := c.Firestore.Doc("c/1").Set(ctx, map[string]any{"n": 1})
			if got := codeOf(err); got != tt.want {
				t.Errorf("Set: %v (%v), want %v", got, err, tt.want)
			}
			if got := exists(t, env, "c/1"); got != tt.wantStored {
				t.Errorf("stored = %v, want %v", got, tt.wantStored)
			}
			if got := c.Counts().Calls["Commit"]; got != tt.wantCommits {
				t.Errorf("%d commits, want %d", got, tt.wantCommits)
			}
			_, err = c.Firestore.Doc("c/2").Set(t.Context(), map[string]any{"n": 1})
			if (err == nil) != tt.wantNextFine {
				t.Errorf("next Set: %v, want fine = %v", err, tt.wantNextFine)
			}
			c.Faults.Clear()
			mustSet(t, c, "c/3")
		})
	}
}

// Streaming reads take faults like any call.
func TestFaultsOfStreams(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	mustSet(t, env.Client, "c/1")
	c := env.Instance("victim")
	query := func() error {
		_, err := c.Firestore.Collection("c").Documents(t.Context()).Next()
		return err
	}
	var order []string
	c.Faults.Add(testenv.Fault{Method: "RunQuery", Times: 1, Fail: codes.PermissionDenied})
	c.Faults.Add(testenv.Fault{Method: "RunQuery", Times: 1, Lose: codes.Internal,
		Before: func() { order = append(order, "before") }, After: func() { order = append(order, "after") }})
	if got := codeOf(query()); got != codes.PermissionDenied {
		t.Errorf("first query: %v, want PermissionDenied", got)
	}
	if got := codeOf(query()); got != codes.Internal {
		t.Errorf("second query: %v, want Internal", got)
	}
	if len(order) != 2 || order[0] != "before" {
		t.Errorf("hooks ran %v, want before, after", order)
	}
	if err := query(); err != nil {
		t.Errorf("third query: %v", err)
	}
	if got := c.Counts(); got.Reads != 2 || got.Calls["RunQuery"] != 3 {
		t.Errorf("counts %+v, want 3 queries and 2 documents", got)
	}
}

// A killed instance does nothing any more, its neighbour lives on.
func TestKill(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kill       func(*testenv.Client) testenv.Fault
		wantStored bool
	}{
		"before the commit": {func(c *testenv.Client) testenv.Fault { return testenv.Fault{Method: "Commit", Before: c.Kill} }, false},
		"after the commit":  {func(c *testenv.Client) testenv.Fault { return testenv.Fault{Method: "Commit", After: c.Kill} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := testenv.New(t)
			victim, neighbour := env.Instance("victim"), env.Instance("neighbour")
			victim.Faults.Add(tt.kill(victim))
			if _, err := victim.Firestore.Doc("c/1").Set(t.Context(), map[string]any{"n": 1}); codeOf(err) != codes.Canceled {
				t.Errorf("Set: %v, want Canceled", err)
			}
			if got := exists(t, env, "c/1"); got != tt.wantStored {
				t.Errorf("stored = %v, want %v", got, tt.wantStored)
			}
			if _, err := victim.Firestore.Doc("c/1").Get(t.Context()); codeOf(err) != codes.Canceled {
				t.Errorf("Get of the dead: %v, want Canceled", err)
			}
			mustSet(t, neighbour, "c/2")
		})
	}
}

// A listener breaks when its instance dies.
func TestKillBreaksStreams(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	mustSet(t, env.Client, "c/1")
	c := env.Instance("victim")
	it := c.Firestore.Doc("c/1").Snapshots(t.Context())
	defer it.Stop()
	if _, err := it.Next(); err != nil {
		t.Fatal(err)
	}
	c.Kill()
	if _, err := it.Next(); codeOf(err) != codes.Canceled && !errors.Is(err, iterator.Done) {
		t.Errorf("listener of the dead: %v, want Canceled", err)
	}
}

// A message comes through a subscription made on demand.
func TestSubscription(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	name := env.Subscription("turns", "turns-turn")
	if again := env.Subscription("turns", "turns-turn"); again != name || name != "projects/"+env.ProjectID+"/subscriptions/turns-turn" {
		t.Errorf("names %q, %q", name, again)
	}
	mustPublish(t, env.Client, "turns")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var got string
	must(t, env.PubSub.Subscriber(name).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		got = string(m.Data)
		m.Ack()
		stop()
	}))
	if got != "look at s" {
		t.Errorf("received %q", got)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustSet(t *testing.T, c *testenv.Client, path string) {
	t.Helper()
	_, err := c.Firestore.Doc(path).Set(t.Context(), map[string]any{"n": 1})
	must(t, err)
}

func mustPublish(t *testing.T, c *testenv.Client, topic string) {
	t.Helper()
	p := c.PubSub.Publisher(topic)
	defer p.Stop()
	p.PublishSettings.DelayThreshold = time.Millisecond
	_, err := p.Publish(t.Context(), &pubsub.Message{Data: []byte("look at s")}).Get(t.Context())
	must(t, err)
}

func exists(t *testing.T, env *testenv.Env, path string) bool {
	t.Helper()
	_, err := env.Firestore.Doc(path).Get(t.Context())
	if err != nil && status.Code(err) != codes.NotFound {
		t.Fatal(err)
	}
	return err == nil
}

func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	default:
		return status.Code(err)
	}
}
