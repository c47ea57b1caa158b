package plots

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Preferences are a model's judgements of the pairs of some items, 2 to 24, under a relation and its negation.
type Preferences struct {
	Title string
	Items []string
	// Relation[i][j] is the probability in [0, 1] of the label A, which names the item shown first, for item i
	// shown first and j second; NaN where the pair was not judged, and for i = j. Negated is the same for the
	// negated question; nil where it was not asked.
	Relation, Negated [][]float64
}

var (
	labelA = color.NRGBA{0x2b, 0x6c, 0xb0, 255}
	labelB = color.NRGBA{0xd9, 0x8e, 0x04, 255}
	purple = color.NRGBA{0x7b, 0x3f, 0xa8, 255}
)

// NewPreferences draws the two matrices of judgements side by side, as Figure 3 of the paper on preference
// consistency does: a row for the item that is shown first and a column for the second, the stronger the
// colour of a label the more probable it is. Pairs whose winner changes with the order, both labels being the
// same, are ringed in red and, where they are few, linked. Judgements that the negated question does not turn
// round are ringed in dashed purple in both matrices.
func NewPreferences(d Preferences) (*Figure, error) {
	const most = 24
	n := len(d.Items)
	if n < 2 || n > most {
		return nil, fmt.Errorf("drawing preferences: %d items; there must be 2 to %d", n, most)
	}
	for _, m := range []struct {
		name string
		rows [][]float64
	}{{"the relation", d.Relation}, {"the negated relation", d.Negated}} {
		if m.rows == nil && m.name != "the relation" {
			continue
		}
		if len(m.rows) != n {
			return nil, fmt.Errorf("drawing preferences: %s has %d rows for %d items", m.name, len(m.rows), n)
		}
		for i, row := range m.rows {
			if len(row) != n {
				return nil, fmt.Errorf("drawing preferences: row %d of %s has %d columns for %d items", i+1, m.name, len(row), n)
			}
			for j, p := range row {
				if p != p {
					continue
				}
				if i == j {
					return nil, fmt.Errorf("drawing preferences: %s has a judgement of item %d against itself", m.name, i+1)
				}
				if _, err := probability(p, fmt.Sprintf("drawing preferences: %s of items %d and %d", m.name, i+1, j+1)); err != nil {
					return nil, err
				}
			}
		}
	}
	panels := []preferencePanel{{"relation", d.Relation}}
	if d.Negated != nil {
		panels = append(panels, preferencePanel{"negated relation", d.Negated})
	}
	keys := []key{{label: "A, the first", color: labelA, mark: box}, {label: "B, the second", color: labelB, mark: box}, {label: "not commutative", color: red, mark: ring}}
	if d.Negated != nil {
		keys = append(keys, key{label: "not turned round by negation", color: purple, mark: dashed})
	}
	return &Figure{
		title:  d.Title,
		text:   func(s *sketch) { d.text(s) },
		keys:   keys,
		note:   "Rows: the item shown first; columns: the second. Pale: about as probable as not. Blank: not judged.",
		height: 2.95 * vg.Inch,
		body: func(c draw.Canvas) {
			for i, p := range panels {
				d.draw(tile(c, 1, 2, i, 16), p)
			}
		},
	}, nil
}

type preferencePanel struct {
	title string
	rows  [][]float64
}

func namesFirst(p float64) bool { return p >= 0.5 }

// changes reports whether a pair's winner changes with the order.
func (d Preferences) changes(m [][]float64, i, j int) bool {
	p, q := m[i][j], m[j][i]
	return p == p && q == q && namesFirst(p) == namesFirst(q)
}

// unturned reports whether the negated question has the same label.
func (d Preferences) unturned(i, j int) bool {
	if d.Negated == nil {
		return false
	}
	p, q := d.Relation[i][j], d.Negated[i][j]
	return p == p && q == q && namesFirst(p) == namesFirst(q)
}

