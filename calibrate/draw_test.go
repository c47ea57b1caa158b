package calibrate

import (
	"math"
	"math/rand/v2"
	"sort"

	"pgregory.net/rapid"
)

// drawLogits draws distributions of the kinds that models, masks and adversaries
// produce: bell-shaped, heavily tied, flat, nearly one-hot, masked, of huge range,
// and with the tails at which the bounds for truncated lists are tight.
func drawLogits(t *rapid.T) []float32 {
	n := rapid.OneOf(rapid.IntRange(1, 8), rapid.IntRange(1, 300), rapid.IntRange(1, 5000)).Draw(t, "vocabulary")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	logits := make([]float32, n)
	spread := rapid.SampledFrom([]float64{0, 1e-6, 0.02, 0.5, 2, 5, 20, 300}).Draw(t, "spread")
	kind := rapid.SampledFrom([]string{"normal", "ties", "geometric", "steps", "packed", "even", "zipf"}).Draw(t, "kind")
	cut := rng.IntN(n) + 1
	for i := range logits {
		switch kind {
		case "normal":
			logits[i] = float32(spread * rng.NormFloat64())
		case "ties":
			logits[i] = float32(math.Round(spread*rng.NormFloat64()*2) / 2)
		case "geometric":
			logits[i] = float32(-spread * float64(i))
		case "steps":
			logits[i] = float32(-spread * float64(rng.IntN(3)))
		case "packed": // as many as fit at one probability, the rest nothing
			if i > cut {
				logits[i] = float32(math.Inf(-1))
			} else if i == cut {
				logits[i] = float32(-3 * rng.Float64())
			}
		case "even": // a head and a flat tail
			if i >= cut {
				logits[i] = float32(-spread)
			} else {
				logits[i] = float32(rng.Float64())
			}
		case "zipf":
			logits[i] = float32(-(0.5 + spread/4) * math.Log(float64(i+1)))
		}
	}
	if rapid.Bool().Draw(t, "peak") {
		logits[rng.IntN(n)] += float32(spread * rng.ExpFloat64() * 3)
	}
	if rapid.Bool().Draw(t, "masks") {
		mask := rapid.SampledFrom([]float64{math.Inf(-1), -math.MaxFloat32, -9999}).Draw(t, "mask")
		for i := range logits {
			if i != cut-1 && rng.IntN(3) == 0 {
				logits[i] = float32(mask)
			}
		}
	}
	if math.IsInf(float64(logits[cut-1]), -1) {
		logits[cut-1] = 0
	}
	rng.Shuffle(n, func(i, j int) { logits[i], logits[j] = logits[j], logits[i] })
	return logits
}

func drawThresholds(t *rapid.T) []float64 {
	return rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]float64{0.8, 0.85, 0.9, 0.95, 1, 0.5, 1e-9, 1 - 1e-9, math.Nextafter(1, 0)}),
		rapid.Float64Range(1e-6, 1),
	), 1, 6).Draw(t, "ps")
}

// truncate lists the k most probable tokens as a server would.
func truncate(logits []float32, logZ float64, k int, print func(float64) float64) []float64 {
	all := make([]float64, len(logits))
	for i, v := range logits {
		all[i] = float64(v) - logZ
	}
	sort.Sort(sort.Reverse(sort.Float64Slice(all)))
	top := all[:k]
	for i := range top {
		top[i] = print(top[i])
	}
	return top
}
