package calibrate

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var calibrations = []Method{Raw, NucleusEntropy, Entropy, NucleusSize}

// printers are ways in which servers write a log-probability.
var printers = map[string]func(float64) float64{
	"float64":     func(l float64) float64 { return l },
	"float32":     func(l float64) float64 { return float64(float32(l)) },
	"6 decimals":  func(l float64) float64 { return math.Round(l*1e6) / 1e6 },
	"5 decimals":  func(l float64) float64 { return math.Round(l*1e5) / 1e5 },
	"shifted":     func(l float64) float64 { return l + 0.9*printSlack },
	"shifted off": func(l float64) float64 { return l - 0.9*printSlack },
}

// Whatever the distribution, the truth lies in the intervals that its k most probable
// tokens give: size, entropy and mass of every nucleus, the whole entropy, P of
// every token, C and the event probability of every token under every method.
func TestTopContainsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := drawLogits(t)
		ps := drawThresholds(t)
		truth, err := Summarize(logits, ps)
		if err != nil {
			t.Fatal(err)
		}
		k := rapid.OneOf(rapid.IntRange(1, min(20, len(logits))), rapid.IntRange(1, len(logits))).Draw(t, "k")
		printer := rapid.SampledFrom([]string{"float64", "float32", "6 decimals", "5 decimals", "shifted", "shifted off"}).Draw(t, "printed as")
		list := truncate(logits, truth.LogZ.Lo, k, printers[printer])
		if rapid.Bool().Draw(t, "padded") { // a server that pads its list to a fixed length
			floor := rapid.SampledFrom([]float64{math.Inf(-1), -9999, -3.4028234663852886e38}).Draw(t, "floor")
			for len(list) < min(k+3, len(logits)) {
				list = append(list, floor)
			}
		}
		s, err := SummarizeTop(list, len(logits), ps)
		if err != nil {
			t.Fatal(err)
		}
		checkContains(t, s, truth, logits, list[s.Seen-1])
	})
}

func checkContains(t *rapid.T, s, truth Summary, logits []float32, last float64) {
	if !s.Entropy.Contains(truth.Entropy.Lo) {
		t.Fatalf("entropy %v not in %v", truth.Entropy, s.Entropy)
	}
	for i, want := range truth.Nuclei {
		n := s.Nuclei[i]
		if !n.Size.Contains(want.Size.Lo) || !n.Entropy.Contains(want.Entropy.Lo) || !n.Mass.Contains(want.Mass.Lo) {
			t.Fatalf("nucleus %+v\nnot in  %+v", want, n)
		}
	}
	for id, v := range logits {
		logP := truth.LogP(float64(v))
		// A token below the last one listed was surely not seen; one above it was,
		// and is known by its value; at the edge it may have been either.
		seen := s.LogP(logP.Lo)
		var known Interval
		switch {
		case logP.Lo < last-2*printSlack:
			known = s.Unseen
		case logP.Lo > last+2*printSlack || s.Seen == s.Vocabulary:
			known = seen
		default:
			known = seen.hull(s.Unseen)
		}
		if !known.Contains(logP.Lo) {
			t.Fatalf("token %d: log P %v not in %v", id, logP, known)
		}
		if id%17 > 1 {
			continue
		}
		for _, m := range calibrations {
			for _, n := range truth.Nuclei {
				c := Calibration{m, n.P}
				exact, err := c.Offset(truth)
				if err != nil {
					t.Fatal(err)
				}
				bounds, err := c.Offset(s)
				if err != nil {
					t.Fatal(err)
				}
				if !bounds.Contains(exact.Lo) {
					t.Fatalf("%v: C %v not in %v", c, exact, bounds)
				}
				e, b := EventProbability(logP, exact), EventProbability(known, bounds)
				if !e.IsExact() || !b.Contains(e.Lo) {
					t.Fatalf("%v, token %d: event probability %v not in %v", c, id, e, b)
				}
			}
		}
	}
}

