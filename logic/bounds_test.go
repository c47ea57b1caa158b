package logic

import (
	"context"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func genBox(t *rapid.T, n int) (lo, hi []Weight) {
	for range n {
		a := rapid.Float64Range(0, 1).Draw(t, "a")
		b := rapid.Float64Range(0, 1).Draw(t, "b")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			b = a
		case 1:
			a, b = 0, 1
		case 2:
			b = min(1, a+0.01)
		}
		lo = append(lo, WeightFromProbability(min(a, b)))
		hi = append(hi, WeightFromProbability(max(a, b)))
	}
	return lo, hi
}

func TestBoundsHoldEverywhereAndAreTight(t *testing.T) {
	boxes, tight := 0, 0
	excess := 0.0
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 8)
		lo, hi := genBox(t, x.n)
		flo, fhi := make([]float64, x.n), make([]float64, x.n)
		for i := range lo {
			flo[i], fhi[i] = lo[i].P, hi[i].P
		}
		wmc, err := x.d.Bounds(context.Background(), flo, fhi)
		if err != nil {
			t.Fatal(err)
		}
		low, high := wmc.Lo, wmc.Hi
		r, err := ScoreBounds(context.Background(), x.d, lo, hi)
		if err != nil {
			t.Fatal(err)
		}
		if r.WMC != wmc {
			t.Fatalf("ScoreBounds says %v, Bounds %v", r.WMC, wmc)
		}
		check := func(w []Weight) float64 {
			s, err := Score(x.d, w)
			if err != nil {
				t.Fatal(err)
			}
			in := func(r Range, x float64) bool { return r.Lo <= x && x <= r.Hi }
			if !in(r.WMC, s.WMC) || !in(r.Loss, s.Loss) || s.RhoDefined != r.RhoDefined || s.RhoDefined && !in(r.Rho, s.Rho) {
				t.Fatalf("%v: %+v is not within %+v", x.f.Format(nil, ASCII), s, r)
			}
			if r.CAcc != Undecided && r.CAcc != s.CAcc {
				t.Fatalf("%v at %+v, decided %v", s.CAcc, s, r.CAcc)
			}
			return s.WMC
		}
		// All corners: the extremes are among them.
		least, most := 1.0, 0.0
		for c := 0; c < 1<<x.n; c++ {
			w := slices.Clone(lo)
			for i := range w {
				if c>>i&1 == 1 {
					w[i] = hi[i]
				}
			}
			p := check(w)
			least, most = min(least, p), max(most, p)
		}
		for range 8 {
			w := make([]Weight, x.n)
			for i := range w {
				w[i] = WeightFromProbability(rapid.Float64Range(lo[i].P, hi[i].P).Draw(t, "p"))
			}
			check(w)
		}
		boxes++
		if e := (least - low) + (high - most); e < 1e-12 {
			tight++
		} else {
			excess = max(excess, e)
		}
	})
	t.Logf("%d of %d boxes are bounded exactly; the widest excess is %.3g", tight, boxes, excess)
	if tight < boxes*9/10 {
		t.Errorf("only %d of %d boxes are bounded exactly", tight, boxes)
	}
}

// Without splits the bounds are still sure.
func TestBoundsWithoutSplitting(t *testing.T) {
	excess, n := 0.0, 0
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 8)
		lo, hi := genBox(t, x.n)
		low, err := x.d.extreme(context.Background(), lo, hi, -1, 1)
		if err != nil {
			t.Fatal(err)
		}
		high, err := x.d.extreme(context.Background(), lo, hi, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		least, most := 1.0, 0.0
		for c := 0; c < 1<<x.n; c++ {
			w := slices.Clone(lo)
			for i := range w {
				if c>>i&1 == 1 {
					w[i] = hi[i]
				}
			}
			p, q := x.d.both(w)
			if p < low.p-1e-13 || p > high.p+1e-13 || q > low.q+1e-13 || q < high.q-1e-13 {
				t.Fatalf("%v, %v is not within %v … %v, %v … %v", p, q, low.p, high.p, high.q, low.q)
			}
			least, most = min(least, p), max(most, p)
		}
		excess += least - low.p + high.p - most
		n++
	})
	t.Logf("mean excess without splitting %.3g", excess/float64(n))
}

func TestBoundsOfAPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := draw(t, 8)
		s, err := Score(x.d, x.w)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ScoreBounds(context.Background(), x.d, x.w, x.w)
		if err != nil {
			t.Fatal(err)
		}
		if r.WMC != (Range{s.WMC, s.WMC}) || r.Loss != (Range{s.Loss, s.Loss}) || r.Rho != (Range{s.Rho, s.Rho}) || r.CAcc != s.CAcc || r.Info != s.Info {
			t.Fatalf("%+v differs from %+v", r, s)
		}
	})
}

func TestBoundsOfTheUnknown(t *testing.T) {
	d := compile(t, Xor(lit(0), lit(1)))
	r, err := d.Bounds(context.Background(), []float64{math.NaN(), 0.5}, []float64{math.NaN(), 0.5})
	if err != nil || r.Lo > 0.5 || r.Hi < 0.5 || r.Lo < 0.5-1e-12 || r.Hi > 0.5+1e-12 {
		t.Errorf("%v, %v, want ½", r, err)
	}
	if r, err = d.Bounds(context.Background(), []float64{0, math.NaN()}, []float64{1, math.NaN()}); err != nil || r != (Range{0, 1}) {
		t.Errorf("%v, %v, want 0 … 1", r, err)
	}
	// A conjunction of 2,000: the loss is bounded where WMC underflows.
	var fs []*Formula
	var lo, hi []Weight
	for i := range 2000 {
		fs = append(fs, lit(i))
		lo, hi = append(lo, WeightFromLog(-3)), append(hi, WeightFromLog(-2))
	}
	s, err := ScoreBounds(context.Background(), compile(t, And(fs...)), lo, hi)
	if err != nil || !near(s.Loss.Lo, 4000, 1e-9) || !near(s.Loss.Hi, 6000, 1e-9) || s.CAcc != Inconsistent {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := ScoreBounds(context.Background(), d, []Weight{{0.6, 0.4}, {0.5, 0.5}}, []Weight{{0.5, 0.5}, {0.5, 0.5}}); err == nil {
		t.Error("a lower bound above the upper one is accepted")
	}
}
