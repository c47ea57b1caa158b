package lang

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/logic"
)

// calcCommand computes with numbers and queries.
func (s *Session) calcCommand(ctx context.Context, u *unit, c *syntax.Command, _ []syntax.Word) error {
	all, err := c.Calculations()
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return usage(u, c)
	}
	values := make([]Interval, len(all))
	for i, x := range all {
		if values[i], err = s.calculate(ctx, u, x.X); err != nil {
			return err
		}
	}
	if len(all) == 1 {
		return u.emit(&Value{Query: "calc", Formula: all[0].Text, Number: values[0]})
	}
	t := &Table{Query: "calc", Head: []string{"", "value"}, flex: 0}
	for i, x := range all {
		t.Cells = append(t.Cells, []string{x.Text, span(plain(values[i].Lo), plain(values[i].Hi))})
		t.Rows = append(t.Rows, calculated{x.Text, number(values[i])})
	}
	return u.emit(t)
}

// calculated is the JSON of one of several calculations.
type calculated struct {
	Expression string `json:"expression"`
	Value      number `json:"value"`
}

var _ json.Marshaler = number{}

// calculate evaluates arithmetic. Of intervals the result is sure to hold the
// value, and as wide as if the operands had nothing in common.
func (s *Session) calculate(ctx context.Context, u *unit, x syntax.Arith) (Interval, error) {
	switch x := x.(type) {
	case *syntax.Number:
		return calibrate.Exact(x.Value), nil
	case *syntax.Negative:
		v, err := s.calculate(ctx, u, x.X)
		return Interval{Lo: -v.Hi, Hi: -v.Lo}, err
	case *syntax.Applied:
		v, err := s.calculate(ctx, u, x.X)
		f := numericFunctions[x.Fn]
		return Interval{Lo: f(v.Lo), Hi: f(v.Hi)}, err // all of them rise
	case *syntax.Binary:
		a, err := s.calculate(ctx, u, x.X)
		if err != nil {
			return Interval{}, err
		}
		b, err := s.calculate(ctx, u, x.Y)
		return combine(x.Op, a, b), err
	case *syntax.Call:
		return s.numberOf(ctx, u, x)
	}
	return Interval{}, u.src.Errorf(x, "this is no number")
}

var numericFunctions = map[string]func(float64) float64{
	"exp": math.Exp, "ln": math.Log, "log2": math.Log2, "sqrt": math.Sqrt,
	"logit":   func(p float64) float64 { return math.Log(p) - math.Log1p(-p) },
	"sigmoid": func(l float64) float64 { return 1 / (1 + math.Exp(-l)) },
}

// combine is a op b. Where it is not the same everywhere in the intervals that it is defined, as
// division by one with 0 in it, it is NaN.
func combine(op rune, a, b Interval) Interval {
	var f func(x, y float64) float64
	switch op {
	case '+':
		return Interval{Lo: a.Lo + b.Lo, Hi: a.Hi + b.Hi}
	case '-':
		return Interval{Lo: a.Lo - b.Hi, Hi: a.Hi - b.Lo}
	case '*':
		f = func(x, y float64) float64 { return x * y }
	case '/':
		if b.Lo < b.Hi && b.Lo <= 0 && b.Hi >= 0 {
			return calibrate.Exact(math.NaN())
		}
		f = func(x, y float64) float64 { return x / y }
	case '^':
		if a.Lo < 0 && !(a.IsExact() && b.IsExact()) {
			return calibrate.Exact(math.NaN())
		}
		f = math.Pow
	}
	// Each is monotone in either operand where the other is fixed, so that the extremes
	// are at the corners.
	corners := []float64{f(a.Lo, b.Lo), f(a.Lo, b.Hi), f(a.Hi, b.Lo), f(a.Hi, b.Hi)}
	if slices.ContainsFunc(corners, math.IsNaN) {
		return calibrate.Exact(math.NaN())
	}
	return Interval{Lo: slices.Min(corners), Hi: slices.Max(corners)}
}

// numberOf answers a query that has a number for an answer.
func (s *Session) numberOf(ctx context.Context, u *unit, c *syntax.Call) (Interval, error) {
	const have = "in arithmetic there are wmc, wmc0, rho, cacc, info, loss and grad(F, E)"
	f := findFunction(c.Fn.Text)
	switch {
	case f == nil || !f.query:
		return Interval{}, u.src.Errorf(c.Fn, "%q is no query; %s", c.Fn.Text, have)
	case f.name == "grad":
		return s.partial(ctx, u, c)
	case !slices.Contains([]string{"wmc", "wmc0", "rho", "cacc", "info", "loss"}, f.name):
		return Interval{}, u.src.Errorf(c.Fn, "%s gives no number; %s", f.name, have)
	}
	r, err := s.ask(ctx, u, c, f)
	if err != nil {
		return Interval{}, err
	}
	v := r.(*Value)
	if v.Verdict != nil {
		switch *v.Verdict {
		case logic.Consistent:
			return calibrate.Exact(1), nil
		case logic.Inconsistent:
			return calibrate.Exact(0), nil
		}
		return Interval{Lo: 0, Hi: 1}, nil
	}
	return v.Number, nil
}

// partial is grad(F, E): ∂WMC(F)/∂p of the one token event that E is.
func (s *Session) partial(ctx context.Context, u *unit, c *syntax.Call) (Interval, error) {
	if len(c.Args) != 2 || c.Args[0].Name != nil || c.Args[1].Name != nil {
		return Interval{}, u.src.Errorf(c, "write grad(F, E) for ∂WMC(F)/∂p of the event E")
	}
	e := newExpander(s, u.src)
	formula, err := e.formula(c.Args[0].X)
	if err != nil {
		return Interval{}, err
	}
	by, err := e.formula(c.Args[1].X)
	if err != nil {
		return Interval{}, err
	}
	if by.op != termAtom {
		return Interval{}, u.src.Errorf(c.Args[1].X, "the second argument of grad(F, E) is an event")
	}
	g, err := s.ground(ctx, u, formula, by)
	if err != nil {
		return Interval{}, err
	}
	i := slices.IndexFunc(g.atoms, func(a groundAtom) bool { return a.key == by.atom.key })
	if len(g.atoms[i].vars) != 1 {
		return Interval{}, u.src.Errorf(c.Args[1].X, "this is %s, each with a derivative of its own; grad(F) shows them all", plural(len(g.atoms[i].vars), "token event"))
	}
	m, err := s.measure(ctx, g, g.formulas[0])
	if err != nil {
		return Interval{}, err
	}
	grad, err := m.gradient(ctx)
	if err != nil {
		return Interval{}, err
	}
	return grad[g.atoms[i].vars[0]], nil
}
