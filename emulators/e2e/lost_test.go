package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"kesoku.dev/emulators/e2e/invariant"
	"kesoku.dev/emulators/e2e/look"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/testenv"
)

// A commit happens, its answer is lost, and before its writer can ask what became of it, somebody else writes too. Each test names the commit
// and what comes in between.

// lose loses the answer to the nth commit of a function, after between has run. The SDK repeats the commit by itself where code is
// Unavailable, and then meets its own first try.
func lose(function string, nth int, code codes.Code, between func()) func(*world.Instance) {
	var once sync.Once
	return func(i *world.Instance) {
		if i.Function == function {
			once.Do(func() {
				i.Client.Faults.Add(testenv.Fault{Method: "Commit", Skip: nth - 1, Times: 1, After: between, Lose: code})
			})
		}
	}
}

// soon waits for something within a handler, which must not end the test. What it waits for is checked afterwards.
func soon(done func() bool) {
	for begun := time.Now(); !done() && time.Since(begun) < 10*time.Second; time.Sleep(5 * time.Millisecond) {
	}
}

func TestLostClaim(t *testing.T) { // cases B37, B38: the prompts of a claimed turn keep their place in it
	t.Parallel()
	for name, code := range map[string]codes.Code{"the SDK tries again": codes.Unavailable, "the SDK gives up": codes.DeadlineExceeded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world.World
			w = world.New(t, world.Options{OnStart: lose("turn", 1, code, func() {
				w.Post(world.Bo, world.Room, "@Kesoku hello from the second")
				soon(func() bool { return count(w, message.ClassUserPrompt) == 2 })
			})})
			w.PostAcked(world.Alice, world.Room, "@Kesoku hello from the first")
			w.Settle()
			invariant.Check(w)
			if replies := count(w, message.ClassFinalReply); replies != 2 {
				t.Errorf("%d replies, want one for each of the two turns:\n%s", replies, look.Table(w))
			}
		})
	}
}

func TestLostCardCommit(t *testing.T) { // case B72: a reply that comes meanwhile is not passed over
	t.Parallel()
	for name, nth := range map[string]int{"when the card is promised": 2, "when it is shown": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *world.World
			var release func()
			w = world.New(t, world.Options{OnStart: lose("deliver", nth, codes.DeadlineExceeded, func() {
				release()
				soon(func() bool { return count(w, message.ClassFinalReply) == 1 })
			})})
			release = w.Page.Hold()
			w.PostAcked(world.Alice, world.Room, "@Kesoku read "+w.PageURL("/one"))
			w.Settle()
			invariant.Check(w)
			if count(w, message.ClassFinalReply) != 1 {
				t.Errorf("no reply:\n%s", look.TranscriptOf(w, world.Room))
			}
		})
	}
}

// A claim that loses its race has read the session as it was. When it wins at its next attempt, what the winner wrote in between must not be
// missing from what the model is shown: it would forget, or answer again what is answered.
func TestLostRaceForClaim(t *testing.T) { // cases B32, B38
	t.Parallel()
	var w *world.World
	var once sync.Once
	var session string
	var asked atomic.Value // the model's last request
	w = world.New(t, world.Options{OnModel: record(&asked), OnStart: func(i *world.Instance) {
		if i.Function == "pipeline" { // the second prompt's own wake-up is slow, so that the first claim gets it
			i.Client.Faults.Add(testenv.Fault{Method: "Publish", Skip: 1, Times: 1, Delay: 500 * time.Millisecond})
		}
		if i.Function != "turn" {
			return
		}
		once.Do(func() {
			// The first claim waits before its commit until a second handler has finished the turn and another prompt has come.
			i.Client.Faults.Add(testenv.Fault{Method: "Commit", Times: 1, Before: func() {
				session = look.Sessions(w)[0].ID
				w.Publish(bus.TopicTurns, bus.Wake{Session: session})
				soon(func() bool { return count(w, message.ClassFinalReply) == 1 })
				w.Post(world.Bo, world.Room, "@Kesoku hello from the second.")
				soon(func() bool { return count(w, message.ClassUserPrompt) == 2 })
			}})
		})
	}})
	w.PostAcked(world.Alice, world.Room, "@Kesoku hello from the first.")
	w.Settle()
	invariant.Check(w)
	last, _ := asked.Load().(string)
	for _, text := range []string{"hello from the first.", "You wrote", "hello from the second."} {
		if !strings.Contains(last, text) {
			t.Errorf("the model was not shown %q:\n%s", text, last)
		}
	}
}

// record keeps the newest request.
func record(newest *atomic.Value) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			newest.Store(string(body))
			r.Body = io.NopCloser(bytes.NewReader(body))
			h.ServeHTTP(w, r)
		})
	}
}

// count counts the messages of a class in all sessions.
func count(w *world.World, class message.Class) int {
	n := 0
	for _, s := range look.Sessions(w) {
		for _, m := range look.Records(w, s.ID) {
			if m.Class() == class {
				n++
			}
		}
	}
	return n
}
