package logic

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// genFormula draws a formula over variables 0..n-1 with sharing, thresholds and every connective.
func genFormula(t *rapid.T, n, size int) *Formula {
	var pool []*Formula
	for i := range n {
		pool = append(pool, Literal(Var(i)))
	}
	if rapid.IntRange(0, 9).Draw(t, "constants") == 0 {
		pool = append(pool, True(), False())
	}
	pick := func() *Formula {
		f := pool[rapid.IntRange(0, len(pool)-1).Draw(t, "arg")]
		if rapid.Bool().Draw(t, "neg") {
			return Not(f)
		}
		return f
	}
	for range size {
		var args []*Formula
		for range rapid.IntRange(1, 5).Draw(t, "arity") {
			args = append(args, pick())
		}
		var f *Formula
		switch rapid.IntRange(0, 8).Draw(t, "op") {
		case 0:
			f = And(args...)
		case 1:
			f = Or(args...)
		case 2:
			f = Implies(pick(), pick())
		case 3:
			f = Iff(pick(), pick())
		case 4:
			f = Xor(args...)
		case 5:
			f = AtLeast(rapid.IntRange(-1, 6).Draw(t, "k"), args...)
		case 6:
			f = AtMost(rapid.IntRange(-1, 6).Draw(t, "k"), args...)
		case 7:
			f = Exactly(rapid.IntRange(-1, 6).Draw(t, "k"), args...)
		case 8:
			f = Or(And(args...), And(pick(), pick()))
		}
		pool = append(pool, f)
	}
	return pool[len(pool)-1]
}

// genFactors draws a conjunction of clauses, parities and thresholds over n variables.
func genFactors(t *rapid.T, n, m int) *Formula {
	var fs []*Formula
	lit := func() *Formula {
		f := Literal(Var(rapid.IntRange(0, n-1).Draw(t, "v")))
		if rapid.Bool().Draw(t, "neg") {
			return Not(f)
		}
		return f
	}
	for range m {
		var args []*Formula
		for range rapid.IntRange(1, 4).Draw(t, "arity") {
			args = append(args, lit())
		}
		switch rapid.IntRange(0, 5).Draw(t, "op") {
		case 0, 1, 2:
			fs = append(fs, Or(args...))
		case 3:
			fs = append(fs, Xor(args...))
		case 4:
			fs = append(fs, AtMost(rapid.IntRange(0, 3).Draw(t, "k"), args...))
		case 5:
			fs = append(fs, Implies(lit(), Or(And(args...), lit())))
		}
	}
	return And(fs...)
}

// holds is a second, recursive evaluation, independent of Eval and of compilation.
func holds(f *Formula, bits uint) bool {
	n := 0
	for _, a := range f.args {
		if holds(a, bits) {
			n++
		}
	}
	switch f.op {
	case OpTrue:
		return true
	case OpVar:
		return bits>>uint(f.v)&1 == 1
	case OpNot:
		return n == 0
	case OpAnd:
		return n == len(f.args)
	case OpOr:
		return n > 0
	case OpImplies:
		return !holds(f.args[0], bits) || holds(f.args[1], bits)
	case OpIff:
		return n != 1
	case OpXor:
		return n&1 == 1
	case OpAtLeast:
		return n >= f.k
	case OpAtMost:
		return n <= f.k
	case OpExactly:
		return n == f.k
	}
	return false
}

func compile(t interface {
	Helper()
	Fatalf(string, ...any)
}, f *Formula, opts ...Option) *Diagram {
	t.Helper()
	d, err := Compile(context.Background(), f, opts...)
	if err != nil {
		t.Fatalf("Compile(%v): %v", f.Format(nil, ASCII), err)
	}
	return d
}

func genWeights(t *rapid.T, n int) []Weight {
	w := make([]Weight, n)
	for i := range w {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			w[i] = Weight{0, 1}
		case 1:
			w[i] = Weight{1, 0}
		case 2:
			w[i] = Weight{0.5, 0.5}
		default:
			w[i] = WeightFromProbability(rapid.Float64Range(0, 1).Draw(t, "p"))
		}
	}
	return w
}

func interpretationWeight(w []Weight, n int, bits uint) float64 {
	p := 1.0
	for v := range n {
		if bits>>uint(v)&1 == 1 {
			p *= w[v].P
		} else {
			p *= w[v].Q
		}
	}
	return p
}

// genAny draws either kind of formula.
func genAny(t *rapid.T, n int) *Formula {
	if rapid.Bool().Draw(t, "factors") {
		return genFactors(t, n, rapid.IntRange(1, 2*n).Draw(t, "m"))
	}
	return genFormula(t, n, rapid.IntRange(1, 14).Draw(t, "size"))
}

func TestWMCAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		f := genAny(t, n)
		w := genWeights(t, n)
		d := compile(t, f, func(c *compiler) { c.way = way(rapid.IntRange(0, 3).Draw(t, "way")) })
		var want float64
		for bits := uint(0); bits < 1<<n; bits++ {
			if holds(f, bits) {
				want += interpretationWeight(w, n, bits)
			}
		}
		if got := d.WMC(w); math.Abs(got-want) > 1e-12 {
			t.Fatalf("WMC(%v) = %v, want %v", f.Format(nil, ASCII), got, want)
		}
	})
}