// Bounds are not only sure, they are met: for each there are tails that (nearly)
// reach it. All are over a head of 0.3, 0.2 and an unseen mass of 0.5 in 40 tokens.
func TestTopBoundsAreMet(t *testing.T) {
	head := []float64{0.3, 0.2}
	const unseen, mass, p = 40, 0.5, 0.93
	tail := func(q ...float64) []float32 { // fills up with the same last value
		l := []float32{float32(math.Log(head[0])), float32(math.Log(head[1]))}
		rest := mass
		for i := range unseen {
			x := rest / float64(unseen-i)
			if i < len(q) {
				x = q[i]
			}
			rest -= x
			l = append(l, float32(math.Log(math.Max(0, x))))
		}
		return l
	}
	bounds, err := SummarizeTop([]float64{math.Log(head[0]), math.Log(head[1])}, 2+unseen, []float64{p})
	if err != nil {
		t.Fatal(err)
	}
	summary := func(logits []float32) (Interval, Nucleus) {
		s, err := Summarize(logits, []float64{p})
		if err != nil {
			t.Fatal(err)
		}
		return s.Entropy, s.Nuclei[0]
	}
	evenH, even := summary(tail())
	// As few as possible: 0.2 + 0.2 + 0.1; and so that the cut meets p exactly.
	packedH, packed := summary(tail(0.2, 0.2, 0.1, 0))
	_, exact := summary(tail(0.2, 0.2, 0.03, 0.03, 0.03, 0.01))
	b := bounds.Nuclei[0]
	for _, c := range []struct {
		what      string
		got, want float64
		tol       float64
	}{
		{"entropy, from above", evenH.Lo, bounds.Entropy.Hi, 3e-4},
		{"entropy, from below", packedH.Lo, bounds.Entropy.Lo, 3e-4},
		{"size, from above", even.Size.Lo, b.Size.Hi, 0},
		{"size, from below", packed.Size.Lo, b.Size.Lo, 0},
		{"nucleus entropy, from below", exact.Entropy.Lo, b.Entropy.Lo, 3e-4},
		{"mass, from below", exact.Mass.Lo, b.Mass.Lo, 1e-6},
	} {
		if math.Abs(c.got-c.want) > c.tol {
			t.Errorf("%s: a tail gives %.6f, the bound is %.6f", c.what, c.got, c.want)
		}
	}
	// The highest nucleus entropy has m equal tokens whose first m−1 just miss p.
	best := 0.0
	for m := 2; m <= unseen; m++ {
		r := p - head[0] - head[1]
		u := r/float64(m-1) - 1e-6
		if u > head[1] || u*float64(m) > mass || (mass-u*float64(m)) > u*float64(unseen-m) {
			continue
		}
		q := make([]float64, m)
		for i := range q {
			q[i] = u
		}
		_, n := summary(tail(q...))
		best = math.Max(best, n.Entropy.Lo)
	}
	if best > b.Entropy.Hi || best < b.Entropy.Hi-2e-3 {
		t.Errorf("nucleus entropy, from above: a tail gives %.6f, the bound is %.6f", best, b.Entropy.Hi)
	}
	if best <= even.Entropy.Lo {
		t.Errorf("the even tail has the highest nucleus entropy here (%v), so this test shows nothing", even.Entropy)
	}
}

// Everything seen: as good as exact.
func TestTopOfEverything(t *testing.T) {
	logits := bell(500, 2, 4)
	ps := []float64{0.8, 0.95, 1}
	truth, err := Summarize(logits, ps)
	if err != nil {
		t.Fatal(err)
	}
	s, err := SummarizeTop(truncate(logits, truth.LogZ.Lo, 500, printers["float64"]), 500, ps)
	if err != nil {
		t.Fatal(err)
	}
	if s.Entropy.Width() > 5e-4 || s.Unseen != Exact(math.Inf(-1)) {
		t.Errorf("entropy %v, unseen %v", s.Entropy, s.Unseen)
	}
	for _, n := range s.Nuclei {
		if n.Size.Width() > 1 || n.Entropy.Width() > 5e-3 {
			t.Errorf("%+v", n)
		}
	}
}

