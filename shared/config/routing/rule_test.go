package routing_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kesoku.dev/shared/config/routing"
)

// drawnRules are rules of few and thus often equal properties, with ids of their own.
func drawnRules(t *rapid.T) []routing.Rule {
	n := rapid.IntRange(1, 6).Draw(t, "rules")
	all := []routing.Rule{{ID: routing.Global, Values: drawnValues(t, 3), Locked: drawnLocks(t)}}
	for i := range n {
		operands := make([]any, rapid.IntRange(1, 3).Draw(t, "conditions"))
		for j := range operands {
			operands[j] = map[string]any{"kind": rapid.SampledFrom([]string{"true", "group"}).Draw(t, "kind")}
		}
		f, err := routing.ParseFilter(map[string]any{"kind": "and", "operands": operands})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, routing.Rule{
			ID: fmt.Sprintf("r%d", i), Filter: f, Priority: rapid.IntRange(-1, 1).Draw(t, "priority"), Values: drawnValues(t, 3), Locked: drawnLocks(t),
			CreatedAt: rapid.Int64Range(0, 1).Draw(t, "created"), Off: rapid.Bool().Draw(t, "off"),
		})
	}
	return rapid.Permutation(all).Draw(t, "order")
}

func drawnValues(t *rapid.T, depth int) map[string]any {
	values := map[string]any{}
	for _, key := range []string{"a", "b", "c"} {
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			values[key] = rapid.IntRange(0, 99).Draw(t, "scalar")
		case 1:
			values[key] = []any{rapid.IntRange(0, 99).Draw(t, "item")}
		case 2:
			if depth > 1 {
				values[key] = drawnValues(t, depth-1)
			}
		}
	}
	return values
}

func drawnLocks(t *rapid.T) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "a.a", "a.b", "b.c", "a.b.c"}), 0, 2, rapid.ID[string]).Draw(t, "locks")
}

// leaves are the values that are no mappings, by their dot paths.
func leaves(prefix string, values map[string]any) map[string]any {
	all := map[string]any{}
	for key, v := range values {
		if section, ok := v.(map[string]any); ok {
			maps.Copy(all, leaves(prefix+key+".", section))
		} else {
			all[prefix+key] = v
		}
	}
	return all
}

// P12: the order is total, whatever order the rules are written in; global is first, and what comes first of the criteria decides first.
func TestOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawnRules(t)
		got := routing.NewSet(rules, nil).Match(routing.Facts{})
		again := routing.NewSet(rapid.Permutation(rules).Draw(t, "again"), nil).Match(routing.Facts{})
		ids := func(all []routing.Rule) (of []string) {
			for _, r := range all {
				of = append(of, r.ID)
			}
			return of
		}
		if diff := cmp.Diff(ids(got), ids(again)); diff != "" {
			t.Fatal(diff)
		}
		if got[0].ID != routing.Global {
			t.Fatalf("%v", ids(got))
		}
		on := 0
		for _, r := range rules {
			if !r.Off {
				on++
			}
		}
		if len(got) != on {
			t.Fatalf("%d of %d", len(got), on)
		}
		rank := func(r routing.Rule) []int64 {
			return []int64{int64(r.Filter.Specificity()), int64(r.Priority), r.CreatedAt}
		}
		for i := 2; i < len(got); i++ {
			a, b := got[i-1], got[i]
			if c := slices.Compare(rank(a), rank(b)); c > 0 || c == 0 && a.ID >= b.ID {
				t.Fatalf("%s before %s: %v, %v", a.ID, b.ID, rank(a), rank(b))
			}
		}
	})
}

// P12: a narrower filter beats any priority; each further criterion decides only between equals.
func TestOrderByExample(t *testing.T) {
	t.Parallel()
	narrow, wide := filter(t, `{"kind": "and", "operands": [{"kind": "group"}, {"kind": "group"}]}`), filter(t, `{"kind": "group"}`)
	for name, tt := range map[string][2]routing.Rule{
		"global first":     {{ID: "global", Filter: narrow, Priority: 9}, {ID: "a"}},
		"specificity":      {{ID: "b", Filter: wide, Priority: 1000}, {ID: "a", Filter: narrow, Priority: -1}},
		"priority":         {{ID: "b", Filter: wide, CreatedAt: 9}, {ID: "a", Filter: wide, Priority: 1}},
		"time of creation": {{ID: "b", Filter: wide, CreatedAt: 1}, {ID: "a", Filter: wide, CreatedAt: 2}},
		"id":               {{ID: "a", Filter: wide}, {ID: "b", Filter: wide}},
	} {
		if routing.Compare(tt[0], tt[1]) >= 0 || routing.Compare(tt[1], tt[0]) <= 0 {
			t.Errorf("%s: %s does not come before %s", name, tt[0].ID, tt[1].ID)
		}
	}
}

