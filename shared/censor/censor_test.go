package censor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"kesoku.dev/shared/censor"
)

func compiled(t testing.TB, r censor.Rules, matchers ...censor.Matcher) *censor.Censor {
	t.Helper()
	c, err := censor.New(r, matchers...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func check(t testing.TB, c *censor.Censor, text string) censor.Result {
	t.Helper()
	res, err := c.Check(t.Context(), censor.Inbound, text)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// P11: words are found whatever their case and form, and the span is the original's.
func TestWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		word, text string
		found      string // the part of the text; empty for none
	}{
		"plain":                      {"bad", "a bad one", "bad"},
		"case":                       {"Bad", "a bAD one", "bAD"},
		"inside a word":              {"bad", "badge", "bad"},
		"absent":                     {"bad", "b a d", ""},
		"Chinese":                    {"坏话", "说坏话的人", "坏话"},
		"sharp s in the text":        {"STRASSE", "die Straße hier", "Straße"},
		"sharp s in the word":        {"straße", "DIE STRASSE", "STRASSE"},
		"capital sharp s":            {"straße", "STRAẞE", "STRAẞE"},
		"sigma":                      {"ΟΔΟΣ", "η οδος μου", "οδος"},
		"final sigma":                {"οδοσ", "η οδός οδος", "οδος"},
		"full width":                 {"bad", "ｂａＤ!", "ｂａＤ"},
		"full width in word":         {"ｂａｄ", "bad", "bad"},
		"half-width kana":            {"ガム", "安いｶﾞﾑ!", "ｶﾞﾑ"},
		"circled":                    {"bad", "ⓑⓐⓓ", "ⓑⓐⓓ"},
		"mathematical":               {"bad", "𝐛𝐚𝐝 x", "𝐛𝐚𝐝"},
		"ligature":                   {"file", "ﬁle", "ﬁle"},
		"part of a ligature":         {"ish", "ﬁsh", "ﬁsh"},
		"Turkish capital":            {"istanbul", "İSTANBUL", "İSTANBUL"},
		"Turkish dotless":            {"ISI", "ısı", "ısı"},
		"decomposed text":            {"café", "un cafe\u0301!", "cafe\u0301"},
		"decomposed word":            {"cafe\u0301", "un CAFÉ", "CAFÉ"},
		"zero-width space":           {"bad", "b\u200ba\u200bd", "b\u200ba\u200bd"},
		"joiner, soft hyphen":        {"bad", "xb\u200da\u00adddle", "b\u200da\u00add"},
		"directional marks":          {"bad", "\u202eb\u2066a\u2069d", "b\u2066a\u2069d"},
		"variation selector":         {"坏话", "坏\ufe0f话", "坏\ufe0f话"},
		"tags":                       {"bad", "b\U000E0061ad", "b\U000E0061ad"},
		"invisible in the word":      {"b\u200bad", "bad", "bad"},
		"mark over an invisible":     {"é", "e\u200b\u0301", "e\u200b\u0301"},
		"accent":                     {"bad", "bád", ""},
		"mark that does not compose": {"bad", "bad\u0307\u0323 x", ""},
		"voiced kana":                {"か", "が", ""},
		"Hangul syllable":            {"가", "각", ""},
		"conjoining Hangul":          {"각", "\u1100\u1161\u11a8", "\u1100\u1161\u11a8"},
		"rendered mark":              {"_bad_", "a \u02cdbad_", "\u02cdbad_"},
		"look-alike":                 {"bad", "bаd", ""}, // a Cyrillic а: a matcher's business
		"invalid bytes":              {"bad", "\xffbad\xfe", "bad"},
		"invalid byte between":       {"bad", "b\xffad", ""},
		"after its own start":        {"abab", "abaabab", "abab"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for action, rules := range map[censor.Action]censor.Rules{
				censor.ActionBlock: {BlockWords: []string{"other", tt.word}}, censor.ActionFlag: {FlagWords: []string{"other", tt.word}},
			} {
				res := check(t, compiled(t, rules), tt.text)
				if tt.found == "" {
					if len(res.Hits) != 0 || res.Blocked || res.Text != tt.text {
						t.Errorf("%+v, want no hit", res)
					}
					continue
				}
				if len(res.Hits) != 1 || res.Hits[0].Action != action || !strings.HasSuffix(res.Hits[0].Rule, "Words[1]") {
					t.Fatalf("%+v, want one hit of word 1", res)
				}
				if got := tt.text[res.Hits[0].Span.Start:res.Hits[0].Span.End]; got != tt.found {
					t.Errorf("found %q, want %q", got, tt.found)
				}
				if blocked := action == censor.ActionBlock; res.Blocked != blocked || (res.Text == "") != blocked {
					t.Errorf("%+v", res)
				}
			}
		})
	}
}

