// Package history turns the stored messages of a session into what a model is shown: in phased order, healed where a crash left a call
// without its result, cleaned of what a model should not read again, and transpiled to provider turns with strictly alternating
// speakers. It is pure and never changes what it is given.
package history

import (
	"cmp"
	"slices"
	"strings"

	"kesoku.dev/shared/message"
)

// Order returns the messages in phased order: turns by their number, within a turn by step, within a step thought, call, result, text,
// and parallel calls and results by ordinal. It looks at stored fields alone, never at timestamps. Messages that wait for a turn come last.
func Order(messages []message.Message) []message.Message {
	out := slices.Clone(messages)
	slices.SortStableFunc(out, func(a, b message.Message) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			cmp.Compare(a.Step, b.Step),
			cmp.Compare(a.Phase, b.Phase),
			cmp.Compare(a.Ordinal, b.Ordinal),
			cmp.Compare(a.Seq, b.Seq),
		)
	})
	return out
}

// rank puts messages without a turn behind all turns.
func rank(m message.Message) int {
	if m.Turn == 0 {
		return int(^uint(0) >> 1)
	}
	return m.Turn
}

// Tail drops the messages of a first turn that is not there whole, so that a bounded read never shows a result without its call or a
// reply without its prompt. A turn is whole when its first prompt is there.
func Tail(ordered []message.Message) []message.Message {
	for i, m := range ordered {
		if m.Step == 0 && m.Class().Flow() == message.FlowInput {
			return ordered[i:]
		}
	}
	return nil
}

// maxShown is how many bytes of past turns a model is shown, about 100,000 tokens: what a provider takes, and a person would pay for.
const maxShown = 400 << 10

// Recent drops the oldest turns until the past has at most maxShown bytes. A turn is dropped whole; the live one stays whatever its size.
func Recent(ordered []message.Message, live int) []message.Message {
	size := 0
	for i := len(ordered) - 1; i >= 0; i-- {
		m := &ordered[i]
		if m.Turn == live || m.Turn == 0 {
			continue
		}
		size += len(m.Content) + len(m.Metadata.ToolArguments)
		if size > maxShown {
			last := m.Turn
			return slices.DeleteFunc(slices.Clone(ordered), func(m message.Message) bool { return m.Turn != 0 && m.Turn <= last })
		}
	}
	return ordered
}

// Clean returns what the model may read while turn live runs: no notifications, no system prompt, nothing that still waits or was taken
// back before its turn; thoughts and signatures of the live turn only; attachments of past prompts replaced by a line that names them.
func Clean(ordered []message.Message, live int) []message.Message {
	var out []message.Message
	for _, m := range ordered {
		switch m.Class() {
		case message.ClassNotification, message.ClassSystemPrompt, message.ClassUnknown:
			continue
		case message.ClassThought:
			if m.Turn != live {
				continue
			}
		default:
		}
		if m.Turn == 0 {
			continue
		}
		if m.Turn != live {
			m = past(m)
		}
		out = append(out, m)
	}
	return out
}

// past strips what only the live turn needs.
func past(m message.Message) message.Message {
	m.Metadata.Signature = nil
	if len(m.Metadata.Attachments) == 0 || m.Role != message.RoleUser {
		return m
	}
	names := make([]string, len(m.Metadata.Attachments))
	for i, a := range m.Metadata.Attachments {
		names[i] = plainName(a.Name)
	}
	m.Content = strings.TrimLeft(m.Content+"\n[Attachments stripped from history: "+strings.Join(names, ", ")+"]", "\n")
	m.Metadata.Attachments = nil
	return m
}

// interrupted is what a model reads in place of a result that never came.
const interrupted = "[The tool call was interrupted before it returned a result. Whether it took effect is not known; do not assume that it did.]"

// Heal pairs every call with exactly one result, in the calls' order within a step: a missing one is made up as interrupted, in memory
// only; a real one wins whenever it came; a result without its call is dropped.
func Heal(ordered []message.Message) []message.Message {
	results := map[callKey]message.Message{}
	for _, m := range ordered {
		if m.Type == message.TypeToolResult {
			results[keyOf(m)] = m
		}
	}
	var out, calls []message.Message
	flush := func() {
		for _, c := range calls {
			out = append(out, resultOf(c, results))
		}
		calls = nil
	}
	for _, m := range ordered {
		switch m.Type {
		case message.TypeToolCall:
			if len(calls) > 0 && (calls[0].Turn != m.Turn || calls[0].Step != m.Step) {
				flush()
			}
			calls = append(calls, m)
			out = append(out, m)
		case message.TypeToolResult:
		case message.TypeText, message.TypeThought:
			flush()
			out = append(out, m)
		}
	}
	flush()
	return out
}

// callKey is what a call and its result share. The ordinal is in it because some models give two parallel calls one id.
type callKey struct {
	turn, step, ordinal int
	id                  string
}

func keyOf(m message.Message) callKey { return callKey{m.Turn, m.Step, m.Ordinal, m.Metadata.CallID} }

func resultOf(call message.Message, results map[callKey]message.Message) message.Message {
	if r, ok := results[keyOf(call)]; ok {
		return r
	}
	r := call
	r.ParentID, r.ID = call.ID, ""
	r.Type, r.Phase, r.Sender, r.Content = message.TypeToolResult, message.PhaseToolResult, call.Metadata.ToolName, interrupted
	r.Metadata = message.Metadata{ToolName: call.Metadata.ToolName, CallID: call.Metadata.CallID, ToolFailed: true}
	return r
}
