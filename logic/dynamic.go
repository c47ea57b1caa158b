package logic

import (
	"cmp"
	"slices"
)

// dynamic compiles a set of factors by branching on the variable that decides most, propagating the
// literals this forces, and splitting what is left into parts that share no variable. It finds
// decompositions that no fixed tree has (that all pairs within the items before a pivot are independent
// of those after it, say), at a cost of the whole remaining set for each state.
type dynamic struct {
	c      *compiler
	s      *store
	rank   []int // by atom, for ties
	key    []uint32
	states []state
	table  []uint32
	value  []int8 // by atom while propagating: 0 unknown, 1 true, -1 false
	owner  []int32
	score  []float64
	buf    []fedge
	budget int
}

func newDynamic(c *compiler, s *store, rank []int) *dynamic {
	n := len(s.atoms)
	return &dynamic{c: c, s: s, rank: rank, table: make([]uint32, 64), value: make([]int8, n), owner: make([]int32, n), score: make([]float64, n)}
}

// run compiles the conjunction of the factors, or returns edgeStop beyond budget: looking at a factor
// takes one.
func (y *dynamic) run(factors []fedge, budget int) edge {
	y.budget = budget
	base := len(y.buf)
	y.buf = append(y.buf, factors...)
	return y.conjunction(base, -1, 0)
}

// conjunction compiles buf[base:], which it consumes, under atom a = value (a < 0: none). The literals
// that follow become part of the result, a's own does not.
func (y *dynamic) conjunction(base int, a int32, value int8) edge {
	units, ok := y.propagate(base, a, value)
	if !ok {
		y.buf = y.buf[:base]
		return edgeFalse
	}
	r := edgeTrue
	// Parts: atoms are united through the factors that mention them.
	es := y.buf[base:]
	slices.Sort(es)
	es = slices.Compact(es)
	y.buf = y.buf[:base+len(es)]
	parts := y.split(es)
	es = nil
	y.buf = y.buf[:base]
	for _, part := range parts {
		d := y.part(part)
		if d == edgeStop || d == edgeFalse {
			return d
		}
		r = y.c.b.and(r, d)
	}
	for _, u := range units {
		r = y.c.b.and(y.c.literalEdge(y.s, u), r)
	}
	return r
}

// propagate conditions buf[base:] on a = value and on every literal in it until none is left.
func (y *dynamic) propagate(base int, a int32, value int8) (units []fedge, ok bool) {
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
		for k := base; k < n; k++ {
			i := k
			if round%2 == 1 { // both directions, so that a long chain does not need a round a link
				i = n - 1 - (k - base)
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
	out := base
	for _, e := range y.buf[base:] {
		if e != fTrue {
			y.buf[out] = e
			out++
		}
	}
	y.buf = y.buf[:out]
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

// part compiles factors that hang together.
func (y *dynamic) part(es []fedge) edge {
	mask := uint64(len(y.table) - 1)
	i := hashList(es, 1) & mask
	id := uint32(0)
	for y.table[i] != 0 {
		st := &y.states[y.table[i]-1]
		if slices.Equal(y.key[st.off:st.off+st.n], es) {
			if st.result != edgeStop {
				return st.result
			}
			id = y.table[i]
			break
		}
		i = (i + 1) & mask
	}
	if y.budget -= 10; y.budget < 0 || y.c.stop() || y.s.over {
		return edgeStop
	}
	if id == 0 {
		y.states = append(y.states, state{uint32(len(y.key)), uint32(len(es)), 0, edgeStop})
		y.key = append(y.key, es...)
		id = uint32(len(y.states))
		y.table[i] = id
		if 2*len(y.states) > len(y.table) {
			y.grow()
		}
		if y.s.other += 4*len(es) + 24; len(y.states)&255 == 0 && y.s.bytes() > y.s.quota || len(y.key) > 1<<31 {
			y.s.over = true
		}
	}
	a := y.choose(es)
	base := len(y.buf)
	y.buf = append(y.buf, es...)
	hi := y.conjunction(base, a, 1)
	if hi == edgeStop {
		return edgeStop
	}
	y.buf = append(y.buf[:base], es...)
	lo := y.conjunction(base, a, -1)
	if lo == edgeStop {
		return edgeStop
	}
	r := y.c.b.ite(y.c.atomEdge(a), hi, lo)
	y.states[id-1].result = r
	return r
}

func (y *dynamic) grow() {
	y.table = make([]uint32, 2*len(y.table))
	mask := uint64(len(y.table) - 1)
	for id, st := range y.states {
		i := hashList(y.key[st.off:st.off+st.n], 1) & mask
		for y.table[i] != 0 {
			i = (i + 1) & mask
		}
		y.table[i] = uint32(id) + 1
	}
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