// One token is missing: its probability follows from the others.
func TestTopAllButOne(t *testing.T) {
	s, err := SummarizeTop([]float64{math.Log(0.6), math.Log(0.25)}, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := math.Log(0.15); !s.Unseen.Contains(want) || s.Unseen.Width() > 2e-4 {
		t.Errorf("unseen %v, want about %g", s.Unseen, want)
	}
}

// Floors are neither probabilities nor zeros: the answer is that of the list without
// them, and a token listed with one may have any probability an unseen one may have.
func TestTopFloors(t *testing.T) {
	list := []float64{-0.5, -1.5, -3}
	want, err := SummarizeTop(list, 1000, []float64{0.9, 0.95})
	if err != nil {
		t.Fatal(err)
	}
	for _, floor := range []float64{math.Inf(-1), -9999, -3.4e38, -1e9, -100} {
		got, err := SummarizeTop(append(append([]float64(nil), list...), floor, floor), 1000, []float64{0.9, 0.95})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Nuclei {
			if got.Nuclei[i] != want.Nuclei[i] {
				t.Errorf("floor %g: %+v; want %+v", floor, got.Nuclei[i], want.Nuclei[i])
			}
		}
		if got.Seen != 3 || got.Entropy != want.Entropy || got.Unseen != want.Unseen || got.LogP(floor) != want.Unseen {
			t.Errorf("floor %g: %+v; want %+v", floor, got, want)
		}
	}
	if p := want.Unseen; p.Lo != math.Inf(-1) || math.Abs(p.Hi-math.Log(1-math.Exp(-0.5)-math.Exp(-1.5)-math.Exp(-3))) > 1e-3 && math.Abs(p.Hi+3) > 1e-3 {
		t.Errorf("unseen %v", p)
	}
	_, err = SummarizeTop([]float64{math.Inf(-1), -9999}, 1000, nil)
	if !errors.Is(err, ErrNoToken) {
		t.Errorf("only floors: %v, want ErrNoToken", err)
	}
}

func TestTopRefuses(t *testing.T) {
	for _, c := range []struct {
		list       []float64
		vocabulary int
		ps         []float64
		want       string
	}{
		{nil, 10, nil, "nothing but floors"},
		{[]float64{-1}, 0, nil, "vocabulary of 0"},
		{[]float64{-1, -2, -3}, 2, nil, "more tokens are listed than"},
		{[]float64{-1, math.NaN()}, 10, nil, "log-probability 2 is NaN"},
		{[]float64{0.1}, 10, nil, "cannot exceed 1"},
		{[]float64{math.Inf(1)}, 10, nil, "cannot exceed 1"},
		{[]float64{-3, -1}, 10, nil, "descending"},
		{[]float64{-0.1, -0.2}, 10, nil, "sum to 1.7"},
		{[]float64{-1, -2}, 2, nil, "not normalised"},
		{[]float64{-1, -2, -30}, 1000, nil, "not normalised"},
		{[]float64{-1}, 10, []float64{1.5}, "outside (0, 1]"},
	} {
		_, err := SummarizeTop(c.list, c.vocabulary, c.ps)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("SummarizeTop(%v, %d): %v; want %q", c.list, c.vocabulary, err, c.want)
		}
	}
}

// No list makes it panic or answer with NaN or an empty interval.
func FuzzSummarizeTop(f *testing.F) {
	f.Fuzz(func(t *testing.T, a, b, c float64, vocabulary int, p float64) {
		s, err := SummarizeTop([]float64{a, b, c}, vocabulary, []float64{p})
		if err != nil {
			return
		}
		n := s.Nuclei[0]
		for _, i := range []Interval{s.Entropy, s.Unseen, n.Size, n.Entropy, n.Mass} {
			if !(i.Lo <= i.Hi) {
				t.Errorf("%v %v %v of %d at %v: %+v", a, b, c, vocabulary, p, s)
			}
		}
		if n.Size.Lo < 1 || n.Size.Hi > float64(vocabulary) || n.Mass.Hi > 1 || n.Entropy.Lo < 0 {
			t.Errorf("%v %v %v of %d at %v: %+v", a, b, c, vocabulary, p, s)
		}
	})
}

func BenchmarkSummarizeTop(b *testing.B) {
	logits := bell(262144, 2.5, 5)
	s, err := Summarize(logits, nil)
	if err != nil {
		b.Fatal(err)
	}
	list := truncate(logits, s.LogZ.Lo, 20, printers["float32"])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SummarizeTop(list, 262144, []float64{0.95}); err != nil {
			b.Fatal(err)
		}
	}
}
