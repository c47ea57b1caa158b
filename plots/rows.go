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
	for _, b := range bs {
		y := ty(b.row) + b.up
		fill := func(from, to float64, col color.Color) {
			l, r := tx(math.Min(from, to)), tx(math.Max(from, to))
			c.FillPolygon(col, []vg.Point{{X: l, Y: y - b.thick/2}, {X: r, Y: y - b.thick/2}, {X: r, Y: y + b.thick/2}, {X: l, Y: y + b.thick/2}})
		}
		if !b.value.exact() {
			fill(math.Min(0, b.value.Lo), math.Max(0, b.value.Hi), lighter(b.color))
		}
		fill(0, b.certain(), b.color)
		end, sty, off := b.end()
		c.FillText(sty, vg.Point{X: tx(end) + off, Y: y + 0.5}, b.label)
	}
}

// certain returns how far the bar surely reaches.
func (b bar) certain() float64 {
	switch {
	case b.value.Lo > 0:
		return b.value.Lo
	case b.value.Hi < 0:
		return b.value.Hi
	}
	return 0
}

// end returns where the label is: its place on the axis, style and distance.
func (b bar) end() (at float64, sty text.Style, off vg.Length) {
	sty = style(tickSize, ink)
	sty.YAlign = text.YCenter
	if b.value.Lo < 0 && b.value.Hi <= 0 {
		sty.XAlign = text.XRight
		return b.value.Lo, sty, -3
	}
	return math.Max(0, b.value.Hi), sty, 3
}

// room returns how much of a width the labels need to the left and to the right of an
// axis from lo to hi that shares the width with them.
func (bs bars) room(lo, hi float64, width vg.Length) (left, right vg.Length) {
	// The more room there is the shorter are the bars, and the less of it a label at
	// the end of a bar needs: a few rounds settle it.
	for range 50 {
		axis := max(width-left-right, 0)
		var l, r vg.Length
		for _, b := range bs {
			at, sty, off := b.end()
			x := vg.Length((at-lo)/(hi-lo)) * axis
			w := sty.Width(b.label)
			if off < 0 {
				l = max(l, w-off-x)
			} else {
				r = max(r, x+off+w-axis)
			}
		}
		left, right = (left+l)/2, (right+r)/2
	}
	return min(left+1, 0.42*width), min(right+1, 0.42*width)
}

// draw draws a plot of rows so that the labels of its bars are within the canvas.
func (bs bars) draw(c draw.Canvas, p *plot.Plot) {
	var names vg.Length
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		names = max(names, p.Y.Tick.Label.Width(t.Label))
	}
	left, right := bs.room(p.X.Min, p.X.Max, c.Size().X-names-p.Y.Padding-p.Y.LineStyle.Width)
	p.Draw(draw.Crop(c, left, -right, 0, 0))
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

// probabilityAxis makes an axis from 0 to 1.
func probabilityAxis(a *plot.Axis) {
	a.Min, a.Max = 0, 1
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
