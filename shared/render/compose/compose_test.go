package compose_test

import (
	"regexp"
	"strings"
	"testing"

	"kesoku.dev/shared/locale"
	"kesoku.dev/shared/render"
	"kesoku.dev/shared/render/compose"
)

// scene has one message to quote, which is the prompt too.
var scene = compose.Scene{Quoted: func(id string) (compose.Quoted, bool) {
	return compose.Quoted{Sender: "Ann *B*", Text: "what is\n2 * 3? <users/all>"}, id == "" || id == "m1"
}}

const quoted = "> *Ann ∗B**: what is 2 * 3? <\u200Busers/all>"

// P17: elements become the platform's markup; all else stays the text that it is.
func TestElements(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, chat, plain string }{
		"none":              {"a **b** <c", "a *b* <c", "a b <c"},
		"mention":           {`hi <at id="users/123"/>!`, "hi <users/123>!", "hi @123!"},
		"mention alone":     {`<at id="users/123"/>`, "<users/123>", "@123"},
		"marked mention":    {`**<at id='users/1' />** and *<at id="users/2"/>x*`, "*<users/1>* and _<users/2>x_", "@1 and @2x"},
		"in a list":         {"- <at id=\"users/1\"/> does\n- x", "- <users/1> does\n- x", "• @1 does\n• x"},
		"in a table":        {"|a|\n|-|\n|<at id=\"users/1\"/>|", "```\na\n---\n<users/1>\n```", "a\n@1"},
		"mention of all":    {`<at id="users/all"/>`, "<at id=\"users/all\"/>", "@all"},
		"mention of ALL":    {`<at id="users/ALL"/>`, "<at id=\"users/ALL\"/>", "@ALL"},
		"forged mention":    {`<at id="users/1&gt;&lt;users/all"/>`, "<at id=\"users/1&gt;&lt;users/all\"/>", "<at id=\"users/1&gt;&lt;users/all\"/>"},
		"in a code span":    {"`<at id=\"users/1\"/>`", "`<at id=\"users/1\"/>`", "<at id=\"users/1\"/>"},
		"in a block":        {"```\n<at id=\"users/1\"/>\n```", "```\n<at id=\"users/1\"/>\n```", "<at id=\"users/1\"/>"},
		"unknown":           {`<poke id="users/1"/>`, `<poke id="users/1"/>`, `<poke id="users/1"/>`},
		"not closed":        {`<at id="users/1">x</at>`, `<at id="users/1">x</at>`, `<at id="users/1">x</at>`},
		"no quotes":         {`<at id=users/1/>`, `<at id=users/1/>`, `<at id=users/1/>`},
		"upper case":        {`<AT id="users/1"/>`, `<AT id="users/1"/>`, `<AT id="users/1"/>`},
		"escaped":           {`\<at id="users/1"/>`, `<at id="users/1"/>`, `<at id="users/1"/>`},
		"placeholder":       {"\uFDD00\uFDD1 <at id=\"users/1\"/>", "\uFFFD0\uFFFD <users/1>", "\uFFFD0\uFFFD @1"},
		"quote":             {"<quote/>six", quoted + "\n\nsix", "> Ann *B*: what is 2 * 3? <users/all>\n\nsix"},
		"quote by id":       {"six\n\n<quote id=\"m1\"/>", quoted + "\n\nsix", "> Ann *B*: what is 2 * 3? <users/all>\n\nsix"},
		"quote, then text":  {"<quote/>\n*six*", quoted + "\n\n_six_", "> Ann *B*: what is 2 * 3? <users/all>\n\nsix"},
		"unknown quote":     {"a <quote id=\"m9\"/> b", "a  b", "a  b"},
		"media":             {`see <img src="https://x.example/a b.png?q=1&amp;r=2" alt="a [chart]"/>`, "see <https://x.example/a%20b.png?q=1&r=2|a [chart]>", "see a [chart] (https://x.example/a%20b.png?q=1&r=2)"},
		"media, unnamed":    {`<file src="https://x.example/p"/>`, "<https://x.example/p|x.example>", "x.example (https://x.example/p)"},
		"media, other":      {`<img src="javascript:alert(1)"/>`, `<img src="javascript:alert(1)"/>`, `<img src="javascript:alert(1)"/>`},
		"media, secrets":    {`<img src="https://u:p@x.example/"/>`, `<img src="https://u:p@x.example/"/>`, `<img src="https://u:p@x.example/"/>`},
		"only a definition": {"[x]: <users/all>", "[x]: <\u200Busers/all>", "[x]: <users/all>"},
		"only what is lost": {`<quote id="m9"/>`, `<quote id="m9"/>`, `<quote id="m9"/>`},
		"in HTML":           {"<div>\n<at id=\"users/1\"/>\n</div>", "<div>\n<users/1>\n</div>", "<div>\n@1\n</div>"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := compose.GoogleChat().Print(tt.text, render.GoogleChat{}, scene); got != tt.chat {
				t.Errorf("Google Chat: %q, want %q", got, tt.chat)
			}
			if got := compose.Plain().Print(tt.text, render.Plain{}, scene); got != tt.plain {
				t.Errorf("plain: %q, want %q", got, tt.plain)
			}
		})
	}
}

// Markup parts no word in a text's bare reading.
func TestBare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a sec`ret` b":                                     "a secret b",
		"[sec](https://x.test/y)ret":                       "secret",
		"[sec![re](https://x.test)t](https://x.no)":        "secret",
		"![sec](https://x.test)ret":                        "secret",
		"s**ecre**t s~~ecre~~t":                            "secret secret",
		`sec<at id="users/1"/>ret <poke/>`:                 "secret <poke/>",
		`<quote/>sec<img src="https://x.test" alt="re"/>t`: "secret",
		"机**密**":                                           "机密",
		"https://x.test":                                   "https://x.test",
		`\*a\* <b>`:                                        "*a* <b>",
	} {
		if got := strings.TrimSpace(compose.GoogleChat().Bare(text)); got != want {
			t.Errorf("%q reads %q, want %q", text, got, want)
		}
	}
}

