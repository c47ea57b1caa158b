package plots

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A ReliabilityBin is what was answered with a confidence in one of equally wide bins.
type ReliabilityBin struct {
	N          int     // answers
	Confidence float64 // their mean confidence, in [0, 1]
	Accuracy   float64 // share of them that is right, in [0, 1]
}

// A ReliabilityPanel is one model's diagram. Its bins divide [0, 1] equally, from below.
type ReliabilityPanel struct {
	Title string
	Bins  []ReliabilityBin // 1 to 50; those without an answer have N = 0
}

// NewReliability draws reliability diagrams, 1 to 12 side by side: for each bin of confidence a bar up to the
// share of answers that is right, blue where that is at least the mean confidence and red where the model
// is too sure of itself, with the number of answers above. A calibrated model's bars end at the diagonal.
func NewReliability(title string, panels []ReliabilityPanel) (*Figure, error) {
	if len(panels) == 0 || len(panels) > mostPanels {
		return nil, fmt.Errorf("drawing reliability: %d panels; there must be 1 to %d", len(panels), mostPanels)
	}
	for _, panel := range panels {
		if len(panel.Bins) == 0 || len(panel.Bins) > 50 {
			return nil, fmt.Errorf("drawing reliability: %s has %d bins; there must be 1 to 50", printable(panel.Title), len(panel.Bins))
		}
		for i, b := range panel.Bins {
			what := fmt.Sprintf("drawing reliability: bin %d of %s: ", i+1, printable(panel.Title))
			if b.N < 0 {
				return nil, fmt.Errorf("%sthere are %d answers", what, b.N)
			}
			if _, err := probability(b.Confidence, what+"the confidence"); err != nil {
				return nil, err
			}
			if _, err := probability(b.Accuracy, what+"the accuracy"); err != nil {
				return nil, err
			}
		}
	}
	columns := min(len(panels), 3)
	rows := (len(panels) + columns - 1) / columns
	each := make([]*plot.Plot, len(panels))
	for i, panel := range panels {
		p := newPlot()
		probabilityAxis(&p.X)
		probabilityAxis(&p.Y)
		p.Y.Max = 1.06
		p.X.Label.Text = "confidence"
		if i%columns == 0 {
			p.Y.Label.Text = "share that is right"
		}
		p.Add(grid{}, reliable(panel.Bins))
		each[i] = p
	}
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for _, panel := range panels {
				rows = append(rows, textBar{label: panel.Title, heading: true})
				n := float64(len(panel.Bins))
				for i, b := range panel.Bins {
					if b.N > 0 {
						rows = append(rows, textBar{label: fmt.Sprintf("%.2f–%.2f", float64(i)/n, float64(i+1)/n),
							value: Exactly(b.Accuracy), color: b.ansi(), after: fmt.Sprintf("%.0f %% right, %.0f %% sure, n = %d", 100*b.Accuracy, 100*b.Confidence, b.N)})
					}
				}
			}
			s.bars(rows, 0, 1)
		},
		keys:   []key{{label: "calibrated", color: faint, mark: dashed}, {label: "as sure as right, or less", color: blue, mark: box}, {label: "too sure", color: red, mark: box}},
		height: vg.Length(rows) * 2.4 * vg.Inch,
		body: func(c draw.Canvas) {
			for i, p := range each {
				cell := tile(c, rows, columns, i, 10)
				tileTitle(c, cell, panels[i].Title)
				p.Draw(draw.Crop(cell, 0, 0, 0, -1.6*textSize))
			}
		},
	}, nil
}

func (b ReliabilityBin) over() bool { return b.Accuracy < b.Confidence }

func (b ReliabilityBin) ansi() string {
	if b.over() {
		return ansiRed
	}
	return ansiBlue
}

// reliable draws the bins of a panel.
type reliable []ReliabilityBin

func (bins reliable) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	for i, b := range bins {
		if b.N == 0 {
			continue
		}
		lo, hi := float64(i)/float64(len(bins)), float64(i+1)/float64(len(bins))
		l, r := tx(lo)+0.6, tx(hi)-0.6
		col := blue
		if b.over() {
			col = red
		}
		// A bar of no height still shows that there are answers, all of them wrong.
		top := max(ty(b.Accuracy), ty(0)+1)
		c.FillPolygon(col, []vg.Point{{X: l, Y: ty(0)}, {X: r, Y: ty(0)}, {X: r, Y: top}, {X: l, Y: top}})
		sty := style(tickSize*0.8, ink)
		sty.XAlign = text.XCenter
		c.FillText(sty, vg.Point{X: (l + r) / 2, Y: top + 1.5}, fmt.Sprint(b.N))
	}
	c.StrokeLines(line(faint, lineWidth*0.8, 3, 2), []vg.Point{{X: tx(0), Y: ty(0)}, {X: tx(1), Y: ty(1)}})
}
