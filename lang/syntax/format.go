package syntax

import (
	"fmt"
	"strings"
	"unicode"
)

// Style is a way to write connectives.
type Style uint8

const (
	Unicode Style = iota // ↔ → ∨ ⊕ ∧ ¬ ⊤ ⊥
	ASCII                // <-> -> | ^ & ! true false
)

// Format writes an expression on one line, with the fewest parentheses that
// preserve it.
func Format(x Expr, style Style) string {
	var b strings.Builder
	p := printer{&b, style}
	p.expr(x, 0)
	return b.String()
}

type printer struct {
	*strings.Builder
	style Style
}

// tightest is the binding strength of an operand that needs no parentheses.
const tightest = And + 1

// expr writes x, in parentheses if it is a chain that binds looser than
// the place it stands in.
func (p printer) expr(x Expr, place Op) {
	switch x := x.(type) {
	case *Name:
		p.WriteString(x.Text)
	case *String:
		p.WriteString(Quote(x.Value))
	case *Number:
		p.WriteString(x.Text)
	case *Bool:
		p.WriteString(map[Style]map[bool]string{
			Unicode: {true: "⊤", false: "⊥"},
			ASCII:   {true: "true", false: "false"},
		}[p.style][x.Value])
	case *Not:
		if p.style == ASCII {
			p.WriteString("!")
		} else {
			p.WriteString("¬")
		}
		p.expr(x.X, tightest)
	case *Chain:
		if x.Op < place {
			p.WriteString("(")
			defer p.WriteString(")")
		}
		for i, y := range x.X {
			if i > 0 {
				op := opText[x.Op].unicode
				if p.style == ASCII {
					op = opText[x.Op].ascii
				}
				p.WriteString(" " + op + " ")
			}
			p.expr(y, x.Op+1)
		}
	case *Call:
		p.WriteString(x.Fn.Text + "(")
		for i, a := range x.Args {
			if i > 0 {
				p.WriteString(", ")
			}
			if a.Name != nil {
				p.WriteString(a.Name.Text + "=")
			}
			p.expr(a.X, 0)
		}
		p.WriteString(")")
	}
}

// Quote writes a text as a string of the language.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
