package lang

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modellog/modellog/calibrate"
)

// figures shows a number with n significant figures. A number that is a whole one exactly
// (a probability of 0 or 1, a count) is shown without decimals, so that "1" is
// certainty and "1.00" is not.
func figures(x float64, n int) string {
	switch {
	case math.IsNaN(x):
		return "undefined"
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "-∞"
	case x == math.Trunc(x) && math.Abs(x) < 1e15:
		return strconv.FormatFloat(x+0, 'f', 0, 64) // +0 turns -0 into 0
	}
	a := math.Abs(x)
	if a < 1e-4 || a >= 1e6 {
		return strconv.FormatFloat(x, 'e', n-1, 64)
	}
	// Rounding may carry into another digit (0.9996 → 1.00), so look at
	// the exponent after it.
	exp := strconv.FormatFloat(a, 'e', n-1, 64)
	e, _ := strconv.Atoi(exp[strings.IndexByte(exp, 'e')+1:])
	return strconv.FormatFloat(x, 'f', max(0, n-1-e), 64)
}

// figuresOfLog shows the number whose natural logarithm is l as figures does, also where it is
// too small for a float64: "1.23e-4000".
func figuresOfLog(l float64, n int) string {
	if !underflows(l) {
		return figures(math.Exp(l), n)
	}
	log10 := l / math.Ln10
	e := math.Floor(log10)
	mantissa := strconv.FormatFloat(math.Pow(10, log10-e), 'f', n-1, 64)
	if strings.HasPrefix(mantissa, "10") { // by rounding
		mantissa = strconv.FormatFloat(1, 'f', n-1, 64)
		e++
	}
	return mantissa + "e" + strconv.FormatFloat(e, 'f', 0, 64)
}

// underflows reports whether exp(l) is above 0 and not a normal float64.
func underflows(l float64) bool {
	return l < -708 && !math.IsInf(l, -1) // exp(-708.4) is the least normal one
}

// numberOfLog is the JSON of the number whose natural logarithm is l, null where an end of it is too
// small for a float64 and yet not 0.
func numberOfLog(l calibrate.Interval) number {
	if underflows(l.Lo) || underflows(l.Hi) {
		return number(calibrate.Exact(math.NaN()))
	}
	return number{Lo: math.Exp(l.Lo), Hi: math.Exp(l.Hi)}
}

// sig is the precision of reports in significant figures.
const sig = 3

// plain shows a single value with up to six significant figures. A number that these
// would round to a whole one gets as many as it needs.
func plain(x float64) string {
	if math.IsNaN(x) || math.IsInf(x, 0) || x == math.Trunc(x) {
		return figures(x, 6)
	}
	s := strconv.FormatFloat(x, 'g', 6, 64)
	if y, err := strconv.ParseFloat(s, 64); err == nil && y == math.Trunc(y) {
		s = strconv.FormatFloat(x, 'g', -1, 64)
	}
	return s
}

// show shows a number or the interval that it lies in.
func show(i calibrate.Interval, n int) string {
	return span(figures(i.Lo, n), figures(i.Hi, n))
}

// span shows an interval's ends, or one of them where they look the same.
func span(lo, hi string) string {
	if lo == hi {
		return lo
	}
	return lo + " … " + hi
}

// signed is show with a plus sign before what is not negative.
func signed(i calibrate.Interval, n int) string {
	plus := func(x float64) string {
		s := figures(x, n)
		if x > 0 {
			s = "+" + s
		}
		return s
	}
	return span(plus(i.Lo), plus(i.Hi))
}

// count shows a whole number with commas between the thousands.
func count(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// number is an interval that marshals as the JSON: a number, [lo, hi],
// or null where it is undefined or infinite.
type number calibrate.Interval

func (n number) MarshalJSON() ([]byte, error) {
	if n.Lo == n.Hi || math.IsNaN(n.Lo) || math.IsNaN(n.Hi) {
		return appendNumber(nil, n.Lo+0*n.Hi), nil
	}
	b := appendNumber([]byte{'['}, n.Lo)
	b = appendNumber(append(b, ','), n.Hi)
	return append(b, ']'), nil
}

func appendNumber(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if a := math.Abs(x); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(b, x+0, format, -1, 64)
}

// percent shows a share of one with one decimal.
func percent(x float64) string { return fmt.Sprintf("%.1f", 100*x) }
