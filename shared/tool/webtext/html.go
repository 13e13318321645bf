package webtext

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	mainRunes = 200 // what an <article> or <main> must hold to be taken for the page without what surrounds it
	maxHref   = 500 // bytes; a longer address is a tracker's or an inlined file, not one to follow
)

// readable returns the title of an HTML page and its text in light Markdown: headings, lists, links, code and table rows stay
// recognisable; scripts, styles, hidden parts and navigation go.
func readable(page string, base *url.URL) (title, text string, err error) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return "", "", fmt.Errorf("read HTML: %w", err)
	}
	w := &reader{base: base}
	if t := find(doc, atom.Title); t != nil {
		title = collapse(textOf(t))
	}
	for _, kind := range []atom.Atom{atom.Article, atom.Main} {
		part := find(doc, kind)
		if part == nil {
			continue
		}
		w.walk(part)
		if len([]rune(w.b.String())) >= mainRunes {
			return title, strings.TrimSpace(w.b.String()), nil
		}
		w = &reader{base: base}
	}
	w.walk(doc)
	return title, strings.TrimSpace(w.b.String()), nil
}

// reader writes the text of a tree.
type reader struct {
	base   *url.URL
	b      strings.Builder
	breaks int  // line breaks owed before the next text
	space  bool // a space owed before the next text
	marked bool // a mark has just been written: what it marks stays on its line
	pre    bool // inside <pre>
}

var skipped = atoms(atom.Head, atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Math, atom.Iframe, atom.Object,
	atom.Nav, atom.Button, atom.Select, atom.Textarea, atom.Dialog, atom.Canvas, atom.Audio, atom.Video)

var blocks = atoms(atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Aside, atom.Ul, atom.Ol,
	atom.Dl, atom.Table, atom.Blockquote, atom.Figure, atom.Details, atom.Hr, atom.Address)

// lines begin on a line of their own, without an empty one before.
var lines = atoms(atom.Tr, atom.Dt, atom.Dd, atom.Figcaption, atom.Summary, atom.Caption)

var headings = map[atom.Atom]string{atom.H1: "# ", atom.H2: "## ", atom.H3: "### ", atom.H4: "#### ", atom.H5: "##### ", atom.H6: "###### "}

func atoms(list ...atom.Atom) map[atom.Atom]bool {
	out := map[atom.Atom]bool{}
	for _, a := range list {
		out[a] = true
	}
	return out
}

// walk is recursive: the parser refuses trees deeper than 512.
func (r *reader) walk(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		r.write(n.Data)
		return
	case html.ElementNode:
		if !skipped[n.DataAtom] && !hidden(n) {
			r.element(n)
		}
		return
	default:
		r.children(n)
	}
}

func (r *reader) children(n *html.Node) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		r.walk(c)
	}
}

func (r *reader) element(n *html.Node) {
	switch a := n.DataAtom; {
	case a == atom.Br:
		r.owe(1)
	case headings[a] != "":
		r.block(2, headings[a], n)
	case a == atom.Li:
		r.block(1, "- ", n)
	case a == atom.Pre && !r.pre:
		r.code(n)
	case a == atom.A:
		r.link(n)
	case a == atom.Td, a == atom.Th:
		if r.breaks == 0 && r.b.Len() > 0 {
			r.write(" | ")
		}
		r.children(n)
	case a == atom.Img:
		r.write(attr(n, "alt"))
	case lines[a]:
		r.block(1, "", n)
	case blocks[a]:
		r.block(2, "", n)
	default:
		r.children(n)
	}
}

// block writes n on lines of its own, distance line breaks from what is around it. Nothing gets no mark.
func (r *reader) block(distance int, mark string, n *html.Node) {
	r.owe(distance)
	if mark != "" && hasText(n) {
		r.gap(false)
		r.b.WriteString(mark)
		r.marked = true
	}
	r.children(n)
	r.marked = false
	r.owe(distance)
}

func (r *reader) code(n *html.Node) {
	r.owe(2)
	r.gap(false)
	r.b.WriteString("```\n")
	r.pre = true
	r.children(n)
	r.pre = false
	r.b.WriteString("\n```")
	r.owe(2)
}

// owe asks for at least n line breaks before the next text.
func (r *reader) owe(n int) {
	if !r.marked {
		r.breaks = max(r.breaks, n)
	}
}

// gap writes the breaks owed, or a space if one is owed or wanted.
func (r *reader) gap(space bool) {
	switch {
	case r.b.Len() == 0 || r.marked:
	case r.breaks > 0:
		r.b.WriteString(strings.Repeat("\n", r.breaks))
	case r.space || space:
		r.b.WriteByte(' ')
	}
	r.breaks, r.space, r.marked = 0, false, false
}

// link writes a link with its absolute address, if that leads to another page.
func (r *reader) link(n *html.Node) {
	text, href := collapse(textOf(n)), attr(n, "href")
	to, err := r.base.Parse(href)
	if r.pre || text == "" || href == "" || err != nil || len(href) > maxHref || strings.HasPrefix(href, "#") || (to.Scheme != "http" && to.Scheme != "https") {
		r.children(n)
		return
	}
	r.write("[" + text + "](" + to.String() + ")")
}

// write puts text down, white space collapsed as a browser does, after what is owed.
func (r *reader) write(text string) {
	if r.pre {
		r.b.WriteString(text)
		return
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		r.space = r.space || text != ""
		return
	}
	r.gap(strings.TrimLeft(text, " \t\r\n\f") != text)
	r.b.WriteString(strings.Join(words, " "))
	r.space = strings.TrimRight(text, " \t\r\n\f") != text
}

func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		style := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
		if a.Key == "hidden" || (a.Key == "aria-hidden" && a.Val == "true") || (a.Key == "style" && strings.Contains(style, "display:none")) {
			return true
		}
	}
	return false
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func find(n *html.Node, kind atom.Atom) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.DataAtom == kind && d.Namespace == "" { // an SVG has titles too
			return d
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func hasText(n *html.Node) bool {
	for d := range n.Descendants() {
		if d.Type == html.TextNode && strings.TrimSpace(d.Data) != "" {
			return true
		}
	}
	return false
}

// collapse puts text on one line.
func collapse(text string) string { return strings.Join(strings.Fields(text), " ") }
