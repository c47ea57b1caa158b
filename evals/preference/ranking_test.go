package preference

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func drawComparisons(t *rapid.T, n int) []Comparison {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Comparison {
		i := rapid.IntRange(0, n-1).Draw(t, "i")
		j := rapid.IntRange(0, n-2).Draw(t, "j")
		if j >= i {
			j++
		}
		return Comparison{I: i, J: j, P: rapid.SampledFrom([]float64{0, 1, 0, 1, 0.5}).Draw(t, "P")}
	}), 0, 3*n).Draw(t, "comparisons")
}

func equal(a, b []float64, by float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x != x && y != y || math.Abs(x-y) <= by })
}

// TestWinLoss has rates worked out by hand: of five items A wins against B and C, B against C and D, C against
// D, D against A, and E takes no part.
func TestWinLoss(t *testing.T) {
	cs := []Comparison{{I: 0, J: 1, P: 1}, {I: 2, J: 0, P: 0}, {I: 1, J: 2, P: 1}, {I: 1, J: 3, P: 1}, {I: 3, J: 2, P: 0}, {I: 3, J: 0, P: 1}}
	got, err := WinLoss(5, cs)
	// A: 2 of 3 won, (2 − 1)/3; B (2 − 1)/3; C (1 − 2)/3; D (1 − 2)/3.
	if want := []float64{1. / 3, 1. / 3, -1. / 3, -1. / 3, math.NaN()}; err != nil || !equal(got, want, 0) {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
	// A tie counts among the comparisons taken part in: B (2 − 1)/4.
	got, _ = WinLoss(5, append(cs, Comparison{I: 4, J: 1, P: 0.5}))
	if want := []float64{1. / 3, 1. / 4, -1. / 3, -1. / 3, 0}; !equal(got, want, 0) {
		t.Errorf("%v, want %v", got, want)
	}
	if order := Order(got); !slices.EqualFunc(order, [][]int{{0}, {1}, {4}, {2, 3}}, slices.Equal[[]int]) {
		t.Errorf("order %v", order)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		cs := drawComparisons(t, n)
		got, err := WinLoss(n, cs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			wins, losses, parts := 0, 0, 0
			for _, c := range cs {
				if c.I != i && c.J != i {
					continue
				}
				parts++
				switch {
				case c.P == 0.5:
				case (c.P == 1) == (c.I == i):
					wins++
				default:
					losses++
				}
			}
			if want := float64(wins-losses) / float64(parts); want != got[i] && !(parts == 0 && got[i] != got[i]) {
				t.Fatalf("item %d: %g, want %g", i, got[i], want)
			}
		}
		if again, _ := WinLoss(n, rapid.Permutation(cs).Draw(t, "order")); !equal(got, again, 0) {
			t.Fatalf("in another order %v, before %v", again, got)
		}
	})
}

