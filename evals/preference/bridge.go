package preference

import (
	"context"
	"fmt"
	"slices"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/logic"
)

// MostBridgeItems is the largest K whose strict order [Bridge] states as a constraint.
const MostBridgeItems = 6

// Constraint is what one of the three scores counts, as a formula of ModelLog over the judgements: events with
// the probabilities P(xᵢ ≻ xⱼ) that the model gives, taken to be independent.
//
// A judgement above ½ counts as 1 for a score; the formula's probability keeps how far above it is. ρ compares
// it with chance: 0 where all judgements are ½, and 1 where the formula is certain to hold. So for judgements
// that are all 0 or 1 the mean of WMC is the score itself.
type Constraint struct {
	Name     string
	Formulas int     // that it is stated as, over all instances
	WMC0     float64 // its probability by chance, the mean over formulas
	WMC      Mean    // Eq. 1 of ModelLog, the mean over instances of the mean over their formulas
	Rho      Mean    // Eq. 5
	CAcc     Mean    // Eq. 6, the share of formulas with ρ > 0
}

// Bridged are the constraints beside the scores.
type Bridged struct {
	K        int
	Order    Constraint // the relation is a strict order on K items: Eq. 1 graded
	Swap     Constraint // swapping the two changes nothing: Eq. 2 graded
	Negation Constraint // negation turns the judgement round: Eq. 3 graded
}

