package render

// Dialect renders CommonMark (with tables and strikethrough) in a platform's own markup.
type Dialect interface {
	Render(markdown string) string
}
