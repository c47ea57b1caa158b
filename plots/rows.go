package plots

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A bar is horizontal, from zero to a value on a row of its plot.
type bar struct {
	row   float64 // y, in rows
	up    vg.Length
	thick vg.Length
	value Range // solid up to the nearer end, pale up to the farther one
	color color.Color
	label string
}

// bars implements plot.Plotter.
type bars []bar

func (bs bars) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	sty := style(tickSize, ink)
	sty.YAlign = text.YCenter
	for _, b := range bs {
		near, far := b.value.Lo, b.value.Hi
		if math.Abs(near) > math.Abs(far) {
			near, far = far, near
		}
		if near*far < 0 { // zero is inside: nothing is certain
			near = 0
		}
		y := ty(b.row) + b.up
		fill := func(from, to float64, col color.Color) {
			l, r := tx(math.Min(from, to)), tx(math.Max(from, to))
			c.FillPolygon(col, []vg.Point{{X: l, Y: y - b.thick/2}, {X: r, Y: y - b.thick/2}, {X: r, Y: y + b.thick/2}, {X: l, Y: y + b.thick/2}})
		}
		if b.value.exact() {
			fill(0, far, b.color)
		} else {
			fill(math.Min(0, b.value.Lo), math.Max(0, b.value.Hi), lighter(b.color))
			fill(0, near, b.color)
		}
		s := sty
		x := tx(math.Max(0, b.value.Hi)) + 3
		if b.value.Hi <= 0 && b.value.Lo < 0 {
			s.XAlign = text.XRight
			x = tx(b.value.Lo) - 3
		}
		c.FillText(s, vg.Point{X: x, Y: y + 0.5}, b.label)
	}
}

// DataRange is the bars' own; room for the labels is the axes' business.
func (bs bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	ymin, ymax = math.Inf(1), math.Inf(-1)
	for _, b := range bs {
		xmin = math.Min(xmin, b.value.Lo)
		xmax = math.Max(xmax, b.value.Hi)
		ymin = math.Min(ymin, b.row)
		ymax = math.Max(ymax, b.row)
	}
	return xmin, xmax, ymin, ymax
}

func lighter(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	mix := func(v uint32) uint8 { return uint8((v>>8)*4/10 + 255*6/10) }
	return color.NRGBA{mix(r), mix(g), mix(b), 255}
}

// rowAxis makes the vertical axis one of rows, the first at the top, with a name
// each. Names wider than width are shortened.
func rowAxis(p *plot.Plot, names []string, width vg.Length) {
	ticks := make([]plot.Tick, len(names))
	for i, n := range names {
		ticks[i] = plot.Tick{Value: float64(-i), Label: fit(n, p.Y.Tick.Label, width)}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length = 0
	p.Y.Padding = 3
	p.Y.Min, p.Y.Max = 0.5-float64(len(names)), 0.5
}

// probabilityAxis makes an axis from 0 to 1 with room for labels beyond, a share of
// the axis.
func probabilityAxis(a *plot.Axis, beyond float64) {
	a.Min, a.Max = 0, 1+beyond
	a.Tick.Marker = plot.ConstantTicks{
		{Value: 0, Label: "0"}, {Value: 0.25, Label: "0.25"}, {Value: 0.5, Label: "0.5"}, {Value: 0.75, Label: "0.75"}, {Value: 1, Label: "1"},
	}
}

// A grid draws faint lines through the ticks of one axis, behind all else.
type grid struct{ vertical bool }

func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	a := p.Y
	if g.vertical {
		a = p.X
	}
	for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if t.IsMinor() || t.Value < a.Min || t.Value > a.Max {
			continue
		}
		l := []vg.Point{{X: c.Min.X, Y: ty(t.Value)}, {X: c.Max.X, Y: ty(t.Value)}}
		if g.vertical {
			l = []vg.Point{{X: tx(t.Value), Y: c.Min.Y}, {X: tx(t.Value), Y: c.Max.Y}}
		}
		c.StrokeLines(line(rule, 0.5), l)
	}
}

// plotFunc is a plot.Plotter that is one function.
type plotFunc func(c draw.Canvas, p *plot.Plot)

func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }
