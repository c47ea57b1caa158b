package plots

import (
	"fmt"
	"math"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A CalibratedToken is a token with its raw probability in (0, 1] or 0.
type CalibratedToken struct {
	Name string
	P    float64
}

// Calibration is the map of Eq. 4 for one distribution.
type Calibration struct {
	Title   string
	C       float64           // the offset, in nats, at least 0
	Nucleus int               // number of tokens in the nucleus; 0 if none is used
	Least   float64           // raw probability of the least probable of them; 0 where it is not told
	Tokens  []CalibratedToken // to be marked on the curve, up to 24
}

// NewCalibration draws the event probability σ(logit(P) + C) over the raw probability
// P on a logarithmic axis, beside the raw calibration, C = 0. An event is more probable
// than not where P > σ(−C), about one in eᶜ: that part of the axis is shaded. The nucleus is what lies
// to the right of a vertical line. The tokens are marked on the curve.
func NewCalibration(d Calibration) (*Figure, error) {
	const most = 24
	if err := finite(d.C, "drawing a calibration: C"); err != nil {
		return nil, err
	}
	switch {
	case d.C < 0 || d.C > 100:
		return nil, fmt.Errorf("drawing a calibration: C is %g; an entropy or the logarithm of a size lies between 0 and 100", d.C)
	case d.Nucleus < 0:
		return nil, fmt.Errorf("drawing a calibration: a nucleus of %d tokens is not possible", d.Nucleus)
	case !(d.Least >= 0 && d.Least <= 1) || d.Least > 0 && d.Nucleus == 0:
		return nil, fmt.Errorf("drawing a calibration: %g is no probability of a token in a nucleus of %d", d.Least, d.Nucleus)
	case len(d.Tokens) > most:
		return nil, fmt.Errorf("drawing a calibration: %d tokens are too many for one figure; the most is %d", len(d.Tokens), most)
	}
	edge := -math.Log1p(math.Exp(d.C)) / math.Ln10 // log₁₀ σ(−C)
	least := math.Min(-4, edge-2)
	if d.Least > 0 {
		least = math.Min(least, math.Log10(d.Least))
	}
	marks := make([]curveMark, len(d.Tokens))
	zero := false
	for i, t := range d.Tokens {
		p, err := probability(t.P, fmt.Sprintf("drawing a calibration: the probability of token %d (%s)", i+1, printable(t.Name)))
		if err != nil {
			return nil, err
		}
		if p == 0 {
			zero = true
		} else {
			least = math.Min(least, math.Log10(p))
		}
		marks[i] = curveMark{t.Name, math.Log10(p), calibrated(math.Log10(p), d.C)}
	}

	p := newPlot()
	logAxis(&p.X, least, zero)
	p.X.Label.Text = "raw probability P of the token"
	probabilityAxis(&p.Y)
	p.Y.Max = 1.13 // the shaded region's name is written above 1
	p.Y.Label.Text = "event probability"
	p.Add(plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, _ := p.Transforms(&c)
		x := tx(edge)
		c.FillPolygon(pale, []vg.Point{{X: x, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: x, Y: c.Max.Y}})
		sty := style(textSize, blue)
		sty.XAlign, sty.YAlign = text.XRight, text.YTop
		label := "above ½: P > " + number(math.Pow(10, edge))
		if sty.Width(label) > c.Max.X-x-6 { // the region is narrow: write to its left
			c.FillText(sty, vg.Point{X: x - 4, Y: c.Max.Y - 2}, label)
		} else {
			c.FillText(sty, vg.Point{X: c.Max.X - 4, Y: c.Max.Y - 2}, label)
		}
	}), grid{}, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, ty := p.Transforms(&c)
		curve := func(offset float64, sty draw.LineStyle) {
			const points = 300
			var l []vg.Point
			for i := 0; i <= points; i++ {
				x := p.X.Min * (1 - float64(i)/points)
				l = append(l, vg.Point{X: tx(x), Y: ty(calibrated(x, offset))})
			}
			c.StrokeLines(sty, l)
		}
		if d.Least > 0 {
			x := tx(math.Log10(d.Least))
			c.StrokeLines(line(ink, lineWidth*0.6), []vg.Point{{X: x, Y: c.Min.Y}, {X: x, Y: c.Max.Y}})
		}
		curve(0, line(faint, lineWidth*0.8, 3, 2))
		curve(d.C, line(blue, lineWidth))
		drawMarks(c, p, marks, func(x vg.Length) vg.Length {
			share := float64((x - c.Min.X) / c.Size().X)
			return ty(calibrated(p.X.Min+share*(p.X.Max-p.X.Min), d.C))
		})
	}))
	keys := []key{{label: fmt.Sprintf("C = %.2f", d.C), color: blue, mark: stroke}, {label: "raw, C = 0", color: faint, mark: dashed}}
	if nucleus := d.nucleus(); nucleus != "" && d.Least > 0 {
		keys = append(keys, key{label: nucleus, color: ink, mark: stroke})
	} else if nucleus != "" {
		keys[0].label += ", " + nucleus
	}
	return &Figure{
		title: d.Title,
		text: func(s *sketch) {
			var rows []textBar
			for i, m := range marks {
				rows = append(rows, textBar{label: m.name, value: Exactly(m.y), after: fmt.Sprintf("%s, raw %s", number(m.y), number(d.Tokens[i].P))})
			}
			s.bars(rows, 0, 1)
			note := fmt.Sprintf("  C = %.2f; above ½: P > %s", d.C, number(math.Pow(10, edge)))
			if nucleus := d.nucleus(); nucleus != "" {
				note += "; " + nucleus
			}
			s.note(note)
		},
		keys:   keys,
		height: 2.9*vg.Inch + vg.Length(max(0, len(marks)-8))*markGap,
		body:   func(c draw.Canvas) { p.Draw(c) },
	}, nil
}

