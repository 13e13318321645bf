package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"kesoku.dev/emulators/e2e/invariant"
	"kesoku.dev/emulators/e2e/look"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/shared/message"
)

// Kill the function that makes the k-th call, before the call leaves and after it happened, for every k of a turn with one tool.
// The conversation still ends with one reply, and the tool has not run twice.
func TestKillAtEveryCall(t *testing.T) { // L5, A5, cases B31, B33, B37, B47
	t.Parallel()
	var all []harm
	for _, function := range []string{"turn", "deliver", "pipeline", "googlechat"} {
		for k := range callsOf(t, function) {
			all = append(all, harm{Function: function, Nth: k + 1, Kind: killBefore}, harm{Function: function, Nth: k + 1, Kind: killAfter})
		}
	}
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = fmt.Sprintf("%s, call %d, %s", h.Function, h.Nth, h.Kind)
	}
	each(t, names, func(t *testing.T, i int) {
		in := newInflictor(all[i : i+1])
		w := world.New(t, world.Options{OnStart: in.arm})
		in.world = w
		oneToolTurn(t, w)
	})
}

// callsOf counts a function's calls in one undisturbed turn.
func callsOf(t *testing.T, function string) int {
	t.Helper()
	n := 0
	t.Run("count "+function, func(t *testing.T) {
		w := world.New(t, world.Options{})
		oneToolTurn(t, w)
		i, err := w.Instance(t.Context(), function)
		if err != nil {
			t.Fatal(err)
		}
		for _, calls := range i.Client.Counts().Calls {
			n += calls
		}
	})
	if n < 2 {
		t.Fatalf("%s makes %d calls: nothing to break", function, n)
	}
	return n
}

// oneToolTurn has one message answered with the help of one tool and checks how it ended.
func oneToolTurn(t *testing.T, w *world.World) {
	t.Helper()
	if err := w.Chat.Configure(world.Room, reliable); err != nil {
		t.Fatal(err)
	}
	w.Post(world.Alice, world.Room, "@Kesoku read "+w.PageURL("/one"))
	w.Settle()
	invariant.Check(w)
	replies, results := 0, 0
	for _, s := range look.Sessions(w) {
		for _, m := range look.Records(w, s.ID) {
			if m.Class() == message.ClassFinalReply {
				replies++
			}
			if m.Class() == message.ClassToolResult && !m.Metadata.ToolFailed {
				results++
			}
		}
	}
	if replies != 1 || results > w.Page.Hits()["/one"] {
		t.Errorf("%d replies, %d good results, page read %v times\n%s", replies, results, w.Page.Hits(), look.Table(w))
	}
}

// The same at the edges that are no calls of ours to Google's databases: before and after each call of the Chat API, the model and a tool.
func TestKillAroundOutsideCalls(t *testing.T) { // case B69
	t.Parallel()
	type cut struct {
		where, function string
		nth             int64
		after           bool
	}
	var all []cut
	for _, c := range []cut{{where: "chat", function: "deliver"}, {where: "model", function: "turn"}} {
		for nth := range int64(3) {
			for _, after := range []bool{false, true} {
				all = append(all, cut{c.where, c.function, nth + 1, after})
			}
		}
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = fmt.Sprintf("%s call %d, after %v", c.where, c.nth, c.after)
	}
	each(t, names, func(t *testing.T, i int) {
		c := all[i]
		var w *world.World
		var calls atomic.Int64
		kill := func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/certs/") || calls.Add(1) != c.nth {
					h.ServeHTTP(rw, r)
					return
				}
				if c.after {
					h.ServeHTTP(discard{http.Header{}}, r)
				}
				if i, err := w.Instance(r.Context(), c.function); err == nil {
					i.Kill()
				}
				panic(http.ErrAbortHandler)
			})
		}
		o := world.Options{}
		if c.where == "chat" {
			o.OnChat = kill
		} else {
			o.OnModel = kill
		}
		w = world.New(t, o)
		oneToolTurn(t, w)
	})
}

// discard is a response that nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}
