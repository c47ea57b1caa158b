package plots

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is a finished drawing: a title, a legend and what is below them. It does
// not change and may be drawn any number of times, from several goroutines at once.
type Figure struct {
	title  string
	keys   []key
	note   string    // explains the labels, below the legend
	height vg.Length // of the part below title and legend
	body   func(draw.Canvas)
	text   func(*sketch) // the same for a terminal
}

// A key is an entry of the legend.
type key struct {
	label string
	color color.Color
	mark  mark
	glyph int  // of a stroke: the family (from 1) whose mark is on it; 0 for none
	full  bool // that mark is filled
}

type mark int

const (
	box mark = iota
	stroke
	dashed
	dot
	ring
)

// Title returns the title as it was given, unwrapped.
func (f *Figure) Title() string { return f.title }

// Size returns the width and height for which the figure was laid out.
func (f *Figure) Size() (width, height vg.Length) {
	return columnWidth, f.header(nil) + f.height + margin
}

// Draw draws the figure so that it fills the canvas.
func (f *Figure) Draw(c draw.Canvas) {
	c.SetColor(white)
	c.Fill(c.Rectangle.Path())
	top := f.header(&c)
	f.body(draw.Crop(c, margin, -margin, margin, -top))
}

// header draws title and legend, if there is a canvas, and returns their height.
func (f *Figure) header(c *draw.Canvas) vg.Length {
	width := columnWidth - 2*margin
	var at vg.Point
	if c != nil {
		width = c.Size().X - 2*margin
		at = vg.Point{X: c.Min.X + margin, Y: c.Max.Y}
	}
	y := margin
	sty := style(titleSize, ink)
	sty.YAlign = text.YTop
	for _, l := range wrap(f.title, sty, width, 3) {
		if c != nil {
			c.FillText(sty, at.Sub(vg.Point{Y: y}), l)
		}
		y += titleSize * 1.3
	}
	if len(f.keys) == 0 {
		return y + 0.4*titleSize
	}
	y += 0.3 * titleSize
	const swatch, gap = vg.Length(14), vg.Length(4)
	sty = style(textSize, ink)
	sty.YAlign = text.YCenter
	x := vg.Length(0)
	for i, k := range f.keys {
		label := fit(k.label, sty, width-swatch-gap)
		w := swatch + gap + sty.Width(label)
		if i > 0 && x+w > width {
			x = 0
			y += 1.5 * textSize
		}
		if c != nil {
			m := at.Add(vg.Point{X: x, Y: -y - 0.6*textSize})
			k.draw(*c, m, swatch)
			c.FillText(sty, m.Add(vg.Point{X: swatch + gap, Y: 0.06 * textSize}), label)
		}
		x += w + 4*gap
	}
	y += 2.2 * textSize
	sty = style(tickSize, faint)
	sty.YAlign = text.YTop
	for _, l := range wrap(f.note, sty, width, 6) {
		if c != nil {
			c.FillText(sty, at.Sub(vg.Point{Y: y - 0.6*textSize}), l)
		}
		y += 1.3 * tickSize
	}
	return y
}

// draw draws the mark with its left end at m.
func (k key) draw(c draw.Canvas, m vg.Point, width vg.Length) {
	right := m.Add(vg.Point{X: width})
	switch k.mark {
	case box:
		half := 0.36 * textSize
		c.FillPolygon(k.color, []vg.Point{{X: m.X, Y: m.Y - half}, {X: right.X, Y: m.Y - half}, {X: right.X, Y: m.Y + half}, {X: m.X, Y: m.Y + half}})
	case stroke:
		c.StrokeLines(line(k.color, lineWidth), []vg.Point{m, right})
		if k.glyph > 0 {
			drawShape(c, k.glyph-1, m.Add(vg.Point{X: width / 2}), k.color, k.full)
		}
	case dashed:
		c.StrokeLines(line(k.color, lineWidth*0.8, 3, 2), []vg.Point{m, right})
	case ring:
		drawShape(c, 0, m.Add(vg.Point{X: width / 2}), k.color, false)
	case dot:
		c.DrawGlyph(draw.GlyphStyle{Color: k.color, Radius: 3, Shape: draw.CircleGlyph{}}, m.Add(vg.Point{X: width / 2}))
	}
}

var formats = []string{"svg", "png", "pdf"}

// Write writes the figure in a format, "svg", "png" or "pdf".
func (f *Figure) Write(w io.Writer, format string) error {
	width, height := f.Size()
	var c vg.CanvasWriterTo
	switch format {
	case "svg":
		c = vgsvg.New(width, height)
	case "png":
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI), vgimg.UseBackgroundColor(white))}
	case "pdf":
		c = vgpdf.New(width, height)
	default:
		return fmt.Errorf("a figure cannot be written as %q; the formats are %s", format, strings.Join(formats, ", "))
	}
	f.Draw(draw.NewCanvas(c, width, height))
	if _, err := c.WriteTo(w); err != nil {
		return fmt.Errorf("writing a figure as %s: %w", format, err)
	}
	return nil
}

// SVG returns the figure as an SVG document.
func (f *Figure) SVG() ([]byte, error) { return f.bytes("svg") }

// PNG returns the figure as a PNG image of 150 pixels to the inch.
func (f *Figure) PNG() ([]byte, error) { return f.bytes("png") }

func (f *Figure) bytes(format string) ([]byte, error) {
	var b bytes.Buffer
	if err := f.Write(&b, format); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Save writes the figure to a file in the format its name ends in: .svg, .png or
// .pdf. A file of that name is replaced once the new one is complete, not before.
func (f *Figure) Save(path string) (err error) {
	ext := filepath.Ext(path)
	format := strings.ToLower(strings.TrimPrefix(ext, "."))
	if ext == "" {
		return fmt.Errorf("%s: the name of a figure's file must end in .svg, .png or .pdf", path)
	}
	data, err := f.bytes(format)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	// By hand: renameio is not for Windows, where this room is used, too.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".figure-*"+ext)
	if err != nil {
		return fmt.Errorf("saving a figure: %w", err)
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
			err = fmt.Errorf("saving the figure %s: %w", path, err)
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
