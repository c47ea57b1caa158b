package preference

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/evals/correlation"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/notebooks/published"
	"github.com/modellog/modellog/plots"
)

// modelScores are what one model has on a data set, by each method that it was asked by.
type modelScores struct {
	name string
	by   map[Method]Metrics
	self float64 // self-agreement of its chains of thought, NaN where none were sampled
}

// scoresOf are the models on a data set.
type scoresOf struct {
	data   string
	models []*modelScores
}

// models are the scores of all models, by data sets, in the order of the results.
func (t *tables) models() ([]*scoresOf, error) {
	var out []*scoresOf
	for _, r := range t.results {
		judged := r.judged(0)
		if len(judged) == 0 {
			continue
		}
		at := slices.IndexFunc(out, func(s *scoresOf) bool { return s.data == r.Data })
		if at < 0 {
			at = len(out)
			out = append(out, &scoresOf{data: r.Data})
		}
		name := folder.ModelName(r.Model.Name)
		set := out[at]
		// Two that only their folders tell apart are two models.
		k := slices.IndexFunc(set.models, func(m *modelScores) bool {
			_, twice := m.by[r.Method]
			return m.name == name && !twice
		})
		if k < 0 {
			k = len(set.models)
			set.models = append(set.models, &modelScores{name: name, by: map[Method]Metrics{}, self: nan})
		}
		m, err := Measure(judged, t.quick())
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", r.Model.Name, r.Data, err)
		}
		set.models[k].by[r.Method] = m
		if r.Method == CoT {
			self, err := r.selfAgreement(0, quick)
			if err != nil {
				return nil, err
			}
			set.models[k].self = self.Value
		}
	}
	return out, nil
}

// stable are s_tran of the judgements by a method, and self-agreement, of the models that have both.
func (s *scoresOf) stable(method Method) (tran, self []float64) {
	for _, m := range s.models {
		if x, ok := m.by[method]; ok && x.Transitive.Instances > 0 && !math.IsNaN(m.self) {
			tran, self = append(tran, x.Transitive.Value), append(self, m.self)
		}
	}
	return tran, self
}

// modelFigures draw a point for each model: commutativity and human agreement of each data set and method, as
// Figure 5, among the models of Table 1 where it has the data set; and transitivity and self-agreement, as Figure 4,
// with s_tran of direct judgements and of chains of thought, since the paper does not say which it draws. Table 1 has
// no self-agreement, so that there are no published points beside these.
func (t *tables) modelFigures() ([]folder.Figure, error) {
	sets, err := t.models()
	if err != nil {
		return nil, err
	}
	figures, err := published.Table("Preference Table 1")
	if err != nil {
		return nil, err
	}
	var out []folder.Figure
	add := func(name, title, x, y string, panel plots.ScatterPanel) error {
		f, err := plots.NewScatter(title, x, y, []plots.ScatterPanel{panel})
		out = append(out, folder.Figure{Name: name, Figure: f})
		return err
	}
	for _, set := range sets {
		for _, method := range methods {
			var panel plots.ScatterPanel
			for _, m := range set.models {
				if x, ok := m.by[method]; ok && x.Commutative.Instances > 0 && x.H.Instances > 0 {
					panel.Points = append(panel.Points, plots.ScatterPoint{Name: m.name, X: 100 * x.Commutative.Value, Y: 100 * x.H.Value})
				}
			}
			if len(panel.Points) == 0 {
				continue
			}
			panel.Points = append(panel.Points[:min(len(panel.Points), mostModels)], publishedPoints(figures, set.data, method)...)
			panel.Title, panel.Note = set.data+", "+settingNames[method], correlated(panel.Points)
			if err := add("commutativity-models-"+folder.FileName(string(method))+"-"+folder.FileName(set.data), "Commutativity and human agreement over models", "s_comm (%)", "H (%)", panel); err != nil {
				return nil, err
			}
		}
		var panel plots.ScatterPanel
		panel.Title = set.data
		for _, method := range methods {
			var of []plots.ScatterPoint
			for _, m := range set.models {
				if x, ok := m.by[method]; ok && x.Transitive.Instances > 0 && !math.IsNaN(m.self) {
					of = append(of, plots.ScatterPoint{Name: m.name, Group: "s_tran of " + settingNames[method], X: 100 * m.self, Y: 100 * x.Transitive.Value})
				}
			}
			of = of[:min(len(of), mostModels)]
			if len(of) == 0 {
				continue
			}
			panel.Points = append(panel.Points, of...)
			if panel.Note != "" {
				panel.Note += "; "
			}
			panel.Note += settingNames[method] + ": " + correlated(of)
		}
		if len(panel.Points) > 0 {
			y := fmt.Sprintf("s_tran(%d) (%%)", t.o.Measure.K)
			if err := add("self-agreement-models-"+folder.FileName(set.data), "Transitivity and self-agreement over models", "self-agreement of chains of thought (%)", y, panel); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// mostModels is how many models' points can be told apart by their names.
const mostModels = 40

// settingNames are what figures and tables call methods.
var settingNames = map[Method]string{Direct: "direct judgements", CoT: "CoT prompting"}

// publishedPoints are the models of Table 1 on a data set, with what it has of each.
func publishedPoints(figures []published.Figure, data string, method Method) []plots.ScatterPoint {
	var names []string
	of := map[string]map[string]float64{}
	for _, f := range figures {
		if f.Subset != data || f.Other["setting"] != string(method) {
			continue
		}
		if of[f.Model] == nil {
			of[f.Model] = map[string]float64{}
			names = append(names, f.Model)
		}
		of[f.Model][f.Quantity] = f.Value
	}
	var out []plots.ScatterPoint
	for _, name := range names {
		x, commutes := of[name]["s_comm"]
		y, agrees := of[name]["H"]
		if commutes && agrees {
			out = append(out, plots.ScatterPoint{Name: name, X: x, Y: y, Published: true})
		}
	}
	return out
}

// correlated says how the coordinates of points go together: of the published ones alone, and of all.
func correlated(points []plots.ScatterPoint) string {
	var x, y [2][]float64 // of the published, and of all
	for _, p := range points {
		for k := range x {
			if k == 1 || p.Published {
				x[k], y[k] = append(x[k], p.X), append(y[k], p.Y)
			}
		}
	}
	var out []string
	for k, of := range []string{"of the published ", "of all "} {
		n := len(x[k])
		if n == 0 || k == 1 && n == len(x[0]) {
			continue
		}
		if len(x[0]) == 0 {
			of = ""
		}
		text := fmt.Sprintf("%sn = %d", of, n)
		if n > 2 {
			text = fmt.Sprintf("%s%s, %s (n = %d)", of, coefficient(correlation.Pearson(x[k], y[k])), coefficient(correlation.Spearman(x[k], y[k])), n)
			if len(out) == 0 {
				text = "Pearson, Spearman " + text
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// coefficient is a correlation as it is written.
func coefficient(r float64) string {
	if math.IsNaN(r) {
		return "undefined"
	}
	return strings.Replace(fmt.Sprintf("%.2f", r), "-", "−", 1)
}
