// Package routing says which rules hold for a message and what their values come to: predicates, their specificity, the order of rules,
// locks and the merge of values. It is pure and knows nothing of what the values mean, nor of how they are written.
package routing

// Facts are what predicates look at. What is empty is not known, and no value matches it. Ids are the platform's stable ones, never names.
type Facts struct {
	Platform, Self, Guild, Channel, Thread, User string
	// Direct is true in a conversation of one person with the app.
	Direct bool
	// AtMe, QuoteMe and Text are the content: what one message says, not where it comes from.
	AtMe, QuoteMe bool
	Text          string
}

// route names the channel across platforms, as chat.Event does.
func (f Facts) route() string {
	if f.Platform == "" || f.Channel == "" {
		return ""
	}
	return f.Platform + ":" + f.Channel
}

// scopes are the fields that the predicate scope may name. A thread has none of its own: it is in its channel.
var scopes = map[string]func(Facts) string{
	"platform": func(f Facts) string { return f.Platform },
	"self":     func(f Facts) string { return f.Self },
	"guild":    func(f Facts) string { return f.Guild },
	"channel":  func(f Facts) string { return f.Channel },
	"user":     func(f Facts) string { return f.User },
	"route":    Facts.route,
}

// Predicates are the custom ones by their ids. Each is asked anew for every message, so it must be quick and change nothing.
type Predicates map[string]func(args map[string]any, f Facts) bool
