package calibrate

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b, tol float64) bool {
	return math.Abs(a-b) <= tol*math.Max(1, math.Max(math.Abs(a), math.Abs(b)))
}

func checkWhole(t interface{ Fatalf(string, ...any) }, s *Summarizer, logits []float32, ps []float64) {
	got, err := s.Summarize(logits, ps)
	if err != nil {
		t.Fatalf("%v", err)
	}
	logZ, entropy, nuclei := naive(logits, ps)
	if !near(got.LogZ.Lo, logZ, 1e-13) || !near(got.Entropy.Lo, entropy, 1e-11) {
		t.Fatalf("log Z %v, entropy %v; want %v, %v", got.LogZ, got.Entropy, logZ, entropy)
	}
	if !got.LogZ.IsExact() || !got.Entropy.IsExact() {
		t.Fatalf("a whole distribution gave the intervals %v, %v", got.LogZ, got.Entropy)
	}
	for i, want := range nuclei {
		n := got.Nuclei[i]
		if n.Size != want.Size && math.Abs(math.Min(n.Mass.Lo, want.Mass.Lo)-target(n.P, 1)) < 1e-14 {
			n.Size = want.Size // the rounding of a sum decides, as where p is 1 − 1e−16
		}
		if n.P != want.P || n.Size != want.Size || !near(n.Entropy.Lo, want.Entropy.Lo, 1e-11) || !near(n.Mass.Lo, want.Mass.Lo, 1e-12) {
			t.Fatalf("nucleus %+v; want %+v", n, want)
		}
	}
}

// The exact summary is that of sorting everything.
func TestWholeAgainstSorting(t *testing.T) {
	var s Summarizer // reused: nothing of one distribution may reach the next
	rapid.Check(t, func(t *rapid.T) {
		checkWhole(t, &s, drawLogits(t), drawThresholds(t))
	})
}

func TestWholeVocabularyOfGemma(t *testing.T) {
	var s Summarizer
	for _, sd := range []float64{0, 0.001, 0.3, 1, 2.5, 6} {
		checkWhole(t, &s, bell(262144, sd, 3), []float64{0.8, 0.85, 0.9, 0.95, 0.999999, 1})
	}
}

// bell draws n normal logits of the given spread, as float32 like a model's.
func bell(n int, sd float64, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	logits := make([]float32, n)
	for i := range logits {
		logits[i] = float32(sd * rng.NormFloat64())
	}
	return logits
}

// Closed forms.
func TestWholeClosedForms(t *testing.T) {
	// Uniform over 100: 95 of them reach 0.95, whatever way the sum rounds.
	s, err := Summarize(make([]float32, 100), []float64{0.95, 0.07, 0.29, 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{95, 7, 29, 100} {
		if n := s.Nuclei[i]; n.Size != Exact(want) || !near(n.Entropy.Lo, math.Log(want), 1e-14) {
			t.Errorf("uniform: %+v; want size %g", n, want)
		}
	}
	// One token that has everything but e^−40: the entropy is (1 + 40)·e^−40, to
	// many digits although it is tiny.
	s, err = Summarize([]float32{0, -40}, []float64{0.95})
	if err != nil {
		t.Fatal(err)
	}
	want := 41 * math.Exp(-40)
	if math.Abs(s.Entropy.Lo/want-1) > 1e-12 || s.Nuclei[0].Entropy != Exact(0) || s.Nuclei[0].Size != Exact(1) {
		t.Errorf("nearly one-hot: %+v; want entropy %g", s, want)
	}
	// Masked tokens are in no nucleus.
	inf := float32(math.Inf(-1))
	s, err = Summarize([]float32{inf, 3, inf, 3, -math.MaxFloat32}, []float64{1})
	if err != nil {
		t.Fatal(err)
	}
	if s.Nuclei[0].Size != Exact(2) || !near(s.Entropy.Lo, math.Ln2, 1e-15) {
		t.Errorf("masked: %+v", s)
	}
	if got := s.LogP(math.Inf(-1)); got != Exact(math.Inf(-1)) {
		t.Errorf("a masked token has log P %v", got)
	}
	if got := s.LogP(3); !near(got.Lo, -math.Ln2, 1e-15) || !got.IsExact() {
		t.Errorf("log P %v, want −ln 2", got)
	}
}

func TestWholeRefuses(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		logits []float32
		ps     []float64
		want   string
	}{
		{[]float32{0, nan, 1}, nil, "token 1 has the logit NaN"},
		{[]float32{nan, 0, 1}, nil, "token 0 has the logit NaN"},
		{[]float32{0, 1, inf}, nil, "token 2 has the logit +Inf"},
		{[]float32{-inf, -inf}, nil, "all −Inf"},
		{nil, nil, "empty"},
		{[]float32{0}, []float64{0}, "outside (0, 1]"},
		{[]float32{0}, []float64{0.9, 1.01}, "p = 1.01 is outside"},
		{[]float32{0}, []float64{math.NaN()}, "NaN"},
	} {
		_, err := Summarize(c.logits, c.ps)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Summarize(%v, %v): %v; want %q", c.logits, c.ps, err, c.want)
		}
	}
	if _, err := Summarize(nil, nil); !errors.Is(err, ErrNoToken) {
		t.Errorf("%v is not ErrNoToken", err)
	}
}

