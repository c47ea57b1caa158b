package cuc

import (
	"fmt"
	"slices"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/notebooks/published"
	"github.com/modellog/modellog/plots"
)

// How many models a figure has at most. Those of more are on further figures.
const (
	modelsOfFrontier = 36 // with the published four beside
	modelsOfFigure   = 8
)

// Figures draws for each data set the frontier, with the published models on FOLIO, the reliability diagram of
// each model, and the coverage–accuracy curves over τ. Where there are too many models for one figure, the next
// ones are on a second, whose name ends in "_2".
func Figures(results []*Result, o Options) ([]folder.Figure, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, fmt.Errorf("figures of no results")
	}
	o.Bootstrap = bootstrap.Options{Resamples: 1, Seed: DefaultSeed} // no interval is drawn
	t := &tables{results: results, o: o, first: o.Formats[0]}
	var out []folder.Figure
	for k, d := range results[0].Data {
		var frontier []plots.FrontierPoint
		var curves []plots.CoverageCurve
		var reliability []plots.ReliabilityPanel
		for _, r := range results {
			points := r.Data[k].Points(t.first, o.Unnormalised)
			m, ok := t.metrics(r, k, t.first, o.Thresholds)
			if !ok {
				continue
			}
			name := folder.ModelName(r.Model.Name)
			frontier = append(frontier, plots.FrontierPoint{Model: name, Commitment: m.Commitment.Value, Violation: m.Violation.Value, Coverage: m.Coverage.Value, Measured: true})
			curve := plots.CoverageCurve{Model: name, At: o.Thresholds.Tau}
			for _, c := range CoverageCurve(points, o.Thresholds.Delta) {
				if c.Coverage > 0 {
					curve.Points = append(curve.Points, plots.CoveragePoint{Tau: c.Tau, Coverage: c.Coverage, Accuracy: c.AccCov})
				}
			}
			if len(curve.Points) > 0 {
				curves = append(curves, curve)
			}
			panel := plots.ReliabilityPanel{Title: name}
			for _, b := range Reliability(points, o.Thresholds) {
				panel.Bins = append(panel.Bins, plots.ReliabilityBin{N: b.N, Confidence: b.Confidence, Accuracy: b.Accuracy})
			}
			reliability = append(reliability, panel)
		}
		if t.err != nil {
			return nil, t.err
		}
		var others []plots.FrontierPoint
		if d.Kind == FOLIO {
			var err error
			if others, err = publishedFrontier(); err != nil {
				return nil, err
			}
		}
		drawn, err := split("frontier", "Commitment and contradiction, "+d.Name, d.Name, frontier, modelsOfFrontier, func(title string, part []plots.FrontierPoint) (*plots.Figure, error) {
			return plots.NewFrontier(title, slices.Concat(part, others))
		})
		if err != nil {
			return nil, err
		}
		out = append(out, drawn...)
		if drawn, err = split("reliability", fmt.Sprintf("Reliability of the answers, %s, %s", d.Name, o.Thresholds), d.Name, reliability, modelsOfFigure, plots.NewReliability); err != nil {
			return nil, err
		}
		out = append(out, drawn...)
		if drawn, err = split("coverage", fmt.Sprintf("Accuracy of what is answered, τ from 0.50 to 1.00, %s, δ = %.2f", d.Name, o.Thresholds.Delta), d.Name, curves, modelsOfFigure, plots.NewCoverage); err != nil {
			return nil, err
		}
		out = append(out, drawn...)
	}
	return out, nil
}

// split draws models on as many figures of a kind as it takes, none where there is no model.
func split[T any](kind, title, data string, models []T, most int, draw func(string, []T) (*plots.Figure, error)) ([]folder.Figure, error) {
	var out []folder.Figure
	parts := (len(models) + most - 1) / most
	for i := range parts {
		name, of := kind+"-"+folder.FileName(data), title
		if parts > 1 {
			of = fmt.Sprintf("%s (%d of %d)", title, i+1, parts)
		}
		if i > 0 {
			name += fmt.Sprintf("_%d", i+1) // of which no data set's name has one
		}
		f, err := draw(of, models[i*most:min((i+1)*most, len(models))])
		if err != nil {
			return nil, err
		}
		out = append(out, folder.Figure{Name: name, Figure: f})
	}
	return out, nil
}

// publishedFrontier are the models of the paper's Table 1.
func publishedFrontier() ([]plots.FrontierPoint, error) {
	figures, err := published.Table("CUC Table 1")
	if err != nil {
		return nil, err
	}
	var out []plots.FrontierPoint
	for _, f := range figures {
		if len(out) == 0 || out[len(out)-1].Model != f.Model {
			out = append(out, plots.FrontierPoint{Model: f.Model})
		}
		p := &out[len(out)-1]
		switch f.Quantity {
		case "Coverage":
			p.Coverage = f.Value
		case "E[c]":
			p.Commitment = f.Value
		case "E[v_neg]":
			p.Violation = f.Value
		}
	}
	return out, nil
}
