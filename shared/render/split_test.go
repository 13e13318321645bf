package render_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"

	"kesoku.dev/shared/render"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		max  int
		want []string
	}{
		"nothing":             {"", 10, nil},
		"blank":               {" \n\n\t", 10, nil},
		"fits":                {"abc", 3, []string{"abc"}},
		"paragraph":           {"aaaa bbbb\n\ncccc dddd", 16, []string{"aaaa bbbb", "cccc dddd"}},
		"line":                {"aaaa bbbb\ncccc dddd", 16, []string{"aaaa bbbb", "cccc dddd"}},
		"word":                {"aaaa bbbb cccc", 10, []string{"aaaa bbbb", "cccc"}},
		"long word":           {"aaaaaaaaaaaa", 5, []string{"aaaaa", "aaaaa", "aa"}},
		"word before blob":    {"see aaaaaaaaaaaa", 8, []string{"see", "aaaaaaaa", "aaaa"}},
		"mention":             {"see <users/12345> now", 14, []string{"see", "<users/12345>", "now"}},
		"link":                {"see <https://x.example/a|a b c>", 27, []string{"see", "<https://x.example/a|a b c>"}},
		"long link":           {"see <https://x.example/a-b-c>", 10, []string{"see", "<https://", "x.example/", "a-b-c>"}},
		"no link":             {"a <b and c> d <users/1", 12, []string{"a <b and c>", "d <users/1"}},
		"ideographs":          {"汉字没有空格", 9, []string{"汉字没", "有空格"}},
		"no stop at the head": {"汉字没。有空", 9, []string{"汉字", "没。有", "空"}},
		"combining mark":      {"aaae\u0301e", 5, []string{"aaa", "e\u0301e"}},
		"family emoji":        {"aaaa👨‍👩‍👧bbbb", 20, []string{"aaaa", "👨‍👩‍👧", "bbbb"}},
		"tiny":                {"汉a", 1, []string{"汉a"}},
		"invalid bytes":       {"\xff\xfe", 8, []string{"\uFFFD"}},
		// case B60: the closing fence has its place reserved.
		"fence": {
			"```go\naaaaaaaaa\nbbbbbbbbb\nccccccccc\n```", 32,
			[]string{"```go\naaaaaaaaa\nbbbbbbbbb\n```", "```go\nccccccccc\n```"},
		},
		// case B62: a long info line would eat every chunk.
		"long info": {
			"```" + strings.Repeat("i", 20) + "\n" + strings.Repeat("a", 9) + "\n" + strings.Repeat("b", 9) + "\n```", 40,
			[]string{"```" + strings.Repeat("i", 20) + "\naaaaaaaaa\n```", "```\nbbbbbbbbb\n```"},
		},
		"block moves as a whole": {
			"one two three four five six\n```go\nx = 1\n```", 34,
			[]string{"one two three four five six", "```go\nx = 1\n```"},
		},
		"fence ends at the cut": {
			"```\naaaaaaaaaaaaaaaaaaa\n```\nafter the block of code", 30,
			[]string{"```\naaaaaaaaaaaaaaaaaaa\n```", "after the block of code"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := render.Split(tt.text, tt.max); !slices.Equal(got, tt.want) {
				t.Errorf("Split(%q, %d)\n got %q\nwant %q", tt.text, tt.max, got, tt.want)
			}
		})
	}
}

// case B64: 700 ideographs are 2100 bytes.
func TestSplitCountsBytes(t *testing.T) {
	t.Parallel()
	got := render.Split(strings.Repeat("汉", 700), 2048)
	if len(got) != 2 || len(got[0]) != 2046 || len(got[1]) != 54 {
		t.Errorf("got %d chunks", len(got))
	}
}

// case B60
func TestSplitReservesForTheClosingFence(t *testing.T) {
	t.Parallel()
	text := "```\n" + strings.Repeat("x", 1990) + "\nyyyy\n```"
	for i, chunk := range render.Split(text, 1998) {
		if len(chunk) > 1998 || strings.Count(chunk, "```") != 2 {
			t.Errorf("chunk %d: %d bytes, %d fences", i, len(chunk), strings.Count(chunk, "```"))
		}
	}
}

func TestSplitProperties(t *testing.T) {
	t.Parallel()
	words := rapid.SampledFrom([]string{
		"a", "word", "汉字", "。", " ", "  ", "\n", "\n\n", "```", "```go\n", "\n```\n", "````", "`", "👨‍👩‍👧", "e\u0301", "🇨🇳", "\t", "https://example.com/a_b",
		strings.Repeat("x", 40), "\u200d", "~~~\n",
	})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(words, 0, 120).Draw(t, "words"), "")
		checkSplit(t, text, rapid.IntRange(4, 200).Draw(t, "max"))
	})
}

func FuzzSplit(f *testing.F) {
	f.Add("```go\nx\n```\n\n汉字 👨‍👩‍👧", 20)
	f.Add(strings.Repeat("`", 70)+"\n"+strings.Repeat("a", 300), 64)
	f.Fuzz(func(t *testing.T, text string, maxBytes int) {
		if maxBytes < 4 || maxBytes > 1<<20 || !utf8.ValidString(text) {
			return // Split promises nothing there
		}
		checkSplit(t, text, maxBytes)
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkSplit holds for every text: no chunk is too long, blank or torn inside a rune, and blank space and fences apart, the
// chunks are the text.
func checkSplit(t fataler, text string, maxBytes int) {
	t.Helper()
	chunks := render.Split(text, maxBytes)
	for i, c := range chunks {
		if len(c) > maxBytes || strings.TrimSpace(c) == "" || !utf8.ValidString(c) {
			t.Fatalf("chunk %d of Split(%q, %d) is %q", i, text, maxBytes, c)
		}
	}
	got, want := ink(strings.Join(chunks, "")), ink(text)
	if strings.Contains(text, "```") {
		// Reopened fences add backticks and info strings, and one closing line may stand for another.
		if !inOrder(strings.ReplaceAll(want, "`", ""), got) {
			t.Fatalf("Split(%q, %d) lost text: %q", text, maxBytes, chunks)
		}
		return
	}
	if got != want {
		t.Fatalf("Split(%q, %d) lost text: %q", text, maxBytes, chunks)
	}
	whole, longest := clusters(text)
	parts := 0
	for _, c := range chunks {
		n, _ := clusters(c)
		parts += n
	}
	if longest <= maxBytes && parts != whole {
		t.Fatalf("Split(%q, %d) tore a character: %q", text, maxBytes, chunks)
	}
}

// clusters counts what people see as characters, and the bytes of the longest.
func clusters(text string) (seen, longest int) {
	for g := uniseg.NewGraphemes(text); g.Next(); {
		longest = max(longest, len(g.Str()))
		if strings.TrimSpace(g.Str()) != "" {
			seen++
		}
	}
	return seen, longest
}

// inOrder tells whether all of want stands in got, in its order.
func inOrder(want, got string) bool {
	for _, r := range want {
		_, after, found := strings.Cut(got, string(r))
		if !found {
			return false
		}
		got = after
	}
	return true
}

// ink is text without blank space.
func ink(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
