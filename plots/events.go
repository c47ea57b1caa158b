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
	Gradient Range // ∂WMC/∂p: how the formula's probability answers to the event's
}

// NewEvents draws a report's events, 1 to 64: for each the raw and the calibrated
// probability, and to the right of them the gradient of the formula's probability.
// A probability that is known only within bounds is solid up to the lower one and
// pale up to the upper one.
func NewEvents(title string, events []Event) (*Figure, error) {
	const most = 64
	if len(events) == 0 || len(events) > most {
		return nil, fmt.Errorf("drawing events: %d of them; there must be 1 to %d", len(events), most)
	}
	names := make([]string, len(events))
	var probabilities, gradients bars
	var steepest float64
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
		if err := e.Gradient.finite(what("the gradient")); err != nil {
			return nil, err
		}
		names[i] = e.Name
		steepest = math.Max(steepest, math.Max(math.Abs(e.Gradient.Lo), math.Abs(e.Gradient.Hi)))
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
	beyond := 0.22
	if bounds {
		beyond = 0.5
	}
	probabilityAxis(&left.X, beyond)
	left.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}}
	left.X.Label.Text = "probability"
	left.Add(grid{vertical: true}, probabilities)

	right := newPlot()
	rowAxis(right, make([]string, len(events)), 0)
	right.Y.Tick.Marker = plot.ConstantTicks{}
	right.Y.LineStyle.Width = 0
	// The axis holds the label of the longest bar as well, on either side.
	if steepest == 0 {
		steepest = 1
	}
	reach := steepest * 1.75
	if bounds {
		reach = steepest * 2.5
	}
	right.X.Min, right.X.Max = -reach, reach
	right.X.Tick.Marker = plot.ConstantTicks{
		{Value: -steepest, Label: number(-steepest)}, {Value: 0, Label: "0"}, {Value: steepest, Label: number(steepest)},
	}
	right.X.Label.Text = "∂WMC/∂p"
	right.Add(grid{vertical: true}, gradients, plotFunc(func(c draw.Canvas, p *plot.Plot) {
		tx, _ := p.Transforms(&c)
		c.StrokeLines(line(ink, axisWidth), []vg.Point{{X: tx(0), Y: c.Min.Y}, {X: tx(0), Y: c.Max.Y}})
	}))

	keys := []key{
		{"event probability", blue, box}, {"raw probability of the token", prior, box},
		{"more of it helps", blue, dot}, {"less of it helps", red, dot},
	}
	if bounds {
		keys = append(keys, key{"pale: up to the upper bound", lighter(blue), box})
	}
	return &Figure{
		title:  title,
		keys:   keys,
		height: vg.Length(len(events))*26 + 34,
		body: func(c draw.Canvas) {
			split := c.Size().X * 0.63
			left.Draw(draw.Crop(c, 0, split-c.Size().X, 0, 0))
			right.Draw(draw.Crop(c, split+8, 0, 0, 0))
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