// P12: without locks, each value is that of the last rule that says something about it; each has its source; nothing is lost, nothing made up.
func TestMerge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawnRules(t)
		for i := range rules {
			rules[i].Locked = nil
		}
		before, _ := json.Marshal(rules) // of plain values
		m := routing.Merge(rules)
		if after, _ := json.Marshal(rules); !bytes.Equal(after, before) || len(m.Suppressed) != 0 {
			t.Fatal("the rules' own values changed")
		}
		want, sources := map[string]any{}, map[string]string{}
		for _, r := range rules {
			for path, v := range leaves("", r.Values) {
				drop := func(p string) bool { return strings.HasPrefix(p, path+".") || strings.HasPrefix(path, p+".") }
				maps.DeleteFunc(want, func(p string, _ any) bool { return drop(p) })
				maps.DeleteFunc(sources, func(p, _ string) bool { return drop(p) })
				want[path], sources[path] = v, r.ID
			}
			for _, path := range emptied("", r.Values) { // a mapping replaces a scalar even if it is empty
				delete(want, path)
				delete(sources, path)
			}
		}
		if diff := cmp.Diff(want, leaves("", m.Values)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(sources, m.Sources); diff != "" {
			t.Fatal(diff)
		}
	})
}

func emptied(prefix string, values map[string]any) (paths []string) {
	for key, v := range values {
		if section, ok := v.(map[string]any); ok {
			paths = append(append(paths, prefix+key), emptied(prefix+key+".", section)...)
		}
	}
	return paths
}

// P12: what a rule locks stays as that rule left it, whoever comes later; what a lock keeps out is told, and all else holds as without it.
func TestLocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rules := drawnRules(t)
		within := func(path, lock string) bool { return path == lock || strings.HasPrefix(path, lock+".") }
		for i, r := range rules {
			soFar, all := routing.Merge(rules[:i+1]), routing.Merge(rules)
			for _, lock := range r.Locked {
				other := func(path string, _ any) bool { return !within(path, lock) }
				then, now := leaves("", soFar.Values), leaves("", all.Values)
				maps.DeleteFunc(then, other)
				maps.DeleteFunc(now, other)
				if diff := cmp.Diff(then, now); diff != "" {
					t.Fatalf("%s, locked by %s, changed: %s", lock, r.ID, diff)
				}
			}
		}
		m := routing.Merge(rules)
		for _, s := range m.Suppressed {
			rule := rules[slices.IndexFunc(rules, func(r routing.Rule) bool { return r.ID == s.Rule })]
			by := rules[slices.IndexFunc(rules, func(r routing.Rule) bool { return r.ID == s.LockedBy })]
			_, given := leaves("", rule.Values)[s.Path]
			onWay := slices.ContainsFunc(by.Locked, func(lock string) bool { return within(s.Path, lock) || within(lock, s.Path) })
			if !given || !onWay || m.Sources[s.Path] == s.Rule {
				t.Fatalf("%+v: given %t, locked %v", s, given, by.Locked)
			}
		}
	})
}

func TestMergeByExample(t *testing.T) {
	t.Parallel()
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for pair := range slices.Chunk(pairs, 2) {
			m[pair[0].(string)] = pair[1]
		}
		return m
	}
	got := routing.Merge([]routing.Rule{
		{ID: "global", Values: object("chat", object("model", "a", "tools", []any{1, 2}, "merge", object("mode", "settle"))), Locked: []string{"chat.merge.mode"}},
		{ID: "room", Values: object("chat", object("tools", []any{3}, "merge", object("mode", "immediate", "quiet", 5))), Locked: []string{"render", "chat.merge.mode"}},
		{ID: "boss", Values: object("chat", object("model", "b", "merge", "none"), "render", object("quote", true))},
	})
	want := routing.Merged{
		Values: object("chat", object("model", "b", "tools", []any{3}, "merge", object("mode", "settle", "quiet", 5))),
		Sources: map[string]string{
			"chat.model": "boss", "chat.tools": "room", "chat.merge.mode": "global", "chat.merge.quiet": "room",
		},
		Suppressed: []routing.Suppressed{
			{Path: "chat.merge.mode", Rule: "room", LockedBy: "global"}, {Path: "chat.merge", Rule: "boss", LockedBy: "global"},
			{Path: "render.quote", Rule: "boss", LockedBy: "room"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// P12: a rule that is off is out of play, the global one always holds, and a predicate that nobody registered is told of, wherever it stands.
func TestSet(t *testing.T) {
	t.Parallel()
	unheard := filter(t, `{"kind": "or", "operands": [{"kind": "group"}, {"kind": "custom", "id": "unheard"}]}`)
	s := routing.NewSet([]routing.Rule{
		{ID: "off", Off: true, Filter: filter(t, `{"kind": "at-me"}`)}, {ID: "direct", Filter: filter(t, `{"kind": "direct"}`)},
		{ID: "odd", Filter: unheard}, {ID: "global", Filter: filter(t, no)},
	}, custom)
	for facts, want := range map[routing.Facts]string{{}: "global odd", {Direct: true}: "global direct", {AtMe: true}: "global odd"} {
		var ids []string
		for _, r := range s.Match(facts) {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%+v: %s, want %s", facts, got, want)
		}
	}
	want := []routing.Diagnostic{{Rule: "odd", Says: `the custom predicate "unheard" is not registered, so it does not hold`}}
	if diff := cmp.Diff(want, s.Diagnostics()); diff != "" || !s.OfContent() {
		t.Error(diff, s.OfContent())
	}
	plain := routing.NewSet([]routing.Rule{{ID: "off", Off: true, Filter: filter(t, `{"kind": "at-me"}`)}, {ID: "global"}}, nil)
	if plain.OfContent() || plain.Diagnostics() != nil {
		t.Error("a rule that is off counts")
	}
}
