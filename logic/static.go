package logic

import "slices"

// static compiles a connected set of factors along a pseudo-tree. The state at a variable is the set of
// residuals of those factors that an ancestor has touched; factors that lie wholly below are known from
// the variable itself. So a state costs as much as the frontier is wide, however large the rest is, and
// states are shared whenever their residuals are equal.
type static struct {
	c       *compiler
	s       *store
	tree    *pseudoTree
	atoms   []int32         // by local variable
	local   map[int32]int32 // by atom
	factors [][]fedge       // by local variable: the factors whose topmost variable it is
	key     []uint32        // arena of the states' keys
	states  []state
	table   []uint32
	buf     []fedge
	budget  int
}

type state struct {
	off, n uint32
	at     int32
	result edge // edgeStop while unknown
}

func newStatic(c *compiler, s *store, factors []fedge, atoms []int32, local map[int32]int32, tree *pseudoTree) *static {
	y := &static{c: c, s: s, tree: tree, atoms: atoms, local: local, table: make([]uint32, 64)}
	y.factors = make([][]fedge, len(atoms))
	for _, e := range factors {
		top := int32(-1)
		for _, a := range s.support(e) {
			if v := local[a]; top < 0 || tree.depth[v] < tree.depth[top] {
				top = v
			}
		}
		y.factors[top] = append(y.factors[top], e)
	}
	return y
}

// run compiles, or returns edgeStop when more than budget new states are met.
func (y *static) run(budget int) edge {
	y.budget = budget
	r := edgeTrue
	for _, v := range y.tree.roots {
		d := y.state(v, nil)
		if d == edgeStop {
			return edgeStop
		}
		r = y.c.b.and(r, d)
	}
	return r
}

// below returns the child of v on the way to u.
func (y *static) below(v, u int32) int32 {
	for y.tree.parent[u] != v {
		u = y.tree.parent[u]
	}
	return u
}

func (y *static) state(v int32, residuals []fedge) edge {
	mask := uint64(len(y.table) - 1)
	i := hashList(residuals, uint64(v)+1) & mask
	id := uint32(0)
	for y.table[i] != 0 {
		st := &y.states[y.table[i]-1]
		if st.at == v && slices.Equal(y.key[st.off:st.off+st.n], residuals) {
			if st.result != edgeStop {
				return st.result
			}
			id = y.table[i]
			break
		}
		i = (i + 1) & mask
	}
	if y.budget--; y.budget < 0 || y.c.stop() || y.s.over {
		return edgeStop
	}
	if id == 0 {
		off := uint32(len(y.key))
		y.key = append(y.key, residuals...)
		y.states = append(y.states, state{off, uint32(len(residuals)), v, edgeStop})
		id = uint32(len(y.states))
		y.table[i] = id
		if 2*len(y.states) > len(y.table) {
			y.grow()
		}
		if 4*len(y.key)+16*len(y.states) > y.s.quota || len(y.key) > 1<<31 {
			y.s.over = true
		}
	}
	st := y.states[id-1]
	residuals = y.key[st.off : st.off+st.n] // stays as it is while the arena grows
	hi := y.branch(v, residuals, 1)
	if hi == edgeStop {
		return edgeStop
	}
	lo := y.branch(v, residuals, 0)
	if lo == edgeStop {
		return edgeStop
	}
	r := y.c.b.ite(y.c.atomEdge(y.atoms[v]), hi, lo)
	y.states[id-1].result = r
	return r
}

func (y *static) grow() {
	y.table = make([]uint32, 2*len(y.table))
	mask := uint64(len(y.table) - 1)
	for id, st := range y.states {
		i := hashList(y.key[st.off:st.off+st.n], uint64(st.at)+1) & mask
		for y.table[i] != 0 {
			i = (i + 1) & mask
		}
		y.table[i] = uint32(id) + 1
	}
}

func (y *static) branch(v int32, residuals []fedge, value uint32) edge {
	s := y.s
	a := y.atoms[v]
	base := len(y.buf)
	defer func() { y.buf = y.buf[:base] }()
	for _, e := range residuals {
		if !y.push(s.restrict(e, a, value)) {
			return edgeFalse
		}
	}
	for _, e := range y.factors[v] {
		if !y.push(s.restrict(e, a, value)) {
			return edgeFalse
		}
	}
	if !y.settle(base) {
		return edgeFalse
	}
	children := y.tree.children[v]
	if len(children) == 1 {
		return y.state(children[0], y.buf[base:])
	}
	// Each residual belongs to the one subtree that has its variables.
	r := edgeTrue
	end := len(y.buf)
	for _, c := range children {
		for i := base; i < end; i++ {
			e := y.buf[i]
			n := &s.nodes[e>>1]
			var u int32
			if n.kind == fAtom {
				u = y.local[n.lo]
			} else {
				u = y.local[s.listSupport(n.list)[0]]
			}
			if y.below(v, u) == c {
				y.buf = append(y.buf, e)
			}
		}
		d := y.state(c, y.buf[end:])
		y.buf = y.buf[:end]
		if d == edgeStop || d == edgeFalse {
			return d
		}
		r = y.c.b.and(r, d)
	}
	return r
}

// push adds a residual, a conjunction as its parts; false when it is ⊥.
func (y *static) push(e fedge) bool {
	switch {
	case e == fFalse:
		return false
	case e == fTrue:
	case e&1 == 0 && y.s.nodes[e>>1].kind == fAnd:
		y.buf = append(y.buf, y.s.kids(y.s.nodes[e>>1].list)...)
	default:
		y.buf = append(y.buf, e)
	}
	return true
}

// settle sorts buf[base:] and conditions it on the literals in it; false when they contradict.
func (y *static) settle(base int) bool {
	s := y.s
	for {
		es := y.buf[base:]
		slices.Sort(es)
		es = slices.Compact(es)
		y.buf = y.buf[:base+len(es)]
		changed := false
		for i, e := range es {
			if i > 0 && es[i-1]^1 == e {
				return false
			}
			if s.nodes[e>>1].kind != fAtom {
				continue
			}
			a, value := s.nodes[e>>1].lo, 1^e&1
			for j, o := range es {
				if o == fTrue || o>>1 == e>>1 || s.nodes[o>>1].kind == fAtom || !s.mentions(o, a) {
					continue
				}
				r := s.restrict(o, a, value)
				if r == fFalse {
					return false
				}
				if r == o {
					continue
				}
				changed = true
				es[j] = r
			}
		}
		if !changed {
			return true
		}
		// Constants go, conjunctions open.
		end := len(y.buf)
		for i := base; i < end; i++ {
			y.push(y.buf[i])
		}
		n := copy(y.buf[base:], y.buf[end:])
		y.buf = y.buf[:base+n]
	}
}
