package lang

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/logic"
	"github.com/modellog/modellog/plots"
)

// plotter draws one kind of figure from what follows the kind in %plot: expressions, or
// words such as files and options.
type plotter struct {
	kind  string
	usage string
	draw  func(s *Session, ctx context.Context, u *unit, c *syntax.Command, args []syntax.Expr) (*plots.Figure, error)
	words func(s *Session, u *unit, c *syntax.Command, words []syntax.Word) (*plots.Figure, error)
}

func plotters() []plotter {
	return []plotter{
		{kind: "report", usage: "%plot report F", draw: (*Session).plotReport},
		{kind: "interpretations", usage: "%plot interpretations F", draw: (*Session).plotInterpretations},
		{kind: "ladder", usage: `%plot ladder "text"`, draw: (*Session).plotLadder},
		{kind: "calibration", usage: "%plot calibration E, …", draw: (*Session).plotCalibration},
		{kind: "informativeness", usage: "%plot informativeness F, …", draw: (*Session).plotInformativeness},
		{kind: "histogram", usage: "%plot histogram", words: (*Session).plotHistogram},
		{kind: "histograms", usage: "%plot histograms [SCHEMA …]", words: (*Session).plotHistograms},
		{kind: "scaling", usage: `%plot scaling FILE.csv [SCHEMA] [subset="…"]`, words: (*Session).plotScaling},
	}
}

func plotKinds() []string {
	var kinds []string
	for _, p := range plotters() {
		kinds = append(kinds, p.kind)
	}
	return kinds
}

// plotCommand draws a figure and makes it the session's.
func (s *Session) plotCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) == 0 {
		return u.src.Errorf(c, "write %%plot and a kind: %s", joinOr(plotKinds()))
	}
	all := plotters()
	i := slices.IndexFunc(all, func(p plotter) bool { return p.kind == words[0].Text })
	if i < 0 {
		if near := nearest.Name(words[0].Text, plotKinds()); near != "" {
			return u.src.Errorf(words[0], "there is no plot %q; did you mean %q?", words[0].Text, near)
		}
		return u.src.Errorf(words[0], "there is no plot %q; there are %s", words[0].Text, joinOr(plotKinds()))
	}
	var drawing *plots.Figure
	var err error
	if all[i].words != nil {
		drawing, err = all[i].words(s, u, c, words[1:])
	} else {
		var args []syntax.Expr
		if len(words) > 1 {
			if args, err = c.Exprs(words[1]); err != nil {
				return err
			}
		}
		drawing, err = all[i].draw(s, ctx, u, c, args)
	}
	if errors.Is(err, errPlotUsage) {
		return u.src.Errorf(c, "write %s", all[i].usage)
	}
	if err != nil {
		return err
	}
	s.figure = &Figure{What: all[i].kind, Drawing: drawing}
	return u.emit(s.figure)
}

var errPlotUsage = errors.New("a plot was given something else than it takes")

// errInterval is for figures that show numbers, where only intervals are known.
var errInterval = errors.New("this model's backend gives intervals, and this figure shows numbers; open the model with the embedded engine to draw it")

func joinOr(words []string) string {
	s := ""
	for i, w := range words {
		switch {
		case i == 0:
		case i == len(words)-1:
			s += " or "
		default:
			s += ", "
		}
		s += w
	}
	return s
}

// grounded1 grounds and measures the one formula that a plot is given.
func (s *Session) grounded1(ctx context.Context, u *unit, args []syntax.Expr) (*measurement, error) {
	if len(args) != 1 {
		return nil, errPlotUsage
	}
	t, err := newExpander(s, u.src).formula(args[0])
	if err != nil {
		return nil, err
	}
	g, err := s.ground(ctx, u, t)
	if err != nil {
		return nil, err
	}
	return s.measure(ctx, g, g.formulas[0])
}

func (s *Session) plotReport(ctx context.Context, u *unit, c *syntax.Command, args []syntax.Expr) (*plots.Figure, error) {
	m, err := s.grounded1(ctx, u, args)
	if err != nil {
		return nil, err
	}
	grad, err := m.gradient(ctx)
	if err != nil {
		return nil, err
	}
	var events []plots.Event
	for i, v := range m.g.vars {
		events = append(events, plots.Event{
			Name:     v.label,
			P:        plots.Range(expInterval(v.reading.LogP)),
			EventP:   plots.Range(v.reading.EventP),
			Gradient: plots.Range(grad[i]),
		})
	}
	title := fmt.Sprintf("%s · WMC %s · ρ %s", s.title(args[0]).formula, show(m.WMC, sig), show(m.Rho, sig))
	return plots.NewEvents(title, events)
}

// maxDrawn is how many interpretations are drawn.
const maxDrawn = 32

