package logic

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Formulas of so many variables that WMC₀, or 1 − WMC₀, is no number in float64: Equations 3, 5 and 6 by
// their closed forms, of both an event each and an interval.
func TestScoreOfThousands(t *testing.T) {
	for _, n := range []int{1, 40, 60, 1075, 1200, 2000} {
		fs := make([]*Formula, n)
		for i := range fs {
			fs[i] = lit(i)
		}
		and, or := compile(t, And(fs...)), compile(t, Or(fs...))
		even := slices.Repeat([]Weight{{0.5, 0.5}}, n)
		for _, q := range []float64{0, 1e-300, 0.1, 0.4, 0.4999, 0.5, 0.5001, 0.6, 0.9} {
			w := slices.Repeat([]Weight{WeightFromProbability(1 - q)}, n)
			for i := range w {
				w[i].Q = q
			}
			for _, c := range []struct {
				name string
				d    *Diagram
				rho  float64
				info float64
				good bool
			}{
				{"and", and, (math.Pow(1-q, float64(n)) - math.Exp2(-float64(n))) / -math.Expm1(-float64(n)*math.Ln2), float64(n), q < 0.5},
				// 1 − qⁿ/2⁻ⁿ
				{"or", or, -math.Expm1(float64(n) * math.Log(2*q)), -math.Log1p(-math.Exp2(-float64(n))) / math.Ln2, q < 0.5},
			} {
				s, err := Score(c.d, w)
				if err != nil {
					t.Fatal(err)
				}
				ok := near(s.Rho, c.rho, 1e-9) || s.Rho == c.rho
				if !ok || !s.RhoDefined || s.Rho > 1 || !s.Satisfiable || s.Valid || !near(s.Info, c.info, 1e-9) || (s.CAcc == Consistent) != c.good || s.CAcc == Undecided {
					t.Errorf("%s of %d, q = %v: %+v, want ρ %v, I %v, consistent %v", c.name, n, q, s, c.rho, c.info, c.good)
				}
				// The point between chance and this one is not worse than the lower of both.
				lo, hi := w, even
				if w[0].P > 0.5 {
					lo, hi = even, w
				}
				r, err := ScoreBounds(context.Background(), c.d, lo, hi)
				if err != nil {
					t.Fatal(err)
				}
				if !r.RhoDefined || r.Rho.Lo > min(s.Rho, 0) || r.Rho.Hi < max(s.Rho, 0) || r.Rho.Hi > 1 || math.IsNaN(r.Rho.Lo+r.Rho.Hi*0) && !math.IsInf(r.Rho.Lo, -1) ||
					!r.Satisfiable || r.Valid || q < 0.5 && r.CAcc == Inconsistent || q >= 0.5 && r.CAcc != Inconsistent {
					t.Errorf("%s of %d, q between %v and ½: %+v around %+v", c.name, n, q, r, s)
				}
			}
		}
		// The first rung of a ladder is the disjunction, the last the conjunction.
		w := slices.Repeat([]Weight{{0.9, 0.1}}, n)
		l, chance := ladder(t, w), ladder(t, even)
		for k, d := range map[int]*Diagram{1: or, n: and} {
			s, err := Score(d, w)
			if err != nil {
				t.Fatal(err)
			}
			if x, ok := l[k-1].Rho(chance[k-1]); !ok || !near(x, s.Rho, 1e-9) {
				t.Errorf("ρ of at least %d of %d: %v (%v), want %v", k, n, x, ok, s.Rho)
			}
		}
	}
	for _, c := range []struct {
		f                  *Formula
		satisfiable, valid bool
	}{
		{True(), true, true}, {False(), false, false}, {Or(lit(0), Not(lit(0))), true, true}, {And(lit(0), Not(lit(0))), false, false}, {lit(0), true, false},
	} {
		s, err := Score(compile(t, c.f), []Weight{{0.3, 0.7}})
		if err != nil || s.Satisfiable != c.satisfiable || s.Valid != c.valid || s.RhoDefined == c.valid {
			t.Errorf("%v: %+v, %v", c.f.Format(nil, ASCII), s, err)
		}
	}
}

// Interpretations ranked by the upper ends of their probabilities.
func TestTopModelsByUpperEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 8)
		lo, hi := genBox(t, x.n)
		w := make([]Weight, x.n)
		for i := range w {
			w[i] = Weight{hi[i].P, lo[i].Q}
		}
		k := rapid.IntRange(1, 300).Draw(t, "k")
		ms, err := x.d.TopModels(context.Background(), w, k)
		if err != nil || len(ms) != min(k, len(x.models)) {
			t.Fatalf("%d models, %v", len(ms), err)
		}
		upper := func(bits uint) float64 {
			p := 1.0
			for _, v := range x.f.Vars() {
				if bits>>v&1 == 1 {
					p *= hi[v].P
				} else {
					p *= lo[v].Q
				}
			}
			return p
		}
		var want []float64
		for _, b := range x.models {
			want = append(want, upper(b))
		}
		slices.Sort(want)
		slices.Reverse(want)
		for i, m := range ms {
			if got := upper(bitsOf(m.Interpretation)); !near(got, want[i], 1e-11) || !near(math.Exp(m.LogProb), got, 1e-11) {
				t.Fatalf("number %d has %v (%v), want %v", i, got, math.Exp(m.LogProb), want[i])
			}
		}
	})
}

// What takes long ends soon after its context does.
func TestCancellation(t *testing.T) {
	const n = 300
	f, _ := chooseChain(n, 10)
	d := compile(t, f)
	w, lo, hi := make([]Weight, n), make([]Weight, n), make([]Weight, n)
	flo, fhi := make([]float64, n), make([]float64, n)
	for i := range w {
		w[i] = WeightFromProbability(0.3 + 0.4*float64(i)/n)
		lo[i], hi[i], fhi[i] = Weight{0, 1}, Weight{1, 0}, 1
	}
	deep := lit(0)
	for i := range 3_000_000 {
		deep = Or(deep, lit(i%1000))
	}
	long := slices.Repeat([]Weight{{0.9, 0.1}}, 200_000)
	for name, run := range map[string]func(ctx context.Context) error{
		"TopModels": func(ctx context.Context) error { _, err := d.TopModels(ctx, w, math.MaxInt); return err },
		"Bounds": func(ctx context.Context) (err error) {
			for err == nil {
				_, err = d.Bounds(ctx, flo, fhi)
			}
			return err
		},
		"ScoreBounds": func(ctx context.Context) (err error) {
			for err == nil {
				_, err = ScoreBounds(ctx, d, lo, hi)
			}
			return err
		},
		"Ladder":  func(ctx context.Context) error { _, err := Ladder(ctx, long); return err },
		"Compile": func(ctx context.Context) error { _, err := Compile(ctx, deep); return err },
	} {
		runtime.GC()
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- run(ctx) }()
		time.Sleep(50 * time.Millisecond)
		start := time.Now()
		cancel()
		err := <-ended
		if d := time.Since(start); d > 200*time.Millisecond || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v after it was cancelled: %v", name, d, err)
		}
	}
}
