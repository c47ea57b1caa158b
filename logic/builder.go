package logic

// An edge is a slot of a diagram, shifted left once, plus a complement bit: e^1 is the negation of e.
// Slot 0 is ⊤, so edge 0 is ⊤ and edge 1 is ⊥; then come the variables, then the inner nodes.
type edge = uint32

const (
	edgeTrue  edge = 0
	edgeFalse edge = 1
	// edgeStop is no edge: a compilation that ran out of its budget returns it.
	edgeStop edge = ^uint32(0)
)

// A node is "if t then h else l", where t shares no variable with h or l. With t a variable it is a
// decision; with l = ⊥ it is a decomposable conjunction. Because t is independent of the rest,
//
//	v(node) = v(t)·v(h) + (1−v(t))·v(l)
//
// holds for probabilities whatever t is, and a complement edge costs nothing.
type node struct{ t, h, l edge }

// builder makes nodes that are unique: t is regular, h is regular, h ≠ l. Children have smaller slots.
type builder struct {
	nodes  []node // the leaves, ⊤ and the variables, are placeholders
	leaves int
	table  []uint32 // open addressing, 0 is empty
}

func newBuilder(vars int) *builder {
	return &builder{nodes: make([]node, 1+vars, 64+2*vars), leaves: 1 + vars, table: make([]uint32, 64)}
}

// literal returns the edge of the i-th variable.
func (b *builder) literal(i int) edge { return edge(1+i) << 1 }

func hash3(a, b, c uint32) uint64 {
	h := (uint64(a)<<32|uint64(b))*0x9E3779B97F4A7C15 ^ uint64(c)*0xC2B2AE3D27D4EB4F
	h ^= h >> 29
	h *= 0xBF58476D1CE4E5B9
	return h ^ h>>32
}

func (b *builder) ite(t, h, l edge) edge {
	if h == l {
		return h
	}
	if t&1 != 0 {
		t ^= 1
		h, l = l, h
	}
	if t == edgeTrue {
		return h
	}
	if h^l == 1 && h <= 1 {
		return t ^ h
	}
	neg := h & 1
	h ^= neg
	l ^= neg
	mask := uint64(len(b.table) - 1)
	i := hash3(t, h, l) & mask
	for {
		s := b.table[i]
		if s == 0 {
			break
		}
		if n := &b.nodes[s]; n.t == t && n.h == h && n.l == l {
			return s<<1 | neg
		}
		i = (i + 1) & mask
	}
	s := uint32(len(b.nodes))
	b.nodes = append(b.nodes, node{t, h, l})
	b.table[i] = s
	if 2*(len(b.nodes)-b.leaves) > len(b.table) {
		b.grow()
	}
	return s<<1 | neg
}

func (b *builder) grow() {
	b.table = make([]uint32, 2*len(b.table))
	mask := uint64(len(b.table) - 1)
	for s := b.leaves; s < len(b.nodes); s++ {
		n := &b.nodes[s]
		i := hash3(n.t, n.h, n.l) & mask
		for b.table[i] != 0 {
			i = (i + 1) & mask
		}
		b.table[i] = uint32(s)
	}
}

// and returns the conjunction of two edges that share no variable.
func (b *builder) and(x, y edge) edge {
	if x == edgeFalse || y == edgeFalse {
		return edgeFalse
	}
	if x>>1 > y>>1 { // one node for both orders; the simpler part is the test
		x, y = y, x
	}
	return b.ite(x, y, edgeFalse)
}

// threshold returns "at least lo and at most hi of the edges are true" for edges that share no
// variables: a grid of O(len(es)·hi) nodes. stop is asked once a row.
func (b *builder) threshold(es []edge, lo, hi int, stop func() bool) edge {
	n := len(es)
	lo, hi = max(lo, 0), min(hi, n)
	if lo > hi {
		return edgeFalse
	}
	// row[j] is the diagram of "between lo and hi true in all, given j true so far".
	row := make([]edge, n+1)
	for j := range row {
		if j >= lo && j <= hi {
			row[j] = edgeTrue
		} else {
			row[j] = edgeFalse
		}
	}
	for i := n - 1; i >= 0; i-- {
		if stop() {
			return edgeStop
		}
		top := min(i, hi)
		for j := 0; j <= top; j++ {
			row[j] = b.ite(es[i], row[j+1], row[j])
		}
	}
	return row[0]
}
