package routing_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kesoku.dev/shared/config/routing"
)

func filter(t *testing.T, text string) routing.Filter {
	t.Helper()
	f, err := routing.ParseFilter(mapping(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func mapping(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func scope(field string, values ...string) string {
	list, _ := json.Marshal(append([]string{}, values...)) // strings always marshal
	return `{"kind": "scope", "field": "` + field + `", "values": ` + string(list) + `}`
}

func content(match, text string) string {
	quoted, _ := json.Marshal(text) // so do these
	return `{"kind": "content", "match": "` + match + `", "text": ` + string(quoted) + `}`
}

const (
	yes = `{"kind": "true"}`
	no  = `{"kind": "not", "operand": {"kind": "true"}}`
)

// custom predicates: one of the content, one of an argument.
var custom = routing.Predicates{
	"shouting": func(_ map[string]any, f routing.Facts) bool { return f.Text != "" && f.Text == strings.ToUpper(f.Text) },
	"longer": func(args map[string]any, f routing.Facts) bool {
		n, _ := args["than"].(float64)
		return float64(len(f.Text)) > n
	},
}

// P12: what each predicate asks. Case B28: a person is their id, whatever their name. Case B27: a thread is in its channel, and a place that is
// not known is in no list.
func TestPredicates(t *testing.T) {
	t.Parallel()
	here := routing.Facts{Platform: "p", Self: "bot", Guild: "g", Channel: "c", Thread: "t", User: "u", Text: "Hello there"}
	with := func(change func(*routing.Facts)) routing.Facts {
		f := here
		change(&f)
		return f
	}
	long := strings.Repeat("世", 19_999)
	tests := []struct {
		filter string
		facts  routing.Facts
		want   bool
	}{
		{yes, routing.Facts{}, true},
		{no, here, false},
		{scope("platform", "x", "p"), here, true},
		{scope("platform", "x"), here, false},
		{scope("platform", "P"), here, false},
		{scope("self", "bot"), here, true},
		{scope("guild", "g"), here, true},
		{scope("channel", "c"), here, true},
		{scope("channel", "t"), here, false},
		{scope("channel", "c"), with(func(f *routing.Facts) { f.Channel = "" }), false},
		{scope("user", "u"), here, true},
		{scope("user", "Chii"), here, false},
		{scope("route", "p:c"), here, true},
		{scope("route", "c"), here, false},
		{scope("route", "p:"), with(func(f *routing.Facts) { f.Channel = "" }), false},
		{scope("guild"), here, true},
		{scope("guild"), with(func(f *routing.Facts) { f.Guild = "" }), false},
		{scope("route"), with(func(f *routing.Facts) { f.Platform = "" }), false},
		{`{"kind": "direct"}`, here, false},
		{`{"kind": "direct"}`, with(func(f *routing.Facts) { f.Direct = true }), true},
		{`{"kind": "group"}`, here, true},
		{`{"kind": "group"}`, with(func(f *routing.Facts) { f.Direct = true }), false},
		{`{"kind": "at-me"}`, here, false},
		{`{"kind": "at-me"}`, with(func(f *routing.Facts) { f.AtMe = true }), true},
		{`{"kind": "quote-me"}`, with(func(f *routing.Facts) { f.AtMe = true }), false},
		{`{"kind": "quote-me"}`, with(func(f *routing.Facts) { f.QuoteMe = true }), true},
		{content("contains", "lo th"), here, true},
		{content("contains", "hello"), here, false},
		{content("startsWith", "Hello"), here, true},
		{content("startsWith", "there"), here, false},
		{content("exact", "Hello there"), with(func(f *routing.Facts) { f.Text = " Hello there\n" }), true},
		{content("exact", " Hello there"), here, true},
		{content("exact", "Hello"), here, false},
		{content("regex", "(?i)^hello"), here, true},
		{content("regex", "^there"), here, false},
		{content("regex", "end$"), with(func(f *routing.Facts) { f.Text = long[:len(long)-6] + "end" }), true},
		{content("regex", "x"), with(func(f *routing.Facts) { f.Text = long + "x" }), true},      // the 20,000th character
		{content("regex", "x"), with(func(f *routing.Facts) { f.Text = long + "世x" }), false},    // the 20,001st
		{content("contains", "x"), with(func(f *routing.Facts) { f.Text = long + "世世x" }), true}, // not bounded: one pass over what a platform allows
		{`{"kind": "and", "operands": [` + yes + `, ` + yes + `]}`, here, true},
		{`{"kind": "and", "operands": [` + yes + `, ` + no + `]}`, here, false},
		{`{"kind": "or", "operands": [` + no + `, ` + yes + `]}`, here, true},
		{`{"kind": "or", "operands": [` + no + `, ` + no + `]}`, here, false},
		{`{"kind": "custom", "id": "shouting"}`, here, false},
		{`{"kind": "custom", "id": "shouting"}`, with(func(f *routing.Facts) { f.Text = "HEY" }), true},
		{`{"kind": "custom", "id": "longer", "args": {"than": 3}}`, here, true},
		{`{"kind": "custom", "id": "longer", "args": {"than": 30}}`, here, false},
		{`{"kind": "custom", "id": "unheard"}`, here, false},
	}
	for _, tt := range tests {
		if got := filter(t, tt.filter).Holds(tt.facts, custom); got != tt.want {
			t.Errorf("%.100s: %t, want %t", tt.filter, got, tt.want)
		}
	}
}

// P12: how narrow a filter is, and whether it looks at content.
func TestSpecificity(t *testing.T) {
	t.Parallel()
	and := func(of ...string) string { return `{"kind": "and", "operands": [` + strings.Join(of, ",") + `]}` }
	or := func(of ...string) string { return `{"kind": "or", "operands": [` + strings.Join(of, ",") + `]}` }
	not := func(of string) string { return `{"kind": "not", "operand": ` + of + `}` }
	at, direct := `{"kind": "at-me"}`, `{"kind": "direct"}`
	for text, want := range map[string]struct {
		specificity int
		ofContent   bool
	}{
		yes: {0, false}, no: {0, false}, scope("user", "a", "b"): {1, false}, direct: {1, false}, `{"kind": "group"}`: {1, false},
		at: {1, true}, `{"kind": "quote-me"}`: {1, true}, content("exact", "x"): {1, true}, `{"kind": "custom", "id": "x"}`: {1, true},
		not(direct): {1, false}, not(at): {1, true}, not(and(at, direct)): {2, true}, and(yes, direct): {1, false},
		or(at, direct, scope("user")): {3, true}, and(or(direct, direct), not(scope("guild"))): {3, false},
	} {
		f := filter(t, text)
		if f.Specificity() != want.specificity || f.OfContent() != want.ofContent {
			t.Errorf("%s: %d, %t, want %+v", text, f.Specificity(), f.OfContent(), want)
		}
	}
}

// What is no filter is refused, with the place and what is allowed.
func TestFilterRefusals(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"kind": "not", "operand": `, 16) + yes + strings.Repeat("}", 16)
	for text, want := range map[string][]string{
		`null`:                             {": a filter is a mapping with a kind, for example {kind: direct}"},
		`[]`:                               {": a filter is a mapping"},
		`{}`:                               {": kind nothing is not allowed, write one of and, at-me, content, custom, direct, group, not, or, quote-me, scope, true"},
		`{"kind": true}`:                   {`kind: kind "true" is not allowed`},
		`{"kind": "Direct"}`:               {`kind: kind "Direct" is not allowed`},
		`{"kind": "direct", "values": []}`: {`values: kind direct takes no "values", only kind`},
		`{"kind": "scope"}`:                {": kind scope needs field", ": kind scope needs values"},
		scope("name", "Chii"):              {`field: "name" is not allowed, write one of channel, guild, platform, route, self, user`},
		`{"kind": "scope", "field": "user", "values": "u"}`:         {"values: write a list of at most 1000 ids"},
		`{"kind": "scope", "field": "user", "values": [12345, ""]}`: {`values[0]: "12345": write an id in quotes`, `values[1]: "": write an id`},
		content("like", "x"):                           {`match: "like" is not allowed, write one of contains, startsWith, exact, regex`},
		content("exact", " "):                          {`text: " ": write 1 to 1000 bytes`},
		content("contains", strings.Repeat("x", 1001)): {`write 1 to 1000 bytes`},
		content("regex", "(a"):                         {"text: error parsing regexp: missing closing )"},
		content("regex", `(a)\1`):                      {"text: error parsing regexp: invalid escape sequence"},
		content("regex", "(x{900}){900}"):              {"text: error parsing regexp"},
		`{"kind": "not"}`:                              {": kind not needs operand"},
		`{"kind": "and", "operands": []}`:              {"operands: write a list of 1 to 64 filters"},
		`{"kind": "or", "operands": [{"kind": "direct"}, {"kind": "x"}, {"kind": "not", "operand": 1}]}`: {
			`operands[1].kind: kind "x" is not allowed`, "operands[2].operand: a filter is a mapping",
		},
		`{"kind": "custom", "id": ""}`:             {`id: "": write the name under which the predicate is registered`},
		`{"kind": "custom", "id": "x", "args": 1}`: {"args: write a mapping"},
		deep: {"filters stand in one another more than 16 deep"},
	} {
		_, err := routing.ParseFilter(mapping(t, text))
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			t.Errorf("%.100s: %v", text, err)
			continue
		}
		var got []string
		for _, e := range joined.Unwrap() {
			var p *routing.PathError
			if !errors.As(e, &p) {
				t.Fatalf("%s: %T", text, e)
			}
			got = append(got, p.Path+": "+p.Says)
		}
		if len(got) != len(want) {
			t.Errorf("%.100s: %s", text, cmp.Diff(want, got))
		}
		for _, w := range want {
			if !slices.ContainsFunc(got, func(g string) bool { return strings.Contains(g, w) }) {
				t.Errorf("%.100s: %q does not say %q", text, got, w)
			}
		}
	}
}

// Whatever is read as a filter can be asked, and is bounded.
func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{
		yes, no, scope("user", "a"), content("regex", "a+"), `{"kind": "and", "operands": [{"kind": "direct"}]}`,
		`{"kind": "custom", "id": "shouting", "args": {}}`, `{"kind": 1}`, `[]`, `{"kind": "or", "operands": [null]}`,
	} {
		f.Add(s, "text")
	}
	f.Fuzz(func(t *testing.T, s, text string) {
		var v any
		if json.Unmarshal([]byte(s), &v) != nil {
			return
		}
		p, err := routing.ParseFilter(v)
		if err != nil {
			return
		}
		facts := routing.Facts{Platform: "p", Channel: "c", User: text, Text: text}
		holds := p.Holds(facts, custom)
		if again, err := routing.ParseFilter(v); err != nil || again.Holds(facts, custom) != holds || p.Specificity() < 0 {
			t.Errorf("%s: %t, then not: %v", s, holds, err)
		}
		if n, err := routing.ParseFilter(map[string]any{"kind": "not", "operand": v}); err == nil && n.Holds(facts, nil) == p.Holds(facts, nil) {
			t.Errorf("not %s is the same", s)
		}
	})
}
