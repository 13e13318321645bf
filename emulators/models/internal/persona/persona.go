// Package persona is the mind of the stand-in model: from what people wrote and what tools gave back it decides what to say or to call
// next. It is a handful of patterns in English and Chinese, made so that a newcomer sees streaming, thoughts, tools, long answers and
// failures within a minute. It is pure and knows no protocol.
package persona

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// maxCalls bounds the calls of one exchange, so that a tool which never satisfies does not go on for ever.
const maxCalls = 16

// Message is what one person wrote.
type Message struct {
	Sender string // empty where it is not told
	Text   string
}

// Call is a wish to have a tool run.
type Call struct {
	Tool string
	Args map[string]any
}

// Done is a call with its result.
type Done struct {
	Call
	Content string
	Failed  bool
}

// Scene is everything since the model's last answer.
type Scene struct {
	Messages []Message
	Done     []Done
	Files    []string // what was attached, for people to read
	Offers   func(tool string) bool
	// Summarise is set where a summary of Story, all texts so far, is asked for instead.
	Summarise bool
	Story     []string
}

// Failure is a way in which the model is asked to fail.
type Failure string

// The failures.
const (
	FailNot       Failure = ""
	FailQuota     Failure = "429"
	FailServer    Failure = "500"
	FailBlocked   Failure = "blocked"
	FailEmpty     Failure = "empty"
	FailMalformed Failure = "malformed"
)

// Act is what the model does: it fails, or thinks and then calls or speaks.
type Act struct {
	Fail    Failure
	Thought string
	Slow    bool // the thought takes its time
	Calls   []Call
	Text    string
}

var (
	failPattern = regexp.MustCompile(`(?i)\bfail with (429|500|blocked|empty|malformed)\b`)
	slowPattern = regexp.MustCompile(`(?i)\bthink (hard|slowly)\b|慢慢想|仔细想`)
	veryPattern = regexp.MustCompile(`(?i)\bvery long\b|特别长|超长`)
	longPattern = regexp.MustCompile(`(?i)\blong (text|answer|story|reply)\b|长文|长一点的|很长的|特别长|超长`)
)

// Play decides. Each message is answered, however many were merged into one prompt; failing and thinking slowly are up to the last.
func Play(s Scene) Act {
	if len(s.Messages) == 0 {
		s.Messages = []Message{{Text: "hello"}}
	}
	last := s.Messages[len(s.Messages)-1].Text
	say := languageOf(last)
	if m := failPattern.FindStringSubmatch(last); m != nil {
		return Act{Fail: Failure(strings.ToLower(m[1])), Text: say.recovered}
	}
	if s.Summarise {
		return Act{Thought: say.thinkPlain, Text: summary(say, s.Story)}
	}
	act := Act{Slow: slowPattern.MatchString(last), Thought: say.thinkPlain}
	act.Calls = s.pending()
	if len(act.Calls) > 0 {
		act.Thought = say.thinkTool(act.Calls)
		return act
	}
	if act.Slow {
		act.Thought = say.thinkSlow
	}
	act.Text = s.answer(say)
	return act
}

// pending are the calls that the messages want, that tools are offered for, and that have not been made.
func (s Scene) pending() []Call {
	var out []Call
	for _, m := range s.Messages {
		for _, c := range wishes(m.Text) {
			made := slices.ContainsFunc(s.Done, c.is) || slices.ContainsFunc(out, func(o Call) bool { return c.is(Done{Call: o}) })
			if !made && s.Offers(c.Tool) && len(out)+len(s.Done) < maxCalls {
				out = append(out, c)
			}
		}
	}
	return out
}

// is reports whether d is this call.
func (c Call) is(d Done) bool { return c.Tool == d.Tool && reflect.DeepEqual(c.Args, d.Args) }

// answer speaks to each message, by name where there are several.
func (s Scene) answer(say *language) string {
	var out []string
	for _, m := range s.Messages {
		text := s.answerOne(say, m.Text)
		if len(s.Messages) > 1 && m.Sender != "" {
			text = fmt.Sprintf(say.address, m.Sender, text)
		}
		out = append(out, text)
	}
	if len(s.Files) > 0 {
		out = append(out, fmt.Sprintf(say.files, strings.Join(s.Files, say.comma)))
	}
	return strings.Join(out, "\n\n")
}

func (s Scene) answerOne(say *language, text string) string {
	var out []string
	for _, c := range wishes(text) {
		at := slices.IndexFunc(s.Done, c.is)
		switch {
		case at >= 0 && s.Done[at].Failed:
			out = append(out, fmt.Sprintf(say.toolFailed, c.Tool, clip(s.Done[at].Content, 300)))
		case at >= 0:
			out = append(out, say.report(s.Done[at]))
		default:
			out = append(out, fmt.Sprintf(say.noTool, c.Tool))
		}
	}
	switch {
	case veryPattern.MatchString(text): // longer than any platform takes in one piece
		out = append(out, strings.Repeat(say.long+"\n", 16))
	case longPattern.MatchString(text):
		out = append(out, say.long)
	case slowPattern.MatchString(text):
		out = append(out, say.thought)
	case len(out) == 0:
		out = append(out, fmt.Sprintf(say.hello, clip(oneLine(text), 60)))
	}
	return strings.Join(out, "\n")
}

// summary is a list of how each message began.
func summary(say *language, story []string) string {
	const most = 20
	lines := []string{say.summary}
	for _, text := range story[max(0, len(story)-most):] {
		if text = oneLine(header.ReplaceAllString(text, "$1: ")); text != "" {
			lines = append(lines, "- "+clip(text, 80))
		}
	}
	return strings.Join(lines, "\n")
}

// isChinese reports whether a text has Chinese characters.
func isChinese(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) >= 0
}

// oneLine joins the words of a text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip cuts a text after n runes.
func clip(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	return string(runes[:n]) + "…"
}
