package plots_test

import (
	"strings"
	"testing"

	"github.com/mattn/go-runewidth"

	"github.com/modellog/modellog/plots"
)

// A score that occurs several times is drawn as that many scores.
func TestHistogramCounts(t *testing.T) {
	svg := func(d plots.Histograms) string {
		t.Helper()
		f, err := plots.NewHistograms(d)
		if err != nil {
			t.Fatal(err)
		}
		b, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	d := plots.Histograms{Rows: []string{"m"}, Columns: []string{"s"}, Rho: [][][]float64{{{-0.5, -0.5, 0.25, 0.25, 0.25, 0.75}}}}
	want := svg(d)
	d.Rho, d.Count = [][][]float64{{{-0.5, 0.25, 0.75}}}, [][][]int{{{2, 3, 1}}}
	if svg(d) != want {
		t.Error("counts draw another figure than the scores one by one")
	}
	d.Count = [][][]int{{{2, 3}}}
	if _, err := plots.NewHistograms(d); err == nil {
		t.Error("fewer counts than scores are drawn")
	}
}

// TestHistogramsNarrow has more data sets than fit beside each other: all are there, below each other.
func TestHistogramsNarrow(t *testing.T) {
	d := plots.Histograms{Title: "six", Rows: []string{"a model of a long name"}, Columns: []string{"a", "b", "c", "d", "e", "f"}, Rho: [][][]float64{make([][]float64, 6)}}
	for k := range 6 {
		d.Rho[0][k] = []float64{1}
	}
	f, err := plots.NewHistograms(d)
	if err != nil {
		t.Fatal(err)
	}
	text := f.Text(40, false)
	for l := range strings.Lines(text) {
		if w := runewidth.StringWidth(strings.TrimRight(l, "\n")); w > 40 {
			t.Errorf("%d columns: %s", w, l)
		}
	}
	if n := strings.Count(text, "100%"); n != 6 {
		t.Errorf("%d of 6 histograms:\n%s", n, text)
	}
}
