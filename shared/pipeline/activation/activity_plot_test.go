package activation_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/pipeline/activation"
	"kesoku.dev/shared/urge"
)

var update = flag.Bool("update", false, "rewrite docs/activity.svg")

// recordings are the plotted conversations, in the order of the plot, and the seconds at which the decider woke or lost its lot.
var recordings = []struct {
	name       string
	woke, lost []float64
}{
	{name: "lull", woke: []float64{140}}, {name: "heated", woke: []float64{168}, lost: []float64{35, 65}}, {name: "monologue"}, {name: "bots"},
}

// answering is how long the bot takes from a wake to its message in a recording: the pause of a burst, and a turn.
const answering = 6 * time.Second

// recording is a conversation as it was written down in testdata.
type recording struct {
	title    string
	settings config.Activation
	events   []*chat.Event
}

// load reads a recording: lines of comments (#), of settings, and of messages as "mm:ss sender text", a bot's name with an asterisk.
func load(t *testing.T, name string) recording {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "activity", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	r := recording{settings: config.DefaultRoute().Activation}
	for line := range strings.Lines(string(text)) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "#":
		case "title":
			r.title = rest
		case "frequency":
			if r.settings.Activity.Frequency, err = strconv.ParseFloat(rest, 64); err != nil {
				t.Fatal(err)
			}
		case "nicknames":
			r.settings.Nicknames = strings.Fields(rest)
		case "interests":
			r.settings.Activity.Interests = strings.Fields(rest)
		default:
			at, err := time.ParseDuration(strings.Replace(key, ":", "m", 1) + "s")
			if err != nil {
				t.Fatalf("%s: %q: %v", name, line, err)
			}
			who, words, _ := strings.Cut(rest, " ")
			e := said(at.Seconds(), who, words)
			if strings.HasSuffix(who, "*") {
				e.Sender.Type = chat.SenderBot
			}
			r.events = append(r.events, e)
		}
	}
	return r
}

// point is the state of a room at some second, and what happened there.
type point struct {
	at, urge, threshold float64
	mark                string // wake, lost, person, bot, own, or empty
}

// play lets the rule and the activity decider hear a recording, with answers of the bot's own, and samples the room once a second.
func play(r recording) []point {
	room, dice := &urge.Room{}, rand.New(rand.NewPCG(1, 2)) // dice that fall the same way each time
	base := r.settings.Activity.Threshold
	var points []point
	add := func(at time.Time, mark string, s urge.Reading) {
		points = append(points, point{at.Sub(nine).Seconds(), s.Urge, s.Threshold, mark})
	}
	queue := slices.Clone(r.events)
	end := queue[len(queue)-1].At.Add(20 * time.Second)
	for now := nine; now.Before(end); now = now.Add(time.Second) {
		for len(queue) > 0 && queue[0].At.Before(now.Add(time.Second)) {
			e := queue[0]
			queue = queue[1:]
			claimed, mark := room.ClaimedAt, "person"
			_, reading, woke := activation.Activity{}.Decide(e, r.settings, room, dice.Float64())
			asked := activation.Rule{}.Decide(e, r.settings).Effect == chat.EffectWake
			switch {
			case e.Sender.Self:
				mark = "own"
			case e.Sender.Type != chat.SenderHuman:
				mark = "bot"
			case woke:
				mark = "wake"
			case room.ClaimedAt != claimed:
				mark = "lost"
			}
			if reading == (urge.Reading{}) {
				reading = room.Clone().Score(e.At, 0, base)
			}
			add(e.At, mark, reading)
			if woke || asked {
				answer := said(e.At.Add(answering).Sub(nine).Seconds(), "kesoku", "…")
				answer.Sender = chat.Sender{ID: "kesoku", Type: chat.SenderBot, Self: true}
				queue = append(queue, answer)
				slices.SortStableFunc(queue, func(a, b *chat.Event) int { return a.At.Compare(b.At) })
			}
		}
		add(now.Add(time.Second), "", room.Clone().Score(now.Add(time.Second), 0, base))
	}
	return points
}

// P7: recorded conversations: where the decider speaks up and where it keeps still; docs/activity.svg shows them as they are.
func TestRecordings(t *testing.T) {
	t.Parallel()
	var panels []panel
	for _, want := range recordings {
		r := load(t, want.name)
		points := play(r)
		var woke, lost []float64
		for _, p := range points {
			switch p.mark {
			case "wake":
				woke = append(woke, p.at)
			case "lost":
				lost = append(lost, p.at)
			}
		}
		if !slices.Equal(woke, want.woke) || !slices.Equal(lost, want.lost) {
			t.Errorf("%s: woke at %v, lost its lot at %v; want %v and %v", want.name, woke, lost, want.woke, want.lost)
		}
		panels = append(panels, panel{r.title, points})
	}
	const path = "../../../docs/activity.svg"
	got := draw(panels)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/activity.svg is not what the recordings make of it; run the tests of this package with -update")
	}
}

