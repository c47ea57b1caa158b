package logic

import (
	"fmt"
	"strconv"
	"strings"
)

// Style is a way of writing formulas.
type Style int

const (
	// Unicode writes ∧ ∨ → ↔ ⊕ ¬ ⊤ ⊥.
	Unicode Style = iota
	// ASCII writes & | -> <-> xor ! true false, which the constraint language reads back.
	ASCII
)

// Connectives bind in the order of the constraint language, loosest first: ↔, → (right-associative), ∨,
// ⊕, ∧, ¬.
const (
	bindIff = iota + 1
	bindImplies
	bindOr
	bindXor
	bindAnd
	bindNot
	bindAtom
)

var (
	unicodeSigns = [...]string{OpFalse: "⊥", OpTrue: "⊤", OpNot: "¬", OpAnd: " ∧ ", OpOr: " ∨ ", OpImplies: " → ", OpIff: " ↔ ", OpXor: " ⊕ "}
	asciiSigns   = [...]string{OpFalse: "false", OpTrue: "true", OpNot: "!", OpAnd: " & ", OpOr: " | ", OpImplies: " -> ", OpIff: " <-> ", OpXor: " xor "}
	thresholds   = [...]string{OpAtLeast: "atleast", OpAtMost: "atmost", OpExactly: "exactly"}
)

func (f *Formula) binding() int {
	switch f.op {
	case OpIff:
		return bindIff
	case OpImplies:
		return bindImplies
	case OpOr:
		return bindOr
	case OpXor:
		return bindXor
	case OpAnd:
		return bindAnd
	case OpNot:
		return bindNot
	}
	return bindAtom
}

// maxFormat bounds the nodes that are written out: a formula that shares sub-formulas can be
// exponentially longer as text than in memory.
const maxFormat = 1 << 22

// Format writes f with as few parentheses as the connectives' precedence allows; name gives each
// variable's text and may be nil (x0, x1, …). Thresholds are written atleast(k, …), atmost(k, …) and
// exactly(k, …) in both styles. A formula of more than 4,194,304 nodes is not written out but described.
func (f *Formula) Format(name func(Var) string, style Style) string {
	if f.size > maxFormat {
		return fmt.Sprintf("(a formula of %d nodes)", f.size)
	}
	if name == nil {
		name = func(v Var) string { return "x" + strconv.Itoa(int(v)) }
	}
	signs := &unicodeSigns
	if style == ASCII {
		signs = &asciiSigns
	}
	type item struct {
		f    *Formula
		text string
	}
	var b strings.Builder
	var stack []item
	open := func(f *Formula, paren bool) { // pushed in reverse
		if paren {
			stack = append(stack, item{text: ")"}, item{f: f}, item{text: "("})
		} else {
			stack = append(stack, item{f: f})
		}
	}
	stack = append(stack, item{f: f})
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if it.f == nil {
			b.WriteString(it.text)
			continue
		}
		g := it.f
		switch g.op {
		case OpTrue, OpFalse:
			b.WriteString(signs[g.op])
		case OpVar:
			b.WriteString(name(g.v))
		case OpNot:
			b.WriteString(signs[OpNot])
			open(g.args[0], g.args[0].binding() < bindNot)
		case OpAtLeast, OpAtMost, OpExactly:
			fmt.Fprintf(&b, "%s(%d", thresholds[g.op], g.k)
			stack = append(stack, item{text: ")"})
			for i := len(g.args) - 1; i >= 0; i-- {
				stack = append(stack, item{f: g.args[i]}, item{text: ", "})
			}
		default:
			bind := g.binding()
			for i := len(g.args) - 1; i >= 0; i-- {
				a := g.args[i].binding()
				paren := a < bind
				if a == bind {
					// ∧, ∨, ⊕ and ↔ are associative and read from the left, → from the right.
					if g.op == OpImplies {
						paren = i == 0
					} else {
						paren = i > 0
					}
				}
				open(g.args[i], paren)
				if i > 0 {
					stack = append(stack, item{text: signs[g.op]})
				}
			}
		}
	}
	return b.String()
}

// String writes f in the Unicode style with variables x0, x1, ….
func (f *Formula) String() string { return f.Format(nil, Unicode) }
