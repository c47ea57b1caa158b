package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A ScalingPoint is what was measured of one model.
type ScalingPoint struct {
	Model    string
	Family   string  // points of one family are joined by a line
	Size     float64 // number of parameters, above 0
	Value    float64
	Bar      Range // ends of the error bar; equal, or both 0, for none
	Measured bool  // one's own measurement: filled; a published one is hollow
}

// A ScalingPanel is one curve plot of a figure.
type ScalingPanel struct {
	Title  string // empty for a figure of one panel
	Label  string // of the vertical axis
	Points []ScalingPoint
}

const (
	mostPanels   = 12
	mostFamilies = 8
)

// NewScaling draws how a quantity depends on the size of models: one panel or up to 12 small
// ones, in each the values over the number of parameters on a logarithmic axis, which all
// panels share. A panel may have one point only, and error bars may reach or cross 0.
func NewScaling(title string, panels []ScalingPanel) (*Figure, error) {
	if len(panels) == 0 || len(panels) > mostPanels {
		return nil, fmt.Errorf("drawing a scaling curve: %d panels; there must be 1 to %d", len(panels), mostPanels)
	}
	const mostPoints = 500
	var families []string
	least, most := math.Inf(1), math.Inf(-1)
	published, measured := false, false
	known := map[string]bool{} // the families with published points
	for i, panel := range panels {
		if len(panel.Points) == 0 || len(panel.Points) > mostPoints {
			return nil, fmt.Errorf("drawing a scaling curve: panel %d (%s) has %d points; there must be 1 to %d", i+1, printable(panel.Title), len(panel.Points), mostPoints)
		}
		for _, pt := range panel.Points {
			what := func(s string) string {
				return fmt.Sprintf("drawing a scaling curve: %s of %s", s, printable(pt.Model))
			}
			if !(pt.Size >= 1 && pt.Size <= 1e18) {
				return nil, fmt.Errorf("%s is %g; a number of parameters lies between 1 and 10¹⁸", what("the size"), pt.Size)
			}
			for _, x := range []float64{pt.Value, pt.Bar.Lo, pt.Bar.Hi} {
				if err := drawable(x, what("a value")); err != nil {
					return nil, err
				}
			}
			if pt.Bar.Lo > pt.Bar.Hi {
				return nil, fmt.Errorf("%s is the empty range %g … %g", what("the error bar"), pt.Bar.Lo, pt.Bar.Hi)
			}
			least, most = math.Min(least, pt.Size), math.Max(most, pt.Size)
			if !slices.Contains(families, pt.Family) {
				families = append(families, pt.Family)
			}
			known[pt.Family] = known[pt.Family] || !pt.Measured
			published = published || !pt.Measured
			measured = measured || pt.Measured
		}
	}
	if len(families) > mostFamilies {
		return nil, fmt.Errorf("drawing a scaling curve: %d families; the most that can be told apart is %d", len(families), mostFamilies)
	}

	columns := 1
	switch {
	case len(panels) > 4:
		columns = 3
	case len(panels) > 1:
		columns = 2
	}
	rows := (len(panels) + columns - 1) / columns
	each := make([]*plot.Plot, len(panels))
	for i, panel := range panels {
		p := newPlot()
		sizeAxis(&p.X, least, most, columns)
		valueAxis(&p.Y, panel.Points)
		p.Y.Label.Text = panel.Label
		if columns == 1 {
			p.X.Label.Text = "parameters"
		}
		p.Add(grid{}, curves{panel.Points, families, columns == 1})
		each[i] = p
	}
	var keys []key
	for i, f := range families {
		if f != "" {
			keys = append(keys, key{label: f, color: familyColors[i], mark: stroke, glyph: i + 1, full: !known[f]})
		}
	}
	if published && measured {
		keys = append(keys, key{label: "hollow: published", color: faint, mark: ring}, key{label: "filled: measured here", color: faint, mark: dot})
	}
	height, note := 2.9*vg.Inch, ""
	if columns > 1 {
		note = "Over the number of parameters."
		height = vg.Length(rows) * 1.75 * vg.Inch
	}
	return &Figure{
		title:  title,
		text:   func(s *sketch) { scalingText(s, panels) },
		keys:   keys,
		note:   note,
		height: height,
		body: func(c draw.Canvas) {
			if columns == 1 {
				each[0].Draw(c)
				return
			}
			for i, p := range each {
				cell := tile(c, rows, columns, i, 10)
				tileTitle(c, cell, panels[i].Title)
				p.Draw(draw.Crop(cell, 0, 0, 0, -1.6*textSize))
			}
		},
	}, nil
}

