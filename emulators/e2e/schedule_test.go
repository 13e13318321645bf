package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"

	"kesoku.dev/emulators/bridge"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/googlechat/fault"
	"kesoku.dev/emulators/googlechat/hook"
	"kesoku.dev/emulators/googlechat/wire"
	"kesoku.dev/shared/testenv"
)

// harm is something that befalls one call of one function.
type harm struct {
	Function string
	Method   string // of the RPC; "" is any
	Nth      int    // which of its calls, counted over all instances, from 1
	Kind     string // one of the kinds below
}

// The kinds of harm.
const (
	killBefore  = "kill before"   // the call never leaves
	killAfter   = "kill after"    // the call happens, nobody reads the answer
	terminate   = "terminate"     // SIGTERM while the call is made
	aborted     = "aborted"       // the database gives way to another
	unavailable = "unavailable"   // refused; the SDK tries again
	loseSoft    = "lose, retry"   // it happens, the answer is lost, and the SDK tries again
	loseHard    = "lose, give up" // it happens, the answer is lost, and the SDK does not try again
	stall       = "stall"         // the instance sleeps past its lease, others take over, and it comes back
)

var kinds = []string{killBefore, killAfter, terminate, aborted, unavailable, loseSoft, loseHard, stall}

// plan is everything that a seed decides.
type plan struct {
	Seed      uint64
	Interrupt bool
	Lines     []line
	Harms     []harm
	Chat      []fault.Fault
	Chaos     bridge.Chaos
	Settings  map[string]hook.Settings
	CutModel  int // the model request whose connection breaks, from 1; 0 is none
	Cron      int // how often a cron job's trigger comes
}

// line is one message.
type line struct {
	User, Space, Text string
	Acked             bool // wait for the webhook before the next
}

func planOf(seed uint64) plan {
	r := rand.New(rand.NewPCG(seed, 0x6b65736f6b75))
	p := plan{Seed: seed, Interrupt: r.IntN(4) == 0, Settings: map[string]hook.Settings{}}
	spaces := []string{world.Room, world.Tokyo, world.AliceDM}[:1+r.IntN(3)]
	for _, s := range spaces {
		p.Settings[s] = hook.Settings{
			Form: []wire.Form{wire.FormAddOn, wire.FormClassic}[r.IntN(2)], SpaceEvents: r.IntN(3) == 0, Copies: 1 + r.IntN(2), Retries: 4,
		}
	}
	for i := range 3 + r.IntN(6) {
		l := line{User: []string{world.Alice, world.Bo, world.Carol}[r.IntN(3)], Space: spaces[r.IntN(len(spaces))], Acked: r.IntN(3) > 0}
		if l.Space == world.AliceDM {
			l.User = world.Alice
		}
		l.Text = "@Kesoku " + say(r, seed, i)
		p.Lines = append(p.Lines, l)
	}
	for range 1 + r.IntN(4) {
		p.Harms = append(p.Harms, harmOf(r))
	}
	for range r.IntN(3) {
		kinds := []string{fault.Kind429, fault.Kind500, fault.Kind503, fault.KindDrop, fault.KindTimeoutAfterWrite}
		p.Chat = append(p.Chat, fault.Fault{Op: []string{"create", "patch"}[r.IntN(2)], Kind: kinds[r.IntN(len(kinds))], Times: 1 + r.IntN(2)})
	}
	p.Chaos = bridge.Chaos{Seed: seed, Duplicate: 0.3 * r.Float64(), Redeliver: 0.3 * r.Float64(), MaxDelay: time.Duration(r.IntN(30)) * time.Millisecond}
	if r.IntN(4) == 0 {
		p.CutModel = 1 + r.IntN(4)
	}
	if r.IntN(4) == 0 {
		p.Cron = 2 + r.IntN(2)
		h := harmOf(r)
		h.Function, h.Nth = "cron", 1+r.IntN(6)
		p.Harms = append(p.Harms, h)
	}
	return p
}

// say is a message: plain, with tools, or one that makes the model fail. PAGE stands for the address of the test's own pages.
func say(r *rand.Rand, seed uint64, i int) string {
	id := fmt.Sprintf("m%d-%d", seed, i)
	switch n := r.IntN(20); {
	case n < 8:
		return "hello from " + id
	case n < 14:
		return fmt.Sprintf("read PAGE/%s/a", id)
	case n < 16:
		return fmt.Sprintf("read PAGE/%[1]s/a and PAGE/%[1]s/b and tell me what time is it in Tokyo", id)
	case n < 17:
		return "remember that " + id
	default:
		return id + " fail with " + []string{"429", "empty", "malformed", "blocked"}[r.IntN(4)]
	}
}

func harmOf(r *rand.Rand) harm {
	h := harm{Nth: 1 + r.IntN(10), Kind: kinds[r.IntN(len(kinds))]}
	switch n := r.IntN(20); {
	case n < 9:
		h.Function = "turn"
	case n < 15:
		h.Function = "deliver"
	case n < 18:
		h.Function = "pipeline"
	default:
		h.Function = "googlechat"
	}
	h.Method = []string{"Commit", "Commit", "Commit", "Publish", "Publish", "BatchGetDocuments", ""}[r.IntN(7)]
	return h
}

func (p plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: interrupt %v, chaos %+v, cut model request %d, cron %d\n", p.Seed, p.Interrupt, p.Chaos, p.CutModel, p.Cron)
	for _, l := range p.Lines {
		fmt.Fprintf(&b, "  say   %+v\n", l)
	}
	for _, h := range p.Harms {
		fmt.Fprintf(&b, "  harm  %+v\n", h)
	}
	for _, f := range p.Chat {
		fmt.Fprintf(&b, "  chat  %+v\n", f)
	}
	for s, set := range p.Settings {
		fmt.Fprintf(&b, "  space %s %+v\n", s, set)
	}
	return b.String()
}

// inflictor arms the harms on each instance as it starts. A harm befalls one call, whichever instance makes it.
type inflictor struct {
	world *world.World
	harms []*pending
}

type pending struct {
	harm
	calls atomic.Int64
}

func newInflictor(harms []harm) *inflictor {
	in := &inflictor{}
	for _, h := range harms {
		in.harms = append(in.harms, &pending{harm: h})
	}
	return in
}

func (in *inflictor) arm(i *world.Instance) {
	for _, p := range in.harms {
		if p.Function != i.Function {
			continue
		}
		f := testenv.Fault{Method: p.Method, Match: func(any) bool { return p.calls.Add(1) == int64(p.Nth) }}
		switch p.Kind {
		case killBefore:
			f.Before = i.Kill
		case killAfter:
			f.After = i.Kill
		case terminate:
			f.Before = i.Terminate
		case aborted:
			f.Fail = codes.Aborted
		case unavailable:
			f.Fail = codes.Unavailable
		case loseSoft:
			f.Lose = codes.Unavailable
		case loseHard:
			f.Lose = codes.DeadlineExceeded
		case stall:
			f.Before = in.stall
		}
		i.Client.Faults.Add(f)
	}
}

// stall lets two leases' time pass and others take over before the call leaves.
func (in *inflictor) stall() {
	in.world.Clock.Advance(65 * time.Second)
	in.world.Clock.Advance(65 * time.Second)
	in.world.Sweep()
	time.Sleep(150 * time.Millisecond) // the instance under test sleeps, not the test
}

// cutModel breaks the connection of one request to the model.
func cutModel(nth int) func(http.Handler) http.Handler {
	var n atomic.Int64
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if n.Add(1) == int64(nth) {
				panic(http.ErrAbortHandler)
			}
			h.ServeHTTP(w, r)
		})
	}
}
