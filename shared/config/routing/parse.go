package routing

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Kinds of predicate.
const (
	kindTrue    = "true"
	kindScope   = "scope"
	kindDirect  = "direct"
	kindGroup   = "group"
	kindAtMe    = "at-me"
	kindQuoteMe = "quote-me"
	kindContent = "content"
	kindNot     = "not"
	kindAnd     = "and"
	kindOr      = "or"
	kindCustom  = "custom"
)

// Ways to match content.
const (
	matchContains   = "contains"
	matchStartsWith = "startsWith"
	matchExact      = "exact"
	matchRegex      = "regex"
)

// fieldsOf tells for each kind the fields it takes beside kind; a trailing ? marks one that may be absent.
var fieldsOf = map[string][]string{
	kindTrue: nil, kindDirect: nil, kindGroup: nil, kindAtMe: nil, kindQuoteMe: nil,
	kindScope: {"field", "values"}, kindContent: {"match", "text"},
	kindNot: {"operand"}, kindAnd: {"operands"}, kindOr: {"operands"},
	kindCustom: {"id", "args?"},
}

// Bounds of a filter.
const (
	maxDepth    = 16   // filters in one another
	maxOperands = 64   // of one and, or
	maxValues   = 1000 // of one scope
	maxText     = 1000 // bytes of one text
)

// PathError is one thing that is wrong in a filter.
type PathError struct {
	Path string // from the filter's own mapping on, for example operands[1].field; empty for the mapping itself
	Says string // what is wrong and what is allowed
}

// Error implements error.
func (e *PathError) Error() string {
	if e.Path == "" {
		return e.Says
	}
	return e.Path + ": " + e.Says
}

// ParseFilter reads a filter from the mapping that YAML or JSON makes of it. The error joins a *PathError for each thing that is wrong.
func ParseFilter(v any) (Filter, error) {
	d := decoder{}
	p := d.filter("", v, 1)
	return p, errors.Join(d.problems...)
}

type decoder struct{ problems []error }

func (d *decoder) wrong(path, format string, args ...any) {
	d.problems = append(d.problems, &PathError{Path: path, Says: fmt.Sprintf(format, args...)})
}

func under(path, field string) string { return strings.TrimPrefix(path+"."+field, ".") }

func (d *decoder) filter(path string, v any, depth int) Filter {
	m, ok := v.(map[string]any)
	switch {
	case !ok:
		d.wrong(path, "a filter is a mapping with a kind, for example {kind: direct}")
		return Filter{}
	case depth > maxDepth:
		d.wrong(path, "filters stand in one another more than %d deep", maxDepth)
		return Filter{}
	}
	kind, _ := m["kind"].(string)
	takes, known := fieldsOf[kind]
	if !known {
		d.wrong(kindPath(path, m), "kind %s is not allowed, write one of %s", shown(m["kind"]), strings.Join(slices.Sorted(maps.Keys(fieldsOf)), ", "))
		return Filter{}
	}
	if !d.fields(path, kind, m, takes) {
		return Filter{kind: kind}
	}
	p := Filter{kind: kind}
	switch kind {
	case kindScope:
		d.scope(path, m, &p)
	case kindContent:
		d.content(path, m, &p)
	case kindNot:
		p.operands = []Filter{d.filter(under(path, "operand"), m["operand"], depth+1)}
	case kindAnd, kindOr:
		p.operands = d.operands(under(path, "operands"), m["operands"], depth)
	case kindCustom:
		d.custom(path, m, &p)
	}
	return p
}

func kindPath(path string, m map[string]any) string {
	if _, there := m["kind"]; there {
		return under(path, "kind")
	}
	return path
}

// shown is how a complaint quotes a value of any size and type.
func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprintf("%.60q", fmt.Sprint(v))
}

// fields complains about fields that the kind does not take, and about those that it lacks.
func (d *decoder) fields(path, kind string, m map[string]any, takes []string) bool {
	before := len(d.problems)
	allowed := []string{"kind"}
	for _, f := range takes {
		name, optional := strings.CutSuffix(f, "?")
		allowed = append(allowed, name)
		if _, there := m[name]; !there && !optional {
			d.wrong(path, "kind %s needs %s", kind, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(allowed, name) {
			d.wrong(under(path, name), "kind %s takes no %.60q, only %s", kind, name, strings.Join(allowed, ", "))
		}
	}
	return len(d.problems) == before
}

func (d *decoder) scope(path string, m map[string]any, p *Filter) {
	p.field, _ = m["field"].(string)
	if scopes[p.field] == nil {
		d.wrong(under(path, "field"), "%s is not allowed, write one of %s", shown(m["field"]), strings.Join(slices.Sorted(maps.Keys(scopes)), ", "))
	}
	list, ok := m["values"].([]any)
	if !ok || len(list) > maxValues {
		d.wrong(under(path, "values"), "write a list of at most %d ids; an empty one asks whether the field is known", maxValues)
		return
	}
	for i, v := range list {
		id, ok := v.(string)
		if !ok || id == "" || len(id) > maxText {
			d.wrong(fmt.Sprintf("%s[%d]", under(path, "values"), i), "%s: write an id in quotes", shown(v))
		}
		p.values = append(p.values, id)
	}
}

func (d *decoder) content(path string, m map[string]any, p *Filter) {
	p.match, _ = m["match"].(string)
	ways := []string{matchContains, matchStartsWith, matchExact, matchRegex}
	if !slices.Contains(ways, p.match) {
		d.wrong(under(path, "match"), "%s is not allowed, write one of %s", shown(m["match"]), strings.Join(ways, ", "))
	}
	text, ok := m["text"].(string)
	if !ok || strings.TrimSpace(text) == "" || len(text) > maxText {
		d.wrong(under(path, "text"), "%s: write 1 to %d bytes, in quotes if they look like a number", shown(m["text"]), maxText)
		return
	}
	p.text = text
	if p.match == matchRegex {
		var err error
		if p.pattern, err = regexp.Compile(text); err != nil {
			d.wrong(under(path, "text"), "%v", err)
		}
	}
}

func (d *decoder) operands(path string, v any, depth int) []Filter {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxOperands {
		d.wrong(path, "write a list of 1 to %d filters", maxOperands)
		return nil
	}
	all := make([]Filter, len(list))
	for i, o := range list {
		all[i] = d.filter(fmt.Sprintf("%s[%d]", path, i), o, depth+1)
	}
	return all
}

func (d *decoder) custom(path string, m map[string]any, p *Filter) {
	id, ok := m["id"].(string)
	if !ok || id == "" || len(id) > maxText {
		d.wrong(under(path, "id"), "%s: write the name under which the predicate is registered", shown(m["id"]))
	}
	p.id = id
	if args, there := m["args"]; there {
		if p.args, ok = args.(map[string]any); !ok {
			d.wrong(under(path, "args"), "write a mapping")
		}
	}
}