func TestElo(t *testing.T) {
	got, err := Elo(3, []Comparison{{I: 0, J: 1, P: 1}}, EloOptions{})
	if err != nil || !equal(got, []float64{1516, 1484, math.NaN()}, 0) {
		t.Errorf("%v %v", got, err)
	}
	// A win against an equal and one against who is 400 better: 16, and 32·(1 − 1/11).
	got, _ = Elo(2, []Comparison{{I: 1, J: 0, P: 0}, {I: 0, J: 1, P: 1}}, EloOptions{K: 400, Rounds: 1})
	second := 400 * (1 - 1/(1+math.Pow(10, -1)))
	if want := []float64{1700 + second, 1300 - second}; !equal(got, want, 1e-9) {
		t.Errorf("%v, want %v", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		cs := drawComparisons(t, n)
		o := EloOptions{Rounds: rapid.IntRange(1, 4).Draw(t, "rounds"), Seed: rapid.Uint64().Draw(t, "seed")}
		a, err := Elo(n, cs, o)
		b, _ := Elo(n, cs, o)
		if err != nil || !equal(a, b, 0) {
			t.Fatalf("%v and %v with the same seed (%v)", a, b, err)
		}
		sum, rated := 0.0, 0.0
		for _, r := range a {
			if r == r {
				sum += r
				rated++
			}
		}
		if math.Abs(sum-1500*rated) > 1e-6 {
			t.Fatalf("ratings sum to %g over %g items", sum, rated)
		}
	})
	// With a small K and many rounds Elo goes to Bradley–Terry's strengths, 400/ln 10 to the nat: 3 : 1 is ln 3.
	cs := []Comparison{{I: 0, J: 1, P: 1}, {I: 0, J: 1, P: 1}, {I: 0, J: 1, P: 1}, {I: 0, J: 1, P: 0}}
	got, _ = Elo(2, cs, EloOptions{K: 0.5, Rounds: 10_000})
	if d, want := got[0]-got[1], 400*math.Log10(3); math.Abs(d-want) > 0.5 {
		t.Errorf("difference %g, want %g", d, want)
	}
	for _, o := range []EloOptions{{K: -1}, {K: math.NaN()}, {Start: math.Inf(1)}, {Rounds: -1}, {Rounds: 1e6}} {
		if _, err := Elo(2, cs, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// TestBradleyTerry checks the estimate by the derivatives of the log-likelihood, written with σ, by its value
// next to the estimate, and by the closed form for two items.
func TestBradleyTerry(t *testing.T) {
	ctx := context.Background()
	sigma := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		cs := drawComparisons(t, n)
		prior := rapid.SampledFrom([]float64{0.1, 0.5, 2}).Draw(t, "prior")
		theta, err := BradleyTerry(ctx, n, cs, prior)
		if err != nil {
			t.Fatal(err)
		}
		likelihood := func(theta []float64) float64 {
			sum := 0.0
			for _, c := range cs {
				d := theta[c.I] - theta[c.J]
				sum += c.P*math.Log(sigma(d)) + (1-c.P)*math.Log(sigma(-d))
			}
			for _, x := range theta {
				if x == x {
					sum += prior * (math.Log(sigma(x)) + math.Log(sigma(-x)))
				}
			}
			return sum
		}
		best := likelihood(theta)
		for i := range theta {
			part, slope := false, 0.0
			for _, c := range cs {
				switch i {
				case c.I:
					part, slope = true, slope+c.P-sigma(theta[c.I]-theta[c.J])
				case c.J:
					part, slope = true, slope+1-c.P-sigma(theta[c.J]-theta[c.I])
				}
			}
			if part != (theta[i] == theta[i]) {
				t.Fatalf("item %d: takes part: %v, θ = %g", i, part, theta[i])
			}
			if !part {
				continue
			}
			if slope += prior * (1 - 2*sigma(theta[i])); math.Abs(slope) > 1e-7 {
				t.Fatalf("item %d: slope %g", i, slope)
			}
			for _, d := range []float64{-1, -0.1, 0.1, 1} {
				moved := slices.Clone(theta)
				moved[i] += d
				if likelihood(moved) >= best {
					t.Fatalf("item %d is better at θ = %g than at %g", i, moved[i], theta[i])
				}
			}
		}
	})
	// Two items, a wins to b, prior a₀: θ₁ = −θ₂ = x with (a − b)/2 … solved by bisection.
	for _, c := range []struct{ a, b, prior float64 }{{3, 1, 0.5}, {5, 0, 0.5}, {1, 0, 0.001}, {0, 2, 4}} {
		var cs []Comparison
		for range int(c.a) {
			cs = append(cs, Comparison{I: 0, J: 1, P: 1})
		}
		for range int(c.b) {
			cs = append(cs, Comparison{I: 0, J: 1, P: 0})
		}
		lo, hi := -20.0, 20.0
		for range 100 {
			x := (lo + hi) / 2
			if c.a-(c.a+c.b)*sigma(2*x)+c.prior*(1-2*sigma(x)) > 0 {
				lo = x
			} else {
				hi = x
			}
		}
		theta, err := BradleyTerry(ctx, 2, cs, c.prior)
		if err != nil || math.Abs(theta[0]-lo) > 1e-5 || math.Abs(theta[1]+lo) > 1e-5 {
			t.Errorf("%+v: %v, want ±%g (%v)", c, theta, lo, err)
		}
	}
	// Two groups that nothing joins, and an item that never loses: finite, and in order.
	theta, err := BradleyTerry(ctx, 6, []Comparison{{I: 0, J: 1, P: 1}, {I: 0, J: 2, P: 1}, {I: 1, J: 2, P: 1}, {I: 3, J: 4, P: 1}}, 0)
	if err != nil || !(theta[0] > theta[1] && theta[1] > theta[2] && theta[3] > theta[4]) || theta[5] == theta[5] {
		t.Errorf("%v %v", theta, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := BradleyTerry(ended, 2, nil, 0); err == nil {
		t.Error("an ended context is not noticed")
	}
}

// Two items of the same record against the others have the same score, wherever they stand in the list and in
// whatever order the comparisons come: a ranking that is rounded into preferring one would be made into training data.
func TestSameRecord(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(3, 7).Draw(rt, "items")
		var comparisons []Comparison
		for i := 1; i < n-1; i++ {
			for range rapid.IntRange(1, 3).Draw(rt, "times") {
				p := float64(rapid.IntRange(0, 10).Draw(rt, "tenths")) / 10
				comparisons = append(comparisons, Comparison{I: 0, J: i, P: p}, Comparison{I: n - 1, J: i, P: p})
			}
			if i > 1 {
				comparisons = append(comparisons, Comparison{I: i - 1, J: i, P: float64(rapid.IntRange(0, 1).Draw(rt, "won"))})
			}
		}
		comparisons = rapid.Permutation(comparisons).Draw(rt, "order")
		for name, rank := range map[string]Ranker{
			"win-loss":      WinLoss,
			"Bradley-Terry": func(n int, c []Comparison) ([]float64, error) { return BradleyTerry(t.Context(), n, c, 0) },
		} {
			scores, err := rank(n, comparisons)
			if err != nil {
				rt.Fatal(err)
			}
			if scores[0] != scores[n-1] {
				rt.Fatalf("%s: %v and %v, a difference of %g", name, scores[0], scores[n-1], scores[0]-scores[n-1])
			}
		}
	})
	x := []float64{1, math.NaN(), 1 + 1e-7, 2, 1 - 1e-7}
	levelOut(x, 1.5e-7)
	if x[0] != x[2] || x[2] != x[4] || x[3] != 2 || x[1] == x[1] {
		t.Error(x)
	}
}

func TestRankingsRefuse(t *testing.T) {
	for _, c := range []Comparison{{I: 0, J: 0, P: 1}, {I: 0, J: 2, P: 1}, {I: -1, J: 0, P: 1}, {I: 0, J: 1, P: 1.5}, {I: 0, J: 1, P: math.NaN()}} {
		cs := []Comparison{c}
		if _, err := WinLoss(2, cs); err == nil {
			t.Errorf("win-loss takes %+v", c)
		}
		if _, err := Elo(2, cs, EloOptions{}); err == nil {
			t.Errorf("Elo takes %+v", c)
		}
		if _, err := BradleyTerry(context.Background(), 2, cs, 0); err == nil {
			t.Errorf("Bradley–Terry takes %+v", c)
		}
	}
	if _, err := BradleyTerry(context.Background(), 2, nil, -1); err == nil {
		t.Error("a negative prior is taken")
	}
}

// TestRefine follows Figure 6: sparse annotations with a cycle become a partial ranking, from which come all
// pairs that it orders.
func TestRefine(t *testing.T) {
	// A ≻ B ≻ C ≻ A is a cycle; A ≻ D, B ≻ D, C ≻ E.
	cs := []Comparison{{I: 0, J: 1, P: 1}, {I: 1, J: 2, P: 1}, {I: 2, J: 0, P: 1}, {I: 0, J: 3, P: 1}, {I: 3, J: 1, P: 0}, {I: 2, J: 4, P: 1}}
	scores, _ := WinLoss(5, cs) // A 1/3, B 1/3, C 1/3, D −1, E −1
	kept, resolved, dropped := Refine(scores, cs)
	if want := []Comparison{{I: 0, J: 3, P: 1}, {I: 1, J: 3, P: 1}, {I: 2, J: 4, P: 1}}; !slices.Equal(kept, want) || resolved != 0 || dropped != 3 {
		t.Errorf("%v, %d resolved, %d dropped", kept, resolved, dropped)
	}
	// {A, B, C} ≻ {D, E}: six pairs of twelve orders.
	pairs := Augment(scores, cs, AugmentOptions{})
	count := map[Origin]int{}
	for _, p := range pairs {
		count[p.Origin]++
		if p.Wins() > 2 || p.NamesFirst != (p.First < p.Second) {
			t.Errorf("%+v", p)
		}
	}
	if len(pairs) != 12 || count[Annotated] != 6 || count[Implied] != 6 {
		t.Errorf("%d pairs: %v", len(pairs), count)
	}
	// With one more comparison the cycle is resolved against C ≻ A: A 2/4, B 1/3, C −… .
	more := append(slices.Clone(cs), Comparison{I: 0, J: 4, P: 1}, Comparison{I: 2, J: 3, P: 0})
	scores, _ = WinLoss(5, more) // A (3−1)/4, B 1/3, C (2−2)/4, D (1−2)/3, E −1
	kept, resolved, dropped = Refine(scores, more)
	if ComparisonGraph(5, kept).Cyclic() || resolved != 2 || dropped != 0 || len(kept) != 8 { // C ≻ A and D ≻ C
		t.Errorf("%v, %d resolved, %d dropped", kept, resolved, dropped)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(t, "n")
		cs := drawComparisons(t, n)
		scores, err := WinLoss(n, cs)
		if err != nil {
			t.Fatal(err)
		}
		kept, resolved, dropped := Refine(scores, cs)
		met := map[[2]int]bool{}
		for _, c := range cs {
			met[[2]int{min(c.I, c.J), max(c.I, c.J)}] = true
		}
		if len(kept)+dropped != len(met) || resolved > len(kept) || ComparisonGraph(n, kept).Cyclic() {
			t.Fatalf("%d pairs annotated: %v, %d resolved, %d dropped", len(met), kept, resolved, dropped)
		}
		for _, negated := range []bool{false, true} {
			pairs := Augment(scores, cs, AugmentOptions{Negated: negated})
			want := 0
			for i := range n {
				for j := range n {
					if scores[i] > scores[j] {
						want += 2
						if negated {
							want += 2
						}
					}
				}
			}
			if len(pairs) != want {
				t.Fatalf("%d pairs, want %d", len(pairs), want)
			}
			for _, p := range pairs {
				loses := p.First + p.Second - p.Wins()
				if !(scores[p.Wins()] > scores[loses]) {
					t.Fatalf("%+v by %v", p, scores)
				}
			}
			half := Augment(scores, cs, AugmentOptions{Negated: negated, OneOrder: true})
			if 2*len(half) != len(pairs) {
				t.Fatalf("%d pairs in one order, %d in both", len(half), len(pairs))
			}
		}
	})
}

