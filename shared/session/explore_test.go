package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// move is one thing that can happen next.
type move[W any] struct {
	who  int // whose doing it is, for the report
	name string
	to   W
	// fault marks what must never be needed: a state counts as stuck if only faults lead on to a good end.
	fault bool
}

// machine is a small system whose every behaviour is searched.
type machine[W any, K comparable] struct {
	key   func(W) K // equal for worlds that behave alike
	moves func(W) []move[W]
	check func(W) error // what must hold at any moment
	done  func(W) bool  // a good end
}

// explore visits every reachable world, breadth first, checks each, and then that from each a good end can be reached without a fault.
// A failure comes with the shortest way to it.
func (m machine[W, K]) explore(t *testing.T, start W) {
	t.Helper()
	type node struct {
		world  *W // until it is expanded
		parent int32
		who    int
		name   string
		back   []int32 // where one comes from without a fault
	}
	nodes, seen := []node{{world: &start, parent: -1}}, map[K]int32{m.key(start): 0}
	way := func(i int32) string {
		var steps []string
		for ; i > 0; i = nodes[i].parent {
			steps = append(steps, fmt.Sprintf("%d %s", nodes[i].who, nodes[i].name))
		}
		slices.Reverse(steps)
		return "\n  " + strings.Join(steps, "\n  ")
	}
	var good []int32
	for i := int32(0); int(i) < len(nodes); i++ {
		w := *nodes[i].world
		nodes[i].world = nil
		if err := m.check(w); err != nil {
			t.Fatalf("%v, after:%s", err, way(i))
		}
		if m.done(w) {
			good = append(good, i)
		}
		for _, mv := range m.moves(w) {
			k := m.key(mv.to)
			j, known := seen[k]
			if !known {
				j = int32(len(nodes)) //nolint:gosec // memory ends long before an int32 does
				seen[k] = j
				nodes = append(nodes, node{world: &mv.to, parent: i, who: mv.who, name: mv.name})
			}
			if !mv.fault {
				nodes[j].back = append(nodes[j].back, i)
			}
		}
	}
	hopeful := make([]bool, len(nodes))
	for len(good) > 0 {
		i := good[len(good)-1]
		good = good[:len(good)-1]
		if !hopeful[i] {
			hopeful[i] = true
			good = append(good, nodes[i].back...)
		}
	}
	if i := slices.Index(hopeful, false); i >= 0 {
		t.Fatalf("no good end can be reached any more, after:%s", way(int32(i))) //nolint:gosec // as above
	}
	t.Logf("%d states", len(nodes))
}
