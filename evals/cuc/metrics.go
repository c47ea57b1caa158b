package cuc

import (
	"fmt"
	"math"

	"github.com/modellog/modellog/evals/bootstrap"
)

// Commitment is c(φ) = p(φ) + p(¬φ), in [0, 2].
func Commitment(p, notP float64) float64 { return p + notP }

// Violation is v_neg(φ) = max(0, p(φ) + p(¬φ) − 1), in [0, 1]: by how much the two exceed what
// φ and ¬φ can have together.
func Violation(p, notP float64) float64 { return math.Max(0, Commitment(p, notP)-1) }

// Decision is what a model answers, or what a label says.
type Decision uint8

// The three answers.
const (
	Uncertain Decision = iota
	True
	False
)

func (d Decision) String() string {
	switch d {
	case True:
		return "TRUE"
	case False:
		return "FALSE"
	}
	return "UNCERTAIN"
}

// Thresholds decide between the three answers.
type Thresholds struct {
	Tau   float64 // what the likelier of the two must have at least, in [0, 1]
	Delta float64 // by how much it must exceed the other at least, in [0, 1]
}

// DefaultThresholds are the paper's.
func DefaultThresholds() Thresholds { return Thresholds{Tau: 0.60, Delta: 0.10} }

// Check returns an error where a threshold is out of its range.
func (t Thresholds) Check() error {
	for _, x := range []struct {
		name  string
		value float64
	}{{"τ", t.Tau}, {"δ", t.Delta}} {
		if !(x.value >= 0 && x.value <= 1) {
			return fmt.Errorf("the threshold %s is %g; it lies between 0 and 1", x.name, x.value)
		}
	}
	return nil
}

func (t Thresholds) String() string { return fmt.Sprintf("τ = %.2f, δ = %.2f", t.Tau, t.Delta) }

// Decide is the paper's rule: TRUE if p(φ) ≥ τ and p(φ) ≥ p(¬φ) + δ, FALSE if the same holds the
// other way round, and UNCERTAIN otherwise. With δ = 0 and equal probabilities, of which both hold, it is
// UNCERTAIN as well.
func (t Thresholds) Decide(p, notP float64) Decision {
	yes := p >= t.Tau && p >= notP+t.Delta
	no := notP >= t.Tau && notP >= p+t.Delta
	switch {
	case yes && !no:
		return True
	case no && !yes:
		return False
	}
	return Uncertain
}

// Label is what a data set says of an example.
type Label string

// The labels. FOLIO has the first three, LogiQA 2.0 LabelTrue for "entailed" and LabelNotTrue.
const (
	LabelTrue      Label = "true"
	LabelFalse     Label = "false"
	LabelUncertain Label = "uncertain"
	LabelNotTrue   Label = "not true" // false or uncertain, which the data do not tell apart
)

// Met reports whether an answer is right.
func (l Label) Met(d Decision) bool {
	switch l {
	case LabelTrue:
		return d == True
	case LabelFalse:
		return d == False
	case LabelUncertain:
		return d == Uncertain
	}
	return d != True
}

// Point is what the metrics need of an example.
type Point struct {
	P, NotP float64 // p(φ) and p(¬φ), each in [0, 1]
	Label   Label
}

// confidence is the probability of the answer.
func (pt Point) confidence(d Decision) float64 {
	if d == False {
		return pt.NotP
	}
	return pt.P
}

// Metrics are the figures of a data set, each with the ends of a 95 % bootstrap interval over its
// examples. What is a mean of nothing is NaN: AccCov and ECECov where no example is answered.
type Metrics struct {
	N          int
	Acc        bootstrap.Interval // share of examples whose answer, UNCERTAIN among them, is the label
	Coverage   bootstrap.Interval // share that is answered TRUE or FALSE
	AccCov     bootstrap.Interval // share of the answered ones that is right
	Commitment bootstrap.Interval // E[c]
	Violation  bootstrap.Interval // E[v_neg]
	Violated   bootstrap.Interval // share with v_neg > 0
	ECECov     bootstrap.Interval // expected calibration error of the answered ones
}

// calibrationBins is the number of bins of the calibration error.
const calibrationBins = 10

// rounding is what p(φ) + p(¬φ) may exceed 1 by for reasons of arithmetic alone.
const rounding = 1e-12

