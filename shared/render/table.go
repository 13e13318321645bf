package render

import (
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	extast "github.com/yuin/goldmark/extension/ast"
)

// table is a Markdown table, its header first.
type table struct {
	alignments []extast.Alignment
	rows       [][]string
}

// aligned sets the table in columns for a monospaced font, in which an ideograph is two wide.
func aligned(t table) string {
	widths := t.widths()
	var out []string
	for i, row := range t.rows {
		cells := make([]string, len(widths))
		for c := range widths {
			cells[c] = pad(cell(row, c), widths[c], t.alignment(c))
		}
		out = append(out, strings.TrimRight(strings.Join(cells, " | "), " "))
		if i == 0 {
			for c := range widths {
				cells[c] = strings.Repeat("-", widths[c])
			}
			out = append(out, strings.Join(cells, "-|-"))
		}
	}
	return strings.Join(out, "\n")
}

// piped sets one row a line, without columns, for fonts in which none would stand.
func piped(t table) string {
	var out []string
	for _, row := range t.rows {
		out = append(out, strings.TrimSpace(strings.Join(row, " | ")))
	}
	return strings.Join(out, "\n")
}

// maxColumn is the width up to which a column is padded; a longer cell sticks out rather than making every row as long.
const maxColumn = 60

func (t table) widths() []int {
	var widths []int
	for _, row := range t.rows {
		for c, text := range row {
			if c == len(widths) {
				widths = append(widths, 1)
			}
			widths[c] = min(max(widths[c], uniseg.StringWidth(text)), maxColumn)
		}
	}
	return widths
}

func (t table) alignment(c int) extast.Alignment {
	if c < len(t.alignments) {
		return t.alignments[c]
	}
	return extast.AlignNone
}

func cell(row []string, c int) string {
	if c < len(row) {
		return row[c]
	}
	return ""
}

func pad(s string, width int, a extast.Alignment) string {
	space := max(width-uniseg.StringWidth(s), 0)
	left := 0
	switch a {
	case extast.AlignRight:
		left = space
	case extast.AlignCenter:
		left = space / 2
	case extast.AlignLeft, extast.AlignNone:
	}
	return strings.Repeat(" ", left) + s + strings.Repeat(" ", space-left)
}

// ordinal is the mark of a numbered item.
func ordinal(n int) string { return strconv.Itoa(n) + "." }
