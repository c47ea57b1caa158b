package calibrate

import (
	"fmt"
	"math"
)

// An Interval holds a number known to lie between Lo and Hi, both included. Where
// Lo == Hi the number is known exactly. The ends may be infinite (the logarithm of
// a probability that may be zero), never NaN.
type Interval struct{ Lo, Hi float64 }

// Exact returns the interval that holds x alone.
func Exact(x float64) Interval { return Interval{x, x} }

// IsExact reports whether the interval holds a single number.
func (i Interval) IsExact() bool { return i.Lo == i.Hi }

// Contains reports whether Lo ≤ x ≤ Hi.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Width returns Hi − Lo, zero for an exact number, infinite ones included.
func (i Interval) Width() float64 {
	if i.IsExact() {
		return 0
	}
	return i.Hi - i.Lo
}

// String formats the interval as "lo … hi", or as the number alone when exact,
// with six significant digits.
func (i Interval) String() string {
	if i.IsExact() {
		return fmt.Sprintf("%.6g", i.Lo)
	}
	return fmt.Sprintf("%.6g … %.6g", i.Lo, i.Hi)
}

// hull returns the smallest interval that contains both.
func (i Interval) hull(j Interval) Interval {
	return Interval{math.Min(i.Lo, j.Lo), math.Max(i.Hi, j.Hi)}
}
