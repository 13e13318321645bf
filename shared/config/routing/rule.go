package routing

import (
	"cmp"
	"slices"
	"strings"
)

// Global is the id of the rule that always holds and comes first.
const Global = "global"

// Rule gives values where its filter holds.
type Rule struct {
	ID     string
	Filter Filter
	// Values are nested mappings of settings; what is no mapping, a list too, is one value.
	Values map[string]any
	// Off takes the rule out altogether.
	Off      bool
	Priority int
	// Locked are dot paths that no later rule rewrites.
	Locked    []string
	CreatedAt int64 // milliseconds since 1970
}

// Compare orders rules; of two that set the same the later one wins: global is first, then it is specificity, priority, time of creation and
// id, each ascending.
func Compare(a, b Rule) int {
	return cmp.Or(
		-compareBool(a.ID == Global, b.ID == Global),
		cmp.Compare(a.Filter.Specificity(), b.Filter.Specificity()),
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(a.CreatedAt, b.CreatedAt),
		strings.Compare(a.ID, b.ID),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// Diagnostic is something an operator should know of a resolution.
type Diagnostic struct {
	Rule string `json:"rule,omitempty"` // whose fault it is; empty if it is no single rule's
	Says string `json:"says"`
}

// Set is the rules that are on, in their order. It is safe for concurrent use.
type Set struct {
	rules       []Rule
	custom      Predicates
	diagnostics []Diagnostic
	ofContent   bool
}

// NewSet orders the rules. The custom predicates are those their filters name.
func NewSet(rules []Rule, custom Predicates) *Set {
	s := &Set{rules: slices.Clone(rules), custom: custom}
	s.rules = slices.DeleteFunc(s.rules, func(r Rule) bool { return r.Off })
	slices.SortStableFunc(s.rules, Compare)
	for _, r := range s.rules {
		s.ofContent = s.ofContent || r.Filter.OfContent()
		for _, id := range r.Filter.unregistered(custom) {
			s.diagnostics = append(s.diagnostics, Diagnostic{Rule: r.ID, Says: "the custom predicate " + shown(id) + " is not registered, so it does not hold"})
		}
	}
	return s
}

// OfContent tells whether any of the rules looks at what a message says: then two messages from one place may meet different rules.
func (s *Set) OfContent() bool { return s.ofContent }

// Diagnostics tells what is wrong with the rules whatever they meet.
func (s *Set) Diagnostics() []Diagnostic { return s.diagnostics }

// Match returns the rules that hold, in their order.
func (s *Set) Match(f Facts) []Rule {
	var hold []Rule
	for _, r := range s.rules {
		if r.ID == Global || r.Filter.Holds(f, s.custom) {
			hold = append(hold, r)
		}
	}
	return hold
}