// Measures of the plot, in pixels.
const (
	left, right, top  = 52, 20, 64
	plotWidth, height = 700, 110
	strip, between    = 34, 44
	seconds           = 300
)

type panel struct {
	title  string
	points []point
}

// The plot has its own ground, so that it can be read on any page, and a dark dress for dark ones.
const style = `<style>
:root{--ground:#ffffff;--ink:#1f2328;--faint:#d0d7de;--soft:#59636e;--urge:#0969da;--threshold:#bc4c00;--wake:#1a7f37;--lost:#cf222e}
@media(prefers-color-scheme:dark){:root{--ground:#0d1117;--ink:#e6edf3;--faint:#30363d;--soft:#9198a1;--urge:#4493f8;--threshold:#f0883e;--wake:#3fb950;--lost:#f85149}}
text{font:12px system-ui,sans-serif;fill:var(--soft)} .title{font-weight:600;font-size:14px;fill:var(--ink)}
.ground{fill:var(--ground);stroke:var(--faint)} .grid{stroke:var(--faint)} .urge{fill:none;stroke:var(--urge);stroke-width:2}
.threshold{fill:none;stroke:var(--threshold);stroke-width:1.5;stroke-dasharray:5 3} .wake{fill:var(--wake);stroke:var(--ground)}
.lost{fill:var(--ground);stroke:var(--lost);stroke-width:2} .person{stroke:var(--soft);stroke-width:1.5} .bot{stroke:var(--threshold);stroke-width:1.5}
.own{stroke:var(--wake);stroke-width:3}
</style>
`

func draw(panels []panel) string {
	var b strings.Builder
	w, h := left+plotWidth+right, top+len(panels)*(height+strip+between)
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", w, h, w, h)
	b.WriteString("<title>Urge and threshold over four recorded conversations</title>\n" + style)
	fmt.Fprintf(&b, `<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="6"/>`+"\n", w-1, h-1)
	b.WriteString(legend)
	for i, p := range panels {
		fmt.Fprintf(&b, `<g transform="translate(%d %d)">`+"\n", left, top+i*(height+strip+between))
		p.draw(&b)
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

const legend = `<g transform="translate(52 22)">
<path class="urge" d="M0 -4h24"/><text x="30">urge</text><path class="threshold" d="M76 -4h24"/><text x="106">threshold</text>
<circle class="wake" cx="184" cy="-4" r="5"/><text x="194">speaks up</text><circle class="lost" cx="272" cy="-4" r="4"/><text x="282">loses its lot</text>
<path class="person" d="M372 -9v10"/><text x="380">person</text><path class="bot" d="M440 -9v10"/><text x="448">other bot</text>
<path class="own" d="M522 -9v10"/><text x="530">own message</text>
</g>
`

func x(at float64) float64   { return at / seconds * plotWidth }
func y(level float64) string { return fmt.Sprintf("%.1f", height*(1-level)) }

func (p panel) draw(b *strings.Builder) {
	fmt.Fprintf(b, `<text class="title" x="0" y="-10">%s</text>`+"\n", p.title)
	for _, level := range []float64{0, 0.5, 1} {
		fmt.Fprintf(b, `<path class="grid" d="M0 %s h%d"/><text x="-8" y="%s" text-anchor="end" dy="4">%.1f</text>`+"\n", y(level), plotWidth, y(level), level)
	}
	for minute := range seconds/60 + 1 {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d:00</text>`+"\n", x(float64(60*minute)), height+strip, minute)
	}
	for _, line := range []struct {
		class string
		level func(point) float64
	}{{"threshold", func(p point) float64 { return p.threshold }}, {"urge", func(p point) float64 { return p.urge }}} {
		fmt.Fprintf(b, `<polyline class="%s" points="`, line.class)
		for _, q := range p.points {
			fmt.Fprintf(b, "%.1f,%s ", x(q.at), y(line.level(q)))
		}
		b.WriteString(`"/>` + "\n")
	}
	for _, q := range p.points {
		switch q.mark {
		case "wake", "lost":
			fmt.Fprintf(b, `<circle class="%s" cx="%.1f" cy="%s" r="5"/>`, q.mark, x(q.at), y(q.urge))
			fallthrough
		case "person":
			fmt.Fprintf(b, `<path class="person" d="M%.1f %d v13"/>`+"\n", x(q.at), height+5)
		case "bot", "own":
			fmt.Fprintf(b, `<path class="%s" d="M%.1f %d v10"/>`+"\n", q.mark, x(q.at), height+5)
		}
	}
}

// The recordings are as the plot needs them: in order, and within its width.
func TestRecordingsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, r := range recordings {
		events := load(t, r.name).events
		if !slices.IsSortedFunc(events, func(a, b *chat.Event) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) }) {
			t.Errorf("%s is not in order", r.name)
		}
		if last := events[len(events)-1].At.Sub(nine).Seconds(); last > seconds-20 {
			t.Errorf("%s ends after %v s", r.name, last)
		}
	}
}
