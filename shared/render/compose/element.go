// Package compose turns a text that is to be sent, CommonMark with a few elements, into a platform's own markup, and the steps of a turn into what
// its card shows. The way of a text is a waterfall:
//
//	rewrite   hooks.BeforeSend may rewrite it (the caller's step)
//	expand    elements that stand for a text become CommonMark: quotes, media
//	parse     what is left of elements is found, wherever it is no code
//	extract   each becomes the platform's own markup, out of reach of Markdown
//	drop      elements that have nothing to show go, with the space they took
//	print     Markdown becomes the platform's markup, and what was extracted is put back
//	censor    the text as people would read it is judged, and its words without any markup (Bare) too (the caller's step)
//	segment   it is cut to the platform's size (render.Split)
//
// An element is a tag that closes itself, in lower case, with its attributes in quotes:
//
//	<at id="users/123"/>                     a mention
//	<quote/> <quote id="…"/>                 a quote of the prompt that is answered, or of a message by its id
//	<img src="https://…" alt="a chart"/>     media: also audio, video, file
//
// Anything else stays the text that it is, markup characters included: tags that nobody registered, elements that are badly written, elements in
// code, elements beyond the 50th or in a text that is not parsed (render.Parsable). So does an element whose renderer declines: a mention of everybody is never made.
//
// The package is pure. Who registers which renderers for a platform is the wiring code's choice; GoogleChat and Plain are ready-made.
package compose

import (
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"kesoku.dev/shared/render"
)

// Element is a rich part of a text.
type Element struct {
	Name  string
	Attrs map[string]string
}

// Bounds of elements.
const (
	maxElements = 50   // in one text
	maxTag      = 4096 // bytes of one, as written
)

var (
	tag       = regexp.MustCompile(`^<([a-z][a-z0-9-]{0,31})((?:\s+[a-z][a-z0-9-]{0,31}\s*=\s*(?:"[^"<>]*"|'[^'<>]*'))*)\s*/>$`)
	attribute = regexp.MustCompile(`([a-z][a-z0-9-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')`)
)

// elementOf reads a tag. Of an attribute that is given twice the first counts.
func elementOf(source string) (Element, bool) {
	if len(source) > maxTag {
		return Element{}, false
	}
	m := tag.FindStringSubmatch(source)
	if m == nil {
		return Element{}, false
	}
	e := Element{Name: m[1], Attrs: map[string]string{}}
	for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
		if _, given := e.Attrs[a[1]]; !given {
			e.Attrs[a[1]] = html.UnescapeString(a[2] + a[3])
		}
	}
	return e, true
}

// tags knows code from text, and nothing of blocks of HTML: in those an element counts as in any other paragraph.
var tags = goldmark.New(goldmark.WithParser(parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100), util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(parser.NewListParser(), 300), util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500), util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700), util.Prioritized(parser.NewBlockquoteParser(), 800),
		util.Prioritized(parser.NewParagraphParser(), 1000)),
	parser.WithInlineParsers(parser.DefaultInlineParsers()...),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
)), goldmark.WithExtensions(extension.Table)).Parser()

// replaceElements puts what with gives in the place of each element; false leaves it as it is written.
func replaceElements(markdown string, with func(Element) (string, bool)) string {
	if !strings.Contains(markdown, "/>") || !render.Parsable(markdown) {
		return markdown
	}
	var b strings.Builder
	done, n := 0, 0
	src := []byte(markdown)
	_ = ast.Walk(tags.Parse(text.NewReader(src)), func(node ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		raw, ok := node.(*ast.RawHTML)
		if !ok || !entering || raw.Segments.Len() == 0 || n >= maxElements {
			return ast.WalkContinue, nil
		}
		from, to := raw.Segments.At(0).Start, raw.Segments.At(raw.Segments.Len()-1).Stop
		if from < done {
			return ast.WalkContinue, nil
		}
		if e, ok := elementOf(string(raw.Segments.Value(src))); ok {
			if s, ok := with(e); ok {
				b.WriteString(markdown[done:from])
				b.WriteString(s)
				done = to
				n++
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String() + markdown[done:]
}