func TestPerturb(t *testing.T) {
	instances := make([]*Instance, 7)
	total := 0
	for i := range instances {
		instances[i] = &Instance{}
		for k := range i * 4 {
			p := float64(k % 2)
			if k == 3 {
				p = 0.5
			} else {
				total++
			}
			instances[i].Comparisons = append(instances[i].Comparisons, Comparison{I: k, J: k + 1, P: p})
		}
	}
	for _, share := range []float64{0, 0.1, 0.5, 1} {
		perturbed, flipped, err := Perturb(instances, share, 3)
		changed := 0
		for i := range instances {
			for k, c := range instances[i].Comparisons {
				switch p := perturbed[i].Comparisons[k].P; {
				case p == c.P:
				case p == 1-c.P:
					changed++
				default:
					t.Errorf("%g became %g", c.P, p)
				}
			}
		}
		if want := int(math.Round(share * float64(total))); err != nil || changed != want || flipped != want {
			t.Errorf("share %g: %d changed, %d told, of %d (%v)", share, changed, flipped, total, err)
		}
		again, _, _ := Perturb(instances, share, 3)
		for i := range again {
			if !slices.Equal(again[i].Comparisons, perturbed[i].Comparisons) {
				t.Error("another outcome with the same seed")
			}
		}
	}
	for _, share := range []float64{-0.1, 1.1, math.NaN()} {
		if _, _, err := Perturb(instances, share, 0); err == nil {
			t.Errorf("a share of %g is taken", share)
		}
	}
}

