package preference

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/logic"
)

// TestStrictOrder counts models of K items: all pairs K!; any set of pairs, the acyclic orientations, which by
// Stanley's theorem (1973) are |χ(−1)| of the graph's chromatic polynomial χ, by deletion and contraction.
func TestStrictOrder(t *testing.T) {
	ctx := context.Background()
	factorial := 2
	for k := 3; k <= MostBridgeItems; k++ {
		factorial *= k
		d, err := logic.Compile(ctx, StrictOrder(k, func(int, int) bool { return true }))
		if err != nil || d.Count().Int64() != int64(factorial) || len(d.Vars()) != k*(k-1)/2 {
			t.Errorf("K = %d: %v models over %d pairs, want %d (%v)", k, d.Count(), len(d.Vars()), factorial, err)
		}
		if got := math.Exp(d.LogWMC0()); math.Abs(got-RandomTournament(k)) > 1e-12 {
			t.Errorf("K = %d: WMC₀ %g, want %g", k, got, RandomTournament(k))
		}
	}
	type pair = [2]int
	var orientations func(n int, edges map[pair]bool) int // acyclic ones: those without an edge, and contracted along it
	orientations = func(n int, edges map[pair]bool) int {
		for e := range edges {
			without, contracted := map[pair]bool{}, map[pair]bool{}
			for f := range edges {
				if f == e {
					continue
				}
				without[f] = true
				for side, v := range f {
					if v == e[1] {
						f[side] = e[0]
					}
				}
				contracted[pair{min(f[0], f[1]), max(f[0], f[1])}] = true
			}
			return orientations(n, without) + orientations(n, contracted)
		}
		return 1
	}
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(3, MostBridgeItems).Draw(t, "K")
		edges := map[pair]bool{}
		for i := range k {
			for j := i + 1; j < k; j++ {
				if rapid.IntRange(0, 2).Draw(t, "pair") > 0 {
					edges[pair{i, j}] = true
				}
			}
		}
		d, err := logic.Compile(ctx, StrictOrder(k, func(i, j int) bool { return edges[pair{i, j}] }))
		if err != nil {
			t.Fatal(err)
		}
		free := len(edges) - len(d.Vars()) // pairs in no cycle
		if got, want := int(d.Count().Int64())<<free, orientations(k, edges); got != want {
			t.Fatalf("K = %d, %d pairs: %d, want %d", k, len(edges), got, want)
		}
	})
}