// Measure computes the metrics of at least one example. Resamples and seed are the paper's, 1,000
// and 42, where the options leave them at 0.
func Measure(points []Point, t Thresholds, o bootstrap.Options) (Metrics, error) {
	if len(points) == 0 {
		return Metrics{}, fmt.Errorf("there is no example to measure")
	}
	if err := t.Check(); err != nil {
		return Metrics{}, err
	}
	for i, pt := range points {
		if !(pt.P >= 0 && pt.P <= 1 && pt.NotP >= 0 && pt.NotP <= 1) {
			return Metrics{}, fmt.Errorf("example %d has the probabilities %g and %g; each lies between 0 and 1", i+1, pt.P, pt.NotP)
		}
	}
	if o.Seed == 0 {
		o.Seed = DefaultSeed
	}
	n := len(points)
	decided, right := make([]bool, n), make([]bool, n)
	confidence := make([]float64, n)
	for i, pt := range points {
		d := t.Decide(pt.P, pt.NotP)
		decided[i], right[i], confidence[i] = d != Uncertain, pt.Label.Met(d), pt.confidence(d)
	}
	m := Metrics{N: n}
	share := func(in, of func(i int) bool) func([]int) float64 {
		return func(draw []int) float64 {
			k, all := 0, 0
			for _, i := range draw {
				if of(i) {
					all++
					if in(i) {
						k++
					}
				}
			}
			return float64(k) / float64(all) // 0/0 is NaN
		}
	}
	mean := func(x func(i int) float64) func([]int) float64 {
		return func(draw []int) float64 {
			sum := 0.0
			for _, i := range draw {
				sum += x(i)
			}
			return sum / float64(len(draw))
		}
	}
	all := func(int) bool { return true }
	var bins calibration
	for _, f := range []struct {
		to *bootstrap.Interval
		of func([]int) float64
	}{
		{&m.Acc, share(func(i int) bool { return right[i] }, all)},
		{&m.Coverage, share(func(i int) bool { return decided[i] }, all)},
		{&m.AccCov, share(func(i int) bool { return right[i] }, func(i int) bool { return decided[i] })},
		{&m.Commitment, mean(func(i int) float64 { return Commitment(points[i].P, points[i].NotP) })},
		{&m.Violation, mean(func(i int) float64 { return Violation(points[i].P, points[i].NotP) })},
		{&m.Violated, share(func(i int) bool { return Violation(points[i].P, points[i].NotP) > rounding }, all)},
		{&m.ECECov, func(draw []int) float64 {
			bins = calibration{}
			for _, i := range draw {
				if decided[i] {
					bins.add(confidence[i], right[i])
				}
			}
			return bins.error()
		}},
	} {
		x, err := bootstrap.Statistic(n, o, f.of)
		if err != nil {
			return Metrics{}, fmt.Errorf("bootstrap intervals: %w", err)
		}
		*f.to = x
	}
	return m, nil
}

// DefaultSeed is the paper's seed of the bootstrap.
const DefaultSeed = 42

// Bin is a bin of a reliability diagram.
type Bin struct {
	N          int
	Confidence float64 // mean
	Accuracy   float64 // share that is right
}

// Reliability sorts the answered examples into ten bins of equal width by the probability of the
// answer.
func Reliability(points []Point, t Thresholds) []Bin {
	var c calibration
	for _, pt := range points {
		if d := t.Decide(pt.P, pt.NotP); d != Uncertain {
			c.add(pt.confidence(d), pt.Label.Met(d))
		}
	}
	out := make([]Bin, calibrationBins)
	for b := range out {
		if n := c.n[b]; n > 0 {
			out[b] = Bin{N: n, Confidence: c.sum[b] / float64(n), Accuracy: float64(c.right[b]) / float64(n)}
		}
	}
	return out
}

// calibration gathers answers by their confidence.
type calibration struct {
	n, right [calibrationBins]int
	sum      [calibrationBins]float64
}

func (c *calibration) add(confidence float64, right bool) {
	b := min(int(confidence*calibrationBins), calibrationBins-1)
	c.n[b]++
	c.sum[b] += confidence
	if right {
		c.right[b]++
	}
}

// error is Σ n_b/n · |accuracy − mean confidence|; NaN without an answer.
func (c *calibration) error() float64 {
	total, sum := 0, 0.0
	for b, n := range c.n {
		total += n
		sum += math.Abs(float64(c.right[b]) - c.sum[b])
	}
	return sum / float64(total)
}

// CoverageAt is coverage and accuracy at one τ.
type CoverageAt struct {
	Tau, Coverage float64
	AccCov        float64 // NaN where nothing is answered
}

// CoverageCurve is how coverage and accuracy depend on τ, from 0.50 to 1.00 in steps of 0.01, with δ as it
// is.
func CoverageCurve(points []Point, delta float64) []CoverageAt {
	var out []CoverageAt
	for i := 50; i <= 100; i++ {
		t := Thresholds{Tau: float64(i) / 100, Delta: delta}
		n, right := 0, 0
		for _, pt := range points {
			if d := t.Decide(pt.P, pt.NotP); d != Uncertain {
				n++
				if pt.Label.Met(d) {
					right++
				}
			}
		}
		out = append(out, CoverageAt{Tau: t.Tau, Coverage: float64(n) / float64(len(points)), AccCov: float64(right) / float64(n)})
	}
	return out
}
