package render_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kesoku.dev/shared/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var dialects = map[string]render.Dialect{"googlechat": render.GoogleChat{}, "plain": render.Plain{}}

// P17: Markdown becomes the platform's own markup.
func TestDialectsGolden(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("testdata/*.md")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, source := range sources {
		for name, dialect := range dialects {
			t.Run(filepath.Base(source)+"/"+name, func(t *testing.T) {
				t.Parallel()
				golden(t, strings.TrimSuffix(source, ".md")+"."+name+".golden", dialect.Render(read(t, source))+"\n")
			})
		}
	}
}

func TestGoogleChatText(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ markdown, want string }{
		"empty":                 {"", ""},
		"blank":                 {" \n\n ", ""},
		"bold":                  {"**a**", "*a*"},
		"bold over lines":       {"**a\nb**", "*a*\n*b*"},
		"bold in a heading":     {"## a **b**", "*a b*"},
		"bold in bold":          {"**a __b__ c**", "*a b c*"},
		"italic":                {"*a*", "_a_"},
		"strike":                {"~~a~~", "~a~"},
		"code":                  {"`a*b*`", "`a*b*`"},
		"link":                  {"[a](https://b.example)", "<https://b.example|a>"},
		"link in bold":          {"**[a](https://b.example)**", "*<https://b.example|a>*"},
		"unknown scheme":        {"[a](ftp://b.example)", "a (ftp://b.example)"},
		"image":                 {"![a](https://b.example/i.png)", "<https://b.example/i.png|a>"},
		"product":               {"2 * 3 * 4", "2 * 3 * 4"},
		"snake case":            {"a_b_c", "a_b_c"},
		"less":                  {"1 < 2 and a<b", "1 < 2 and a<b"},
		"one star":              {`\*a`, "*a"},
		"pair of stars":         {`\*a\*`, "\u2217a*"},
		"pair across a mark":    {`\*a **b** c\*`, "\u2217a *b* c*"},
		"pair on two lines":     {"\\*a\nb\\*", "*a\nb*"},
		"mention of everybody":  {"hi <users/all>", "hi <\u200Busers/all>"},
		"mention in code":       {"`<users/all>`", "`<\u200Busers/all>`"},
		"mention by escape":     {`\<users/all>`, "<\u200Busers/all>"},
		"link by text":          {`\<https://evil.example|bank>`, "<\u200Bhttps://evil.example|bank>"},
		"fence in code":         {"````\n```\n````", "```\n``\u200B`\n```"},
		"nested bullets":        {"- a\n  - b\n    - c", "- a\n    - b\n        - c"},
		"numbers":               {"2. a\n3. b", "2. a\n3. b"},
		"item that is a list":   {"- - a", "- - a"},
		"empty item":            {"- \n- a", "-\n- a"},
		"quote":                 {"> a\n> b", "> a\n> b"},
		"code in an item":       {"- a\n\n  ```\n  x\n  ```", "- a\n\n```\nx\n```"},
		"item that is code":     {"- ```\n  x\n  ```", "-\n```\nx\n```"},
		"unclosed fence":        {"```go\nx", "```\nx\n```"},
		"heading beside text":   {"# a\nb", "*a*\n\nb"},
		"invalid bytes":         {"a\xffb", "a\uFFFDb"},
		"table of one column":   {"|a|\n|-|\n|b|", "```\na\n-\nb\n```"},
		"escaped entity":        {`\&lt;`, "&lt;"},
		"line break of HTML":    {"a<br/>b", "a\nb"},
		"two backticks":         {"\\`a\\`", "\u02CBa`"},
		"code holding backtick": {"``a`b``", "a`b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (render.GoogleChat{}).Render(tt.markdown); got != tt.want {
				t.Errorf("Render(%q)\n got %q\nwant %q", tt.markdown, got, tt.want)
			}
		})
	}
}

// Deep nesting and long lines of marks must cost no more than their length.
func TestRenderOfHostileMarkdown(t *testing.T) {
	t.Parallel()
	for name, markdown := range map[string]string{
		"quotes":  strings.Repeat(">", 1000) + "a",
		"lists":   strings.Repeat("- ", 1000) + "a",
		"stars":   strings.Repeat("*a ", 5000),
		"escaped": strings.Repeat(`\*a `, 5000),
		"links":   strings.Repeat("[a](", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, d := range dialects {
				if got := d.Render(markdown); len(got) > 3*len(markdown) {
					t.Errorf("%d bytes became %d", len(markdown), len(got))
				}
			}
		})
	}
}

// What would cost the parser more than its length is shown as it is written, escaped.
func TestNotParsed(t *testing.T) {
	t.Parallel()
	deep, long := strings.Repeat("> ", 33), strings.Repeat("**a** b\n", 4<<10+1)
	for name, tt := range map[string]struct {
		markdown string
		parsable bool
	}{
		"quotes":             {"x\n\n" + deep + "*a*", false},
		"quotes, tight":      {strings.Repeat(">", 33) + "*a*", false},
		"lists":              {strings.Repeat("- ", 20) + strings.Repeat("1. ", 20) + "*a*", false},
		"mixed, tabs":        {strings.Repeat("+\t> 2)\t", 11) + "*a*", false},
		"links":              {strings.Repeat("[a](", 1001), false},
		"long":               {long, false},
		"as long as may be":  {long[:32<<10], true},
		"as deep as may be":  {deep[2:] + "*a*", true},
		"many quoted lines":  {strings.Repeat("> - a\n", 100), true},
		"rule":               {strings.Repeat("-", 100), true},
		"stars":              {strings.Repeat("*", 100) + "a", true},
		"hostile, 128 KiB":   {strings.Repeat("> ", 64<<10), false},
		"digits of a number": {strings.Repeat("1", 100) + ". a", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := render.Parsable(tt.markdown); got != tt.parsable {
				t.Fatalf("parsable is %v", got)
			}
			if got := (render.Plain{}).Render(tt.markdown); !tt.parsable && got != strings.Trim(tt.markdown, "\n") {
				t.Errorf("plain: %.100q", got)
			}
		})
	}
	if got, want := (render.GoogleChat{}).Render(deep+"*a* <users/all>"), deep+"\u2217a* <\u200Busers/all>"; got != want {
		t.Errorf("Google Chat: %q, want %q", got, want)
	}
}

// A mention of everybody is parted in a text that is printed already; other mentions and what is parted stay.
func TestGuard(t *testing.T) {
	t.Parallel()
	for markup, want := range map[string]string{
		"a <users/all> b":                  "a <\u200Busers/all> b",
		"<Users/ALL><users/all<users/all>": "<\u200BUsers/ALL><\u200Busers/all<\u200Busers/all>",
		"<users/1> <users/allison@x.test>": "<users/1> <users/allison@x.test>",
		"<\u200Busers/all>":                "<\u200Busers/all>",
	} {
		if got := (render.GoogleChat{}).Guard(markup); got != want {
			t.Errorf("%q became %q, want %q", markup, got, want)
		}
	}
}

func FuzzRender(f *testing.F) {
	f.Add("# a\n\n- **b** <users/all>\n\n|a|\n|-|\n")
	f.Fuzz(func(t *testing.T, markdown string) {
		for name, d := range dialects {
			got := d.Render(markdown)
			if strings.TrimSpace(got) == "" && got != "" {
				t.Errorf("%s: blank %q", name, got)
			}
		}
		if got := (render.GoogleChat{}).Render(markdown); strings.Contains(got, "<users/") {
			t.Errorf("a mention got through: %q", got)
		}
	})
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path); got != want {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
