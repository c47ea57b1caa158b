package repl

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/mattn/go-sixel"

	"github.com/modellog/modellog/lang"
)

func TestGraphicsOf(t *testing.T) {
	for env, want := range map[string]graphics{
		"":                                      graphicsNone,
		"TERM=dumb KITTY_WINDOW_ID=1":           graphicsNone,
		"TERM=xterm-256color":                   graphicsNone,
		"TERM=xterm-kitty":                      graphicsKitty,
		"TERM=xterm-256color KITTY_WINDOW_ID=1": graphicsKitty,
		"TERM=xterm-ghostty":                    graphicsKitty,
		"TERM=xterm-256color TERM_PROGRAM=iTerm.app":      graphicsITerm,
		"TERM=xterm-256color LC_TERMINAL=iTerm2":          graphicsITerm,
		"TERM=xterm-256color TERM_PROGRAM=WezTerm":        graphicsITerm,
		"TERM=xterm-256color TERM_PROGRAM=Apple_Terminal": graphicsNone,
		"TERM=foot":                                          graphicsSixel,
		"TERM=foot-extra":                                    graphicsSixel,
		"TERM=mlterm-256color":                               graphicsSixel,
		"TERM=tmux-256color KITTY_WINDOW_ID=1":               graphicsNone,
		"TERM=xterm-kitty TMUX=/tmp/x":                       graphicsNone,
		"TERM=screen LC_TERMINAL=iTerm2":                     graphicsNone,
		"TERM=xterm-kitty MODELLOG_GRAPHICS=text":            graphicsNone,
		"TERM=xterm-256color MODELLOG_GRAPHICS=Sixel":        graphicsSixel,
		"TERM=xterm-kitty MODELLOG_GRAPHICS=nothing-of-this": graphicsKitty,
	} {
		got := graphicsOf(func(name string) string {
			for _, v := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != want {
			t.Errorf("%s: %s, want %s", env, got, want)
		}
	}
}

func figure(t *testing.T) *lang.Figure {
	t.Helper()
	var f *lang.Figure
	err := lang.New(lang.Options{}).Eval(context.Background(), "", "%plot report prob(0.75)", func(r lang.Result) error {
		f = r.(*lang.Figure)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sameImage compares with the figure's own PNG.
func sameImage(t *testing.T, f *lang.Figure, data []byte) {
	t.Helper()
	want, err := f.Drawing.PNG()
	if err != nil || !bytes.Equal(data, want) {
		t.Errorf("another image of %d bytes for %d (%v)", len(data), len(want), err)
	}
}

func TestWriteImage(t *testing.T) {
	f := figure(t)
	var b bytes.Buffer
	if err := writeImage(&b, graphicsKitty, f, 72, 9); err != nil {
		t.Fatal(err)
	}
	// Chunks with m=1 but for the last one; what they are of is said in the first.
	chunks := regexp.MustCompile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\").FindAllStringSubmatch(b.String(), -1)
	text, length := "", 0
	for i, c := range chunks {
		length += len(c[0])
		text += c[2]
		control := "m=1"
		if i == len(chunks)-1 {
			control = "m=0"
		}
		if i == 0 {
			control = "a=T,f=100,q=2,c=72," + control
		}
		if c[1] != control || len(c[2]) > 4096 || len(c[2])%4 != 0 {
			t.Errorf("chunk %d of %d: %s, %d letters", i, len(chunks), c[1], len(c[2]))
		}
	}
	if length != b.Len() || len(chunks) < 2 {
		t.Errorf("%d bytes are in %d chunks, of %d", length, len(chunks), b.Len())
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	sameImage(t, f, data)

	b.Reset()
	if err := writeImage(&b, graphicsITerm, f, 72, 9); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("^\x1b\\]1337;File=inline=1;size=([0-9]+);width=72;preserveAspectRatio=1:([A-Za-z0-9+/=]+)\a$").FindStringSubmatch(b.String())
	if m == nil {
		t.Fatalf("%.100q", b.String())
	}
	if data, err = base64.StdEncoding.DecodeString(m[2]); err != nil || fmt.Sprint(len(data)) != m[1] {
		t.Errorf("%s bytes (%v)", m[1], err)
	}
	sameImage(t, f, data)

	b.Reset()
	if err := writeImage(&b, graphicsSixel, f, 72, 9); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "\x1bP") || !strings.HasSuffix(b.String(), "\x1b\\") {
		t.Fatalf("no sixel: %.20q", b.String())
	}
	var got image.Image
	if err := sixel.NewDecoder(&b).Decode(&got); err != nil {
		t.Fatal(err)
	}
	data, _ = f.Drawing.PNG()
	want, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if w := got.Bounds().Dx(); w != 72*9 {
		t.Errorf("%d pixels wide", w)
	}
	// The same picture, scaled: as dark on the whole.
	if a, b := brightness(got), brightness(want); a < b-0.02 || a > b+0.02 {
		t.Errorf("its brightness is %.3f for %.3f", a, b)
	}
}

func brightness(m image.Image) float64 {
	sum, n := 0.0, 0.0
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, bl, _ := m.At(x, y).RGBA()
			sum += float64(r+g+bl) / 3 / 0xffff
			n++
		}
	}
	return sum / n
}

func TestFigures(t *testing.T) {
	x := start(t, "", "MODELLOG_GRAPHICS=text").started()
	x.send("%plot report prob(0.75)\r")
	x.contains("prob(0.75) █")
	x.contains("%save FILE.svg")
	x.send("%plot report prob(0.25);\r")
	x.send("wmc(prob(0.5))\r")
	x.contains("0.5")
	x.lacks("prob(0.25) █")

	x = start(t, "", "TERM=xterm-kitty").started()
	x.send("%plot report prob(0.75)\r")
	x.wait("an image", func(s *screen) bool {
		return bytes.Contains(s.raw, []byte("\x1b_Ga=T,f=100")) && bytes.Contains(s.raw, []byte("%save FILE.svg"))
	})
}
