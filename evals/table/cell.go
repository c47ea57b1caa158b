package table

import (
	"math"
	"strconv"
	"strings"

	"github.com/modellog/modellog/notebooks/published"
)

// Cell is what stands in a row under a column. The zero Cell is Missing.
type Cell struct {
	kind        kind
	words       string
	lo, hi, std float64 // std is -1 for none
	value       float64 // what stands for the number where one is asked for
	decimals    int
	stdDecimals int
}

type kind uint8

const (
	missing kind = iota
	words
	number
	undefined
)

// maxDecimals is more than a float64 can tell of any number that a table shows.
const maxDecimals = 17

// Text is a cell of words.
func Text(s string) Cell { return Cell{kind: words, words: clean(s)} }

// Missing is a cell for which there is nothing: "–".
func Missing() Cell { return Cell{} }

// Undefined is a cell whose number does not exist, such as a mean of nothing.
func Undefined() Cell { return Cell{kind: undefined} }

// Number is a cell of a number that is shown with some decimals. NaN is Undefined.
func Number(x float64, decimals int) Cell { return Interval(x, x, decimals) }

// Interval is a cell of a number that is known to lie between lo and hi, both
// included. It is shown as a single number where both look the same. An end that is NaN makes
// it Undefined. Ends in the wrong order are put right.
func Interval(lo, hi float64, decimals int) Cell {
	if math.IsNaN(lo) || math.IsNaN(hi) {
		return Undefined()
	}
	// +0 turns -0 into 0
	c := Cell{kind: number, lo: min(lo, hi) + 0, hi: max(lo, hi) + 0, std: -1, decimals: min(max(decimals, 0), maxDecimals)}
	c.value = middle(c.lo, c.hi)
	return c
}

// WithEstimate returns the interval as one around an estimate, such as that of a bootstrap: it is shown as it
// is, and in CSV the estimate is its value, which otherwise is the middle. A bootstrap's interval need not
// contain its estimate. An estimate that is NaN is none, as is one of a cell that is no number.
func (c Cell) WithEstimate(x float64) Cell {
	if c.kind == number && !math.IsNaN(x) {
		c.value = x + 0
	}
	return c
}

// middle is the middle of an interval, within it whatever the rounding.
func middle(lo, hi float64) float64 { return min(max(lo/2+hi/2, lo), hi) }

// WithStd returns the number with its standard deviation, which is shown with as many
// decimals as the number: "81.0 ± 2.3". A std that is NaN is none, as is one of
// a cell that is no number.
func (c Cell) WithStd(std float64) Cell {
	if c.kind == number && !math.IsNaN(std) {
		c.std, c.stdDecimals = math.Abs(std), c.decimals
	}
	return c
}

// Printed is the cell of a figure, with the digits that it is printed with.
func Printed(f published.Figure) Cell {
	c := Interval(f.Lo, f.Hi, decimalsOf(f.Printed)).WithEstimate(f.Value)
	if f.PrintedStd != "" {
		c = c.WithStd(f.Std)
		c.stdDecimals = decimalsOf(f.PrintedStd)
	}
	return c
}

func decimalsOf(printed string) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(printed), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	return min(max(0, len(fraction)-e), maxDecimals)
}

func (c Cell) isNumber() bool { return c.kind == number }

// finite reports whether the cell is a number that can stand in a file of figures.
func (c Cell) finite() bool {
	return c.kind == number && isFinite(c.lo) && isFinite(c.hi) && isFinite(c.value)
}

// between reports whether a number's ends say more than its value.
func (c Cell) between() bool { return c.lo != c.hi || c.value != c.lo }

// text shows a cell without its deviation.
func (c Cell) text() string {
	switch c.kind {
	case words:
		return c.words
	case undefined:
		return "undefined"
	case number:
		lo, hi := fixed(c.lo, c.decimals), fixed(c.hi, c.decimals)
		if lo == hi {
			return lo
		}
		return lo + " … " + hi
	}
	return "–"
}

// stdText shows the deviation, "" for none.
func (c Cell) stdText() string {
	if c.kind != number || c.std < 0 {
		return ""
	}
	return fixed(c.std, c.stdDecimals)
}

// fixed shows a number with some decimals. What is rounded to 0 has no sign.
func fixed(x float64, decimals int) string {
	switch {
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "-∞"
	case math.Abs(x) >= 1e15:
		return strconv.FormatFloat(x, 'e', 3, 64)
	}
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}
