package lang

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// grid lays cells out in columns. The flexible column is cut so that lines fit
// the width; the others keep theirs.
type grid struct {
	head   []column
	rows   [][]string
	indent int
}

type column struct {
	title string
	right bool   // aligned to the right
	flex  bool   // cut where the line would be too long …
	left  bool   // … on its left, because its end matters more
	style string // ANSI code of the cells
}

// gap is the space between columns, and tightGap that where lines would be too
// long.
const gap, tightGap = 3, 2

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// lines returns the header and the rows.
func (g *grid) lines(st Style) []string {
	widths := make([]int, len(g.head))
	titled := false
	for i, c := range g.head {
		widths[i] = runewidth.StringWidth(c.title)
		titled = titled || c.title != ""
	}
	for _, row := range g.rows {
		for i, cell := range row {
			if g.head[i].left {
				row[i] = clipLeft(cell)
			} else {
				row[i] = clip(cell)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(row[i]))
		}
	}
	sum := func(gap int) int {
		total := g.indent + gap*(len(widths)-1)
		for _, w := range widths {
			total += w
		}
		return total
	}
	gap, total := gap, sum(gap)
	if total > st.width() {
		gap, total = tightGap, sum(tightGap)
	}
	if over := total - st.width(); over > 0 {
		// The flexible columns give way, the widest first.
		for ; over > 0; over-- {
			widest := -1
			for i, c := range g.head {
				if c.flex && widths[i] > minFlex && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}

	var out []string
	line := func(cells []string, style func(i int) string) {
		var b strings.Builder
		b.WriteString(strings.Repeat(" ", g.indent))
		for i, cell := range cells {
			c := g.head[i]
			if c.left {
				cell = cutLeft(cell, widths[i])
			} else if c.flex {
				cell = cutRight(cell, widths[i])
			}
			pad := strings.Repeat(" ", max(0, widths[i]-runewidth.StringWidth(cell)))
			painted := st.paint(style(i), cell)
			switch {
			case c.right:
				b.WriteString(pad + painted)
			case i == len(cells)-1:
				b.WriteString(painted)
			default:
				b.WriteString(painted + pad)
			}
			if i < len(cells)-1 {
				b.WriteString(strings.Repeat(" ", gap))
			}
		}
		out = append(out, strings.TrimRight(b.String(), " "))
	}
	if titled {
		titles := make([]string, len(g.head))
		for i, c := range g.head {
			titles[i] = c.title
		}
		line(titles, func(int) string { return styleDim })
	}
	for _, row := range g.rows {
		line(row, func(i int) string { return g.head[i].style })
	}
	return out
}

// flow sets parts side by side, closer where that makes them fit, and otherwise in several lines.
func flow(width, indent int, parts ...string) []string {
	margin := strings.Repeat(" ", indent)
	for _, gap := range []int{gap, tightGap} {
		if line := margin + strings.Join(parts, strings.Repeat(" ", gap)); runewidth.StringWidth(line) <= width {
			return []string{line}
		}
	}
	lines := []string{margin + parts[0]}
	for _, p := range parts[1:] {
		last := &lines[len(lines)-1]
		if longer := *last + strings.Repeat(" ", tightGap) + p; runewidth.StringWidth(longer) <= width {
			*last = longer
		} else {
			lines = append(lines, margin+p)
		}
	}
	return lines
}

// minFlex is the least width that a flexible column is cut to.
const minFlex = 12

// maxRows is how many rows a result shows in a terminal; JSON has all.
const maxRows = 50

// fits reports whether lines can be cut to the width.
func (g *grid) fits(st Style) bool {
	total := g.indent + tightGap*(len(g.head)-1)
	for i, c := range g.head {
		w := runewidth.StringWidth(c.title)
		for _, row := range g.rows {
			w = max(w, runewidth.StringWidth(row[i]))
		}
		if c.flex {
			w = min(w, minFlex)
		}
		total += w
	}
	return total <= st.width()
}

// parts breaks a grid whose lines are too long into several, each with the first columns, as many as
// keys, and as many of the others as fit.
func (g *grid) parts(keys int, st Style) []*grid {
	if keys == 0 || g.fits(st) {
		return []*grid{g}
	}
	pick := func(columns []int) *grid {
		part := &grid{indent: g.indent}
		for _, i := range columns {
			part.head = append(part.head, g.head[i])
		}
		for _, row := range g.rows {
			var cells []string
			for _, i := range columns {
				cells = append(cells, row[i])
			}
			part.add(cells...)
		}
		return part
	}
	var first []int
	for i := range min(keys, len(g.head)) {
		first = append(first, i)
	}
	var out []*grid
	columns := slices.Clone(first)
	for i := keys; i < len(g.head); i++ {
		if more := append(slices.Clone(columns), i); len(columns) == keys || pick(more).fits(st) {
			columns = more
			continue
		}
		out = append(out, pick(columns))
		columns = append(slices.Clone(first), i)
	}
	return append(out, pick(columns))
}

// stacked returns the header and for each row two lines: the first two cells, and below
// them the others.
func (g *grid) stacked(st Style) []string {
	below := &grid{head: g.head[2:], indent: g.indent + 2}
	for _, row := range g.rows {
		below.add(row[2:]...)
	}
	if !below.fits(st) {
		below.indent = g.indent
	}
	numbers := below.lines(st)
	lines := []string{numbers[0]}
	for i, row := range g.rows {
		room := st.width() - g.indent - runewidth.StringWidth(row[0]) - tightGap
		lines = append(lines, strings.Repeat(" ", g.indent)+row[0]+"  "+st.paint(g.head[1].style, cutLeft(row[1], room)), numbers[i+1])
	}
	return lines
}

// maxClip is the length in bytes to which a text that is much too long for a line
// is shortened before it is measured.
const maxClip = 4096

// clip keeps a text's start.
func clip(s string) string {
	if len(s) <= maxClip {
		return s
	}
	return strings.ToValidUTF8(s[:maxClip], "") + "…"
}

// clipLeft keeps a text's end.
func clipLeft(s string) string {
	if len(s) <= maxClip {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-maxClip:], "")
}

// cutRight cuts a text's end to a width in columns.
func cutRight(s string, width int) string {
	if runewidth.StringWidth(s) <= width {
		return s
	}
	return runewidth.Truncate(s, max(width, 1), "…")
}

// cutLeft cuts a text's start to a width in columns.
func cutLeft(s string, width int) string {
	if runewidth.StringWidth(s) <= width {
		return s
	}
	w, runes := 1, []rune(s)
	i := len(runes)
	for i > 0 && w+runewidth.RuneWidth(runes[i-1]) <= width {
		i--
		w += runewidth.RuneWidth(runes[i])
	}
	return "…" + string(runes[i:])
}

// escape makes a text fit for one line of a terminal: what would move the
// cursor or be invisible is shown as an escape sequence.
func escape(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x80:
			b.WriteString(`\x` + string("0123456789abcdef"[r>>4]) + string("0123456789abcdef"[r&15]))
		default:
			b.WriteString("·")
		}
	}
	return b.String()
}
