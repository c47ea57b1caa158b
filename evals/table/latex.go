package table

import (
	"fmt"
	"strings"
)

// headWidth is how many characters a line of a head has, as far as its words allow, so that
// five columns of numbers fit a page.
const headWidth = 12

// latex writes a table for a document that uses booktabs.
func (t *Table) latex() string {
	var b strings.Builder
	if t.Number != "" {
		fmt.Fprintf(&b, "%% %s\n", clean(t.Number))
	}
	b.WriteString("\\begin{table}\n\\centering\n")
	if t.Caption != "" {
		fmt.Fprintf(&b, "\\caption{%s}\n", escapeLaTeX(clean(t.Caption)))
	}
	keys := t.keys()
	fmt.Fprintf(&b, "\\begin{tabular}{%s}\n\\toprule\n", strings.Repeat("l", keys)+strings.Repeat("r", len(t.Columns)-keys))
	line := func(cells []string) {
		b.WriteString(strings.Join(cells, " & ") + ` \\` + "\n")
	}
	var head []string
	for i, c := range t.Columns {
		lines := breakAt(clean(c.Head), headWidth)
		for i := range lines {
			lines[i] = escapeLaTeX(lines[i])
		}
		h := strings.Join(lines, `\\`)
		switch {
		case len(lines) < 2:
			h = group(h)
		case i < keys:
			h = `\shortstack[l]{` + h + "}"
		default:
			h = `\shortstack[r]{` + h + "}"
		}
		head = append(head, h)
	}
	line(head)
	for _, g := range t.Groups {
		b.WriteString("\\midrule\n")
		if g.Heading != "" {
			fmt.Fprintf(&b, "\\multicolumn{%d}{l}{\\textit{%s}} \\\\\n", len(t.Columns), escapeLaTeX(clean(g.Heading)))
		}
		marks := t.best(g)
		for i, r := range g.Rows {
			var cells []string
			for j, c := range r.Cells {
				cells = append(cells, c.latex(marks[i][j]))
			}
			line(cells)
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	for i, n := range t.Notes {
		if i == 0 {
			b.WriteString("\n\\medskip\n")
		}
		fmt.Fprintf(&b, "{\\footnotesize %s\\par}\n", escapeLaTeX(clean(n)))
	}
	b.WriteString("\\end{table}\n")
	return b.String()
}

// latex writes a cell. Nothing that \\ or a rule would take for its own argument
// stands at its start.
func (c Cell) latex(best bool) string {
	switch c.kind {
	case missing:
		return "--"
	case undefined:
		return "undefined"
	case words:
		return group(escapeLaTeX(c.words))
	}
	s := strings.NewReplacer("∞", `\infty`, " … ", ` \ldots `).Replace(c.text())
	if best {
		s = `\mathbf{` + s + "}"
	}
	if std := c.stdText(); std != "" {
		s += ` \pm ` + strings.ReplaceAll(std, "∞", `\infty`)
	}
	return "$" + s + "$"
}

// group keeps a bracket or a star at a cell's start from being read as an argument
// of what is before it.
func group(s string) string {
	if s != "" && strings.ContainsRune("[*", rune(s[0])) {
		return "{" + s + "}"
	}
	return s
}

// escapeLaTeX makes a text stand for itself. Signs of logic and mathematics become
// commands; other characters are left to the document's fonts.
func escapeLaTeX(s string) string { return latexEscapes.Replace(s) }

var latexEscapes = strings.NewReplacer(latexPairs()...)

func latexPairs() []string {
	pairs := []string{
		`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`,
		"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
		// no ligatures: -- is not an en dash, nor ?` an inverted mark
		`"`, "''", "''", "'{}'{}", "`", "`{}", "--", "-{}-{}", "?`", "?{}`{}", "!`", "!{}`{}",
		"–", "--", "—", "---", "…", `\ldots{}`, "“", "``", "”", "''", "‘", "`", "’", "'", "\u00a0", "~", "\u202f", `\,`,
		"₋₁", "$_{-1}$", "⁻¹", "$^{-1}$", "▸", `$\triangleright$`,
	}
	for i, r := range []rune("₀₁₂₃₄₅₆₇₈₉") {
		pairs = append(pairs, string(r), fmt.Sprintf("$_%d$", i))
	}
	for r, command := range map[rune]string{
		'−': "-", '±': `\pm`, '×': `\times`, '·': `\cdot`, '∞': `\infty`, '≤': `\leq`, '≥': `\geq`, '≠': `\neq`, '≈': `\approx`,
		'→': `\to`, '↔': `\leftrightarrow`, '∧': `\land`, '∨': `\lor`, '¬': `\lnot`, '⊕': `\oplus`, '⊤': `\top`, '⊥': `\bot`, '∂': `\partial`,
		'∈': `\in`, '∑': `\sum`, '√': `\surd`, '²': "^2", '³': "^3", 'ₖ': "_k",
		'α': `\alpha`, 'β': `\beta`, 'δ': `\delta`, 'ε': `\epsilon`, 'θ': `\theta`, 'κ': `\kappa`, 'λ': `\lambda`, 'μ': `\mu`, 'π': `\pi`,
		'ρ': `\rho`, 'σ': `\sigma`, 'τ': `\tau`, 'φ': `\varphi`, 'χ': `\chi`, 'ψ': `\psi`, 'ω': `\omega`, 'Δ': `\Delta`, 'Σ': `\Sigma`, 'Θ': `\Theta`,
	} {
		pairs = append(pairs, string(r), "$"+command+"$")
	}
	return pairs
}
