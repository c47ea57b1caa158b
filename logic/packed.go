package logic

import (
	"math/bits"
	"slices"
)

// packed compiles factors over literals alone (clauses, thresholds, parities) along a pseudo-tree. What is
// left of such a factor, once the variables above are decided, is a number: of a clause whether it is
// still to be satisfied, of a threshold how many are true so far, of a parity which it is. So a state is
// these numbers side by side in a few words, each in the same place from the factor's first variable to
// its last, and going on to the next variable is a mask, a bit set, and an addition for each threshold.
// The tree is walked a variable at a time from the roots, all states of one before those of the next; nodes
// are then made from the leaves of the tree up.
//
// The states are those of static, but for literals that follow from a state: a clause of which one literal
// is left becomes "that literal", in which all such clauses agree, and is not propagated further into the
// other factors. The tree's estimate of the number of states holds with that.
type packed struct {
	held
	c      *compiler
	tree   *pseudoTree
	atoms  []int32
	steps  []packedStep // by local variable
	order  []int32      // the tree depth first
	levels []packedLevel
	at     int // the place in order of the variable whose states are being expanded
	row    int // the next of them
	key    []uint64
}

// packedStep says what deciding one variable makes of a state.
type packedStep struct {
	words  int // of a state before
	wide   int // of a state while the variable is decided
	value  [2]packedBranch
	counts []packedCount
	pairs  []uint64   // the lower bits of the literals that follow: with the upper ones they contradict
	parts  [][]uint64 // by child, where there are several: the mask of what belongs to it
}

type packedBranch struct {
	dead      bool
	deny      bitAt // where the state says that the variable has the other value
	keep, set []uint64
	units     []packedUnit
}

// bitAt is bits of one word; mask 0 is none.
type bitAt struct {
	word int
	mask uint64
}

// packedUnit is a clause of which one literal is left if this one is false.
type packedUnit struct{ pending, literal bitAt }

// packedCount is a threshold or parity that the variable occurs in.
type packedCount struct {
	at     bitAt
	shift  int
	add    [2]int // by value
	lo, hi int
	left   int // of its literals after this variable
	not    bool
	odd    bool  // it is a parity: lo is 1 for odd, 0 for even
	yes    bitAt // the last literal, if one is left: true
	no     bitAt // and false
}

// packedLevel is the states of one variable.
type packedLevel struct {
	n     int
	keys  []uint64
	table []uint32 // states by their keys, plus 1
	next  []uint32 // by state, value (false first) and child: its state, packedDead for ⊥
	edges []edge   // by state, once they are made
}

const packedDead = ^uint32(0)

// A state of more words than packedWords is none that a tree with few states has, and tables of steps are
// not to take more memory than what they are for.
const (
	packedWords = 32
	packedTotal = 1 << 23 // words of all masks
)

// packedFactor is what newPacked knows of a factor.
type packedFactor struct {
	kind        fkind
	neg         bool
	lo, hi      int
	left        int
	top, bottom int32 // its first and last variable
	last        uint32
	pos, width  int  // place of its number, in bits
	open        bool // it has its place
	closed      bool // and has it no more, being decided or a literal
}

type packedUse struct {
	factor int32
	times  int32
	truth  uint8 // the value that makes the literal true
}

// newPacked returns nil where a factor is of more than literals, or states would take too many words.
func newPacked(c *compiler, s *store, factors []fedge, atoms []int32, tree *pseudoTree) *packed {
	for _, e := range factors {
		if n := &s.nodes[e>>1]; n.kind < fAnd || !s.flat[n.list] || n.kind == fAnd && e&1 == 0 {
			return nil
		}
	}
	p := &packed{held: newHeld(s), c: c, tree: tree, atoms: atoms}
	b := &packer{p: p, from: tree.places()}
	p.order = make([]int32, len(atoms))
	for v, i := range b.from {
		p.order[i] = int32(v)
	}
	b.read(factors)
	if !b.lay() {
		return nil
	}
	p.levels = make([]packedLevel, len(atoms))
	for _, v := range tree.roots {
		p.levels[v] = packedLevel{n: 1}
	}
	return p
}

