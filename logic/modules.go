package logic

// A read-once part of a formula, one in which every variable occurs once in the whole formula, needs no
// branching: its diagram is put together from the leaves up, in linear time. Such parts are compiled
// first, and each becomes an atom of what remains.
type modular struct {
	s     *store
	root  fedge
	edges []edge // by atom: the variable or compiled part it stands for
	rank  []int  // by atom: the first variable's place, for orders
}

// splitModules compiles the read-once parts of root (over the store s, whose atom i is the builder's i-th
// variable) and returns the rest. stop is asked now and then; the result is nil if it says so.
func splitModules(s *store, root fedge, b *builder, rank []int, stop func() bool) *modular {
	n := len(s.nodes)
	paths := make([]uint8, n) // ways from the root, 2 for more than one
	paths[root>>1] = 1
	for i := n - 1; i > 0; i-- {
		if paths[i] == 0 || s.nodes[i].kind < fAnd {
			continue
		}
		for _, k := range s.kids(s.nodes[i].list) {
			paths[k>>1] = min(paths[k>>1]+paths[i], 2)
		}
	}
	m := &modular{s: newStore(s.quota, stop)}
	atom := func(d edge, r int) fedge {
		if d&1 != 0 {
			d ^= 1
			e := m.s.atom(len(m.edges))
			m.edges = append(m.edges, d)
			m.rank = append(m.rank, r)
			return e ^ 1
		}
		e := m.s.atom(len(m.edges))
		m.edges = append(m.edges, d)
		m.rank = append(m.rank, r)
		return e
	}
	once := make([]bool, n)    // read-once
	diagram := make([]edge, n) // of a read-once node
	first := make([]int, n)    // its smallest rank
	rest := make([]fedge, n)   // of any other node, in m.s
	made := make([]bool, n)    // whether a read-once node has its atom in rest
	var kept, parts []edge
	use := func(k fedge) fedge {
		i := k >> 1
		if once[i] && !made[i] {
			rest[i] = atom(diagram[i], first[i])
			made[i] = true
		}
		return rest[i] ^ k&1
	}
	for i := 1; i < n; i++ {
		if paths[i] == 0 {
			continue
		}
		if i&255 == 0 && stop() || m.s.over {
			return nil
		}
		nd := s.nodes[i]
		if nd.kind == fAtom {
			diagram[i], first[i] = b.literal(int(nd.lo)), rank[nd.lo]
			once[i] = paths[i] == 1
			if !once[i] {
				rest[i] = atom(diagram[i], first[i])
			}
			continue
		}
		kept, parts = kept[:0], parts[:0]
		least := int(^uint(0) >> 1)
		for _, k := range s.kids(nd.list) {
			if once[k>>1] {
				parts = append(parts, diagram[k>>1]^k&1)
				least = min(least, first[k>>1])
			} else {
				kept = append(kept, k)
			}
		}
		if len(kept) == 0 || len(parts) > 1 && nd.kind != fCard {
			var d edge
			switch nd.kind {
			case fAnd:
				d = edgeTrue
				for j := len(parts) - 1; j >= 0; j-- {
					d = b.ite(parts[j], d, edgeFalse)
				}
			case fXor:
				d = edgeFalse
				for j := len(parts) - 1; j >= 0; j-- {
					d = b.ite(parts[j], d^1, d)
				}
			case fCard:
				d = b.threshold(parts, int(nd.lo), int(nd.hi), stop)
			}
			if d == edgeStop {
				return nil
			}
			if len(kept) == 0 {
				once[i], diagram[i], first[i] = true, d, least
				continue
			}
			base := len(m.s.buf)
			m.s.buf = append(m.s.buf, atom(d, least))
			for _, k := range kept {
				m.s.buf = append(m.s.buf, use(k))
			}
			if nd.kind == fAnd {
				rest[i] = m.s.and(base)
			} else {
				rest[i] = m.s.xor(base)
			}
			continue
		}
		base := len(m.s.buf)
		for _, k := range s.kids(nd.list) {
			m.s.buf = append(m.s.buf, use(k))
		}
		switch nd.kind {
		case fAnd:
			rest[i] = m.s.and(base)
		case fXor:
			rest[i] = m.s.xor(base)
		case fCard:
			rest[i] = m.s.card(base, int(nd.lo), int(nd.hi))
		}
	}
	if root <= 1 {
		m.root = root
	} else {
		m.root = use(root)
	}
	return m
}
