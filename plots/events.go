package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An Event is one line of a report.
type Event struct {
	Name     string
	P        Range // raw probability of the token
	EventP   Range // calibrated probability of the event (Eq. 4)
	Gradient Range // ∂WMC/∂p, in [−1, 1]: how the formula's probability answers to the event's
}

// NewEvents draws a report's events, 1 to 64: for each the raw and the calibrated
// probability, and to the right of them the gradient of the formula's probability.
// A value that is known only within bounds is solid as far as is sure and pale
// between the bounds.
func NewEvents(title string, events []Event) (*Figure, error) {
	const most = 64
	if len(events) == 0 || len(events) > most {
		return nil, fmt.Errorf("drawing events: %d of them; there must be 1 to %d", len(events), most)
	}
	names := make([]string, len(events))
	var probabilities, gradients bars
	bounds := false
	for i, e := range events {
		what := func(s string) string {
			return fmt.Sprintf("drawing events: %s of event %d (%s)", s, i+1, printable(e.Name))
		}
		raw, err := e.P.probability(what("the raw probability"))
		if err != nil {
			return nil, err
		}
		event, err := e.EventP.probability(what("the event probability"))
		if err != nil {
			return nil, err
		}
		if err := e.Gradient.slope(what("the gradient")); err != nil {
			return nil, err
		}
		names[i] = e.Name
		bounds = bounds || !raw.exact() || !event.exact() || !e.Gradient.exact()
		probabilities = append(probabilities,
			bar{row: float64(-i), up: 5, thick: 8, value: event, color: blue, label: event.String()},
			bar{row: float64(-i), up: -5, thick: 8, value: raw, color: prior, label: raw.String()},
		)
		col := blue
		if e.Gradient.Lo+e.Gradient.Hi < 0 {
			col = red
		}
		gradients = append(gradients, bar{row: float64(-i), thick: 9, value: e.Gradient, color: col, label: signed(e.Gradient)})
	}

	left := newPlot()
	rowAxis(left, names, 0.3*columnWidth)
	probabilityAxis(&left.X)
	left.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}}
	left.X.Label.Text = "probability"
	left.Add(grid{vertical: true}, probabilities)

	right := newPlot()
	rowAxis(right, make([]string, len(events)), 0)
	right.Y.Tick.Marker = plot.ConstantTicks{}
	right.Y.LineStyle.Width = 0
	right.X.Min, right.X.Max = gradients.span()
	right.X.Tick.Marker = ends(right.X.Min, right.X.Max)
	right.X.Label.Text = "∂WMC/∂p"
	right.Add(grid{vertical: true}, gradients, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, _ := p.Transforms(&c)
		c.StrokeLines(line(ink, axisWidth), []vg.Point{{X: tx(0), Y: c.Min.Y}, {X: tx(0), Y: c.Max.Y}})
	}))

	share := vg.Length(0.63) // of the width, for the probabilities
	keys := []key{
		{label: "event probability", color: blue, mark: box}, {label: "raw probability of the token", color: prior, mark: box},
		{label: "more of it helps", color: blue, mark: dot}, {label: "less of it helps", color: red, mark: dot},
	}
	if bounds {
		share = 0.58 // the gradients' labels are longer
		keys = append(keys, key{label: "pale: between the bounds", color: lighter(blue), mark: box})
	}
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for _, e := range events {
				col := ansiBlue
				if e.Gradient.Lo+e.Gradient.Hi < 0 {
					col = ansiRed
				}
				rows = append(rows, textBar{label: e.Name, value: e.EventP, after: e.EventP.String() + "  ∂WMC ", last: signed(e.Gradient), lastColor: col})
			}
			s.bars(rows, 0, 1)
		},
		keys:   keys,
		height: vg.Length(len(events))*26 + 34,
		body: func(c draw.Canvas) {
			split := c.Size().X * share
			probabilities.draw(draw.Crop(c, 0, split-c.Size().X, 0, 0), left)
			gradients.draw(draw.Crop(c, split+10, 0, 0, 0), right)
		},
	}, nil
}

// signed formats a gradient with its sign.
func signed(r Range) string {
	if r.exact() && r.Lo > 0 {
		return "+" + r.String()
	}
	return r.String()
}

// span returns the ends of an axis for the bars: zero is on it, and it is not empty.
func (bs bars) span() (lo, hi float64) {
	for _, b := range bs {
		lo, hi = math.Min(lo, b.value.Lo), math.Max(hi, b.value.Hi)
	}
	if lo == hi {
		return -1, 1
	}
	return lo, hi
}

// ends returns ticks at zero and at those ends that are not too near to it.
func ends(lo, hi float64) plot.ConstantTicks {
	ticks := plot.ConstantTicks{{Value: 0, Label: "0"}}
	for _, v := range []float64{lo, hi} {
		if math.Abs(v) > 0.4*(hi-lo) {
			ticks = append(ticks, plot.Tick{Value: v, Label: number(v)})
		}
	}
	return ticks
}
