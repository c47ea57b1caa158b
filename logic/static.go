package logic

import "slices"

// static compiles a connected set of factors along a pseudo-tree. The state at a variable is the set of
// residuals of those factors that an ancestor has touched; factors that lie wholly below are known from
// the variable itself. So a state costs as much as the frontier is wide, however large the rest is, and
// states are shared whenever their residuals are equal.
type static struct {
	stateTable
	c       *compiler
	tree    *pseudoTree
	atoms   []int32   // by local variable
	factors [][]fedge // by local variable: the factors whose topmost variable it is
	stack   []staticFrame
	buf     []fedge
	ends    []int32 // where each child's residuals end, for each frame
	from    []int32 // by local variable: its place, walking the tree depth first
	marked  []int32 // atoms that have a value while literals are settled
	budget  int
	root    int // the tree's root whose state is being compiled, and the conjunction of those before
	all     edge
}

func newStatic(c *compiler, s *store, factors []fedge, atoms []int32, tree *pseudoTree) *static {
	y := &static{stateTable: newStateTable(s), c: c, tree: tree, atoms: atoms}
	y.factors = make([][]fedge, len(atoms))
	for _, e := range factors {
		top := int32(-1)
		for _, a := range s.support(e) {
			if v := c.local[a]; top < 0 || tree.depth[v] < tree.depth[top] {
				top = v
			}
		}
		y.factors[top] = append(y.factors[top], e)
	}
	y.from = tree.places()
	return y
}

// A staticFrame is a state that is being compiled, on y.stack: a tree may be deeper than a goroutine's stack.
type staticFrame struct {
	id         uint32 // of the state
	value      uint32 // of its variable, 1 first
	high       edge   // what 1 led to
	all        edge   // the conjunction of the children so far
	child      int    // the next of them
	begin      int    // where its residuals are in y.buf
	base, ends int    // how long y.buf and y.ends were before
}

// run compiles, or returns edgeStop when more than budget new states are met, and goes on from there the next time.
func (y *static) run(budget int) edge {
	y.budget = budget
	d, known := edgeTrue, false // of a child
	for {
		if len(y.stack) == 0 {
			if known {
				y.all, y.root = y.c.b.and(y.all, d), y.root+1
			}
			if y.root == len(y.tree.roots) {
				return y.all
			}
			if d, known = y.state(y.tree.roots[y.root], nil); d == edgeStop {
				return edgeStop
			}
			continue
		}
		f := &y.stack[len(y.stack)-1]
		if known {
			f.all = y.c.b.and(f.all, d)
		}
		v := y.made[f.id].at
		children := y.tree.children[v]
		if f.all != edgeFalse && f.child < len(children) {
			if y.budget < 0 || y.full() {
				return edgeStop
			}
			end := int(y.ends[f.ends+f.child])
			residuals := y.buf[f.begin:end]
			f.begin = end
			f.child++
			if d, known = y.state(children[f.child-1], residuals); d == edgeStop {
				return edgeStop
			}
			continue
		}
		// All children are compiled under this value, or one is ⊥.
		y.buf, y.ends = y.buf[:f.base], y.ends[:f.ends]
		if f.value == 1 {
			f.high, f.value = f.all, 0
			y.branch(f)
			known = false
			continue
		}
		d, known = y.c.b.ite(y.c.atomEdge(y.atoms[v]), f.high, f.all), true
		y.made[f.id].result = d
		y.stack = y.stack[:len(y.stack)-1]
	}
}

// state returns the diagram of a state if it is known, or edgeStop for good; else it opens a frame for it.
func (y *static) state(v int32, residuals []fedge) (d edge, known bool) {
	slot := y.slot(v, residuals)
	if id := y.table[slot]; id != 0 {
		return y.made[id-1].result, true
	}
	if y.budget--; y.c.stop() || y.s.over {
		return edgeStop, true
	}
	y.stack = append(y.stack, staticFrame{id: y.add(slot, v, residuals), value: 1, base: len(y.buf), ends: len(y.ends)})
	y.deep(len(y.stack))
	y.branch(&y.stack[len(y.stack)-1])
	return 0, false
}

// branch conditions f's state on its value: the children's residuals are then in y.buf, or f.all is ⊥.
func (y *static) branch(f *staticFrame) {
	s, st := y.s, &y.made[f.id]
	v := st.at
	a := y.atoms[v]
	f.all, f.child = edgeFalse, 0
	for _, e := range y.residuals(st) {
		if !y.push(s.restrict(e, a, f.value)) {
			return
		}
	}
	for _, e := range y.factors[v] {
		if !y.push(s.restrict(e, a, f.value)) {
			return
		}
	}
	if !y.settle(f.base) {
		return
	}
	f.all = edgeTrue
	children := y.tree.children[v]
	end := len(y.buf)
	if len(children) == 1 {
		y.ends = append(y.ends, int32(end))
		f.begin = f.base
		return
	}
	// Each residual belongs to the one subtree that has its variables. They are put in groups behind
	// themselves.
	for range children {
		y.ends = append(y.ends, 0)
	}
	group := y.ends[f.ends:]
	for _, e := range y.buf[f.base:end] {
		group[y.child(children, e)]++
	}
	at := int32(end)
	for i, n := range group {
		group[i] = at // its beginning, which moves on to its end
		at += n
	}
	y.buf = slices.Grow(y.buf, end-f.base)[:end+end-f.base]
	for _, e := range y.buf[f.base:end] {
		i := y.child(children, e)
		y.buf[group[i]] = e
		group[i]++
	}
	f.begin = end
}

