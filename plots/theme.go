package plots

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The look of all figures.
const (
	columnWidth = 6.5 * vg.Inch // a notebook's or an article's column
	margin      = 6 * vg.Millimeter / 2

	titleSize = vg.Length(10)
	textSize  = vg.Length(8.5)
	tickSize  = vg.Length(8)

	axisWidth = vg.Length(0.6)
	lineWidth = vg.Length(1.4)

	pngDPI = 150
)

var (
	white = color.Gray{255}
	ink   = color.Gray{0x26}
	faint = color.Gray{0x6e} // secondary text, reference lines
	prior = color.Gray{0xbd} // the uninformed baseline
	rule  = color.Gray{0xe4} // grid lines

	// Red and blue differ in lightness too, so that they are told apart in print.
	red  = color.NRGBA{0xc2, 0x3b, 0x33, 255} // inconsistent, violating, negative
	blue = color.NRGBA{0x2b, 0x6c, 0xb0, 255} // consistent, satisfying, positive
	pale = color.NRGBA{0xe3, 0xec, 0xf6, 255} // areas behind blue marks

	undecidedColor = color.NRGBA{0x80, 0x68, 0x0f, 255} // between the two
)

// style returns a text style of the figures' font.
func style(size vg.Length, c color.Color) text.Style {
	return text.Style{
		Color:   c,
		Font:    font.Font{Typeface: "DejaVu", Variant: "Sans", Size: size},
		Handler: outlines{},
	}
}

func line(c color.Color, width vg.Length, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dashes}
}

// newPlot returns an empty plot in the figures' style.
func newPlot() *plot.Plot {
	p := plot.New()
	p.TextHandler = outlines{}
	p.BackgroundColor = nil
	p.Title.TextStyle = style(titleSize, ink)
	p.Legend.TextStyle = style(textSize, ink)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		label, tick := a.Label.TextStyle, a.Tick.Label
		a.Label.TextStyle = style(textSize, ink)
		a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign, a.Label.TextStyle.Rotation = label.XAlign, label.YAlign, label.Rotation
		a.Label.Padding = 3
		a.Tick.Label = style(tickSize, ink)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = tick.XAlign, tick.YAlign
		a.LineStyle = line(ink, axisWidth)
		a.Tick.LineStyle = line(ink, axisWidth)
		a.Tick.Length = 3
		a.Padding = 2
	}
	return p
}