func TestExpTable(t *testing.T) {
	var table expTable
	table.init()
	if e, steps := table.exp(0); e != 1 || steps != 0 {
		t.Errorf("exp(0) = %v in %d steps", e, steps)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(minLogP, 0).Draw(t, "x")
		got, steps := table.exp(x)
		if again := stepsOf(x); again != steps {
			t.Fatalf("%v is %d steps, or %d", x, steps, again)
		}
		if d := -x*expN/math.Ln2 - float64(steps); math.Abs(d) > 0.5+1e-9 {
			t.Fatalf("%v is %d steps, off by %g", x, steps, d)
		}
		if want := math.Exp(x); math.Abs(got/want-1) > 5e-16 {
			t.Fatalf("exp(%v) = %v, want %v (off by %g)", x, got, want, got/want-1)
		}
	})
}

// What vector instructions sum up and find is what one token after the other gives.
func TestWide(t *testing.T) {
	if !wide {
		t.Skip("this processor has no AVX2, or is another than amd64")
	}
	var s Summarizer
	s.exp.init()
	rapid.Check(t, func(t *rapid.T) {
		logits := drawLogits(t)
		logits = logits[:len(logits)&^3]
		logits = logits[:min(len(logits), blockSize)]
		max := math.Inf(-1)
		for _, v := range logits {
			max = math.Max(max, float64(v))
		}
		if math.IsInf(max, -1) {
			t.Skip("all are masked")
		}
		depth := rapid.SampledFrom([]float64{0, 0.5, 3, 16, 700, 1e300}).Draw(t, "depth")
		var one, four bin
		var want, got [blockSize]float32
		wantNear := one.addEach(&s.exp, logits, max, depth, want[:])
		gotNear := four.addWide(logits, max, depth, &got)
		if wantNear != gotNear {
			t.Fatalf("%d are near, want %d", gotNear, wantNear)
		}
		if got != want || one.n != four.n || !near(one.e, four.e, 1e-13) || !near(one.xe, four.xe, 1e-13) {
			t.Fatalf("%+v, want %+v", four, one)
		}
	})
	// exp alone, at its ends and between.
	rapid.Check(t, func(t *rapid.T) {
		v := float32(rapid.Float64Range(minLogP, 0).Draw(t, "x"))
		if v <= minLogP {
			return
		}
		var b bin
		var head [blockSize]float32
		inf := float32(math.Inf(-1))
		b.addWide([]float32{inf, v, inf, inf}, 0, 0, &head)
		if want := math.Exp(float64(v)); math.Abs(b.e/want-1) > 1e-15 || b.n != 1 {
			t.Fatalf("exp(%v) = %v, want %v (off by %g)", v, b.e, want, b.e/want-1)
		}
	})
}

// take finds what sorting finds, also far beyond the size where it sorts itself.
func TestTakeFlat(t *testing.T) {
	var s Summarizer
	logits := bell(100000, 1e-4, 9) // everything in one or two bins
	checkWhole(t, &s, logits, []float64{0.1, 0.5, 0.95})
	for i := range logits {
		logits[i] = float32(i%7) / 1000
	}
	checkWhole(t, &s, logits, []float64{0.1, 0.5, 0.95})
}

func BenchmarkSummarize(b *testing.B) {
	ps := []float64{0.8, 0.85, 0.9, 0.95}
	for _, c := range []struct {
		name string
		sd   float64
	}{{"flat", 0}, {"untrained", 0.02}, {"sd=1", 1}, {"sd=2.5", 2.5}, {"sd=4", 4}, {"sd=5", 5}} {
		logits := bell(262144, c.sd, 5)
		b.Run(c.name, func(b *testing.B) {
			var s Summarizer
			b.ReportAllocs()
			var entropy float64
			for b.Loop() {
				r, err := s.Summarize(logits, ps)
				if err != nil {
					b.Fatal(err)
				}
				entropy = r.Entropy.Lo
			}
			b.ReportMetric(entropy, "nats")
		})
	}
}
