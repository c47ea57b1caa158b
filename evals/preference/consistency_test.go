package preference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// graphOf has the edges given, in letters: "AB" is A ≻ B.
func graphOf(n int, edges ...string) Graph {
	g := make(Graph, n)
	for _, e := range edges {
		g[e[0]-'A'] = append(g[e[0]-'A'], int(e[1]-'A'))
	}
	for i := range g {
		slices.Sort(g[i])
	}
	return g
}

// TestFigure2 counts graphs of the kinds that Figure 2 shows, whose sub-graphs are few enough to look at: a
// complete graph without a cycle, one with cycles of three, and partial ones, of which the last has a cycle of
// four that no sub-graph of three has.
func TestFigure2(t *testing.T) {
	for _, c := range []struct {
		name        string
		g           Graph
		three, four Share
		cycle       int // the length of a shortest
	}{
		{"a: a ranking A ≻ B ≻ C ≻ D", graphOf(4, "AB", "AC", "AD", "BC", "BD", "CD"), Share{4, 4}, Share{1, 1}, 0},
		// D ≻ A closes A ≻ B ≻ D and A ≻ C ≻ D, and A ≻ B ≻ C ≻ D.
		{"b: D ≻ A instead", graphOf(4, "AB", "AC", "DA", "BC", "BD", "CD"), Share{2, 4}, Share{0, 1}, 3},
		{"c: partial, A ≻ B ≻ C ≻ A", graphOf(4, "AB", "BC", "CA", "CD"), Share{3, 4}, Share{0, 1}, 3},
		{"d: partial, A ≻ B ≻ C ≻ D ≻ A", graphOf(4, "AB", "BC", "CD", "DA"), Share{4, 4}, Share{0, 1}, 4},
		{"no edge", graphOf(4), Share{4, 4}, Share{1, 1}, 0},
	} {
		for k, want := range map[int]Share{3: c.three, 4: c.four} {
			if got, err := Transitivity(c.g, k, Subsets{}); err != nil || got != want {
				t.Errorf("%s: s_tran(%d) = %v, want %v (%v)", c.name, k, got, want, err)
			}
		}
		cycle := c.g.Cycle()
		if (cycle != nil) != (c.cycle > 0) || len(cycle) > 0 && len(cycle) < c.cycle {
			t.Errorf("%s: the cycle is %v, a shortest has %d", c.name, cycle, c.cycle)
		}
		for i, v := range cycle {
			if !c.g.Has(v, cycle[(i+1)%len(cycle)]) {
				t.Errorf("%s: %v is no cycle", c.name, cycle)
			}
		}
	}
}

// acyclicByOrders holds if an order of the items exists in which every edge points forwards.
func acyclicByOrders(g Graph, items []int) bool {
	for _, order := range permutations(len(items)) {
		forwards := true
		for a := range order {
			for b := range a {
				if g.Has(items[order[a]], items[order[b]]) { // a comes after b
					forwards = false
				}
			}
		}
		if forwards {
			return true
		}
	}
	return false
}

