package plots

import (
	"fmt"
	"math"
)

// A Range is a number known to lie between Lo and Hi; the two are equal where it is
// known exactly.
type Range struct{ Lo, Hi float64 }

// Exactly returns the range of one number.
func Exactly(x float64) Range { return Range{x, x} }

func (r Range) exact() bool { return r.Lo == r.Hi }

// String formats the range as labels show it: two decimals are enough for the ends
// of a wide one.
func (r Range) String() string {
	lo, hi := number(r.Lo), number(r.Hi)
	if r.Hi-r.Lo > 0.05 {
		lo, hi = twoDecimals(r.Lo), twoDecimals(r.Hi)
	}
	if lo == hi {
		return lo
	}
	return lo + "…" + hi
}

func twoDecimals(x float64) string {
	if x == math.Trunc(x) {
		return number(x)
	}
	return minus(fmt.Sprintf("%.2f", x))
}

// probability checks that x is a probability, and takes off what rounding added.
func probability(x float64, what string) (float64, error) {
	const rounding = 1e-9
	if !(x >= -rounding && x <= 1+rounding) {
		return 0, fmt.Errorf("%s is %g; a probability lies between 0 and 1", what, x)
	}
	return math.Min(1, math.Max(0, x)), nil
}

func (r Range) probability(what string) (Range, error) {
	lo, err := probability(r.Lo, what)
	if err != nil {
		return r, err
	}
	hi, err := probability(r.Hi, what)
	if err != nil {
		return r, err
	}
	if lo > hi {
		return r, fmt.Errorf("%s is the empty range %g … %g", what, r.Lo, r.Hi)
	}
	return Range{lo, hi}, nil
}

// slope checks a derivative of WMC by an event's probability: the difference of two
// probabilities, since WMC is linear in each of them.
func (r Range) slope(what string) error {
	for _, x := range []float64{r.Lo, r.Hi} {
		if !(math.Abs(x) <= 1+1e-9) {
			return fmt.Errorf("%s is %g; ∂WMC/∂p lies between −1 and 1", what, x)
		}
	}
	if r.Lo > r.Hi {
		return fmt.Errorf("%s is the empty range %g … %g", what, r.Lo, r.Hi)
	}
	return nil
}

func finite(x float64, what string) error {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%s is %g, which cannot be drawn", what, x)
	}
	return nil
}
