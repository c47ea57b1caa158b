package lang

import (
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// Results show themselves as HTML for notebooks. Front-ends remove style sheets and
// scripts from what they do not trust, so all style is in attributes. The text's colour is the
// page's own, light or dark, and the few colours are dark backgrounds under white text.
// Front-ends that look for mathematics between dollar signs are told not to.
const (
	htmlBox   = `<div class="tex2jax_ignore mathjax_ignore" style="text-align:left">`
	htmlTable = `<table style="border-collapse:collapse;margin:4px 0">`
	htmlFaint = `opacity:0.75;font-size:90%`
)

// badges are the backgrounds of verdicts: the figures' blue and red.
var badges = map[string]string{styleGood: "#2b6cb0", styleBad: "#c23b33", styleDoubt: "#80680f"}

// htmlText makes a text fit for one line of HTML.
func htmlText(s string) string { return html.EscapeString(escape(s)) }

// htmlTip makes an attribute that shows lines while the pointer is on the element.
func htmlTip(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	for i, l := range lines {
		lines[i] = htmlText(l)
	}
	return ` title="` + strings.Join(lines, "&#10;") + `"`
}

// htmlLimit is the number of letters to which a text in a line of HTML is cut; the whole, up
// to maxClip bytes, is in the tooltip.
const htmlLimit = 300

// htmlCut shows a text, and where it is cut the whole in a tooltip.
func htmlCut(s string) string {
	short := []rune(clip(s))
	if len(short) <= htmlLimit {
		return htmlText(string(short))
	}
	return "<span" + htmlTip([]string{clip(s)}) + ">" + htmlText(string(short[:htmlLimit])) + "…</span>"
}

// page gathers the HTML of one result.
type page struct{ strings.Builder }

func newPage() *page {
	p := &page{}
	p.WriteString(htmlBox)
	return p
}

func (p *page) done() string { return p.String() + "</div>" }

// title writes a formula with its name and a verdict.
func (p *page) title(name, formula, word, style string) {
	p.WriteString("<div>")
	if name != "" {
		name, _, _ = strings.Cut(name, "(")
		p.WriteString("<b>" + htmlText(name) + ":</b> ")
	}
	p.WriteString("<b>" + htmlCut(formula) + "</b>")
	if c := badges[style]; c != "" {
		fmt.Fprintf(p, ` <span style="background-color:%s;color:#ffffff;padding:1px 7px;border-radius:8px">%s</span>`, c, html.EscapeString(word))
	}
	p.WriteString("</div>")
}

// faint writes a line of secondary text.
func (p *page) faint(text string) {
	if text != "" {
		p.WriteString(`<div style="` + htmlFaint + `">` + htmlText(text) + "</div>")
	}
}

// cell is a cell of a table: its HTML, and what is shown while the pointer is on it.
type cell struct {
	html  string
	tip   []string
	right bool
}

func plainCell(s string) cell { return cell{html: htmlText(s)} }

// table writes rows under heads.
func (p *page) table(head []string, rows [][]cell) {
	if len(rows) == 0 {
		return
	}
	align := func(right bool) string {
		if right {
			return "right"
		}
		return "left"
	}
	p.WriteString(htmlTable + "<thead><tr>")
	for i, h := range head {
		right := i < len(rows[0]) && rows[0][i].right
		fmt.Fprintf(p, `<th scope="col" style="text-align:%s;padding:2px 10px 2px 0;border-bottom:1px solid #888888">%s</th>`, align(right), htmlText(h))
	}
	p.WriteString("</tr></thead><tbody>")
	for _, row := range rows {
		p.WriteString("<tr>")
		for _, c := range row {
			fmt.Fprintf(p, `<td style="text-align:%s;padding:2px 10px 2px 0"%s>%s</td>`, align(c.right), htmlTip(c.tip), c.html)
		}
		p.WriteString("</tr>")
	}
	p.WriteString("</tbody></table>")
}

// askedCell shows what the model was asked: the end of the prefix, and the token. The tooltip
// has all of it, with the ids and pieces.
func askedCell(prefix, piece string, target lm.Token, prompt []lm.Token, pieces []string) cell {
	const shown = 60
	r := []rune(prefix)
	text := escape(prefix)
	if len(r) > shown {
		text = "…" + escape(string(r[len(r)-shown:]))
	}
	c := cell{html: html.EscapeString(text) + "▸<b>" + htmlText(piece) + "</b>"}
	c.tip = append(c.tip, clipLeft(prefix)+"▸"+clip(piece))

	// The last tokens of a long prompt are the telling ones.
	const tokens = 48
	var b strings.Builder
	first := max(0, len(prompt)-tokens)
	if first > 0 {
		fmt.Fprintf(&b, "… %s, ", plural(first, "more token"))
	}
	for i := first; i < len(prompt) && i < len(pieces); i++ {
		fmt.Fprintf(&b, "%d “%s” ", prompt[i], clip(pieces[i]))
	}
	if len(prompt) > 0 {
		c.tip = append(c.tip, "tokens: "+b.String()+fmt.Sprintf("▸ %d “%s”", target, clip(piece)))
	}
	return c
}

// source says which model was asked and how its answers were calibrated.
func source(m *lm.Info, c calibrate.Calibration) string {
	if m == nil {
		return ""
	}
	return describeModel(*m) + " · " + c.String()
}

// HTML shows what Text does, in a table; a tooltip on each event has the whole of what was
// asked, with token ids and pieces.
func (r *Report) HTML() string {
	p := newPage()
	word, style := r.verdict()
	p.title(r.Name, r.Formula, word, style)
	p.table([]string{"WMC", "WMC₀", "ρ", "I (bits)", "loss (nats)"}, [][]cell{{
		plainCell(show(r.WMC, sig)), plainCell(figures(r.WMC0, sig)), plainCell(show(r.Rho, sig)), plainCell(figures(r.Info, sig)), plainCell(show(r.Loss, sig)),
	}})
	p.events(r.Events)
	for _, n := range footnotes(r.Events, Style{}) {
		p.faint(strings.TrimSpace(n))
	}
	p.faint(source(r.Model, r.Calibration))
	return p.done()
}

// events writes a line for each token event.
func (p *page) events(events []ReportEvent) {
	asked := false
	for _, e := range events {
		asked = asked || !e.Given
	}
	head := []string{"event", "P", "∂WMC"}
	if asked {
		head = []string{"event", "asked", "raw P", "live region", "event P", "∂WMC"}
	}
	var rows [][]cell
	for _, e := range events {
		for i, t := range e.Tokens {
			if len(rows) == maxRows {
				break
			}
			name := cell{html: htmlText(cutRight(escape(e.Name), maxLabel*2))}
			if len(e.Tokens) > 1 {
				name.html += fmt.Sprintf(".%d", i+1)
			}
			if !e.Given {
				name.tip = []string{fmt.Sprintf("prefix “%s”, target “%s”", clip(e.Prefix), clip(e.Target))}
			}
			row := []cell{name}
			switch {
			case asked && e.Given:
				row = append(row, plainCell("given"), cell{}, cell{})
			case asked:
				row = append(row, askedCell(t.PrefixText, t.Piece, t.Token, t.Prompt, t.PromptPieces), plainCell(show(t.P, sig)), plainCell(t.region()))
			}
			rows = append(rows, append(row, plainCell(show(t.EventP, sig)), plainCell(signed(t.Grad, sig))))
		}
	}
	p.table(head, rows)
}

// HTML shows the query and its answer.
func (v *Value) HTML() string {
	p := newPage()
	about := htmlText(v.Query) + "(" + htmlCut(v.Formula) + ")"
	if v.Query == "calc" {
		about = htmlCut(v.Formula)
	}
	fmt.Fprintf(p, `<span style="%s">%s =</span> `, htmlFaint, about)
	p.WriteString("<b>" + htmlText(v.Text(Style{})) + "</b>")
	return p.done()
}

// HTML shows the rows that Text does.
func (t *Table) HTML() string {
	p := newPage()
	if t.Formula != "" {
		p.title("", t.Formula, "", "")
	}
	var rows [][]cell
	for i, cells := range t.Cells {
		if i == maxRows {
			break
		}
		row := make([]cell, len(cells))
		for j, s := range cells {
			row[j] = cell{html: htmlCut(s)}
			row[j].right = j < len(t.right) && t.right[j]
		}
		if i < len(t.asked) && t.asked[i] != nil && t.flex >= 0 {
			v := t.asked[i]
			row[t.flex] = askedCell(v.PrefixText, v.Piece, v.Target, v.Prefix, v.PrefixPieces)
		}
		rows = append(rows, row)
	}
	p.table(t.Head, rows)
	if n := len(t.Cells) - maxRows; n > 0 {
		p.faint("… and " + plural(n, "more row") + " (JSON has all)")
	}
	p.faint(t.Note)
	return p.done()
}

// HTML shows a line for each k.
func (l *Ladder) HTML() string {
	p := newPage()
	p.title(l.Name, l.Formula, "", "")
	var rows [][]cell
	for _, texts := range l.shown() {
		row := make([]cell, len(texts))
		for i, s := range texts {
			row[i] = plainCell(s)
			row[i].right = i == 0
		}
		rows = append(rows, row)
	}
	p.table(ladderHead, rows)
	p.faint(source(l.Model, l.Calibration))
	return p.done()
}

// HTML shows the means and what became of the other rows.
func (r *Run) HTML() string {
	p := newPage()
	p.title("", r.Schema, "", "")
	p.faint(r.File)
	if r.Scored > 0 {
		p.table([]string{"n", "WMC", "ρ", "CAcc (%)", "I (bits)"}, [][]cell{{
			plainCell(count(r.Scored)), plainCell(show(r.WMC, sig)), plainCell(show(r.Rho, sig)), plainCell(span(percent(r.CAcc.Lo), percent(r.CAcc.Hi))), plainCell(figures(r.Info, sig)),
		}})
	}
	p.faint(strings.Join(r.counts(), " · "))
	for _, b := range r.Bad {
		p.faint(fmt.Sprintf("line %d: %s", b.Line, clip(b.Why)))
	}
	if n := r.BadRows - len(r.Bad); n > 0 {
		p.faint("… and " + count(n) + " more")
	}
	p.faint(source(r.Model, r.Calibration))
	return p.done()
}

// HTML shows the drawing.
func (f *Figure) HTML() string {
	p := newPage()
	svg, err := f.SVG()
	if err != nil {
		p.faint(err.Error())
		return p.done()
	}
	fmt.Fprintf(p, `<img alt="%s" style="max-width:100%%" src="data:image/svg+xml;base64,%s"/>`, htmlText(clip(f.Drawing.Title())), base64.StdEncoding.EncodeToString(svg))
	return p.done()
}

// SVG returns the drawing as an SVG document.
func (f *Figure) SVG() ([]byte, error) { return f.Drawing.SVG() }

// HTML shows the message.
func (n *Note) HTML() string {
	p := newPage()
	lines := strings.Split(n.Message, "\n")
	if len(lines) == 1 {
		p.faint(n.Message)
		return p.done()
	}
	p.WriteString(`<pre style="white-space:pre-wrap">`)
	for _, l := range lines {
		p.WriteString(htmlText(l) + "\n")
	}
	p.WriteString("</pre>")
	return p.done()
}