// nucleus says how large the nucleus is, and where it ends.
func (d Calibration) nucleus() string {
	switch {
	case d.Nucleus == 0:
		return ""
	case d.Least == 0:
		return fmt.Sprintf("nucleus of %d tokens", d.Nucleus)
	}
	return fmt.Sprintf("nucleus: %d tokens, P ≥ %s", d.Nucleus, number(d.Least))
}

// calibrated returns σ(logit(P) + c) for P = 10ˣ.
func calibrated(x, c float64) float64 {
	l := x * math.Ln10
	if l >= 0 {
		return 1
	}
	return 1 / (1 + math.Exp(math.Log(-math.Expm1(l))-l-c))
}

type curveMark struct {
	name string
	x, y float64 // log₁₀ P, event probability
}

const markGap = 1.25 * textSize // between the names of marked tokens

// drawMarks draws the marked tokens. The curve rises to the right, so that all is
// free above it and to its left: the names go there, pushed apart where they would
// overlap, and joined to their marks. curve gives its height.
func drawMarks(c draw.Canvas, p *plot.Plot, marks []curveMark, curve func(x vg.Length) vg.Length) {
	tx, ty := p.Transforms(&c)
	marks = append([]curveMark(nil), marks...)
	sort.SliceStable(marks, func(i, j int) bool { return marks[i].y < marks[j].y })
	sty := style(textSize, ink)
	sty.YAlign = text.YCenter
	const offset = vg.Length(12)
	var points, labels []vg.Point // labels have their left ends here
	var names []string
	for _, m := range marks {
		at := vg.Point{X: tx(math.Max(m.x, p.X.Min)), Y: ty(m.y)}
		value := "  " + number(m.y)
		name := fit(m.name, sty, 0.45*columnWidth) + value
		width := sty.Width(name)
		// Without room on the left a name starts at the edge, above the curve.
		left := max(at.X-offset-width, c.Min.X+3)
		label := vg.Point{X: left, Y: max(at.Y, curve(min(left+width, c.Max.X))+0.7*textSize)}
		points, labels, names = append(points, at), append(labels, label), append(names, name)
	}
	ys := spread(labels, markGap, c.Min.Y+0.8*markGap, c.Max.Y-1.8*markGap)
	for i, at := range points {
		from := vg.Point{X: labels[i].X + sty.Width(names[i]) + 2, Y: ys[i]}
		if from.X > at.X { // the name is above the mark
			from = vg.Point{X: at.X, Y: ys[i] - 0.6*textSize}
		}
		c.StrokeLines(line(faint, 0.5), []vg.Point{from, at})
		c.FillText(sty, vg.Point{X: labels[i].X, Y: ys[i] + 0.5}, names[i])
	}
	for _, at := range points {
		c.DrawGlyph(draw.GlyphStyle{Color: blue, Radius: 2.8, Shape: draw.CircleGlyph{}}, at)
	}
}

// spread returns heights near those of the points, which ascend, at least gap apart
// and within the bounds as far as there is room.
func spread(points []vg.Point, gap, lo, hi vg.Length) []vg.Length {
	ys := make([]vg.Length, len(points))
	for i, p := range points {
		ys[i] = max(p.Y, lo)
		if i > 0 {
			ys[i] = max(ys[i], ys[i-1]+gap)
		}
	}
	for i := len(ys) - 1; i >= 0; i-- {
		if i == len(ys)-1 {
			ys[i] = min(ys[i], hi)
		} else {
			ys[i] = min(ys[i], ys[i+1]-gap)
		}
	}
	return ys
}
