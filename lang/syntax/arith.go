package syntax

import (
	"slices"
	"strings"
	"unicode"
)

// Arith is arithmetic over queries, which %calc takes: a [*Number], [*Negative],
// [*Binary], [*Applied] or, for a query, [*Call].
type Arith interface {
	Node
	arith()
}

// Negative is "-X".
type Negative struct {
	span
	X Arith
}

// Binary is "X Op Y".
type Binary struct {
	span
	Op   rune // one of + - * / ^
	X, Y Arith
}

// Applied is one of [NumericFunctions] with its argument.
type Applied struct {
	span
	Fn string
	X  Arith
}

func (*Number) arith()   {}
func (*Negative) arith() {}
func (*Binary) arith()   {}
func (*Applied) arith()  {}
func (*Call) arith()     {}

// NumericFunctions are the functions from numbers to numbers, in alphabetical order.
func NumericFunctions() []string { return []string{"exp", "ln", "log2", "logit", "sigmoid", "sqrt"} }

// maxArithDepth is the nesting of parentheses and signs in arithmetic.
const maxArithDepth = 1000

// Calculation is one of the expressions that %calc is given.
type Calculation struct {
	X    Arith
	Text string // as it was written
}

// Calculations reads the arguments as arithmetic, separated by commas. It returns none
// where there are no arguments.
func (c *Command) Calculations() ([]Calculation, error) {
	r := &arithReader{scanner: newScanner(c.src, c.rest)}
	if c.Rest() == "" {
		return nil, nil
	}
	var all []Calculation
	for {
		r.space()
		start := r.pos.off
		x, err := r.sum()
		if err != nil {
			return nil, err
		}
		all = append(all, Calculation{x, strings.TrimSpace(c.src.text[start:r.pos.off])})
		if r.space(); r.end == r.pos.off {
			return all, nil
		}
		if !r.sign(",") {
			return nil, r.unexpected(`+ - * / ^ or ","`)
		}
	}
}

// arithReader reads arithmetic by recursive descent. The formulas in a query's
// parentheses are left to a [Parser].
type arithReader struct {
	*scanner
	depth int
}

// space moves to the next sign or word.
func (r *arithReader) space() {
	for c, w := r.peek(); w > 0 && unicode.IsSpace(c); c, w = r.peek() {
		r.take(w)
	}
}

// sign takes the first of some signs that stands here, if one does.
func (r *arithReader) sign(signs ...string) bool {
	r.space()
	i := slices.IndexFunc(signs, func(s string) bool { return strings.HasPrefix(r.rest(), s) })
	if i < 0 {
		return false
	}
	for range []rune(signs[i]) {
		_, w := r.peek()
		r.take(w)
	}
	return true
}

func (r *arithReader) unexpected(wanted string) error {
	r.space()
	start, end := r.pos, r.pos
	end.Col++
	c, w := r.peek()
	if w == 0 {
		return r.src.errorf(start, end, "expected %s, found the end of the line", wanted)
	}
	return r.src.errorf(start, end, "expected %s, found %q", wanted, string(c))
}

// binary reads operands with the signs between them, from left to right. Each sign has its
// spellings.
func (r *arithReader) binary(operand func() (Arith, error), ops ...[]string) (Arith, error) {
	x, err := operand()
	for err == nil {
		i := slices.IndexFunc(ops, func(spellings []string) bool { return r.sign(spellings...) })
		if i < 0 {
			return x, nil
		}
		var y Arith
		if y, err = operand(); err == nil {
			x = binary([]rune(ops[i][0])[0], x, y)
		}
	}
	return nil, err
}

func binary(op rune, x, y Arith) *Binary {
	start, _ := x.Span()
	_, end := y.Span()
	return &Binary{span{start, end}, op, x, y}
}

func (r *arithReader) sum() (Arith, error) {
	return r.binary(r.product, []string{"+"}, []string{"-", "−"})
}

