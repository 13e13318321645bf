package censor

// words finds many words in one pass: the automaton of Aho and Corasick. It is our own because the libraries that there are either do not say
// where a word stands or list every occurrence of every word, and because a map of the edges there are is smaller than a table of all.
type words struct {
	n     int
	next  map[edge]int32
	nodes []node
}

type edge struct {
	node int32
	by   byte
}

// node is a beginning of words.
type node struct {
	fail  int32 // the longest shorter beginning that it ends with
	known int32 // the longest whole word that it ends with, itself apart; 0 for none
	ends  []int // the words that it is
	depth int32 // in bytes
}

func newWords(list []string) *words {
	w := &words{n: len(list), next: map[edge]int32{}, nodes: make([]node, 1)}
	for i, word := range list {
		at := int32(0)
		for k := range len(word) {
			e := edge{at, word[k]}
			to, ok := w.next[e]
			if !ok {
				to = int32(len(w.nodes)) //nolint:gosec // G115: a configuration has at most 512 KB
				w.next[e] = to
				w.nodes = append(w.nodes, node{depth: w.nodes[at].depth + 1})
			}
			at = to
		}
		w.nodes[at].ends = append(w.nodes[at].ends, i)
	}
	w.link(list)
	return w
}

// link sets where each node goes on when no edge fits, the shorter ones first.
func (w *words) link(list []string) {
	longest := 0
	for _, word := range list {
		longest = max(longest, len(word))
	}
	at := make([]int32, len(list)) // where each word's walk stands
	for depth := range longest {
		for i, word := range list {
			if depth >= len(word) {
				continue
			}
			from, by := at[i], word[depth]
			to := w.next[edge{from, by}]
			at[i] = to
			if from == 0 {
				continue // a single byte has nothing shorter but the root
			}
			fail := w.step(w.nodes[from].fail, by)
			known := fail
			if len(w.nodes[fail].ends) == 0 {
				known = w.nodes[fail].known
			}
			w.nodes[to].fail, w.nodes[to].known = fail, known
		}
	}
}

// step goes on from a node by a byte.
func (w *words) step(at int32, by byte) int32 {
	for {
		if to, ok := w.next[edge{at, by}]; ok {
			return to
		}
		if at == 0 {
			return 0
		}
		at = w.nodes[at].fail
	}
}

// first returns where each word stands first, of the places whose end the caller allows; the zero Span for a word that is not there.
func (w *words) first(text string, allowed func(end int) bool) []Span {
	found := make([]Span, w.n)
	at := int32(0)
	for i := range len(text) {
		at = w.step(at, text[i])
		for n := at; n != 0; n = w.nodes[n].known {
			for _, word := range w.nodes[n].ends {
				if found[word].End == 0 && allowed(i+1) {
					found[word] = Span{i + 1 - int(w.nodes[n].depth), i + 1}
				}
			}
		}
	}
	return found
}
