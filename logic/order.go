package logic

import (
	"math"
	"slices"
)

// A pseudo-tree arranges variables so that the variables of each factor lie on one way from the root.
// Conditioning on a variable's ancestors and itself makes its children's subtrees independent: this is
// where decomposable conjunctions come from. Each candidate order of branching gives one such tree; the
// order whose tree promises the fewest states is used.
type pseudoTree struct {
	parent   []int32 // by local variable; -1 at a root
	children [][]int32
	roots    []int32
	depth    []int32
	cost     float64 // estimated number of states, log₂
}

// places returns each variable's place in a walk through the tree, depth first, children in their order.
func (t *pseudoTree) places() []int32 {
	from := make([]int32, len(t.parent))
	stack := slices.Clone(t.roots)
	slices.Reverse(stack)
	for n := int32(0); len(stack) > 0; n++ {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		from[v] = n
		for _, c := range slices.Backward(t.children[v]) {
			stack = append(stack, c)
		}
	}
	return from
}

// orderProblem is the hypergraph of a set of factors: local variables are numbered by ascending rank.
type orderProblem struct {
	n      int
	most   int       // neighbours that an elimination order may hold
	edges  [][]int32 // by factor
	weight []float64 // by factor: bits that a half-assigned factor needs
	nested [][]int32 // supports of sub-formulas, for FORCE
}

func newOrderProblem(s *store, factors []fedge, atoms int, local []int32) *orderProblem {
	p := &orderProblem{n: atoms, most: s.quota / 4}
	seen := make(map[uint32]bool)
	for _, e := range factors {
		var sup []int32
		for _, a := range s.support(e) {
			sup = append(sup, local[a])
		}
		slices.Sort(sup)
		p.edges = append(p.edges, sup)
		w := 1.0
		n := s.nodes[e>>1]
		if n.kind == fCard {
			states := int(n.hi) + 2 // so many true so far, or too many
			if kids := int(s.lists[n.list].n); int(n.hi) == kids {
				states = int(n.lo) + 1
			}
			w = math.Log2(float64(states))
		}
		if n.kind >= fAnd && !s.flat[n.list] {
			w = float64(s.lists[n.list].n)
			// Sub-formulas ought to stay together in the order.
			stack := slices.Clone(s.kids(n.list))
			for len(stack) > 0 && len(p.nested) < 100_000 {
				k := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				kn := s.nodes[k>>1]
				if kn.kind < fAnd || seen[k>>1] {
					continue
				}
				seen[k>>1] = true
				var sup []int32
				for _, a := range s.support(k) {
					sup = append(sup, local[a])
				}
				if len(sup) <= 64 {
					p.nested = append(p.nested, sup)
				}
				stack = append(stack, s.kids(kn.list)...)
			}
		}
		p.weight = append(p.weight, min(w, float64(len(sup))))
	}
	return p
}

// plan chooses a pseudo-tree; nil when stopped.
func (p *orderProblem) plan(stop func() bool) *pseudoTree {
	natural := make([]int32, p.n)
	for i := range natural {
		natural[i] = int32(i)
	}
	best := p.tree(natural)
	consider := func(order []int32) bool {
		if order != nil {
			if t := p.tree(order); t.cost < best.cost {
				best = t
			}
		}
		return !stop()
	}
	simple := math.Log2(float64(p.n)) + 2 // four states a variable
	widest := 0
	for _, e := range p.edges {
		widest = max(widest, len(e))
	}
	if best.cost > simple && widest <= 48 && !consider(p.minDegree(stop)) {
		return nil
	}
	if best.cost > simple && widest > 48 && !consider(p.lineUp(stop)) {
		return nil
	}
	if best.cost > simple+2 && !consider(p.force(natural, stop)) {
		return nil
	}
	return best
}

