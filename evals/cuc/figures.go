package cuc

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/notebooks/published"
	"github.com/modellog/modellog/plots"
)

// Figures draws for each data set the frontier, with the published models on FOLIO, the reliability diagram of
// each model, and the coverage–accuracy curves over τ.
func Figures(results []*Result, o Options) ([]folder.Figure, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	t := &tables{results: results, o: o, first: o.Formats[0]}
	var out []folder.Figure
	for k, d := range results[0].Data {
		var frontier []plots.FrontierPoint
		var curves []plots.CoverageCurve
		var reliability []plots.ReliabilityPanel
		for _, r := range results {
			points := r.Data[k].Points(t.first, o.Unnormalised)
			m, ok := t.metrics(r, k, t.first, o.Thresholds, quick)
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
		if len(frontier) == 0 {
			continue
		}
		if d.Name == "FOLIO" {
			figures, err := published.Table("CUC Table 1")
			if err != nil {
				return nil, err
			}
			here := len(frontier)
			for _, f := range figures {
				if len(frontier) == here || frontier[len(frontier)-1].Model != f.Model {
					frontier = append(frontier, plots.FrontierPoint{Model: f.Model})
				}
				p := &frontier[len(frontier)-1]
				switch f.Quantity {
				case "Coverage":
					p.Coverage = f.Value
				case "E[c]":
					p.Commitment = f.Value
				case "E[v_neg]":
					p.Violation = f.Value
				}
			}
		}
		add := func(kind string, f *plots.Figure, err error) error {
			if err != nil {
				return err
			}
			out = append(out, folder.Figure{Name: kind + "-" + fileName(d.Name), Figure: f})
			return nil
		}
		f, err := plots.NewFrontier("Commitment and contradiction, "+d.Name, frontier)
		if err := add("frontier", f, err); err != nil {
			return nil, err
		}
		f, err = plots.NewReliability(fmt.Sprintf("Reliability of the answers, %s, %s", d.Name, o.Thresholds), reliability)
		if err := add("reliability", f, err); err != nil {
			return nil, err
		}
		if len(curves) > 0 {
			f, err = plots.NewCoverage(fmt.Sprintf("Accuracy of what is answered, τ from 0.50 to 1.00, %s, δ = %.2f", d.Name, o.Thresholds.Delta), curves)
			if err := add("coverage", f, err); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// fileName makes a data set's name one that a file can have.
func fileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' {
			return unicode.ToLower(r)
		}
		return '-'
	}, name), "-.")
}