// child tells which of the children has a residual's variables in its subtree.
func (y *static) child(children []int32, e fedge) int {
	n := &y.s.nodes[e>>1]
	var at int32
	if n.kind == fAtom {
		at = y.from[y.c.local[n.lo]]
	} else {
		at = y.from[y.c.local[y.s.listSupport(n.list)[0]]]
	}
	lo, hi := 0, len(children) // subtrees lie one after the other
	for lo+1 < hi {
		if m := (lo + hi) / 2; y.from[children[m]] <= at {
			lo = m
		} else {
			hi = m
		}
	}
	return lo
}

// few is how many literals a conjunction of literals may have at most for each to be a residual of its
// own. One of more stays whole: of hundreds that exclude each other all but one are false, and a state
// for each of them is not to list the others.
const few = 8

// whole tells whether e is a conjunction of literals that stays whole.
func (y *static) whole(e fedge) bool {
	n := &y.s.nodes[e>>1]
	return e&1 == 0 && n.kind == fAnd && y.s.flat[n.list] && y.s.lists[n.list].n > few
}

// push adds a residual, a conjunction as its parts; false when it is ⊥.
func (y *static) push(e fedge) bool {
	switch {
	case e == fFalse:
		return false
	case e == fTrue:
	case e&1 == 0 && y.s.nodes[e>>1].kind == fAnd && !y.whole(e):
		y.buf = append(y.buf, y.s.kids(y.s.nodes[e>>1].list)...)
	default:
		y.buf = append(y.buf, e)
	}
	return true
}

// settle sorts buf[base:] and conditions it on the literals in it; false when they contradict.
func (y *static) settle(base int) bool {
	s, value := y.s, y.c.value
	for {
		es := y.buf[base:]
		slices.Sort(es)
		es = slices.Compact(es)
		y.buf = y.buf[:base+len(es)]
		// Values 1 and -1 are of literals, 2 and -2 of those that are only in a conjunction that stays whole:
		// they condition all but the conjunctions themselves.
		ok := true
		for _, e := range es {
			if n := &s.nodes[e>>1]; n.kind == fAtom {
				ok = ok && y.mark(e, 1)
			}
		}
		literals := len(y.marked)
		for _, e := range es {
			if !y.whole(e) {
				continue
			}
			for _, k := range s.kids(s.nodes[e>>1].list) {
				ok = ok && y.mark(k, 2)
			}
		}
		changed := false
		for i := 0; i < len(es) && ok && len(y.marked) > 0; i++ {
			e := es[i]
			if s.nodes[e>>1].kind == fAtom {
				continue
			}
			marked, strongest := y.marked, int8(2)
			if y.whole(e) { // its own literals are no news to it
				marked, strongest = marked[:literals], 1
			}
			for e > fFalse && !s.over {
				a := y.known(e, marked, strongest)
				if a < 0 {
					break
				}
				v := uint32(0)
				if value[a] > 0 {
					v = 1
				}
				e = s.restrict(e, a, v)
			}
			changed = changed || e != es[i]
			es[i] = e
		}
		for _, a := range y.marked {
			value[a] = 0
		}
		y.marked = y.marked[:0]
		if !ok {
			return false
		}
		if !changed || s.over {
			return true
		}
		// Constants go, conjunctions open.
		end := len(y.buf)
		for i := base; i < end; i++ {
			if !y.push(y.buf[i]) {
				return false
			}
		}
		n := copy(y.buf[base:], y.buf[end:])
		y.buf = y.buf[:base+n]
	}
}

// mark gives the atom of a literal its value; false where it has the other one.
func (y *static) mark(literal fedge, strength int8) bool {
	a := y.s.nodes[literal>>1].lo
	v := strength * (1 - 2*int8(literal&1))
	switch old := y.c.value[a]; {
	case old == 0:
		y.c.value[a] = v
		y.marked = append(y.marked, a)
	case (old > 0) != (v > 0):
		return false
	}
	return true
}

// known returns one of the marked atoms that e mentions, -1 if there is none. These are all that have a
// value of at most the given strength.
func (y *static) known(e fedge, marked []int32, strength int8) int32 {
	s := y.s
	if len(marked) == 0 {
		return -1
	}
	var sup []int32
	if n := &s.nodes[e>>1]; n.kind == fAtom {
		sup = []int32{n.lo}
	} else {
		sup = s.listSupport(n.list)
	}
	if 8*len(marked) < len(sup) {
		for _, a := range marked {
			if s.mentions(e, a) {
				return a
			}
		}
		return -1
	}
	for _, a := range sup {
		if v := y.c.value[a]; v != 0 && v <= strength && v >= -strength {
			return a
		}
	}
	return -1
}
