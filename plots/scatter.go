package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A ScatterPoint is a pair of numbers that were measured of one thing.
type ScatterPoint struct {
	Name  string // written beside the point, where there is room; may be empty
	Group string // points of one group have one mark
	X, Y  float64

	Published bool // hollow and grey, whatever its group; one's own measurement is filled
}

// A ScatterPanel is one plot of a figure, with 1 to 2,000 points.
type ScatterPanel struct {
	Title  string
	Note   string // in a corner, such as the correlation
	Points []ScatterPoint
}

// NewScatter draws one quantity over another: 1 to 12 panels, which share neither axis, and up to 8 groups. The
// dashed line is the least-squares line through a panel's points, the published ones where there are any, if these are
// three or more that differ in both. A name beside a point is left out where there is no room, and in three columns.
func NewScatter(title, xLabel, yLabel string, panels []ScatterPanel) (*Figure, error) {
	if len(panels) == 0 || len(panels) > mostPanels {
		return nil, fmt.Errorf("drawing a scatter plot: %d panels; there must be 1 to %d", len(panels), mostPanels)
	}
	const most = 2000
	var groups []string
	fitted, published, measured := false, false, false
	for i, panel := range panels {
		if len(panel.Points) == 0 || len(panel.Points) > most {
			return nil, fmt.Errorf("drawing a scatter plot: panel %d (%s) has %d points; there must be 1 to %d", i+1, printable(panel.Title), len(panel.Points), most)
		}
		for k, pt := range panel.Points {
			for _, x := range []float64{pt.X, pt.Y} {
				if err := drawable(x, fmt.Sprintf("drawing a scatter plot: a value of point %d of %s", k+1, printable(panel.Title))); err != nil {
					return nil, err
				}
			}
			published, measured = published || pt.Published, measured || !pt.Published
			if !pt.Published && !slices.Contains(groups, pt.Group) {
				groups = append(groups, pt.Group)
			}
		}
		_, _, ok := leastSquares(panel.fitted())
		fitted = fitted || ok
	}
	if len(groups) > mostFamilies {
		return nil, fmt.Errorf("drawing a scatter plot: %d groups; the most that can be told apart is %d", len(groups), mostFamilies)
	}
	columns := min(len(panels), 3)
	rows := (len(panels) + columns - 1) / columns
	each := make([]*plot.Plot, len(panels))
	for i, panel := range panels {
		p := newPlot()
		var xs, ys []ScalingPoint
		for _, pt := range panel.Points {
			xs, ys = append(xs, ScalingPoint{Value: pt.X}), append(ys, ScalingPoint{Value: pt.Y})
		}
		valueAxis(&p.X, xs)
		valueAxis(&p.Y, ys)
		if columns > 1 { // numbers must not run into each other
			p.X.Tick.Marker = everyOther(p.X.Tick.Marker.(plot.ConstantTicks))
		}
		p.X.Label.Text = xLabel
		if i%columns == 0 {
			p.Y.Label.Text = yLabel
		}
		p.Add(grid{}, scattered{panel, groups, columns == 1})
		each[i] = p
	}
	var keys []key
	for i, g := range groups {
		if g != "" {
			keys = append(keys, key{label: g, color: familyColors[i], mark: stroke, glyph: i + 1, full: true})
		}
	}
	if published {
		if measured && len(keys) == 0 {
			keys = append(keys, key{label: "measured here", color: familyColors[0], mark: dot})
		}
		keys = append(keys, key{label: "published", color: faint, mark: ring})
	}
	if fitted {
		label := "least squares"
		if published && measured {
			label += ", of the published"
		}
		keys = append(keys, key{label: label, color: faint, mark: dashed})
	}
	height := 2.9 * vg.Inch
	if columns > 1 {
		height = vg.Length(rows) * 2.1 * vg.Inch
	}
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			lo := 0.0
			hi := 0.0
			for _, panel := range panels {
				if head := panel.Title + "  " + panel.Note; head != "  " {
					rows = append(rows, textBar{label: head, heading: true})
				}
				for _, pt := range panel.Points {
					lo, hi = math.Min(lo, pt.Y), math.Max(hi, pt.Y)
					mark := "● "
					if pt.Published {
						mark = "○ "
					}
					if !published {
						mark = ""
					}
					rows = append(rows, textBar{label: mark + cmp.Or(pt.Name, pt.Group), value: Exactly(pt.Y), color: ansiBlue, after: fmt.Sprintf("%s over %s", number(pt.Y), number(pt.X))})
				}
			}
			if hi == lo {
				hi = lo + 1
			}
			s.bars(rows, lo, hi)
		},
		keys:   keys,
		height: height,
		body: func(c draw.Canvas) {
			for i, p := range each {
				cell := tile(c, rows, columns, i, 10)
				tileTitle(c, cell, panels[i].Title)
				sty := style(tickSize, faint)
				sty.YAlign, sty.XAlign = text.YTop, text.XLeft
				at := vg.Point{X: cell.Min.X + 4, Y: cell.Max.Y - 1.3*textSize}
				c.FillText(sty, at, fit(panels[i].Note, sty, cell.Size().X-4))
				p.Draw(draw.Crop(cell, 0, 0, 0, -3*textSize))
			}
		},
	}, nil
}

