package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A TransitivityPoint is s_tran(K) at one K.
type TransitivityPoint struct {
	K     int     // 3 or more
	Value float64 // in [0, 1]
	Bar   Range   // ends of the error bar; equal, or both 0, for none
}

// A TransitivityCurve is one model's, in the order of K.
type TransitivityCurve struct {
	Model  string
	Points []TransitivityPoint
}

// NewTransitivity draws s_tran(K), the share of sub-graphs of K items that have no cycle, over K: 1 to 8
// curves, above that of random judgements, K!/2^(K(K−1)/2).
func NewTransitivity(title string, curves []TransitivityCurve) (*Figure, error) {
	if len(curves) == 0 || len(curves) > mostFamilies {
		return nil, fmt.Errorf("drawing transitivity: %d curves; there must be 1 to %d", len(curves), mostFamilies)
	}
	const mostK = 1000
	last := 3
	keys := []key{}
	for i, curve := range curves {
		if len(curve.Points) == 0 {
			return nil, fmt.Errorf("drawing transitivity: the curve of %s has no point", printable(curve.Model))
		}
		for k, pt := range curve.Points {
			what := fmt.Sprintf("drawing transitivity: point %d of %s", k+1, printable(curve.Model))
			if pt.K < 3 || pt.K > mostK || k > 0 && pt.K <= curve.Points[k-1].K {
				return nil, fmt.Errorf("%s is of K = %d; K is 3 to %d and grows along the curve", what, pt.K, mostK)
			}
			if _, err := probability(pt.Value, what+": the share"); err != nil {
				return nil, err
			}
			if _, err := pt.Bar.probability(what + ": the error bar"); err != nil {
				return nil, err
			}
			last = max(last, pt.K)
		}
		keys = append(keys, key{label: curve.Model, color: familyColors[i], mark: stroke, glyph: i + 1, full: true})
	}
	keys = append(keys, key{label: "random judgements", color: faint, mark: dashed})
	p := newPlot()
	p.X.Label.Text = "K"
	p.X.Min, p.X.Max = 2.8, math.Max(float64(last), 4)+0.2
	p.X.Tick.Marker = integers{}
	p.Y.Label.Text = "s_tran(K)"
	probabilityAxis(&p.Y)
	p.Y.Min, p.Y.Max = -0.03, 1.03
	p.Add(grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		var chance []vg.Point
		share := 1.0 // the k-th item has k places, and k − 1 pairs
		for k := 2; k <= max(last, 4); k++ {
			share *= float64(k) * math.Ldexp(1, 1-k)
			if k >= 3 {
				chance = append(chance, vg.Point{X: tx(float64(k)), Y: ty(share)})
			}
		}
		c.StrokeLines(line(faint, lineWidth*0.8, 3, 2), chance)
		for i, curve := range curves {
			// Curves are set apart a little, so that their bars are seen.
			off := vg.Length(float64(i)-float64(len(curves)-1)/2) * 2
			var l []vg.Point
			for _, pt := range curve.Points {
				at := vg.Point{X: tx(float64(pt.K)) + off, Y: ty(pt.Value)}
				l = append(l, at)
				if pt.Bar.Lo < pt.Bar.Hi {
					lo, hi := ty(pt.Bar.Lo), ty(pt.Bar.Hi)
					c.StrokeLines(line(familyColors[i], 0.8), []vg.Point{{X: at.X, Y: lo}, {X: at.X, Y: hi}},
						[]vg.Point{{X: at.X - 2.5, Y: lo}, {X: at.X + 2.5, Y: lo}}, []vg.Point{{X: at.X - 2.5, Y: hi}, {X: at.X + 2.5, Y: hi}})
				}
			}
			if len(l) > 1 {
				c.StrokeLines(line(familyColors[i], lineWidth), l)
			}
			for _, at := range l {
				drawShape(c, i, at, familyColors[i], true)
			}
		}
	}))
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for _, curve := range curves {
				rows = append(rows, textBar{label: curve.Model, heading: true})
				for _, pt := range curve.Points {
					rows = append(rows, textBar{label: fmt.Sprintf("K = %d", pt.K), value: Exactly(pt.Value), color: ansiBlue, after: fmt.Sprintf("%.1f %%", 100*pt.Value)})
				}
			}
			s.bars(rows, 0, 1)
		},
		keys:   keys,
		height: 2.7 * vg.Inch,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}