// packer lays out the states.
type packer struct {
	p       *packed
	from    []int32
	factors []packedFactor
	uses    [][]packedUse // by variable
	forced  []int         // by variable: place of the two bits "it is false", "it is true", -1 for none
	total   int
	slab    []uint64
}

// masks returns n words of 0, many lists of which are one allocation.
func (b *packer) masks(n int) []uint64 {
	if len(b.slab) < n {
		b.slab = make([]uint64, 256+n)
	}
	m := b.slab[:n:n]
	b.slab = b.slab[n:]
	return m
}

func (b *packer) read(factors []fedge) {
	s, local := b.p.s, b.p.c.local
	b.factors = make([]packedFactor, len(factors))
	b.uses = make([][]packedUse, len(b.from))
	number := make([]int, len(b.from))
	total := 0
	for _, e := range factors {
		kids := s.kids(s.nodes[e>>1].list)
		total += len(kids)
		for _, k := range kids {
			number[local[s.nodes[k>>1].lo]]++
		}
	}
	all := make([]packedUse, total)
	for v, n := range number {
		b.uses[v], all = all[:0:n], all[n:]
	}
	b.forced = slices.Repeat([]int{-1}, len(b.from))
	for i, e := range factors {
		n := &s.nodes[e>>1]
		f := &b.factors[i]
		*f = packedFactor{kind: n.kind, neg: e&1 == 1, lo: int(n.lo), hi: int(n.hi), left: int(s.lists[n.list].n), top: -1, bottom: -1, pos: -1, width: 1}
		kids := s.kids(n.list)
		for j, k := range kids {
			v := local[s.nodes[k>>1].lo]
			truth := uint8(1 - k&1)
			if n.kind == fAnd {
				truth ^= 1 // the clause is the negation of this conjunction
			}
			if j > 0 && k == kids[j-1] {
				b.uses[v][len(b.uses[v])-1].times++
				continue
			}
			b.uses[v] = append(b.uses[v], packedUse{int32(i), 1, truth})
			if f.top < 0 || b.from[v] < b.from[f.top] {
				f.top = v
			}
			if f.bottom < 0 || b.from[v] > b.from[f.bottom] {
				f.bottom, f.last = v, uint32(truth)
			}
		}
		switch n.kind {
		case fXor:
			f.lo = 1 - int(e&1)
		case fCard:
			most := f.hi // what is not decided yet has at most so many true
			if f.hi >= f.left {
				most = f.lo - 1
			}
			f.width = bits.Len(uint(most + 1))
		}
	}
}

// field is something in a state: the number of a factor, or the two bits of a variable that follows.
type field struct {
	at, width int
	bottom    int32 // the variable up to which it matters
	variable  bool
}

// frame is the fields of the states before one variable.
type frame struct {
	fields []field
	used   []uint64
}

func (f *frame) words() int {
	n := len(f.used)
	for n > 0 && f.used[n-1] == 0 {
		n--
	}
	return n
}

func ones(width int) uint64 { return 1<<width - 1 }

// take finds room for a field, within a word and, if it is of two bits, at an even place.
func (f *frame) take(width int) int {
	for w := 0; ; w++ {
		if w == len(f.used) {
			f.used = append(f.used, 0)
		}
		free := ^f.used[w]
		for i := 1; i < width; i++ {
			free &= free >> 1
		}
		if width > 1 {
			free &= 1<<(64-width+1) - 1
		}
		if width == 2 {
			free &= 0x5555555555555555
		}
		if free != 0 {
			at := bits.TrailingZeros64(free)
			f.used[w] |= ones(width) << at
			return 64*w + at
		}
	}
}

func (f *frame) release(at, width int) { f.used[at/64] &^= ones(width) << (at % 64) }

func place(at, width int) bitAt { return bitAt{at / 64, ones(width) << (at % 64)} }

// literal makes room for "variable v has that value", a literal that follows, and returns its bit.
func (b *packer) literal(f *frame, v int32, truth uint32) bitAt {
	if b.forced[v] < 0 {
		at := f.take(2)
		b.forced[v] = at
		f.fields = append(f.fields, field{at, 2, v, true})
	}
	return place(b.forced[v]+int(truth), 1)
}

