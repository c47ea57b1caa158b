package logic

import (
	"context"
	"fmt"
)

// Entails tells whether every interpretation that satisfies f satisfies g, f ⊨ g. f is compiled once;
// the conjuncts of g are checked one by one, clauses on f's diagram, others by compiling f ∧ ¬g.
func Entails(ctx context.Context, f, g *Formula, opts ...Option) (bool, error) {
	if f == g {
		return true, nil
	}
	d, err := Compile(ctx, f, opts...)
	if err != nil {
		return false, fmt.Errorf("entailment: %w", err)
	}
	if !d.Satisfiable() {
		return true, nil
	}
	var c *conditions
	var rest []*Formula
	stack := []*Formula{g}
	for len(stack) > 0 {
		h := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if h.op == OpAnd {
			stack = append(stack, h.args...)
			continue
		}
		lits, ok := clause(h)
		if !ok {
			rest = append(rest, h)
			continue
		}
		if c == nil {
			c = newConditions(d)
		}
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("entailment: %w", err)
		}
		refuted := false
		values := make(map[Var]bool, len(lits))
		for _, l := range lits { // the clause is false
			value, seen := values[l.v]
			refuted = refuted || seen && value != l.neg
			values[l.v] = l.neg
		}
		if refuted {
			continue
		}
		possible := true
		for v, value := range values {
			possible = c.assume(v, value) && possible
		}
		if len(values) == 0 || possible && c.satisfiable() {
			return false, nil
		}
		for v := range values {
			c.forget(v)
		}
	}
	if len(rest) == 0 {
		return true, nil
	}
	e, err := Compile(ctx, And(f, Not(And(rest...))), opts...)
	if err != nil {
		return false, fmt.Errorf("entailment: %w", err)
	}
	return !e.Satisfiable(), nil
}

// Equivalent tells whether f and g are satisfied by the same interpretations.
func Equivalent(ctx context.Context, f, g *Formula, opts ...Option) (bool, error) {
	ok, err := Entails(ctx, f, g, opts...)
	if !ok || err != nil {
		return false, err
	}
	return Entails(ctx, g, f, opts...)
}

type literal struct {
	v   Var
	neg bool
}

// clause returns the literals of a disjunction of them.
func clause(f *Formula) ([]literal, bool) {
	var lits []literal
	add := func(f *Formula, neg bool) bool {
		for f.op == OpNot {
			f, neg = f.args[0], !neg
		}
		if f.op != OpVar {
			return false
		}
		lits = append(lits, literal{f.v, neg})
		return true
	}
	switch f.op {
	case OpFalse:
		return nil, true
	case OpVar, OpNot:
		ok := add(f, false)
		return lits, ok
	case OpImplies:
		if add(f.args[0], true) && add(f.args[1], false) {
			return lits, true
		}
		return nil, false
	case OpOr:
		for _, a := range f.args {
			if !add(a, false) {
				return nil, false
			}
		}
		return lits, true
	}
	return nil, false
}
