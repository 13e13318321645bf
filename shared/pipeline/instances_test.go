package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/testenv"
)

// everything uses all that is remembered of a route: cooldown, the room's liveliness with its lots, the judge's budget, other bots.
const everything = `
chat:
  model: gemini:flash
  activation:
    use: [rule, activity, judge]
    msgCooldown: 4
    activity: {threshold: 0.01, frequency: 0}
    judge: {minInterval: 0, dailyBudget: 4}
models: {decide: "gemini:small"}
`

// busy is a room of four people and a bot, of whom somebody addresses the bot now and then.
func busy(r *room) []chat.Event {
	var all []chat.Event
	for i := range 48 {
		e := r.chatter([]string{"Ann", "Bo", "Cy", "Dee"}[i%4], fmt.Sprint("message ", i, strings.Repeat("?", i%3)))
		e.AtMe = i == 5
		if i%7 == 3 && i < 30 {
			e.Sender, e.AtMe = chat.Sender{ID: "users/bot", Name: "Bot", Type: chat.SenderBot}, true
		}
		all = append(all, e)
	}
	return all
}

// decisions are what became of each event, and what is remembered of the route.
func (r *room) decisions(t *testing.T, keys []string) string {
	t.Helper()
	var out strings.Builder
	for _, key := range keys {
		e := r.event(t, key)
		fmt.Fprintf(&out, "%s: %s %s by %s, %s, urge %.3f, judged %v\n", e.Text, e.Decision.Effect, e.Decision.Reason, e.Decision.By, e.Outcome, e.Decision.Urge, e.Verdict != nil)
	}
	m, err := r.store.Route(t.Context(), "googlechat:spaces/A")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "woken %v, judge spent %d, claimed %v, lift %.3f, peers %v\n", m.WokenAt, m.Judge.Spent, m.Room.ClaimedAt, m.Room.Lift, m.Peers)
	return out.String()
}

// P4, P6, P7, P8, cases B2, B26, B38: two instances that are fed the same route at once, with duplicates, in any order, while the database aborts
// and loses answers, decide, cool down and spend as one does that is fed in order.
func TestTwoInstancesAreOne(t *testing.T) {
	t.Parallel()
	decide := func(q judge.Question) judge.Answer {
		return judge.Answer{Speak: strings.HasSuffix(q.Lines[len(q.Lines)-1].Text, "??"), Urge: 0.9}
	}
	one := newRoom(t, everything)
	one.judge.decide = decide
	var keys []string
	for _, e := range busy(one) {
		keys = append(keys, one.tell(t, e))
	}
	want := one.decisions(t, keys)
	if !strings.Contains(want, "wake at") || !strings.Contains(want, "observe cooldown") || !strings.Contains(want, "wake judge") || !strings.Contains(want, "bot_loop") || strings.Contains(want, "claimed 0001") {
		t.Fatalf("the room does not show what it should:\n%s", want)
	}

	two := newRoom(t, everything)
	two.judge.decide = decide
	workers := []*worker{two.worker, two.hire(t, "pipeline-2")}
	var wakes []bus.Inbound
	for _, e := range busy(two) {
		wakes = append(wakes, two.put(t, e))
	}
	for _, w := range workers {
		w.client.Faults.Add(testenv.Fault{Method: "Commit", Skip: 3, Times: 6, Fail: codes.Aborted})
		w.client.Faults.Add(testenv.Fault{Method: "Commit", Skip: 20, Times: 4, Lose: codes.Unavailable})
		w.client.Faults.Add(testenv.Fault{Method: "RunQuery", Skip: 11, Times: 2, Fail: codes.Unavailable})
	}
	var running sync.WaitGroup
	for i, w := range workers {
		order := rand.New(rand.NewPCG(uint64(i), 7)).Perm(len(wakes))
		running.Go(func() {
			for n, at := range order {
				for _, wake := range []bus.Inbound{wakes[at], wakes[order[n/2]]} { // a duplicate of an earlier one
					persist(t, w, wake)
				}
			}
		})
	}
	running.Wait()
	if diff := cmp.Diff(want, two.decisions(t, keys)); diff != "" {
		t.Errorf("two instances differ from one:\n%s", diff)
	}
	if a, b := contents(one.messages(t)), contents(two.messages(t)); cmp.Diff(a, b) != "" {
		t.Errorf("prompts:\n%s", cmp.Diff(a, b))
	}
}

// persist delivers a wake-up until it is acked.
func persist(t *testing.T, w *worker, wake bus.Inbound) {
	t.Helper()
	var err error
	for range 40 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err = w.Handle(ctx, wake, bus.Delivery{})
		cancel()
		if err == nil {
			return
		}
	}
	t.Errorf("wake-up of %s is never acked: %v", wake.Event, err)
}

// P9: what wakes nobody costs no write beyond its event's where the route does not listen, and at most one more where the room's liveliness counts.
func TestQuietWrites(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kesoku        string
		writes, reads int
	}{
		"observe off": {served, 1, 1},
		"activity":    {"chat: {model: 'gemini:flash', activation: {use: [rule, activity]}}", 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRoom(t, tt.kesoku)
			r.tell(t, r.chatter("Ann", "first"))
			wake := r.put(t, r.chatter("Bo", "nothing"))
			before := r.client.Counts()
			if err := r.Handle(t.Context(), wake, bus.Delivery{}); err != nil {
				t.Fatal(err)
			}
			spent := r.client.Counts().Minus(before)
			if spent.Writes != tt.writes || spent.Reads > tt.reads || spent.Published != 0 {
				t.Errorf("spent %+v, want %d writes and %d reads", spent, tt.writes, tt.reads)
			}
		})
	}
}