// everyOther leaves out the labels between.
func everyOther(ticks plot.ConstantTicks) plot.ConstantTicks {
	if len(ticks) <= 4 {
		return ticks
	}
	out := slices.Clone(ticks)
	for i := 1; i < len(out); i += 2 {
		out[i].Label = " " // a tick without any would be a minor one
	}
	return out
}

// fitted are the points that the line is through.
func (p ScatterPanel) fitted() []ScatterPoint {
	var published []ScatterPoint
	for _, pt := range p.Points {
		if pt.Published {
			published = append(published, pt)
		}
	}
	if published == nil {
		return p.Points
	}
	return published
}

// leastSquares is the line y = a + b·x nearest to the points; false where there is none.
func leastSquares(points []ScatterPoint) (a, b float64, ok bool) {
	n := float64(len(points))
	if n < 3 {
		return 0, 0, false
	}
	var mx, my, xx, xy, yy float64
	for _, pt := range points {
		mx += pt.X / n
		my += pt.Y / n
	}
	for _, pt := range points {
		xx += (pt.X - mx) * (pt.X - mx)
		xy += (pt.X - mx) * (pt.Y - my)
		yy += (pt.Y - my) * (pt.Y - my)
	}
	if tiny := 1e-18 * (1 + mx*mx + my*my); xx < tiny || yy < tiny {
		return 0, 0, false
	}
	b = xy / xx
	return my - b*mx, b, true
}

// scattered draws a panel.
type scattered struct {
	ScatterPanel
	groups []string
	named  bool
}

func (sc scattered) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	names := labels{alone: true}
	if a, b, ok := leastSquares(sc.fitted()); ok {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, pt := range sc.fitted() {
			lo, hi = math.Min(lo, pt.X), math.Max(hi, pt.X)
		}
		l := []vg.Point{{X: tx(lo), Y: ty(a + b*lo)}, {X: tx(hi), Y: ty(a + b*hi)}}
		c.StrokeLines(line(faint, lineWidth*0.8, 3, 2), c.ClipLinesXY(l)...)
		names.line(l...)
	}
	var own, published []ScatterPoint
	for _, pt := range sc.Points {
		if pt.Published {
			published = append(published, pt)
		} else {
			own = append(own, pt)
		}
	}
	place := func(pt ScatterPoint) vg.Point { return vg.Point{X: tx(pt.X), Y: ty(pt.Y)} }
	for _, pt := range published {
		drawShape(c, 0, place(pt), faint, false)
	}
	for _, pt := range own { // above the published, and named before them
		g := slices.Index(sc.groups, pt.Group)
		drawShape(c, g, place(pt), familyColors[g], true)
		names.point(place(pt), pt.Name)
	}
	for _, pt := range published {
		names.point(place(pt), pt.Name)
	}
	if sc.named {
		names.draw(c)
	}
}
