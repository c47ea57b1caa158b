package plots

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"
)

func TestSVGIsWellFormed(t *testing.T) {
	for name, figure := range golden {
		f, err := figure()
		if err != nil {
			t.Fatal(err)
		}
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(bytes.NewReader(svg))
		paths := 0
		for {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "path" {
				paths++
			}
		}
		if paths < 20 || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: %d paths, or numbers that are none", name, paths)
		}
		if len(svg) > 400_000 {
			t.Errorf("%s: %d bytes are many for a notebook", name, len(svg))
		}
	}
}

// Letters that the font lacks are text in SVG, for the viewer's fonts.
func TestSVGForeignScript(t *testing.T) {
	f, err := NewLadder("金毛 & <犬>", []float64{-1})
	if err != nil {
		t.Fatal(err)
	}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []string{"金", "毛", "犬"} {
		if !bytes.Contains(svg, []byte(">"+r+"<")) {
			t.Errorf("%s is not in the SVG as text", r)
		}
	}
	if bytes.Contains(svg, []byte(">&<")) || bytes.Contains(svg, []byte("<犬>")) {
		t.Errorf("markup is not escaped")
	}
}

func TestSave(t *testing.T) {
	f, err := NewHistogram("a", []float64{0.5, -0.5})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for ext, magic := range map[string]string{".svg": "<?xml", ".png": "\x89PNG", ".pdf": "%PDF-", ".PNG": "\x89PNG"} {
		path := filepath.Join(dir, "figure"+ext)
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := f.Save(path); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(data), magic) {
			t.Errorf("%s begins with %.8q (%v)", path, data, err)
		}
	}
	for name, want := range map[string]string{
		"figure.gif": `as "gif"; the formats are svg, png, pdf`,
		"figure":     "must end in .svg, .png or .pdf",
	} {
		path := filepath.Join(dir, name)
		if err := f.Save(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Save(%s): %v; want %q", name, err, want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if err := f.Save(filepath.Join(dir, "none", "a.png")); err == nil {
		t.Error("saved into a folder that does not exist")
	}
	// A folder in the place of the file: the rename fails, and nothing is left over.
	if err := os.MkdirAll(filepath.Join(dir, "taken.svg", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Save(filepath.Join(dir, "taken.svg")); err == nil {
		t.Error("saved over a folder")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".figure-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v (%v)", left, err)
	}
}

func TestPNGSize(t *testing.T) {
	f, err := golden["events"]()
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	w, h := f.Size()
	if b := m.Bounds(); b.Dx() != 975 || w.Points() != 468 || float64(b.Dy()) < h.Points()*150/72-1 {
		t.Errorf("%v pixels for %v × %v", b, w, h)
	}
}

func TestDrawnFromManyGoroutines(t *testing.T) {
	f, err := golden["interpretations"]()
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := f.SVG(); err != nil || !bytes.Equal(got, want) {
				t.Errorf("another drawing (%v)", err)
			}
		})
	}
	wg.Wait()
}

