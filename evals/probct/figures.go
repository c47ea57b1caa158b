package probct

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/notebooks/published"
	"github.com/modellog/modellog/plots"
)

// mostPerFigure is how many columns a grid of histograms can have.
const mostPerFigure = 6

// Figures draws the results, one of each model: the histograms of ρ as Figures 3 to 6 do, with a
// row for each model, and CAcc over the size of models with the published points.
// Nothing is drawn for what the results have not measured.
func Figures(results []*Result) ([]folder.Figure, error) {
	var out []folder.Figure
	t := &tables{results: results}
	subsets := t.subsets()
	cals := results[0].Calibrations
	if k := slices.Index(cals, calibrate.Default()); k >= 0 {
		for part := range slices.Chunk(subsets, mostPerFigure) {
			f, err := histograms(results, part, k)
			if err != nil {
				return nil, err
			}
			name := "histograms"
			if len(out) > 0 {
				name = fmt.Sprintf("histograms-%d", len(out)+1)
			}
			out = append(out, folder.Figure{Name: name, Figure: f})
		}
	}
	if at := under(cals, calibrate.NucleusEntropy); len(at) > 0 {
		f, err := scaling(results, subsets, at)
		if err != nil {
			return nil, err
		}
		out = append(out, folder.Figure{Name: "scaling", Figure: f})
	}
	return out, nil
}

// histograms draws ρ under the k-th calibration.
func histograms(results []*Result, subsets []Subset, k int) (*plots.Figure, error) {
	h := plots.Histograms{Title: "consistency scores ρ, " + results[0].Calibrations[k].String()}
	for _, s := range subsets {
		h.Columns = append(h.Columns, s.Title)
	}
	for _, r := range results {
		h.Rows = append(h.Rows, folder.ModelName(r.Model.Name))
		var rho [][]float64
		var count [][]int
		for _, s := range subsets {
			var x []float64
			var n []int
			if g := r.of(s.Name); g != nil {
				scores := g.Under[k].Scores
				for _, score := range slices.Sorted(maps.Keys(scores)) {
					if math.IsInf(score, 0) {
						continue // below what can be drawn
					}
					x = append(x, score)
					n = append(n, scores[score])
				}
			}
			rho, count = append(rho, x), append(count, n)
		}
		h.Rho, h.Count = append(h.Rho, rho), append(h.Count, count)
	}
	return plots.NewHistograms(h)
}

// scaling draws CAcc over size, averaged over calibrations.
func scaling(results []*Result, subsets []Subset, at []int) (*plots.Figure, error) {
	figures, err := published.Table("ModelLog Table 2")
	if err != nil {
		return nil, err
	}
	families, err := published.Families()
	if err != nil {
		return nil, err
	}
	var panels []plots.ScalingPanel
	for _, s := range subsets {
		panel := plots.ScalingPanel{Title: s.Title, Label: "CAcc (%)"}
		for _, f := range figures {
			if f.Subset == s.Title {
				panel.Points = append(panel.Points, plots.ScalingPoint{
					Model: f.Model, Family: f.Family, Size: f.Size, Value: f.Value,
					Bar: plots.Range{Lo: f.Value - f.Std, Hi: f.Value + f.Std},
				})
			}
		}
		for _, r := range results {
			g := r.of(s.Name)
			if g == nil || r.Model.Parameters == 0 {
				continue
			}
			name := folder.ModelName(r.Model.Name)
			p := plots.ScalingPoint{Model: name, Family: published.FamilyOf(name, families), Size: float64(r.Model.Parameters), Measured: true}
			mean, std := averaged(g, at, cacc)
			if math.IsNaN(std) {
				std = 0
			}
			p.Value = (mean.Lo + mean.Hi) / 2
			p.Bar = plots.Range{Lo: mean.Lo - std, Hi: mean.Hi + std}
			panel.Points = append(panel.Points, p)
		}
		if len(panel.Points) > 0 {
			panels = append(panels, panel)
		}
	}
	const most = 12 // panels in a figure
	return plots.NewScaling("CAcc over the size of models, nucleus entropy", panels[:min(len(panels), most)])
}
