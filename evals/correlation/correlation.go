// Package correlation measures how two lists of numbers go together, as evaluations ask of the scores of
// models, of instances, or of rankings.
//
// Both coefficients lie in [−1, 1], and are NaN where they are not defined: for fewer than two pairs, for
// lists of different lengths, where all values of a list are the same, and where one is not finite.
package correlation

import (
	"cmp"
	"math"
	"slices"
)

// Pearson is the product-moment correlation of two lists.
func Pearson(x, y []float64) float64 {
	n := len(x)
	if n < 2 || len(y) != n || slices.ContainsFunc(slices.Concat(x, y), notFinite) || constant(x) || constant(y) {
		return math.NaN()
	}
	a, b := centred(x), centred(y)
	var ab, aa, bb float64
	for i := range a {
		ab += a[i] * b[i]
		aa += a[i] * a[i]
		bb += b[i] * b[i]
	}
	return min(1, max(-1, ab/(math.Sqrt(aa)*math.Sqrt(bb))))
}

// Spearman is the rank correlation of two lists: Pearson's of the ranks, equal values at the mean of theirs.
func Spearman(x, y []float64) float64 {
	if len(x) != len(y) || slices.ContainsFunc(slices.Concat(x, y), notFinite) {
		return math.NaN()
	}
	return Pearson(Ranks(x), Ranks(y))
}

// Ranks are the values' places in ascending order, from 1, equal ones at their mean. Only their order
// matters; NaN comes before all others.
func Ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			out[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

func notFinite(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

func constant(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != x[0] })
}

// centred are the values less their mean, scaled to at most 1 in size so that squares neither overflow nor
// vanish; the coefficients do not depend on the scale.
func centred(x []float64) []float64 {
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(v))
	}
	out := make([]float64, len(x))
	mean := 0.0
	for i, v := range x {
		out[i] = v / largest
		mean += out[i] / float64(len(x))
	}
	spread := 0.0
	for i := range out {
		out[i] -= mean
		spread = max(spread, math.Abs(out[i]))
	}
	for i := range out {
		out[i] /= spread
	}
	return out
}
