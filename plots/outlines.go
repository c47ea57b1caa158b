package plots

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// outlines draws text as filled paths. It implements text.Handler.
type outlines struct{}

var _ text.Handler = outlines{}

// dejaVu is the one font of all figures; it is parsed once and never changes.
var dejaVu = sync.OnceValue(func() *sfnt.Font {
	f, err := sfnt.Parse(dejavusans.TTF)
	if err != nil {
		panic(fmt.Sprintf("plots: the built-in font cannot be read: %v", err))
	}
	return f
})

func (outlines) Cache() *font.Cache {
	return font.NewCache(font.Collection{face(font.Font{Typeface: "DejaVu", Variant: "Sans"})})
}

func face(f font.Font) font.Face { return font.Face{Font: f, Face: dejaVu()} }

func (outlines) Extents(f font.Font) font.Extents {
	fc := face(f)
	return fc.Extents()
}

func (outlines) Lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

func (o outlines) Box(s string, f font.Font) (width, height, depth vg.Length) {
	e := o.Extents(f)
	return layout(s, f.Size, nil), e.Ascent, e.Descent
}

// Draw draws the lines of s, positioned as gonum's plain text is.
func (o outlines) Draw(c vg.Canvas, s string, sty text.Style, pt vg.Point) {
	s = strings.TrimRight(s, "\n")
	if s == "" {
		return
	}
	under := c
	for d, ok := under.(*draw.Canvas); ok; d, ok = under.(*draw.Canvas) {
		under = d.Canvas
	}
	svg, isSVG := under.(*vgsvg.Canvas)
	c.Push()
	defer c.Pop()
	c.SetColor(sty.Color)
	c.Translate(pt)
	c.Rotate(sty.Rotation)
	lines := o.Lines(s)
	y := sty.Height(s)*vg.Length(sty.YAlign) - o.Extents(sty.Font).Ascent
	for i, l := range lines {
		x := vg.Length(sty.XAlign) * layout(l, sty.Font.Size, nil)
		base := vg.Point{X: x, Y: y + vg.Length(len(lines)-i)*sty.Font.Size}
		layout(l, sty.Font.Size, func(r rune, g sfnt.GlyphIndex, at vg.Length) {
			p := base.Add(vg.Point{X: at})
			if g == 0 && isSVG {
				svg.FillString(face(sty.Font), p, string(r))
				return
			}
			if path := glyph(g, sty.Font.Size, p); len(path) > 0 {
				c.Fill(path)
			}
		})
	}
}

// layout places the glyphs of one line one after the other and returns its width.
// Glyph 0 stands for a letter the font lacks; it is as wide as it is high.
func layout(s string, size vg.Length, place func(r rune, g sfnt.GlyphIndex, at vg.Length)) vg.Length {
	f := dejaVu()
	var buf sfnt.Buffer
	em := fixed.Int26_6(f.UnitsPerEm())
	var x vg.Length
	for _, r := range s {
		g, err := f.GlyphIndex(&buf, r)
		if err != nil {
			g = 0
		}
		if place != nil {
			place(r, g, x)
		}
		advance, err := f.GlyphAdvance(&buf, g, em, xfont.HintingNone)
		if err != nil || g == 0 {
			advance = em
		}
		x += vg.Length(advance) / vg.Length(em) * size
	}
	return x
}

// glyph returns the outline of a glyph with its origin at p.
func glyph(g sfnt.GlyphIndex, size vg.Length, p vg.Point) vg.Path {
	f := dejaVu()
	var buf sfnt.Buffer
	em := fixed.Int26_6(f.UnitsPerEm())
	segments, err := f.LoadGlyph(&buf, g, em, nil)
	if err != nil {
		return nil
	}
	at := func(q fixed.Point26_6) vg.Point { // the font's y axis points down
		return vg.Point{X: p.X + vg.Length(q.X)/vg.Length(em)*size, Y: p.Y - vg.Length(q.Y)/vg.Length(em)*size}
	}
	var path vg.Path
	for i, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				path.Close()
			}
			path.Move(at(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(at(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(at(s.Args[0]), at(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(at(s.Args[0]), at(s.Args[1]), at(s.Args[2]))
		}
	}
	if len(path) > 0 {
		path.Close()
	}
	return path
}

// printable makes a label of one line: control characters become their pictures.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7f:
			return 0x2421
		}
		return r
	}, s)
}

// fit shortens a label in the middle so that it is no wider than width.
func fit(s string, sty text.Style, width vg.Length) string {
	s = printable(s)
	if layout(s, sty.Font.Size, nil) <= width {
		return s
	}
	r := []rune(s)
	if most := int(4 * width / sty.Font.Size); len(r) > 2*most+2 && most > 0 {
		r = append(r[:most:most], r[len(r)-most:]...) // no letter is that narrow
	}
	for keep := len(r) - 1; keep > 0; keep-- {
		head := (keep + 1) / 2
		short := string(r[:head]) + "…" + string(r[len(r)-(keep-head):])
		if layout(short, sty.Font.Size, nil) <= width {
			return short
		}
	}
	return "…"
}

// wrap breaks a text at spaces into lines no wider than width; what goes beyond
// the given number of lines is shortened.
func wrap(s string, sty text.Style, width vg.Length, lines int) []string {
	var out []string
	rest := strings.Fields(printable(s))
	for len(rest) > 0 {
		l := rest[0]
		rest = rest[1:]
		for len(rest) > 0 && layout(l+" "+rest[0], sty.Font.Size, nil) <= width {
			l += " " + rest[0]
			rest = rest[1:]
		}
		if len(out) == lines-1 {
			l = strings.Join(append([]string{l}, rest...), " ")
			rest = nil
		}
		out = append(out, fit(l, sty, width))
	}
	return out
}

// number formats a value for a label: three or four decimals, or a power of ten
// where they would not tell it from 0.
func number(x float64) string {
	a := math.Abs(x)
	switch {
	case x == 0:
		return "0"
	case a == 1:
		return minus(fmt.Sprintf("%.0f", x))
	case a >= 0.01:
		return minus(fmt.Sprintf("%.3f", x))
	case a >= 0.001:
		return minus(fmt.Sprintf("%.4f", x))
	}
	m, e, _ := strings.Cut(fmt.Sprintf("%.1e", x), "e")
	exponent, err := strconv.Atoi(e)
	if err != nil { // an infinity or NaN, which no constructor lets through
		return fmt.Sprint(x)
	}
	return minus(m) + "×" + power(exponent)
}

// power formats 10ᵉ.
func power(e int) string {
	return "10" + strings.NewReplacer(
		"-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹",
	).Replace(fmt.Sprint(e))
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

// logNumber formats eˡ, also where that is too small for a float64.
func logNumber(l float64) string {
	if l > -700 {
		return number(math.Exp(l))
	}
	if math.IsInf(l, -1) {
		return "0"
	}
	d := l / math.Ln10
	e := math.Floor(d)
	return fmt.Sprintf("%.1f×%s", math.Pow(10, d-e), power(int(e)))
}