func (d Preferences) draw(c draw.Canvas, panel preferencePanel) {
	n := len(d.Items)
	title := style(textSize, ink)
	title.YAlign = text.YTop
	c.FillText(title, vg.Point{X: c.Min.X, Y: c.Max.Y}, panel.title)
	names := style(tickSize, ink)
	names.YAlign = text.YCenter
	longest := vg.Length(0)
	for _, item := range d.Items {
		longest = max(longest, min(names.Width(printable(item)), 0.22*c.Size().X))
	}
	left, top := longest+4, 1.6*textSize+1.4*tickSize
	cell := min((c.Size().X-left)/vg.Length(n), (c.Size().Y-top)/vg.Length(n))
	x := func(j int) vg.Length { return c.Min.X + left + cell*vg.Length(j) }
	y := func(i int) vg.Length { return c.Max.Y - top - cell*vg.Length(i+1) }
	middle := func(i, j int) vg.Point { return vg.Point{X: x(j) + cell/2, Y: y(i) + cell/2} }
	for i, item := range d.Items {
		sty := names
		sty.XAlign = text.XRight
		c.FillText(sty, vg.Point{X: c.Min.X + left - 3, Y: y(i) + cell/2}, fit(item, sty, longest))
		sty.XAlign, sty.YAlign = text.XCenter, text.YBottom
		if label := fit(item, sty, cell-2); sty.Width(printable(item)) <= cell-2 {
			c.FillText(sty, vg.Point{X: x(i) + cell/2, Y: c.Max.Y - top + 2}, label)
		}
	}
	for i, row := range panel.rows {
		for j, p := range row {
			at := vg.Rectangle{Min: vg.Point{X: x(j), Y: y(i)}, Max: vg.Point{X: x(j) + cell, Y: y(i) + cell}}
			fill := color.Color(color.Gray{0xf4})
			if i == j {
				fill = color.Gray{0xd8}
			}
			if p == p {
				fill = strength(p)
			}
			const gap = 0.4
			at.Min.X, at.Min.Y, at.Max.X, at.Max.Y = at.Min.X+gap, at.Min.Y+gap, at.Max.X-gap, at.Max.Y-gap
			c.SetColor(fill)
			c.Fill(at.Path())
		}
	}
	// Links of many pairs would hide what they lead to.
	linked := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			if d.changes(panel.rows, i, j) {
				linked++
			}
		}
	}
	for i := range n {
		for j := range n {
			if i != j && d.changes(panel.rows, i, j) {
				c.SetLineStyle(line(white, 2))
				c.Stroke(round(middle(i, j), 0.42*cell))
				c.SetLineStyle(line(red, 1.1))
				c.Stroke(round(middle(i, j), 0.42*cell))
				if i < j && n <= 6 && linked <= n {
					a, b := middle(i, j), middle(j, i)
					away := vg.Point{X: a.X - b.X, Y: a.Y - b.Y}
					length := vg.Length(math.Hypot(float64(away.X), float64(away.Y)))
					step := away.Scale(0.42 * cell / length)
					c.StrokeLines(line(red, 0.7), []vg.Point{a.Sub(step), b.Add(step)})
				}
			}
			if i != j && d.unturned(i, j) {
				ring := round(middle(i, j), 0.33*cell)
				c.SetLineStyle(line(white, 2.4)) // or it would not be seen on a dark ground
				c.Stroke(ring)
				c.SetLineStyle(line(purple, 1.1, 2, 1.4))
				c.Stroke(ring)
			}
		}
	}
	if cell < 10 {
		return
	}
	for i, row := range panel.rows {
		for j, p := range row {
			if p != p {
				continue
			}
			sty := style(min(textSize, 0.55*cell), ink)
			if math.Abs(p-0.5) > 0.3 {
				sty.Color = white
			}
			sty.XAlign, sty.YAlign = text.XCenter, text.YCenter
			label := "B"
			if namesFirst(p) {
				label = "A"
			}
			c.FillText(sty, middle(i, j), label)
		}
	}
}

// strength is a label's colour, in 32 steps, the paler the less sure it is.
func strength(p float64) color.Color {
	to := labelB
	if namesFirst(p) {
		to = labelA
	}
	const steps = 32
	s := math.Round(steps*(0.12+0.88*math.Min(1, 2*math.Abs(p-0.5)))) / steps
	mix := func(x uint8) uint8 { return uint8(math.Round(255 + s*(float64(x)-255))) }
	return color.NRGBA{mix(to.R), mix(to.G), mix(to.B), 255}
}

func round(at vg.Point, r vg.Length) vg.Path {
	var path vg.Path
	path.Move(vg.Point{X: at.X + r, Y: at.Y})
	path.Arc(at, r, 0, 2*math.Pi)
	path.Close()
	return path
}

// text has a bar for each score that the marks count.
func (d Preferences) text(s *sketch) {
	share := func(of func(i, j int) (hit, counts bool)) (hits, all int) {
		for i := range d.Items {
			for j := range d.Items {
				if i == j {
					continue
				}
				if hit, counts := of(i, j); counts {
					all++
					if hit {
						hits++
					}
				}
			}
		}
		return hits, all
	}
	var rows []textBar
	add := func(label string, hits, all int) {
		if all > 0 {
			v := float64(hits) / float64(all)
			rows = append(rows, textBar{label: label, value: Exactly(v), color: ansiBlue, after: fmt.Sprintf("%.1f %% of %d", 100*v, all)})
		}
	}
	for _, m := range []preferencePanel{{"", d.Relation}, {", negated", d.Negated}} {
		if m.rows == nil {
			continue
		}
		hits, all := share(func(i, j int) (bool, bool) { p := m.rows[i][j]; return p >= 0.5, p == p })
		add("A"+m.title, hits, all)
		hits, all = share(func(i, j int) (bool, bool) {
			p, q := m.rows[i][j], m.rows[j][i]
			return !d.changes(m.rows, i, j), i < j && p == p && q == q
		})
		add("commutative"+m.title, hits, all)
	}
	if d.Negated != nil {
		hits, all := share(func(i, j int) (bool, bool) {
			p, q := d.Relation[i][j], d.Negated[i][j]
			return !d.unturned(i, j), p == p && q == q
		})
		add("turned round by negation", hits, all)
	}
	s.bars(rows, 0, 1)
}
