package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"kesoku.dev/shared/chat"
	"kesoku.dev/shared/config"
	"kesoku.dev/shared/config/routing"
	"kesoku.dev/shared/config/yamlfile"
)

// ruled has a rule of each kind that matters.
const ruled = `
chat:
  model: "@main"
  activation: {nicknames: [kesoku], use: [rule]}
  session: {customKey: "{channel}:{user}"}
models: {main: gemini:gemini-2.5-flash, decide: gemini:gemini-2.5-flash-lite}
locked: [chat.engine]
rules:
  - id: room
    filter: {kind: scope, field: channel, values: [spaces/A]}
    priority: 100
    locked: [censor]
    values:
      chat:
        engine: "off"
        activation: {use: [activity, judge]}
        merge: {mode: settle}
      censor: {blockWords: [secret]}
  - id: boss
    filter:
      kind: and
      operands: [{kind: scope, field: user, values: [users/1]}, {kind: scope, field: channel, values: [spaces/A, spaces/B]}]
    values:
      chat: {model: "gemini:gemini-2.5-pro", session: {ownership: custom}, activation: {use: [rule]}}
      censor: {blockWords: []}
      render: {quote: true, thoughts: hidden}
  - id: draft
    enabled: false
    filter: {kind: group}
    values: {chat: {locale: en}}
`

// facts are of one person in different channels.
func facts(channel string) config.Facts {
	return config.Facts{Platform: "googlechat", Channel: channel, User: "users/1"}
}

// P12, P14: everything of a route is set per rule: engine, model, session, activation, merge, censor, render. Mappings merge, lists are replaced,
// locks hold, and every value says where it is from.
func TestResolve(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]string{kesoku: ruled})
	got := c.Resolve(facts("spaces/A"))
	want := config.DefaultRoute()
	want.Model, want.Session.Ownership, want.Session.CustomKey = "gemini:gemini-2.5-pro", chat.OwnershipCustom, "{channel}:{user}"
	want.Activation.Nicknames, want.Activation.Use, want.Merge.Mode = []string{"kesoku"}, []string{"rule"}, config.MergeSettle
	want.Activation.Judge.Model = "gemini:gemini-2.5-flash-lite"
	if diff := cmp.Diff(config.Resolved{
		Route: want, Censor: config.Censor{BlockWords: []string{"secret"}}, Render: config.Render{Thoughts: config.ShowHidden, Tools: config.ShowFolded, Quote: true},
		Rules: []string{"global", "room", "boss"},
		Sources: map[string]string{
			"chat.model": "boss", "chat.session.ownership": "boss", "chat.session.customKey": "global", "chat.activation.nicknames": "global",
			"chat.activation.use": "boss", "chat.merge.mode": "room", "censor.blockWords": "room", "render.quote": "boss", "render.thoughts": "boss",
		},
		Suppressed: []routing.Suppressed{{Path: "chat.engine", Rule: "room", LockedBy: "global"}, {Path: "censor.blockWords", Rule: "boss", LockedBy: "room"}},
		Cacheable:  true,
	}, got); diff != "" {
		t.Error(diff)
	}
	if r := c.Resolve(facts("spaces/C")); len(r.Rules) != 1 || r.Route.Model != "gemini:gemini-2.5-flash" || len(r.Suppressed) != 0 {
		t.Errorf("%+v", r)
	}
	e := chat.Event{Platform: "googlechat", ChannelID: "spaces/A", Sender: chat.Sender{ID: "users/1"}}
	if key := got.Route.Binding(); key.ConversationKey(&e) == e.RouteID() {
		t.Error("the rule's binding is not followed")
	}
	if c.Field("boss", "chat.model") != "rules[1].values.chat.model" || c.Field("global", "chat.model") != "chat.model" {
		t.Error(c.Field("boss", "chat.model"))
	}
}

