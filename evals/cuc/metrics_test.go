package cuc

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/notebooks/published"
)

var probability = rapid.OneOf(rapid.Float64Range(0, 1), rapid.SampledFrom([]float64{0, 0.5, 0.6, 1}))

// The identity v_neg = max(0, c − 1), with v_neg by its other form: the excess of p(φ) over 1 − p(¬φ).
func TestIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := probability.Draw(t, "p"), probability.Draw(t, "q")
		c, v := Commitment(p, q), Violation(p, q)
		if c < 0 || c > 2 || v < 0 || v > 1 {
			t.Fatalf("c %g, v_neg %g", c, v)
		}
		if other := math.Max(0, p-(1-q)); math.Abs(v-other) > 1e-15 || v != math.Max(0, c-1) {
			t.Fatalf("v_neg %g, and p − (1 − q) is %g", v, other)
		}
	})
}

func points(t *rapid.T, least int) []Point {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
		return Point{
			P: probability.Draw(t, "p"), NotP: probability.Draw(t, "q"),
			Label: rapid.SampledFrom([]Label{LabelTrue, LabelFalse, LabelUncertain, LabelNotTrue}).Draw(t, "label"),
		}
	}), least, 40).Draw(t, "points")
}

var few = bootstrap.Options{Resamples: 20}

// Theorem B.1: a model is on or above the frontier, E[v_neg] ≥ max(0, E[c] − 1), since v_neg is a convex
// function of c; and on it where all examples are on one side of c = 1.
func TestTheoremB1(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pts := points(t, 1)
		m, err := Measure(pts, DefaultThresholds(), few)
		if err != nil {
			t.Fatal(err)
		}
		least := math.Max(0, m.Commitment.Value-1)
		if m.Violation.Value < least-1e-12 {
			t.Fatalf("E[v_neg] %g is below the frontier, %g", m.Violation.Value, least)
		}
		above, below := true, true
		for _, p := range pts {
			above = above && p.P+p.NotP >= 1
			below = below && p.P+p.NotP <= 1
		}
		if (above || below) && math.Abs(m.Violation.Value-least) > 1e-12 {
			t.Fatalf("E[v_neg] %g is not on the frontier, %g", m.Violation.Value, least)
		}
	})
}

// Theorem B.3: p(φ) = p(¬φ) ≤ 1/2 on every example is perfectly coherent, without any reasoning. And it
// answers nothing as soon as δ > 0.
func TestTheoremB3(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pts := points(t, 1)
		for i := range pts {
			pts[i].P = rapid.Float64Range(0, 0.5).Draw(t, "p")
			pts[i].NotP = pts[i].P
		}
		th := Thresholds{Tau: rapid.Float64Range(0, 1).Draw(t, "τ"), Delta: rapid.Float64Range(1e-6, 1).Draw(t, "δ")}
		m, err := Measure(pts, th, few)
		if err != nil {
			t.Fatal(err)
		}
		if m.Violation.Value != 0 || m.Violated.Value != 0 || m.Coverage.Value != 0 {
			t.Fatalf("E[v_neg] %g, violated %g, coverage %g", m.Violation.Value, m.Violated.Value, m.Coverage.Value)
		}
		if !math.IsNaN(m.AccCov.Value) || !math.IsNaN(m.ECECov.Value) {
			t.Fatalf("Acc_cov %g and ECE_cov %g of no answer", m.AccCov.Value, m.ECECov.Value)
		}
	})
}

// The rule by its definition, word for word; swapping the questions swaps the answers.
func TestDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		th := Thresholds{Tau: probability.Draw(t, "τ"), Delta: rapid.Float64Range(1e-9, 1).Draw(t, "δ")}
		p, q := probability.Draw(t, "p"), probability.Draw(t, "q")
		want := Uncertain
		if p >= th.Tau && p >= q+th.Delta {
			want = True
		}
		if q >= th.Tau && q >= p+th.Delta {
			want = False
		}
		if got := th.Decide(p, q); got != want {
			t.Fatalf("%v, want %v", got, want)
		}
		swapped := map[Decision]Decision{True: False, False: True, Uncertain: Uncertain}
		if got := th.Decide(q, p); got != swapped[want] {
			t.Fatalf("swapped: %v", got)
		}
	})
	if d := (Thresholds{Tau: 0.5}).Decide(0.7, 0.7); d != Uncertain {
		t.Errorf("a tie with δ = 0 is %v", d)
	}
}

