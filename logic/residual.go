package logic

import (
	"slices"
)

// Compilation conditions a formula on one variable after another; what is left is a residual formula.
// Residuals are kept unique in a store: one edge for each shape, with complement bits, so that equal
// residuals reached along different ways are compiled once. Edge 0 is ⊤, edge 1 is ⊥.
type fedge = uint32

const (
	fTrue  fedge = 0
	fFalse fedge = 1
)

type fkind uint8

const (
	fConst fkind = iota
	fAtom        // lo is the atom
	fAnd         // of the list's edges; Or is a complemented And of complements
	fXor         // odd parity of the list's edges, all regular
	fCard        // between lo and hi of the list's edges, a multiset, are true
)

type fnode struct {
	list   uint32
	lo, hi int32
	kind   fkind
}

// span is a slice of one of the store's arenas.
type span struct{ off, n uint32 }

type store struct {
	nodes  []fnode
	table  []uint32
	atoms  []fedge // by atom
	lists  []span  // unique sorted lists of edges, in data
	flat   []bool  // whether a list has only atoms
	data   []fedge
	ltable []uint32
	sup    []span // by list: its atoms ascending, in supData; off is 1-based, 0 is not yet known
	supDat []int32
	memo   []restriction
	memoN  int
	buf    []fedge
	// over is set when the store holds more than quota bytes or stop says so; from then on what the store
	// returns means nothing.
	quota int
	other int // bytes of what else grows with the residuals: the states of the two ways
	stop  func() bool
	over  bool
}

type restriction struct {
	node, lit uint32 // node 0 is empty
	result    fedge
}

func newStore(quota int, stop func() bool) *store {
	s := &store{table: make([]uint32, 64), ltable: make([]uint32, 64), memo: make([]restriction, 64), quota: quota, stop: stop}
	s.nodes = append(s.nodes, fnode{})
	s.list(nil)
	return s
}

func (s *store) bytes() int {
	return 20*len(s.nodes) + 4*(len(s.data)+len(s.supDat)) + 20*len(s.lists) + 12*len(s.memo) + s.other
}

// atom returns a's edge.
func (s *store) atom(a int) fedge {
	for len(s.atoms) <= a {
		s.atoms = append(s.atoms, uint32(len(s.nodes))<<1)
		s.nodes = append(s.nodes, fnode{kind: fAtom, lo: int32(len(s.atoms) - 1)})
	}
	return s.atoms[a]
}

func (s *store) isLiteral(e fedge) bool { return s.nodes[e>>1].kind == fAtom }

// kids returns the edges of a list; they stay valid and unchanged.
func (s *store) kids(list uint32) []fedge {
	sp := s.lists[list]
	return s.data[sp.off : sp.off+sp.n : sp.off+sp.n]
}

func hashList(es []uint32, seed uint64) uint64 {
	h := seed ^ 0x9E3779B97F4A7C15
	for _, e := range es {
		h = (h ^ uint64(e)) * 0xBF58476D1CE4E5B9
		h ^= h >> 31
	}
	h *= 0x94D049BB133111EB
	return h ^ h>>32
}

// list makes a sorted list unique.
func (s *store) list(es []fedge) uint32 {
	mask := uint64(len(s.ltable) - 1)
	i := hashList(es, 0) & mask
	for s.ltable[i] != 0 {
		id := s.ltable[i] - 1
		if slices.Equal(s.kids(id), es) {
			return id
		}
		i = (i + 1) & mask
	}
	id := uint32(len(s.lists))
	s.lists = append(s.lists, span{uint32(len(s.data)), uint32(len(es))})
	s.data = append(s.data, es...)
	s.sup = append(s.sup, span{})
	flat := true
	for _, e := range es {
		flat = flat && s.isLiteral(e)
	}
	s.flat = append(s.flat, flat)
	s.ltable[i] = id + 1
	if 2*len(s.lists) > len(s.ltable) {
		s.ltable = make([]uint32, 2*len(s.ltable))
		mask = uint64(len(s.ltable) - 1)
		for id := range s.lists {
			i := hashList(s.kids(uint32(id)), 0) & mask
			for s.ltable[i] != 0 {
				i = (i + 1) & mask
			}
			s.ltable[i] = uint32(id) + 1
		}
	}
	return id
}