// Case B28: whoever takes the name of somebody a rule is for stays who they are. Case B27: a thread goes by its channel's rules; where the
// channel is not known, no rule for channels holds.
func TestFactsOf(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]string{kesoku: ruled})
	e := chat.Event{
		Platform: "googlechat", ChannelID: "spaces/A", ThreadID: "spaces/A/threads/T", Direct: true, AtMe: true, QuoteMe: true, Text: "hi",
		Sender: chat.Sender{ID: "users/2", Name: "users/1"},
	}
	want := config.Facts{
		Platform: "googlechat", Channel: "spaces/A", Thread: "spaces/A/threads/T", User: "users/2", Direct: true, AtMe: true, QuoteMe: true, Text: "hi",
	}
	if diff := cmp.Diff(want, config.FactsOf(&e)); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(c.Resolve(config.FactsOf(&e)).Rules, " "); got != "global room" {
		t.Errorf("another of the same name: %s", got)
	}
	e.Sender = chat.Sender{ID: "users/1", Name: "renamed"}
	if got := strings.Join(c.Resolve(config.FactsOf(&e)).Rules, " "); got != "global room boss" {
		t.Errorf("renamed: %s", got)
	}
	e.ChannelID = ""
	if got := strings.Join(c.Resolve(config.FactsOf(&e)).Rules, " "); got != "global" {
		t.Errorf("in no known channel: %s", got)
	}
}

// P12: whether a rule of content holds is never kept: the same place and person resolve by what they say, and a custom predicate is asked each time.
func TestContentIsNeverCached(t *testing.T) {
	t.Parallel()
	asked := 0
	c, err := config.Parse(map[string]string{kesoku: `
rules:
  - {id: deploy, filter: {kind: content, match: startsWith, text: deploy}, values: {chat: {locale: en}}}
  - {id: at, filter: {kind: at-me}, values: {render: {quote: true}}}
  - {id: odd, filter: {kind: custom, id: odd, args: {n: 2}}, values: {render: {tools: hidden}}}
`}, config.Predicates{"odd": func(args map[string]any, _ config.Facts) bool {
		asked++
		return fmt.Sprint(args["n"]) == "2" && asked%2 == 1
	}})
	if err != nil {
		t.Fatal(err)
	}
	place := facts("spaces/A")
	for i, tt := range []struct {
		text string
		at   bool
		want string
	}{
		{"deploy it", false, "global deploy odd"}, {"what?", false, "global"}, {"what?", true, "global at odd"}, {"deploy", true, "global at deploy"},
		{"deploy", true, "global at deploy odd"}, {"", false, "global"},
	} {
		f := place
		f.Text, f.AtMe = tt.text, tt.at
		r := c.Resolve(f)
		if got := strings.Join(r.Rules, " "); got != tt.want || r.Cacheable || len(r.Diagnostics) != 0 {
			t.Errorf("%d: %s, want %s; %+v", i, got, tt.want, r)
		}
		if hidden := r.Render.Tools == config.ShowHidden; hidden != strings.Contains(tt.want, "odd") || (r.Route.Locale == "en") != strings.Contains(tt.want, "deploy") {
			t.Errorf("%d: values are not those of %s: %+v", i, tt.want, r)
		}
	}
	if asked != 6 {
		t.Errorf("asked %d times", asked)
	}
}

// Rules that clash only with each other are settled on the safe side, and loudly.
func TestClashesAreSettled(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]string{kesoku: `
locked: [chat.activation.judge]
rules:
  - {id: own, filter: {kind: group}, values: {chat: {session: {ownership: custom, customKey: "{channel}{user}"}, merge: {quiet: 20000, max: 30000}}}}
  - {id: p, filter: {kind: scope, field: platform, values: [p]}, values: {chat: {session: {customKey: ""}, merge: {max: 5000}}}}
  - {id: unheard, filter: {kind: not, operand: {kind: custom, id: unheard}}, values: {chat: {locale: en}}}
`})
	r := c.Resolve(config.Facts{Platform: "p"})
	if r.Route.Session.Ownership != chat.OwnershipPersonal || r.Route.Merge.Quiet != 5000 || r.Route.Locale != "en" {
		t.Errorf("%+v", r.Route)
	}
	want := []routing.Diagnostic{
		{Rule: "unheard", Says: `the custom predicate "unheard" is not registered, so it does not hold`},
		{Says: "chat.session.customKey: ownership custom needs one; ownership personal holds instead"},
		{Says: "chat.merge.quiet: 20000 is more than merge.max, 5000; merge.max holds for both"},
	}
	if diff := cmp.Diff(want, r.Diagnostics); diff != "" {
		t.Error(diff)
	}
	if r := c.Resolve(config.Facts{Platform: "q"}); len(r.Diagnostics) != 1 || r.Route.Session.Ownership != chat.OwnershipCustom {
		t.Errorf("%+v", r)
	}
	// A judge whose model a lock keeps out is not asked.
	c = parse(t, map[string]string{kesoku: "rules:\n" +
		"  - {id: lock, filter: {kind: group}, locked: [chat.activation.judge]}\n" +
		"  - {id: z, filter: {kind: group}, values: {chat: {activation: {use: [rule, judge], judge: {model: 'a:b'}}}}}\n"})
	r = c.Resolve(config.Facts{})
	if diff := cmp.Diff([]string{"rule"}, r.Route.Activation.Use); diff != "" || len(r.Diagnostics) != 1 || !strings.Contains(r.Diagnostics[0].Says, "not asked") {
		t.Errorf("%s%+v", diff, r.Diagnostics)
	}
}

