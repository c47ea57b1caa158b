package probct

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// graph draws a taxonomy without cycles: hypernyms have smaller numbers.
func graph(t *rapid.T) []*node {
	n := rapid.IntRange(2, 24).Draw(t, "nodes")
	nodes := make([]*node, n)
	for i := range nodes {
		nodes[i] = &node{lemmas: []lemma{{text: string(rune('a' + i))}}}
		if i == 0 {
			continue
		}
		for range rapid.IntRange(0, 3).Draw(t, "hypernyms") {
			h := nodes[rapid.IntRange(0, i-1).Draw(t, "hypernym")]
			if slices.Contains(nodes[i].up, h) || slices.Contains(nodes[i].of, h) {
				continue
			}
			if rapid.Bool().Draw(t, "instance") {
				nodes[i].of, h.has = append(nodes[i].of, h), append(h.has, nodes[i])
			} else {
				nodes[i].up, h.down = append(nodes[i].up, h), append(h.down, nodes[i])
				if rapid.IntRange(0, 4).Draw(t, "faulty") == 0 {
					nodes[i].faulty = append(nodes[i].faulty, h)
				}
			}
		}
	}
	return nodes
}

// closure is above computed by Warshall's algorithm; soundly, without faulty edges.
func closure(nodes []*node, soundly bool) map[[2]*node]bool {
	is := make(map[[2]*node]bool)
	for _, n := range nodes {
		for _, h := range slices.Concat(n.up, n.of) {
			if !soundly || !slices.Contains(n.faulty, h) {
				is[[2]*node{n, h}] = true
			}
		}
	}
	for _, k := range nodes {
		for _, i := range nodes {
			for _, j := range nodes {
				if is[[2]*node{i, k}] && is[[2]*node{k, j}] {
					is[[2]*node{i, j}] = true
				}
			}
		}
	}
	return is
}

func TestTaxonomyProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := graph(t)
		all, sound := closure(nodes, false), closure(nodes, true)
		if err := (&taxonomy{nodes: nodes}).acyclic(); err != nil {
			t.Fatal(err)
		}
		for _, a := range nodes {
			for _, b := range nodes {
				if got, want := a.is(b), a == b || all[[2]*node{a, b}]; got != want {
					t.Fatalf("%v is %v: %v", a, b, got)
				}
				if got, want := a.soundly(b), a == b || sound[[2]*node{a, b}]; got != want {
					t.Fatalf("%v is soundly %v: %v", a, b, got)
				}
				common := false
				for _, c := range nodes {
					common = common || (c == a || all[[2]*node{c, a}]) && (c == b || all[[2]*node{c, b}])
				}
				if got := disjoint(a.below(), b.below()); got == common {
					t.Fatalf("%v and %v are disjoint: %v", a, b, got)
				}
			}
		}
	})
}

func TestCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := graph(t)
		i := rapid.IntRange(0, len(nodes)-1).Draw(t, "from")
		above := append([]*node{nodes[i]}, nodes[i].above()...)
		top := above[rapid.IntRange(0, len(above)-1).Draw(t, "to")]
		top.up = append(top.up, nodes[i]) // an edge back
		if err := (&taxonomy{nodes: nodes}).acyclic(); !errors.Is(err, errCycle) {
			t.Fatalf("%v", err)
		}
	})
}
