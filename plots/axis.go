package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
)

// logAxis makes an axis of logarithms to base 10, from a least value ≤ 0 up to 0,
// with whole powers at its ends and as ticks. The plots draw logarithms on linear axes:
// a value of zero then is a place below the axis, not an error inside of it. With
// zero set there is room for one at the lower edge.
func logAxis(a *plot.Axis, least float64, zero bool) {
	low := math.Min(-1, math.Floor(least-1e-9))
	step := roundStep(-low / 8)
	low = -step * math.Ceil(-low/step)
	var ticks plot.ConstantTicks
	for v := 0.0; v >= low-step/2; v -= step {
		label := power(int(v))
		if v == 0 {
			label = "1"
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: label})
	}
	a.Min, a.Max = low, 0
	if zero {
		a.Min -= step / 2
		ticks = append(ticks, plot.Tick{Value: a.Min, Label: "0"})
	}
	a.Tick.Marker = ticks
}

// integers is a plot.Ticker for counts: at most some eight whole numbers.
type integers struct{}

func (integers) Ticks(lo, hi float64) []plot.Tick {
	step := roundStep((hi - lo) / 8)
	var ticks []plot.Tick
	for v := math.Ceil(lo/step) * step; v <= hi; v += step {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%.0f", v)})
	}
	return ticks
}

// roundStep returns the least of 1, 2, 5, 10, 20, 50, … that is not below x.
func roundStep(x float64) float64 {
	for f := 1.0; ; f *= 10 {
		for _, s := range []float64{1, 2, 5} {
			if s*f >= x {
				return s * f
			}
		}
	}
}
