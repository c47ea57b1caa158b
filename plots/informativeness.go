package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An InformativePoint is a formula, or a data set's schema.
type InformativePoint struct {
	Name   string  // drawn where there are at most 24 points
	Info   float64 // informativeness in bits, at least 0
	Rho    Range   // consistency score; a range where it is not known exactly
	Middle Range   // where half of a data set's scores lie; equal, or both 0, for a single formula
	Series string  // points of one series, in their order, are joined by a line
}

// NewInformativeness draws the consistency score ρ (Eq. 5) over the informativeness
// I = −log₂ WMC₀ in bits: blue where the score is above 0, which is chance, and red where not. A
// score that may be either is grey.
func NewInformativeness(title string, points []InformativePoint) (*Figure, error) {
	const most, named = 2000, 24
	if len(points) == 0 || len(points) > most {
		return nil, fmt.Errorf("drawing informativeness: %d points; there must be 1 to %s", len(points), "2,000")
	}
	least, widest := 0.0, 0.0
	middle, undecided := false, false
	for i, pt := range points {
		what := func(s string) string {
			return fmt.Sprintf("drawing informativeness: %s of point %d (%s)", s, i+1, printable(pt.Name))
		}
		if !(pt.Info >= 0 && pt.Info <= 1e12) {
			return nil, fmt.Errorf("%s is %g; the informativeness of a formula that can hold is a number of bits from 0 on", what("the informativeness"), pt.Info)
		}
		for _, r := range []Range{pt.Rho, pt.Middle} {
			for _, x := range []float64{r.Lo, r.Hi} {
				if err := drawable(x, what("the score")); err != nil {
					return nil, err
				}
				if x > 1+1e-9 {
					return nil, fmt.Errorf("%s is %g; ρ is at most 1", what("the score"), x)
				}
				least = math.Min(least, x)
			}
			if r.Lo > r.Hi {
				return nil, fmt.Errorf("%s is the empty range %g … %g", what("the score"), r.Lo, r.Hi)
			}
		}
		widest = math.Max(widest, pt.Info)
		middle = middle || pt.Middle.Lo < pt.Middle.Hi
		undecided = undecided || pt.Rho.Lo <= 0 && pt.Rho.Hi > 0 && !pt.Rho.exact()
	}

	p := newPlot()
	p.X.Label.Text = "informativeness I in bits"
	if widest == 0 {
		widest = 1
	}
	widest = math.Max(widest, 1e-9) // below that all are at 0
	step := niceStep(widest / 8)
	var ticks plot.ConstantTicks
	for i := 0.0; i*step <= widest*1.08; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: fmt.Sprintf("%.6g", i*step)})
	}
	p.X.Tick.Marker = ticks
	p.X.Min, p.X.Max = -0.03*widest, 1.08*widest
	p.Y.Label.Text = "consistency score ρ"
	p.Y.Tick.Marker = scores{}
	p.Y.Min, p.Y.Max = least-0.06*(1-least), 1+0.06*(1-least)
	p.Add(grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		c.StrokeLines(line(ink, axisWidth), []vg.Point{{X: c.Min.X, Y: ty(0)}, {X: c.Max.X, Y: ty(0)}})
		center := func(r Range) float64 { return (r.Lo + r.Hi) / 2 }
		var names labels
		names.line(vg.Point{X: c.Min.X, Y: ty(0)}, vg.Point{X: c.Max.X, Y: ty(0)})
		at := make([]vg.Point, len(points)) // those with bars side by side
		for i, pt := range points {
			at[i] = vg.Point{X: tx(pt.Info), Y: ty(center(pt.Rho))}
			for j := 0; j < i && pt.Middle.Lo < pt.Middle.Hi; j++ {
				if d := at[j].X - at[i].X; d > -8 && d < 8 && points[j].Middle.Lo < points[j].Middle.Hi {
					at[i].X = at[j].X - 9
				}
			}
		}
		for i, pt := range points {
			if i > 0 && pt.Series != "" && pt.Series == points[i-1].Series {
				c.StrokeLines(line(prior, 1), []vg.Point{at[i-1], at[i]})
				names.line(at[i-1], at[i])
			}
		}
		for i, pt := range points {
			x := at[i].X
			if pt.Middle.Lo < pt.Middle.Hi {
				c.StrokeLines(line(prior, 5), []vg.Point{{X: x, Y: ty(pt.Middle.Lo)}, {X: x, Y: ty(pt.Middle.Hi)}})
				names.line(vg.Point{X: x, Y: ty(pt.Middle.Lo)}, vg.Point{X: x, Y: ty(pt.Middle.Hi)})
			}
			col := red
			switch {
			case pt.Rho.Lo > 0:
				col = blue
			case pt.Rho.Hi > 0:
				col = undecidedColor
			}
			if !pt.Rho.exact() {
				c.StrokeLines(line(col, 1.2), []vg.Point{{X: x, Y: ty(pt.Rho.Lo)}, {X: x, Y: ty(pt.Rho.Hi)}})
				names.line(vg.Point{X: x, Y: ty(pt.Rho.Lo)}, vg.Point{X: x, Y: ty(pt.Rho.Hi)})
			}
			c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: 3.2, Shape: draw.CircleGlyph{}}, at[i])
			if len(points) <= named {
				names.point(at[i], pt.Name)
			}
		}
		names.draw(c)
	}))
	keys := []key{{label: "consistent", color: blue, mark: dot}, {label: "inconsistent", color: red, mark: dot}}
	if undecided {
		keys = append(keys, key{label: "undecided", color: undecidedColor, mark: dot})
	}
	if middle {
		keys = append(keys, key{label: "the middle half of the scores", color: prior, mark: box})
	}
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for _, pt := range points {
				col := ansiRed
				switch {
				case pt.Rho.Lo > 0:
					col = ansiBlue
				case pt.Rho.Hi > 0:
					col = ansiYellow
				}
				name := pt.Name
				if name == "" {
					name = "·"
				}
				rows = append(rows, textBar{label: name, value: pt.Rho, color: col, after: fmt.Sprintf("ρ %s at I %.3g", pt.Rho, pt.Info)})
			}
			s.bars(rows, least, 1)
		},
		keys:   keys,
		height: 2.9 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}
