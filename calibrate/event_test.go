package calibrate

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestSigmoid(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{0, 0.5}, {math.Inf(1), 1}, {math.Inf(-1), 0}, {-745, math.Exp(-745)}, {-40, math.Exp(-40) / (1 + math.Exp(-40))}, {800, 1},
	} {
		if got := Sigmoid(c.x); got != c.want {
			t.Errorf("σ(%g) = %g, want %g", c.x, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-700, 700).Draw(t, "x")
		if sum := Sigmoid(x) + Sigmoid(-x); math.Abs(sum-1) > 3e-16 {
			t.Fatalf("σ(%g) + σ(%g) = %v", x, -x, sum)
		}
		if d := Sigmoid(-math.Abs(x)) / (math.Exp(-math.Abs(x)) / (1 + math.Exp(-math.Abs(x)))); math.Abs(d-1) > 1e-15 {
			t.Fatalf("σ(%g) is off by the factor %g", -math.Abs(x), d)
		}
	})
}

// Eq. 4 in odds, P̂/(1−P̂) = eᶜ·P/(1−P), with the complement 1−P taken in 200 bits.
func TestEventLogitNearBothEnds(t *testing.T) {
	for _, c := range []float64{0, 4.6} {
		for _, logP := range []float64{-700, -40, -5, -1, -math.Ln2, -0.5, -1e-3, -1e-12, -1e-300} {
			got := EventLogit(Exact(logP), Exact(c))
			want := math.Log(1/bigExpm1(-logP)) + c // P/(1−P) = 1/(e^−logP − 1)
			if logP < -300 {
				want = logP + c
			}
			if !got.IsExact() || math.Abs(got.Lo-want) > 1e-14*math.Max(1, math.Abs(want)) {
				t.Errorf("logit(e^%g) + %g = %v, want %v", logP, c, got, want)
			}
		}
	}
	if got := EventLogit(Exact(math.Inf(-1)), Exact(3)); got != Exact(math.Inf(-1)) {
		t.Errorf("P = 0: %v", got)
	}
	if got := EventProbability(Exact(math.Inf(-1)), Exact(3)); got != Exact(0) {
		t.Errorf("P = 0: %v", got)
	}
	for _, one := range []float64{0, 1e-16} {
		if got := EventProbability(Exact(one), Exact(3)); got != Exact(1) {
			t.Errorf("log P = %g: %v", one, got)
		}
	}
}

// bigExpm1 sums the series of eˣ − 1 in 200 bits.
func bigExpm1(x float64) float64 {
	sum, term := new(big.Float).SetPrec(200), new(big.Float).SetPrec(200).SetInt64(1)
	bx := new(big.Float).SetPrec(200).SetFloat64(x)
	for i := int64(1); i < 1500; i++ {
		term.Mul(term, bx)
		term.Quo(term, new(big.Float).SetInt64(i))
		sum.Add(sum, term)
	}
	f, _ := sum.Float64()
	return f
}

// With C = 0 an event's probability is the token's, and it grows with P and with C.
func TestEventProbability(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logP := rapid.Float64Range(-60, 0).Draw(t, "log P")
		c := rapid.Float64Range(0, 12).Draw(t, "C")
		raw := EventProbability(Exact(logP), Exact(0)).Lo
		if math.Abs(raw/math.Exp(logP)-1) > 1e-13 {
			t.Fatalf("with C = 0: %v, want %v", raw, math.Exp(logP))
		}
		if with := EventProbability(Exact(logP), Exact(c)).Lo; with < raw*(1-1e-15) {
			t.Fatalf("with C = %v: %v, less than %v", c, with, raw)
		}
		i := EventProbability(Interval{logP - 1, logP}, Interval{c, c + 1})
		if !(i.Lo <= i.Hi) || !i.Contains(EventProbability(Exact(logP-0.5), Exact(c+0.5)).Lo) {
			t.Fatalf("%v", i)
		}
	})
}
