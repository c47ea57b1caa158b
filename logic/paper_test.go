package logic

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// constraint is one of the five of ProbCT (Table 1).
type constraint struct {
	name string
	f    *Formula
	wmc0 float64
	info string // as Table 1 prints it
}

func probCT() []constraint {
	return []constraint{
		{"transitivity", Implies(And(lit(0), lit(1)), lit(2)), 7. / 8, "0.193"},
		{"forward implication", Implies(lit(0), lit(1)), 3. / 4, "0.415"},
		{"negation consistency", Xor(lit(0), lit(1)), 1. / 2, "1.000"},
		{"entity mutual exclusivity", Xor(lit(0), lit(1)), 1. / 2, "1.000"},
		{"spatial mutual exclusivity", Xor(lit(0), lit(1)), 1. / 2, "1.000"},
	}
}

func TestTable1Informativeness(t *testing.T) {
	for _, c := range probCT() {
		d := compile(t, c.f)
		if d.WMC0() != c.wmc0 {
			t.Errorf("%s: WMC0 = %v, want %v", c.name, d.WMC0(), c.wmc0)
		}
		if got := trim(d.Informativeness()); got != c.info {
			t.Errorf("%s: I = %s bits, Table 1 has %s", c.name, got, c.info)
		}
	}
}

func trim(x float64) string {
	n := math.Round(x * 1000)
	return string([]byte{byte('0' + int(n)/1000), '.', byte('0' + int(n)/100%10), byte('0' + int(n)/10%10), byte('0' + int(n)%10)})
}

// genProbabilities draws weights strictly between 0 and 1.
func genProbabilities(t *rapid.T, n int) []Weight {
	w := make([]Weight, n)
	for i := range w {
		w[i] = WeightFromProbability(rapid.Float64Range(0.001, 0.999).Draw(t, "p"))
	}
	return w
}

// Proposition 1: the likelihood formula's WMC is the product of the event probabilities, its loss the
// negative log-likelihood.
func TestProposition1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		w := genProbabilities(t, n)
		var fs []*Formula
		loss := 0.0
		for i := range n {
			fs = append(fs, lit(i))
			loss -= math.Log(w[i].P)
		}
		d := compile(t, And(fs...))
		if got := d.Loss(w); !near(got, loss, 1e-12) {
			t.Fatalf("loss %v, want %v", got, loss)
		}
	})
}

// Proposition 2: no satisfiable formula over n variables is more informative than a minterm's n bits, and
// n bits mean exactly one satisfying interpretation.
func TestProposition2(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 10)
		n := float64(len(x.f.Vars()))
		i := x.d.Informativeness()
		if len(x.models) == 0 {
			if !math.IsInf(i, 1) {
				t.Fatalf("I = %v for an unsatisfiable formula", i)
			}
			return
		}
		if i > n || (i == n) != (len(x.models) == 1) {
			t.Fatalf("I = %v of %v variables with %d models", i, n, len(x.models))
		}
	})
}

// Proposition 3: an entailed formula is at least as probable and at most as informative.
func TestProposition3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		// Over the same variables: each mentions all.
		all := True()
		for i := range n {
			all = And(all, Or(lit(i), Not(lit(i))))
		}
		f := And(genAny(t, n), all)
		g := Or(f, And(genAny(t, n), all))
		w := genWeights(t, n)
		if ok, err := Entails(context.Background(), f, g); !ok || err != nil {
			t.Fatalf("F does not entail F ∨ G: %v", err)
		}
		a, b := compile(t, f), compile(t, g)
		if a.WMC(w) > b.WMC(w)+1e-15 || a.Informativeness() < b.Informativeness() {
			t.Fatalf("WMC %v, %v; I %v, %v", a.WMC(w), b.WMC(w), a.Informativeness(), b.Informativeness())
		}
	})
}

func norm(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum)
}

// Propositions 4 and 5: where WMC ≥ WMC₀ the loss's gradient is at most 2^I times WMC's, and always it is
// -A·2^I times WMC's with A = WMC₀/WMC.
func TestPropositions4And5(t *testing.T) {
	checked := 0
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 8)
		if len(x.models) == 0 {
			return
		}
		w := genProbabilities(t, x.n)
		grad, logs := make([]float64, x.n), make([]float64, x.n)
		p := x.d.Gradient(w, grad)
		x.d.LogGradient(w, logs)
		s, err := Score(x.d, w)
		if err != nil {
			t.Fatal(err)
		}
		a := s.WMC0 / p
		for v := range grad {
			if want := -a * math.Exp2(s.Info) * grad[v]; !near(-logs[v], want, 1e-9) {
				t.Fatalf("∂loss/∂p%d = %v, want %v", v, -logs[v], want)
			}
		}
		if p >= s.WMC0 {
			checked++
			if norm(logs) > math.Exp2(s.Info)*norm(grad)*(1+1e-12) {
				t.Fatalf("‖∇loss‖ = %v, 2^I ‖∇WMC‖ = %v", norm(logs), math.Exp2(s.Info)*norm(grad))
			}
		}
	})
	if checked == 0 {
		t.Error("Proposition 4 was never put to the test")
	}
}

