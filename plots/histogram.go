package plots

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// NewHistogram draws the consistency scores ρ (Eq. 5) of a dataset as in Figures 3
// to 6 of the paper: red where they are inconsistent (ρ ≤ 0), blue where consistent,
// a vertical line at their mean. The title ends in the aggregate consistency accuracy,
// the percentage of consistent scores (Eq. 6).
//
// A score is at most 1 and may be far below −1. Leave undefined ones (tautologies)
// out; NaN is an error. An edge of the bins lies at 0, so that no bin has two colours.
func NewHistogram(title string, rho []float64) (*Figure, error) {
	least, err := lowest(rho, "drawing a histogram of ρ")
	if err != nil {
		return nil, err
	}
	b := bin(rho, nil, least, 0.05)

	p := newPlot()
	p.X.Min, p.X.Max = b.min(), 1
	p.X.Label.Text = "consistency score ρ"
	p.X.Tick.Marker = scores{}
	p.Y.Min, p.Y.Max = 0, float64(b.tallest())*1.2
	p.Y.Tick.Marker = plot.ConstantTicks(integers{}.Ticks(0, float64(b.tallest())*1.05))
	p.Y.Label.Text = "examples"
	p.Add(grid{}, b, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, _ := p.Transforms(&c)
		m := tx(b.mean)
		c.StrokeLines(line(ink, lineWidth), []vg.Point{{X: m, Y: c.Min.Y}, {X: m, Y: c.Max.Y}})
		sty := style(textSize, ink)
		sty.YAlign = text.YTop
		at := vg.Point{X: m + 4, Y: c.Max.Y}
		label := "mean " + minus(fmt.Sprintf("%.3f", b.mean))
		if at.X+sty.Width(label) > c.Max.X {
			sty.XAlign, at.X = text.XRight, m-4
		}
		c.FillText(sty, at, label)
	}))
	return &Figure{
		title: fmt.Sprintf("%s · CAcc %.1f %%", title, b.accuracy()),
		keys: []key{
			{label: fmt.Sprintf("inconsistent, ρ ≤ 0 (%d)", b.n-b.consistent), color: red, mark: box},
			{label: fmt.Sprintf("consistent (%d)", b.consistent), color: blue, mark: box},
			{label: "mean", color: ink, mark: stroke},
		},
		text:   func(s *sketch) { s.columns(b) },
		height: 2.4 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}

// lowest checks scores, of which there must be some, and returns the least of them and 0.
func lowest(rho []float64, what string) (float64, error) {
	if len(rho) == 0 {
		return 0, fmt.Errorf("%s: there are no scores", what)
	}
	least := 0.0
	for i, r := range rho {
		if err := finite(r, fmt.Sprintf("%s: score %d", what, i+1)); err != nil {
			return 0, err
		}
		if r > 1+1e-9 {
			return 0, fmt.Errorf("%s: score %d is %g; ρ is at most 1", what, i+1, r)
		}
		least = math.Min(least, r)
	}
	if least < -1e6 {
		return 0, fmt.Errorf("%s: the least score is %g; scores below −1,000,000 would hide all others", what, least)
	}
	return least, nil
}

// binned are scores counted in bins of equal width, of which one ends at 0 and one at 1. It
// implements plot.Plotter.
type binned struct {
	counts     []int
	below      int // bins for scores of 0 and less
	width      float64
	n          int
	mean       float64
	consistent int
}

// bin counts scores in bins that reach down to least, of some width or, where the scores go far
// below zero, a greater one. Each score occurs as often as counts says, or once if that is nil.
func bin(rho []float64, counts []int, least, narrowest float64) *binned {
	b := &binned{}
	// A width that divides 1, so that 1 is an edge as well.
	for _, w := range []float64{0.05, 0.1, 0.2, 0.25, 0.5, 1} {
		if b.width = w; w >= narrowest && -least/w <= 3/narrowest {
			break
		}
	}
	for -least/b.width > 200 {
		b.width *= 10
	}
	b.below = int(math.Ceil(-least/b.width - 1e-9))
	above := int(math.Ceil(1/b.width - 1e-9))
	b.counts = make([]int, b.below+above)
	for k, r := range rho {
		n := 1
		if counts != nil {
			n = counts[k]
		}
		b.n += n
		b.mean += r * float64(n)
		// Bins are open on the left: (−w, 0] is the first red one.
		i := int(math.Ceil(r/b.width-1e-9)) - 1 + b.below
		if r > 0 {
			b.consistent += n
			i = max(i, b.below)
		} else {
			i = min(i, b.below-1)
		}
		if b.below == 0 && r <= 0 { // all scores are ≥ 0 and some are 0
			b.below, i = 1, 0
			b.counts = append([]int{0}, b.counts...)
		}
		b.counts[min(max(i, 0), len(b.counts)-1)] += n
	}
	b.mean /= float64(b.n)
	return b
}

// min is the lower edge of the bins, or a place just below 0 where none is below it.
func (b *binned) min() float64 {
	if b.below == 0 {
		return -0.02
	}
	return -float64(b.below) * b.width
}

func (b *binned) tallest() int { return slices.Max(b.counts) }

// accuracy is CAcc in percent (Eq. 6).
func (b *binned) accuracy() float64 { return 100 * float64(b.consistent) / float64(b.n) }

func (b *binned) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, n := range b.counts {
		if n == 0 {
			continue
		}
		col := red
		if i >= b.below {
			col = blue
		}
		l, r := tx(float64(i-b.below)*b.width)+0.3, min(tx(float64(i-b.below+1)*b.width), c.Max.X)-0.3
		c.FillPolygon(col, []vg.Point{{X: l, Y: ty(0)}, {X: r, Y: ty(0)}, {X: r, Y: ty(float64(n))}, {X: l, Y: ty(float64(n))}})
	}
}

// scores is a plot.Ticker for ρ: some eight round numbers, zero and one among them
// where they fall on a step.
type scores struct{}

func (scores) Ticks(lo, hi float64) []plot.Tick {
	step := 0.25
	for f := 0; (hi-lo)/step > 9; f++ {
		step = math.Pow(10, float64(f/3)) * []float64{0.5, 1, 2}[f%3]
	}
	var ticks []plot.Tick
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi+1e-9; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: minus(fmt.Sprintf("%g", i*step+0))})
	}
	return ticks
}
