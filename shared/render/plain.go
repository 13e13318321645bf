package render

import "strings"

// Plain renders Markdown for platforms that show text as it comes: marks go, structure stays.
type Plain struct{}

var _ Dialect = Plain{}

// plainMarkup has no marks and escapes nothing.
var plainMarkup = markup{
	bullet: "• ", indent: "  ", table: piped, link: plainLink,
	escape:   func(text string, _ []bool) string { return text },
	verbatim: func(code string) string { return code },
}

// Render implements Dialect.
func (Plain) Render(markdown string) string { return plainMarkup.render(markdown) }

// Guard implements Dialect. Plain text rings nobody.
func (Plain) Guard(text string) string { return text }

// Bare renders what is left of a text without any markup: as Plain does, but links and media are their labels alone.
type Bare struct{ Plain }

// Render implements Dialect.
func (Bare) Render(markdown string) string {
	m := plainMarkup
	m.labels, m.link = true, func(_, label string) string { return label }
	return m.render(markdown)
}

// plainLink shows the address behind the label, unless the label says it already.
func plainLink(dest, label string) string {
	if label == "" || label == dest || strings.TrimPrefix(dest, "mailto:") == label || strings.HasSuffix(dest, "://"+label) {
		return dest
	}
	return label + " (" + dest + ")"
}
