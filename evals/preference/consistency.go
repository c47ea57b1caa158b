package preference

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Share is a number of cases of which some have a property.
type Share struct{ Hit, Of int }

// Value is the share, in [0, 1]; NaN of no cases.
func (s Share) Value() float64 { return float64(s.Hit) / float64(s.Of) }

func (s *Share) add(hit bool) {
	s.Of++
	if hit {
		s.Hit++
	}
}

// DefaultMostSubsets is the number of sub-graphs to which the paper caps s_tran(K).
const DefaultMostSubsets = 1000

// Subsets says which sub-graphs s_tran(K) is of.
type Subsets struct {
	Most int // all where there are no more, and so many drawn without replacement otherwise; [DefaultMostSubsets] if 0
	Seed uint64
}

// Transitivity is s_tran(K) of Eq. 1: how many of the sub-graphs of K items have no cycle. The sub-graphs are
// all of them, or a sample as [Subsets] says. It is an error if K is below 3 or above the number of items.
func Transitivity(g Graph, k int, s Subsets) (Share, error) {
	var out Share
	in := make([]bool, len(g))
	err := eachSubset(len(g), k, s, func(items []int) error {
		clear(in)
		for _, v := range items {
			in[v] = true
		}
		out.add(g.cycleAmong(in) == nil)
		return nil
	})
	return out, err
}

// eachSubset calls f with the subsets of k of n items, ascending, which f must not keep.
func eachSubset(n, k int, s Subsets, f func(items []int) error) error {
	if s.Most == 0 {
		s.Most = DefaultMostSubsets
	}
	if k < 3 || k > n || s.Most < 0 {
		return fmt.Errorf("s_tran(%d) of %d items in at most %d sub-graphs: K lies between 3 and the number of items", k, n, s.Most)
	}
	items := make([]int, k)
	if binomial(n, k, s.Most) <= s.Most {
		for i := range items {
			items[i] = i
		}
		for {
			if err := f(items); err != nil {
				return err
			}
			at := k - 1
			for at >= 0 && items[at] == n-k+at {
				at--
			}
			if at < 0 {
				return nil
			}
			items[at]++
			for i := at + 1; i < k; i++ {
				items[i] = items[i-1] + 1
			}
		}
	}
	random := rand.New(rand.NewPCG(s.Seed, uint64(k)))
	pool := make([]int, n)
	for i := range pool {
		pool[i] = i
	}
	drawn := make(map[string]bool, s.Most)
	for len(drawn) < s.Most {
		for i := range items { // the first k of a shuffle
			j := i + random.IntN(n-i)
			pool[i], pool[j] = pool[j], pool[i]
			items[i] = pool[i]
		}
		slices.Sort(items)
		key := make([]byte, 0, 2*k)
		for _, v := range items {
			key = append(key, byte(v), byte(v>>8))
		}
		if drawn[string(key)] {
			continue
		}
		drawn[string(key)] = true
		if err := f(items); err != nil {
			return err
		}
	}
	return nil
}

// binomial is C(n, k), or most+1 where it is more than most.
func binomial(n, k, most int) int {
	k = min(k, n-k)
	c := 1
	for i := 1; i <= k; i++ {
		// c stays below (most+1)·n: exact at each step, and bounded.
		c = c * (n - k + i) / i
		if c > most {
			return most + 1
		}
	}
	return c
}

// Commutativity is s_comm of Eq. 2: of the pairs that were judged in both orders, those in which the same item
// wins either way.
func Commutativity(m *Judgements) Share {
	var s Share
	for i := range m.N() {
		for j := i + 1; j < m.N(); j++ {
			if m.Judged(i, j) && m.Judged(j, i) {
				s.add(m.Decision(i, j) != m.Decision(j, i))
			}
		}
	}
	return s
}

// FirstShown is the share of judgements that name the item which is shown first; ½ for a model without a bias
// for places, if it was asked in both orders.
func FirstShown(m *Judgements) Share {
	var s Share
	for i := range m.N() {
		for j := range m.N() {
			if m.Judged(i, j) {
				s.add(m.Decision(i, j))
			}
		}
	}
	return s
}

// NegationInvariance is s_neg of Eq. 3: of the ordered pairs that were judged under the relation and under its
// negation, those in which the other item is named. It is an error if the two are over different numbers of
// items.
func NegationInvariance(relation, negated *Judgements) (Share, error) {
	var s Share
	if relation.N() != negated.N() {
		return s, fmt.Errorf("s_neg of judgements over %d items and negated ones over %d", relation.N(), negated.N())
	}
	for i := range relation.N() {
		for j := range relation.N() {
			if relation.Judged(i, j) && negated.Judged(i, j) {
				s.add(relation.Decision(i, j) != negated.Decision(i, j))
			}
		}
	}
	return s, nil
}

// Agreement is the human agreement H of an instance, with the judgements that it leaves out.
type Agreement struct {
	Share
	Ties        int // judgements of pairs which humans hold equal
	Unannotated int // judgements of pairs of which humans say nothing
}

// HumanAgreement is H: of the judgements that were made, in either order, those whose winner humans prefer. A
// model that always names the item shown first has H = ½ if it was asked in both orders. What humans prefer
// is [Instance.Human]. It is an error if there are not as many items as the judgements are over.
func HumanAgreement(m *Judgements, in *Instance) (Agreement, error) {
	var a Agreement
	if m.N() != len(in.Items) {
		return a, fmt.Errorf("human agreement of judgements over %d items for an instance of %d", m.N(), len(in.Items))
	}
	human := in.Human()
	for i := range m.N() {
		for j := range m.N() {
			if !m.Judged(i, j) {
				continue
			}
			switch p := human(i, j); {
			case p != p:
				a.Unannotated++
			case p == 0.5:
				a.Ties++
			default:
				a.add(m.Decision(i, j) == (p > 0.5))
			}
		}
	}
	return a, nil
}

// Human returns what humans say of a pair of items, the probability that xᵢ is preferred: 1, ½ or 0 by the
// scores of two items that have them, and otherwise the mean of the comparisons of the two. It is NaN where
// humans say nothing.
func (in *Instance) Human() func(i, j int) float64 {
	type pair struct{ i, j int }
	sum, n := map[pair]float64{}, map[pair]float64{}
	for _, c := range in.Comparisons {
		sum[pair{c.I, c.J}] += c.P
		sum[pair{c.J, c.I}] += 1 - c.P
		n[pair{c.I, c.J}]++
		n[pair{c.J, c.I}]++
	}
	return func(i, j int) float64 {
		switch a, b := in.Items[i].Score, in.Items[j].Score; {
		case a > b:
			return 1
		case a < b:
			return 0
		case a == b:
			return 0.5
		}
		return sum[pair{i, j}] / n[pair{i, j}] // 0/0 is NaN
	}
}

// SelfAgreement is the share of sampled answers that agree with the majority, in [½, 1], of those that name
// the first item and those that name the second; NaN of none. Answers that name neither are not among them.
func SelfAgreement(first, second int) float64 {
	return float64(max(first, second)) / float64(first+second)
}
