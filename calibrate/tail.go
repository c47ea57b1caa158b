package calibrate

import "math"

// h is the term −p ln p of an entropy.
func h(p float64) float64 {
	if p <= 0 {
		return 0
	}
	return -p * math.Log(p)
}

// packed returns the least Σ −q ln q over all sequences with Σq = m and 0 ≤ q ≤ c:
// as many q at c as fit and the rest in one more. Every other such sequence is
// majorised by that one, and Σ −q ln q is Schur-concave.
func packed(m, c float64) float64 {
	if m <= 0 {
		return 0
	}
	full := math.Floor(m / c)
	return full*h(c) + h(m-full*c)
}

// leastPacked returns the least packed(m, c) over m in the interval. Between two
// multiples of c it is concave in m, and on the multiples it grows.
func leastPacked(m Interval, c float64) float64 {
	b := math.Min(packed(m.Lo, c), packed(m.Hi, c))
	if first := math.Ceil(m.Lo / c); first*c <= m.Hi {
		b = math.Min(b, first*h(c))
	}
	return b
}

// mostSpread returns the greatest Σ −q ln q of n tokens that share a mass m of the
// interval: each has m/n, which gives m ln(n/m), concave in m with its peak at n/e.
func mostSpread(m Interval, n float64) float64 {
	x := math.Min(math.Max(n/math.E, m.Lo), m.Hi)
	if x <= 0 {
		return 0
	}
	return x * math.Log(n/x)
}

// entropy bounds the entropy of the whole distribution, H = Σh(p) + Σh(q): the
// unseen mass in as few tokens as possible, or spread evenly over all of them.
func (t *top) entropy() Interval {
	var e Interval
	for _, hi := range t.w {
		lo := hi * math.Exp(-2*printSlack)
		hi = math.Min(1, hi)
		e.Lo += math.Min(h(lo), h(hi))
		// h rises up to 1/e and falls after it.
		e.Hi += h(math.Min(math.Max(1/math.E, lo), hi))
	}
	e.Lo += leastPacked(t.m, t.c)
	e.Hi += mostSpread(t.m, t.n)
	e.Hi = math.Min(e.Hi, above(math.Log(float64(len(t.w))+t.n)))
	return e
}

// above returns x ≥ 0 with room for the rounding of a computed entropy that meets
// this bound, as that of a uniform distribution does.
func above(x float64) float64 { return x * (1 + 1e-12) }
