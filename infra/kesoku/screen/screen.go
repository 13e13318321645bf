// Package screen is how the command line speaks: aligned tables as wide as the terminal, a few colours, or JSON. It knows nothing of what
// it shows. Everything that comes from outside is cleaned before it is shown: what somebody wrote in a chat must not steer a terminal.
package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

const (
	// pageWidth is how many columns a line takes where there is no terminal.
	pageWidth = 100
	// minWidth is what a terminal is taken for at least: below it lines break rather than vanish.
	minWidth = 60
)

// Style is a colour or weight.
type Style string

// The styles, by their ANSI codes.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Screen is where a command writes. Results go to Out, what is said on the way to Err.
type Screen struct {
	Out, Err io.Writer
	Columns  int  // of Out; 0 where it is no terminal
	Colour   bool // Out is a terminal that may be coloured
	Live     bool // Err is a terminal on which a line may be written over
	JSON     bool // results are JSON
}

// Width is how many columns a line takes at most.
func (s *Screen) Width() int {
	if s.Columns == 0 {
		return pageWidth
	}
	return max(s.Columns, minWidth)
}

// Paint colours text if that is wanted.
func (s *Screen) Paint(style Style, text string) string {
	if !s.Colour || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Say writes one line of result for people.
func (s *Screen) Say(format string, args ...any) { _, _ = fmt.Fprintf(s.Out, format+"\n", args...) }

// Note writes one line beside the result.
func (s *Screen) Note(format string, args ...any) { _, _ = fmt.Fprintf(s.Err, format+"\n", args...) }

// Data writes v as JSON.
func (s *Screen) Data(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Line writes v as JSON on one line, for what comes bit by bit.
func (s *Screen) Line(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Progress shows on a terminal what is being done, in a line that the next one or Done writes over.
func (s *Screen) Progress(format string, args ...any) {
	if s.Live && !s.JSON {
		_, _ = fmt.Fprintf(s.Err, "\r\x1b[K… "+format, args...)
	}
}

// Done clears the line of Progress.
func (s *Screen) Done() {
	if s.Live && !s.JSON {
		_, _ = io.WriteString(s.Err, "\r\x1b[K")
	}
}

// Table writes rows under their heads, if there are any, each column as wide as its widest cell; the last one is cut to what the line leaves it
// and must not be painted.
func (s *Screen) Table(heads []string, rows [][]string) {
	var widths []int
	for _, row := range append([][]string{heads}, rows...) {
		widths = append(widths, make([]int, max(0, len(row)-len(widths)))...)
		for i, cell := range row {
			widths[i] = max(widths[i], visible(cell))
		}
	}
	if len(heads) > 0 {
		_, _ = fmt.Fprintln(s.Out, s.Paint(Dim, align(heads, widths, s.Width())))
	}
	for _, row := range rows {
		_, _ = fmt.Fprintln(s.Out, align(row, widths, s.Width()))
	}
}

func align(cells []string, widths []int, line int) string {
	var b strings.Builder
	used := 0
	for i, cell := range cells {
		if i == len(cells)-1 {
			b.WriteString(Cut(cell, max(line-used, 10)))
			break
		}
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", widths[i]-visible(cell)+2))
		used += widths[i] + 2
	}
	return strings.TrimRight(b.String(), " ")
}

// painted is what Paint puts around text.
var painted = regexp.MustCompile(`\x1b\[[0-9]*m`)

// visible is how many columns a cell takes.
func visible(cell string) int { return uniseg.StringWidth(painted.ReplaceAllString(cell, "")) }

// Count is a number with its noun, such as "1 fault" and "2 faults".
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// Cut returns text in at most width columns, with "…" where it was longer.
func Cut(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	used, kept := 0, 0
	for clusters := uniseg.NewGraphemes(text); clusters.Next(); {
		w := uniseg.StringWidth(clusters.Str())
		if used+w > width-1 {
			break
		}
		used += w
		_, kept = clusters.Positions()
	}
	return text[:kept] + "…"
}

// OneLine returns text with every run of blanks and line ends as one blank, and without control and formatting characters.
func OneLine(text string) string { return strings.Join(strings.Fields(Clean(text)), " ") }

// Clean returns text without what steers a terminal or hides what it says: control characters but for line ends and tabs, and marks that
// turn the direction of writing.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == unicode.ReplacementChar:
			return -1
		default:
			return r
		}
	}, text)
}
