package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A CoveragePoint is coverage and accuracy at one threshold τ.
type CoveragePoint struct {
	Tau      float64
	Coverage float64 // share of examples that are answered, in (0, 1]
	Accuracy float64 // share of those that is right, in [0, 1]
}

// A CoverageCurve is one model's, in the order of τ.
type CoverageCurve struct {
	Model  string
	Points []CoveragePoint
	At     float64 // the τ whose point is marked, if it is among them
}

// NewCoverage draws the accuracy of what models answer over how much they answer, as the threshold τ
// changes: 1 to 8 curves. The mark is where τ has the value At.
func NewCoverage(title string, curves []CoverageCurve) (*Figure, error) {
	if len(curves) == 0 || len(curves) > mostFamilies {
		return nil, fmt.Errorf("drawing coverage: %d curves; there must be 1 to %d", len(curves), mostFamilies)
	}
	var keys []key
	for i, curve := range curves {
		if len(curve.Points) == 0 || len(curve.Points) > 10_000 {
			return nil, fmt.Errorf("drawing coverage: the curve of %s has %d points; there must be 1 to %s", printable(curve.Model), len(curve.Points), "10,000")
		}
		for k, pt := range curve.Points {
			what := fmt.Sprintf("drawing coverage: point %d of %s: ", k+1, printable(curve.Model))
			if _, err := probability(pt.Coverage, what+"the coverage"); err != nil {
				return nil, err
			}
			if _, err := probability(pt.Accuracy, what+"the accuracy"); err != nil {
				return nil, err
			}
			if err := finite(pt.Tau, what+"τ"); err != nil {
				return nil, err
			}
		}
		keys = append(keys, key{label: curve.Model, color: familyColors[i], mark: stroke, glyph: i + 1, full: true})
	}
	p := newPlot()
	p.X.Label.Text = "coverage"
	probabilityAxis(&p.X)
	p.X.Min, p.X.Max = -0.02, 1.02
	p.Y.Label.Text = "accuracy of what is answered"
	probabilityAxis(&p.Y)
	p.Y.Min, p.Y.Max = -0.03, 1.03
	p.Add(grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		for i, curve := range curves {
			var l []vg.Point
			for _, pt := range curve.Points {
				l = append(l, vg.Point{X: tx(pt.Coverage), Y: ty(pt.Accuracy)})
			}
			if len(l) > 1 {
				c.StrokeLines(line(familyColors[i], lineWidth), l)
			}
			marked := false
			for k, pt := range curve.Points {
				if math.Abs(pt.Tau-curve.At) < 1e-9 {
					drawShape(c, i, l[k], familyColors[i], true)
					marked = true
				}
			}
			if !marked && len(l) == 1 {
				drawShape(c, i, l[0], familyColors[i], false)
			}
		}
	}))
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for _, curve := range curves {
				rows = append(rows, textBar{label: curve.Model, heading: true})
				last := math.Inf(-1)
				for k, pt := range curve.Points {
					if pt.Tau < last+0.1-1e-9 && k < len(curve.Points)-1 {
						continue
					}
					last = pt.Tau
					rows = append(rows, textBar{label: fmt.Sprintf("τ %.2f", pt.Tau), value: Exactly(pt.Accuracy), color: ansiBlue,
						after: fmt.Sprintf("%.1f %% right of %.1f %%", 100*pt.Accuracy, 100*pt.Coverage)})
				}
			}
			s.bars(rows, 0, 1)
		},
		keys:   keys,
		note:   "The marks are where the figures of the tables are measured.",
		height: 2.9 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}