// lay makes the steps; false where they are not worth it.
func (b *packer) lay() bool {
	p := b.p
	n := len(p.order)
	p.steps = make([]packedStep, n)
	frames := make([]frame, n)
	widest := 0
	var done []int // places of the fields that end
	type change struct {
		value uint8
		at    bitAt
	}
	var sets, clears []change
	for i, v := range p.order {
		if i&63 == 0 && p.c.asked() {
			return false
		}
		st := &p.steps[v]
		f := frames[v]
		frames[v] = frame{}
		st.words = f.words()
		// What is given up goes first, so that its place is free.
		done, sets, clears = done[:0], sets[:0], clears[:0]
		give := func(at, width int) {
			f.release(at, width)
			done = append(done, at)
		}
		if at := b.forced[v]; at >= 0 {
			give(at, 2)
			st.value[0].deny, st.value[1].deny = place(at+1, 1), place(at, 1)
		}
		for _, u := range b.uses[v] {
			if g := &b.factors[u.factor]; g.kind == fAnd && g.open && g.left == 2 {
				give(g.pos, 1)
			}
		}
		if len(done) > 0 {
			f.fields = slices.DeleteFunc(f.fields, func(x field) bool { return slices.Contains(done, x.at) })
		}
		keep := b.masks(len(f.used))
		copy(keep, f.used)
		for _, u := range b.uses[v] {
			g := &b.factors[u.factor]
			g.left -= int(u.times)
			if g.kind != fAnd {
				continue
			}
			other := u.truth ^ 1
			switch {
			case g.left == 0:
				if !g.open {
					st.value[other].dead = true // of one literal
				}
			case g.left == 1: // from here on it is a literal that follows
				l := b.literal(&f, g.bottom, g.last)
				if g.open {
					st.value[other].units = append(st.value[other].units, packedUnit{place(g.pos, 1), l})
				} else {
					sets = append(sets, change{other, l})
					g.open = true
				}
			case !g.open:
				g.open, g.pos = true, f.take(1)
				f.fields = append(f.fields, field{g.pos, 1, g.bottom, false})
				sets = append(sets, change{other, place(g.pos, 1)})
			default:
				clears = append(clears, change{u.truth, place(g.pos, 1)})
			}
		}
		wide := max(len(f.used), len(keep))
		for _, u := range b.uses[v] {
			g := &b.factors[u.factor]
			if g.kind == fAnd || g.closed {
				continue
			}
			g.closed = g.left <= 1
			if !g.open {
				g.open, g.pos = true, f.take(g.width)
				f.fields = append(f.fields, field{g.pos, g.width, g.bottom, false})
			}
			x := packedCount{at: place(g.pos, g.width), shift: g.pos % 64, lo: g.lo, hi: g.hi, left: g.left, not: g.neg, odd: g.kind == fXor}
			x.add[u.truth] = int(u.times)
			if g.left == 1 {
				x.no, x.yes = b.literal(&f, g.bottom, 1-g.last), b.literal(&f, g.bottom, g.last)
			}
			st.counts = append(st.counts, x)
		}
		wide = max(wide, len(f.used))
		for _, x := range st.counts {
			if x.left <= 1 {
				at := 64*x.at.word + x.shift
				f.used[x.at.word] &^= x.at.mask
				f.fields = slices.DeleteFunc(f.fields, func(y field) bool { return y.at == at })
			}
		}
		st.wide = wide
		for value := range st.value {
			br := &st.value[value]
			br.keep, br.set = b.masks(wide), b.masks(wide)
			copy(br.keep, keep)
		}
		for _, x := range sets {
			st.value[x.value].set[x.at.word] |= x.at.mask
		}
		for _, x := range clears {
			st.value[x.value].keep[x.at.word] &^= x.at.mask
		}
		for _, x := range f.fields {
			if x.variable {
				if st.pairs == nil {
					st.pairs = b.masks(wide)
				}
				st.pairs[x.at/64] |= 1 << (x.at % 64)
			}
		}
		b.total += 5*wide + 8*len(b.uses[v]) + len(f.fields)
		children := p.tree.children[v]
		if len(children) == 1 {
			frames[children[0]] = f
		} else if len(children) > 1 {
			st.parts = make([][]uint64, len(children))
			for _, x := range f.fields {
				j := b.child(children, x.bottom)
				g := &frames[children[j]]
				g.fields = append(g.fields, x)
				for len(g.used) <= x.at/64 {
					g.used = append(g.used, 0)
				}
				g.used[x.at/64] |= ones(x.width) << (x.at % 64)
			}
			for j, c := range children {
				st.parts[j] = b.masks(len(frames[c].used))
				copy(st.parts[j], frames[c].used)
				b.total += 4 + len(st.parts[j])
			}
		}
		if widest = max(widest, wide); widest > packedWords || b.total > packedTotal {
			return false
		}
	}
	p.key = make([]uint64, widest)
	p.hold(8 * b.total)
	return true
}

