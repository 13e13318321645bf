package tool

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// rank returns the notes that share a word with query, the best first: a word counts the more, the fewer notes have it. Of equals the
// newer, which notes has first, comes first.
func rank(notes []Note, query string) []Note {
	wanted := terms(query, false)
	has := make([]map[string]bool, len(notes))
	seen := map[string]int{} // in how many notes a term stands
	for i, n := range notes {
		has[i] = terms(n.Text, true)
		for t := range wanted {
			if has[i][t] {
				seen[t]++
			}
		}
	}
	type scored struct {
		note  Note
		score float64
	}
	var out []scored
	for i, n := range notes {
		score := 0.0
		for t := range wanted {
			if has[i][t] {
				score += math.Log(1 + float64(len(notes))/float64(seen[t]))
			}
		}
		if score > 0 {
			// Sums in map order differ in their last bits; rounded, equals are equal.
			out = append(out, scored{n, math.Round(score*1e6) / 1e6})
		}
	}
	slices.SortStableFunc(out, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	found := make([]Note, len(out))
	for i, s := range out {
		found[i] = s.note
	}
	return found
}

// terms splits text into lower-case words and, for scripts that are written without spaces, into pairs of characters. Single
// characters are terms where they stand alone, and everywhere with singles: a note has them all, a query only those it must.
func terms(text string, singles bool) map[string]bool {
	out := map[string]bool{}
	for _, word := range words(strings.ToLower(norm.NFKC.String(text))) {
		runes := []rune(word)
		if !isDense(runes[0]) || len(runes) == 1 {
			out[word] = true
			continue
		}
		for i := range runes {
			if singles {
				out[string(runes[i])] = true
			}
			if i > 0 {
				out[string(runes[i-1:i+1])] = true
			}
		}
	}
	return out
}

// words returns the runs of letters, digits and marks, cut where dense writing begins or ends.
func words(text string) []string {
	var out []string
	start, dense := -1, false
	for i, r := range text {
		inside := unicode.In(r, unicode.L, unicode.N, unicode.M)
		if start >= 0 && (!inside || isDense(r) != dense) {
			out = append(out, text[start:i])
			start = -1
		}
		if inside && start < 0 {
			start, dense = i, isDense(r)
		}
	}
	if start >= 0 {
		out = append(out, text[start:])
	}
	return out
}

// isDense reports whether r belongs to a script whose words are not set apart. The long mark belongs to both kana and to no script.
func isDense(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}
