package syntax

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/nearest"
)

// Parser reads a program's statements one after the other.
type Parser struct {
	src    *Source
	s      *scanner
	l      lexeme // the next one
	err    error  // why there is no next one
	opens  []Pos  // the parentheses that were open before l
	depth  int
	tokens int // left for this statement
}

// NewParser starts to read a program. The path names it in messages and may
// be empty.
func NewParser(path, text string) (*Parser, error) {
	src := &Source{Path: path, text: text}
	start := Pos{Line: 1, Col: 1}
	if len(text) > MaxSource {
		return nil, src.errorf(start, start, "the program has %d MB, and at most %d MB are read; split it, or put data into a file for %%run", len(text)>>20, MaxSource>>20)
	}
	return &Parser{src: src, s: newScanner(src, region{start, len(text)})}, nil
}

// Source returns the text that is being read, for messages about its nodes.
func (p *Parser) Source() *Source { return p.src }

// Next reads the next statement, and returns io.EOF where there is none. After
// any other error, which is an [*Error], the parser cannot go on.
func (p *Parser) Next() (Stmt, error) {
	if p.err != nil {
		return nil, p.err
	}
	stmt, err := p.statement()
	if err != nil {
		p.err = err
	}
	return stmt, err
}

// Parse reads a whole program.
func Parse(path, text string) ([]Stmt, error) {
	p, err := NewParser(path, text)
	if err != nil {
		return nil, err
	}
	var stmts []Stmt
	for {
		stmt, err := p.Next()
		if err == io.EOF {
			return stmts, nil
		}
		if err != nil {
			return nil, err
		}
		stmts = append(stmts, stmt)
	}
}

// ParseExpr reads a text that is one expression.
func ParseExpr(text string) (Expr, error) {
	p, err := NewParser("", text)
	if err != nil {
		return nil, err
	}
	return p.only()
}

