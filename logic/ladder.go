package logic

import "math"

// Ladder returns the natural logarithm of P(F≥k) for k = 1 … n, the probability that at least k of n
// independent events occur: the whole hierarchy of Example 4 (Formula 2) in one pass of O(n²). Element
// k-1 belongs to k; the sequence descends from ordinary disjunction to the likelihood formula.
func Ladder(w []Weight) []float64 {
	n := len(w)
	exactly := make([]scaled, n+1) // P(exactly j so far); sums of products only, nothing is subtracted
	exactly[0] = scaled{1, 0}
	for i, x := range w {
		p, q := scale(x.P, 0), scale(x.Q, 0)
		for j := i + 1; j > 0; j-- {
			exactly[j] = exactly[j].mul(q).add(exactly[j-1].mul(p))
		}
		exactly[0] = exactly[0].mul(q)
	}
	below := make([]scaled, n+1) // P(fewer than k)
	for k := 1; k <= n; k++ {
		below[k] = below[k-1].add(exactly[k-1])
	}
	out := make([]float64, n)
	var atLeast scaled
	for k := n; k > 0; k-- {
		atLeast = atLeast.add(exactly[k])
		switch b := below[k].over(scaled{1, 0}); {
		case atLeast.m == 0:
			out[k-1] = math.Inf(-1)
		case b < 0.5:
			out[k-1] = math.Log1p(-b)
		default:
			out[k-1] = min(0, atLeast.log())
		}
	}
	return out
}