// TestBridge sums the probabilities of all assignments to the judgements, deciding each by its relation
// graph, its winners and its labels.
func TestBridge(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 4).Draw(t, "N")
		k := rapid.IntRange(3, n).Draw(t, "K")
		partial := rapid.Bool().Draw(t, "partial")
		m, negated := drawJudgements(t, n, partial), drawJudgements(t, n, partial)
		b, err := Bridge(ctx, []Judged{{Instance: &Instance{}, Relation: m, Negated: negated}}, MeasureOptions{K: k, Bootstrap: quick})
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, c Constraint, wmc, rho, cacc []float64) {
			mean := func(x []float64) float64 {
				sum := 0.0
				for _, v := range x {
					sum += v
				}
				return sum / float64(len(x))
			}
			if c.Formulas != len(wmc) {
				t.Fatalf("%s: %d formulas, want %d", what, c.Formulas, len(wmc))
			}
			for _, x := range []struct {
				name string
				got  float64
				of   []float64
			}{{"WMC", c.WMC.Value, wmc}, {"ρ", c.Rho.Value, rho}, {"CAcc", c.CAcc.Value, cacc}} {
				if want := mean(x.of); math.Abs(x.got-want) > 1e-9 || (want == want) != (x.got == x.got) {
					t.Fatalf("%s: %s %g, want %g", what, x.name, x.got, want)
				}
			}
		}
		score := func(p, p0 float64) (wmc, rho, cacc float64) {
			if p > p0 { // all probabilities are eighths, and so the sums are exact
				cacc = 1
			}
			return p, (p - p0) / (1 - p0), cacc
		}
		// Order: all ways to direct the judged pairs of each sub-graph.
		var wmc, rho, cacc []float64
		for _, items := range subsets(n, k) {
			type pair struct {
				i, j int
				p    float64
			}
			var pairs []pair
			for a, i := range items {
				for _, j := range items[a+1:] {
					p := m.At(i, j)
					if p != p {
						p = 1 - m.At(j, i)
					}
					if p == p {
						pairs = append(pairs, pair{i, j, p})
					}
				}
			}
			sum, acyclic := 0.0, 0
			for bits := range 1 << len(pairs) {
				g, p := make(Graph, n), 1.0
				for e, x := range pairs {
					if bits>>e&1 == 1 {
						g[x.i] = append(g[x.i], x.j)
						p *= x.p
					} else {
						g[x.j] = append(g[x.j], x.i)
						p *= 1 - x.p
					}
				}
				for i := range g { // Has needs ascending ones
					sortInts(g[i])
				}
				if acyclicByOrders(g, items) {
					sum += p
					acyclic++
				}
			}
			if acyclic == 1<<len(pairs) {
				continue // a tautology
			}
			w, r, c := score(sum, float64(acyclic)/float64(int(1)<<len(pairs)))
			wmc, rho, cacc = append(wmc, w), append(rho, r), append(cacc, c)
		}
		check("order", b.Order, wmc, rho, cacc)

		two := func(p, q float64) {
			w, r, c := score(p*(1-q)+(1-p)*q, 0.5)
			wmc, rho, cacc = append(wmc, w), append(rho, r), append(cacc, c)
		}
		wmc, rho, cacc = nil, nil, nil
		for i := range n {
			for j := range i {
				if p, q := m.At(i, j), m.At(j, i); p == p && q == q {
					two(p, q)
				}
			}
		}
		check("swap", b.Swap, wmc, rho, cacc)
		wmc, rho, cacc = nil, nil, nil
		for i := range n {
			for j := range n {
				if p, q := m.At(i, j), negated.At(i, j); p == p && q == q {
					two(p, q)
				}
			}
		}
		check("negation", b.Negation, wmc, rho, cacc)
	})
}

func sortInts(x []int) {
	for i := range x {
		for j := i; j > 0 && x[j] < x[j-1]; j-- {
			x[j], x[j-1] = x[j-1], x[j]
		}
	}
}

// TestBridgeIsTheScores: for judgements that are all certain WMC is what the three scores count, and all judgements
// at ½ are chance.
func TestBridgeIsTheScores(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(4, 7).Draw(t, "N")
		k := rapid.IntRange(3, min(n, MostBridgeItems)).Draw(t, "K")
		m, negated := drawJudgements(t, n, false), drawJudgements(t, n, false)
		half := drawJudgements(t, n, false)
		for i := range n {
			for j := range n {
				if i != j {
					for _, x := range []*Judgements{m, negated} {
						_ = x.Set(i, j, math.Round(x.At(i, j)), 0)
					}
					_ = half.Set(i, j, 0.5, 0)
				}
			}
		}
		in := &Instance{Items: unscored(n)}
		o := MeasureOptions{K: k, Bootstrap: quick}
		b, err := Bridge(ctx, []Judged{{in, m, negated}}, o)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Measure([]Judged{{in, m, negated}}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []struct {
			what string
			c    Constraint
			want float64
		}{{"s_tran", b.Order, s.Transitive.Value}, {"s_comm", b.Swap, s.Commutative.Value}, {"s_neg", b.Negation, s.Negation.Value}} {
			if math.Abs(x.c.WMC.Value-x.want) > 1e-12 || math.Abs(x.c.CAcc.Value-x.want) > 1e-12 {
				t.Fatalf("%s is %g, WMC %g, CAcc %g", x.what, x.want, x.c.WMC.Value, x.c.CAcc.Value)
			}
		}
		b, err = Bridge(ctx, []Judged{{in, half, half}}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []Constraint{b.Order, b.Swap, b.Negation} {
			if math.Abs(c.Rho.Value) > 1e-12 || c.CAcc.Value != 0 || math.Abs(c.WMC.Value-c.WMC0) > 1e-12 {
				t.Fatalf("all at ½: %+v", c)
			}
		}
	})
	for _, k := range []int{2, MostBridgeItems + 1} {
		if _, err := Bridge(ctx, nil, MeasureOptions{K: k}); err == nil {
			t.Errorf("K = %d is taken", k)
		}
	}
}
