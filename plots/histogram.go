package plots

import (
	"fmt"
	"math"

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
	if len(rho) == 0 {
		return nil, fmt.Errorf("drawing a histogram of ρ: there are no scores")
	}
	least, sum, consistent := 0.0, 0.0, 0
	for i, r := range rho {
		if err := finite(r, fmt.Sprintf("drawing a histogram of ρ: score %d", i+1)); err != nil {
			return nil, err
		}
		if r > 1+1e-9 {
			return nil, fmt.Errorf("drawing a histogram of ρ: score %d is %g; ρ is at most 1", i+1, r)
		}
		least = math.Min(least, r)
		sum += r / float64(len(rho))
		if r > 0 {
			consistent++
		}
	}
	if least < -1e6 {
		return nil, fmt.Errorf("drawing a histogram of ρ: the least score is %g; scores below −1,000,000 would hide all others", least)
	}
	// 20 bins of width 1/20 above zero, and wider ones if the scores go far below:
	// a width that divides 1, so that 1 is an edge as well.
	width := 0.05
	for _, w := range []float64{0.05, 0.1, 0.2, 0.25, 0.5, 1} {
		width = w
		if -least/w <= 60 {
			break
		}
	}
	for -least/width > 200 {
		width *= 10
	}
	below := int(math.Ceil(-least/width - 1e-9))
	above := int(math.Ceil(1/width - 1e-9))
	counts := make([]int, below+above)
	for _, r := range rho {
		// Bins are open on the left: (−w, 0] is the first red one.
		i := int(math.Ceil(r/width-1e-9)) - 1 + below
		if r > 0 {
			i = max(i, below)
		} else {
			i = min(i, below-1)
		}
		if below == 0 && r <= 0 { // all scores are ≥ 0 and some are 0
			below, i = 1, 0
			counts = append([]int{0}, counts...)
		}
		counts[min(max(i, 0), len(counts)-1)]++
	}
	tallest := 0
	for _, c := range counts {
		tallest = max(tallest, c)
	}

	p := newPlot()
	p.X.Min, p.X.Max = -float64(below)*width, math.Max(1, float64(above)*width)
	if below == 0 {
		p.X.Min = -0.02
	}
	p.X.Label.Text = "consistency score ρ"
	p.X.Tick.Marker = scores{}
	p.Y.Min, p.Y.Max = 0, float64(tallest)*1.2
	p.Y.Tick.Marker = plot.ConstantTicks(integers{}.Ticks(0, float64(tallest)*1.05))
	p.Y.Label.Text = "examples"
	p.Add(grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		for i, n := range counts {
			if n == 0 {
				continue
			}
			col := red
			if i >= below {
				col = blue
			}
			l, r := tx(float64(i-below)*width)+0.3, tx(float64(i-below+1)*width)-0.3
			c.FillPolygon(col, []vg.Point{{X: l, Y: ty(0)}, {X: r, Y: ty(0)}, {X: r, Y: ty(float64(n))}, {X: l, Y: ty(float64(n))}})
		}
		m := tx(sum)
		c.StrokeLines(line(ink, lineWidth), []vg.Point{{X: m, Y: c.Min.Y}, {X: m, Y: c.Max.Y}})
		sty := style(textSize, ink)
		sty.YAlign = text.YTop
		at := vg.Point{X: m + 4, Y: c.Max.Y}
		label := "mean " + minus(fmt.Sprintf("%.3f", sum))
		if at.X+sty.Width(label) > c.Max.X {
			sty.XAlign, at.X = text.XRight, m-4
		}
		c.FillText(sty, at, label)
	}))
	accuracy := 100 * float64(consistent) / float64(len(rho))
	return &Figure{
		title: fmt.Sprintf("%s · CAcc %.1f %%", title, accuracy),
		keys: []key{
			{fmt.Sprintf("inconsistent, ρ ≤ 0 (%d)", len(rho)-consistent), red, box},
			{fmt.Sprintf("consistent (%d)", consistent), blue, box},
			{"mean", ink, stroke},
		},
		height: 2.4 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
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
