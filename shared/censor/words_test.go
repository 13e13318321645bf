package censor

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The automaton finds what looking for each word by itself finds.
func TestWordsAgainstSearch(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 'c'}), 1, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(word, 0, 12).Draw(t, "words")
		text := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 'c', 'd'}), 0, 60, -1).Draw(t, "text")
		for i, got := range newWords(list).first(text, func(int) bool { return true }) {
			want := Span{}
			if at := strings.Index(text, list[i]); at >= 0 {
				want = Span{at, at + len(list[i])}
			}
			if got != want {
				t.Fatalf("%q in %q: %v, want %v", list[i], text, got, want)
			}
		}
	})
}