// lineUp returns the order for local factors under a few wide ones, such as a threshold over everything:
// the pseudo-tree of the local factors alone, walked depth first, the largest subtree last, so that few
// subtrees are open at a time.
func (p *orderProblem) lineUp(stop func() bool) []int32 {
	local := &orderProblem{n: p.n, most: p.most}
	for i, e := range p.edges {
		if len(e) <= 48 {
			local.edges = append(local.edges, e)
			local.weight = append(local.weight, p.weight[i])
		}
	}
	order := local.minDegree(stop)
	if order == nil {
		return nil
	}
	t := local.tree(order)
	size := make([]int, p.n)
	for i := p.n - 1; i >= 0; i-- {
		v := order[i]
		size[v]++
		if u := t.parent[v]; u >= 0 {
			size[u] += size[v]
		}
	}
	bySize := func(a, b int32) int { return size[b] - size[a] } // the stack turns it round
	var out []int32
	slices.SortStableFunc(t.roots, bySize)
	stack := slices.Clone(t.roots)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		out = append(out, v)
		slices.SortStableFunc(t.children[v], bySize)
		stack = append(stack, t.children[v]...)
	}
	return out
}

// tree builds the pseudo-tree of an order of branching and estimates its states: below each variable
// there are at most 2^b of them, b being the smaller of the ancestors that its subtree's factors mention
// and the bits that the factors cut there can carry.
func (p *orderProblem) tree(order []int32) *pseudoTree {
	n := p.n
	pos := make([]int32, n)
	for i, v := range order {
		pos[v] = int32(i)
	}
	in := p.factorsOf()
	t := &pseudoTree{parent: make([]int32, n), children: make([][]int32, n), depth: make([]int32, n)}
	find := make([]int32, n)
	for i := range find {
		find[i] = int32(i)
		t.parent[i] = -1
	}
	root := func(v int32) int32 {
		for find[v] != v {
			find[v] = find[find[v]]
			v = find[v]
		}
		return v
	}
	last := make([]int32, len(p.edges))
	top := make([]int32, len(p.edges))
	bottom := make([]int32, len(p.edges))
	for i := range last {
		last[i] = -1
	}
	for i := n - 1; i >= 0; i-- {
		v := order[i]
		for _, f := range in[v] {
			if last[f] < 0 {
				bottom[f] = v
			} else if r := root(last[f]); r != v {
				find[r] = v
				t.parent[r] = v
			}
			last[f], top[f] = v, v
		}
	}
	// cut[v]: bits of the factors that mention both v's subtree and its ancestors.
	cut := make([]float64, n)
	for f := range p.edges {
		cut[bottom[f]] += p.weight[f]
		cut[top[f]] -= p.weight[f]
	}
	mentioned := make([][]int32, n) // ancestors mentioned below, nil for "too many to say"
	total := 0.0
	wide := false
	mark := make([]int32, n)
	for i := range mark {
		mark[i] = -1
	}
	work := 0
	for i := n - 1; i >= 0; i-- {
		v := order[i]
		if t.parent[v] >= 0 {
			t.children[t.parent[v]] = append(t.children[t.parent[v]], v)
		} else {
			t.roots = append(t.roots, v)
		}
		b := cut[v]
		if !wide {
			var set []int32
			mark[v] = v
			add := func(u int32) {
				if mark[u] != v && pos[u] < pos[v] {
					mark[u] = v
					set = append(set, u)
				}
			}
			for _, f := range in[v] {
				if len(p.edges[f]) > 48 {
					continue
				}
				for _, u := range p.edges[f] {
					add(u)
				}
			}
			for _, c := range t.children[v] {
				for _, u := range mentioned[c] {
					add(u)
				}
				mentioned[c] = nil
			}
			mentioned[v] = set
			work += len(set)
			wide = work > 20_000_000
			big := 0.0
			for _, f := range in[v] {
				if len(p.edges[f]) > 48 {
					big += p.weight[f]
				}
			}
			b = min(b, float64(len(set))+big)
		}
		total += math.Exp2(min(max(b, 0), 900))
		if t.parent[v] >= 0 {
			cut[t.parent[v]] += cut[v]
		}
	}
	for _, v := range order {
		if t.parent[v] >= 0 {
			t.depth[v] = t.depth[t.parent[v]] + 1
		}
	}
	t.cost = math.Log2(total)
	return t
}

