package plots

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

func TestRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	one := func(p float64) Interpretations {
		return Interpretations{"a", []string{"a"}, []Interpretation{{[]bool{true}, p, true}}}
	}
	event := func(e Event) func() (*Figure, error) {
		return func() (*Figure, error) { return NewEvents("", []Event{{}, e}) }
	}
	scaling := func(p ScalingPoint) func() (*Figure, error) {
		return func() (*Figure, error) { return NewScaling("", []ScalingPanel{{Points: []ScalingPoint{p}}}) }
	}
	informative := func(p InformativePoint) func() (*Figure, error) {
		return func() (*Figure, error) { return NewInformativeness("", []InformativePoint{p}) }
	}
	for _, c := range []struct {
		figure func() (*Figure, error)
		want   string
	}{
		{func() (*Figure, error) { return NewHistogram("", nil) }, "there are no scores"},
		{func() (*Figure, error) { return NewHistogram("", []float64{0, nan}) }, "score 2 is NaN"},
		{func() (*Figure, error) { return NewHistogram("", []float64{-inf}) }, "score 1 is -Inf"},
		{func() (*Figure, error) { return NewHistogram("", []float64{1.01}) }, "ρ is at most 1"},
		{func() (*Figure, error) { return NewHistogram("", []float64{-1e9}) }, "hide all others"},

		{func() (*Figure, error) { return NewFrontier("", nil) }, "0 points"},
		{func() (*Figure, error) { return NewFrontier("", []FrontierPoint{{Commitment: 2.1}}) }, "between 0 and 2"},
		{func() (*Figure, error) { return NewFrontier("", []FrontierPoint{{Commitment: nan}}) }, "is NaN"},
		{func() (*Figure, error) { return NewFrontier("", []FrontierPoint{{Model: "x", Coverage: -1}}) }, "the coverage of point 1 (x) is -1"},
		{func() (*Figure, error) { return NewFrontier("", []FrontierPoint{{Violation: inf}}) }, "the violation of point 1"},
		{func() (*Figure, error) { return NewPreferences(Preferences{Items: []string{"a"}}) }, "1 items"},
		{func() (*Figure, error) { return NewPreferences(Preferences{Items: []string{"a", "b"}}) }, "the relation has 0 rows"},
		{func() (*Figure, error) {
			return NewPreferences(Preferences{Items: []string{"a", "b"}, Relation: [][]float64{{nan, 1}, {1}}})
		}, "row 2 of the relation has 1 columns"},
		{func() (*Figure, error) {
			return NewPreferences(Preferences{Items: []string{"a", "b"}, Relation: [][]float64{{1, 1}, {1, nan}}})
		}, "item 1 against itself"},
		{func() (*Figure, error) {
			return NewPreferences(Preferences{Items: []string{"a", "b"}, Relation: [][]float64{{nan, 1}, {1, nan}}, Negated: [][]float64{{nan, inf}, {1, nan}}})
		}, "the negated relation of items 1 and 2 is +Inf"},
		{func() (*Figure, error) { return NewScatter("", "", "", nil) }, "0 panels"},
		{func() (*Figure, error) { return NewScatter("", "", "", []ScatterPanel{{Title: "x"}}) }, "panel 1 (x) has 0 points"},
		{func() (*Figure, error) {
			return NewScatter("", "", "", []ScatterPanel{{Title: "x", Points: []ScatterPoint{{Y: nan}}}})
		}, "a value of point 1 of x is NaN"},
		{func() (*Figure, error) {
			var points []ScatterPoint
			for _, g := range "abcdefghi" {
				points = append(points, ScatterPoint{Group: string(g)})
			}
			return NewScatter("", "", "", []ScatterPanel{{Points: points}})
		}, "9 groups"},
		{func() (*Figure, error) { return NewTransitivity("", nil) }, "0 curves"},
		{func() (*Figure, error) { return NewTransitivity("", []TransitivityCurve{{Model: "x"}}) }, "the curve of x has no point"},
		{func() (*Figure, error) {
			return NewTransitivity("", []TransitivityCurve{{Points: []TransitivityPoint{{K: 2}}}})
		}, "K = 2"},
		{func() (*Figure, error) {
			return NewTransitivity("", []TransitivityCurve{{Points: []TransitivityPoint{{K: 4}, {K: 4}}}})
		}, "grows along the curve"},
		{func() (*Figure, error) {
			return NewTransitivity("", []TransitivityCurve{{Points: []TransitivityPoint{{K: 4, Value: nan}}}})
		}, "the share is NaN"},
		{func() (*Figure, error) {
			return NewTransitivity("", []TransitivityCurve{{Points: []TransitivityPoint{{K: 4, Bar: Range{1, 0}}}}})
		}, "the empty range"},
		{func() (*Figure, error) { return NewReliability("", nil) }, "0 panels"},
		{func() (*Figure, error) { return NewReliability("", []ReliabilityPanel{{Title: "x"}}) }, "x has 0 bins"},
		{func() (*Figure, error) {
			return NewReliability("", []ReliabilityPanel{{Bins: []ReliabilityBin{{-1, 0, 0}}}})
		}, "-1 answers"},
		{func() (*Figure, error) {
			return NewReliability("", []ReliabilityPanel{{Bins: []ReliabilityBin{{1, nan, 0}}}})
		}, "the confidence is NaN"},
		{func() (*Figure, error) {
			return NewReliability("", []ReliabilityPanel{{Bins: []ReliabilityBin{{1, 0, 2}}}})
		}, "the accuracy is 2"},
		{func() (*Figure, error) { return NewCoverage("", nil) }, "0 curves"},
		{func() (*Figure, error) { return NewCoverage("", []CoverageCurve{{Model: "x"}}) }, "the curve of x has 0 points"},
		{func() (*Figure, error) {
			return NewCoverage("", []CoverageCurve{{Points: []CoveragePoint{{0.5, nan, 0}}}})
		}, "the coverage is NaN"},
		{func() (*Figure, error) {
			return NewCoverage("", []CoverageCurve{{Points: []CoveragePoint{{0.5, 1, 1.1}}}})
		}, "the accuracy is 1.1"},
		{func() (*Figure, error) {
			return NewCoverage("", []CoverageCurve{{Points: []CoveragePoint{{inf, 1, 1}}}})
		}, "τ is +Inf"},

		{func() (*Figure, error) { return NewLadder("", nil) }, "0 steps"},
		{func() (*Figure, error) { return NewLadder("", []float64{-1, nan}) }, "ln P(F≥2) is NaN"},
		{func() (*Figure, error) { return NewLadder("", []float64{0.5}) }, "at most 0"},
		{func() (*Figure, error) { return NewLadder("", []float64{-2, -1}) }, "ln P(F≥2) = -1 is greater than ln P(F≥1) = -2"},

		{func() (*Figure, error) { return NewCalibration(Calibration{C: nan}) }, "C is NaN"},
		{func() (*Figure, error) { return NewCalibration(Calibration{C: -1}) }, "C is -1"},
		{func() (*Figure, error) { return NewCalibration(Calibration{Nucleus: -1}) }, "nucleus of -1"},
		{func() (*Figure, error) { return NewCalibration(Calibration{Least: 0.1}) }, "no probability of a token in a nucleus of 0"},
		{func() (*Figure, error) { return NewCalibration(Calibration{Nucleus: 3, Least: 1.1}) }, "1.1 is no probability"},
		{func() (*Figure, error) { return NewCalibration(Calibration{Nucleus: 3, Least: nan}) }, "NaN is no probability"},
		{func() (*Figure, error) { return NewCalibration(Calibration{Tokens: []CalibratedToken{{"x", 1.5}}}) }, "token 1 (x) is 1.5"},
		{func() (*Figure, error) { return NewCalibration(Calibration{Tokens: make([]CalibratedToken, 25)}) }, "too many"},

		{func() (*Figure, error) { return NewInterpretations(one(nan)) }, "row 1 is NaN"},
		{func() (*Figure, error) { return NewInterpretations(one(-0.1)) }, "between 0 and 1"},
		{func() (*Figure, error) { return NewInterpretations(Interpretations{}) }, "0 events"},
		{func() (*Figure, error) { return NewInterpretations(Interpretations{Events: []string{"a"}}) }, "there are none"},
		{func() (*Figure, error) {
			return NewInterpretations(Interpretations{Events: []string{"a"}, Rows: make([]Interpretation, 3)})
		}, "there are only 2"},
		{func() (*Figure, error) {
			return NewInterpretations(Interpretations{Events: []string{"a"}, Rows: make([]Interpretation, 1)})
		}, "row 1 has 0 truth values for 1 events"},
		{func() (*Figure, error) {
			return NewInterpretations(Interpretations{Events: make([]string, 10), Rows: make([]Interpretation, 65)})
		}, "the 64 most probable"},

		{func() (*Figure, error) { return NewScaling("", nil) }, "0 panels"},
		{func() (*Figure, error) { return NewScaling("", make([]ScalingPanel, 13)) }, "13 panels"},
		{func() (*Figure, error) { return NewScaling("", []ScalingPanel{{Title: "x"}}) }, "panel 1 (x) has 0 points"},
		{scaling(ScalingPoint{Model: "m"}), "the size of m is 0"},
		{scaling(ScalingPoint{Model: "m", Size: nan}), "the size of m is NaN"},
		{scaling(ScalingPoint{Model: "m", Size: 1e9, Value: nan}), "a value of m is NaN"},
		{scaling(ScalingPoint{Model: "m", Size: 1e9, Value: 1e300}), "too large"},
		{scaling(ScalingPoint{Model: "m", Size: 1e9, Bar: Range{1, -inf}}), "a value of m is -Inf"},
		{scaling(ScalingPoint{Model: "m", Size: 1e9, Bar: Range{1, 0}}), "the error bar of m is the empty range"},
		{func() (*Figure, error) {
			var points []ScalingPoint
			for i := range 9 {
				points = append(points, ScalingPoint{Family: string(rune('a' + i)), Size: 1})
			}
			return NewScaling("", []ScalingPanel{{Points: points}})
		}, "9 families"},

		{func() (*Figure, error) { return NewInformativeness("", nil) }, "0 points"},
		{informative(InformativePoint{Name: "f", Info: inf}), "the informativeness of point 1 (f) is +Inf"},
		{informative(InformativePoint{Name: "f", Info: -1}), "is -1"},
		{informative(InformativePoint{Name: "f", Rho: Exactly(nan)}), "the score of point 1 (f) is NaN"},
		{informative(InformativePoint{Name: "f", Rho: Exactly(1.5)}), "ρ is at most 1"},
		{informative(InformativePoint{Name: "f", Middle: Range{0.5, 0}}), "empty range"},

		{func() (*Figure, error) { return NewHistograms(Histograms{}) }, "0 rows of 0 columns"},
		{func() (*Figure, error) { return NewHistograms(Histograms{Rows: []string{"m"}, Columns: []string{"d"}}) }, "scores of 0 rows for 1"},
		{func() (*Figure, error) {
			return NewHistograms(Histograms{Rows: []string{"m"}, Columns: []string{"d"}, Rho: [][][]float64{{}}})
		}, "row 1 has 0 columns"},
		{func() (*Figure, error) {
			return NewHistograms(Histograms{Rows: []string{"m"}, Columns: []string{"d"}, Rho: [][][]float64{{{}}}})
		}, "there are no scores"},
		{func() (*Figure, error) {
			return NewHistograms(Histograms{Rows: []string{"m"}, Columns: []string{"d"}, Rho: [][][]float64{{{0, nan}}}})
		}, "m, d: score 2 is NaN"},

		{func() (*Figure, error) { return NewEvents("", nil) }, "1 to 64"},
		{event(Event{Name: "b", P: Exactly(nan)}), "raw probability of event 2 (b) is NaN"},
		{event(Event{Name: "b", EventP: Range{0.5, 2}}), "event probability of event 2 (b) is 2"},
		{event(Event{Name: "b", EventP: Range{0.5, 0.2}}), "empty range 0.5 … 0.2"},
		{event(Event{Name: "b", Gradient: Exactly(inf)}), "gradient of event 2 (b) is +Inf"},
	} {
		f, err := c.figure()
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1: "1", -1: "−1", 0.5: "0.500", -0.98501: "−0.985", 0.0576: "0.058", 0.0031: "0.0031",
		0.000153: "1.5×10⁻⁴", 9.99e-5: "1.0×10⁻⁴", -2e-300: "−2.0×10⁻³⁰⁰", 1.0 / 0x1p1040: "8.5×10⁻³¹⁴",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%g) = %s, want %s", x, got, want)
		}
	}
	if got := logNumber(-10000 * math.Ln10); got != "1.0×10⁻¹⁰⁰⁰⁰" {
		t.Errorf("10^−10000 is shown as %s", got)
	}
	if got := logNumber(math.Inf(-1)); got != "0" {
		t.Errorf("0 is shown as %s", got)
	}
}

