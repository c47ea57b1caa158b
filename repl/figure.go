package repl

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-sixel"
	"golang.org/x/image/draw"
	"golang.org/x/sys/unix"

	"github.com/modellog/modellog/lang"
)

// graphics is a way for a terminal to show an image.
type graphics string

const (
	graphicsNone  graphics = "text" // block characters
	graphicsKitty graphics = "kitty"
	graphicsITerm graphics = "iterm2"
	graphicsSixel graphics = "sixel"
)

// graphicsOf tells what the terminal can from its environment. It is not asked: its answer would come
// with what is typed, and one that does not answer would be waited for. MODELLOG_GRAPHICS says
// it outright.
func graphicsOf(env func(string) string) graphics {
	switch g := graphics(strings.ToLower(env("MODELLOG_GRAPHICS"))); g {
	case graphicsNone, graphicsKitty, graphicsITerm, graphicsSixel:
		return g
	}
	name, program := env("TERM"), env("TERM_PROGRAM")
	starts := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
	switch {
	case name == "" || name == "dumb":
		return graphicsNone
	case env("TMUX") != "" || starts("screen", "tmux"):
		return graphicsNone // they pass images on only if told to
	case env("KITTY_WINDOW_ID") != "" || starts("xterm-kitty", "xterm-ghostty") || program == "ghostty":
		return graphicsKitty
	case program == "iTerm.app" || env("LC_TERMINAL") == "iTerm2" || program == "WezTerm":
		return graphicsITerm
	case starts("foot", "mlterm", "yaft", "contour"):
		return graphicsSixel
	}
	return graphicsNone
}

// maxColumns is how wide an image is at most; it is laid out for about as many.
const maxColumns = 90

// showFigure shows a figure as an image where the terminal can, and as text otherwise.
func (r *repl) showFigure(f *lang.Figure) error {
	st := r.style()
	width := st.Width
	if width == 0 {
		width = 80
	}
	_, hint, _ := strings.Cut(f.Text(st), "\n")
	var b bytes.Buffer
	if g := graphicsOf(os.Getenv); g != graphicsNone {
		if err := writeImage(&b, g, f, min(width, maxColumns), r.cellWidth()); err == nil {
			b.WriteString("\n" + hint + "\n")
			_, err := r.out.Write(b.Bytes())
			return err
		}
		b.Reset() // without the image there is the text
	}
	b.WriteString(f.Drawing.Text(width, st.Color) + "\n" + hint + "\n")
	_, err := r.out.Write(b.Bytes())
	return err
}

// cellWidth is the width of a character in pixels, as far as the terminal tells.
func (r *repl) cellWidth() int {
	size, err := unix.IoctlGetWinsize(int(r.Stdout.Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 || size.Xpixel == 0 || size.Xpixel/size.Col == 0 {
		return 10
	}
	return int(size.Xpixel / size.Col)
}

// writeImage writes a figure so many characters wide.
func writeImage(w io.Writer, g graphics, f *lang.Figure, columns, cell int) error {
	data, err := f.Drawing.PNG()
	if err != nil {
		return err
	}
	switch g {
	case graphicsKitty:
		// In chunks of at most 4096 bytes; q=2: no answer.
		text := base64.StdEncoding.EncodeToString(data)
		control := fmt.Sprintf("a=T,f=100,q=2,c=%d,", columns)
		for {
			n, more := min(4096, len(text)), 1
			if n == len(text) {
				more = 0
			}
			if _, err := fmt.Fprintf(w, "\x1b_G%sm=%d;%s\x1b\\", control, more, text[:n]); err != nil {
				return err
			}
			if text, control = text[n:], ""; more == 0 {
				return nil
			}
		}
	case graphicsITerm:
		_, err := fmt.Fprintf(w, "\x1b]1337;File=inline=1;size=%d;width=%d;preserveAspectRatio=1:%s\a", len(data), columns, base64.StdEncoding.EncodeToString(data))
		return err
	case graphicsSixel:
		img, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			return err
		}
		from := img.Bounds()
		width := columns * cell
		height := from.Dy() * width / from.Dx()
		// Sixels are six rows high; what is left of the last ones is white.
		to := image.NewRGBA(image.Rect(0, 0, width, (height+5)/6*6))
		draw.Draw(to, to.Bounds(), image.White, image.Point{}, draw.Src)
		draw.CatmullRom.Scale(to, image.Rect(0, 0, width, height), img, from, draw.Src, nil)
		return sixel.NewEncoder(w).Encode(paletted(to))
	}
	return fmt.Errorf("no way to show an image is called %q", g)
}

// paletted reduces an image to its 250 most frequent colours, so that white stays white, and each
// other colour to the nearest of them.
func paletted(img *image.RGBA) *image.Paletted {
	count := map[color.RGBA]int{}
	for i := 0; i+3 < len(img.Pix); i += 4 {
		count[color.RGBA{img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3]}]++
	}
	rank := func(c color.RGBA) int { return int(c.R)<<16 | int(c.G)<<8 | int(c.B) }
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], rank(a)-rank(b))
	})
	var p color.Palette
	for _, c := range colors[:min(250, len(colors))] {
		p = append(p, c)
	}
	index := make(map[color.RGBA]uint8, len(colors))
	for _, c := range colors {
		index[c] = uint8(p.Index(c))
	}
	out := image.NewPaletted(img.Bounds(), p)
	for i := range out.Pix {
		out.Pix[i] = index[color.RGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3]}]
	}
	return out
}
