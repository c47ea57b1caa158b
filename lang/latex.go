package lang

import (
	"fmt"
	"strings"

	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/logic"
)

// maxLaTeX is the length in bytes beyond which a formula is not typeset, but told of.
const maxLaTeX = 8 << 10

// typeset writes the first of some forms of a formula that is short enough to be read.
func typeset(forms ...syntax.Expr) string {
	for _, x := range forms {
		if x == nil {
			continue
		}
		if s := syntax.Format(x, syntax.LaTeX); len(s) <= maxLaTeX {
			return s
		}
	}
	return `\text{(a long formula)}`
}

// figuresLaTeX writes a number as figures or plain shows it.
func figuresLaTeX(shown string) string {
	switch shown {
	case "∞":
		return `\infty`
	case "-∞":
		return `-\infty`
	case "undefined":
		return `\text{undefined}`
	}
	if m, e, ok := strings.Cut(shown, "e"); ok {
		sign := ""
		if strings.HasPrefix(e, "-") {
			sign = "-"
		}
		return m + ` \times 10^{` + sign + strings.TrimLeft(e, "+-0") + "}"
	}
	return shown
}

// showLaTeX writes a number or the interval that it lies in.
func showLaTeX(i Interval, n int) string {
	return spanLaTeX(figures(i.Lo, n), figures(i.Hi, n))
}

func spanLaTeX(lo, hi string) string {
	if lo == hi {
		return figuresLaTeX(lo)
	}
	return "[" + figuresLaTeX(lo) + `,\, ` + figuresLaTeX(hi) + "]"
}

// LaTeX gives the formula and below it WMC, WMC₀, ρ and I, in mathematics mode.
func (r *Report) LaTeX() string {
	f := typeset(r.x, r.short)
	if len(f) > 200 { // too wide for a page
		f = typeset(r.short, r.x)
	}
	return fmt.Sprintf(`$\displaystyle\begin{array}{l} %s \\ \mathrm{WMC} = %s,\quad \mathrm{WMC}_0 = %s,\quad \rho = %s,\quad I = %s\ \text{bits} \end{array}$`,
		f, showLaTeX(r.WMC, sig), figuresLaTeX(figures(r.WMC0, sig)), showLaTeX(r.Rho, sig), figuresLaTeX(figures(r.Info, sig)))
}

// queryLaTeX are the paper's symbols for queries of one number.
var queryLaTeX = map[string]string{
	"wmc": `\mathrm{WMC}`, "wmc0": `\mathrm{WMC}_0`, "rho": `\rho`, "cacc": `\mathrm{CAcc}`, "info": "I", "loss": `\ell_{\mathrm{sl}}`,
}

// LaTeX gives the query and its answer, in mathematics mode.
func (v *Value) LaTeX() string {
	var f []string
	for _, x := range v.args {
		f = append(f, typeset(x))
	}
	if v.Truth != nil && len(f) == 2 {
		sign := map[string]string{"entails": `\models`, "equivalent": `\equiv`}[v.Query]
		if !*v.Truth {
			sign = `\not` + sign
		}
		// The connectives bind tighter than the sign between two formulas.
		return fmt.Sprintf(`$\displaystyle %s \;%s\; %s$`, f[0], sign, f[1])
	}
	answer := spanLaTeX(plain(v.Number.Lo), plain(v.Number.Hi))
	if v.Verdict != nil {
		switch *v.Verdict {
		case logic.Consistent:
			answer = "1"
		case logic.Inconsistent:
			answer = "0"
		default:
			answer = syntax.LaTeXText(v.Verdict.String())
		}
	}
	if v.Query == "calc" {
		return "$" + answer + "$"
	}
	return fmt.Sprintf(`$\displaystyle %s(%s) = %s$`, queryLaTeX[v.Query], strings.Join(f, ", "), answer)
}

// LaTeX gives what the ladder is of and an array of its rungs, in mathematics mode.
func (l *Ladder) LaTeX() string {
	var b strings.Builder
	fmt.Fprintf(&b, `$\displaystyle\begin{array}{l} %s \\ \begin{array}{r|lllll} k & \mathrm{WMC}(F_{\geq k}) & \mathrm{WMC}_0 & \rho & I & \ell_{\mathrm{sl}} \\ \hline`, typeset(l.x))
	for _, row := range l.shown() {
		b.WriteByte(' ')
		for i, cell := range row {
			if i > 0 {
				b.WriteString(" & ")
			}
			switch lo, hi, ok := strings.Cut(cell, " … "); {
			case cell == "…":
				b.WriteString(`\vdots`)
			case ok:
				b.WriteString(spanLaTeX(lo, hi))
			case i == 0:
				b.WriteString(strings.ReplaceAll(cell, ",", "{,}"))
			default:
				b.WriteString(figuresLaTeX(cell))
			}
		}
		b.WriteString(` \\`)
	}
	b.WriteString(` \end{array} \end{array}$`)
	return b.String()
}