// scalingText draws a bar for each model, from the smallest to the largest of a family.
func scalingText(s *sketch, panels []ScalingPanel) {
	var rows []textBar
	lo, hi := 0.0, 0.0
	for _, panel := range panels {
		if len(panels) > 1 {
			rows = append(rows, textBar{label: cmp.Or(panel.Title, panel.Label), heading: true})
		}
		sorted := slices.Clone(panel.Points)
		slices.SortStableFunc(sorted, func(a, b ScalingPoint) int {
			return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Size, b.Size))
		})
		for _, pt := range sorted {
			mark := "○ "
			if pt.Measured {
				mark = "● "
			}
			after := sizeName(pt.Size) + "  " + minus(fmt.Sprintf("%.4g", pt.Value))
			if pt.Bar.Lo < pt.Bar.Hi {
				after += fmt.Sprintf(" (%s … %s)", minus(fmt.Sprintf("%.4g", pt.Bar.Lo)), minus(fmt.Sprintf("%.4g", pt.Bar.Hi)))
			}
			rows = append(rows, textBar{label: mark + pt.Model, value: Exactly(pt.Value), after: after})
			lo, hi = math.Min(lo, pt.Value), math.Max(hi, pt.Value)
		}
	}
	if lo == hi {
		hi = 1
	}
	s.bars(rows, lo, hi)
}

// drawable checks that a value is finite, and not so large that axes overflow.
func drawable(x float64, what string) error {
	if err := finite(x, what); err != nil {
		return err
	}
	if math.Abs(x) > 1e15 {
		return fmt.Errorf("%s is %g, which is too large to be drawn", what, x)
	}
	return nil
}

// tile returns the i-th of rows × columns equal parts of a canvas, row by row from the top.
func tile(c draw.Canvas, rows, columns, i int, gap vg.Length) draw.Canvas {
	w := (c.Size().X - vg.Length(columns-1)*gap) / vg.Length(columns)
	h := (c.Size().Y - vg.Length(rows-1)*gap) / vg.Length(rows)
	x, y := vg.Length(i%columns)*(w+gap), vg.Length(i/columns)*(h+gap)
	return draw.Crop(c, x, x+w-c.Size().X, c.Size().Y-y-h, -y)
}

// tileTitle writes a tile's title at its top.
func tileTitle(c draw.Canvas, tile draw.Canvas, title string) {
	sty := style(textSize, ink)
	sty.YAlign = text.YTop
	c.FillText(sty, vg.Point{X: tile.Min.X + 4, Y: tile.Max.Y}, fit(title, sty, tile.Size().X-4))
}

// sizeAxis makes an axis of log₁₀ of sizes. One size alone gets room on both sides.
func sizeAxis(a *plot.Axis, least, most float64, columns int) {
	lo, hi := math.Log10(least), math.Log10(most)
	room := math.Max(0.08*(hi-lo), 0.15)
	a.Min, a.Max = lo-room, hi+room
	steps := []float64{1, 3}
	if a.Max-a.Min < 1.2 && columns == 1 {
		steps = []float64{1, 2, 3, 5}
	}
	if a.Max-a.Min > 6/float64(columns) {
		steps = []float64{1}
	}
	var ticks plot.ConstantTicks
	for e := math.Floor(a.Min); e <= a.Max; e++ {
		for _, s := range steps {
			if x := e + math.Log10(s); x >= a.Min && x <= a.Max {
				ticks = append(ticks, plot.Tick{Value: x, Label: sizeName(s * math.Pow(10, e))})
			}
		}
	}
	if len(ticks) == 0 || len(ticks) == 1 && hi-lo < 1 { // name the sizes themselves
		ticks = plot.ConstantTicks{{Value: lo, Label: sizeName(least)}}
		if hi-lo > 0.3*(a.Max-a.Min) {
			ticks = append(ticks, plot.Tick{Value: hi, Label: sizeName(most)})
		}
	}
	a.Tick.Marker = ticks
}

// sizeName formats a number of parameters as models' names do: 270M, 1.5B.
func sizeName(x float64) string {
	for _, u := range []struct {
		unit float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= u.unit*0.9995 {
			return fmt.Sprintf("%.3g%s", x/u.unit, u.name)
		}
	}
	return fmt.Sprintf("%.3g", x)
}

// valueAxis makes an axis with round ends around values and error bars; all that are the
// same get room on both sides.
func valueAxis(a *plot.Axis, points []ScalingPoint) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, pt := range points {
		lo, hi = math.Min(lo, pt.Value), math.Max(hi, pt.Value)
		if pt.Bar.Lo < pt.Bar.Hi {
			lo, hi = math.Min(lo, pt.Bar.Lo), math.Max(hi, pt.Bar.Hi)
		}
	}
	if hi-lo < 1e-9*math.Max(1, math.Abs(hi)) {
		room := math.Max(0.1*math.Abs(hi), 0.1)
		lo, hi = lo-room, hi+room
	}
	step := niceStep((hi - lo) / 5)
	low, high := math.Floor(lo/step+1e-9), math.Ceil(hi/step-1e-9)
	a.Min, a.Max = low*step, high*step
	var ticks plot.ConstantTicks
	for i := low; i <= high; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: minus(fmt.Sprintf("%.6g", i*step+0))})
	}
	// A mark or a bar's end on the frame would be half hidden.
	room := 0.03 * (a.Max - a.Min)
	a.Min, a.Max = a.Min-room, a.Max+room
	a.Tick.Marker = ticks
}

