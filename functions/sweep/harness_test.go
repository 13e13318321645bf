package sweep_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2"

	"kesoku.dev/functions/sweep"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
)

var start = time.Date(2026, 5, 27, 9, 0, 0, 0, time.UTC)

// instance is one copy of the function with a connection of its own.
type instance struct {
	*boottest.Ear
	client *testenv.Client
	handle func(context.Context, cloudevents.Event) error
}

func newInstance(t *testing.T, env *testenv.Env, name string, now clock.Clock) *instance {
	t.Helper()
	i := &instance{client: env.Instance(name)}
	var err error
	if i.handle, err = sweep.New(t.Context(), base(t, env, i.client, now), boot.VarsOf(nil)); err != nil {
		t.Fatal(err)
	}
	i.Ear = boottest.Listen(i.client)
	return i
}

func base(t *testing.T, env *testenv.Env, c *testenv.Client, now clock.Clock) *boot.Base {
	t.Helper()
	return boottest.Base(t, env, c, now, slog.New(slog.DiscardHandler))
}

func pushed(t *testing.T, id, data string, at time.Time) cloudevents.Event {
	t.Helper()
	return boottest.Push(t, bus.TopicSweeps, id, []byte(data), at)
}