// child tells which child's subtree has variable v.
func (b *packer) child(children []int32, v int32) int {
	at := b.from[v]
	i, ok := slices.BinarySearchFunc(children, at, func(c, at int32) int { return int(b.from[c]) - int(at) })
	if ok {
		return i
	}
	return i - 1
}

// run compiles, or returns edgeStop when about budget states have been expanded.
func (p *packed) run(budget int) edge {
	for ; p.at < len(p.order); p.at, p.row = p.at+1, 0 {
		v := p.order[p.at]
		l := &p.levels[v]
		if l.next == nil {
			p.begin(v, l)
		}
		for p.row < l.n {
			if budget <= 0 || p.full() {
				return edgeStop
			}
			m := min(64, l.n-p.row)
			budget -= m
			p.c.steps += m - 1
			if p.c.stop() {
				return edgeStop
			}
			before := p.bytes
			for end := p.row + m; p.row < end; p.row++ {
				p.expand(v, l, p.row)
			}
			if p.bytes>>16 != before>>16 && p.s.bytes() > p.s.quota {
				p.s.over = true
				return edgeStop
			}
		}
		p.hold(-8 * len(l.keys))
		l.keys = nil
	}
	for _, v := range slices.Backward(p.order) {
		if !p.make(v) {
			return edgeStop
		}
	}
	r := edgeTrue
	for _, v := range p.tree.roots {
		r = p.c.b.and(r, p.levels[v].edges[0])
	}
	return r
}

// begin makes room for what the states of v lead to.
func (p *packed) begin(v int32, l *packedLevel) {
	table := l.table // whose states are complete
	l.table = nil
	children := p.tree.children[v]
	l.next = make([]uint32, 0, 2*max(1, len(children))*l.n)
	p.hold(4 * cap(l.next))
	size := 16
	if len(children) == 1 { // mostly there are as many as before
		size = 1 << bits.Len(uint(2*l.n)+15)
	}
	for _, c := range children {
		if len(table) < size {
			table = make([]uint32, size)
		}
		table = table[:size]
		clear(table)
		p.levels[c].table, table = table, nil
	}
}

// expand decides variable v in a state, both ways, and notes the states of the children that follow.
func (p *packed) expand(v int32, l *packedLevel, row int) {
	st := &p.steps[v]
	children := p.tree.children[v]
	key := l.keys[row*st.words:][:st.words]
	for value := range st.value {
		to := packedDead
		switch {
		case !p.decide(st, key, value):
			if len(children) > 1 {
				l.next = append(l.next, slices.Repeat([]uint32{packedDead}, len(children)-1)...)
			}
		case len(children) == 0:
			to = 0
		case len(children) == 1:
			to = p.state(children[0], p.key)
		default:
			part := make([]uint64, 0, 8)
			for j, c := range children {
				part = part[:0]
				for i, m := range st.parts[j] {
					part = append(part, p.key[i]&m)
				}
				to = p.state(c, part)
				if j < len(children)-1 {
					l.next = append(l.next, to)
				}
			}
		}
		l.next = append(l.next, to)
	}
}

// decide makes p.key the state after the variable has got the value; false where there is none.
func (p *packed) decide(st *packedStep, key []uint64, value int) bool {
	br := &st.value[value]
	if br.dead || br.deny.mask != 0 && key[br.deny.word]&br.deny.mask != 0 {
		return false
	}
	x, keep, set := p.key[:st.wide], br.keep[:st.wide], br.set[:st.wide]
	for i := range x {
		k := uint64(0)
		if i < len(key) {
			k = key[i]
		}
		x[i] = k&keep[i] | set[i]
	}
	for _, u := range br.units {
		if key[u.pending.word]&u.pending.mask != 0 {
			x[u.literal.word] |= u.literal.mask
		}
	}
	for i := range st.counts {
		if !st.counts[i].count(x, value) {
			return false
		}
	}
	for i, m := range st.pairs {
		if x[i]&(x[i]>>1)&m != 0 {
			return false
		}
	}
	return true
}

