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

// String formats the range as labels show it.
func (r Range) String() string {
	if lo, hi := number(r.Lo), number(r.Hi); lo != hi {
		return lo + " … " + hi
	}
	return number(r.Lo)
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

func (r Range) finite(what string) error {
	if err := finite(r.Lo, what); err != nil {
		return err
	}
	if err := finite(r.Hi, what); err != nil {
		return err
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
