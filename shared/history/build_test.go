package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kesoku.dev/shared/history"
	"kesoku.dev/shared/message"
)

// past is a made-up session: what was stored, and what a model must read of it.
type past struct {
	t      *rapid.T
	author message.Author
	stored []message.Message // in the order of their seqs
	inbox  []int             // indexes into stored of those that wait
	turn   int
	texts  int
	live   bool // the turn that is made now is the live one
	want   []string
	// wantFrom is where the last turn begins in want.
	wantFrom int
}

func newPast(t *rapid.T) *past {
	return &past{t: t, author: message.Author{SessionID: "s", ChatbotID: "discord", ChannelID: "c", Now: time.Unix(1_800_000_000, 0).UTC()}}
}

func (p *past) chance(label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(p.t, label) <= percent
}

// text is unique, so that a lost or repeated one is seen.
func (p *past) text() string { p.texts++; return fmt.Sprintf("text %d.", p.texts) }

func (p *past) store(m message.Message) int {
	m.Seq = int64(len(p.stored) + 1)
	m.ID = fmt.Sprint("m", m.Seq)
	// Clocks are wrong, and must not matter.
	m.Timestamp = m.Timestamp.Add(time.Duration(rapid.IntRange(-1000, 1000).Draw(p.t, "clock")) * time.Second)
	p.stored = append(p.stored, m)
	return len(p.stored) - 1
}

// receive stores input that waits for a turn.
func (p *past) receive() {
	var m message.Message
	switch rapid.IntRange(0, 5).Draw(p.t, "input") {
	case 0:
		m = p.author.CronPrompt(p.text())
	case 1:
		m = p.author.Compaction(p.text())
	case 2:
		m = p.author.Alert(p.text())
	case 3:
		m = p.author.UserPrompt("Chii", p.text(), p.author.Now, message.Metadata{Attachments: []message.Attachment{{Name: "a.csv"}, {Name: "b.png"}}})
	default:
		m = p.author.UserPrompt("`Bo\nb`", p.text(), p.author.Now, message.Metadata{})
	}
	p.inbox = append(p.inbox, p.store(m))
}

// take gives some of what waits a place in the turn, in an order of the inbox's own.
func (p *past) take(step int, phase message.Phase, all bool) {
	order := rapid.Permutation(p.inbox).Draw(p.t, "order")
	n := len(order)
	if !all {
		n = rapid.IntRange(0, n).Draw(p.t, "join")
	}
	for i, at := range order[:n] {
		m := &p.stored[at]
		m.Turn, m.Step, m.Phase, m.Ordinal = p.turn, step, phase, i
		m.Status = message.StatusProcessing
		p.read(*m)
	}
	p.inbox = slices.Clone(order[n:])
}

// read notes what the model must read of an input message.
func (p *past) read(m message.Message) {
	text := "user: " + m.Content
	if m.Class() == message.ClassAlert {
		text = "user: [System Notification]\n" + m.Content
	}
	switch {
	case len(m.Metadata.Attachments) > 0 && p.live:
		p.want = append(p.want, text, "file: a.csv", "file: b.png")
	case len(m.Metadata.Attachments) > 0:
		p.want = append(p.want, text+"\n[Attachments stripped from history: a.csv, b.png]")
	default:
		p.want = append(p.want, text)
	}
}

func (p *past) spot(step, ordinal int) message.Spot {
	return message.Spot{Turn: p.turn, Step: step, Ordinal: ordinal}
}

// step is one model call that asks for tools, whose results come all, in part or not at all.
func (p *past) step(n int) {
	if p.chance("thought", 50) {
		m := p.author.Thought(p.spot(n, 0), p.text(), []byte("sig"))
		p.store(m)
		if p.live {
			p.want = append(p.want, "thought: "+m.Content)
		}
	}
	calls := rapid.IntRange(1, 3).Draw(p.t, "calls")
	var ids, results []string
	for i := range calls {
		id := fmt.Sprintf("call_%d", i) // a model may use the same ids in every step
		if p.chance("id twice", 10) {
			id = "call_0"
		}
		p.store(p.author.ToolCall(p.spot(n, i), "Calling", message.Call{ID: id, Name: "shell", Arguments: "{}"}))
		p.want = append(p.want, "call: "+id)
		ids = append(ids, id)
	}
	p.between()
	results = make([]string, calls)
	for _, i := range rapid.Permutation([]int{0, 1, 2}[:calls]).Draw(p.t, "results") {
		results[i] = "result: " + ids[i] + " interrupted"
		if p.chance("result", 75) {
			m := p.author.ToolResult(p.spot(n, i), message.Outcome{CallID: ids[i], Name: "shell", Content: p.text()})
			p.store(m)
			results[i] = "result: " + ids[i] + " " + m.Content
		}
	}
	p.want = append(p.want, results...)
	if p.chance("join", 50) {
		p.take(n, message.PhaseText, false)
	}
	if p.chance("notification", 10) {
		p.store(p.author.Notification(p.spot(n, 9), p.text()))
	}
}

