package tool

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/message"
)

const summaryRunes = 200 // a line under a card's step

// bound returns what the model sees of content and, where that is not all, the name of the whole in the staging area. A result that
// cannot be staged is still a result: the tool has run and must not run again.
func (r *Runner) bound(ctx context.Context, scope Scope, call message.Call, content string) (preview, stagedAs string) {
	if len(content) <= r.cfg.Inline {
		return content, ""
	}
	// The content is part of the name: providers that give no call ids make them repeat from step to step.
	id := call.ID + "-" + chat.Hash(content)[:16]
	segment := strings.NewReplacer("/", "_").Replace
	name := "sessions/" + segment(scope.SessionID) + "/results/" + segment(id) + "/" + segment(call.Name) + ".txt"
	stagedAs, err := r.cfg.Staging.Put(ctx, name, []byte(content), "text/plain; charset=utf-8")
	if err != nil {
		r.cfg.Logger.ErrorContext(ctx, "tool result not staged", "session", scope.SessionID, "call", call.ID, "bytes", len(content), "error", err)
		return cut(content, r.cfg.Inline, "the whole could not be kept"), ""
	}
	return cut(content, r.cfg.Inline, "the whole is staged as "+stagedAs), stagedAs
}

// cut keeps two thirds of limit from the head and one third from the tail of text, on rune edges, and says between them what is gone.
func cut(text string, limit int, kept string) string {
	head, tail := limit-limit/3, len(text)-limit/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n\n[… %d of %d bytes are left out here; %s …]\n\n%s", text[:head], tail-head, len(text), kept, text[tail:])
}

// oneLine returns the first of the texts' lines that shows anything, spaces collapsed and control characters gone.
func oneLine(texts ...string) string {
	for _, text := range texts {
		for line := range strings.Lines(text) {
			line = strings.Map(func(c rune) rune {
				if unicode.IsControl(c) {
					return ' '
				}
				return c
			}, clip(line, 4*summaryRunes))
			if line = strings.Join(strings.Fields(line), " "); line != "" {
				return clip(line, summaryRunes)
			}
		}
	}
	return ""
}

// clip cuts text to at most n runes, the last of them an ellipsis if anything is gone.
func clip(text string, n int) string {
	count := 0
	end := 0 // where the first n-1 runes end
	for i := range text {
		if count == n-1 {
			end = i
		}
		if count == n {
			return text[:end] + "…"
		}
		count++
	}
	return text
}
