package scheduler_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"

	"kesoku.dev/emulators/scheduler"
	"kesoku.dev/shared/testenv"
)

// D3: what is due is published to its topic, with its data, until the scheduler is told to end.
func TestPublishes(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	sub := env.Subscription("sweeps", "sweeps-sub")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		// Shorter than the five fields can say, so that the test need not wait for a minute.
		ended <- scheduler.Run(ctx, env.Instance("scheduler").PubSub, []scheduler.Job{
			{Name: "sweep", Schedule: "@every 1s", Topic: "sweeps", Data: []byte(`{}`)},
			{Name: "yearly", Schedule: "0 0 1 1 *", TimeZone: "Asia/Tokyo", Topic: "sweeps", Data: []byte(`never`)},
		}, slog.New(slog.DiscardHandler))
	}()
	err := env.PubSub.Subscriber(sub).Receive(ctx, func(_ context.Context, m *pubsub.Message) {
		m.Ack()
		if string(m.Data) != `{}` {
			t.Errorf("published %q", m.Data)
		}
		cancel()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if n := env.Total().Published; n == 0 {
		t.Error("nothing was published")
	}
}

// A schedule or zone that is none is told at the start.
func TestBadJobs(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for name, j := range map[string]scheduler.Job{
		"schedule": {Name: "j", Schedule: "every now and then", Topic: "sweeps"},
		"zone":     {Name: "j", Schedule: "* * * * *", TimeZone: "Mars/Olympus", Topic: "sweeps"},
		"empty":    {Name: "j", Topic: "sweeps"},
	} {
		if err := scheduler.Run(t.Context(), env.PubSub, []scheduler.Job{j}, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: %+v was taken", name, j)
		}
	}
}