// P11: many words at once, one within the other, each a hit of its own.
func TestManyWords(t *testing.T) {
	t.Parallel()
	c := compiled(t, censor.Rules{FlagWords: []string{"he", "she", "hers", "his", "E", "HE"}})
	var got []string
	for _, h := range check(t, c, "ushers ushers").Hits {
		got = append(got, fmt.Sprintf("%s %d-%d", h.Rule, h.Span.Start, h.Span.End))
	}
	want := []string{"flagWords[0] 2-4", "flagWords[1] 1-4", "flagWords[2] 2-6", "flagWords[4] 3-4", "flagWords[5] 2-4"}
	if !slices.Equal(got, want) {
		t.Errorf("hits %q, want %q", got, want)
	}
}

// P11: patterns are rewritten in order, in either case, and hits stand where the original has them.
func TestReplace(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		rules []censor.Replace
		text  string
		want  string
		hits  []string
	}{
		"groups":            {[]censor.Replace{{`(\d{3})\d{4}(\d{4})`, "$1****$2"}}, "call 13812345678 or 13987654321", "call 138****5678 or 139****4321", []string{"13812345678"}},
		"case":              {[]censor.Replace{{`secret|HIDDEN`, "[x]"}}, "SeCrEt hidden", "[x] [x]", []string{"SeCrEt"}},
		"deleted":           {[]censor.Replace{{`\s+`, ""}}, "a b  c", "abc", []string{" "}},
		"in order":          {[]censor.Replace{{`a`, "b"}, {`b+`, "c"}}, "xaby", "xcy", []string{"a", "ab"}},
		"inside a rewrite":  {[]censor.Replace{{`汉`, "abc"}, {`b`, "_"}, {`c字`, "!"}}, "x汉字", "xa_!", []string{"汉", "汉", "汉字"}},
		"invisible":         {[]censor.Replace{{`secret`, "*"}}, "a se\u200bcr\u00adet\u200b b", "a *\u200b b", []string{"se\u200bcr\u00adet"}},
		"the rest stays":    {[]censor.Replace{{`x`, "y"}}, "👨\u200d👩 x می\u200cشود", "👨\u200d👩 y می\u200cشود", []string{"x"}},
		"empty matches":     {[]censor.Replace{{`z*`, "!"}, {`^`, ">"}}, "ab", "ab", nil},
		"unbalanced is one": {[]censor.Replace{{`\)`, "]"}}, "a)", "a]", []string{")"}},
		"dollar":            {[]censor.Replace{{`eur`, "$$"}}, "5 EUR", "5 $", []string{"EUR"}},
		"invalid bytes":     {[]censor.Replace{{`b`, "_"}}, "\xffb\xff", "\xff_\xff", []string{"b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := check(t, compiled(t, censor.Rules{Replace: tt.rules}), tt.text)
			var hits []string
			for _, h := range res.Hits {
				hits = append(hits, tt.text[h.Span.Start:h.Span.End])
				if h.Action != censor.ActionReplace {
					t.Errorf("hit %+v", h)
				}
			}
			if res.Text != tt.want || !slices.Equal(hits, tt.hits) {
				t.Errorf("%q with hits %q, want %q with %q", res.Text, hits, tt.want, tt.hits)
			}
		})
	}
}

