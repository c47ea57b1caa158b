package calibrate

import "math"

// binCount is the number of bins of a distribution's histogram, such that it stays
// in the processor's first cache together with the table of exponentials.
const binCount = 1024

// A binning divides the distances x ≤ 0 from the largest logit into bins of equal
// width, the first at 0 and the last without end. A bin is 2^shift steps of the table
// of exponentials wide, so that its number is a by-product of exp(x).
type binning struct{ shift uint }

// newBinning spreads the bins over the distances down to least, but no further than
// e⁻⁶⁴, below which there is nothing to tell apart.
func newBinning(least float64) binning {
	steps := math.Min(64, -least) * expScale
	b := binning{}
	for steps >= float64(uint(binCount)<<b.shift) {
		b.shift++
	}
	return b
}

// of returns the bin of a token at that many steps. It is monotone.
func (b binning) of(steps uint32) int { return int(min(steps>>b.shift, binCount-1)) }

// A bin holds sums over tokens. Bins are also the blocks of a blocked sum: within
// one, all terms are of like size.
type bin struct {
	e  float64 // Σ exp(x)
	xe float64 // Σ −x·exp(x)
	n  int     // number of tokens
}

// count adds a token.
func (b *bin) count(x, e float64) { b.e, b.xe, b.n = b.e+e, b.xe-x*e, b.n+1 }

func (b *bin) add(c *bin) { b.e, b.xe, b.n = b.e+c.e, b.xe+c.xe, b.n+c.n }

// entropy of the tokens of b and the most probable one, which has x = 0.
func (b *bin) entropy() float64 { return math.Log1p(b.e) + b.xe/(1+b.e) }

// fill adds the tokens of the head to the histogram.
func (s *Summarizer) fill(max float64, b binning) {
	for _, v := range s.head {
		x := float64(v) - max
		e, steps := s.exp.exp(x)
		s.bins[b.of(steps)].count(x, e)
	}
}
