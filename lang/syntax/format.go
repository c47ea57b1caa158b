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
	LaTeX                // \leftrightarrow \to \lor \oplus \land \lnot \top \bot, in mathematics mode
)

// constants are how each style writes what is no two-place connective.
var constants = [...]struct{ truth, falsehood, not string }{
	Unicode: {"⊤", "⊥", "¬"},
	ASCII:   {"true", "false", "!"},
	LaTeX:   {`\top`, `\bot`, `\lnot `},
}

// Format writes an expression on one line, with the fewest parentheses that
// preserve it. In LaTeX names and texts are \text{…}, and M is the paper's \mathcal{M}; it is
// for reading and does not tell all texts apart.
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
		p.name(x.Text)
	case *String:
		if p.style == LaTeX {
			p.WriteString(LaTeXText("“" + x.Value + "”"))
		} else {
			p.WriteString(Quote(x.Value))
		}
	case *Number:
		if m, e, ok := strings.Cut(strings.ToLower(x.Text), "e"); ok && p.style == LaTeX {
			p.WriteString(m + ` \times 10^{` + strings.TrimPrefix(e, "+") + "}")
		} else {
			p.WriteString(x.Text)
		}
	case *Bool:
		if x.Value {
			p.WriteString(constants[p.style].truth)
		} else {
			p.WriteString(constants[p.style].falsehood)
		}
	case *Not:
		p.WriteString(constants[p.style].not)
		p.expr(x.X, tightest)
	case *Chain:
		if x.Op < place {
			p.WriteString("(")
			defer p.WriteString(")")
		}
		for i, y := range x.X {
			if i > 0 {
				p.WriteString(" " + x.Op.text(p.style) + " ")
			}
			p.expr(y, x.Op+1)
		}
	case *Call:
		if p.style == LaTeX && x.Fn.Text == "M" {
			p.WriteString(`\mathcal{M}`)
		} else {
			p.name(x.Fn.Text)
		}
		p.WriteString("(")
		for i, a := range x.Args {
			if i > 0 {
				p.WriteString(", ")
			}
			if a.Name != nil {
				p.name(a.Name.Text)
				p.WriteString("=")
			}
			p.expr(a.X, 0)
		}
		p.WriteString(")")
	}
}

func (p printer) name(s string) {
	if p.style == LaTeX {
		s = LaTeXText(s)
	}
	p.WriteString(s)
}

// LaTeXText writes a text as LaTeX's \text{…}, for mathematics mode. What LaTeX would take for a
// command is escaped, or is a sign outside of \text where LaTeX and MathJax have no escape in common,
// and what has no shape of its own (a line's end, a control character) is a space.
func LaTeXText(s string) string {
	var b strings.Builder
	b.WriteString(`\text{`)
	for _, r := range s {
		switch r {
		case '{', '}', '$', '%', '&', '#', '_':
			b.WriteRune('\\')
			b.WriteRune(r)
		case '\\':
			b.WriteString(`}\backslash\text{`)
		case '^':
			b.WriteString(`}\hat{\ }\text{`)
		case '~':
			b.WriteString(`}{\sim}\text{`)
		default:
			if !unicode.IsPrint(r) {
				r = ' '
			}
			b.WriteRune(r)
		}
	}
	b.WriteByte('}')
	return b.String()
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