// count adds to the number of a threshold or parity; false where it cannot hold any more. One that holds
// whatever comes has all bits set.
func (c *packedCount) count(x []uint64, value int) bool {
	word := &x[c.at.word]
	t := int(*word & c.at.mask >> c.shift)
	*word &^= c.at.mask
	if c.odd {
		t = (t + c.add[value]) & 1
		switch c.left {
		case 0:
			return t == c.lo
		case 1:
			l := c.yes
			if t == c.lo {
				l = c.no
			}
			x[l.word] |= l.mask
		default:
			*word |= uint64(t) << c.shift
		}
		return true
	}
	sure := int(c.at.mask >> c.shift)
	if t == sure {
		if c.left > 1 {
			*word |= c.at.mask
		}
		return true
	}
	t += c.add[value]
	if c.left == 1 {
		without, with := (t >= c.lo && t <= c.hi) != c.not, (t+1 >= c.lo && t+1 <= c.hi) != c.not
		switch {
		case !without && !with:
			return false
		case !with:
			x[c.no.word] |= c.no.mask
		case !without:
			x[c.yes.word] |= c.yes.mask
		}
		return true
	}
	inside, outside := t >= c.lo && t+c.left <= c.hi, t > c.hi || t+c.left < c.lo
	if c.not {
		inside, outside = outside, inside
	}
	switch {
	case outside:
		return false
	case c.left == 0:
	case inside:
		*word |= c.at.mask
	default:
		*word |= uint64(t) << c.shift
	}
	return true
}

// state returns the number of the state of v that a key says, which may be longer.
func (p *packed) state(v int32, key []uint64) uint32 {
	l := &p.levels[v]
	words := p.steps[v].words
	key = key[:words]
	mask := uint64(len(l.table) - 1)
	i := hashKey(key) & mask
	for l.table[i] != 0 {
		id := l.table[i] - 1
		old := l.keys[int(id)*words:][:words]
		same := true
		for j, k := range key {
			same = same && old[j] == k
		}
		if same {
			return id
		}
		i = (i + 1) & mask
	}
	id := uint32(l.n)
	l.n++
	p.states++
	l.keys = append(l.keys, key...)
	l.table[i] = id + 1
	p.hold(8*words + 16)
	if 2*l.n > len(l.table) {
		l.table = make([]uint32, 4*len(l.table))
		mask = uint64(len(l.table) - 1)
		for id := range l.n {
			i := hashKey(l.keys[id*words:][:words]) & mask
			for l.table[i] != 0 {
				i = (i + 1) & mask
			}
			l.table[i] = uint32(id) + 1
		}
	}
	return id
}

func hashKey(key []uint64) uint64 {
	h := uint64(0)
	for _, k := range key {
		h = (h ^ k) * 0x9E3779B97F4A7C15
		h ^= h >> 32
	}
	return h
}

// make makes the nodes of a variable's states, those of its children being made; false when stopped.
func (p *packed) make(v int32) bool {
	c := p.c
	if c.asked() {
		return false
	}
	l := &p.levels[v]
	children := p.tree.children[v]
	l.edges = make([]edge, l.n)
	test := c.atomEdge(p.atoms[v])
	next := l.next
	for i := range l.edges {
		if i&1023 == 1023 && c.asked() {
			return false
		}
		var way [2]edge
		for value := range way {
			r := edgeTrue
			if len(children) == 0 {
				r, next = edge(next[0]&1), next[1:] // of a leaf ⊤ is 0, and ⊥ is all ones
			}
			for _, child := range children {
				if to := next[0]; to == packedDead {
					r = edgeFalse
				} else if r != edgeFalse {
					r = c.b.and(r, p.levels[child].edges[to])
				}
				next = next[1:]
			}
			way[value] = r
		}
		l.edges[i] = c.b.ite(test, way[1], way[0])
	}
	l.next = nil
	for _, child := range children {
		p.levels[child].edges = nil
	}
	return true
}