// Bridge states the three properties as constraints over each instance's judgements.
//
//   - Order: over the sub-graphs of K items that s_tran(K) is of, 3 ≤ K ≤ [MostBridgeItems], that the judged
//     pairs are directed without a cycle: of each cycle of pairs that no pair cuts short, not all point the same
//     way round. Of K items with all pairs judged those are the triples, and K! of 2^(K(K−1)/2)
//     interpretations satisfy it: the strict orders. Sub-graphs without any such cycle are tautologies, and
//     left out.
//   - Swap: over the pairs judged in both orders, A for (xᵢ, xⱼ) exactly if B for (xⱼ, xᵢ).
//   - Negation: over the ordered pairs judged under both questions, A for one exactly if B for the other.
//
// All are exact by package logic.
func Bridge(ctx context.Context, all []Judged, o MeasureOptions) (Bridged, error) {
	if o.K == 0 {
		o.K = DefaultK
	}
	b := Bridged{K: o.K}
	if o.K < 3 || o.K > MostBridgeItems {
		return b, fmt.Errorf("a strict order on %d items as a constraint: 3 to %d are possible", o.K, MostBridgeItems)
	}
	flip, err := logic.Compile(ctx, logic.Iff(logic.Literal(0), logic.Not(logic.Literal(1))))
	if err != nil {
		return b, err
	}
	orders := map[uint32]*logic.Diagram{} // by the pairs that are judged; nil for a tautology
	order, swap, negation := gathered{name: fmt.Sprintf("strict order on %d items", o.K)}, gathered{name: "swapping changes nothing"}, gathered{name: "negation turns it round"}
	for n, x := range all {
		fail := func(err error) error { return fmt.Errorf("instance %d (%s): %w", n+1, x.Instance.ID, err) }
		m := x.Relation
		order.next()
		if m.N() >= o.K {
			err := eachSubset(m.N(), o.K, o.Subsets, func(items []int) error {
				pairs, w := subgraphWeights(m, items)
				d, ok := orders[pairs]
				if !ok {
					f := StrictOrder(o.K, func(i, j int) bool { return pairs>>pairVar(o.K, i, j)&1 == 1 })
					var err error
					if d, err = logic.Compile(ctx, f); err != nil {
						return err
					}
					if d.Valid() {
						d = nil
					}
					orders[pairs] = d
				}
				if d == nil {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				return order.add(d, w)
			})
			if err != nil {
				return b, fail(err)
			}
		}
		swap.next()
		negation.next()
		if x.Negated != nil && x.Negated.N() != m.N() {
			return b, fail(fmt.Errorf("judgements over %d items and negated ones over %d", m.N(), x.Negated.N()))
		}
		for i := range m.N() {
			for j := range m.N() {
				if !m.Judged(i, j) {
					continue
				}
				if i < j && m.Judged(j, i) {
					if err := swap.add(flip, []logic.Weight{weight(m.At(i, j)), weight(m.At(j, i))}); err != nil {
						return b, fail(err)
					}
				}
				if x.Negated != nil && x.Negated.Judged(i, j) {
					if err := negation.add(flip, []logic.Weight{weight(m.At(i, j)), weight(x.Negated.At(i, j))}); err != nil {
						return b, fail(err)
					}
				}
			}
		}
	}
	for _, f := range []struct {
		to *Constraint
		of *gathered
	}{{&b.Order, &order}, {&b.Swap, &swap}, {&b.Negation, &negation}} {
		if *f.to, err = f.of.constraint(o.Bootstrap); err != nil {
			return b, err
		}
	}
	return b, nil
}

// StrictOrder is the formula that the pairs of k items that were judged are directed without a cycle. The
// variable of the pair i < j, which is true where xᵢ ≻ xⱼ, has the number of the pair in the order 01, 02, …,
// 0(k−1), 12, …. With all pairs it is satisfied by the strict total orders, k! of 2^(k(k−1)/2).
func StrictOrder(k int, judged func(i, j int) bool) *logic.Formula {
	edge := func(i, j int) *logic.Formula { // xᵢ ≻ xⱼ
		if i < j {
			return logic.Literal(logic.Var(pairVar(k, i, j)))
		}
		return logic.Not(logic.Literal(logic.Var(pairVar(k, j, i))))
	}
	met := func(i, j int) bool { return judged(min(i, j), max(i, j)) }
	var conjuncts []*logic.Formula
	// Cycles without a chord: one with a chord is cut by it into two, of which one is directed too if it is.
	var extend func(path []int)
	extend = func(path []int) {
		last := path[len(path)-1]
		for v := path[0] + 1; v < k; v++ { // each cycle begins with its least item
			if slices.Contains(path, v) || !met(last, v) || slices.ContainsFunc(path[1:max(1, len(path)-1)], func(u int) bool { return met(u, v) }) {
				continue
			}
			closes := len(path) > 1 && met(v, path[0])
			if closes && path[1] < v { // and goes round one way
				cycle := append(slices.Clone(path), v)
				var there, back []*logic.Formula
				for a, i := range cycle {
					j := cycle[(a+1)%len(cycle)]
					there, back = append(there, edge(i, j)), append(back, edge(j, i))
				}
				conjuncts = append(conjuncts, logic.Not(logic.And(there...)), logic.Not(logic.And(back...)))
			}
			if !closes {
				extend(append(slices.Clone(path), v))
			}
		}
	}
	for i := range k {
		extend([]int{i})
	}
	return logic.And(conjuncts...)
}

// pairVar is the number of the pair i < j of k items.
func pairVar(k, i, j int) int { return i*(2*k-i-1)/2 + j - i - 1 }

// subgraphWeights are the pairs of some items that were judged, as bits, and their probabilities as Algorithm
// 1 reads them.
func subgraphWeights(m *Judgements, items []int) (pairs uint32, w []logic.Weight) {
	k := len(items)
	w = make([]logic.Weight, k*(k-1)/2)
	for a, i := range items {
		for b := a + 1; b < k; b++ {
			p := m.At(i, items[b])
			if p != p {
				p = 1 - m.At(items[b], i)
			}
			v := pairVar(k, a, b)
			if p == p {
				pairs |= 1 << v
				w[v] = weight(p)
			}
		}
	}
	return pairs, w
}

func weight(p float64) logic.Weight { return logic.Weight{P: p, Q: 1 - p} }

// gathered are the scores of a constraint's formulas.
type gathered struct {
	name           string
	n              int
	chance         float64
	wmc, rho, cacc [][]float64 // by instances
}

func (g *gathered) next() {
	g.wmc, g.rho, g.cacc = append(g.wmc, nil), append(g.rho, nil), append(g.cacc, nil)
}

func (g *gathered) add(d *logic.Diagram, w []logic.Weight) error {
	s, err := logic.Score(d, w)
	if err != nil {
		return err
	}
	at := len(g.wmc) - 1
	g.n++
	g.chance += s.WMC0
	g.wmc[at] = append(g.wmc[at], s.WMC)
	g.rho[at] = append(g.rho[at], s.Rho)
	c := 0.0
	if s.CAcc == logic.Consistent {
		c = 1
	}
	g.cacc[at] = append(g.cacc[at], c)
	return nil
}

func (g *gathered) constraint(o bootstrap.Options) (Constraint, error) {
	c := Constraint{Name: g.name, Formulas: g.n, WMC0: g.chance / float64(g.n)}
	for _, f := range []struct {
		to *Mean
		of [][]float64
	}{{&c.WMC, g.wmc}, {&c.Rho, g.rho}, {&c.CAcc, g.cacc}} {
		var means []float64
		for _, x := range f.of {
			sum := 0.0
			for _, v := range x {
				sum += v
			}
			if len(x) > 0 {
				means = append(means, sum/float64(len(x)))
			}
		}
		var err error
		if *f.to, err = meanOf(means, o); err != nil {
			return c, err
		}
	}
	return c, nil
}
