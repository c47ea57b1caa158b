package logic

import (
	"fmt"
	"math"
	"slices"
)

// Var is a Boolean variable: a dense small non-negative integer. What the variable stands for (in
// modellog, "the model takes this token as a valid continuation of this prefix") is known to the caller
// only. Slices of weights, probabilities and truth values are indexed by Var.
type Var int

// Op is the main connective of a Formula.
type Op uint8

// The connectives. A formula's Op says how Args, Var and K are to be read.
const (
	OpFalse   Op = iota // ⊥
	OpTrue              // ⊤
	OpVar               // a variable, Var
	OpNot               // ¬, one argument
	OpAnd               // ∧, two or more arguments
	OpOr                // ∨, two or more arguments
	OpImplies           // →, two arguments
	OpIff               // ↔, two arguments
	OpXor               // ⊕, two or more arguments: an odd number of them is true
	OpAtLeast           // ∨≥k: at least K arguments are true
	OpAtMost            // at most K arguments are true
	OpExactly           // exactly K arguments are true
)

// Formula is an immutable propositional formula. Formulas may share sub-formulas; the zero value is ⊥.
// Formulas are built by the functions of this package and are safe for concurrent use.
type Formula struct {
	op    Op
	v     Var
	k     int
	args  []*Formula
	size  uint64 // nodes of the formula written out as a tree, saturating
	depth int    // longest path to a leaf, saturating
}

var (
	falseFormula = &Formula{op: OpFalse, size: 1}
	trueFormula  = &Formula{op: OpTrue, size: 1}
)

// True returns ⊤.
func True() *Formula { return trueFormula }

// False returns ⊥.
func False() *Formula { return falseFormula }

// Literal returns the formula that is true when v is. It panics if v is negative.
func Literal(v Var) *Formula {
	if v < 0 {
		panic(fmt.Sprintf("logic: Literal(%d): a variable is a non-negative integer", int(v)))
	}
	return &Formula{op: OpVar, v: v, size: 1}
}

func newFormula(op Op, k int, args []*Formula) *Formula {
	f := &Formula{op: op, k: k, args: args, size: 1}
	for _, a := range args {
		if a == nil {
			panic("logic: a formula's argument is nil")
		}
		if f.size > math.MaxUint64-a.size {
			f.size = math.MaxUint64
		} else {
			f.size += a.size
		}
		f.depth = max(f.depth, a.depth+1)
	}
	return f
}

// Not returns ¬f.
func Not(f *Formula) *Formula { return newFormula(OpNot, 0, []*Formula{f}) }

// And returns the conjunction of fs; of no formulas it is ⊤.
func And(fs ...*Formula) *Formula {
	switch len(fs) {
	case 0:
		return trueFormula
	case 1:
		return fs[0]
	}
	return newFormula(OpAnd, 0, slices.Clone(fs))
}

// Or returns the disjunction of fs; of no formulas it is ⊥.
func Or(fs ...*Formula) *Formula {
	switch len(fs) {
	case 0:
		return falseFormula
	case 1:
		return fs[0]
	}
	return newFormula(OpOr, 0, slices.Clone(fs))
}

// Implies returns f → g.
func Implies(f, g *Formula) *Formula { return newFormula(OpImplies, 0, []*Formula{f, g}) }

// Iff returns f ↔ g.
func Iff(f, g *Formula) *Formula { return newFormula(OpIff, 0, []*Formula{f, g}) }

// Xor returns f₁ ⊕ f₂ ⊕ …, true when an odd number of fs is true; of no formulas it is ⊥. For mutual
// exclusion of more than two formulas see AtMost and Exactly.
func Xor(fs ...*Formula) *Formula {
	switch len(fs) {
	case 0:
		return falseFormula
	case 1:
		return fs[0]
	}
	return newFormula(OpXor, 0, slices.Clone(fs))
}

// AtLeast returns the threshold disjunction ∨≥k of Formula 2: true when at least k of fs are. An argument
// given twice counts twice. k ≤ 0 is always true, k > len(fs) never.
func AtLeast(k int, fs ...*Formula) *Formula {
	return newFormula(OpAtLeast, max(k, 0), slices.Clone(fs))
}

// AtMost returns the formula that is true when at most k of fs are; never for negative k.
func AtMost(k int, fs ...*Formula) *Formula {
	if k < 0 {
		return Not(AtLeast(0, fs...))
	}
	return newFormula(OpAtMost, k, slices.Clone(fs))
}

// Exactly returns the formula that is true when exactly k of fs are; never for negative k.
func Exactly(k int, fs ...*Formula) *Formula {
	if k < 0 {
		return Not(AtLeast(0, fs...))
	}
	return newFormula(OpExactly, k, slices.Clone(fs))
}

