package history

import (
	"fmt"
	"strings"
	"unicode"

	"kesoku.dev/shared/message"
)

// systemPrefix marks what the framework says to the model in a user turn.
const systemPrefix = "[System Notification]\n"

// leftOut opens a history that would otherwise begin with the model.
const leftOut = systemPrefix + "Earlier messages of this conversation are left out."

// Build is the whole way from stored messages to provider turns while turn live runs.
func Build(messages []message.Message, live int) []Turn {
	return Transpile(Clean(Heal(Recent(Tail(Order(messages)), live)), live))
}

// Transpile makes provider turns of clean history: speakers alternate, the user is first, and a batch of calls is followed by exactly its
// results. Every prompt keeps a line with its sender and time, so that of several merged prompts none is overlooked.
func Transpile(clean []message.Message) []Turn {
	var turns []Turn
	add := func(s Speaker, parts ...Part) {
		if n := len(turns); n > 0 && turns[n-1].Speaker == s {
			turns[n-1].Parts = append(turns[n-1].Parts, parts...)
			return
		}
		if len(turns) == 0 && s == SpeakerModel {
			turns = append(turns, Turn{Speaker: SpeakerUser, Parts: []Part{{Text: leftOut}}})
		}
		turns = append(turns, Turn{Speaker: s, Parts: parts})
	}
	for _, m := range clean {
		speaker, parts := partsOf(m)
		if len(parts) > 0 {
			add(speaker, parts...)
		}
	}
	return turns
}

func partsOf(m message.Message) (Speaker, []Part) {
	sig := m.Metadata.Signature
	switch m.Class() {
	case message.ClassUserPrompt:
		return SpeakerUser, promptParts(m)
	case message.ClassCronPrompt, message.ClassCompaction:
		return SpeakerUser, textPart(m.Content, nil)
	case message.ClassAlert, message.ClassNudge:
		return SpeakerUser, textPart(systemPrefix+m.Content, nil)
	case message.ClassThought:
		if m.Content == "" && len(sig) == 0 {
			return SpeakerModel, nil
		}
		return SpeakerModel, []Part{{Text: m.Content, Thought: true, Signature: sig}}
	case message.ClassToolCall:
		call := &Call{ID: m.Metadata.CallID, Name: m.Metadata.ToolName, Args: string(m.Metadata.ToolArguments)}
		return SpeakerModel, []Part{{Call: call, Signature: sig}}
	case message.ClassToolResult:
		r := &Result{ID: m.Metadata.CallID, Name: m.Metadata.ToolName, Content: m.Content, Failed: m.Metadata.ToolFailed}
		return SpeakerUser, []Part{{Result: r}}
	case message.ClassFinalReply, message.ClassCrashNotice:
		return SpeakerModel, textPart(m.Content, sig)
	default:
		return SpeakerUser, nil
	}
}

func textPart(text string, sig []byte) []Part {
	if text == "" {
		return nil
	}
	return []Part{{Text: text, Signature: sig}}
}

// Overheard marks what was said in the room but not to the bot.
const Overheard = "overheard"

// promptParts heads a prompt with who wrote it and when. The name is quoted as code so that a name cannot pass for framing.
func promptParts(m message.Message) []Part {
	mark := ""
	if m.Metadata.Observed {
		mark = " (" + Overheard + ")"
	}
	head := fmt.Sprintf("`%s` at `%s`%s:\n", plainName(m.Sender), m.Timestamp.UTC().Format("2006-01-02 15:04:05 MST"), mark)
	parts := []Part{{Text: head + m.Content}}
	for _, a := range m.Metadata.Attachments {
		parts = append(parts, Part{File: &File{Name: a.Name, MIMEType: a.MIMEType, StagedAs: a.StagedAs}})
	}
	return parts
}

// plainName leaves nothing in a name that could end its quotes or its line.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '`' || unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, name)
}

// Check returns an error if turns break a rule that providers enforce: the user first, speakers alternating, no empty turn, and each
// batch of calls answered in the next turn by exactly its results, in its order, before anything else.
func Check(turns []Turn) error {
	var open []*Call
	for i, t := range turns {
		want := SpeakerUser
		if i%2 == 1 {
			want = SpeakerModel
		}
		if t.Speaker != want {
			return fmt.Errorf("turn %d is the %s's, want the %s's", i, t.Speaker, want)
		}
		if len(t.Parts) == 0 {
			return fmt.Errorf("turn %d is empty", i)
		}
		if err := checkResults(t, open); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
		open = callsOf(t)
	}
	if len(open) > 0 {
		return fmt.Errorf("the last turn leaves %d calls open", len(open))
	}
	return nil
}

func callsOf(t Turn) []*Call {
	var calls []*Call
	for _, p := range t.Parts {
		if p.Call != nil {
			calls = append(calls, p.Call)
		}
	}
	return calls
}

func checkResults(t Turn, open []*Call) error {
	n := 0
	for i, p := range t.Parts {
		if p.Result == nil {
			continue
		}
		if i != n {
			return fmt.Errorf("result %q stands behind something else", p.Result.ID)
		}
		if n >= len(open) || open[n].ID != p.Result.ID || open[n].Name != p.Result.Name {
			return fmt.Errorf("result %q answers no call in its place", p.Result.ID)
		}
		n++
	}
	if n != len(open) {
		return fmt.Errorf("%d of %d calls are answered", n, len(open))
	}
	return nil
}
