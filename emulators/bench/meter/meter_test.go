package meter_test

import (
	"context"
	"testing"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"kesoku.dev/emulators/bench/meter"
	"kesoku.dev/shared/testenv"
	"kesoku.dev/shared/testenv/emulator"
)

// clients are SDK clients of the test's project behind a meter.
func clients(t *testing.T, project string) (*meter.Meter, *firestore.Client, *pubsub.Client) {
	t.Helper()
	behind, err := emulator.Shared()
	if err != nil {
		t.Fatal(err)
	}
	m, err := meter.Start(t.Context(), behind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	dial := func(host string) option.ClientOption {
		conn, err := emulator.Dial(host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the meter goes next
		return option.WithGRPCConn(conn)
	}
	ctx := context.WithoutCancel(t.Context())
	fs, err := firestore.NewClient(ctx, project, dial(m.Pair.FirestoreHost))
	if err != nil {
		t.Fatal(err)
	}
	ps, err := pubsub.NewClient(ctx, project, dial(m.Pair.PubSubHost), option.WithTelemetryDisabled())
	if err != nil {
		t.Fatal(err)
	}
	return m, fs, ps
}

// Firestore is billed by documents; what fails is no more than a call, and its code arrives.
func TestFirestore(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	m, fs, _ := clients(t, env.ProjectID)
	ctx, things := t.Context(), fs.Collection("things")
	for _, step := range []struct {
		name          string
		do            func() error
		code          codes.Code
		reads, writes int
	}{
		{"create", func() error { _, err := things.Doc("one").Create(ctx, map[string]any{"n": 1}); return err }, codes.OK, 0, 1},
		{"create again", func() error { _, err := things.Doc("one").Create(ctx, map[string]any{"n": 1}); return err }, codes.AlreadyExists, 0, 0},
		{"get", func() error { _, err := things.Doc("one").Get(ctx); return err }, codes.OK, 1, 0},
		{"get missing", func() error { _, err := things.Doc("none").Get(ctx); return err }, codes.NotFound, 1, 0},
		{"transaction", func() error {
			return fs.RunTransaction(ctx, func(_ context.Context, tx *firestore.Transaction) error {
				for _, id := range []string{"two", "three"} {
					if err := tx.Create(things.Doc(id), map[string]any{"n": 2}); err != nil {
						return err
					}
				}
				return nil
			})
		}, codes.OK, 0, 2},
		{"query", func() error { _, err := things.Where("n", "==", 2).Documents(ctx).GetAll(); return err }, codes.OK, 2, 0},
		{"empty query", func() error { _, err := things.Where("n", "==", 3).Documents(ctx).GetAll(); return err }, codes.OK, 0, 0},
	} {
		before := m.Counts()
		err := step.do()
		if status.Code(err) != step.code {
			t.Errorf("%s: %v, want code %s", step.name, err, step.code)
		}
		if n := m.Counts().Minus(before); n.Reads != step.reads || n.Writes != step.writes || n.Published != 0 {
			t.Errorf("%s: %+v, want %d reads and %d writes", step.name, n, step.reads, step.writes)
		}
	}
	if n := m.Counts().Calls["Commit"]; n < 3 {
		t.Errorf("%d commits counted by name", n)
	}
}

// Pub/Sub is counted by messages, and its long streams pass.
func TestPubSub(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	sub := env.Subscription("turns", "turns-look")
	m, _, ps := clients(t, env.ProjectID)
	ctx, done := context.WithCancel(t.Context())
	defer done()
	topic := ps.Publisher("turns")
	for range 3 {
		if _, err := topic.Publish(ctx, &pubsub.Message{Data: []byte("x")}).Get(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if n := m.Counts().Published; n != 3 {
		t.Errorf("%d messages counted, want 3", n)
	}
	got := make(chan struct{}, 10)
	go func() {
		for range 3 {
			<-got
		}
		done()
	}()
	if err := ps.Subscriber(sub).Receive(ctx, func(_ context.Context, msg *pubsub.Message) {
		msg.Ack()
		got <- struct{}{}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := ps.Publisher("nosuch").Publish(t.Context(), &pubsub.Message{Data: []byte("x")}).Get(t.Context()); status.Code(err) != codes.NotFound {
		t.Errorf("publish to a missing topic: %v", err)
	}
	if n := m.Counts().Published; n != 3 {
		t.Errorf("%d messages counted after a failed publish, want 3", n)
	}
}