// P11: a block is the end: nothing is rewritten and no matcher asked.
func TestBlockIsTheEnd(t *testing.T) {
	t.Parallel()
	asked := false
	m := censor.Matcher{Name: "m", Match: func(context.Context, censor.Direction, string) ([]censor.Finding, error) {
		asked = true
		return nil, nil
	}}
	c := compiled(t, censor.Rules{BlockWords: []string{"no"}, FlagWords: []string{"so"}, Replace: []censor.Replace{{"x", "y"}}}, m)
	res := check(t, c, "so no x")
	if !res.Blocked || res.Text != "" || asked || len(res.Hits) != 2 || res.Hits[1].Action != censor.ActionFlag {
		t.Errorf("%+v, asked %v", res, asked)
	}
}

// P11: matchers run after the rules, on what these left, in their order; each of the three actions is theirs too.
func TestMatchers(t *testing.T) {
	t.Parallel()
	finding := func(action censor.Action, what, with string) func(context.Context, censor.Direction, string) ([]censor.Finding, error) {
		return func(_ context.Context, d censor.Direction, text string) ([]censor.Finding, error) {
			var all []censor.Finding
			for at := 0; ; {
				i := strings.Index(text[at:], what)
				if i < 0 || d != censor.Inbound {
					slices.Reverse(all) // order is not the matcher's business
					return all, nil
				}
				all = append(all, censor.Finding{Action: action, Span: censor.Span{Start: at + i, End: at + i + len(what)}, With: with})
				at += i + len(what)
			}
		}
	}
	c := compiled(t, censor.Rules{Replace: []censor.Replace{{"密码", "pw"}}},
		censor.Matcher{Name: "first", Match: finding(censor.ActionReplace, "pw", "**")},
		censor.Matcher{Name: "second", Match: finding(censor.ActionFlag, "**", "")},
		censor.Matcher{Name: "third", Match: finding(censor.ActionBlock, "stop", "")})
	const text = "我的密码和密码"
	res := check(t, c, text)
	var got []string
	for _, h := range res.Hits {
		got = append(got, fmt.Sprintf("%s %s %s", h.Action, h.Rule, text[h.Span.Start:h.Span.End]))
	}
	if want := []string{"replace replaceRules[0] 密码", "replace first 密码", "flag second 密码"}; res.Text != "我的**和**" || !slices.Equal(got, want) {
		t.Errorf("%q, hits %q", res.Text, got)
	}
	if res := check(t, c, "stop"); !res.Blocked || res.Text != "" {
		t.Errorf("%+v", res)
	}
	if res, err := c.Check(t.Context(), censor.Outbound, "pw"); err != nil || res.Text != "pw" {
		t.Errorf("%+v, %v: the matcher was told another direction", res, err)
	}
}

// Without a verdict nothing passes: a matcher that fails, panics or answers nonsense is an error, and so is a text that grows without end.
func TestNoVerdict(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	finds := func(f censor.Finding) func(context.Context, censor.Direction, string) ([]censor.Finding, error) {
		return func(context.Context, censor.Direction, string) ([]censor.Finding, error) {
			return []censor.Finding{f}, nil
		}
	}
	for name, match := range map[string]func(context.Context, censor.Direction, string) ([]censor.Finding, error){
		"fails": func(context.Context, censor.Direction, string) ([]censor.Finding, error) {
			return []censor.Finding{{}}, down
		},
		"panics":         func(context.Context, censor.Direction, string) ([]censor.Finding, error) { panic(down) },
		"beyond the end": finds(censor.Finding{Action: censor.ActionFlag, Span: censor.Span{Start: 0, End: 99}}),
		"nothing":        finds(censor.Finding{Action: censor.ActionFlag}),
		"backwards":      finds(censor.Finding{Action: censor.ActionFlag, Span: censor.Span{Start: 2, End: 1}}),
		"unknown":        finds(censor.Finding{Action: "shout", Span: censor.Span{Start: 0, End: 1}}),
	} {
		c := compiled(t, censor.Rules{}, censor.Matcher{Name: "m", Match: match})
		if res, err := c.Check(t.Context(), censor.Inbound, "text"); err == nil || res.Text != "" || !strings.Contains(err.Error(), "matcher m") {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
	huge := censor.Replace{Pattern: "a", Replacement: strings.Repeat("a", 2000)}
	c := compiled(t, censor.Rules{Replace: []censor.Replace{huge, huge, huge, huge}})
	if res, err := c.Check(t.Context(), censor.Inbound, "aaaa"); err == nil {
		t.Errorf("grew to %d bytes", len(res.Text))
	}
}

// All that is wrong with rules is told at once.
func TestNewComplains(t *testing.T) {
	t.Parallel()
	_, err := censor.New(censor.Rules{BlockWords: []string{"ok", ""}, FlagWords: []string{"\u200b\u00ad"}, Replace: []censor.Replace{{"a)(b", ""}, {"(?!x)", ""}}},
		censor.Matcher{Name: "nameless"})
	for _, want := range []string{"blockWords[1]", "flagWords[0]", "replaceRules[0]", "replaceRules[1]", "matcher 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not tell of %s", err, want)
		}
	}
}

