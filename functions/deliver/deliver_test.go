package deliver_test

import (
	"log/slog"
	"strings"
	"testing"

	"kesoku.dev/functions/deliver"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
)

func base(t *testing.T, env *testenv.Env) *boot.Base {
	t.Helper()
	return boottest.Base(t, env, env.Instance("deliver"), clock.System{}, slog.New(slog.DiscardHandler))
}

// Endpoints come from the environment, and one that is none is told.
func TestEnvironment(t *testing.T) {
	boottest.Credentials(t)
	b := base(t, testenv.New(t))
	for _, name := range []string{"CHAT_ENDPOINT", "CHAT_ACTION_URL"} {
		vars := map[string]string{"CHAT_ENDPOINT": "http://127.0.0.1:1/"}
		vars[name] = "chat.example"
		v := boot.VarsOf(vars)
		_, err := deliver.New(t.Context(), b, v)
		if all := v.Err(); all == nil || !strings.Contains(all.Error(), name) {
			t.Errorf("%s: %v, %v; want it named", name, err, all)
		}
	}
}

// case B41: a wake-up for nothing is recorded and acked.
func TestWakeForNothing(t *testing.T) {
	boottest.Credentials(t)
	env := testenv.New(t)
	handle, err := deliver.New(t.Context(), base(t, env), boot.VarsOf(map[string]string{"CHAT_ENDPOINT": "http://127.0.0.1:1/"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := handle(t.Context(), boottest.Wake(t, bus.TopicDeliveries, bus.Wake{Session: "gone"})); err != nil || boottest.DeadLetters(t, env) != 1 {
		t.Errorf("%v, %d dead letters", err, boottest.DeadLetters(t, env))
	}
}
