package logic

import (
	"cmp"
	"math/bits"
	"slices"
)

// dynamic compiles a set of factors by branching on the variable that decides most, propagating the
// literals this forces, and splitting what is left into parts that share no variable. It finds
// decompositions that no fixed tree has (that all pairs within the items before a pivot are independent
// of those after it, say), at a cost of the whole remaining set for each state.
type dynamic struct {
	stateTable
	c       *compiler
	factors []fedge // given
	rank    []int   // by atom, for ties and for literals put together
	stack   []dynamicFrame
	value   []int8 // by atom while propagating: 0 unknown, 1 true, -1 false
	owner   []int32
	score   []float64
	buf     []fedge
	budget  int
}

func newDynamic(c *compiler, s *store, rank []int) *dynamic {
	n := len(s.atoms)
	return &dynamic{stateTable: newStateTable(s), c: c, rank: rank, value: make([]int8, n), owner: make([]int32, n), score: make([]float64, n)}
}

// A dynamicFrame is a state that is being compiled, on y.stack: branching may go deeper than a goroutine's
// stack. That of the factors given has no atom and no state, and value 0.
type dynamicFrame struct {
	id    uint32 // of the state
	atom  int32  // branched on
	value int8   // of it, 1 first and then -1
	high  edge   // what 1 led to
	all   edge   // the conjunction of the parts so far
	parts [][]fedge
	units []fedge // literals that follow, which become part of the conjunction
}

// run compiles the conjunction of the factors given, or returns edgeStop beyond budget and goes on from there the
// next time: looking at a factor takes one.
func (y *dynamic) run(budget int) edge {
	y.budget = budget
	if len(y.stack) == 0 {
		y.stack = append(y.stack, dynamicFrame{atom: -1})
		y.branch(&y.stack[0], y.factors)
	}
	d, known := edgeTrue, false // of a part
	for {
		f := &y.stack[len(y.stack)-1]
		if known {
			if d == edgeStop {
				return edgeStop
			}
			f.all = y.c.b.and(f.all, d)
		}
		if f.all != edgeFalse && len(f.parts) > 0 {
			if y.budget < 0 || y.full() {
				return edgeStop
			}
			part := f.parts[0]
			f.parts[0], f.parts = nil, f.parts[1:]
			d, known = y.part(part)
			continue
		}
		// All parts are compiled under this value, or one is ⊥.
		f.all = y.with(f.units, f.all)
		switch f.value {
		case 0:
			y.stack = y.stack[:0]
			return f.all
		case 1:
			f.high, f.value = f.all, -1
			y.branch(f, y.residuals(&y.made[f.id]))
			known = false
			continue
		}
		d, known = y.c.b.ite(y.c.atomEdge(f.atom), f.high, f.all), true
		y.made[f.id].result = d
		y.stack = y.stack[:len(y.stack)-1]
	}
}

// with returns the conjunction of a diagram with literals whose atoms it does not have. These are put together by
// the upper digits of their ranks, so that sets of literals share the runs that they have in common: of a
// taxonomy numbered depth first "nothing of this subtree" is one diagram in all of them.
func (y *dynamic) with(literals []fedge, d edge) edge {
	if d == edgeFalse || len(literals) == 0 {
		return d
	}
	rank := func(e fedge) uint { return uint(y.rank[y.s.nodes[e>>1].lo]) }
	slices.SortFunc(literals, func(a, b fedge) int { return cmp.Compare(rank(a), rank(b)) })
	var all func(literals []fedge) edge
	all = func(literals []fedge) edge {
		if len(literals) == 1 {
			return y.c.literalEdge(y.s, literals[0])
		}
		top := bits.Len(rank(literals[0])^rank(literals[len(literals)-1])) - 1
		at, _ := slices.BinarySearchFunc(literals, uint(1), func(e fedge, one uint) int { return cmp.Compare(rank(e)>>top&1, one) })
		return y.c.b.and(all(literals[:at]), all(literals[at:]))
	}
	return y.c.b.and(all(literals), d)
}

// branch conditions factors on f's atom and value. What is left is in f.parts, or f.all is ⊥.
func (y *dynamic) branch(f *dynamicFrame, factors []fedge) {
	f.all, f.parts, f.units = edgeFalse, nil, nil
	y.buf = append(y.buf[:0], factors...)
	units, ok := y.propagate(f.atom, f.value)
	if !ok {
		return
	}
	slices.Sort(y.buf)
	f.all, f.parts, f.units = edgeTrue, y.split(slices.Compact(y.buf)), units
}

