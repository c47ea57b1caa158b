package table

import (
	"strings"

	"github.com/mattn/go-runewidth"
)

const (
	between  = "  " // columns
	leastKey = 8    // columns of the terminal to which a text may be cut
	star     = "*"  // marks the best where there is no bold
)

// narrow counts columns as terminals do, whatever the environment says of East Asian ones.
var narrow = &runewidth.Condition{}

func width(s string) int { return narrow.StringWidth(s) }

func padRight(s string, n int) string { return s + strings.Repeat(" ", max(0, n-width(s))) }

func padLeft(s string, n int) string { return strings.Repeat(" ", max(0, n-width(s))) + s }

// numbers are the widths of what the numbers of a column are made of, so that they
// stand below one another: what is before the point and from it on, the same of the deviation, and
// the mark.
type numbers struct{ whole, fraction, stdWhole, stdFraction, mark int }

func point(s string) (whole, fraction string) {
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

func (n *numbers) fit(c Cell, mark string) {
	whole, fraction := point(c.text())
	stdWhole, stdFraction := point(c.stdText())
	n.whole, n.fraction, n.mark = max(n.whole, width(whole)), max(n.fraction, width(fraction)), max(n.mark, len(mark))
	n.stdWhole, n.stdFraction = max(n.stdWhole, width(stdWhole)), max(n.stdFraction, width(stdFraction))
}

func (n numbers) width() int {
	w := n.whole + n.fraction + n.mark
	if n.stdWhole > 0 {
		w += len(" + ") + n.stdWhole + n.stdFraction
	}
	return w
}

// lay lays out a number; best is bold where there are colours.
func (n numbers) lay(c Cell, mark string, bold bool) string {
	whole, fraction := point(c.text())
	s := paint(whole+fraction, "1", bold)
	s = strings.Repeat(" ", n.whole-width(whole)) + s + strings.Repeat(" ", n.fraction-width(fraction))
	if n.stdWhole > 0 {
		stdWhole, stdFraction := point(c.stdText())
		sign := "   "
		if stdWhole != "" {
			sign = " ± "
		}
		s += sign + padLeft(stdWhole, n.stdWhole) + padRight(stdFraction, n.stdFraction)
	}
	return s + padRight(mark, n.mark)
}

// paint puts a text between escape sequences.
func paint(s, code string, on bool) string {
	if !on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// column is how a column is laid out.
type column struct {
	head    []string
	width   int
	numbers numbers
}

// plainText shows a table in lines.
func (t *Table) plainText(st Style) string {
	keys := t.keys()
	marks := make([][][]bool, len(t.Groups))
	indent, starred := "", false
	for i, g := range t.Groups {
		marks[i] = t.best(g)
		if g.Heading != "" && keys > 0 {
			indent = "  "
		}
	}
	mark := func(g, i, j int) string {
		if marks[g][i][j] && !st.Color {
			starred = true
			return star
		}
		return ""
	}
	columns := make([]column, len(t.Columns))
	for j := range columns {
		c := &columns[j]
		for g := range t.Groups {
			for i, r := range t.Groups[g].Rows {
				if r.Cells[j].isNumber() {
					c.numbers.fit(r.Cells[j], mark(g, i, j))
				} else {
					c.width = max(c.width, width(r.Cells[j].text()))
				}
			}
		}
		c.width = max(c.width, c.numbers.width())
		c.head = breakAt(clean(t.Columns[j].Head), c.width)
		for _, h := range c.head {
			c.width = max(c.width, width(h))
		}
	}
	limitKeys(columns, keys, len(indent), st.Width)

	var b strings.Builder
	if title := clean(t.title()); title != "" {
		for _, l := range wrap(title, st.Width) {
			b.WriteString(paint(l, "1", st.Color) + "\n")
		}
	}
	for n, part := range split(columns, keys, len(indent), st.Width) {
		if n > 0 {
			b.WriteByte('\n')
		}
		t.part(&b, part, columns, indent, mark, marks, st)
	}
	notes := t.Notes
	if starred {
		note := star + " the best of its column"
		if len(t.Groups) > 1 {
			note += " in its group"
		}
		notes = append([]string{note}, notes...)
	}
	for _, note := range notes {
		for _, l := range wrap(clean(note), st.Width) {
			b.WriteString(paint(l, "2", st.Color) + "\n")
		}
	}
	return b.String()
}

// part writes some of the columns.
func (t *Table) part(b *strings.Builder, part []int, columns []column, indent string, mark func(g, i, j int) string, marks [][][]bool, st Style) {
	keys := t.keys()
	line := func(cells []string) {
		b.WriteString(strings.TrimRight(indent+strings.Join(cells, between), " ") + "\n")
	}
	height, total := 0, len(indent)-len(between)
	for _, j := range part {
		height = max(height, len(columns[j].head))
		total += columns[j].width + len(between)
	}
	for k := range height {
		var cells []string
		for _, j := range part {
			c := columns[j]
			h := ""
			if at := k - (height - len(c.head)); at >= 0 {
				h = c.head[at]
			}
			if j < keys {
				cells = append(cells, padRight(h, c.width))
			} else {
				cells = append(cells, padLeft(h, c.width))
			}
		}
		line(cells)
	}
	rule := strings.Repeat("─", max(total, 1)) + "\n"
	for g, group := range t.Groups {
		b.WriteString(rule)
		if group.Heading != "" {
			for _, l := range wrap(clean(group.Heading), st.Width) {
				b.WriteString(paint(l, "2", st.Color) + "\n")
			}
		}
		for i, r := range group.Rows {
			var cells []string
			for _, j := range part {
				c, x := columns[j], r.Cells[j]
				switch {
				case j < keys:
					cells = append(cells, padRight(narrow.Truncate(x.text(), c.width, "…"), c.width))
				case x.isNumber():
					cells = append(cells, strings.Repeat(" ", c.width-c.numbers.width())+c.numbers.lay(x, mark(g, i, j), marks[g][i][j] && st.Color))
				default:
					cells = append(cells, padLeft(x.text(), c.width))
				}
			}
			line(cells)
		}
	}
	b.WriteString(rule)
}

// limitKeys cuts the widest texts until any one of the other columns has room beside them.
func limitKeys(columns []column, keys, indent, limit int) {
	if limit <= 0 {
		return
	}
	room := limit - indent
	widest := -len(between)
	for _, c := range columns[keys:] {
		widest = max(widest, c.width)
	}
	room -= widest + len(between)
	for {
		total, at := -len(between), 0
		for j := range keys {
			total += columns[j].width + len(between)
			if columns[j].width > columns[at].width {
				at = j
			}
		}
		if keys == 0 || total <= room || columns[at].width <= leastKey {
			return
		}
		c := &columns[at]
		c.width = max(leastKey, c.width-(total-room))
		var head []string
		for _, h := range c.head {
			head = append(head, narrow.Truncate(h, c.width, "…"))
		}
		c.head = head
	}
}

// split puts the columns into parts that fit the width, each after the keys.
func split(columns []column, keys, indent, limit int) [][]int {
	start := indent - len(between)
	var first []int
	for j := range keys {
		first = append(first, j)
		start += columns[j].width + len(between)
	}
	var parts [][]int
	part, total := append([]int(nil), first...), start
	for j := keys; j < len(columns); j++ {
		w := columns[j].width + len(between)
		if limit > 0 && total+w > limit && len(part) > keys {
			parts = append(parts, part)
			part, total = append([]int(nil), first...), start
		}
		part = append(part, j)
		total += w
	}
	return append(parts, part)
}

// breakAt breaks a head at spaces into lines that are no wider than they must be.
func breakAt(s string, w int) []string {
	for _, word := range strings.Fields(s) {
		w = max(w, width(word))
	}
	return wrap(s, w)
}

// wrap breaks a text at spaces into lines of a width; 0 is no limit.
func wrap(s string, limit int) []string {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines) - 1; n >= 0 && (limit <= 0 || width(lines[n])+1+width(word) <= limit) {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
