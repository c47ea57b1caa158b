package cuc

import (
	"cmp"
	"math"
	"slices"
)

// Spearman is the rank correlation of two lists of the same length, with equal values at the mean of their
// ranks; NaN for fewer than two, and where all values of a list are the same or one is NaN.
func Spearman(x, y []float64) float64 {
	n := len(x)
	if n < 2 || len(y) != n || slices.ContainsFunc(slices.Concat(x, y), math.IsNaN) {
		return math.NaN()
	}
	a, b := ranks(x), ranks(y)
	mean := float64(n+1) / 2
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - mean) * (b[i] - mean)
		aa += (a[i] - mean) * (a[i] - mean)
		bb += (b[i] - mean) * (b[i] - mean)
	}
	if aa == 0 || bb == 0 {
		return math.NaN()
	}
	return ab / math.Sqrt(aa*bb)
}

// ranks are the values' places in ascending order, from 1, equal ones at their mean.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
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

// Settings are the eight thresholds of the paper's ablation, from the first to the last that it names; it
// does not name those between. The default is the fourth.
func Settings() []Thresholds {
	return []Thresholds{{0.50, 0.05}, {0.50, 0.10}, {0.60, 0.05}, {0.60, 0.10}, {0.70, 0.10}, {0.70, 0.15}, {0.80, 0.15}, {0.80, 0.20}}
}

// Joint is a ranking's score of coherence and commitment together: the share of examples that are answered
// and right, less the contradiction, Coverage · Acc_cov · (1 − E[v_neg]). It is 0 for a model that answers
// nothing and for one that affirms everything. The paper ranks jointly without a formula; this one is our own.
func Joint(coverage, accCov, violation float64) float64 {
	if coverage == 0 {
		return 0
	}
	return coverage * accCov * (1 - violation)
}