func (s *store) node(n fnode) fedge {
	mask := uint64(len(s.table) - 1)
	i := hash3(n.list, uint32(n.lo)<<3|uint32(n.kind), uint32(n.hi)) & mask
	for s.table[i] != 0 {
		id := s.table[i]
		if s.nodes[id] == n {
			return id << 1
		}
		i = (i + 1) & mask
	}
	id := uint32(len(s.nodes))
	s.nodes = append(s.nodes, n)
	s.table[i] = id
	if id&1023 == 0 && (s.bytes() > s.quota || s.stop()) || len(s.data) > 1<<30 {
		s.over = true
	}
	if 2*len(s.nodes) > len(s.table) {
		s.table = make([]uint32, 2*len(s.table))
		mask = uint64(len(s.table) - 1)
		for id := range s.nodes {
			n := s.nodes[id]
			if n.kind < fAnd {
				continue
			}
			i := hash3(n.list, uint32(n.lo)<<3|uint32(n.kind), uint32(n.hi)) & mask
			for s.table[i] != 0 {
				i = (i + 1) & mask
			}
			s.table[i] = uint32(id)
		}
	}
	return id << 1
}

// support returns e's atoms in ascending order; the slice stays valid.
func (s *store) support(e fedge) []int32 {
	n := &s.nodes[e>>1]
	switch n.kind {
	case fConst:
		return nil
	case fAtom:
		return []int32{n.lo}
	}
	return s.listSupport(n.list)
}

func (s *store) listSupport(list uint32) []int32 {
	if sp := s.sup[list]; sp.off != 0 {
		return s.supDat[sp.off-1 : sp.off-1+sp.n : sp.off-1+sp.n]
	}
	// Lists of a deep formula are done from the leaves up without recursion: a child's list is older than
	// its parent's, so an explicit stack of lists still to do suffices.
	stack := []uint32{list}
	var set []int32
	for len(stack) > 0 {
		l := stack[len(stack)-1]
		if s.sup[l].off != 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		set = set[:0]
		missing := false
		for _, e := range s.kids(l) {
			switch n := &s.nodes[e>>1]; n.kind {
			case fConst:
			case fAtom:
				set = append(set, n.lo)
			default:
				sp := s.sup[n.list]
				if sp.off == 0 {
					stack = append(stack, n.list)
					missing = true
				} else if !missing {
					set = append(set, s.supDat[sp.off-1:sp.off-1+sp.n]...)
				}
			}
		}
		if missing {
			continue
		}
		slices.Sort(set)
		set = slices.Compact(set)
		if len(s.supDat)>>16 != (len(s.supDat)+len(set))>>16 && s.stop() {
			s.over = true
		}
		if s.over || 4*(len(s.supDat)+len(set)) > s.quota || len(s.supDat) > 1<<30 {
			s.over = true
			set = set[:0]
		}
		s.sup[l] = span{uint32(len(s.supDat)) + 1, uint32(len(set))}
		s.supDat = append(s.supDat, set...)
		stack = stack[:len(stack)-1]
	}
	sp := s.sup[list]
	return s.supDat[sp.off-1 : sp.off-1+sp.n : sp.off-1+sp.n]
}

// and makes the conjunction of the edges buf[base:], which it consumes.
func (s *store) and(base int) fedge {
	es := s.buf[base:]
	defer func() { s.buf = s.buf[:base] }()
	out, nested := 0, false
	for _, e := range es {
		if e == fTrue {
			continue
		}
		if e == fFalse {
			return fFalse
		}
		if e&1 == 0 && s.nodes[e>>1].kind == fAnd {
			nested = true
		}
		es[out] = e
		out++
	}
	es = es[:out]
	if nested {
		var all []fedge
		for _, e := range es {
			if n := &s.nodes[e>>1]; e&1 == 0 && n.kind == fAnd {
				all = append(all, s.kids(n.list)...)
			} else {
				all = append(all, e)
			}
		}
		es = all
	}
	slices.Sort(es)
	es = slices.Compact(es)
	for i := 1; i < len(es); i++ {
		if es[i]^1 == es[i-1] {
			return fFalse
		}
	}
	switch len(es) {
	case 0:
		return fTrue
	case 1:
		return es[0]
	}
	return s.node(fnode{kind: fAnd, list: s.list(es)})
}

