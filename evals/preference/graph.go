package preference

import "slices"

// Graph is a relation graph: Graph[i] are the items that xᵢ is preferred to, in ascending order.
type Graph [][]int

// RelationGraph is Algorithm 1: for each pair with i < j, an edge from xᵢ to xⱼ where P(xᵢ ≻ xⱼ) ≥ ½ with xᵢ
// shown first, and one from xⱼ to xᵢ otherwise. A pair that was judged only with xⱼ first has its edge from
// that judgement, and one that was not judged at all has none: the graph is partial then.
func RelationGraph(m *Judgements) Graph {
	g := make(Graph, m.N())
	for i := range g {
		for j := i + 1; j < len(g); j++ {
			first, ok := m.prefers(i, j)
			switch {
			case !ok:
			case first:
				g[i] = append(g[i], j)
			default:
				g[j] = append(g[j], i)
			}
		}
	}
	for i := range g {
		slices.Sort(g[i])
	}
	return g
}

// CalibratedGraph is a relation graph by [Judgements.Calibrated]: an edge from xᵢ to xⱼ where the probability
// that xᵢ is preferred, averaged over both orders, is above ½, and none where it is ½.
func CalibratedGraph(m *Judgements) Graph {
	g := make(Graph, m.N())
	for i := range g {
		for j := range g {
			if i != j && m.Calibrated(i, j) > 0.5 && !(m.Calibrated(j, i) > 0.5) {
				g[i] = append(g[i], j)
			}
		}
	}
	return g
}

// prefers is Algorithm 1's decision on the pair i < j: whether xᵢ is preferred; false where it was not judged.
func (m *Judgements) prefers(i, j int) (first, ok bool) {
	switch {
	case m.Judged(i, j):
		return m.Decision(i, j), true
	case m.Judged(j, i):
		return !m.Decision(j, i), true
	}
	return false, false
}

// ComparisonGraph is the relation graph of annotations of n items: an edge for each comparison, from the item
// that is preferred; none for a tie. A pair that was annotated either way is a cycle of two.
func ComparisonGraph(n int, comparisons []Comparison) Graph {
	g := make(Graph, n)
	for _, c := range comparisons {
		switch {
		case c.P > 0.5:
			g[c.I] = append(g[c.I], c.J)
		case c.P < 0.5:
			g[c.J] = append(g[c.J], c.I)
		}
	}
	for i := range g {
		slices.Sort(g[i])
		g[i] = slices.Compact(g[i])
	}
	return g
}

// Cyclic is Algorithm 2: it reports whether the graph has a cycle.
func (g Graph) Cyclic() bool { return g.Cycle() != nil }

// Cycle returns the items of a cycle, each preferred to the next and the last to the first; nil where there
// is none. It is Algorithm 2, which remembers the way it came.
func (g Graph) Cycle() []int { return g.cycleAmong(nil) }

// cycleAmong looks at the sub-graph of the items in a set, of all where the set is nil.
func (g Graph) cycleAmong(in []bool) []int {
	visited, onStack := make([]bool, len(g)), make([]bool, len(g))
	var stack []int
	var visit func(v int) []int
	visit = func(v int) []int {
		visited[v], onStack[v] = true, true
		stack = append(stack, v)
		for _, u := range g[v] {
			switch {
			case in != nil && !in[u]:
			case onStack[u]:
				return slices.Clone(stack[slices.Index(stack, u):])
			case !visited[u]:
				if c := visit(u); c != nil {
					return c
				}
			}
		}
		stack = stack[:len(stack)-1]
		onStack[v] = false
		return nil
	}
	for v := range g {
		if visited[v] || in != nil && !in[v] {
			continue
		}
		if c := visit(v); c != nil {
			return c
		}
	}
	return nil
}

// Has reports whether there is an edge from i to j.
func (g Graph) Has(i, j int) bool { _, ok := slices.BinarySearch(g[i], j); return ok }
