package render

// Dialect renders CommonMark (with tables and strikethrough) in a platform's own markup.
type Dialect interface {
	Render(markdown string) string
	// Guard parts what would ring everybody in a text that is in the platform's markup already: whoever rewrote it since may have put it together.
	Guard(markup string) string
}