// What a model is told that it may write is what there is.
func TestGuide(t *testing.T) {
	t.Parallel()
	for tag := range strings.FieldsFuncSeq(compose.Guide, func(r rune) bool { return r == '\n' || r == ';' }) {
		from, to := strings.IndexByte(tag, '<'), strings.Index(tag, "/>")
		if from < 0 {
			continue
		}
		example := strings.NewReplacer("https://...", "https://x.example/", `"..."`, `"m1"`).Replace(tag[from : to+2])
		if got := compose.Plain().Print("a "+example, render.Plain{}, scene); strings.Contains(got, "<"+example[1:3]) {
			t.Errorf("%s is printed as %q", example, got)
		}
	}
	for _, name := range []string{"img", "audio", "video", "file"} {
		if guide := compose.Guide; !strings.Contains(guide, name) {
			t.Errorf("the guide does not tell of %s", name)
		}
	}
}

// P17: a registry is the wiring code's own: an element that it adds, one that renders to nothing, a tool's display, an action.
func TestRegistry(t *testing.T) {
	t.Parallel()
	r := compose.NewRegistry().
		Expand("sign", func(e compose.Element, _ compose.Scene) (string, bool) {
			return "**" + e.Attrs["by"] + `** <sign by="x"/>`, true
		}).
		Render("secret", func(compose.Element, compose.Scene) (string, bool) { return "", true }).
		Tool("fetch", func(c compose.ToolCall) (string, string) { return "fetch!" + c.Arguments, strings.ToUpper(c.Result) })
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	// What an expander writes is not expanded again, and what is hidden leaves no gap.
	if got := r.Print(`a <secret/> b <sign by="me"/>`, render.GoogleChat{}, compose.Scene{}); got != `a b *me* <sign by="x"/>` {
		t.Errorf("printed %q", got)
	}
	for name, want := range map[string][2]string{"fetch": {"fetch!{}", "OK"}, "other": {"{}", "ok"}} {
		if detail, result := r.Display(compose.ToolCall{Name: name, Arguments: "{}", Result: "ok"}); [2]string{detail, result} != want {
			t.Errorf("%s is shown as %q, %q", name, detail, result)
		}
	}
	if b := r.Button(compose.ActionStop, locale.For("en"), nil); b != nil {
		t.Errorf("button %+v of an action nobody registered", b)
	}
	b := compose.GoogleChat().Button(compose.ActionStop, locale.For("en"), map[string]string{"turn": "1"})
	if b == nil || b.Action != "stop" || b.Label != "Stop" || b.Params["turn"] != "1" {
		t.Errorf("button %+v", b)
	}
	if err := compose.Plain().Render(compose.ElementAt, nil).Expand("", nil).Err(); err == nil || strings.Count(err.Error(), "registered before") != 2 {
		t.Errorf("%v, want both complaints", err)
	}
}

// Elements in a text that is not parsed are text.
func TestElementsOfWhatIsNotParsed(t *testing.T) {
	t.Parallel()
	text := `<at id="users/1"/> <quote/>` + "\n" + strings.Repeat("> ", 64<<10) + "*a*"
	if got := compose.GoogleChat().Print(text, render.Plain{}, scene); got != text {
		t.Errorf("printed %.100q", got)
	}
}

// There is no end of elements in a text, but of those that are rendered.
func TestElementsAreBounded(t *testing.T) {
	t.Parallel()
	got := compose.GoogleChat().Print(strings.Repeat(`<at id="users/1"/> `, 60), render.GoogleChat{}, compose.Scene{})
	if n := strings.Count(got, "<users/1>"); n != 50 || strings.Count(got, "<at ") != 10 {
		t.Errorf("%d mentions", n)
	}
	long := `<img src="https://x.example/` + strings.Repeat("a", 5000) + `"/>`
	if got := compose.Plain().Print(long, render.Plain{}, compose.Scene{}); got != long {
		t.Errorf("a tag of %d bytes was rendered", len(long))
	}
}

var mention = regexp.MustCompile(`<users/[^>]*>`)

// FuzzPrint holds for all texts: no mention but of somebody that an element names, nobody writes a placeholder, and a text without elements is
// what the dialect makes of it.
func FuzzPrint(f *testing.F) {
	f.Add("a <at id=\"users/1\"/> **b** <quote/> `<at id=\"users/2\"/>`")
	f.Add("<img src=\"https://x.example/\" alt=\"<users/all>\"/>")
	f.Add("<img src='https://x.example/' alt='&lt;users/all&gt;'/>\n<quote id=\"m1\"/>")
	registry := compose.GoogleChat()
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return // longer than is interesting: time is for shapes, not for lengths
		}
		got := registry.Print(text, render.GoogleChat{}, scene)
		if strings.ContainsAny(got, "\uFDD0\uFDD1") {
			t.Fatalf("%q became %q: a placeholder is left", text, got)
		}
		for _, m := range mention.FindAllString(got, -1) {
			if strings.EqualFold(m, "<users/all>") || !strings.Contains(text, "<at") {
				t.Fatalf("%q became %q: it mentions %s", text, got, m)
			}
		}
		if !strings.Contains(text, "/>") && !strings.ContainsAny(text, "\uFDD0\uFDD1") && got != (render.GoogleChat{}).Render(strings.TrimLeft(text, "\n")) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}