// niceStep returns the least of 1, 2, 5 times a power of ten that is not below x, for x from 1e-300 on.
func niceStep(x float64) float64 {
	e := math.Pow(10, math.Floor(math.Log10(x)))
	for _, s := range []float64{1, 2, 5} {
		if s*e >= x*(1-1e-9) {
			return s * e
		}
	}
	return 10 * e
}

// familyColors are told apart by people who do not tell red from green (Okabe and Ito), and none is
// the red or blue of inconsistent and consistent.
var familyColors = [mostFamilies]color.Color{
	color.NRGBA{0x1b, 0x1b, 0x1b, 255}, color.NRGBA{0xd9, 0x8e, 0x04, 255}, color.NRGBA{0x00, 0x8a, 0x66, 255}, color.NRGBA{0xb4, 0x55, 0x8f, 255},
	color.NRGBA{0x3f, 0xa0, 0xd8, 255}, color.NRGBA{0x8c, 0x5a, 0x2b, 255}, color.NRGBA{0x7a, 0x7a, 0x7a, 255}, color.NRGBA{0x6a, 0x4f, 0xb5, 255},
}

// curves draws the points of a panel, a line for each family.
type curves struct {
	points   []ScalingPoint
	families []string
	named    bool // with the names of the models that were measured
}

func (cs curves) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	at := func(pt ScalingPoint, y float64) vg.Point { return vg.Point{X: tx(math.Log10(pt.Size)), Y: ty(y)} }
	var names labels
	for f, family := range cs.families {
		var of []ScalingPoint
		for _, pt := range cs.points {
			if pt.Family == family {
				of = append(of, pt)
			}
		}
		slices.SortStableFunc(of, func(a, b ScalingPoint) int { return int(math.Copysign(1, a.Size-b.Size)) })
		for _, own := range []bool{false, true} { // a line of each kind
			var l []vg.Point
			for _, pt := range of {
				if pt.Measured == own {
					l = append(l, at(pt, pt.Value))
				}
			}
			sty := line(familyColors[f], lineWidth*0.8)
			if own {
				sty.Dashes = []vg.Length{4, 2}
			}
			if len(l) > 1 {
				c.StrokeLines(sty, l)
				names.line(l...)
			}
		}
		for _, pt := range of {
			if pt.Bar.Lo < pt.Bar.Hi {
				bar := line(familyColors[f], 0.8)
				lo, hi := at(pt, pt.Bar.Lo), at(pt, pt.Bar.Hi)
				names.line(lo, hi)
				c.StrokeLines(bar, []vg.Point{lo, hi},
					[]vg.Point{{X: lo.X - 2.5, Y: lo.Y}, {X: lo.X + 2.5, Y: lo.Y}}, []vg.Point{{X: hi.X - 2.5, Y: hi.Y}, {X: hi.X + 2.5, Y: hi.Y}})
			}
		}
		for _, pt := range of {
			drawShape(c, f, at(pt, pt.Value), familyColors[f], pt.Measured)
			name := ""
			if pt.Measured {
				name = pt.Model
			}
			names.point(at(pt, pt.Value), name)
		}
	}
	if cs.named {
		names.draw(c)
	}
}

// drawShape draws the mark of the i-th family: a circle, square, triangle or diamond, filled or hollow.
func drawShape(c draw.Canvas, i int, at vg.Point, col color.Color, filled bool) {
	const r = 3.4
	var path vg.Path
	switch i % 4 {
	case 0:
		path.Move(vg.Point{X: at.X + r, Y: at.Y})
		path.Arc(at, r, 0, 2*math.Pi)
	default:
		var corners []vg.Point
		switch i % 4 {
		case 1:
			corners = []vg.Point{{X: -0.9 * r, Y: -0.9 * r}, {X: 0.9 * r, Y: -0.9 * r}, {X: 0.9 * r, Y: 0.9 * r}, {X: -0.9 * r, Y: 0.9 * r}}
		case 2:
			corners = []vg.Point{{X: -1.1 * r, Y: -0.8 * r}, {X: 1.1 * r, Y: -0.8 * r}, {Y: 1.2 * r}}
		case 3:
			corners = []vg.Point{{X: -1.2 * r}, {Y: -1.2 * r}, {X: 1.2 * r}, {Y: 1.2 * r}}
		}
		path.Move(at.Add(corners[0]))
		for _, p := range corners[1:] {
			path.Line(at.Add(p))
		}
	}
	path.Close()
	c.SetColor(white)
	if filled {
		c.SetColor(col)
	}
	c.Fill(path)
	c.SetLineStyle(line(col, 1.1))
	c.Stroke(path)
}