// Equations 5 and 6 on their own definitions.
func TestScoreAgainstDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 8)
		s, err := Score(x.d, x.w)
		if err != nil {
			t.Fatal(err)
		}
		p, p0 := x.wmc(), float64(len(x.models))/math.Exp2(float64(len(x.f.Vars())))
		if !near(s.WMC, p, 1e-12) || s.WMC0 != p0 {
			t.Fatalf("WMC %v, %v, want %v, %v", s.WMC, s.WMC0, p, p0)
		}
		if s.RhoDefined == (p0 == 1) || s.RhoDefined && !near(s.Rho, (p-p0)/(1-p0), 1e-9) {
			t.Fatalf("ρ = %v (%v), want %v", s.Rho, s.RhoDefined, (p-p0)/(1-p0))
		}
		if math.Abs(p-p0) > 1e-12 && (s.CAcc == Consistent) != (p > p0) {
			t.Fatalf("%v at WMC %v, WMC0 %v", s.CAcc, p, p0)
		}
		for _, v := range []float64{s.WMC, s.LogWMC, s.WMC0, s.Rho, s.Info, s.Loss} {
			if math.IsNaN(v) {
				t.Fatalf("NaN in %+v", s)
			}
		}
	})
}

// A formula whose weights are all ½ is not better than chance, whatever rounding says.
func TestChanceIsNotConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		k := rapid.IntRange(0, n).Draw(t, "k")
		f, _ := chooseChain(n, k)
		g, _ := choose(n, k)
		for _, f := range []*Formula{f, Not(f), g, Or(g, f), genAny(t, min(n, 8))} {
			d := compile(t, f)
			w := make([]Weight, 64)
			for i := range w {
				w[i] = Weight{0.5, 0.5}
			}
			s, err := Score(d, w)
			if err != nil || s.CAcc != Inconsistent {
				t.Fatalf("%v: %+v, %v", f.Format(nil, ASCII), s, err)
			}
			if v := f.Vars(); d.Satisfiable() && !d.Valid() && len(v) > 0 {
				up := false
				grad := make([]float64, 64)
				d.Gradient(w, grad)
				for i, g := range grad { // a real improvement, however small, is one
					if math.Abs(g) > 1e-3 && !up {
						step := math.Copysign(1e-13, g)
						w[i] = Weight{0.5 + step, 0.5 - step}
						up = true
					}
				}
				if s, _ = Score(d, w); up && s.CAcc != Consistent {
					t.Fatalf("%v: a step uphill is no improvement: %+v", f.Format(nil, ASCII), s)
				}
			}
		}
	})
}

func ladder(t interface {
	Helper()
	Fatal(...any)
}, w []Weight) []Rung {
	t.Helper()
	l, err := Ladder(context.Background(), w)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// The ladder against thresholds compiled one by one, and against the binomial distribution.
func TestLadder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		w := genWeights(t, n)
		fs := make([]*Formula, n)
		for i := range fs {
			fs[i] = lit(i)
		}
		got := ladder(t, w)
		even := ladder(t, slices.Repeat([]Weight{{0.5, 0.5}}, n))
		for k := 1; k <= n; k++ {
			d := compile(t, AtLeast(k, fs...))
			want, err := Score(d, w)
			if err != nil {
				t.Fatal(err)
			}
			r := got[k-1]
			if !near(r.LogWMC(), want.LogWMC, 1e-11) {
				t.Fatalf("log P(at least %d of %d) = %v, want %v", k, n, r.LogWMC(), want.LogWMC)
			}
			if fail := compile(t, AtMost(k-1, fs...)).LogWMC(w); !near(r.LogFail(), fail, 1e-11) {
				t.Fatalf("log P(fewer than %d of %d) = %v, want %v", k, n, r.LogFail(), fail)
			}
			if x, ok := r.Rho(even[k-1]); !ok || !near(x, want.Rho, 1e-9) {
				t.Fatalf("ρ of at least %d of %d = %v (%v), want %v", k, n, x, ok, want.Rho)
			}
			if x, ok := even[k-1].Rho(even[k-1]); !ok || x != 0 {
				t.Fatalf("ρ of chance = %v (%v)", x, ok)
			}
			if k > 1 && r.LogWMC() > got[k-2].LogWMC()+1e-12 {
				t.Fatalf("rung %d lies above rung %d", k, k-1)
			}
		}
	})
	if len(ladder(t, nil)) != 0 {
		t.Error("a ladder without events has rungs")
	}
	const n = 2000
	w := make([]Weight, n)
	for i := range w {
		w[i] = WeightFromLog(-20)
	}
	l := ladder(t, w)
	lg := func(x float64) float64 { v, _ := math.Lgamma(x + 1); return v }
	for _, k := range []int{1, 2, 100, 1999, 2000} { // P(exactly k) dominates; the next term bounds the rest
		want := lg(n) - lg(float64(k)) - lg(float64(n-k)) - 20*float64(k) + float64(n-k)*math.Log1p(-math.Exp(-20))
		if got := l[k-1].LogWMC(); math.Abs(got-want) > 1e-5+1e-12*math.Abs(want) {
			t.Errorf("log P(at least %d of 2000) = %v, want about %v", k, got, want)
		}
	}
}
