package censor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// mapped is a text made of another, with the way back.
type mapped struct {
	text   string
	pieces []piece // in order; together they are the text
}

// piece is a part of the text, from at to where the next one begins, and what it was made of.
type piece struct {
	at   int
	from Span
}

// span is what a range of the text was made of: whole pieces, so a range that ends inside one is widened.
func (m mapped) span(r Span) Span {
	if r.Start >= r.End || len(m.pieces) == 0 {
		return Span{}
	}
	return Span{m.pieces[m.holds(r.Start)].from.Start, m.pieces[m.holds(r.End-1)].from.End}
}

// holds returns which piece holds the byte.
func (m mapped) holds(at int) int {
	i, exact := slices.BinarySearchFunc(m.pieces, at, func(p piece, at int) int { return p.at - at })
	if exact {
		return i
	}
	return i - 1
}

// whole is the text made of itself, rune by rune.
func whole(text string) mapped { return filter(text, func(rune) bool { return true }) }

// visible is the text without what cannot be seen.
func visible(text string) mapped { return filter(text, func(r rune) bool { return !invisible(r) }) }

func filter(text string, keep func(rune) bool) mapped {
	var b strings.Builder
	m := mapped{pieces: make([]piece, 0, len(text))}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:]) // a byte that is no text counts as a rune of its own
		if keep(r) {
			m.pieces = append(m.pieces, piece{b.Len(), Span{i, i + n}})
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	m.text = b.String()
	return m
}

// invisible reports whether the rune is shown as nothing: Unicode's Default_Ignorable_Code_Point, which Go has in parts.
func invisible(r rune) bool {
	switch {
	case r < 0xAD, r >= 0xFFF9 && r <= 0xFFFB, r >= 0x13430 && r <= 0x1343F, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	default:
		return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
	}
}

// fold makes what are two spellings of one word the same bytes. Offsets map back to the mapped text, not to what that was made of.
func fold(m mapped) mapped {
	var b strings.Builder
	out := mapped{pieces: make([]piece, 0, len(m.text))}
	caser := cases.Fold()
	for i := 0; i < len(m.text); {
		n := norm.NFKC.NextBoundaryInString(m.text[i:], true)
		segment := m.text[i : i+n]
		at := b.Len()
		if n == 1 && segment[0] < utf8.RuneSelf {
			b.WriteByte(lower(segment[0]))
		} else {
			b.WriteString(alike.Replace(norm.NFKC.String(caser.String(norm.NFKC.String(segment)))))
		}
		if b.Len() > at {
			out.pieces = append(out.pieces, piece{at, Span{i, i + n}})
		}
		i += n
	}
	out.text = b.String()
	return out
}

// alike makes one letter of Turkish's dotted and dotless i, and undoes what package render puts for a character that would be markup.
var alike = strings.NewReplacer("i\u0307", "i", "ı", "i", "\u2217", "*", "\u02CD", "_", "\u223C", "~", "\u02CB", "`")

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// marked reports whether the text begins with a mark that changes the letter before it: か is not in が, nor e in é.
func marked(text string) bool { return text != "" && norm.NFKC.PropertiesString(text).CCC() != 0 }

// edit puts something else in the place of a range.
type edit struct {
	at   Span
	with string
}

// replace applies the edits, which are in order and do not overlap.
func (m mapped) replace(edits []edit) (mapped, error) {
	var b strings.Builder
	var out mapped
	keep := func(from, to int) {
		for from < to {
			i := m.holds(from)
			end := to
			if i+1 < len(m.pieces) {
				end = min(to, m.pieces[i+1].at)
			}
			out.pieces = append(out.pieces, piece{b.Len(), m.pieces[i].from})
			b.WriteString(m.text[from:end])
			from = end
		}
	}
	done := 0
	for _, e := range edits {
		keep(done, e.at.Start)
		if e.with != "" {
			out.pieces = append(out.pieces, piece{b.Len(), m.span(e.at)})
			b.WriteString(e.with)
		}
		done = e.at.End
		if b.Len() > maxText {
			break
		}
	}
	keep(done, len(m.text))
	if b.Len() > maxText {
		return mapped{}, fmt.Errorf("the text grows over %d bytes", maxText)
	}
	out.text = b.String()
	return out, nil
}