// TestStages makes data like those of Table 2: annotations of a true order with errors.
func TestStages(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 0))
	var instances []*Instance
	for n := range 40 {
		in := &Instance{ID: string(rune('a' + n)), Items: unscored(4 + n%5)}
		for i := range in.Items {
			for j := range i {
				if random.IntN(10) < 7 {
					in.Comparisons = append(in.Comparisons, Comparison{I: i, J: j, P: 0}) // the earlier item is better
				}
			}
		}
		instances = append(instances, in)
	}
	instances = append(instances, &Instance{ID: "none", Items: unscored(5)})
	stages, err := Stages(instances, RefineOptions{Perturb: 0.1, Seed: 1, Measure: MeasureOptions{Bootstrap: quick}})
	if err != nil {
		t.Fatal(err)
	}
	raw, perturbed, augmented, negated := stages[0], stages[1], stages[2], stages[3]
	total := 0
	for _, in := range instances {
		total += len(in.Comparisons)
	}
	if raw.Data != total || perturbed.Data != total || raw.Instances != 40 || raw.PerInstance != float64(total)/40 {
		t.Errorf("raw %+v", raw.DataStatistics)
	}
	if raw.Transitive.Value != 1 || !(perturbed.Transitive.Value < 1) || augmented.Transitive.Value != 1 || negated.Transitive.Value != 1 || raw.Transitive.Instances != 32 {
		t.Errorf("s_tran %v %v %v %v", raw.Transitive, perturbed.Transitive, augmented.Transitive, negated.Transitive)
	}
	if raw.Commutative.Instances != 0 || raw.Commutative.Value == raw.Commutative.Value || augmented.Commutative.Value != 1 || negated.Commutative.Value != 1 || augmented.Commutative.Instances != augmented.Instances {
		t.Errorf("s_comm %v %v %v", raw.Commutative, augmented.Commutative, negated.Commutative)
	}
	if negated.Data != 2*augmented.Data || augmented.Conflicts != 0 {
		t.Errorf("%d pairs, with negation %d", augmented.Data, negated.Data)
	}
	// Both ways of one pair are a conflict and a cycle.
	s, err := Statistics("x", []int{5}, [][]Pair{AsAnnotated([]Comparison{{I: 0, J: 1, P: 1}, {I: 1, J: 0, P: 1}, {I: 2, J: 3, P: 0.5}})}, MeasureOptions{})
	if err != nil || s.Conflicts != 1 || s.Transitive.Value != 0 || s.Commutative.Value != 0 || s.Data != 2 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := Statistics("x", []int{1}, [][]Pair{{{First: 0, Second: 1}}}, MeasureOptions{}); err == nil {
		t.Error("a pair of an item that is none is taken")
	}
}
