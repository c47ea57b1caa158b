package calibrate

import (
	"math"
	"slices"
)

// depth returns the distance from the largest of n logits within which the nucleus of each threshold below 1 ends: the
// tokens further away have together Σ eˣ ≤ n·e^−depth, which is half of the mass 1 − p that a nucleus may lack, the most
// probable token alone having 1. Without such a threshold it is 0.
func depth(ps []float64, n int) float64 {
	d := 0.0
	for _, p := range ps {
		if p < 1 {
			d = math.Max(d, math.Log(2*float64(n)/(1-p)))
		}
	}
	return d
}

// blockSize is how many terms are summed up before the sum joins that of other blocks, so that rounding does not grow
// with a vocabulary.
const blockSize = 1024

// sum returns the sums over all these tokens, and appends the logits of those that are nearer to the largest than depth
// to the head.
func (s *Summarizer) sum(logits []float32, max, depth float64) bin {
	var all bin
	for block := range slices.Chunk(logits, blockSize) {
		s.head = slices.Grow(s.head, blockSize)
		head := (*[blockSize]float32)(s.head[len(s.head) : len(s.head)+blockSize])
		var sum bin
		near, done := 0, 0
		if wide {
			done = len(block) &^ 3
			near = sum.addWide(block[:done], max, depth, head)
		}
		near += sum.addEach(&s.exp, block[done:], max, depth, head[near:])
		s.head = s.head[:len(s.head)+near]
		all.add(&sum)
	}
	return all
}

// addEach adds tokens, writes the logits nearer to max than depth to head, and returns how many.
func (b *bin) addEach(exp *expTable, logits []float32, max, depth float64, head []float32) int {
	near := 0
	for _, v := range logits {
		x := float64(v) - max
		if x <= minLogP {
			continue
		}
		e, _ := exp.exp(x)
		b.count(x, e)
		if x > -depth {
			head[near] = v
			near++
		}
	}
	return near
}

// addWide is addEach for a multiple of 4 tokens.
func (b *bin) addWide(logits []float32, max, depth float64, head *[blockSize]float32) int {
	if len(logits) == 0 {
		return 0
	}
	var e, xe [4]float64
	var n [4]int64
	near := sums4(&logits[0], len(logits), max, minLogP, -depth, &head[0], &e, &xe, &n)
	for i := range e {
		b.add(&bin{e[i], xe[i], int(n[i])})
	}
	return near
}