// P8, P13: a role of models is resolved wherever a model is written; every model that may be called can be looked over.
func TestModels(t *testing.T) {
	t.Parallel()
	c := parse(t, map[string]string{kesoku: ruled})
	for name, want := range map[string]string{"@main": "gemini:gemini-2.5-flash", "x:y": "x:y"} {
		if got, err := c.Model(name); got != want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	if got, err := c.Model("@none"); err == nil || got != "" || !strings.Contains(err.Error(), "models has decide, main") {
		t.Errorf("%s, %v", got, err)
	}
	want := map[string]string{
		"chat.model": "gemini:gemini-2.5-flash", "models.main": "gemini:gemini-2.5-flash", "models.decide": "gemini:gemini-2.5-flash-lite",
		"rules[1].values.chat.model": "gemini:gemini-2.5-pro",
	}
	if diff := cmp.Diff(want, c.Models()); diff != "" {
		t.Error(diff)
	}
}

// Whatever rules meet, what they come to can be used: a value that one alone may have, or a settled one.
func TestResolutionsAreWhole(t *testing.T) {
	t.Parallel()
	values := []string{
		"session: {ownership: custom, customKey: '{channel}{user}'}", "session: {customKey: ''}", "session: {ownership: personal}", "merge: {quiet: 20000, max: 20000}",
		"merge: {max: 3000}", "merge: {quiet: 100}", "activation: {use: [judge], judge: {model: 'a:b'}}", "activation: {use: [rule]}",
		"activation: {judge: {model: 'c:d'}}", "model: '@m'", "model: 'x:y'",
	}
	locks := []string{"chat.session.customKey", "chat.merge", "chat.activation.judge.model", "chat.activation.use", "chat"}
	rapid.Check(t, func(t *rapid.T) {
		text := "models: {m: 'm:m'}\nrules:\n"
		n := rapid.IntRange(1, 5).Draw(t, "rules")
		for i := range n {
			text += fmt.Sprintf("  - id: r%d\n    filter: {kind: group}\n    priority: %d\n    values: {chat: {%s}}\n", i, rapid.IntRange(0, 2).Draw(t, "priority"),
				rapid.SampledFrom(values).Draw(t, "values"))
			if rapid.Bool().Draw(t, "lock") {
				text += "    locked: [" + rapid.SampledFrom(locks).Draw(t, "locked") + "]\n"
			}
		}
		c, err := config.Parse(map[string]string{kesoku: text})
		if err != nil {
			for _, complaint := range yamlfile.Complaints(err) {
				if complaint.Line == 0 {
					t.Fatal(err)
				}
			}
			return
		}
		r := c.Resolve(config.Facts{})
		if problem := broken(r.Route); problem != "" {
			t.Fatalf("%s\n%s", problem, text)
		}
		if again := c.Resolve(config.Facts{User: "other"}); !cmp.Equal(r, again) {
			t.Fatal(cmp.Diff(r, again))
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	c, err := config.Parse(map[string]string{kesoku: ruled})
	if err != nil {
		b.Fatal(err)
	}
	f := facts("spaces/A")
	for b.Loop() {
		c.Resolve(f)
	}
}
