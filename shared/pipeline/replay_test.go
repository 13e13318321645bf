package pipeline_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/bus"
	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/clock"
	"kesoku.dev/shared/pipeline/flow"
	"kesoku.dev/shared/pipeline/judge"
	"kesoku.dev/shared/session"
)

var update = flag.Bool("update", false, "write the golden files anew")

// errWaits is told instead of sleeping: the test delivers the wake-up again when the sleep would be over.
var errWaits = errors.New("would sleep")

// stopwatch is a clock on which nobody sleeps.
type stopwatch struct {
	*clock.Manual
	until *time.Time
}

func (s stopwatch) Sleep(_ context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	*s.until = s.Now().Add(d)
	return errWaits
}

// wakeup is a delivery that is due.
type wakeup struct {
	at   time.Time
	wake bus.Inbound
}

// replayed is a recorded conversation being played to one instance, in its own time.
type replayed struct {
	*room
	until time.Time
	due   []wakeup
	keys  []string
}

// play delivers what is due up to a time, and again what would have waited.
func (p *replayed) play(t *testing.T, until time.Time) {
	t.Helper()
	for len(p.due) > 0 && !p.due[0].at.After(until) {
		next := p.due[0]
		p.due = p.due[1:]
		p.now.Advance(max(0, next.at.Sub(p.now.Now())))
		err := p.Handle(t.Context(), next.wake, bus.Delivery{})
		switch {
		case errors.Is(err, errWaits):
			p.deliver(wakeup{p.until, next.wake})
		case err != nil:
			t.Fatal(err)
		}
		for _, woken := range p.wakes.take() {
			p.answer(t, strings.TrimPrefix(woken, "turns "))
		}
	}
	p.now.Advance(max(0, until.Sub(p.now.Now())))
}

// answer drains the session's inbox as a turn does.
func (p *replayed) answer(t *testing.T, id string) {
	t.Helper()
	_, err := p.store.Session(id).Change(t.Context(), func(d *session.Draft) error {
		if d.ClaimTurn(session.Claimant{Holder: "h", EventID: "e"}, p.now.Now()) == session.VerdictClaimed {
			d.Begin(p.now.Now())
			d.End(p.now.Now())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (p *replayed) deliver(w wakeup) {
	p.due = append(p.due, w)
	slices.SortStableFunc(p.due, func(a, b wakeup) int { return a.at.Compare(b.at) })
}

var line = regexp.MustCompile(`^(\d+) (\w+): (?:(#) )?(?:([@>]) ?)?(.*)$`)

// recorded reads a conversation.
func recorded(t *testing.T) []chat.Event {
	t.Helper()
	text, err := os.ReadFile("testdata/room.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []chat.Event
	at := start
	for raw := range strings.Lines(string(text)) {
		if strings.HasPrefix(raw, "#") {
			continue
		}
		m := line.FindStringSubmatch(strings.TrimSpace(raw))
		if m == nil {
			t.Fatalf("line %q", raw)
		}
		seconds, _ := strconv.Atoi(m[1])
		at = at.Add(time.Duration(seconds) * time.Second)
		e := chat.Event{
			Platform: "googlechat", Kind: chat.KindMessage, MessageID: fmt.Sprint("spaces/A/messages/", len(all)), ChannelID: "spaces/A", Text: m[5], At: at,
			Sender: chat.Sender{ID: "users/" + m[2], Name: m[2], Type: chat.SenderHuman}, AtMe: m[4] == "@", QuoteMe: m[4] == ">",
		}
		if m[3] != "" {
			e.Sender.Type = chat.SenderBot
		}
		all = append(all, e)
	}
	return all
}

// replay plays the conversation and returns one line for each message: who, what was decided and what became of it.
func replay(t *testing.T, kesoku string) string {
	t.Helper()
	p := &replayed{room: newRoom(t, kesoku)}
	p.worker = p.hireOn(t, "replay", stopwatch{p.now, &p.until})
	p.judge.decide = func(q judge.Question) judge.Answer {
		last := q.Lines[len(q.Lines)-1].Text
		return judge.Answer{Speak: strings.HasSuffix(last, "?"), Urge: min(1, float64(len(last))/40), Wait: 4 * time.Second, Reason: "by length"}
	}
	all := recorded(t)
	for _, e := range all {
		p.play(t, e.At)
		wake := p.put(t, e)
		p.keys = append(p.keys, wake.Event)
		p.deliver(wakeup{e.At, wake})
	}
	p.play(t, all[len(all)-1].At.Add(time.Hour))
	var out strings.Builder
	for i, key := range p.keys {
		e := p.event(t, key)
		d := e.Decision
		fmt.Fprintf(&out, "%-8s %-6s %-8s %-10s %-8s", e.At.Sub(start).Round(time.Second), e.Sender.Name, d.Effect, d.Reason, d.By)
		if d.Threshold > 0 {
			fmt.Fprintf(&out, " %.2f/%.2f", d.Urge, d.Threshold)
		} else {
			out.WriteString("          ")
		}
		if e.Outcome != flow.OutcomeIgnored {
			fmt.Fprintf(&out, " %s", e.Outcome)
		}
		fmt.Fprintf(&out, " | %s\n", all[i].Text)
	}
	return out.String()
}

// P4 to P10: a recorded conversation of 200 messages by six people and two bots is decided on the same way every time, under several settings.
func TestReplay(t *testing.T) {
	t.Parallel()
	for name, kesoku := range map[string]string{
		"addressed": "chat: {model: 'gemini:flash', activation: {nicknames: [kesoku]}}",
		"settled":   "chat: {model: 'gemini:flash', merge: {mode: settle}, observe: {mode: quiet}, activation: {nicknames: [kesoku], msgCooldown: 30}}",
		"lively":    "chat: {model: 'gemini:flash', activation: {use: [rule, activity], nicknames: [kesoku], activity: {interests: [index, disk]}}}",
		"judged":    "chat: {model: 'gemini:flash', activation: {use: [rule, judge], nicknames: [kesoku]}}\nmodels: {decide: 'gemini:small'}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := replay(t, kesoku)
			golden := "testdata/replay." + name + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("decisions (-want +got; -update writes them anew):\n%s", diff)
			}
		})
	}
}