// Whatever is given, the answer is an error or a figure that can be drawn.
func TestAnythingDrawsOrIsRefused(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\x00\n\t", "\xff\xfe", strings.Repeat("long ", 200), strings.Repeat("x", 5000), "\u202e🐶"}))
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1), rapid.Float64Range(-3, 1), rapid.SampledFrom([]float64{0, 1, -1, 5e-324, 1e-300}))
	draw := func(t *rapid.T, f *Figure, err error) {
		if err != nil {
			if f != nil {
				t.Fatal("an error and a figure")
			}
			return
		}
		if svg, err := f.SVG(); err != nil || bytes.Contains(svg, []byte("NaN")) {
			t.Fatalf("%v, or NaN", err)
		}
		for _, columns := range []int{0, 53, 200} {
			text := f.Text(columns, columns > 60)
			for _, l := range strings.Split(ansi.ReplaceAllString(text, ""), "\n") {
				if w := runewidth.StringWidth(l); w > max(columns, 40) {
					t.Fatalf("%d columns for %d: %s", w, columns, l)
				}
			}
		}
	}
	numbers := rapid.SliceOfN(number, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		title := text.Draw(t, "title")
		xs := numbers.Draw(t, "numbers")
		switch rapid.IntRange(0, 7).Draw(t, "figure") {
		case 0:
			f, err := NewHistogram(title, xs)
			draw(t, f, err)
		case 1:
			for i := range xs { // descending and not positive, mostly
				xs[i] = -xs[i] * xs[i]
				if i > 0 && rapid.IntRange(0, 9).Draw(t, "keep") > 0 {
					xs[i] += xs[i-1]
				}
			}
			f, err := NewLadder(title, xs)
			draw(t, f, err)
		case 2:
			d := Calibration{Title: title, C: rapid.Float64Range(0, 13).Draw(t, "C"), Nucleus: rapid.IntRange(-1, 500).Draw(t, "nucleus"), Least: rapid.Float64Range(-0.1, 1.1).Draw(t, "least")}
			for _, x := range xs {
				d.Tokens = append(d.Tokens, CalibratedToken{text.Draw(t, "token"), x})
			}
			f, err := NewCalibration(d)
			draw(t, f, err)
		case 3:
			var events []Event
			for i := 0; i+2 < len(xs); i += 3 {
				r := Range{min(xs[i], xs[i+1]), max(xs[i], xs[i+1])}
				events = append(events, Event{text.Draw(t, "event"), Exactly(xs[i]), r, Range{min(xs[i+1], xs[i+2]), max(xs[i+1], xs[i+2])}})
			}
			f, err := NewEvents(title, events)
			draw(t, f, err)
		case 4:
			n := rapid.IntRange(0, 8).Draw(t, "events")
			d := Interpretations{Formula: title}
			for range n {
				d.Events = append(d.Events, text.Draw(t, "event"))
			}
			for _, x := range xs {
				d.Rows = append(d.Rows, Interpretation{make([]bool, n), x, x > 0.5})
			}
			f, err := NewInterpretations(d)
			draw(t, f, err)
		case 5:
			sizes := rapid.OneOf(rapid.Float64Range(1, 1e12), rapid.SampledFrom([]float64{1, 1e18, 270e6, 1e9}))
			var panels []ScalingPanel
			for range rapid.IntRange(1, 7).Draw(t, "panels") {
				panel := ScalingPanel{Title: text.Draw(t, "panel"), Label: text.Draw(t, "label")}
				for i, x := range xs {
					panel.Points = append(panel.Points, ScalingPoint{
						Model: text.Draw(t, "model"), Family: rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "family"),
						Size: sizes.Draw(t, "size"), Value: x, Bar: Range{min(x, xs[0]), max(x, xs[0])}, Measured: i%2 == 0,
					})
				}
				panels = append(panels, panel)
			}
			f, err := NewScaling(title, panels)
			draw(t, f, err)
		case 6:
			var points []InformativePoint
			for i := 0; i+2 < len(xs); i += 3 {
				points = append(points, InformativePoint{
					Name: text.Draw(t, "name"), Info: math.Abs(xs[i]), Rho: Range{min(xs[i+1], xs[i+2]), max(xs[i+1], xs[i+2])},
					Middle: Range{min(xs[i], 1), 1}, Series: rapid.SampledFrom([]string{"", "s"}).Draw(t, "series"),
				})
			}
			f, err := NewInformativeness(title, points)
			draw(t, f, err)
		case 7:
			n, m := rapid.IntRange(0, 3).Draw(t, "rows"), rapid.IntRange(0, 6).Draw(t, "columns")
			d := Histograms{Title: title, Rho: make([][][]float64, n)}
			for r := range n {
				d.Rows = append(d.Rows, text.Draw(t, "row"))
				for range m {
					d.Rho[r] = append(d.Rho[r], numbers.Draw(t, "rho"))
				}
			}
			for range m {
				d.Columns = append(d.Columns, text.Draw(t, "column"))
			}
			f, err := NewHistograms(d)
			draw(t, f, err)
		}
	})
}
