package logic

import (
	"math"
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	a, b, c := lit(0), lit(1), lit(2)
	name := func(v Var) string { return string(rune('a' + v)) }
	for _, x := range []struct {
		f              *Formula
		unicode, ascii string
	}{
		{True(), "⊤", "true"},
		{False(), "⊥", "false"},
		{And(), "⊤", "true"},
		{Or(), "⊥", "false"},
		{Xor(), "⊥", "false"},
		{And(a), "a", "a"},
		{Not(Not(a)), "¬¬a", "!!a"},
		{Not(And(a, b)), "¬(a ∧ b)", "!(a & b)"},
		{And(Not(a), b), "¬a ∧ b", "!a & b"},
		{And(And(a, b), c), "a ∧ b ∧ c", "a & b & c"},
		{And(a, And(b, c)), "a ∧ (b ∧ c)", "a & (b & c)"},
		{Or(And(a, b), c), "a ∧ b ∨ c", "a & b | c"},
		{And(Or(a, b), c), "(a ∨ b) ∧ c", "(a | b) & c"},
		{Xor(And(a, b), c), "a ∧ b ⊕ c", "a & b xor c"},
		{And(Xor(a, b), c), "(a ⊕ b) ∧ c", "(a xor b) & c"},
		{Or(Xor(a, b), c), "a ⊕ b ∨ c", "a xor b | c"},
		{Xor(Or(a, b), c), "(a ∨ b) ⊕ c", "(a | b) xor c"},
		{Xor(a, b, c), "a ⊕ b ⊕ c", "a xor b xor c"},
		{Implies(a, Implies(b, c)), "a → b → c", "a -> b -> c"},
		{Implies(Implies(a, b), c), "(a → b) → c", "(a -> b) -> c"},
		{Implies(Or(a, b), And(b, c)), "a ∨ b → b ∧ c", "a | b -> b & c"},
		{Or(Implies(a, b), c), "(a → b) ∨ c", "(a -> b) | c"},
		{Iff(Implies(a, b), c), "a → b ↔ c", "a -> b <-> c"},
		{Implies(a, Iff(b, c)), "a → (b ↔ c)", "a -> (b <-> c)"},
		{Iff(Iff(a, b), c), "a ↔ b ↔ c", "a <-> b <-> c"},
		{Iff(a, Iff(b, c)), "a ↔ (b ↔ c)", "a <-> (b <-> c)"},
		{AtLeast(2, a, Or(b, c), Not(c)), "atleast(2, a, b ∨ c, ¬c)", "atleast(2, a, b | c, !c)"},
		{Not(AtMost(1, a, b)), "¬atmost(1, a, b)", "!atmost(1, a, b)"},
		{Exactly(1, a), "exactly(1, a)", "exactly(1, a)"},
		{AtMost(-1, a, b), "¬atleast(0, a, b)", "!atleast(0, a, b)"},
		{AtLeast(0), "atleast(0)", "atleast(0)"},
	} {
		if got := x.f.Format(name, Unicode); got != x.unicode {
			t.Errorf("%s, want %s", got, x.unicode)
		}
		if got := x.f.Format(name, ASCII); got != x.ascii {
			t.Errorf("%s, want %s", got, x.ascii)
		}
	}
	if got := And(a, b).String(); got != "x0 ∧ x1" {
		t.Errorf("String() = %s", got)
	}
	f := a
	for range 100 {
		f = Iff(f, f) // 2¹⁰⁰ nodes if written out
	}
	if got := f.Format(name, ASCII); !strings.Contains(got, "nodes") {
		t.Errorf("%.80s", got)
	}
}

func TestBadArguments(t *testing.T) {
	for name, f := range map[string]func(){
		"a negative variable": func() { Literal(-1) },
		"a nil formula":       func() { And(lit(0), nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			f()
		}()
	}
}

func TestWeights(t *testing.T) {
	for _, l := range []float64{-800, -40, -1, 0, 1, 40, 800, math.Inf(1), math.Inf(-1)} {
		w := WeightFromLogit(l)
		if err := w.check(); err != nil {
			t.Errorf("logit %v: %v", l, err)
		}
		if v := WeightFromLogit(-l); v.P != w.Q || v.Q != w.P {
			t.Errorf("logit %v is not symmetric", l)
		}
	}
	if w := WeightFromLogit(-40); !near(math.Log(w.P), -40, 1e-12) || w.Q != 1 {
		t.Errorf("logit -40: %v", w)
	}
	if w := WeightFromLog(-1e-20); w.P != 1 || !near(w.Q/1e-20, 1, 1e-12) {
		t.Errorf("log -1e-20: %v", w)
	}
	if w := WeightFromProbability(0.25); w != (Weight{0.25, 0.75}) {
		t.Errorf("¼: %v", w)
	}
}
