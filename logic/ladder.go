package logic

import (
	"context"
	"fmt"
	"math"
)

// Rung is the formula F≥k of a ladder under some weights: the probability that at least k events occur,
// and that fewer do. Neither underflows.
type Rung struct{ p, q scaled }

// LogWMC returns the natural logarithm of P(F≥k), -Inf for 0; it is accurate next to 0.
func (r Rung) LogWMC() float64 { return logOf(r.p, r.q) }

// LogFail returns the natural logarithm of 1 − P(F≥k), the probability of fewer than k; it is accurate
// next to 0.
func (r Rung) LogFail() float64 { return logOf(r.q, r.p) }

// Rho returns Eq. 5, given the same rung under the weights of chance; false where F≥k is certain by
// chance. It is at most 1, and -Inf below the range of float64.
func (r Rung) Rho(chance Rung) (float64, bool) { return rho(r.p, r.q, chance.p, chance.q) }

// logOf returns log p of p and its complement.
func logOf(p, q scaled) float64 {
	switch f := q.float(); {
	case p.m == 0:
		return math.Inf(-1)
	case f < 0.5:
		return math.Log1p(-f)
	}
	return min(0, p.log())
}

// Ladder returns F≥k for k = 1 … n, at least k of n independent events: the whole hierarchy of Example 4
// (Formula 2) in one pass of O(n²). Element k-1 belongs to k; the sequence descends from ordinary
// disjunction to the likelihood formula. It returns ctx's error soon after ctx ends.
func Ladder(ctx context.Context, w []Weight) ([]Rung, error) {
	n := len(w)
	exactly := make([]scaled, n+1) // P(exactly j so far); sums of products only, nothing is subtracted
	exactly[0] = scaled{1, 0}
	for i, x := range w {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("a ladder of %d events: %w", n, err)
		}
		p, q := scale(x.P, 0), scale(x.Q, 0)
		for j := i + 1; j > 0; j-- {
			exactly[j] = exactly[j].mul(q).add(exactly[j-1].mul(p))
		}
		exactly[0] = exactly[0].mul(q)
	}
	rungs := make([]Rung, n)
	var below, atLeast scaled
	for k := 1; k <= n; k++ {
		below = below.add(exactly[k-1])
		rungs[k-1].q = below
	}
	for k := n; k > 0; k-- {
		atLeast = atLeast.add(exactly[k])
		rungs[k-1].p = atLeast
	}
	return rungs, nil
}