func TestHistogramCounts(t *testing.T) {
	f, err := NewHistogram("x", []float64{-2, -0.05, 0, 1e-12, 0.05, 1})
	if err != nil {
		t.Fatal(err)
	}
	if f.Title() != "x · CAcc 50.0 %" || f.keys[0].label != "inconsistent, ρ ≤ 0 (3)" || f.keys[1].label != "consistent (3)" {
		t.Errorf("%s %v", f.Title(), f.keys)
	}
}

func TestFit(t *testing.T) {
	sty := style(textSize, ink)
	for _, s := range []string{"short", "A Golden Retriever is a type of▸ dog", strings.Repeat("i", 10000), "\n\x00"} {
		for _, w := range []float64{5, 30, 100} {
			if got := fit(s, sty, vg.Length(w)); layout(got, textSize, nil) > vg.Length(w) && got != "…" {
				t.Errorf("%q is wider than %g", got, w)
			}
		}
	}
	if got := fit("a\nb", sty, 100); got != "a␊b" {
		t.Errorf("%q", got)
	}
}

// What a grid's histograms count is what single ones count.
func TestBins(t *testing.T) {
	for _, rho := range [][]float64{{-2, -0.05, 0, 1e-12, 0.05, 1}, {0.5}, {0, 0}, {-700, 1}, {1, 1, 0.2}} {
		least, err := lowest(rho, "x")
		if err != nil {
			t.Fatal(err)
		}
		for _, narrowest := range []float64{0.05, 0.1} {
			b := bin(rho, nil, least-3, narrowest)
			n, below := 0, 0
			for i, c := range b.counts {
				n += c
				if i < b.below {
					below += c
				}
			}
			consistent := 0
			for _, r := range rho {
				if r > 0 {
					consistent++
				}
			}
			if n != len(rho) || n-below != consistent || b.consistent != consistent || b.min() > least {
				t.Errorf("%v: %d in bins, %d below 0 from %g on", rho, n, below, b.min())
			}
		}
	}
}