// between is what the room says meanwhile.
func (p *past) between() {
	for range rapid.IntRange(0, 2).Draw(p.t, "meanwhile") {
		p.receive()
	}
}

// next makes one turn from the inbox on.
func (p *past) next(live bool) {
	p.turn++
	p.live = live
	p.wantFrom = len(p.want)
	if len(p.inbox) == 0 {
		p.receive()
	}
	p.take(0, message.PhaseThought, true)
	n := 0
	for range rapid.IntRange(0, 3).Draw(p.t, "steps") {
		n++
		if p.chance("nudge", 15) {
			m := p.author.Nudge(p.spot(n, 0), p.text())
			p.store(m)
			p.want = append(p.want, "user: [System Notification]\n"+m.Content)
			continue
		}
		p.step(n)
	}
	if live {
		return
	}
	p.between()
	switch rapid.IntRange(0, 4).Draw(p.t, "end") {
	case 0: // pre-empted
	case 1:
		p.store(p.author.Notification(p.spot(n+1, 0), "stopped"))
	case 2:
		m := p.author.CrashNotice(p.spot(n+1, 0), p.text())
		p.store(m)
		p.want = append(p.want, "model: "+m.Content)
	default:
		m := p.author.FinalReply(p.spot(n+1, 0), p.text(), message.TurnMetrics{}, []byte("sig"))
		p.store(m)
		p.want = append(p.want, "model: "+m.Content)
	}
}

// flat is what the turns say, part by part.
func flat(turns []history.Turn) []string {
	var out []string
	for _, t := range turns {
		for _, part := range t.Parts {
			switch {
			case part.Call != nil:
				out = append(out, "call: "+part.Call.ID)
			case part.Result != nil && strings.HasPrefix(part.Result.Content, "text"):
				out = append(out, "result: "+part.Result.ID+" "+part.Result.Content)
			case part.Result != nil:
				out = append(out, "result: "+part.Result.ID+" interrupted")
			case part.File != nil:
				out = append(out, "file: "+part.File.Name)
			case part.Thought:
				out = append(out, "thought: "+part.Text)
			default:
				text := part.Text
				if head, rest, ok := strings.Cut(text, ":\n"); ok && strings.HasPrefix(head, "`") {
					text = rest
				}
				out = append(out, string(t.Speaker)+": "+text)
			}
		}
	}
	return out
}

// H2, H3, H4, A2, L5; cases B47, B50, B51, B59: whatever happened to a session, its model reads every prompt, reply, call and result once
// and in order, and nothing else, in turns that every provider takes.
func TestBuild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPast(t)
		for range rapid.IntRange(0, 3).Draw(t, "turns") {
			p.next(false)
		}
		p.next(true)
		p.between() // what waits for its turn is not read yet
		given := rapid.Permutation(p.stored).Draw(t, "order of reading")
		before := slices.Clone(given)
		turns := history.Build(given, p.turn)
		if err := history.Check(turns); err != nil {
			t.Fatalf("no provider takes this: %v\n%s", err, strings.Join(flat(turns), "\n"))
		}
		if diff := cmp.Diff(p.want, flat(turns)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, given); diff != "" {
			t.Fatalf("the messages were changed:\n%s", diff)
		}
	})
}

// H6, case B49: a history that is cut off anywhere is still one that every provider takes, holds nothing out of order, and has the live turn
// whole if that was read whole.
func TestBuildOfTruncatedTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPast(t)
		for range rapid.IntRange(1, 3).Draw(t, "turns") {
			p.next(false)
		}
		p.next(true)
		cut := rapid.IntRange(0, len(p.stored)).Draw(t, "cut")
		turns := history.Build(p.stored[cut:], p.turn)
		if err := history.Check(turns); err != nil {
			t.Fatalf("no provider takes this: %v\n%s", err, strings.Join(flat(turns), "\n"))
		}
		got := flat(turns)
		if !subsequence(got, p.want) {
			t.Fatalf("out of order or made up:\n%s\nof:\n%s", strings.Join(got, "\n"), strings.Join(p.want, "\n"))
		}
		whole := !slices.ContainsFunc(p.stored[:cut], func(m message.Message) bool { return m.Turn == p.turn })
		if mine := p.want[p.wantFrom:]; whole && (len(got) < len(mine) || !slices.Equal(got[len(got)-len(mine):], mine)) {
			t.Fatalf("the live turn is not whole:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(mine, "\n"))
		}
	})
}

func subsequence(part, whole []string) bool {
	for _, s := range part {
		i := slices.Index(whole, s)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}
