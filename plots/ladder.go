package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// NewLadder draws the ladder of bounds of Example 4 of the paper: logP[k−1] is the
// natural logarithm of P(F≥k), the probability that at least k of n events hold. It
// starts at the disjunction, k = 1, and goes down to the conjunction, k = n, which is
// the likelihood under the raw weighting and is marked.
//
// The values must not increase; −Inf, a probability of zero, is allowed. The axis is
// logarithmic if a probability is below 1/1000.
func NewLadder(title string, logP []float64) (*Figure, error) {
	const most = 10_000
	n := len(logP)
	if n == 0 || n > most {
		return nil, fmt.Errorf("drawing a ladder: %d steps; there must be 1 to %d", n, most)
	}
	const rounding = 1e-9
	least, zero := 0.0, false
	v := make([]float64, n)
	for i, l := range logP {
		switch {
		case math.IsNaN(l) || l > rounding:
			return nil, fmt.Errorf("drawing a ladder: ln P(F≥%d) is %g; a log-probability is at most 0", i+1, l)
		case i > 0 && l > logP[i-1]+rounding*math.Max(1, math.Abs(l)):
			return nil, fmt.Errorf("drawing a ladder: ln P(F≥%d) = %g is greater than ln P(F≥%d) = %g", i+1, l, i, logP[i-1])
		}
		v[i] = math.Min(0, l)
		if math.IsInf(l, -1) {
			zero = true
		} else {
			least = math.Min(least, v[i])
		}
	}

	p := newPlot()
	p.X.Min, p.X.Max = 0.5, float64(n)+0.5
	p.X.Tick.Marker = integers{}
	p.X.Label.Text = "k, the least number of events that hold"
	height := make([]float64, n)
	if least < math.Log(1e-3) {
		for i := range v {
			height[i] = v[i] / math.Ln10
		}
		logAxis(&p.Y, least/math.Ln10, zero)
		p.Y.Label.Text = "P(F≥k), logarithmic"
	} else {
		for i := range v {
			height[i] = math.Exp(v[i])
		}
		probabilityAxis(&p.Y)
		p.Y.Label.Text = "P(F≥k)"
	}
	// Room above the steps for the two ends' names; the ticks stay below it.
	ticks := p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max)
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	ceiling := p.Y.Max
	p.Y.Max += 0.16 * (p.Y.Max - p.Y.Min)
	for i := range height {
		height[i] = math.Max(height[i], p.Y.Min) // a zero on a logarithmic axis
	}

	p.Add(grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		steps := make([]vg.Point, 0, 2*n)
		for i, h := range height {
			steps = append(steps,
				vg.Point{X: tx(float64(i) + 0.5), Y: ty(h)},
				vg.Point{X: tx(float64(i) + 1.5), Y: ty(h)})
		}
		area := append([]vg.Point{{X: steps[0].X, Y: c.Min.Y}}, steps...)
		area = append(area, vg.Point{X: steps[len(steps)-1].X, Y: c.Min.Y})
		c.FillPolygon(pale, area)
		c.StrokeLines(line(blue, lineWidth), steps)

		last := vg.Point{X: tx(float64(n)), Y: ty(height[n-1])}
		sty := style(textSize, ink)
		sty.YAlign = text.YCenter
		band := (ty(ceiling) + c.Max.Y) / 2
		if n > 1 {
			c.FillText(sty, vg.Point{X: c.Min.X + 4, Y: band}, "∨, k = 1: "+logNumber(v[0]))
		}
		c.StrokeLines(line(red, 0.7, 2, 2), []vg.Point{{X: last.X, Y: band - 0.9*textSize}, last})
		c.DrawGlyph(draw.GlyphStyle{Color: red, Radius: 3, Shape: draw.CircleGlyph{}}, last)
		sty.Color = red
		name := fmt.Sprintf("∧, k = %d, likelihood: %s", n, logNumber(v[n-1]))
		w := sty.Width(name)
		c.FillText(sty, vg.Point{X: min(last.X-w/2, c.Max.X-w), Y: band}, name)
	}))

	// On a terminal a zero is at the lower edge of a logarithmic axis.
	bottom, format := 0.0, number
	if least < math.Log(1e-3) {
		bottom, format = least/math.Ln10, func(x float64) string { return logNumber(x * math.Ln10) }
		if zero {
			bottom--
		}
	}
	return &Figure{
		title: title,
		text: func(s *sketch) {
			values := make([]float64, n)
			for i, l := range v {
				if values[i] = math.Exp(l); least < math.Log(1e-3) {
					values[i] = math.Max(l/math.Ln10, bottom)
				}
			}
			top := 1.0
			if least < math.Log(1e-3) {
				top = 0
			}
			s.curve(values, bottom, top, format)
			s.note(fmt.Sprintf("  P(F≥k) for k = 1 … %d: ∨ %s, ∧ (the likelihood) %s", n, logNumber(v[0]), logNumber(v[n-1])))
		},
		keys:   []key{{label: "P(F≥k), which bounds the likelihood from above", color: blue, mark: stroke}, {label: "likelihood", color: red, mark: dot}},
		height: 2.6 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}
