package plots_test

import (
	"testing"

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
