// Package bootstrap gives confidence intervals for means over the examples of a data
// set, and for the difference of two such means over the same examples.
//
// It is the percentile bootstrap (Efron, 1979): examples are drawn with replacement, as
// many as there are, the mean is taken, and this is done B times. The interval's ends
// are quantiles of those means. The draws come from a generator with a seed, so that the
// same data give the same interval on every machine.
package bootstrap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// MaxResamples is how many draws a command takes at most: a few numbers of each are held, and intervals are hardly
// better beyond a tenth of it.
const MaxResamples = 1_000_000

// Options say how intervals are made.
type Options struct {
	Resamples int     // B; 1,000 if 0
	Level     float64 // of confidence, in (0, 1); 0.95 if 0
	Seed      uint64
}

// Interval has the ends of a confidence interval, and the figure itself.
type Interval struct{ Value, Lo, Hi float64 }

// Mean returns the mean of x with its interval.
func Mean(x []float64, o Options) (Interval, error) {
	return Statistic(len(x), o, func(draw []int) float64 {
		sum := 0.0
		for _, i := range draw {
			sum += x[i]
		}
		return sum / float64(len(draw))
	})
}

// Difference returns the mean of b − a with its interval, where a[i] and b[i] belong
// to the same example: examples are drawn in pairs.
func Difference(a, b []float64, o Options) (Interval, error) {
	if len(a) != len(b) {
		return Interval{}, fmt.Errorf("a paired bootstrap of %d and %d values: there must be as many of one as of the other", len(a), len(b))
	}
	d := make([]float64, len(a))
	for i := range a {
		d[i] = b[i] - a[i]
	}
	return Mean(d, o)
}

// Statistic returns any statistic of n examples with its interval. It is called with the
// indices that were drawn, 0 … n−1 each once for the figure itself, and must not keep them.
// Draws for which it is NaN (a share of none) are left out.
func Statistic(n int, o Options, statistic func(draw []int) float64) (Interval, error) {
	if n == 0 {
		return Interval{}, errors.New("a bootstrap of no examples")
	}
	if o.Resamples == 0 {
		o.Resamples = 1000
	}
	if o.Level == 0 {
		o.Level = 0.95
	}
	if o.Resamples < 1 || o.Resamples > MaxResamples || !(o.Level > 0 && o.Level < 1) {
		return Interval{}, fmt.Errorf("a bootstrap of %d draws at level %g: there are 1 to %d draws, and a level between 0 and 1", o.Resamples, o.Level, MaxResamples)
	}
	draw := make([]int, n)
	for i := range draw {
		draw[i] = i
	}
	out := Interval{Value: statistic(draw)}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	values := make([]float64, 0, o.Resamples)
	for range o.Resamples {
		for i := range draw {
			draw[i] = random.IntN(n)
		}
		if v := statistic(draw); v == v {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		out.Lo, out.Hi = out.Value, out.Value
		return out, nil
	}
	slices.Sort(values)
	tail := (1 - o.Level) / 2
	out.Lo, out.Hi = quantile(values, tail), quantile(values, 1-tail)
	return out, nil
}

// quantile interpolates linearly between the order statistics (definition 7 of Hyndman
// and Fan, 1996, which NumPy and R take too).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