// propagate conditions y.buf on a = value (a < 0: on nothing) and on every literal in it until none is left.
func (y *dynamic) propagate(a int32, value int8) (units []fedge, ok bool) {
	s := y.s
	var assigned []int32
	if a >= 0 {
		y.value[a] = value
		assigned = append(assigned, a)
	}
	defer func() {
		for _, a := range assigned {
			y.value[a] = 0
		}
	}()
	for round := 0; ; round++ {
		changed := false
		n := len(y.buf)
		for k := range n {
			i := k
			if round%2 == 1 { // both directions, so that a long chain does not need a round a link
				i = n - 1 - k
			}
			e := y.buf[i]
			if e == fTrue {
				continue
			}
			y.budget--
			for e > fFalse {
				hit := int32(-1)
				if nd := &s.nodes[e>>1]; nd.kind == fAtom {
					if y.value[nd.lo] != 0 {
						hit = nd.lo
					}
				} else {
					sup := s.listSupport(nd.list)
					y.budget -= len(sup) >> 2
					for _, b := range sup {
						if y.value[b] != 0 {
							hit = b
							break
						}
					}
				}
				if hit < 0 {
					break
				}
				v := uint32(0)
				if y.value[hit] > 0 {
					v = 1
				}
				e = s.restrict(e, hit, v)
				if s.over {
					return nil, true
				}
			}
			if e == fFalse {
				return nil, false
			}
			if e == fTrue {
				y.buf[i] = fTrue
				continue
			}
			nd := &s.nodes[e>>1]
			switch {
			case nd.kind == fAtom:
				units = append(units, e)
				y.value[nd.lo] = 1 - 2*int8(e&1)
				assigned = append(assigned, nd.lo)
				changed = true
				e = fTrue
			case nd.kind == fAnd && e&1 == 0:
				y.buf = append(y.buf, s.kids(nd.list)...)
				changed = true
				e = fTrue
			}
			y.buf[i] = e
		}
		if !changed {
			break
		}
	}
	y.buf = slices.DeleteFunc(y.buf, func(e fedge) bool { return e == fTrue })
	return units, true
}

// split groups sorted factors by shared atoms; each group is sorted, groups come in the order of their
// first factors.
func (y *dynamic) split(es []fedge) [][]fedge {
	if len(es) == 0 {
		return nil
	}
	find := make([]int32, len(es))
	for i := range find {
		find[i] = int32(i)
	}
	root := func(i int32) int32 {
		for find[i] != i {
			find[i] = find[find[i]]
			i = find[i]
		}
		return i
	}
	for _, e := range es {
		for _, a := range y.s.support(e) {
			y.owner[a] = -1
		}
	}
	groups := len(es)
	for i, e := range es {
		for _, a := range y.s.support(e) {
			if o := y.owner[a]; o < 0 {
				y.owner[a] = int32(i)
			} else if r, q := root(o), root(int32(i)); r != q {
				find[max(r, q)] = min(r, q)
				groups--
			}
		}
	}
	if groups == 1 {
		return [][]fedge{slices.Clone(es)}
	}
	index := make(map[int32]int, groups)
	parts := make([][]fedge, 0, groups)
	for i, e := range es {
		r := root(int32(i))
		j, ok := index[r]
		if !ok {
			j = len(parts)
			index[r] = j
			parts = append(parts, nil)
		}
		parts[j] = append(parts[j], e)
	}
	return parts
}

// part returns the diagram of factors that hang together if it is known, or edgeStop for good; else it opens a
// frame for them.
func (y *dynamic) part(es []fedge) (d edge, known bool) {
	slot := y.slot(0, es)
	if id := y.table[slot]; id != 0 {
		return y.made[id-1].result, true
	}
	if y.budget -= 10; y.c.stop() || y.s.over {
		return edgeStop, true
	}
	y.stack = append(y.stack, dynamicFrame{id: y.add(slot, 0, es), atom: y.choose(es), value: 1})
	y.deep(len(y.stack))
	y.branch(&y.stack[len(y.stack)-1], es)
	return 0, false
}

// choose returns the atom whose factors are shortest and most (Jeroslow and Wang's weights), the one of
// least rank among equals.
func (y *dynamic) choose(es []fedge) int32 {
	for _, e := range es {
		for _, a := range y.s.support(e) {
			y.score[a] = 0
		}
	}
	best := int32(-1)
	for _, e := range es {
		sup := y.s.support(e)
		w := 1 / float64(uint64(1)<<min(2*len(sup), 40))
		if n := &y.s.nodes[e>>1]; n.kind == fCard && e&1 == 1 && n.lo == 2 && int(n.hi) == len(sup) {
			w = float64(len(sup)-1) / 16 // at most one: clauses of two literals with each of the others
		}
		for _, a := range sup {
			y.score[a] += w
		}
	}
	for _, e := range es {
		for _, a := range y.s.support(e) {
			if best < 0 {
				best = a
				continue
			}
			if c := cmp.Compare(y.score[a], y.score[best]); c > 0 || c == 0 && y.rank[a] < y.rank[best] {
				best = a
			}
		}
	}
	return best
}
