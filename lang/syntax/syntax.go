// Package syntax reads the constraint language: it turns a program's text into
// statements, and a mistake into one message with a place and a remedy.
//
// A program is read one statement at a time ([Parser.Next]), so that what
// stands before a mistake can be evaluated and a long program needs no more
// memory than its longest statement. Nothing is resolved here: whether a name
// is defined, and what a function's arguments may be, is for package lang.
//
// Reading is bounded. A program may have [MaxSource] bytes, a statement
// [MaxTokens] words and signs, and formulas may be nested [MaxDepth] deep;
// beyond that there is an [Error] that says so.
//
// # Positions
//
// Lines and columns count from 1, and columns count code points, as editors
// and notebooks do. A byte-order mark at the start is no column. Lines end
// with "\n", "\r\n" or "\r".
//
// # Printing
//
// [Format] writes an expression with the fewest parentheses that preserve it;
// parsing what it wrote in ASCII or Unicode gives the same expression again.
package syntax

import "fmt"

// Limits on what is read.
const (
	MaxSource = 32 << 20 // bytes of a program
	MaxTokens = 1 << 20  // words and signs of a statement
	MaxDepth  = 10_000   // nesting of parentheses, negations and calls
)

// Pos is a place in a program.
type Pos struct {
	Line, Col int32 // from 1; columns in code points
	off       int   // byte offset into the source
}

// IsValid reports whether the position was set by the parser.
func (p Pos) IsValid() bool { return p.Line > 0 }

func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Col) }

// Node is anything with a place: an expression, a statement, a word.
type Node interface {
	// Span returns where the node starts and the place just after its end.
	Span() (start, end Pos)
}

// A span is embedded to make a Node.
type span struct{ start, end Pos }

func (s span) Span() (start, end Pos) { return s.start, s.end }

// Stmt is a statement: a [*Definition], an [*ExprStmt] or a [*Command].
type Stmt interface {
	Node
	// Silent reports whether a trailing ";" asks for no output.
	Silent() bool
	stmt()
}

// Definition is "name = formula", or a schema "name(x, a) = formula" when
// Params is not empty.
type Definition struct {
	span
	silenced
	Name   *Name
	Params []*Name // a schema's holes; nil otherwise
	X      Expr
}

// ExprStmt is a formula or query that stands alone on its line.
type ExprStmt struct {
	span
	silenced
	X Expr
}

// Command is a line that starts with "%".
type Command struct {
	span
	silenced
	Name *Name // without the "%"; its Text is empty for a lone "%"
	src  *Source
	rest region
}

// silenced is embedded in statements to hold the trailing ";".
type silenced bool

func (s silenced) Silent() bool { return bool(s) }

func (*Definition) stmt() {}
func (*ExprStmt) stmt()   {}
func (*Command) stmt()    {}

// Expr is an expression: a [*Name], [*String], [*Number], [*Bool], [*Not],
// [*Chain] or [*Call].
type Expr interface {
	Node
	expr()
}

// Name is a name that is used or defined.
type Name struct {
	span
	Text string // in Unicode normalisation form C
}

// String is a quoted text.
type String struct {
	span
	Value string
}

// Number is a number as it was written, with its value.
type Number struct {
	span
	Text  string
	Value float64
}

// Bool is "true" or "false".
type Bool struct {
	span
	Value bool
}

// Not is a negated expression.
type Not struct {
	span
	X Expr
}

// Chain is two or more operands joined by one connective. Implications
// associate to the right, the other connectives to the left (which makes a
// difference for none of them but in the reading of "<->" and "xor" as
// two-place connectives).
type Chain struct {
	span
	Op Op
	X  []Expr
}

// Call is a function or schema with its arguments.
type Call struct {
	span
	Fn   *Name
	Args []Arg
}

// Arg is a call's argument; Name is nil unless it was written "name=value".
type Arg struct {
	Name *Name
	X    Expr
}

func (*Name) expr()   {}
func (*String) expr() {}
func (*Number) expr() {}
func (*Bool) expr()   {}
func (*Not) expr()    {}
func (*Chain) expr()  {}
func (*Call) expr()   {}

// Op is a two-place connective.
type Op uint8

// The connectives, loosest first.
const (
	Iff Op = iota
	Implies
	Or
	Xor
	And
)

// opText gives each connective's spellings: ASCII, Unicode, word, LaTeX.
var opText = [...]struct{ ascii, unicode, word, latex string }{
	Iff:     {"<->", "↔", "iff", `\leftrightarrow`},
	Implies: {"->", "→", "implies", `\to`},
	Or:      {"|", "∨", "or", `\lor`},
	Xor:     {"^", "⊕", "xor", `\oplus`},
	And:     {"&", "∧", "and", `\land`},
}

func (op Op) text(style Style) string {
	switch style {
	case ASCII:
		return opText[op].ascii
	case LaTeX:
		return opText[op].latex
	}
	return opText[op].unicode
}

// String returns the connective's ASCII spelling.
func (op Op) String() string { return opText[op].ascii }

// keywords are the words of the language that cannot be names.
var keywords = map[string]token{
	"iff": tokIff, "implies": tokImplies, "or": tokOr, "xor": tokXor,
	"and": tokAnd, "not": tokNot, "true": tokTrue, "false": tokFalse,
}

// Keywords returns the words that cannot be names, in alphabetical order.
func Keywords() []string {
	return []string{"and", "false", "iff", "implies", "not", "or", "true", "xor"}
}

// Walk calls visit for x and for each expression within it, parents first,
// and goes no deeper where visit returns false. The names of functions and of
// keyword arguments are not visited.
func Walk(x Expr, visit func(Expr) bool) {
	if !visit(x) {
		return
	}
	switch x := x.(type) {
	case *Not:
		Walk(x.X, visit)
	case *Chain:
		for _, y := range x.X {
			Walk(y, visit)
		}
	case *Call:
		for _, a := range x.Args {
			Walk(a.X, visit)
		}
	}
}
