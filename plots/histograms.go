package plots

import (
	"fmt"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Histograms are the scores of several models on several data sets.
type Histograms struct {
	Title   string
	Rows    []string      // models, 1 to 12
	Columns []string      // data sets, 1 to 6
	Rho     [][][]float64 // [row][column]: the scores; none where the model was not measured
	Count   [][][]int     // how often each of them occurs; nil where each does once
}

// NewHistograms draws a grid of histograms of ρ as Figures 3 to 6 of the paper do: a row for each
// model and a column for each data set, red where inconsistent, blue where consistent, a vertical line
// at the mean, CAcc above each. A column's histograms share their horizontal axis.
func NewHistograms(d Histograms) (*Figure, error) {
	const mostRows, mostColumns = 12, 6
	if len(d.Rows) == 0 || len(d.Rows) > mostRows || len(d.Columns) == 0 || len(d.Columns) > mostColumns {
		return nil, fmt.Errorf("drawing histograms of ρ: %d rows of %d columns; there must be 1 to %d of 1 to %d", len(d.Rows), len(d.Columns), mostRows, mostColumns)
	}
	if len(d.Rho) != len(d.Rows) {
		return nil, fmt.Errorf("drawing histograms of ρ: scores of %d rows for %d", len(d.Rho), len(d.Rows))
	}
	if d.Count != nil && len(d.Count) != len(d.Rows) {
		return nil, fmt.Errorf("drawing histograms of ρ: counts of %d rows for %d", len(d.Count), len(d.Rows))
	}
	least := make([]float64, len(d.Columns))
	some := false
	for r, row := range d.Rho {
		if len(row) != len(d.Columns) {
			return nil, fmt.Errorf("drawing histograms of ρ: row %d has %d columns, not %d", r+1, len(row), len(d.Columns))
		}
		for k, rho := range row {
			if len(rho) == 0 {
				continue
			}
			some = true
			low, err := lowest(rho, fmt.Sprintf("drawing histograms of ρ: %s, %s", printable(d.Rows[r]), printable(d.Columns[k])))
			if err != nil {
				return nil, err
			}
			least[k] = math.Min(least[k], low)
			if d.Count != nil && (len(d.Count[r]) != len(row) || len(d.Count[r][k]) != len(rho)) {
				return nil, fmt.Errorf("drawing histograms of ρ: %s, %s has not as many counts as scores", printable(d.Rows[r]), printable(d.Columns[k]))
			}
		}
	}
	if !some {
		return nil, fmt.Errorf("drawing histograms of ρ: there are no scores")
	}
	each := make([]*plot.Plot, 0, len(d.Rows)*len(d.Columns))
	for r, row := range d.Rho {
		for k, rho := range row {
			each = append(each, smallHistogram(rho, d.counts(r, k), least[k]))
		}
	}
	heads := make([][]string, len(d.Columns))
	head := 0.8 * tickSize
	for k, name := range d.Columns {
		heads[k] = wrap(name, style(tickSize, ink), (columnWidth-2*margin)/vg.Length(len(d.Columns))-4, 2)
		head = max(head, vg.Length(len(heads[k]))*1.2*tickSize+0.8*tickSize)
	}
	return &Figure{
		title:  d.Title,
		text:   func(s *sketch) { d.text(s, least) },
		keys:   []key{{label: "inconsistent, ρ ≤ 0", color: red, mark: box}, {label: "consistent", color: blue, mark: box}, {label: "mean", color: ink, mark: stroke}},
		note:   "Each is labelled with its CAcc; a column shares its axis of the consistency score ρ.",
		height: vg.Length(len(d.Rows))*1.15*vg.Inch + head,
		body: func(c draw.Canvas) {
			below := draw.Crop(c, 0, 0, 0, -head)
			sty := style(tickSize, ink)
			sty.XAlign, sty.YAlign = text.XCenter, text.YTop
			for k := range d.Columns {
				cell := tile(below, 1, len(d.Columns), k, 8)
				for i, l := range heads[k] {
					c.FillText(sty, vg.Point{X: (cell.Min.X + cell.Max.X) / 2, Y: c.Max.Y - vg.Length(i)*1.2*tickSize}, l)
				}
			}
			sty = style(textSize, ink)
			sty.YAlign = text.YTop
			for r, name := range d.Rows {
				row := tile(below, len(d.Rows), 1, r, 4)
				c.FillText(sty, vg.Point{X: row.Min.X, Y: row.Max.Y}, fit(name, sty, row.Size().X))
				row = draw.Crop(row, 0, 0, 0, -1.4*textSize)
				for k := range d.Columns {
					if p := each[r*len(d.Columns)+k]; p != nil {
						p.Draw(tile(row, 1, len(d.Columns), k, 8))
					}
				}
			}
		},
	}, nil
}

// counts says how often each score of a model on a data set occurs.
func (d Histograms) counts(row, column int) []int {
	if d.Count == nil {
		return nil
	}
	return d.Count[row][column]
}

// text draws a line for each model, with a small histogram and CAcc for each data set; data sets for which
// there is no room go below.
func (d Histograms) text(s *sketch, least []float64) {
	names := 0
	for _, r := range d.Rows {
		names = max(names, runewidth.StringWidth(printable(r)))
	}
	names = min(names, s.width/4)
	const narrowest = 5 // a column's width
	side := min(len(d.Columns), max(1, (s.width-names-2)/(narrowest+1)))
	width := max(narrowest, min(24, (s.width-names-2)/side-1))
	pad := func(text string, width int) string {
		text = cut(printable(text), width)
		return text + strings.Repeat(" ", width-runewidth.StringWidth(text))
	}
	for from := 0; from < len(d.Columns); from += side {
		to := min(from+side, len(d.Columns))
		head := "  " + strings.Repeat(" ", names)
		for _, c := range d.Columns[from:to] {
			head += " " + pad(c, width)
		}
		s.note(head)
		for r, name := range d.Rows {
			line := "  " + pad(name, names)
			for k := from; k < to; k++ {
				rho := d.Rho[r][k]
				cell := strings.Repeat(" ", width)
				if len(rho) > 0 {
					b := bin(rho, d.counts(r, k), least[k], 0.05)
					label := fmt.Sprintf("%.0f%%", b.accuracy())
					if cell = pad(label, width); width >= 8 { // there is room for more than the number
						cell = s.spark(b, width-5) + " " + pad(label, 4)
					}
				}
				line += " " + cell
			}
			s.line(line)
		}
	}
	s.note("  percentages are CAcc; red is ρ ≤ 0, on the left")
}

// smallHistogram is a histogram without a vertical axis, or nil without scores.
func smallHistogram(rho []float64, counts []int, least float64) *plot.Plot {
	if len(rho) == 0 {
		return nil
	}
	b := bin(rho, counts, least, 0.1)
	p := newPlot()
	p.X.Min, p.X.Max = b.min(), 1
	p.X.Tick.Label.Font.Size = 6.5
	p.X.Tick.Length = 2
	p.X.Padding = 0
	ticks := plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 1, Label: "1"}}
	if low := math.Ceil(p.X.Min + 1e-9); low < -0.3*(1-p.X.Min)/2 {
		if span := 1 - p.X.Min; span > 12 { // 0 and 1 would touch
			ticks = ticks[:1]
		}
		ticks = append(ticks, plot.Tick{Value: low, Label: minus(fmt.Sprintf("%g", low))})
	}
	p.X.Tick.Marker = ticks
	p.Y.Min, p.Y.Max = 0, float64(b.tallest())*1.35
	p.Y.Tick.Marker = plot.ConstantTicks{}
	p.Y.LineStyle.Width = 0
	p.Y.Padding = 0
	p.Add(b, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, _ := p.Transforms(&c)
		x := tx(b.mean)
		c.StrokeLines(line(ink, 1.1), []vg.Point{{X: x, Y: c.Min.Y}, {X: x, Y: c.Max.Y}})
		sty := style(tickSize, ink)
		sty.YAlign = text.YTop
		label := fmt.Sprintf("%.1f %%", b.accuracy())
		// On the side of the line where there is more room.
		at := vg.Point{X: c.Min.X + 1, Y: c.Max.Y}
		if x-c.Min.X < c.Max.X-x {
			sty.XAlign, at.X = text.XRight, c.Max.X-1
		}
		c.FillText(sty, at, label)
	}))
	return p
}
