package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A FrontierPoint is what was measured of one model.
type FrontierPoint struct {
	Model      string
	Commitment float64 // E[c], in [0, 2]
	Violation  float64 // E[v_neg], in [0, 1]
	Coverage   float64 // share of examples that are answered, in [0, 1]
	Measured   bool    // one's own measurement: filled; a published one is hollow
}

// NewFrontier draws the contradiction E[v_neg] of models over their commitment E[c], each a point whose area
// grows with coverage, above the line v_neg = max(0, c − 1) that no model can be below (Coherence Under
// Commitment, Theorem B.1). There are 1 to 40 points.
func NewFrontier(title string, points []FrontierPoint) (*Figure, error) {
	const most = 40
	if len(points) == 0 || len(points) > most {
		return nil, fmt.Errorf("drawing a frontier: %d points; there must be 1 to %d", len(points), most)
	}
	published, measured := false, false
	for i, pt := range points {
		what := func(s string) string {
			return fmt.Sprintf("drawing a frontier: %s of point %d (%s)", s, i+1, printable(pt.Model))
		}
		if !(pt.Commitment >= 0 && pt.Commitment <= 2) {
			return nil, fmt.Errorf("%s is %g; E[c] lies between 0 and 2", what("the commitment"), pt.Commitment)
		}
		if _, err := probability(pt.Coverage, what("the coverage")); err != nil {
			return nil, err
		}
		if _, err := probability(pt.Violation, what("the violation")); err != nil {
			return nil, err
		}
		published, measured = published || !pt.Measured, measured || pt.Measured
	}
	p := newPlot()
	p.X.Label.Text = "commitment E[c]"
	p.X.Min, p.X.Max = -0.04, 2.04
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}, {Value: 1.5, Label: "1.5"}, {Value: 2, Label: "2"}}
	p.Y.Label.Text = "contradiction E[v_neg]"
	probabilityAxis(&p.Y)
	p.Y.Min, p.Y.Max = -0.06, 1.06
	p.Add(grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		bend := []vg.Point{{X: tx(0), Y: ty(0)}, {X: tx(1), Y: ty(0)}, {X: tx(2), Y: ty(1)}}
		c.StrokeLines(line(faint, lineWidth*0.8, 3, 2), bend)
		names := labels{alone: true}
		names.line(bend...)
		for _, pt := range points {
			at := vg.Point{X: tx(pt.Commitment), Y: ty(pt.Violation)}
			circle(c, at, radius(pt.Coverage), pt.Measured)
			names.point(at, pt.Model)
			names.obstacles = append(names.obstacles, obstacle{around(at, radius(pt.Coverage)+1), 2 * harmPoint})
		}
		names.draw(c)
	}))
	keys := []key{{label: "v_neg = max(0, c − 1)", color: faint, mark: dashed}}
	if published {
		keys = append(keys, key{label: "published", color: blue, mark: ring})
	}
	if measured {
		keys = append(keys, key{label: "measured here", color: blue, mark: dot})
	}
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for _, pt := range points {
				mark := "○ "
				if pt.Measured {
					mark = "● "
				}
				rows = append(rows, textBar{label: mark + pt.Model, value: Exactly(pt.Commitment), color: ansiBlue,
					after: fmt.Sprintf("E[c] %.3f  E[v_neg] %.3f  coverage %.1f %%", pt.Commitment, pt.Violation, 100*pt.Coverage)})
			}
			s.bars(rows, 0, 2)
		},
		keys:   keys,
		note:   "The area of a point grows with coverage, the share of examples that the model answers. No model can be below the dashed line.",
		height: 3.2 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}

// radius of a point whose area grows with a share.
func radius(share float64) vg.Length { return 2.4 + 6.6*vg.Length(math.Sqrt(math.Max(0, share))) }

// circle draws a point that others may lie behind.
func circle(c draw.Canvas, at vg.Point, r vg.Length, filled bool) {
	var path vg.Path
	path.Move(vg.Point{X: at.X + r, Y: at.Y})
	path.Arc(at, r, 0, 2*math.Pi)
	path.Close()
	if filled {
		inner := blue
		inner.A = 0xa0
		c.SetColor(inner)
		c.Fill(path)
	}
	c.SetLineStyle(line(blue, 1.1))
	c.Stroke(path)
}
