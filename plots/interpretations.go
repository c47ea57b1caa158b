package plots

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// An Interpretation assigns a truth value to every event of a formula.
type Interpretation struct {
	Truth     []bool  // one for each event
	P         float64 // its probability S(I; θ) under the model (Eq. 1)
	Satisfies bool    // whether the formula holds in it
}

// Interpretations is the table of Figure 2 of the paper: the interpretations of a
// formula, whether they satisfy it, and their probabilities under the model and under
// the uninformed prior, which gives each of n events ½ and each interpretation 2⁻ⁿ.
type Interpretations struct {
	Formula string           // for the title
	Events  []string         // names, in the order of Truth; up to 62
	Rows    []Interpretation // 1 to 64, in the order to be drawn
}

// NewInterpretations draws one bar for each interpretation, blue where it satisfies
// the formula and red where not, beside the prior's in grey.
//
// If all 2ⁿ interpretations are given the title has WMC (Eq. 1), the sum of the blue
// bars, and WMC₀ (Eq. 3), that of the grey ones beside them; otherwise it has the
// number shown.
func NewInterpretations(t Interpretations) (*Figure, error) {
	const most = 64
	n := len(t.Events)
	switch {
	case n == 0 || n > 62:
		return nil, fmt.Errorf("drawing interpretations: %d events; there must be 1 to 62", n)
	case len(t.Rows) == 0:
		return nil, fmt.Errorf("drawing interpretations: there are none")
	case len(t.Rows) > most:
		return nil, fmt.Errorf("drawing interpretations: %d are too many for one figure; give the %d most probable ones", len(t.Rows), most)
	case float64(len(t.Rows)) > math.Exp2(float64(n)):
		return nil, fmt.Errorf("drawing interpretations: %d of %d events; there are only %g", len(t.Rows), n, math.Exp2(float64(n)))
	}
	uniform := math.Exp2(-float64(n))
	var wmc, wmc0 float64
	names := make([]string, len(t.Rows))
	vectors := vectorsNeeded(t.Events)
	var bs bars
	for i, r := range t.Rows {
		if len(r.Truth) != n {
			return nil, fmt.Errorf("drawing interpretations: row %d has %d truth values for %d events", i+1, len(r.Truth), n)
		}
		p, err := probability(r.P, fmt.Sprintf("drawing interpretations: the probability of row %d", i+1))
		if err != nil {
			return nil, err
		}
		col := red
		if r.Satisfies {
			col = blue
			wmc += p
			wmc0 += uniform
		}
		names[i] = interpretationName(t.Events, r.Truth, vectors)
		bs = append(bs,
			bar{row: float64(-i), up: 3, thick: 7.5, value: Exactly(p), color: col, label: number(p)},
			bar{row: float64(-i), up: -5, thick: 3.5, value: Exactly(uniform), color: prior},
		)
	}
	title := t.Formula
	if float64(len(t.Rows)) == math.Exp2(float64(n)) {
		title += fmt.Sprintf(" · WMC %s · WMC₀ %s", number(math.Min(1, wmc)), number(wmc0))
	} else {
		title += fmt.Sprintf(" · %d of %g interpretations", len(t.Rows), math.Exp2(float64(n)))
	}

	p := newPlot()
	rowAxis(p, names, 0.42*columnWidth)
	probabilityAxis(&p.X)
	p.X.Label.Text = "probability"
	note := ""
	if vectors {
		note = "Events in order: " + strings.Join(t.Events, "; ")
	}
	p.Add(grid{vertical: true}, bs)
	return &Figure{
		title: title,
		text: func(s *sketch) {
			var rows []textBar
			for i, r := range t.Rows {
				col, sign := ansiRed, "✗"
				if r.Satisfies {
					col, sign = ansiBlue, "✓"
				}
				rows = append(rows, textBar{label: sign + " " + names[i], value: Exactly(r.P), color: col, after: number(r.P)})
			}
			s.bars(rows, 0, 1)
			if vectors {
				s.note("  events in order: " + strings.Join(t.Events, "; "))
			}
		},
		keys: []key{
			{label: "satisfies the formula", color: blue, mark: box},
			{label: "does not", color: red, mark: box},
			{label: "uninformed prior, " + number(uniform) + " each", color: prior, mark: box},
		},
		note:   note,
		height: vg.Length(len(t.Rows))*22 + 34,
		body:   func(c draw.Canvas) { bs.draw(c, p) },
	}, nil
}

// vectorsNeeded reports whether the names are too long or too many to write out
// every interpretation as a conjunction.
func vectorsNeeded(events []string) bool {
	all := strings.Join(events, " ∧ ¬")
	return len(events) > 6 || layout(all, tickSize, nil) > 0.4*columnWidth
}

func interpretationName(events []string, truth []bool, vector bool) string {
	parts := make([]string, len(truth))
	for i, v := range truth {
		switch {
		case vector && v:
			parts[i] = "T"
		case vector:
			parts[i] = "F"
		case v:
			parts[i] = events[i]
		default:
			parts[i] = "¬" + events[i]
		}
	}
	if vector {
		return strings.Join(parts, " ")
	}
	return strings.Join(parts, " ∧ ")
}
