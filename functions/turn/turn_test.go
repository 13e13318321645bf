package turn_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"kesoku.dev/functions/turn"
	"kesoku.dev/shared/boot"
	"kesoku.dev/shared/boot/boottest"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/testenv"
)

func base(t *testing.T, env *testenv.Env) *boot.Base {
	t.Helper()
	return boottest.Base(t, env, env.Instance("turn"), clock.System{}, slog.New(slog.DiscardHandler))
}

// The function starts on a key or on Vertex, and says which of its variables is wrong.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	b := base(t, testenv.New(t))
	for name, tt := range map[string]struct {
		vars map[string]string
		want string // empty for a good start
	}{
		"key":            {map[string]string{"GEMINI_API_KEY": "k", "TURN_CHECKPOINT": "60s", "FETCH_ALLOW": "127.0.0.1:80 [::1]:8080"}, ""},
		"nothing":        {nil, "GEMINI_API_KEY"},
		"project alone":  {map[string]string{"VERTEX_PROJECT": "p"}, "ocation"},
		"base no URL":    {map[string]string{"GEMINI_API_KEY": "k", "GEMINI_BASE_URL": "gemini"}, "GEMINI_BASE_URL"},
		"checkpoint":     {map[string]string{"GEMINI_API_KEY": "k", "TURN_CHECKPOINT": "480"}, "TURN_CHECKPOINT"},
		"allowed a name": {map[string]string{"GEMINI_API_KEY": "k", "FETCH_ALLOW": "localhost:80"}, "FETCH_ALLOW"},
		"allowed a host": {map[string]string{"GEMINI_API_KEY": "k", "FETCH_ALLOW": "127.0.0.1"}, "FETCH_ALLOW"},
	} {
		v := boot.VarsOf(tt.vars)
		_, err := turn.New(t.Context(), b, v)
		err = errors.Join(v.Err(), err) // as boot does
		if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q named", name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), `"k"`) {
			t.Errorf("%s: %v shows the key", name, err)
		}
	}
}

// case B41: a wake-up for nothing is recorded and acked.
func TestWakeForNothing(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	handle, err := turn.New(t.Context(), base(t, env), boot.VarsOf(map[string]string{"GEMINI_API_KEY": "k"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := handle(t.Context(), boottest.Wake(t, bus.TopicTurns, bus.Wake{Session: "gone"})); err != nil || boottest.DeadLetters(t, env) != 1 {
		t.Errorf("%v, %d dead letters", err, boottest.DeadLetters(t, env))
	}
}
