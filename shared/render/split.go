package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Split cuts text into chunks of at most maxBytes bytes each, at the end of a paragraph, else of a line, else where a line may
// wrap (between words, between ideographs), else between two characters as people see them, and only at last inside one. A code
// fence that a cut falls into is closed in its chunk and reopened with its info string in the next. Nothing is lost but the blank
// space at the cuts, and no chunk is blank: blank text gives no chunk at all. Every chunk is valid UTF-8 when text is; bytes that are
// not become U+FFFD. A maxBytes under 4, the longest rune, counts as 4.
func Split(text string, maxBytes int) []string {
	s := splitter{max: max(maxBytes, utf8.UTFMax), rest: strings.ToValidUTF8(text, "\uFFFD")}
	var chunks []string
	for strings.TrimSpace(s.rest) != "" {
		if chunk := s.next(); strings.TrimSpace(chunk) != "" {
			chunks = append(chunks, chunk)
		}
	}
	return chunks
}

// splitter is the text still to be cut and the fence that it starts inside of.
type splitter struct {
	max  int
	rest string
	open fence
}

// fence is an open code fence: its backticks and the info string behind them. The zero fence is none.
type fence struct{ ticks, info string }

func (s *splitter) next() string {
	prefix := s.reopening()
	budget := s.max - len(prefix)
	if len(s.rest) <= budget {
		chunk := prefix + s.rest
		s.rest = ""
		return chunk
	}
	for reserve := 0; ; {
		end := breakAt(s.rest, budget-reserve)
		inside, opened := s.scan(end)
		if _, body, _ := strings.Cut(s.rest[opened:end], "\n"); opened > 0 && strings.TrimSpace(body) == "" {
			end, inside = opened, fence{} // nothing of the block fits but its opening line: it starts in the next chunk as a whole
		}
		need := 0
		if inside.ticks != "" {
			need = len("\n" + inside.ticks)
		}
		if end+need <= budget {
			return prefix + s.take(end, inside)
		}
		reserve = max(need, reserve+1)
	}
}

// take removes the first end bytes of the rest, closes the fence they end inside of and drops the blank space at the cut.
func (s *splitter) take(end int, inside fence) string {
	head, tail := s.rest[:end], s.rest[end:]
	s.open = inside
	if inside.ticks == "" {
		s.rest = strings.TrimLeft(tail, "\n")
		return strings.TrimRightFunc(head, unicode.IsSpace)
	}
	// Inside code blank space means something: only the line break at the cut, which the closing fence brings, goes.
	if !strings.HasSuffix(head, "\n") {
		tail = strings.TrimPrefix(tail, "\n")
	}
	head = strings.TrimSuffix(head, "\n")
	if line, after, _ := strings.Cut(tail, "\n"); closes(line, inside) {
		s.open, tail = fence{}, strings.TrimLeft(after, "\n") // our own closing fence takes the place of this one
	}
	s.rest = tail
	return head + "\n" + inside.ticks
}

// reopening is the line that a chunk starts with. Its info string goes when it would take a quarter of the chunk.
func (s *splitter) reopening() string {
	switch {
	case s.open.ticks == "":
		return ""
	case len(s.open.ticks)+len(s.open.info) > s.max/4:
		return s.open.ticks + "\n"
	default:
		return s.open.ticks + s.open.info + "\n"
	}
}

// scan returns the fence that stands open at end, and where its opening line starts: 0 when the rest starts with it or inside of it.
// It reads the line that end falls into as a whole, since half a line may look like a fence that the whole is not.
func (s *splitter) scan(end int) (inside fence, opened int) {
	inside = s.open
	for at := 0; at < end; {
		line, _, _ := strings.Cut(s.rest[at:], "\n")
		switch {
		case inside.ticks == "":
			if inside = opening(line, s.max/8); inside.ticks != "" {
				opened = at
			}
		case closes(line, inside):
			inside, opened = fence{}, 0
		}
		at += len(line) + 1
	}
	return inside, opened
}

// opening returns the fence that the line opens. A fence so long that closing it would eat the chunk is taken for text.
func opening(line string, longest int) fence {
	bare := strings.TrimLeft(line, " ")
	info := strings.TrimLeft(bare, "`")
	n := len(bare) - len(info)
	if len(line)-len(bare) > 3 || n < 3 || n > longest || strings.Contains(info, "`") {
		return fence{}
	}
	return fence{ticks: bare[:n], info: strings.TrimRight(info, " \r")}
}

func closes(line string, open fence) bool {
	bare := strings.TrimSpace(line)
	return len(bare) >= len(open.ticks) && strings.Trim(bare, "`") == ""
}

// breakAt returns where to cut text so that at most limit bytes stand before the cut, at least one rune. A mention or link that the cut would fall
// into goes to the next chunk as a whole, unless it starts this one.
func breakAt(text string, limit int) int {
	end := textBreak(text, max(limit, utf8.UTFMax))
	start := strings.LastIndexByte(text[:end], '<')
	if start <= 0 || end == len(text) || strings.ContainsAny(text[start:end], ">\n") {
		return end
	}
	line, _, _ := strings.Cut(text[end:min(len(text), end+maxEntity)], "\n")
	head := entity.FindString(text[start:min(len(text), start+maxScheme)])
	if head == "" || !strings.HasPrefix(text[start:], head) || !strings.Contains(line, ">") {
		return end
	}
	return start
}

// maxEntity bounds how far the end of a mention or link is looked for, in bytes.
const maxEntity = 2048

// textBreak is breakAt for a text that is but text. The end of a paragraph or line in the first half is passed over for a finer break later, lest
// chunks become crumbs; a word is not.
func textBreak(text string, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	window := text[:limit]
	if i := strings.LastIndex(window, "\n\n"); i >= limit/2 {
		return i + 2
	}
	if i := strings.LastIndexByte(window, '\n'); i >= limit/2 {
		return i + 1
	}
	wrap, character := boundaries(text, limit)
	switch {
	case wrap > 0:
		return wrap
	case character > 0:
		return character
	default:
		return runeEdge(text, limit)
	}
}

// boundaries returns the last places within limit where a line may wrap and where a grapheme cluster ends; 0 for none. A cluster may
// be as long as its writer likes, so no more than a little beyond limit is looked at.
func boundaries(text string, limit int) (wrap, character int) {
	rest := text[:runeEdge(text, min(len(text), limit+lookAhead))]
	state := -1
	for at := 0; rest != ""; {
		var cluster string
		var bits int
		cluster, rest, bits, state = uniseg.StepString(rest, state)
		if at += len(cluster); at > limit || rest == "" {
			return wrap, character
		}
		character = at
		if bits&uniseg.MaskLine != uniseg.LineDontBreak {
			wrap = at
		}
	}
	return wrap, character
}

// lookAhead is more than the longest emoji sequence in use (35 bytes).
const lookAhead = 64

// runeEdge is the last place at or before limit where a rune starts.
func runeEdge(text string, limit int) int {
	if limit >= len(text) {
		return len(text)
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return limit
}