// minDegree returns the reverse of a minimum-degree elimination order of the primal graph; nil when
// stopped, or when the graph is or becomes so dense that no order is worth it.
func (p *orderProblem) minDegree(stop func() bool) []int32 {
	n := p.n
	in := p.factorsOf()
	adj := make([][]int32, n) // ascending
	work, held := 0, 0        // held is how many entries all lists have
	mark := slices.Repeat([]int32{-1}, n)
	var merged []int32
	for v := range adj {
		merged = merged[:0]
		mark[v] = int32(v)
		for _, f := range in[v] {
			work += len(p.edges[f])
			for _, u := range p.edges[f] {
				if mark[u] != int32(v) {
					mark[u] = int32(v)
					merged = append(merged, u)
				}
			}
		}
		slices.Sort(merged)
		adj[v] = slices.Clone(merged)
		if held += cap(adj[v]); p.tooDense(work, held) || v&255 == 0 && stop() {
			return nil
		}
	}
	bucket := make([][]int32, n) // variables by degree, entries may be stale
	for v := n - 1; v >= 0; v-- {
		bucket[len(adj[v])] = append(bucket[len(adj[v])], int32(v))
	}
	held += n
	order := make([]int32, n)
	gone := make([]bool, n)
	low := 0
	for i := n - 1; i >= 0; {
		if len(bucket[low]) == 0 {
			low++
			continue
		}
		v := bucket[low][len(bucket[low])-1]
		bucket[low] = bucket[low][:len(bucket[low])-1]
		held--
		if gone[v] || len(adj[v]) != low {
			continue
		}
		if work += low * low; p.tooDense(work, held) || i&15 == 0 && stop() {
			return nil
		}
		gone[v] = true
		order[i] = v
		i--
		for _, u := range adj[v] {
			merged = union(merged[:0], adj[u], adj[v], u, v)
			held -= cap(adj[u])
			adj[u] = append(adj[u][:0], merged...)
			held += cap(adj[u])
			d := len(merged)
			bucket[d] = append(bucket[d], u)
			held++
			low = min(low, d)
		}
		held -= cap(adj[v])
		adj[v] = nil
	}
	return order
}

// tooDense tells whether an elimination order has taken so much work or memory that it is given up.
func (p *orderProblem) tooDense(work, held int) bool { return work > 50_000_000 || held > p.most }

// factorsOf returns the factors of each variable.
func (p *orderProblem) factorsOf() [][]int32 {
	in := make([][]int32, p.n)
	for f, e := range p.edges {
		for _, v := range e {
			in[v] = append(in[v], int32(f))
		}
	}
	return in
}

// union appends the ascending lists a and b, but for u and v, to dst.
func union(dst, a, b []int32, u, v int32) []int32 {
	for len(a) > 0 || len(b) > 0 {
		var x int32
		if len(b) == 0 || len(a) > 0 && a[0] <= b[0] {
			x = a[0]
			if len(b) > 0 && b[0] == x {
				b = b[1:]
			}
			a = a[1:]
		} else {
			x = b[0]
			b = b[1:]
		}
		if x != u && x != v {
			dst = append(dst, x)
		}
	}
	return dst
}

// force moves each variable to the mean of its factors' centres until the total span no longer shrinks
// (Aloul, Markov and Sakallah's FORCE).
func (p *orderProblem) force(start []int32, stop func() bool) []int32 {
	n := p.n
	edges := append(slices.Clone(p.edges), p.nested...)
	pos := make([]float64, n)
	order := slices.Clone(start)
	best := slices.Clone(start)
	span := func() float64 {
		total := 0.0
		for _, e := range edges {
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, v := range e {
				lo, hi = min(lo, pos[v]), max(hi, pos[v])
			}
			if len(e) > 0 {
				total += hi - lo
			}
		}
		return total
	}
	for i, v := range order {
		pos[v] = float64(i)
	}
	least := span()
	sum := make([]float64, n)
	count := make([]float64, n)
	for round, idle := 0, 0; round < 200 && idle < 8; round++ {
		if stop() {
			return nil
		}
		clear(sum)
		clear(count)
		for _, e := range edges {
			c := 0.0
			for _, v := range e {
				c += pos[v]
			}
			c /= float64(len(e))
			for _, v := range e {
				sum[v] += c
				count[v]++
			}
		}
		for v := range sum {
			if count[v] > 0 {
				sum[v] /= count[v]
			} else {
				sum[v] = pos[v]
			}
		}
		slices.SortStableFunc(order, func(a, b int32) int {
			switch {
			case sum[a] < sum[b]:
				return -1
			case sum[a] > sum[b]:
				return 1
			}
			return 0
		})
		for i, v := range order {
			pos[v] = float64(i)
		}
		if s := span(); s < least {
			least, idle = s, 0
			copy(best, order)
		} else {
			idle++
		}
	}
	return best
}
