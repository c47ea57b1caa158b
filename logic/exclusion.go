package logic

import "slices"

// exclusions puts clauses of two literals together: where each pair of a set of literals is excluded by
// such a clause, the set is one factor, "at most one of them". Of siblings in a taxonomy, which exclude each
// other and imply their parent, there are then not m²/2 factors but one, whose residuals are "none of the
// rest" and itself over fewer. The result is sorted, and nil when stop says so.
//
// Sets are found greedily: the first pair that is in none yet, and each literal that is excluded by all so
// far. Finding the largest or the fewest is NP-hard, and any cover says the same.
func (s *store) exclusions(factors []fedge, stop func() bool) []fedge {
	out := make([]fedge, 0, len(factors))
	against := make(map[fedge][]fedge) // literals that cannot be true together with one
	var pairs [][2]fedge
	for _, e := range factors {
		if n := &s.nodes[e>>1]; e&1 == 1 && n.kind == fAnd && s.flat[n.list] && s.lists[n.list].n == 2 {
			k := s.kids(n.list)
			pairs = append(pairs, [2]fedge{k[0], k[1]})
			against[k[0]] = append(against[k[0]], k[1])
			against[k[1]] = append(against[k[1]], k[0])
			continue
		}
		out = append(out, e)
	}
	for _, list := range against {
		slices.Sort(list)
	}
	covered := make(map[[2]fedge]bool)
	excludes := func(a, b fedge) bool {
		if len(against[a]) > len(against[b]) {
			a, b = b, a
		}
		_, ok := slices.BinarySearch(against[a], b)
		return ok
	}
	slices.SortFunc(pairs, func(a, b [2]fedge) int { return slices.Compare(a[:], b[:]) })
	var set []fedge
	for i, p := range pairs {
		if i&255 == 0 && stop() {
			return nil
		}
		if covered[p] {
			continue
		}
		set = append(set[:0], p[0], p[1])
		if len(against[p[0]]) > 1 && len(against[p[1]]) > 1 {
			for _, l := range against[p[0]] {
				all := l != p[1]
				for k := len(set) - 1; k > 0 && all; k-- {
					all = excludes(set[k], l)
				}
				if all {
					set = append(set, l)
				}
			}
		}
		base := len(s.buf)
		if len(set) == 2 {
			s.buf = append(s.buf, set...)
			out = append(out, s.and(base)^1)
			continue
		}
		slices.Sort(set)
		for k, a := range set {
			for _, b := range set[:k] {
				covered[[2]fedge{b, a}] = true
			}
		}
		s.buf = append(s.buf, set...)
		out = append(out, s.card(base, 0, 1))
	}
	slices.Sort(out)
	return out
}