func permutations(n int) (out [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(n - 1) {
		for i := 0; i <= len(p); i++ {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

// subsets are those of k of n items, by the bits of all numbers below 2ⁿ.
func subsets(n, k int) (out [][]int) {
	for bits := range 1 << n {
		var s []int
		for i := range n {
			if bits>>i&1 == 1 {
				s = append(s, i)
			}
		}
		if len(s) == k {
			out = append(out, s)
		}
	}
	return out
}

// drawJudgements has a judgement of each ordered pair, or of most.
func drawJudgements(t *rapid.T, n int, partial bool) *Judgements {
	m, err := NewJudgements(n)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j := range n {
			if i == j || partial && rapid.IntRange(0, 3).Draw(t, "left out") == 0 {
				continue
			}
			p := rapid.SampledFrom([]float64{0, 0.125, 0.375, 0.5, 0.625, 0.875, 1}).Draw(t, fmt.Sprintf("P(%d,%d)", i, j))
			if err := m.Set(i, j, p, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	return m
}

func TestTransitivityByAllOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 6).Draw(t, "n")
		m := drawJudgements(t, n, rapid.Bool().Draw(t, "partial"))
		g := RelationGraph(m)
		for i := range n {
			for j := i + 1; j < n; j++ {
				// The edge by the words of Algorithm 1, and by the other order where that is all there is.
				wins := m.At(i, j) >= 0.5 || !m.Judged(i, j) && m.At(j, i) < 0.5
				judged := m.Judged(i, j) || m.Judged(j, i)
				if g.Has(i, j) != (judged && wins) || g.Has(j, i) != (judged && !wins) {
					t.Fatalf("edges of %d and %d: %v %v", i, j, g.Has(i, j), g.Has(j, i))
				}
			}
		}
		for k := 3; k <= n; k++ {
			var want Share
			for _, items := range subsets(n, k) {
				want.add(acyclicByOrders(g, items))
			}
			got, err := Transitivity(g, k, Subsets{})
			if err != nil || got != want {
				t.Fatalf("s_tran(%d) = %v, want %v (%v)", k, got, want, err)
			}
		}
	})
}

// TestRandomTournaments compares the share of acyclic ones among all tournaments, and among drawn ones, with
// K!/2^(K(K−1)/2).
func TestRandomTournaments(t *testing.T) {
	for k := 3; k <= 5; k++ {
		var all Share
		for bits := range 1 << (k * (k - 1) / 2) {
			g := make(Graph, k)
			for i := range k {
				for j := i + 1; j < k; j++ {
					if bits&1 == 1 {
						g[i] = append(g[i], j)
					} else {
						g[j] = append(g[j], i)
					}
					bits >>= 1
				}
			}
			all.add(!g.Cyclic())
		}
		if got := RandomTournament(k); math.Abs(got-all.Value()) > 1e-15 {
			t.Errorf("K = %d: %g, of all tournaments %g", k, got, all.Value())
		}
	}
	// A tournament of 60 items has far more sub-graphs of 5 than are drawn; 10 × 1,000 of them have their
	// expectation 120/1024 within four standard errors. Sub-graphs share pairs, which the spread over the ten
	// tournaments takes into account.
	random := rand.New(rand.NewPCG(7, 0))
	var shares []float64
	for seed := range 10 {
		m, _ := NewJudgements(60)
		for i := range 60 {
			for j := i + 1; j < 60; j++ {
				_ = m.Set(i, j, float64(random.IntN(2)), 0)
			}
		}
		s, err := Transitivity(RelationGraph(m), 5, Subsets{Seed: uint64(seed)})
		if err != nil || s.Of != 1000 {
			t.Fatal(s, err)
		}
		shares = append(shares, s.Value())
	}
	mean, spread := 0.0, 0.0
	for _, s := range shares {
		mean += s / 10
	}
	for _, s := range shares {
		spread += (s - mean) * (s - mean) / 9
	}
	if d := mean - RandomTournament(5); math.Abs(d) > 4*math.Sqrt(spread/10) || math.Abs(d) > 0.02 {
		t.Errorf("mean %g ± %g, want %g", mean, math.Sqrt(spread/10), RandomTournament(5))
	}
}

func TestSubsets(t *testing.T) {
	for _, c := range []struct{ n, k, most, want int }{
		{5, 5, 0, 1}, {6, 3, 0, 20}, {14, 4, 0, 1000}, // C(14, 4) is 1,001
		{14, 4, 1001, 1001}, {20, 5, 0, 1000}, {1000, 999, 0, 1000}, {1000, 500, 3, 3}, {13, 5, 1286, 1286}, {13, 5, 1287, 1287},
	} {
		seen := map[string]bool{}
		run := func() (all [][]int) {
			if err := eachSubset(c.n, c.k, Subsets{Most: c.most, Seed: 5}, func(items []int) error {
				if !slices.IsSorted(items) || len(slices.Compact(slices.Clone(items))) != c.k || items[0] < 0 || items[c.k-1] >= c.n {
					t.Fatalf("%d of %d: %v", c.k, c.n, items)
				}
				seen[fmt.Sprint(items)] = true
				all = append(all, slices.Clone(items))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return all
		}
		first := run()
		if len(first) != c.want || len(seen) != c.want {
			t.Errorf("%d of %d, at most %d: %d sub-graphs, %d distinct, want %d", c.k, c.n, c.most, len(first), len(seen), c.want)
		}
		if !slices.EqualFunc(first, run(), func(a, b []int) bool { return slices.Equal(a, b) }) {
			t.Errorf("%d of %d: another sample with the same seed", c.k, c.n)
		}
	}
	// Each of the 56 sub-graphs of 3 of 8 is drawn as often as others: 20 of them in each of 2,800 samples are
	// 1,000 of each, by χ² with 55 degrees of freedom below its 99.9 % point, 93.2.
	count := map[string]int{}
	for seed := range 2800 {
		_ = eachSubset(8, 3, Subsets{Most: 20, Seed: uint64(seed)}, func(items []int) error { count[fmt.Sprint(items)]++; return nil })
	}
	chi := 0.0
	for _, n := range count {
		chi += float64((n-1000)*(n-1000)) / 1000
	}
	if len(count) != 56 || chi > 93.2 {
		t.Errorf("%d sub-graphs, χ² %.1f", len(count), chi)
	}
	for _, k := range []int{2, 5, -1} {
		if _, err := Transitivity(make(Graph, 4), k, Subsets{}); err == nil {
			t.Errorf("K = %d of 4 is taken", k)
		}
	}
}

// set makes judgements of rows of numbers, NaN for none.
func set(t *testing.T, rows ...[]float64) *Judgements {
	t.Helper()
	m, err := NewJudgements(len(rows))
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		for j, p := range row {
			if p == p {
				if err := m.Set(i, j, p, 0.25); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return m
}

// TestFigure3 counts by hand what the figure marks: pairs whose winner changes with the order, and ordered
// pairs that the negated question does not turn round.
func TestFigure3(t *testing.T) {
	x := math.NaN()
	relation := set(t,
		[]float64{x, 0.9, 0.8, 0.4},
		[]float64{0.2, x, 0.5, 0.7},
		[]float64{0.6, 0.5, x, 0.1},
		[]float64{0.7, 0.3, x, x},
	)
	negated := set(t,
		[]float64{x, 0.1, 0.2, 0.6},
		[]float64{0.3, x, 0.49, x},
		[]float64{0.2, 0.5, x, 0.9},
		[]float64{0.1, 0.8, 0.5, x},
	)
	// In both orders: 1–2 (1 wins twice), 1–3 (A both times), 1–4 (4 wins twice), 2–3 (A both times, each at ½),
	// 2–4 (2 wins twice); 3–4 was asked once.
	if got := Commutativity(relation); got != (Share{3, 5}) {
		t.Errorf("s_comm %v", got)
	}
	// Turned round: 12, 13, 14, 23, 31, 34, 41, 42; not: 21 (B and B), 32 (A and A). 24 and 43 were asked once.
	if got, err := NegationInvariance(relation, negated); err != nil || got != (Share{8, 10}) {
		t.Errorf("s_neg %v %v", got, err)
	}
	// A is named by 12, 13, 23, 24, 31, 32, 41 of eleven.
	if got := FirstShown(relation); got != (Share{7, 11}) {
		t.Errorf("first shown %v", got)
	}
	other, _ := NewJudgements(3)
	if _, err := NegationInvariance(relation, other); err == nil {
		t.Error("judgements of 3 and 4 items are compared")
	}
	in := &Instance{Items: []Item{{Score: 3}, {Score: 1}, {Score: 1}, {Score: x}}}
	// 1 is preferred to 2 and 3, which are equal: 12 and 21 are right, 13 is right and 31 (A for 3) is not; 23
	// and 32 are ties; five judgements have item 4.
	h, err := HumanAgreement(relation, in)
	if err != nil || h != (Agreement{Share{3, 4}, 2, 5}) {
		t.Errorf("H %+v %v", h, err)
	}
	in.Comparisons = []Comparison{{I: 3, J: 0, P: 0}, {I: 0, J: 3, P: 1}, {I: 3, J: 0, P: 1}, {I: 1, J: 3, P: 1}, {I: 3, J: 1, P: 1}, {I: 2, J: 1, P: 1}}
	// By comparison 1 ≻ 4 two to one: 14 and 41 are wrong; 2–4 is a tie; the comparison of 3 and 2, which have
	// scores, counts for nothing; 34 has none.
	h, err = HumanAgreement(relation, in)
	if err != nil || h != (Agreement{Share{3, 6}, 4, 1}) {
		t.Errorf("H %+v %v", h, err)
	}
	if _, err := HumanAgreement(other, in); err == nil {
		t.Error("judgements of 3 items are compared with 4")
	}
	if got := relation.Calibrated(0, 1); math.Abs(got-0.85) > 1e-15 {
		t.Errorf("calibrated %g", got)
	}
	if got, back := relation.Calibrated(2, 3), relation.Calibrated(3, 2); got != 0.1 || back != 0.9 {
		t.Errorf("calibrated from one order %g %g", got, back)
	}
}

// TestScoresOfExtremes: a ranking is consistent in all ways; a model that always says A transitive and
// nothing else; shuffling what is asked about does not change symmetric scores.
func TestScoresOfExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 8).Draw(t, "n")
		rank := rapid.Permutation([]int{0, 1, 2, 3, 4, 5, 6, 7}[:n]).Draw(t, "rank")
		good, goodNegated := drawJudgements(t, n, false), drawJudgements(t, n, false)
		always := drawJudgements(t, n, false)
		in := &Instance{}
		for i := range n {
			in.Items = append(in.Items, Item{Score: float64(-rank[i])})
			for j := range n {
				if i == j {
					continue
				}
				p := 0.0
				if rank[i] < rank[j] {
					p = 1
				}
				_, _, _ = good.Set(i, j, p, 0), goodNegated.Set(i, j, 1-p, 0), always.Set(i, j, 1, 0)
			}
		}
		check := func(what string, got Share, want float64) {
			if got.Value() != want {
				t.Fatalf("%s is %v, want %g", what, got, want)
			}
		}
		for k := 3; k <= n; k++ {
			for _, m := range []*Judgements{good, always} {
				s, _ := Transitivity(RelationGraph(m), k, Subsets{})
				check("s_tran", s, 1)
			}
		}
		check("s_comm", Commutativity(good), 1)
		check("s_comm of A", Commutativity(always), 0)
		s, _ := NegationInvariance(good, goodNegated)
		check("s_neg", s, 1)
		s, _ = NegationInvariance(always, always)
		check("s_neg of A", s, 0)
		h, _ := HumanAgreement(good, in)
		check("H", h.Share, 1)
		h, _ = HumanAgreement(always, in)
		check("H of A", h.Share, 0.5)

		// Averaged over both orders a bias for the first place, however large, does not matter.
		for i := range n {
			for j := range n {
				if i != j {
					p := 0.75
					if rank[i] < rank[j] {
						p = 0.875
					}
					_ = always.Set(i, j, p, 0)
				}
			}
		}
		g := CalibratedGraph(always)
		for i := range n {
			for j := range n {
				if g.Has(i, j) != (rank[i] < rank[j]) {
					t.Fatalf("ranks %v, edges %v", rank, g)
				}
			}
		}

		m := drawJudgements(t, n, true)
		moved, _ := NewJudgements(n)
		for i := range n {
			for j := range n {
				if m.Judged(i, j) {
					_ = moved.Set(rank[i], rank[j], m.At(i, j), 0)
				}
			}
		}
		if a, b := Commutativity(m), Commutativity(moved); a != b {
			t.Fatalf("s_comm %v, and with other names %v", a, b)
		}
	})
}

func TestSelfAgreement(t *testing.T) {
	for _, c := range []struct {
		a, b int
		want float64
	}{{10, 0, 1}, {0, 10, 1}, {7, 3, 0.7}, {5, 5, 0.5}} {
		if got := SelfAgreement(c.a, c.b); got != c.want {
			t.Errorf("%d and %d: %g", c.a, c.b, got)
		}
	}
	if got := SelfAgreement(0, 0); got == got {
		t.Errorf("of none: %g", got)
	}
}

func TestJudgementsRefuse(t *testing.T) {
	if _, err := NewJudgements(-1); err == nil {
		t.Error("−1 items are taken")
	}
	if _, err := NewJudgements(MaxItems + 1); err == nil {
		t.Error("too many items are taken")
	}
	m, _ := NewJudgements(2)
	for _, c := range []struct {
		i, j       int
		p, neither float64
	}{{0, 0, 0.5, 0}, {0, 2, 0.5, 0}, {-1, 0, 0.5, 0}, {0, 1, 1.1, 0}, {0, 1, -0.1, 0}, {0, 1, math.NaN(), 0}, {0, 1, 0.5, 2}, {0, 1, 0.5, -1}} {
		if m.Set(c.i, c.j, c.p, c.neither) == nil {
			t.Errorf("%+v is taken", c)
		}
	}
	if m.Count() != 0 || m.Judged(0, 1) || m.Decision(0, 1) {
		t.Error("a refused judgement is kept")
	}
}

func TestMeasure(t *testing.T) {
	x := math.NaN()
	// Of the first instance the scores are those of TestFigure3; the second has two items.
	relation := set(t, []float64{x, 0.9, 0.8, 0.4}, []float64{0.2, x, 0.5, 0.7}, []float64{0.6, 0.5, x, 0.1}, []float64{0.7, 0.3, x, x})
	negated := set(t, []float64{x, 0.1, 0.2, 0.6}, []float64{0.3, x, 0.49, x}, []float64{0.2, 0.5, x, 0.9}, []float64{0.1, 0.8, 0.5, x})
	two := set(t, []float64{x, 0.9}, []float64{0.1, x})
	empty, _ := NewJudgements(5)
	none, _ := NewJudgements(2)
	all := []Judged{
		{Instance: &Instance{Items: []Item{{Score: 3}, {Score: 1}, {Score: 1}, {Score: x}}}, Relation: relation, Negated: negated},
		{Instance: &Instance{Items: []Item{{Score: 0}, {Score: 2}}}, Relation: two, Negated: none},
		{Instance: &Instance{Items: make([]Item, 5)}, Relation: empty},
	}
	m, err := Measure(all, MeasureOptions{K: 3})
	if err != nil {
		t.Fatal(err)
	}
	// Edges 12, 13, 41, 23, 24, 43: 1 ≻ 2 ≻ 4 ≻ 1 and none else of three.
	for _, c := range []struct {
		what string
		got  Mean
		want float64
		n    int
	}{
		{"H", m.H, (0.75 + 0) / 2, 2}, {"s_tran", m.Transitive, 0.75, 1}, {"s_comm", m.Commutative, (0.6 + 1) / 2, 2},
		{"s_neg", m.Negation, 0.8, 1}, {"first", m.First, (7.0/11 + 0.5) / 2, 2}, {"neither", m.Neither, 0.25, 2},
	} {
		if math.Abs(c.got.Value-c.want) > 1e-12 || c.got.Instances != c.n || !(c.got.Lo <= c.got.Value && c.got.Value <= c.got.Hi) {
			t.Errorf("%s: %+v, want %g of %d", c.what, c.got, c.want, c.n)
		}
	}
	if m.Ties != 2 || m.Unannotated != 5 || m.Judgements != 13 || m.Instances != 3 {
		t.Errorf("%+v", m)
	}
	curve, err := TransitivityCurve(all, 10, MeasureOptions{})
	if err != nil || len(curve) != 2 || curve[0].Value != 0.75 || curve[1].Value != 0 || curve[0].Chance != 0.75 || curve[1].Chance != 0.375 {
		t.Errorf("%+v %v", curve, err)
	}
	if _, err := Measure(all, MeasureOptions{K: 2}); err == nil {
		t.Error("K = 2 is taken")
	}
	all[1].Relation = relation
	if _, err := Measure(all, MeasureOptions{}); err == nil {
		t.Error("an instance of two items has judgements over four")
	}
}
