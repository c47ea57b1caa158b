package modellog

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/kernel/connect"
	"github.com/modellog/modellog/lang/syntax"
)

// Formula is a formula over events, in the constraint language. It is immutable. What is
// wrong with one is told when it is evaluated or given a name.
type Formula struct {
	text  string
	op    operator
	given []*float64 // the events of Prob in it, told apart by their addresses
	err   error
}

// operator is a formula's outermost connective, "" where it needs no parentheses.
type operator string

const (
	none    operator = ""
	and     operator = " & "
	or      operator = " | "
	xor     operator = " xor "
	implies operator = " -> "
	iff     operator = " <-> "
	unknown operator = "?"
)

// associative connectives need no parentheses within themselves.
func (o operator) associative() bool { return o == and || o == or || o == xor }

// String returns the formula's text in the constraint language.
func (f Formula) String() string { return f.text }

// M is the event that the model takes the target as a valid continuation of the prefix.
// The two are joined by a space where the language they are in asks for one; a target
// of several tokens is the conjunction of its token events. Two M of the same
// prefix and target are the same variable.
func M(prefix, target string) Formula {
	p, err := quote(prefix)
	if err != nil {
		return Formula{err: err}
	}
	t, err := quote(target)
	return Formula{text: "M(" + p + ", " + t + ")", err: err}
}

// Prob is an event of probability p, in [0, 1], that no model is asked about. It can stand once in a
// formula; [Session.Define] gives it a name that can stand more often.
func Prob(p float64) Formula {
	f := Formula{text: "prob(" + strconv.FormatFloat(p, 'f', -1, 64) + ")", given: []*float64{&p}}
	if !(p >= 0 && p <= 1) {
		f.err = fmt.Errorf("%v is no probability: that is a number from 0 to 1", p)
	}
	return f
}

// Text is a formula in the constraint language: a name that the session knows,
// a schema's call, likelihood("…") or anything else that a report can be of.
func Text(text string) Formula {
	if _, err := syntax.ParseExpr(text); err != nil {
		return Formula{err: connect.AsError(err)}
	}
	// On a line of its own the bracket that follows is in no comment.
	if strings.Contains(text, "#") {
		text += "\n"
	}
	return Formula{text: text, op: unknown}
}

// Not is ¬f.
func Not(f Formula) Formula {
	return combine(none, []Formula{f}, func(fs []string) string { return "!" + fs[0] })
}

// And is the conjunction of formulas; true without any.
func And(fs ...Formula) Formula { return chain(and, "true", fs) }

// Or is the disjunction of formulas; false without any.
func Or(fs ...Formula) Formula { return chain(or, "false", fs) }

// Xor is the parity of formulas: true where an odd number of them is; false without any.
func Xor(fs ...Formula) Formula { return chain(xor, "false", fs) }

// Implies is f → g.
func Implies(f, g Formula) Formula { return chain(implies, "", []Formula{f, g}) }

// Iff is f ↔ g.
func Iff(f, g Formula) Formula { return chain(iff, "", []Formula{f, g}) }

// AtLeast is true where at least k of the formulas are. One that is given twice counts twice.
func AtLeast(k int, fs ...Formula) Formula { return threshold("atleast", k, fs) }

// AtMost is true where at most k of the formulas are.
func AtMost(k int, fs ...Formula) Formula { return threshold("atmost", k, fs) }

// Exactly is true where exactly k of the formulas are.
func Exactly(k int, fs ...Formula) Formula { return threshold("exactly", k, fs) }

func chain(op operator, empty string, fs []Formula) Formula {
	switch len(fs) {
	case 0:
		return Formula{text: empty}
	case 1:
		return fs[0]
	}
	return combine(op, fs, func(fs []string) string { return strings.Join(fs, string(op)) })
}

func threshold(name string, k int, fs []Formula) Formula {
	return combine(none, fs, func(fs []string) string {
		return name + "(" + strings.Join(append([]string{strconv.Itoa(k)}, fs...), ", ") + ")"
	})
}

// combine writes formulas into one.
func combine(op operator, fs []Formula, write func([]string) string) Formula {
	out := Formula{op: op}
	texts := make([]string, len(fs))
	seen := map[*float64]bool{}
	size := 0
	for i, f := range fs {
		if err := f.check(); err != nil {
			return Formula{err: err}
		}
		for _, p := range f.given {
			if seen[p] {
				return Formula{err: fmt.Errorf("prob(%v) stands twice in a formula, where it would be two events: give it a name with Define and use that", *p)}
			}
			seen[p] = true
		}
		out.given = append(out.given, f.given...)
		texts[i] = f.text
		if f.op != none && !(f.op == op && op.associative()) {
			texts[i] = "(" + f.text + ")"
		}
		// A formula that is used again and again within itself would fill the memory.
		if size += len(texts[i]); size > syntax.MaxSource {
			return Formula{err: fmt.Errorf("a formula of more than %d KB is too long: give its parts names with Define", syntax.MaxSource>>10)}
		}
	}
	out.text = write(texts)
	return out
}

// check tells what is wrong with a formula.
func (f Formula) check() error {
	if f.err == nil && f.text == "" {
		return errors.New("a Formula was not set")
	}
	return f.err
}

// quote writes a text as a string of the language, or a schema's hole as its name.
func quote(s string) (string, error) {
	hole, ok := strings.CutPrefix(s, holeMark)
	switch {
	case ok && isName(hole):
		return hole, nil
	case strings.Contains(s, holeMark):
		return "", fmt.Errorf("a schema's hole, a name, is the whole of a prefix or target and not a part of it: %q", strings.ReplaceAll(s, holeMark, ""))
	case strings.Contains(s, "\x00") || !utf8.ValidString(s):
		return "", fmt.Errorf("a prefix or target is text in UTF-8 without NUL, and not %q", s)
	}
	return syntax.Quote(s), nil
}

// isName reports whether a text is a name of the language.
func isName(s string) bool {
	x, err := syntax.ParseExpr(s)
	n, ok := x.(*syntax.Name)
	return err == nil && ok && n.Text == s
}

// holeMark is what a hole begins with when a schema's body is asked for. No text for a
// language model has a NUL.
const holeMark = "\x00hole "
