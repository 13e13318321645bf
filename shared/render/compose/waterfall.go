package compose

import (
	"strconv"
	"strings"

	"kesoku.dev/shared/render"
)

// draft is a text on its way down.
type draft struct {
	*Registry
	scene     Scene
	dialect   render.Dialect
	text      string
	extracted []string // the platform's markup, by the number that stands for it in the text
}

// Print takes a text from expand to print.
func (r *Registry) Print(markdown string, d render.Dialect, about Scene) string {
	w := draft{Registry: r, scene: about, dialect: d, text: strip(markdown)}
	w.expand()
	w.extract()
	w.drop()
	if out := w.print(); strings.TrimSpace(out) != "" {
		return out
	}
	return d.Render(literal(markdown)) // nothing of it would show, as of a link's definition: it is shown as it is written
}

// Bare is what the text says once all markup is left out: marks, addresses of links, elements, quotes of other messages. Words that markup parts are
// whole in it.
func (r *Registry) Bare(markdown string) string {
	w := draft{Registry: r, dialect: render.Bare{}, text: strip(markdown)}
	w.expand()
	w.extract()
	clear(w.extracted)
	w.drop()
	return w.print()
}

// A placeholder is a number between two noncharacters, which no text may hold, so that nobody can write one. To Markdown it is a word.
const (
	opening = "\uFDD0"
	closing = "\uFDD1"
)

var strip = strings.NewReplacer(opening, "\uFFFD", closing, "\uFFFD").Replace

// expand writes what stands for a text as CommonMark, once: what an expander writes is not expanded again. A quote goes to the head of all.
func (w *draft) expand() {
	head := ""
	w.text = replaceElements(w.text, func(e Element) (string, bool) {
		x, known := w.expanders[e.Name]
		if !known {
			return "", false
		}
		s, ok := x(e, w.scene)
		if ok && strings.HasPrefix(s, "> ") {
			head, s = head+s+"\n\n", ""
		}
		return strip(s), ok
	})
	w.text = strip(head) + strings.TrimLeft(w.text, "\n")
}

// extract parses the elements that are left and puts a placeholder where one is rendered.
func (w *draft) extract() {
	w.text = replaceElements(w.text, func(e Element) (string, bool) {
		x, known := w.renderers[e.Name]
		if !known {
			return "", false
		}
		s, ok := x(e, w.scene)
		if !ok {
			return "", false
		}
		w.extracted = append(w.extracted, strip(s))
		return w.placeholder(len(w.extracted) - 1), true
	})
}

func (w *draft) placeholder(i int) string { return opening + strconv.Itoa(i) + closing }

// drop removes what has nothing to show, and one of two blanks around it.
func (w *draft) drop() {
	for i, s := range w.extracted {
		if s != "" {
			continue
		}
		p := w.placeholder(i)
		w.text = strings.Replace(w.text, " "+p+" ", " ", 1)
		w.text = strings.Replace(w.text, p, "", 1)
	}
}

// print has the dialect write the text and puts back what was extracted.
func (w *draft) print() string {
	out := w.dialect.Render(w.text)
	for i, s := range w.extracted {
		out = strings.Replace(out, w.placeholder(i), s, 1)
	}
	return out
}
