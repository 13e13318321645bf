package persona

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPieces is in how many pieces a text comes at most.
const maxPieces = 160

var (
	// header is the line that tells who wrote one of several merged messages, and when.
	header = regexp.MustCompile("(?m)^`([^`\n]*)`(?: <@[^>\n]*>)? at `[^`\n]*`( \\(overheard\\))?:[ \t]*$\n?")
	// aside is text that no person wrote.
	aside = regexp.MustCompile(`^\[System Notification\]`)
	// summaryWish is how a summary is asked for.
	summaryWish = regexp.MustCompile(`(?i)\bsummar(?:y|ise|ize)\b|摘要|总结|压缩`)
)

// Messages takes a prompt apart at its headers. What the framework says is nobody's message.
func Messages(text string) []Message {
	if aside.MatchString(text) {
		return nil
	}
	var out []Message
	add := func(sender, text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, Message{Sender: sender, Text: text})
		}
	}
	sender, from, overheard := "", 0, false
	for _, m := range header.FindAllStringSubmatchIndex(text, -1) {
		if !overheard {
			add(sender, text[from:m[0]])
		}
		sender, from, overheard = text[m[2]:m[3]], m[1], m[4] >= 0
	}
	if !overheard {
		add(sender, text[from:])
	}
	return out
}

// WantsSummary reports whether an instruction or a prompt asks for a summary.
func WantsSummary(instruction, prompt string) bool {
	return summaryWish.MatchString(instruction) || summaryWish.MatchString(prompt)
}

// Pieces cuts a text behind its words, or every few characters where it has no spaces, into at most maxPieces.
func Pieces(text string) []string {
	atLeast := len(text)/maxPieces + 1
	var out []string
	from := 0
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		if end-from >= atLeast && (unicode.IsSpace(r) || (r > unicode.MaxLatin1 && end-from >= 6)) {
			out = append(out, text[from:end])
			from = end
		}
	}
	if from < len(text) {
		out = append(out, text[from:])
	}
	return out
}

// Clip cuts a text after n bytes at most, on a rune's edge.
func Clip(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