// xor makes the parity of the edges buf[base:], which it consumes.
func (s *store) xor(base int) fedge {
	es := s.buf[base:]
	defer func() { s.buf = s.buf[:base] }()
	var neg fedge
	nested := false
	for i, e := range es {
		neg ^= e & 1
		es[i] = e &^ 1
		nested = nested || s.nodes[e>>1].kind == fXor
	}
	if nested {
		var all []fedge
		for _, e := range es {
			if n := &s.nodes[e>>1]; n.kind == fXor {
				all = append(all, s.kids(n.list)...)
			} else {
				all = append(all, e)
			}
		}
		es = all
	}
	slices.Sort(es)
	out := es[:0]
	for _, e := range es { // pairs cancel
		if e == fTrue {
			neg ^= 1
			continue
		}
		if k := len(out); k > 0 && out[k-1] == e {
			out = out[:k-1]
			continue
		}
		out = append(out, e)
	}
	switch len(out) {
	case 0:
		return fFalse ^ neg
	case 1:
		return out[0] ^ neg
	}
	return s.node(fnode{kind: fXor, list: s.list(out)}) ^ neg
}

// card makes "between lo and hi of the edges buf[base:] are true", consuming them.
func (s *store) card(base, lo, hi int) fedge {
	es := s.buf[base:]
	out := es[:0]
	for _, e := range es {
		switch e {
		case fFalse:
		case fTrue:
			lo--
			hi--
		default:
			out = append(out, e)
		}
	}
	slices.Sort(out)
	kept := out[:0]
	for _, e := range out { // x and ¬x together are one true argument
		if k := len(kept); k > 0 && kept[k-1]^1 == e {
			kept = kept[:k-1]
			lo--
			hi--
			continue
		}
		kept = append(kept, e)
	}
	s.buf = s.buf[:base+len(kept)]
	if e, ok := s.cardTrivial(base, len(kept), lo, hi); ok {
		return e
	}
	list := s.list(s.buf[base:])
	s.buf = s.buf[:base]
	return s.cardOf(list, lo, hi)
}

// needsNoCounting tells whether a threshold with 0 ≤ lo, hi ≤ n is a constant, a conjunction, a
// disjunction, or the exclusive or of two.
func needsNoCounting(n, lo, hi int) bool {
	return lo > hi || lo == 0 && hi >= n-1 || hi == 0 || hi == n && (lo == n || lo == 1) || n == 2
}

// cardTrivial handles the thresholds that need no counting; it consumes buf[base:] if it does.
func (s *store) cardTrivial(base, n, lo, hi int) (fedge, bool) {
	lo, hi = max(lo, 0), min(hi, n)
	if !needsNoCounting(n, lo, hi) {
		return 0, false
	}
	switch {
	case lo > hi:
		s.buf = s.buf[:base]
		return fFalse, true
	case lo == 0 && hi == n:
		s.buf = s.buf[:base]
		return fTrue, true
	case lo == n:
		return s.and(base), true
	case lo == 0 && hi == n-1 && hi > 0:
		return s.and(base) ^ 1, true
	case n == 2 && lo == 1 && hi == 1:
		return s.xor(base), true
	}
	for i := base; i < len(s.buf); i++ {
		s.buf[i] ^= 1
	}
	e := s.and(base) // none is true
	if hi != 0 {
		e ^= 1
	}
	return e, true
}

// cardOf makes a threshold over a list that is already unique.
func (s *store) cardOf(list uint32, lo, hi int) fedge {
	n := int(s.lists[list].n)
	lo, hi = max(lo, 0), min(hi, n)
	if needsNoCounting(n, lo, hi) {
		base := len(s.buf)
		s.buf = append(s.buf, s.kids(list)...)
		e, _ := s.cardTrivial(base, n, lo, hi)
		return e
	}
	if lo == 0 {
		return s.node(fnode{kind: fCard, list: list, lo: int32(hi + 1), hi: int32(n)}) ^ 1
	}
	return s.node(fnode{kind: fCard, list: list, lo: int32(lo), hi: int32(hi)})
}

