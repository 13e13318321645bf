package routing

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// searched is how many characters of a text a regular expression sees.
const searched = 20_000

// Filter decides whether a rule holds. The zero value holds always.
type Filter struct {
	kind     string
	field    string         // of scope
	values   []string       // of scope; none asks whether the field is known
	match    string         // of content
	text     string         // of content
	pattern  *regexp.Regexp // of content
	operands []Filter       // of not, and, or
	id       string         // of custom
	args     map[string]any // of custom
}

// Specificity is how narrow the filter is: 0 for true, the operand's for not, the operands' sum for and and or, 1 for each other predicate.
func (p Filter) Specificity() int {
	switch p.kind {
	case "", kindTrue:
		return 0
	case kindNot, kindAnd, kindOr:
		sum := 0
		for _, o := range p.operands {
			sum += o.Specificity()
		}
		return sum
	default:
		return 1
	}
}

// OfContent tells whether the filter looks at what a message says. A custom predicate may.
func (p Filter) OfContent() bool {
	switch p.kind {
	case kindAtMe, kindQuoteMe, kindContent, kindCustom:
		return true
	default:
		return slices.ContainsFunc(p.operands, Filter.OfContent)
	}
}

// unregistered lists the custom predicates in it that nobody registered.
func (p Filter) unregistered(custom Predicates) []string {
	if p.kind == kindCustom && custom[p.id] == nil {
		return []string{p.id}
	}
	var all []string
	for _, o := range p.operands {
		all = append(all, o.unregistered(custom)...)
	}
	return all
}

// Holds evaluates the filter. A custom predicate that nobody registered does not hold.
func (p Filter) Holds(f Facts, custom Predicates) bool {
	holds := func(o Filter) bool { return o.Holds(f, custom) }
	switch p.kind {
	case "", kindTrue:
		return true
	case kindScope:
		got := scopes[p.field](f)
		return got != "" && (len(p.values) == 0 || slices.Contains(p.values, got))
	case kindDirect:
		return f.Direct
	case kindGroup:
		return !f.Direct
	case kindAtMe:
		return f.AtMe
	case kindQuoteMe:
		return f.QuoteMe
	case kindContent:
		return p.contentHolds(f.Text)
	case kindNot:
		return !holds(p.operands[0])
	case kindAnd:
		return !slices.ContainsFunc(p.operands, func(o Filter) bool { return !holds(o) })
	case kindOr:
		return slices.ContainsFunc(p.operands, holds)
	case kindCustom:
		return asked(custom[p.id], p.args, f)
	default:
		return false
	}
}

// asked is what a custom predicate says. One that nobody registered, or that panics, does not hold: a bad predicate must not hold up a route.
func asked(ask func(map[string]any, Facts) bool, args map[string]any, f Facts) (holds bool) {
	if ask == nil {
		return false
	}
	defer func() {
		if recover() != nil {
			holds = false
		}
	}()
	return ask(args, f)
}

func (p Filter) contentHolds(text string) bool {
	switch p.match {
	case matchContains:
		return strings.Contains(text, p.text)
	case matchStartsWith:
		return strings.HasPrefix(text, p.text)
	case matchExact:
		return strings.TrimSpace(text) == strings.TrimSpace(p.text)
	default:
		return p.pattern.MatchString(head(text, searched))
	}
}

// head is the first n characters of a text.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	end := 0
	for ; n > 0 && end < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	return text[:end]
}
