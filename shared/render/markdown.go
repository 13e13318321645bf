package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// markup is what tells one dialect from another: an empty mark leaves the text bare.
type markup struct {
	strong, emph, strike, code string
	fence                      string // the line before and after a block of code
	bullet                     string
	indent                     string // of each level of a list
	table                      func(t table) string
	link                       func(url, label string) string
	labels                     bool // links are no more than their labels, inside of others too
	// escape keeps the bytes of text that are literal from being read as markup. The text is one paragraph, with line breaks.
	escape func(text string, literal []bool) string
	// verbatim does the same for code, in a span or a block.
	verbatim func(code string) string
}

// maxDepth bounds how deep quotes and lists nest on the screen; deeper ones stand at this depth. It keeps prefixes short.
const maxDepth = 8

var parser = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.Linkify)).Parser()

// render parses the Markdown and prints it in the dialect; what is not parsable stays as it is written.
func (m markup) render(markdown string) string {
	src := []byte(strings.ToValidUTF8(markdown, "\uFFFD"))
	p := printer{markup: m, src: src}
	if Parsable(markdown) {
		p.blocks(parser.Parse(text.NewReader(src)), false)
	} else {
		p.out.WriteString(p.join([]span{{string(src), true}}))
	}
	if strings.TrimSpace(p.out.String()) == "" {
		return ""
	}
	return strings.Trim(p.out.String(), "\n")
}

// Bounds of what is parsed. The parser's work grows with the square of a text that opens quotes, lists or links without end: within these it is
// some tenths of a second at worst.
const (
	maxParsed = 32 << 10 // bytes
	maxMarks  = 32       // of quotes and lists, at the head of one line
	maxLinks  = 1000     // begun
)

// Parsable reports whether a text is parsed as Markdown. One that is too long or too deep is not: it is shown literally, marks and all.
func Parsable(markdown string) bool {
	if len(markdown) > maxParsed || strings.Count(markdown, "](") > maxLinks {
		return false
	}
	return !tooDeep.MatchString(markdown)
}

// tooDeep finds a line whose head has more marks of quotes and lists than maxMarks.
var tooDeep = regexp.MustCompile(fmt.Sprintf(`(?m)^(?:[\t\v\f\r ]*(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?:[\t\v\f\r ]|$))){%d}`, maxMarks+1))

// printer writes blocks line by line, each behind the prefix of the quotes and lists around it.
type printer struct {
	markup
	src    []byte
	out    strings.Builder
	prefix string // of every line
	lead   string // replaces prefix on the next line: the bullet of an item
	quotes int
	lists  int
}

func (p *printer) lines(s string) {
	for line := range strings.SplitSeq(s, "\n") {
		prefix := p.prefix
		if p.lead != "" {
			prefix, p.lead = p.lead, ""
		}
		p.out.WriteString(strings.TrimRight(prefix+line, " "))
		p.out.WriteByte('\n')
	}
}

// blocks prints the children of a container, a blank line between two of them unless the list they are in is tight.
func (p *printer) blocks(parent ast.Node, tight bool) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && !tight {
			p.lines("")
		}
		p.block(n)
	}
}

func (p *printer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		p.lines(p.wrapped(p.strong, n))
	case *ast.Blockquote:
		p.quote(n)
	case *ast.List:
		p.list(n)
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		p.codeBlock(p.source(n))
	case *ast.HTMLBlock:
		source := p.source(n)
		if n.HasClosure() {
			source += string(n.ClosureLine.Value(p.src))
		}
		p.lines(p.join([]span{{strings.TrimRight(source, "\n"), true}}))
	case *ast.ThematicBreak:
		p.lines("———")
	case *extast.Table:
		p.table(n)
	default:
		p.lines(p.inline(n))
	}
}

func (p *printer) quote(n ast.Node) {
	prefix := p.prefix
	if p.quotes++; p.quotes <= maxDepth {
		p.prefix += "> "
		if p.lead != "" {
			p.lead += "> "
		}
	}
	p.blocks(n, false)
	p.prefix, p.quotes = prefix, p.quotes-1
}

func (p *printer) list(n *ast.List) {
	outer := p.prefix
	p.lists++
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil && !n.IsTight {
			p.lines("")
		}
		mark := p.bullet
		if n.IsOrdered() {
			mark = ordinal(number) + " "
			number++
		}
		if p.lead == "" { // else this list starts on the line of the item around it
			p.lead = outer
		}
		p.lead += mark
		if p.lists <= maxDepth {
			p.prefix = outer + p.indent
		}
		p.blocks(item, n.IsTight)
		if p.lead != "" { // an item without content
			p.lines("")
		}
		p.prefix = outer
	}
	p.lists--
}

// codeBlock stands without the prefixes around it, since a fence is one only at the start of a line.
func (p *printer) codeBlock(code string) {
	code = p.verbatim(strings.TrimRight(code, "\n"))
	if p.fence == "" {
		p.lines(code)
		return
	}
	if p.lead != "" {
		p.lines("")
	}
	p.out.WriteString(p.fence + "\n" + code + "\n" + p.fence + "\n")
}

func (p *printer) table(n *extast.Table) {
	t := table{alignments: n.Alignments}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, strings.Join(strings.Fields(p.bare(cell)), " "))
		}
		t.rows = append(t.rows, cells)
	}
	if s, monospaced := p.markup.table(t), p.fence != ""; monospaced {
		p.codeBlock(s)
	} else {
		p.lines(s)
	}
}

// source is the block's own lines.
func (p *printer) source(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		b.Write(segment.Value(p.src))
	}
	return b.String()
}
