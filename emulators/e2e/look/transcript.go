package look

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"kesoku.dev/emulators/e2e/card"
	"kesoku.dev/emulators/e2e/world"
	"kesoku.dev/emulators/googlechat/wire"
	chatworld "kesoku.dev/emulators/googlechat/world"
	"kesoku.dev/shared/message"
	"kesoku.dev/shared/session"
)

// Transcript is what people see in all spaces, one line or more a message. A card that stands above its reply and one that came along with
// it look the same, for which of the two it is depends on how fast the turn was.
func Transcript(w *world.World) string {
	var b strings.Builder
	for _, v := range w.Chat.Spaces() {
		b.WriteString(TranscriptOf(w, v.Space.Name))
	}
	return b.String()
}

// TranscriptOf is what people see in one space; nothing for one without messages.
func TranscriptOf(w *world.World, space string) string {
	all := w.Chat.Messages(space, 20_000)
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", nameOf(w, space))
	for i, m := range all {
		before := i > 0 && all[i-1].Text == "" && all[i-1].Sender.Name == m.Sender.Name
		writeMessage(&b, m, before)
	}
	return tidy(w, b.String())
}

func writeMessage(b *strings.Builder, m *wire.Message, continued bool) {
	var text strings.Builder
	if !continued {
		fmt.Fprintf(b, "%s:\n", m.Sender.DisplayName)
	}
	for _, c := range card.Of(m) {
		fmt.Fprintf(&text, "  [%s]\n", c.Title)
		for _, line := range c.Lines {
			fmt.Fprintf(&text, "  | %s\n", line)
		}
		if c.Button != "" {
			fmt.Fprintf(&text, "  (%s)\n", c.Button)
		}
	}
	if m.Text != "" {
		text.WriteString("  " + strings.ReplaceAll(m.Text, "\n", "\n  ") + "\n")
	}
	for _, a := range m.Attachment {
		fmt.Fprintf(&text, "  <%s>\n", a.ContentName)
	}
	b.WriteString(text.String())
}

// Table is the record of all sessions, one line a message.
func Table(w *world.World) string {
	w.T.Helper()
	var b strings.Builder
	all := Sessions(w)
	places := w.Chat.Spaces()
	at := func(s session.Session) int {
		return slices.IndexFunc(places, func(v chatworld.SpaceView) bool { return v.Space.Name == s.ChannelID })
	}
	slices.SortStableFunc(all, func(a, b session.Session) int { return at(a) - at(b) })
	for _, s := range all {
		fmt.Fprintf(&b, "# %s\n", nameOf(w, s.ChannelID))
		for _, m := range Records(w, s.ID) {
			fmt.Fprintf(&b, "%2d %d.%d %-9s %-11s %-13s %s\n", m.Seq, m.Turn, m.Step, m.Role, m.Type, m.Status, oneLine(w, m))
		}
	}
	return tidy(w, b.String())
}

// Outcomes is what became of the events that are no prompts now, one line a word.
func Outcomes(w *world.World) string {
	w.T.Helper()
	n := map[string]int{}
	for _, e := range Events(w) {
		n[e.Outcome]++
	}
	var b strings.Builder
	for _, outcome := range slices.Sorted(maps.Keys(n)) {
		fmt.Fprintf(&b, "events %s: %d\n", outcome, n[outcome])
	}
	return b.String()
}

func nameOf(w *world.World, space string) string {
	for _, v := range w.Chat.Spaces() {
		if v.Space.Name == space && v.Space.DisplayName != "" {
			return v.Space.DisplayName
		}
	}
	return "direct"
}

func oneLine(w *world.World, m message.Message) string {
	line := strings.Join(strings.Fields(tidy(w, m.Content)), " ")
	if r := []rune(line); len(r) > 60 {
		line = string(r[:59]) + "…"
	}
	return m.Sender + ": " + line
}

// Numbers that differ from run to run.
var (
	tokenCount = regexp.MustCompile(`[0-9.,]+[kK]? tokens`)
	turnTime   = regexp.MustCompile(`[0-9.]+ (s|秒) ·`)
	contextUse = regexp.MustCompile(`context [0-9.,]+[kK]?|上下文 [0-9.,]+[kK]?`)
)

func tidy(w *world.World, text string) string {
	page := w.PageURL("")
	text = strings.ReplaceAll(text, page, "http://page")
	text = strings.ReplaceAll(text, strings.TrimPrefix(page, "http://"), "page")
	for _, p := range w.Chat.People() { // a Workspace event tells no names, and which event comes first is chance
		text = strings.ReplaceAll(text, p.Name, p.DisplayName)
	}
	text = turnTime.ReplaceAllString(text, "T $1 ·")
	text = tokenCount.ReplaceAllString(text, "N tokens")
	return contextUse.ReplaceAllStringFunc(text, func(s string) string { return strings.Fields(s)[0] + " N" })
}
