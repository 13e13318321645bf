package render

import (
	"html"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

// span is a run of inline output. Literal spans are what somebody wrote, still to be escaped; the others are markup.
type span struct {
	text    string
	literal bool
}

// inline prints the inline children of n.
func (p *printer) inline(n ast.Node) string { return p.join(p.spans(n, nil)) }

// wrapped prints them between marks.
func (p *printer) wrapped(mark string, n ast.Node) string {
	return p.join(enclose(mark, p.spans(n, map[string]bool{mark: true})))
}

// bare prints them without any mark and unescaped: for places that allow none.
func (p *printer) bare(n ast.Node) string {
	plain := printer{markup: plainMarkup, src: p.src}
	if p.labels {
		plain.markup = p.markup
	}
	return plain.inline(n)
}

// spans collects the inline children of n. A mark in active stands open around them: inside it the same mark would close it.
func (p *printer) spans(n ast.Node, active map[string]bool) []span {
	var out []span
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			out = append(out, span{p.literal(c), true})
			if c.SoftLineBreak() || c.HardLineBreak() {
				out = append(out, span{"\n", false})
			}
		case *ast.String:
			out = append(out, span{string(c.Value), true})
		case *ast.CodeSpan:
			out = append(out, p.codeSpan(c)...)
		case *ast.Emphasis:
			mark := p.emph
			if c.Level == 2 {
				mark = p.strong
			}
			out = append(out, p.marked(mark, c, active)...)
		case *extast.Strikethrough:
			out = append(out, p.marked(p.strike, c, active)...)
		case *ast.Link:
			out = append(out, span{p.link(string(c.Destination), p.bare(c)), false})
		case *ast.Image:
			out = append(out, span{p.link(string(c.Destination), p.bare(c)), false})
		case *ast.AutoLink:
			out = append(out, span{p.link(string(c.URL(p.src)), string(c.Label(p.src))), false})
		case *ast.RawHTML:
			out = append(out, rawHTML(string(c.Segments.Value(p.src))))
		default:
			out = append(out, p.spans(c, active)...)
		}
	}
	return out
}

func (p *printer) marked(mark string, n ast.Node, active map[string]bool) []span {
	if mark == "" || active[mark] {
		return p.spans(n, active)
	}
	inner := map[string]bool{mark: true}
	for m := range active {
		inner[m] = true
	}
	return enclose(mark, p.spans(n, inner))
}

// escaped is what CommonMark resolves in text: a backslash before punctuation, an entity.
var escaped = regexp.MustCompile(`\\[[:punct:]]|&#?[A-Za-z0-9]{1,32};`)

// literal is a text as its writer meant it.
func (p *printer) literal(n *ast.Text) string {
	s := string(n.Value(p.src))
	if n.IsRaw() {
		return s
	}
	return escaped.ReplaceAllStringFunc(s, func(e string) string {
		if e[0] == '\\' {
			return e[1:]
		}
		return html.UnescapeString(e)
	})
}

// codeSpan needs a mark that the code does not hold, for a chat's markup has no longer fence to offer; failing that it is plain text.
func (p *printer) codeSpan(n ast.Node) []span {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(p.src))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if p.code == "" || strings.Contains(code, p.code) {
		return []span{{code, true}}
	}
	return []span{{p.code + p.verbatim(code) + p.code, false}}
}

// rawHTML shows tags as they were written, but for the line break, which models like.
func rawHTML(tag string) span {
	switch strings.ToLower(strings.ReplaceAll(tag, " ", "")) {
	case "<br>", "<br/>":
		return span{"\n", false}
	default:
		return span{tag, true}
	}
}

// enclose puts the mark around the spans, line by line: no mark spans lines.
func enclose(mark string, spans []span) []span {
	out := make([]span, 0, len(spans)+2)
	open := false
	toggle := func(want bool) {
		if open != want {
			out = append(out, span{mark, false})
			open = want
		}
	}
	for _, s := range spans {
		toggle(s.text != "\n")
		out = append(out, s)
	}
	toggle(false)
	return out
}

// join puts the spans together and has the literal ones escaped, knowing what stands beside them.
func (p *printer) join(spans []span) string {
	var out strings.Builder
	var literal []bool
	for _, s := range spans {
		out.WriteString(s.text)
		literal = append(literal, slices.Repeat([]bool{s.literal}, len(s.text))...)
	}
	return p.escape(out.String(), literal)
}
