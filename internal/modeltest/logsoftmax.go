package modeltest

import (
	"math"
	"slices"
)

// LogSoftmax returns the natural logarithms of the probabilities that logits stand for, in the plainest way.
func LogSoftmax(logits []float32) []float64 {
	most := float64(slices.Max(logits))
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l) - most)
	}
	out := make([]float64, len(logits))
	for i, l := range logits {
		out[i] = float64(l) - most - math.Log(sum)
	}
	return out
}