func (s *Session) plotInterpretations(ctx context.Context, u *unit, c *syntax.Command, args []syntax.Expr) (*plots.Figure, error) {
	m, err := s.grounded1(ctx, u, args)
	if err != nil {
		return nil, err
	}
	if !m.g.exact() {
		return nil, errInterval
	}
	t := plots.Interpretations{Formula: s.title(args[0]).formula}
	for _, v := range m.g.vars {
		t.Events = append(t.Events, v.label)
	}
	n := len(m.g.vars)
	if n < 31 && 1<<n <= maxDrawn {
		w := m.g.weights(0)
		for row := range 1 << n {
			x := plots.Interpretation{Truth: make([]bool, n), P: 1}
			for i := range n {
				// As in a truth table: true first, the last varying fastest.
				if x.Truth[i] = row>>(n-1-i)&1 == 0; x.Truth[i] {
					x.P *= w[i].P
				} else {
					x.P *= w[i].Q
				}
			}
			x.Satisfies = m.g.formulas[0].Eval(func(v logic.Var) bool { return x.Truth[v] })
			t.Rows = append(t.Rows, x)
		}
	} else {
		err := m.topModels(ctx, maxDrawn, func(truth logic.Interpretation, logP Interval) {
			t.Rows = append(t.Rows, plots.Interpretation{Truth: truth[:n], P: math.Exp(logP.Lo), Satisfies: true})
		})
		if err != nil {
			return nil, err
		}
		if len(t.Rows) == 0 {
			return nil, errors.New("no interpretation satisfies this formula, so there is none to draw")
		}
	}
	return plots.NewInterpretations(t)
}

func (s *Session) plotLadder(ctx context.Context, u *unit, c *syntax.Command, args []syntax.Expr) (*plots.Figure, error) {
	if len(args) == 0 || len(args) > 2 {
		return nil, errPlotUsage
	}
	var spec *ladderSpec
	title := titled{}
	e := newExpander(s, u.src)
	if _, ok := args[0].(*syntax.String); ok || len(args) == 2 {
		prefix, text, err := e.prefixed(args)
		if err != nil {
			return nil, err
		}
		spec, title.formula = &ladderSpec{prefix: prefix, text: text}, "ladder("+syntax.Quote(text)+")"
	} else {
		v, err := e.value(args[0])
		if err != nil {
			return nil, err
		}
		if v.kind != ladderValue {
			return nil, u.src.Errorf(args[0], `this is %s; a ladder is drawn of a text, or of ladder(…)`, v.describe())
		}
		spec, title = v.l, s.title(args[0])
	}
	l, err := s.ladder(ctx, u, title, spec)
	if err != nil {
		return nil, err
	}
	var logP []float64
	for _, r := range l.Rungs {
		if !r.LogWMC.IsExact() {
			return nil, errInterval
		}
		logP = append(logP, r.LogWMC.Lo)
	}
	return plots.NewLadder(title.formula, logP)
}

// plotCalibration draws the map from raw to event probabilities for events
// that follow the same prefix.
func (s *Session) plotCalibration(ctx context.Context, u *unit, c *syntax.Command, args []syntax.Expr) (*plots.Figure, error) {
	if len(args) == 0 {
		return nil, errPlotUsage
	}
	roots, err := newExpander(s, u.src).formulas(args)
	if err != nil {
		return nil, err
	}
	if atoms := atomsOf(roots); slices.ContainsFunc(atoms, func(a *atom) bool { return a.kind != atomEvent }) || len(atoms) == 0 {
		return nil, u.src.Errorf(args[0], `a calibration is drawn of events with a model behind them, M("prefix", "target")`)
	}
	g, err := s.ground(ctx, u, roots...)
	if err != nil {
		return nil, err
	}
	if err := s.readAll(ctx, g); err != nil {
		return nil, err
	}
	if !g.exact() {
		return nil, errInterval
	}
	first := g.vars[0].step
	d := plots.Calibration{
		Title: fmt.Sprintf("%s   after “%s”", s.calibration, escape(first.PrefixText)),
		C:     g.vars[0].reading.C.Lo,
	}
	if s.calibration.Method.UsesNucleus() {
		d.Nucleus = int(g.vars[0].reading.Size.Lo)
		top, err := s.reader("reading 1 prefix").Top(ctx, first.PrefixText, d.Nucleus)
		if err != nil {
			return nil, err
		}
		d.Least = math.Exp(top[len(top)-1].LogP.Lo)
	}
	for _, v := range g.vars {
		if !samePrefix(v.step, first) {
			return nil, u.src.Errorf(args[0], "a calibration is drawn for one distribution, and these events follow different prefixes (%q and %q)", first.PrefixText, v.step.PrefixText)
		}
		d.Tokens = append(d.Tokens, plots.CalibratedToken{Name: v.label, P: math.Exp(v.reading.LogP.Lo)})
	}
	return plots.NewCalibration(d)
}

func samePrefix(a, b *event.Step) bool { return slices.Equal(a.Prefix, b.Prefix) }