// mentions tells whether atom a occurs in e.
func (s *store) mentions(e fedge, a int32) bool {
	n := &s.nodes[e>>1]
	switch n.kind {
	case fConst:
		return false
	case fAtom:
		return n.lo == a
	}
	sup := s.listSupport(n.list)
	if len(sup) <= 8 {
		for _, b := range sup {
			if b == a {
				return true
			}
		}
		return false
	}
	_, ok := slices.BinarySearch(sup, a)
	return ok
}

// restrict conditions e on atom a having the given value (1 true, 0 false).
func (s *store) restrict(e fedge, a int32, value uint32) fedge {
	n := s.nodes[e>>1]
	if n.kind == fConst {
		return e
	}
	if n.kind == fAtom {
		if n.lo == a {
			return fFalse ^ value ^ e&1
		}
		return e
	}
	if s.over || !s.mentions(e, a) {
		return e
	}
	lit := uint32(a)<<1 | value
	mask := uint64(len(s.memo) - 1)
	i := hash3(e>>1, lit, 7) & mask
	for s.memo[i].node != 0 {
		if s.memo[i].node == e>>1 && s.memo[i].lit == lit {
			return s.memo[i].result ^ e&1
		}
		i = (i + 1) & mask
	}
	var r fedge
	base := len(s.buf)
	switch {
	case n.kind == fCard && s.flat[n.list]:
		list, trues := s.without(n.list, a, value)
		r = s.cardOf(list, int(n.lo)-trues, int(n.hi)-trues)
	case n.kind == fAnd:
		r = fTrue
		for _, k := range s.kids(n.list) {
			x := s.restrict(k, a, value)
			if x == fFalse {
				r = fFalse
				break
			}
			s.buf = append(s.buf, x)
		}
		if r == fFalse {
			s.buf = s.buf[:base]
		} else {
			r = s.and(base)
		}
	default:
		for _, k := range s.kids(n.list) {
			x := s.restrict(k, a, value)
			s.buf = append(s.buf, x)
		}
		if n.kind == fXor {
			r = s.xor(base)
		} else {
			r = s.card(base, int(n.lo), int(n.hi))
		}
	}
	s.remember(restriction{e >> 1, lit, r})
	return r ^ e&1
}

func (s *store) remember(r restriction) {
	if s.memoN++; 2*s.memoN > len(s.memo) {
		old := s.memo
		s.memo = make([]restriction, 2*len(old))
		for _, o := range old {
			if o.node != 0 {
				s.place(o)
			}
		}
	}
	s.place(r)
}

func (s *store) place(r restriction) {
	mask := uint64(len(s.memo) - 1)
	i := hash3(r.node, r.lit, 7) & mask
	for s.memo[i].node != 0 {
		i = (i + 1) & mask
	}
	s.memo[i] = r
}

// withoutMark keeps "a list without an atom" apart from nodes in the table of restrictions; node numbers
// stay far below it.
const withoutMark = 1 << 31

// without returns the list of literals without those of atom a, and how many of these are true when a
// has the given value. Thresholds over one list with different bounds share the work.
func (s *store) without(list uint32, a int32, value uint32) (uint32, int) {
	trues, copies := 0, 0
	lit := s.atoms[a]
	kids := s.kids(list)
	i, _ := slices.BinarySearch(kids, lit)
	for j := i; j < len(kids) && kids[j]>>1 == lit>>1; j++ {
		copies++
		if kids[j]&1 != value {
			trues++
		}
	}
	key := withoutMark | list
	mask := uint64(len(s.memo) - 1)
	h := hash3(key, uint32(a)<<1, 7) & mask
	for s.memo[h].node != 0 {
		if s.memo[h].node == key && s.memo[h].lit == uint32(a)<<1 {
			return s.memo[h].result, trues
		}
		h = (h + 1) & mask
	}
	base := len(s.buf)
	s.buf = append(s.buf, kids[:i]...)
	s.buf = append(s.buf, kids[i+copies:]...)
	r := s.list(s.buf[base:])
	s.buf = s.buf[:base]
	s.remember(restriction{key, uint32(a) << 1, r})
	return r, trues
}