// Time is linear in the text, also for words and patterns that are made to be slow.
func TestLinear(t *testing.T) {
	t.Parallel()
	var words []string
	for n := range 200 {
		words = append(words, strings.Repeat("a", 200+n)+"b")
	}
	c := compiled(t, censor.Rules{FlagWords: words, Replace: []censor.Replace{{"(a+)+$", "x"}, {"(x+x+)+y", "z"}}})
	text := strings.Repeat("a", 1<<17) + "!"
	// No time is asserted: a search that goes back would take years, and the test's own limit ends it.
	begun := time.Now()
	if res := check(t, c, text); len(res.Hits) != 0 {
		t.Errorf("%d hits", len(res.Hits))
	}
	t.Logf("%d bytes in %s", len(text), time.Since(begun))
}

// FuzzCheck holds for all texts: no panic, spans that lie in the text, a blocked text that is nowhere, and what no rule meets untouched.
func FuzzCheck(f *testing.F) {
	f.Add("bad", "b\u200bAd ﬁsh Straße", "s+", "$0")
	f.Add("가", "각\u1100\u1161", "", "")
	f.Add("é", "e\u200b\u0301\u0301 \xff", ".", "é")
	f.Fuzz(func(t *testing.T, word, text, re, with string) {
		if len(text) > 4096 || len(word) > 256 || len(re) > 256 || len(with) > 64 {
			return // longer than is interesting: time is for shapes, not for lengths
		}
		flags, err := censor.New(censor.Rules{FlagWords: []string{word}, Replace: []censor.Replace{{re, with}}})
		if err != nil {
			return // refused, as it may be
		}
		res, err := flags.Check(t.Context(), censor.Outbound, text)
		if err != nil {
			return // a rewrite that grows too long has none
		}
		flagged, replaced := false, false
		for _, h := range res.Hits {
			if h.Span.Start < 0 || h.Span.Start >= h.Span.End || h.Span.End > len(text) {
				t.Fatalf("hit %+v in %d bytes", h, len(text))
			}
			flagged = flagged || h.Action == censor.ActionFlag
			replaced = replaced || h.Action == censor.ActionReplace
			if h.Action == censor.ActionFlag && utf8.ValidString(text) && len(check(t, flags, text[h.Span.Start:h.Span.End]).Hits) == 0 {
				t.Fatalf("%q was found at %q, which does not hold it", word, text[h.Span.Start:h.Span.End])
			}
		}
		if !replaced && res.Text != text {
			t.Fatalf("%q became %q without a hit", text, res.Text)
		}
		blocks := compiled(t, censor.Rules{BlockWords: []string{word}})
		if b := check(t, blocks, text); b.Blocked != flagged || b.Blocked != (b.Text == "" && len(b.Hits) > 0) {
			t.Fatalf("flagged %v, blocked %+v", flagged, b)
		}
		if utf8.ValidString(word) && !check(t, blocks, word).Blocked {
			t.Fatalf("%q does not block itself", word)
		}
	})
}
