package plots

import (
	"fmt"
	"math"
	"strings"

	"github.com/guptarohit/asciigraph"
	"github.com/mattn/go-runewidth"
)

// Text draws the figure with block characters for a terminal of so many columns (at least
// 40), in at most 20 lines; what has no room is counted below them. With color it uses ANSI's red,
// green, yellow and blue.
func (f *Figure) Text(columns int, color bool) string {
	s := &sketch{width: max(columns, 40), color: color}
	s.line(s.paint("1", cut(printable(f.title), s.width)))
	f.text(s)
	return strings.Join(s.lines, "\n")
}

// sketch is a drawing of characters in the making.
type sketch struct {
	width int
	color bool
	lines []string
}

// ANSI's numbers of the figures' colours.
const (
	ansiRed    = "31"
	ansiBlue   = "34"
	ansiYellow = "33"
	ansiFaint  = "2"
)

// sketchLines leaves room for notes below.
const sketchLines = 18

func (s *sketch) line(l string) { s.lines = append(s.lines, strings.TrimRight(l, " ")) }

func (s *sketch) note(text string) { s.line(s.paint(ansiFaint, cut(text, s.width))) }

func (s *sketch) paint(code, text string) string {
	if !s.color || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// textBar is a row of a bar chart.
type textBar struct {
	label string
	value Range
	color string
	after string // to the right of the bar …
	last  string // … and this in the colour lastColor

	lastColor string
	heading   bool // only the label, above the rows that follow
}

// bars draws rows on an axis from lo ≤ 0 to hi ≥ 0: solid as far as is sure, and shaded up to what
// may be.
func (s *sketch) bars(rows []textBar, lo, hi float64) {
	room := sketchLines - len(s.lines)
	if len(rows) > room {
		room-- // for the last line, which counts the others
	}
	labels, after := 0, 0
	for _, r := range rows {
		if !r.heading {
			labels, after = max(labels, runewidth.StringWidth(printable(r.label))), max(after, runewidth.StringWidth(r.after+r.last))
		}
	}
	// Labels give way before bars do, and numbers never.
	const shortest, frame = 8, 5
	labels = max(1, min(labels, s.width*2/5, s.width-after-shortest-frame))
	width := max(1, min(60, s.width-labels-after-frame))
	cell := (hi - lo) / float64(width)
	if lo < 0 { // zero lies between two characters
		zero := min(math.Ceil(-lo/cell), float64(width-1))
		cell = math.Max(-lo/zero, hi/(float64(width)-zero))
		lo = -zero * cell
	}
	for i, r := range rows {
		if i == room {
			left := 0
			for _, r := range rows[i:] {
				if !r.heading {
					left++
				}
			}
			s.note(fmt.Sprintf("  … and %d more", left))
			break
		}
		if r.heading {
			s.line("  " + s.paint(ansiFaint, cut(printable(r.label), s.width-2)))
			continue
		}
		if room := s.width - labels - width - 4; runewidth.StringWidth(r.after+r.last) > room {
			r.after, r.last = cut(r.after+r.last, room), ""
		}
		label := cut(printable(r.label), labels)
		s.line("  " + label + strings.Repeat(" ", labels-runewidth.StringWidth(label)) + " " + s.bar(r, lo, cell, width) + " " + r.after + s.paint(r.lastColor, r.last))
	}
}

// bar draws one bar, cell by cell.
func (s *sketch) bar(r textBar, lo, cell float64, width int) string {
	sure := bar{value: r.value}.certain()
	from, to := math.Min(0, r.value.Lo), math.Max(0, r.value.Hi)
	var b strings.Builder
	for i := range width {
		left := lo + float64(i)*cell         // 0 to rounding where zero is
		part := func(a, b float64) float64 { // how much of the cell lies between a and b
			return (math.Min(left+cell, b) - math.Max(left, a)) / cell
		}
		solid := part(math.Min(0, sure), math.Max(0, sure))
		switch {
		case sure > 0 && solid > 1.0/16:
			b.WriteRune([]rune(" ▏▎▍▌▋▊▉█")[min(8, int(math.Round(solid*8)))])
		case solid >= 0.75:
			b.WriteRune('█')
		case solid > 0.25:
			b.WriteRune('▐')
		case part(from, to) > 0.5:
			b.WriteRune('░')
		case math.Abs(left) < cell/2 && lo < 0:
			b.WriteRune('│')
		default:
			b.WriteByte(' ')
		}
	}
	return s.paint(r.color, b.String())
}

// columns draws a histogram upright: counts by bin, red up to below, then blue.
func (s *sketch) columns(b *binned) {
	const height = 9
	counts, below := b.counts, b.below
	for each := 1; len(counts) > s.width-4; each++ { // join bins until they fit
		counts, below = joined(b.counts, b.below, each+1)
	}
	wide := max(1, min(4, (s.width-4)/len(counts)))
	tallest := 0
	for _, n := range counts {
		tallest = max(tallest, n)
	}
	for row := height - 1; row >= 0; row-- {
		red, blue := "", ""
		for i, n := range counts {
			full := float64(n)/float64(tallest)*height - float64(row)
			c := []rune(" ▁▂▃▄▅▆▇█")[min(8, max(0, int(math.Ceil(full*8-1e-9))))]
			if i < below {
				red += strings.Repeat(string(c), wide)
			} else {
				blue += strings.Repeat(string(c), wide)
			}
		}
		s.line("  " + s.paint(ansiRed, red) + s.paint(ansiBlue, blue))
	}
	axis := []rune(strings.Repeat("─", wide*len(counts)))
	span := 1 - b.min()
	put := func(x float64, sign rune) {
		axis[min(len(axis)-1, int((x-b.min())/span*float64(len(axis))))] = sign
	}
	put(0, '┼')
	put(b.mean, '▲')
	s.line("  " + string(axis))
	left := minus(fmt.Sprintf("%.3g", b.min()))
	s.note("  " + left + strings.Repeat(" ", max(1, len(axis)-len([]rune(left))-1)) + "1")
	s.note(fmt.Sprintf("  n = %d: ┼ is ρ = 0, ▲ the mean %s", b.n, minus(fmt.Sprintf("%.3f", b.mean))))
}

// joined joins each so many bins, so that an edge stays at 0.
func joined(counts []int, below, each int) ([]int, int) {
	var out []int
	first := (each - below%each) % each // as if there were empty bins on the left
	for i, n := range counts {
		if i == 0 || (i+first)%each == 0 {
			out = append(out, 0)
		}
		out[len(out)-1] += n
	}
	return out, (below + each - 1) / each
}

// spark is a histogram in one line of so many characters.
func (s *sketch) spark(b *binned, width int) string {
	counts := make([]int, width)
	tallest := 0
	edge := int(math.Round(float64(width) * -b.min() / (1 - b.min())))
	for i, n := range b.counts {
		at := int(float64(i) / float64(len(b.counts)) * float64(width))
		if i < b.below {
			at = min(at, max(0, edge-1))
		} else {
			at = max(at, min(edge, width-1))
		}
		counts[at] += n
		tallest = max(tallest, counts[at])
	}
	text := func(counts []int) string {
		var t strings.Builder
		for _, n := range counts {
			t.WriteRune([]rune(" ▁▂▃▄▅▆▇█")[(n*8+tallest-1)/max(1, tallest)])
		}
		return t.String()
	}
	edge = min(edge, width)
	return s.paint(ansiRed, text(counts[:edge])) + s.paint(ansiBlue, text(counts[edge:]))
}

// curve draws values in their order as a line.
func (s *sketch) curve(values []float64, lo, hi float64, format func(float64) string) {
	label := max(runewidth.StringWidth(format(lo)), runewidth.StringWidth(format(hi)))
	options := []asciigraph.Option{
		asciigraph.Height(12), asciigraph.Width(max(10, min(72, s.width-label-6))), asciigraph.LowerBound(lo), asciigraph.UpperBound(hi),
		asciigraph.YAxisValueFormatter(format), asciigraph.Offset(2),
	}
	if len(values) == 1 { // a line needs two
		values = []float64{values[0], values[0]}
	}
	for _, l := range strings.Split(asciigraph.Plot(values, options...), "\n") {
		s.line(l)
	}
}

// cut cuts a text's end to a width in columns.
func cut(text string, width int) string { return runewidth.Truncate(text, max(1, width), "…") }