func (r *arithReader) product() (Arith, error) {
	return r.binary(r.signed, []string{"*", "·", "×"}, []string{"/"})
}

// signed reads a power with signs before it: -2^2 is -(2^2).
func (r *arithReader) signed() (Arith, error) {
	r.space()
	start := r.pos
	if !r.sign("-", "−") {
		return r.power()
	}
	if err := r.deeper(); err != nil {
		return nil, err
	}
	x, err := r.signed()
	if err != nil {
		return nil, err
	}
	r.depth--
	_, end := x.Span()
	return &Negative{span{start, end}, x}, nil
}

// power reads x^y, which associates to the right.
func (r *arithReader) power() (Arith, error) {
	x, err := r.primary()
	if err != nil || !r.sign("^") {
		return x, err
	}
	if err := r.deeper(); err != nil {
		return nil, err
	}
	y, err := r.signed()
	if err != nil {
		return nil, err
	}
	r.depth--
	return binary('^', x, y), nil
}

func (r *arithReader) deeper() error {
	if r.depth++; r.depth > maxArithDepth {
		return r.src.errorf(r.pos, r.pos, "this is nested more than %d levels deep", maxArithDepth)
	}
	return nil
}

func (r *arithReader) primary() (Arith, error) {
	r.space()
	start := r.pos
	c, w := r.peek()
	switch {
	case w > 0 && (isDigit(c) || c == '.' && startsNumber(r.rest()[1:])):
		l, err := r.number()
		if err != nil {
			return nil, err
		}
		return &Number{span{l.start, l.end}, l.text, l.number}, nil
	case r.sign("("):
		x, err := r.inner(start)
		if err != nil {
			return nil, err
		}
		return x, nil
	case w > 0 && isNameStart(c):
		l, err := r.name()
		if err != nil {
			return nil, err
		}
		r.space()
		if c, _ := r.peek(); c != '(' {
			return nil, r.src.errorf(l.start, l.end, "%q is no number; write wmc(%s) for its probability, or another query", l.text, l.text)
		}
		if !slices.Contains(NumericFunctions(), l.text) {
			return r.query(l)
		}
		open := r.pos
		r.sign("(")
		x, err := r.inner(open)
		if err != nil {
			return nil, err
		}
		return &Applied{span{start, r.pos}, l.text, x}, nil
	}
	return nil, r.unexpected(`a number, a query such as wmc(F), or "("`)
}

// inner reads what stands between parentheses, of which the first is read.
func (r *arithReader) inner(open Pos) (Arith, error) {
	if err := r.deeper(); err != nil {
		return nil, err
	}
	x, err := r.sum()
	if err != nil {
		return nil, err
	}
	r.depth--
	if r.space(); r.pos.off == r.end {
		end := open
		end.Col++
		return nil, r.src.errorf(open, end, `this "(" is never closed`)
	}
	if !r.sign(")") {
		return nil, r.unexpected(`+ - * / ^ or ")"`)
	}
	return x, nil
}

// query reads a call of the language, whose name is read.
func (r *arithReader) query(name lexeme) (Arith, error) {
	open := r.pos
	depth, quote := 0, rune(0)
	for {
		c, w := r.peek()
		if w == 0 {
			end := open
			end.Col++
			return nil, r.src.errorf(open, end, `this "(" is never closed`)
		}
		r.take(w)
		switch {
		case quote != 0 && c == '\\':
			if _, w = r.peek(); w > 0 {
				r.take(w)
			}
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '"' || c == '\'':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if depth == 0 {
			break
		}
	}
	p := &Parser{src: r.src, s: newScanner(r.src, region{name.start, r.pos.off})}
	x, err := p.only()
	if err != nil {
		return nil, err
	}
	call, ok := x.(*Call)
	if !ok {
		return nil, r.src.Errorf(x, "expected a query such as wmc(F)")
	}
	return call, nil
}