// Coverage falls as τ or δ rises.
func TestCoverageFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pts := points(t, 1)
		delta := rapid.Float64Range(0, 1).Draw(t, "δ")
		before := 2.0
		for _, c := range CoverageCurve(pts, delta) {
			if c.Coverage > before {
				t.Fatalf("coverage rises at τ %g", c.Tau)
			}
			before = c.Coverage
		}
	})
}

// Six examples by hand.
func TestMeasure(t *testing.T) {
	pts := []Point{
		{0.90, 0.10, LabelTrue},      // TRUE, right
		{0.70, 0.65, LabelTrue},      // too close: UNCERTAIN, v 0.35
		{0.20, 0.80, LabelTrue},      // FALSE, wrong
		{0.05, 0.95, LabelFalse},     // FALSE, right
		{0.30, 0.30, LabelUncertain}, // UNCERTAIN, right
		{0.95, 0.65, LabelNotTrue},   // TRUE, wrong, v 0.6
	}
	m, err := Measure(pts, DefaultThresholds(), bootstrap.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string][2]float64{
		"n":          {float64(m.N), 6},
		"Acc":        {m.Acc.Value, 3.0 / 6},
		"Coverage":   {m.Coverage.Value, 4.0 / 6},
		"Acc_cov":    {m.AccCov.Value, 2.0 / 4},
		"E[c]":       {m.Commitment.Value, (1 + 1.35 + 1 + 1 + 0.6 + 1.6) / 6},
		"E[v_neg]":   {m.Violation.Value, (0.35 + 0.6) / 6},
		"%v_neg > 0": {m.Violated.Value, 2.0 / 6},
		// Bins: 0.9 right, 0.95 right and 0.95 wrong together; 0.8 wrong.
		"ECE_cov": {m.ECECov.Value, (math.Abs(2-(0.9+0.95+0.95)) + 0.8) / 4},
	} {
		if math.Abs(x[0]-x[1]) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, x[0], x[1])
		}
	}
	if m.Acc.Lo > m.Acc.Value || m.Acc.Hi < m.Acc.Value || m.Acc.Lo == m.Acc.Hi {
		t.Errorf("Acc %+v", m.Acc)
	}
	again, _ := Measure(pts, DefaultThresholds(), bootstrap.Options{Resamples: 1000, Seed: 42})
	if again != m {
		t.Error("with the paper's B and seed given the intervals are others")
	}
	other, _ := Measure(pts, DefaultThresholds(), bootstrap.Options{Resamples: 1000, Seed: 43})
	if other.Commitment == m.Commitment {
		t.Error("another seed gives the same interval")
	}

	for _, bad := range []Point{{1.1, 0, LabelTrue}, {0, -0.1, LabelTrue}, {math.NaN(), 0, LabelTrue}} {
		if _, err := Measure([]Point{bad}, DefaultThresholds(), few); err == nil {
			t.Errorf("%+v is measured", bad)
		}
	}
	if _, err := Measure(nil, DefaultThresholds(), few); err == nil {
		t.Error("no example is measured")
	}
	if _, err := Measure(pts, Thresholds{Tau: 1.5}, few); err == nil {
		t.Error("τ 1.5 is taken")
	}
}

// The published Table 1 is of the accuracy that is computed here: each row's Coverage, Acc_cov and Acc
// are those of whole numbers of FOLIO's 204 examples, of which 69 are UNCERTAIN by label.
func TestPublishedAccuracy(t *testing.T) {
	figures, err := published.Table("CUC Table 1")
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]map[string]float64{}
	for _, f := range figures {
		if value[f.Model] == nil {
			value[f.Model] = map[string]float64{}
		}
		value[f.Model][f.Quantity] = f.Value
	}
	const n, uncertain = 204, 69
	near := func(k int, of int, x float64) bool { return math.Abs(float64(k)/float64(of)-x) <= 0.0005+1e-9 }
	for model, v := range value {
		found := false
		for answered := 1; answered <= n && !found; answered++ {
			if !near(answered, n, v["Coverage"]) {
				continue
			}
			for right := 0; right <= answered && !found; right++ {
				for abstained := 0; abstained <= min(n-answered, uncertain) && !found; abstained++ {
					found = near(right, answered, v["Acc_cov"]) && near(right+abstained, n, v["Acc"])
				}
			}
		}
		if !found {
			t.Errorf("%s: no counts give Coverage %g, Acc_cov %g and Acc %g", model, v["Coverage"], v["Acc_cov"], v["Acc"])
		}
	}
}
