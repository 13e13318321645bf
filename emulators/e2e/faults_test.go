package e2e_test

import (
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"kesoku.dev/emulators/e2e/invariant"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/shared/message"
)

var (
	oneSeed = flag.Uint64("seed", 0, "replay this seed of TestFaults alone")
	seeds   = flag.Uint64("seeds", 24, "how many seeds TestFaults runs")
)

// atOnce is how many worlds live at the same time. They wait more than they compute.
const atOnce = 6

// Whatever is killed, delayed, doubled, reordered or refused, every prompt ends once, every reply stands once, no tool runs
// twice and nobody waits. A failing seed prints its schedule; -seed=N plays it again, -seeds=N plays the first N.
func TestFaults(t *testing.T) { // cases B1, B2, B31, B32, B33, B37, B38, B42, B44, B69
	t.Parallel()
	if *oneSeed > 0 {
		t.Run(fmt.Sprint(*oneSeed), func(t *testing.T) { suffer(t, planOf(*oneSeed)) })
		return
	}
	names := make([]string, *seeds)
	for i := range names {
		names[i] = fmt.Sprint(i + 1)
	}
	each(t, names, func(t *testing.T, i int) { suffer(t, planOf(uint64(i)+1)) }) //nolint:gosec // an index is not negative
}

// each runs a subtest for each name, several at once: t.Parallel would run as many as there are processors, which is too few.
func each(t *testing.T, names []string, run func(t *testing.T, i int)) {
	t.Helper()
	next := make(chan int)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for i := range next {
				t.Run(names[i], func(t *testing.T) { run(t, i) })
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	workers.Wait()
}

func suffer(t *testing.T, p plan) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("replay with: go test ./emulators/e2e -run TestFaults -seed=%d\n%s", p.Seed, p)
		}
	})
	in := newInflictor(p.Harms)
	o := world.Options{Chaos: p.Chaos, OnStart: in.arm, OnModel: cutModel(p.CutModel), Config: world.DefaultConfig()}
	o.Config["cronjobs.yaml"] = dailyJob
	if merge := p.merge(); merge != "" {
		o.Config["kesoku.yaml"] += "  merge: {" + merge + "}\n"
	}
	w := world.New(t, o)
	in.world = w
	for space, set := range p.Settings {
		if err := w.Chat.Configure(space, set); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range p.Chat {
		if err := w.Chat.Inject(f); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range p.Lines {
		text := strings.ReplaceAll(l.Text, "PAGE", w.PageURL(""))
		if l.Acked {
			w.PostAcked(l.User, l.Space, text)
		} else {
			w.Post(l.User, l.Space, text)
		}
	}
	for range p.Cron {
		w.Cron("daily")
	}
	w.Settle()
	invariant.Check(w)
	if fired := count(w, message.ClassCronPrompt); fired != min(p.Cron, 1) {
		t.Errorf("the job was triggered %d times and fired %d times", p.Cron, fired)
	}
}

// merge is how the plan's route merges: every fourth one waits for a pause in the burst.
func (p plan) merge() string {
	var all []string
	if p.Interrupt {
		all = append(all, "interrupt: true")
	}
	if p.Seed%4 == 0 {
		all = append(all, "mode: settle", "quiet: 500", "max: 3000")
	}
	return strings.Join(all, ", ")
}

// dailyJob is due once a day, so all triggers of one run mean the same firing.
const dailyJob = "jobs:\n  - name: daily\n    schedule: \"0 0 * * *\"\n    prompt: hello from the clock\n    chatbot_id: googlechat\n    channel_id: " + world.Room + "\n"