// Op returns the main connective.
func (f *Formula) Op() Op { return f.op }

// Args returns the arguments of the main connective; none for ⊤, ⊥ and variables. The slice is the caller's.
func (f *Formula) Args() []*Formula { return slices.Clone(f.args) }

// Var returns the variable of an OpVar formula.
func (f *Formula) Var() Var { return f.v }

// K returns the bound of a threshold (OpAtLeast, OpAtMost, OpExactly).
func (f *Formula) K() int { return f.k }

// leaf tells whether f is a variable or a constant.
func (f *Formula) leaf() bool { return f.op <= OpVar }

// postorder calls visit once for each distinct node that has arguments and at least once for each other,
// arguments before the node, until stop, which is asked now and then, says so. It keeps its own stack: a formula may be nested deeper than a goroutine's
// stack allows.
func (f *Formula) postorder(stop func() bool, visit func(*Formula)) {
	type frame struct {
		f    *Formula
		next int
	}
	seen := make(map[*Formula]struct{}, min(f.size/2, 1<<16))
	stack := []frame{{f: f}}
	seen[f] = struct{}{}
	for steps := 1; len(stack) > 0; steps++ {
		if steps&4095 == 0 && stop() {
			return
		}
		top := &stack[len(stack)-1]
		if top.next < len(top.f.args) {
			a := top.f.args[top.next]
			top.next++
			if len(a.args) == 0 {
				visit(a)
			} else if _, ok := seen[a]; !ok {
				seen[a] = struct{}{}
				stack = append(stack, frame{f: a})
			}
			continue
		}
		visit(top.f)
		stack = stack[:len(stack)-1]
	}
}

// Vars returns the variables that appear in f, vars(F) of Eq. 3, in ascending order.
func (f *Formula) Vars() []Var { return f.varsUntil(never) }

func never() bool { return false }

// varsUntil is Vars, and incomplete once stop says so.
func (f *Formula) varsUntil(stop func() bool) []Var {
	set := make(map[Var]struct{})
	f.postorder(stop, func(g *Formula) {
		if g.op == OpVar {
			set[g.v] = struct{}{}
		}
	})
	vars := make([]Var, 0, len(set))
	for v := range set {
		vars = append(vars, v)
	}
	slices.Sort(vars)
	return vars
}

// Eval returns f's truth value under an interpretation.
func (f *Formula) Eval(interpretation func(Var) bool) bool {
	values := make(map[*Formula]bool)
	f.postorder(never, func(g *Formula) {
		n := 0
		for _, a := range g.args {
			if values[a] {
				n++
			}
		}
		var b bool
		switch g.op {
		case OpTrue:
			b = true
		case OpVar:
			b = interpretation(g.v)
		case OpNot:
			b = n == 0
		case OpAnd:
			b = n == len(g.args)
		case OpOr:
			b = n > 0
		case OpImplies:
			b = !values[g.args[0]] || values[g.args[1]]
		case OpIff:
			b = values[g.args[0]] == values[g.args[1]]
		case OpXor:
			b = n%2 == 1
		case OpAtLeast:
			b = n >= g.k
		case OpAtMost:
			b = n <= g.k
		case OpExactly:
			b = n == g.k
		}
		values[g] = b
	})
	return values[f]
}

// polarities tells for each variable whether it occurs positively (1), negatively (2), or both (3). A
// variable of one polarity makes WMC monotone in its probability whatever the other weights are. The
// answer is incomplete once stop says so.
func (f *Formula) polarities(stop func() bool) map[Var]uint8 {
	type item struct {
		f   *Formula
		pol uint8
	}
	seen := make(map[*Formula]uint8)
	vars := make(map[Var]uint8)
	stack := []item{{f, 1}}
	for steps := 1; len(stack) > 0; steps++ {
		if steps&4095 == 0 && stop() {
			break
		}
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		fresh := it.pol &^ seen[it.f]
		if fresh == 0 {
			continue
		}
		seen[it.f] |= fresh
		flipped := fresh>>1 | fresh<<1&2
		switch it.f.op {
		case OpVar:
			vars[it.f.v] |= fresh
		case OpNot, OpAtMost:
			for _, a := range it.f.args {
				stack = append(stack, item{a, flipped})
			}
		case OpImplies:
			stack = append(stack, item{it.f.args[0], flipped}, item{it.f.args[1], fresh})
		case OpIff, OpXor, OpExactly:
			for _, a := range it.f.args {
				stack = append(stack, item{a, 3})
			}
		default:
			for _, a := range it.f.args {
				stack = append(stack, item{a, fresh})
			}
		}
	}
	return vars
}