// Incomplete reports whether a text is the beginning of a statement that goes
// on in the next line: a parenthesis is open, or the last line ends in a
// connective or "=". A text with a mistake is not incomplete.
func Incomplete(text string) bool {
	p, err := NewParser("", text)
	if err != nil {
		return false
	}
	for {
		_, err := p.Next()
		if err == io.EOF {
			return false
		}
		if err != nil {
			return errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// advance reads the next lexeme into p.l.
func (p *Parser) advance() error {
	if p.tokens--; p.tokens < 0 {
		return p.src.errorf(p.l.start, p.l.end, "this statement has more than %d words and signs; split it into definitions", MaxTokens)
	}
	p.opens = append(p.opens[:0], p.s.opens[max(0, len(p.s.opens)-1):]...)
	l, err := p.s.next()
	if err != nil {
		return err
	}
	p.l = l
	return nil
}

func (p *Parser) statement() (Stmt, error) {
	p.tokens = MaxTokens
	p.depth = 0
	p.s.cont = false
	for {
		if err := p.advance(); err != nil {
			return nil, err
		}
		switch p.l.tok {
		case tokNewline:
			p.tokens = MaxTokens
			continue
		case tokEOF:
			return nil, io.EOF
		case tokPercent:
			return p.command()
		}
		break
	}
	start := p.l.start
	x, err := p.expr()
	if err != nil {
		return nil, err
	}
	if p.l.tok != tokAssign {
		silent, err := p.endOfStatement()
		if err != nil {
			return nil, err
		}
		_, end := x.Span()
		return &ExprStmt{span{start, end}, silenced(silent), x}, nil
	}

	def := &Definition{}
	switch x := x.(type) {
	case *Name:
		def.Name = x
	case *Call:
		def.Name = x.Fn
		if len(x.Args) == 0 {
			return nil, p.src.Errorf(x, "a schema has at least one hole; without holes write %s = …", x.Fn.Text)
		}
		for _, a := range x.Args {
			hole, ok := a.X.(*Name)
			if !ok || a.Name != nil {
				return nil, p.src.Errorf(a.X, "a schema's holes are names, as in %s(x, a) = …", x.Fn.Text)
			}
			if slices.ContainsFunc(def.Params, func(h *Name) bool { return h.Text == hole.Text }) {
				return nil, p.src.Errorf(hole, "the hole %q is there twice", hole.Text)
			}
			def.Params = append(def.Params, hole)
		}
	case *Bool:
		return nil, p.src.Errorf(x, "true and false cannot be defined")
	default:
		return nil, p.src.Errorf(x, `only a name or a schema like name(x, a) can stand on the left of "="; equivalence is written "<->"`)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if def.X, err = p.expr(); err != nil {
		return nil, err
	}
	if p.l.tok == tokAssign {
		return nil, p.src.errorf(p.l.start, p.l.end, `a statement has one "="; equivalence is written "<->"`)
	}
	silent, err := p.endOfStatement()
	if err != nil {
		return nil, err
	}
	def.silenced = silenced(silent)
	_, end := def.X.Span()
	def.span = span{start, end}
	return def, nil
}

// endOfStatement takes an optional ";" and the line's end.
func (p *Parser) endOfStatement() (silent bool, err error) {
	if p.l.tok == tokSemi {
		silent = true
		if err := p.advance(); err != nil {
			return false, err
		}
	}
	switch p.l.tok {
	case tokEOF, tokNewline:
		return silent, nil
	case tokRparen:
		return false, p.src.errorf(p.l.start, p.l.end, `this ")" closes nothing`)
	}
	if silent {
		return false, p.src.errorf(p.l.start, p.l.end, `";" ends the statement without showing its result; start the next one on a new line`)
	}
	msg := `expected a connective (& | -> <-> xor) or the end of the line, found %s`
	if p.l.tok == tokName {
		if near := nearest.Name(p.l.text, Keywords()); near != "" {
			msg += fmt.Sprintf("; did you mean %q?", near)
		}
	}
	return false, p.src.errorf(p.l.start, p.l.end, msg, p.found())
}

// found describes the next lexeme for a message.
func (p *Parser) found() string {
	switch p.l.tok {
	case tokEOF:
		return "the end of the program"
	case tokNewline:
		return "the end of the line"
	case tokString:
		return fmt.Sprintf("the text %s", Quote(trim(p.l.text, 30)))
	}
	return fmt.Sprintf("%q", trim(p.l.text, 30))
}

// only reads one expression and insists on the end after it.
func (p *Parser) only() (Expr, error) {
	p.tokens = MaxTokens
	for p.l.tok == tokEOF || p.l.tok == tokNewline {
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.l.tok == tokEOF {
			break
		}
	}
	x, err := p.expr()
	if err != nil {
		return nil, err
	}
	for p.l.tok == tokNewline {
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if _, err := p.endOfStatement(); err != nil {
		return nil, err
	}
	return x, nil
}

// deeper counts one more level of nesting.
func (p *Parser) deeper() error {
	if p.depth++; p.depth > MaxDepth {
		return p.src.errorf(p.l.start, p.l.end, "this is nested more than %d levels deep; give the inner formulas names", MaxDepth)
	}
	return nil
}

func (p *Parser) expr() (Expr, error) { return p.chain(Iff) }

// opOf returns the connective that a token is.
func opOf(t token) (Op, bool) {
	if t >= tokIff && t <= tokAnd {
		return Op(t - tokIff), true
	}
	return 0, false
}

// chain reads operands joined by op, or by a connective that binds tighter.
// Climbing by precedence instead of one function a level keeps the
// stack shallow where parentheses are deep.
func (p *Parser) chain(loosest Op) (Expr, error) {
	x, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		op, ok := opOf(p.l.tok)
		if !ok || op < loosest {
			return x, nil
		}
		// All operands of this connective bind tighter than it.
		c := &Chain{Op: op, X: []Expr{x}}
		c.start, _ = x.Span()
		for p.l.tok == tokIff+token(op) {
			if err := p.advance(); err != nil {
				return nil, err
			}
			var y Expr
			if op == And {
				y, err = p.operand()
			} else {
				y, err = p.chain(op + 1)
			}
			if err != nil {
				return nil, err
			}
			c.X = append(c.X, y)
			_, c.end = y.Span()
		}
		x = c
	}
}

// operand reads an expression without connectives outside parentheses.
func (p *Parser) operand() (Expr, error) {
	l := p.l
	switch l.tok {
	case tokNot:
		if err := p.deeper(); err != nil {
			return nil, err
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		x, err := p.operand()
		if err != nil {
			return nil, err
		}
		p.depth--
		_, end := x.Span()
		return &Not{span{l.start, end}, x}, nil

	case tokLparen:
		if err := p.deeper(); err != nil {
			return nil, err
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.l.tok == tokRparen {
			return nil, p.src.errorf(l.start, p.l.end, "there is nothing between these parentheses")
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		if p.l.tok != tokRparen {
			return nil, p.unclosed(`a connective (& | -> <-> xor) or ")"`)
		}
		p.depth--
		return x, p.advance()

	case tokString:
		return &String{span{l.start, l.end}, l.text}, p.advance()
	case tokNumber:
		return &Number{span{l.start, l.end}, l.text, l.number}, p.advance()
	case tokTrue, tokFalse:
		return &Bool{span{l.start, l.end}, l.tok == tokTrue}, p.advance()
	case tokName:
		name := &Name{span{l.start, l.end}, l.text}
		if err := p.advance(); err != nil {
			return nil, err
		}
		if p.l.tok == tokLparen {
			return p.call(name)
		}
		return name, nil
	}

	// A mistake: say what would have been right.
	if l.tok == tokEOF {
		if len(p.opens) > 0 {
			return nil, p.unclosed("an event or a formula")
		}
		return nil, unfinished(p.src.errorf(l.start, l.end, "expected an event or a formula, found the end of the program"))
	}
	if _, ok := opOf(l.tok); ok {
		return nil, p.src.errorf(l.start, l.end, "%q has no formula on its left; a line that goes on ends in the connective, or stands in parentheses", l.text)
	}
	switch l.tok {
	case tokAssign:
		return nil, p.src.errorf(l.start, l.end, `"=" has no name on its left`)
	case tokPercent:
		return nil, p.src.errorf(l.start, l.end, `a command such as %%help stands at the start of a line`)
	}
	return nil, p.src.errorf(l.start, l.end, "expected an event, a formula or \"(\", found %s", p.found())
}

// unfinished marks a mistake that more text could mend.
func unfinished(e *Error) *Error {
	e.Err = io.ErrUnexpectedEOF
	return e
}

// unclosed reports that something else was found where the innermost
// parenthesis could have closed.
func (p *Parser) unclosed(expected string) error {
	open := p.l.start
	if len(p.opens) > 0 {
		open = p.opens[0]
	}
	if p.l.tok == tokEOF {
		end := open
		end.Col++
		return unfinished(p.src.errorf(open, end, `this "(" is never closed`))
	}
	return p.src.errorf(p.l.start, p.l.end, `expected %s to go with the "(" at %s, found %s`, expected, open, p.found())
}

// call reads a call's arguments; the next token is its "(".
func (p *Parser) call(fn *Name) (Expr, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	c := &Call{Fn: fn}
	c.start = fn.start
	if err := p.advance(); err != nil {
		return nil, err
	}
	for p.l.tok != tokRparen {
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		arg := Arg{X: x}
		if name, ok := x.(*Name); ok && p.l.tok == tokAssign {
			if err := p.advance(); err != nil {
				return nil, err
			}
			if arg.X, err = p.expr(); err != nil {
				return nil, err
			}
			arg.Name = name
		}
		c.Args = append(c.Args, arg)
		switch p.l.tok {
		case tokComma:
			if err := p.advance(); err != nil {
				return nil, err
			}
		case tokRparen:
		default:
			return nil, p.unclosed(`"," or ")"`)
		}
	}
	c.end = p.l.end
	p.depth--
	return c, p.advance()
}

// command reads a command's line; the next token is its "%".
func (p *Parser) command() (Stmt, error) {
	s := p.s
	c := &Command{src: p.src}
	c.start = p.l.start
	nameStart := s.pos
	for {
		r, w := s.peek()
		if w == 0 || unicode.IsSpace(r) || r == ';' || r == '#' {
			break
		}
		if r == utf8.RuneError && w == 1 {
			return nil, s.badByte()
		}
		s.take(w)
	}
	c.Name = &Name{span{c.start, s.pos}, p.src.text[nameStart.off:s.pos.off]}

	// The arguments go to the line's end, without a comment and the ";"
	// that silences. A "#" within a word is part of it (openai:URL#NAME).
	c.rest.start = s.pos
	end, quote, prev, semi := s.pos, rune(0), ' ', false
	for {
		r, w := s.peek()
		if w == 0 || r == '\n' || r == '\r' {
			break
		}
		if r == utf8.RuneError && w == 1 {
			return nil, s.badByte()
		}
		if r == 0 {
			e := s.pos
			e.Col++
			return nil, p.src.errorf(s.pos, e, "there is a NUL byte here, which is not text")
		}
		if quote == 0 && r == '#' && unicode.IsSpace(prev) {
			s.skipLine()
			break
		}
		switch {
		case quote != 0 && r == '\\':
			s.take(w)
			if r, w = s.peek(); w == 0 || r == '\n' || r == '\r' {
				continue
			}
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && r == '"', quote == 0 && r == '\'' && !isNamePart(prev):
			quote = r
		}
		s.take(w)
		if !unicode.IsSpace(r) {
			if semi = quote == 0 && r == ';'; !semi {
				end = s.pos
			}
		}
		prev = r
	}
	c.rest.end = end.off
	c.end = end
	c.silenced = silenced(semi)
	return c, nil
}

// Word is a command's argument.
type Word struct {
	span
	Text   string // without the quotes
	Quoted bool
}

// Words splits a command's arguments at white space. A word in quotes is a
// string of the language, and so is what follows the "=" of key="value".
func (c *Command) Words() ([]Word, error) {
	var words []Word
	s := newScanner(c.src, c.rest)
	for {
		r, w := s.peek()
		switch {
		case w == 0:
			return words, nil
		case unicode.IsSpace(r):
			s.take(w)
			continue
		}
		start := s.pos
		rest := s.rest()
		raw := len(rest) > 1 && r == 'r' && (rest[1] == '"' || rest[1] == '\'')
		if r == '"' || r == '\'' || raw {
			if raw {
				s.take(1)
			}
			l, err := s.string(start, raw)
			if err != nil {
				return nil, err
			}
			words = append(words, Word{span{start, s.pos}, l.text, true})
			continue
		}
		text, prev := "", ' '
		for w > 0 && !unicode.IsSpace(r) {
			if prev == '=' && (r == '"' || r == '\'') {
				at := s.pos
				l, err := s.string(at, false)
				if err != nil {
					return nil, err
				}
				text += l.text
			} else {
				s.take(w)
				text += string(r)
			}
			prev = r
			r, w = s.peek()
		}
		words = append(words, Word{span{start, s.pos}, text, false})
	}
}

// Rest returns the arguments as they were written.
func (c *Command) Rest() string {
	return strings.TrimSpace(c.src.text[c.rest.start.off:c.rest.end])
}

// Expr reads the arguments from a word on as one expression.
func (c *Command) Expr(from Word) (Expr, error) {
	return c.sub(from.start).only()
}

// Exprs reads the arguments from a word on as expressions separated by
// commas, or by white space where the next one cannot belong to the last.
func (c *Command) Exprs(from Word) ([]Expr, error) {
	p := c.sub(from.start)
	p.tokens = MaxTokens
	if err := p.advance(); err != nil {
		return nil, err
	}
	var xs []Expr
	for {
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		xs = append(xs, x)
		if p.l.tok == tokComma {
			if err := p.advance(); err != nil {
				return nil, err
			}
		}
		if p.l.tok == tokEOF {
			return xs, nil
		}
	}
}

// Stmt reads the arguments as one statement, and returns io.EOF where there
// are none.
func (c *Command) Stmt() (Stmt, error) {
	return c.sub(c.rest.start).Next()
}

func (c *Command) sub(start Pos) *Parser {
	return &Parser{src: c.src, s: newScanner(c.src, region{start, c.rest.end})}
}
