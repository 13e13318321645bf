package routing

import (
	"maps"
	"slices"
	"strings"
)

// Suppressed is a value that a rule gives and an earlier one's lock keeps out.
type Suppressed struct {
	Path     string `json:"path"`
	Rule     string `json:"rule"`
	LockedBy string `json:"lockedBy"`
}

// Merged is what rules come to.
type Merged struct {
	Values     map[string]any
	Sources    map[string]string // dot path of each value → id of the rule that gave it
	Suppressed []Suppressed
}

// Merge lets each rule write over those before it: mappings merge key by key, anything else is replaced as a whole. A locked path, with all
// below it, keeps the state in which the locking rule left it. The rules' own values stay as they are.
func Merge(rules []Rule) Merged {
	m := merger{Merged: Merged{Values: map[string]any{}, Sources: map[string]string{}}, locks: map[string]string{}}
	for _, r := range rules {
		m.rule = r.ID
		m.write(m.Values, r.Values, "")
		for _, path := range r.Locked {
			if _, locked := m.locks[path]; !locked {
				m.locks[path] = r.ID
			}
		}
	}
	return m.Merged
}

type merger struct {
	Merged
	rule  string
	locks map[string]string // dot path → id of the rule that locked it first
}

func (m *merger) write(into, from map[string]any, prefix string) {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		path, value := under(prefix, key), from[key]
		section, isSection := value.(map[string]any)
		below, wasSection := into[key].(map[string]any)
		by, locked := m.lockOn(path)
		if !locked && !isSection {
			by, locked = m.lockBelow(path)
		}
		switch {
		case locked:
			m.suppress(path, value, by)
		case isSection && wasSection:
			m.write(below, section, path)
		default:
			m.replace(into, key, path, value)
		}
	}
}

// replace puts a value in the place of whatever is there.
func (m *merger) replace(into map[string]any, key, path string, value any) {
	maps.DeleteFunc(m.Sources, func(p, _ string) bool { return p == path || strings.HasPrefix(p, path+".") })
	if section, ok := value.(map[string]any); ok {
		fresh := map[string]any{}
		into[key] = fresh
		m.write(fresh, section, path)
		return
	}
	into[key], m.Sources[path] = value, m.rule
}

// lockOn finds the lock on the path or on what holds it.
func (m *merger) lockOn(path string) (by string, locked bool) {
	for p := path; ; {
		if by, locked = m.locks[p]; locked {
			return by, true
		}
		i := strings.LastIndexByte(p, '.')
		if i < 0 {
			return "", false
		}
		p = p[:i]
	}
}

// lockBelow finds a lock within what stands at the path.
func (m *merger) lockBelow(path string) (by string, locked bool) {
	for _, p := range slices.Sorted(maps.Keys(m.locks)) {
		if strings.HasPrefix(p, path+".") {
			return m.locks[p], true
		}
	}
	return "", false
}

func (m *merger) suppress(path string, value any, by string) {
	section, ok := value.(map[string]any)
	if !ok {
		m.Suppressed = append(m.Suppressed, Suppressed{Path: path, Rule: m.rule, LockedBy: by})
		return
	}
	for _, key := range slices.Sorted(maps.Keys(section)) {
		m.suppress(under(path, key), section[key], by)
	}
}