// The least and the greatest numbers have axes with a few ticks.
func TestInformativenessExtremes(t *testing.T) {
	for _, info := range []float64{0, 5e-324, 1e-300, 1e-12, 1e-9, 1, 1e12} {
		for _, rho := range []float64{1, 5e-324, 0, -1e-300, -1e15} {
			f, err := NewInformativeness("", []InformativePoint{{Name: "f", Info: info, Rho: Exactly(rho)}, {Name: "g", Info: info / 2, Rho: Exactly(rho)}})
			if err != nil {
				t.Fatal(err)
			}
			if svg, err := f.SVG(); err != nil || len(svg) > 200_000 {
				t.Errorf("I %g, ρ %g: %d bytes (%v)", info, rho, len(svg), err)
			}
		}
	}
	for _, x := range []float64{1e-300, 1e-10, 0.3, 1, 1.9999999999, 7, 1e15} {
		if s := niceStep(x); !(s >= x*(1-1e-9) && s < 5.0001*x) {
			t.Errorf("the step for %g is %g", x, s)
		}
	}
}

// The ends of axes hold what is on them, and one value alone, or one whose error bar reaches 0, has room on both
// sides and is drawn.
func TestScalingAxes(t *testing.T) {
	for _, pt := range []ScalingPoint{{Size: 135e6, Value: 0.05, Bar: Range{0, 0.1}}, {Size: 1, Value: 0}, {Size: 1e9, Value: -3}, {Size: 1e12, Value: 1e15}, {Size: 270e6, Value: 50, Bar: Range{-1, 101}}} {
		p := newPlot()
		sizeAxis(&p.X, pt.Size, pt.Size, 1)
		valueAxis(&p.Y, []ScalingPoint{pt})
		x := math.Log10(pt.Size)
		if !(p.X.Min < x && x < p.X.Max && p.Y.Min < pt.Value && pt.Value < p.Y.Max) || pt.Bar.Lo < pt.Bar.Hi && (p.Y.Min >= pt.Bar.Lo || p.Y.Max <= pt.Bar.Hi) {
			t.Errorf("%+v: %g … %g, %g … %g", pt, p.X.Min, p.X.Max, p.Y.Min, p.Y.Max)
		}
		if len(p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max)) == 0 || len(p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max)) < 2 {
			t.Errorf("%+v: no ticks", pt)
		}
		f, err := NewScaling("one model", []ScalingPanel{{Points: []ScalingPoint{pt}}})
		if err != nil {
			t.Fatal(err)
		}
		if svg, err := f.SVG(); err != nil || strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
			t.Errorf("%+v: %v, or numbers that are none", pt, err)
		}
	}
	for x, want := range map[float64]string{270e6: "270M", 268098176: "268M", 1e9: "1B", 0.9999e9: "1B", 1.5e9: "1.5B", 12e9: "12B", 1e12: "1T", 500: "500", 2000: "2k"} {
		if got := sizeName(x); got != want {
			t.Errorf("%g is %s, want %s", x, got, want)
		}
	}
}
