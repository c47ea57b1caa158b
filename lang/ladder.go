package lang

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// ladderSpec is a ladder that has not been read: of a text, or of given formulas.
type ladderSpec struct {
	prefix, text string
	events       []*term
}

// Ladder is Example 4's hierarchy: for k = 1 … n the probability that at least
// k of n independent events hold. It descends from the disjunction to the
// conjunction, which for a text under raw probabilities is its likelihood.
type Ladder struct {
	Name    string
	Formula string // as it was written
	Rungs   []Rung // k = 1, 2, …, n

	Events      []ReportEvent // with gradients undefined
	Model       *lm.Info
	Calibration calibrate.Calibration

	x syntax.Expr // as it was written
}

// Rung is the formula F≥k of a ladder.
type Rung struct {
	K      int
	LogWMC Interval // natural logarithm of its probability
	WMC0   float64  // by chance, Eq. 3
	Rho    Interval // probabilistic consistency, Eq. 5; NaN where F≥k is certain by chance
	Info   float64  // informativeness in bits
}

// ladder reads a ladder's events.
func (s *Session) ladder(ctx context.Context, u *unit, title titled, spec *ladderSpec) (*Ladder, error) {
	roots := spec.events
	if roots == nil {
		roots = []*term{{op: termAtom, atom: textAtom(spec.prefix, spec.text, 0)}}
	}
	g, err := s.ground(ctx, u, roots...)
	if err != nil {
		return nil, err
	}
	if spec.events != nil {
		if err := g.independent(); err != nil {
			return nil, err
		}
	}
	if err := s.readAll(ctx, g); err != nil {
		return nil, err
	}
	l := &Ladder{Name: title.name, Formula: title.formula, Calibration: s.calibration, x: title.x}
	if l.Events, err = g.events(ctx, nil); err != nil {
		return nil, err
	}
	if needsModel(atomsOf(roots)) {
		info := s.model.Info()
		l.Model = &info
	}

	// The weights of the rungs' events, at both ends of what is known, and by chance.
	var lo, hi, chance []logic.Weight
	if spec.events == nil {
		lo, hi = g.weights(-1), g.weights(+1)
		for range g.vars {
			chance = append(chance, logic.WeightFromProbability(0.5))
		}
	} else {
		for _, f := range g.formulas {
			m, err := s.measure(ctx, g, f)
			if err != nil {
				return nil, err
			}
			lo = append(lo, logic.WeightFromLog(-m.Loss.Hi))
			hi = append(hi, logic.WeightFromLog(-m.Loss.Lo))
			chance = append(chance, logic.WeightFromProbability(m.WMC0))
		}
	}
	var rungs [3][]logic.Rung
	for i, w := range [][]logic.Weight{lo, hi, chance} {
		if rungs[i], err = logic.Ladder(ctx, w); err != nil {
			return nil, err
		}
	}
	for k, by := range rungs[2] {
		low, high := rungs[0][k], rungs[1][k]
		r := Rung{
			K:      k + 1,
			LogWMC: Interval{Lo: low.LogWMC(), Hi: high.LogWMC()},
			WMC0:   math.Exp(by.LogWMC()),
			Rho:    calibrate.Exact(math.NaN()),
			Info:   0 - by.LogWMC()/math.Ln2,
		}
		if x, ok := low.Rho(by); ok {
			r.Rho.Lo = x
			r.Rho.Hi, _ = high.Rho(by)
		}
		l.Rungs = append(l.Rungs, r)
	}
	return l, nil
}

// independent reports an error if two of the formulas share a variable.
func (g *grounded) independent() error {
	owner := map[logic.Var]int{}
	for i, f := range g.formulas {
		for _, v := range f.Vars() {
			if j, ok := owner[v]; ok && j != i {
				return fmt.Errorf("a ladder's formulas must not share events, and %s is in number %d and %d; write atleast(k, …) for one k instead", g.vars[v].label, j+1, i+1)
			}
			owner[v] = i
		}
	}
	return nil
}

// Kind returns "ladder".
func (l *Ladder) Kind() string { return "ladder" }

// Text shows a line for each k.
func (l *Ladder) Text(st Style) string {
	g := &grid{indent: 2}
	for i, title := range ladderHead {
		g.head = append(g.head, column{title: title, right: i == 0})
	}
	for _, row := range l.shown() {
		g.add(row...)
	}
	body := g.lines(st)
	lines := []string{header(l.Name, l.Formula, l.Formula, "of "+count(len(l.Rungs)), styleDim, st, body)}
	return strings.Join(append(lines, body...), "\n")
}

// ladderHead names the columns of shown.
var ladderHead = []string{"at least", "WMC", "WMC₀", "ρ", "I (bits)", "loss"}

// shown are the rungs as they are shown: of many the first and the last, which are the
// telling ones, with an ellipsis between them.
func (l *Ladder) shown() [][]string {
	var rows [][]string
	for i, r := range l.Rungs {
		if len(l.Rungs) > maxRows && i >= maxRows/2 && i < len(l.Rungs)-maxRows/2 {
			if i == maxRows/2 {
				rows = append(rows, []string{"…", "", "", "", "", ""})
			}
			continue
		}
		loss := Interval{Lo: -r.LogWMC.Hi, Hi: -r.LogWMC.Lo}
		rows = append(rows, []string{count(r.K), show(expInterval(r.LogWMC), sig), figures(r.WMC0, sig), show(r.Rho, sig), figures(r.Info, sig), show(loss, sig)})
	}
	return rows
}

// MarshalJSON gives the ladder with its rungs and the events that they are of.
func (l *Ladder) MarshalJSON() ([]byte, error) {
	type rung struct {
		K    int    `json:"k"`
		WMC  number `json:"wmc"`
		WMC0 number `json:"wmc0"`
		Rho  number `json:"rho"`
		Info number `json:"info"`
		Loss number `json:"loss"`
	}
	rungs := []rung{}
	for _, r := range l.Rungs {
		rungs = append(rungs, rung{
			r.K, number(expInterval(r.LogWMC)), number(calibrate.Exact(r.WMC0)), number(r.Rho),
			number(calibrate.Exact(r.Info)), number(Interval{Lo: -r.LogWMC.Hi, Hi: -r.LogWMC.Lo}),
		})
	}
	return json.Marshal(struct {
		Kind        string          `json:"kind"`
		Name        *string         `json:"name"`
		Formula     string          `json:"formula"`
		Rungs       []rung          `json:"rungs"`
		Events      []jsonEvent     `json:"events"`
		Model       *jsonModel      `json:"model"`
		Calibration jsonCalibration `json:"calibration"`
	}{l.Kind(), optional(l.Name), l.Formula, rungs, jsonEvents(l.Events), modelJSON(l.Model), calibrationJSON(l.Calibration)})
}
