package calibrate

import "github.com/klauspost/cpuid/v2"

// wide reports whether the processor has AVX2, for sums4 and extremes8.
var wide = cpuid.CPU.Supports(cpuid.AVX2, cpuid.FMA3)

// sums4 is sum over n logits, a multiple of 4, with four sums of each kind side by side: of those whose x exceeds
// lowest. It writes those whose x exceeds near, too, to head, which has room for n, and returns how many. exp(x) is
// 2^k·exp(r) with x = k·ln 2 + r, |r| ≤ ln 2/2, and exp(r) its series up to r¹³/13!, whose rest is below 4e−18.
//
//go:noescape
func sums4(logits *float32, n int, max, lowest, near float64, head *float32, e, xe *[4]float64, count *[4]int64) int

// extremes8 finds the largest and the least of each eighth of n logits, a multiple of 8 and not 0. It is false where
// one is NaN.
//
//go:noescape
func extremes8(logits *float32, n int, most, least *[8]float32) bool
