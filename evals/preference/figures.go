package preference

import (
	"fmt"
	"math"
	"strings"

	"github.com/modellog/modellog/evals/correlation"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/plots"
)

const (
	mostHeat   = 24 // items of a heat map
	mostCurves = 8
)

// Figures draws results: for each the matrices of judgements of one instance, as Figure 3 (the first that has
// most judgements, with its first 24 items); for each data set s_tran over K; commutativity and human
// agreement, as Figure 5, over wordings where there are several and over instances otherwise; and transitivity
// and self-agreement over instances, as Figure 4, where answers were sampled. Curves and points are of the first
// eight models, which is as many as can be told apart. Both figures come once more with a point for each model, among
// the published ones.
func Figures(results []*Result, o RunOptions) ([]folder.Figure, error) {
	o.Measure.complete()
	t := &tables{results: results, o: o}
	var out []folder.Figure
	taken := map[string]bool{}
	add := func(name string, f *plots.Figure, err error) error {
		if err != nil {
			return err
		}
		unique := name // names of models may differ in signs alone
		for n := 2; taken[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		taken[unique] = true
		out = append(out, folder.Figure{Name: unique, Figure: f})
		return nil
	}
	var sets []string
	curves, commutes, stable := map[string][]plots.TransitivityCurve{}, map[string]*scatter{}, map[string]*scatter{}
	for _, r := range results {
		judged := r.judged(0)
		if len(judged) == 0 {
			continue
		}
		name := folder.ModelName(r.Model.Name)
		if r.Method == CoT {
			name += ", CoT"
		}
		if commutes[r.Data] == nil {
			sets = append(sets, r.Data)
			commutes[r.Data], stable[r.Data] = &scatter{}, &scatter{}
		}
		if p, ok := heat(name, r.Data, judged); ok {
			f, err := plots.NewPreferences(p)
			if err := add("judgements-"+folder.FileName(name)+"-"+folder.FileName(r.Data), f, err); err != nil {
				return nil, err
			}
		}
		points, err := TransitivityCurve(judged, mostCurve, o.Measure)
		if err != nil {
			return nil, err
		}
		if len(points) > 0 && len(curves[r.Data]) < mostCurves {
			curve := plots.TransitivityCurve{Model: name}
			for _, p := range points {
				curve.Points = append(curve.Points, plots.TransitivityPoint{K: p.K, Value: p.Value, Bar: plots.Range{Lo: p.Lo, Hi: p.Hi}})
			}
			curves[r.Data] = append(curves[r.Data], curve)
		}
		if len(r.Answered) > 1 {
			for w := range r.Answered {
				m, err := Measure(r.judged(w), t.quick())
				if err != nil {
					return nil, err
				}
				commutes[r.Data].add(name, m.Commutative.Value, m.H.Value)
			}
			commutes[r.Data].of("wordings")
		} else {
			m, err := Measure(judged, t.quick())
			if err != nil {
				return nil, err
			}
			for i := range m.Each.H {
				commutes[r.Data].add(name, m.Each.Commutative[i], m.Each.H[i])
			}
			commutes[r.Data].of("instances")
		}
		m, err := Measure(judged, t.quick())
		if err != nil {
			return nil, err
		}
		for i, a := range r.answered(0) {
			stable[r.Data].add(name, a.SelfAgreement, m.Each.Transitive[i])
		}
	}
	for _, set := range sets {
		if c := curves[set]; len(c) > 0 {
			f, err := plots.NewTransitivity("s_tran(K) over K, "+set, c)
			if err := add("transitivity-"+folder.FileName(set), f, err); err != nil {
				return nil, err
			}
		}
		for _, s := range []struct {
			name, title, x, y string
			*scatter
		}{
			{"commutativity-", "Commutativity and human agreement over " + commutes[set].over + ", " + set, "s_comm", "H", commutes[set]},
			{"self-agreement-", "Transitivity and self-agreement over instances, " + set, "self-agreement", fmt.Sprintf("s_tran(%d)", o.Measure.K), stable[set]},
		} {
			if len(s.points) == 0 {
				continue
			}
			f, err := plots.NewScatter(s.title, s.x, s.y, []plots.ScatterPanel{{Title: set, Note: s.note(), Points: s.points}})
			if err := add(s.name+folder.FileName(set), f, err); err != nil {
				return nil, err
			}
		}
	}
	models, err := t.modelFigures()
	if err != nil {
		return nil, err
	}
	for _, f := range models {
		if err := add(f.Name, f.Figure, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scatter are points of up to eight models.
type scatter struct {
	over   string
	groups []string
	points []plots.ScatterPoint
}

// of tells what points are of.
func (s *scatter) of(what string) {
	switch {
	case s.over == "":
		s.over = what
	case !strings.Contains(s.over, what):
		s.over += " or " + what
	}
}

func (s *scatter) add(group string, x, y float64) {
	const mostPoints = 2000
	if x != x || y != y || len(s.points) == mostPoints {
		return
	}
	known := false
	for _, g := range s.groups {
		known = known || g == group
	}
	if !known {
		if len(s.groups) == mostCurves {
			return
		}
		s.groups = append(s.groups, group)
	}
	s.points = append(s.points, plots.ScatterPoint{Group: group, X: x, Y: y})
}

// note has each model's correlation.
func (s *scatter) note() string {
	var out []string
	for _, g := range s.groups {
		var x, y []float64
		for _, p := range s.points {
			if p.Group == g {
				x, y = append(x, p.X), append(y, p.Y)
			}
		}
		text := "r undefined"
		if r := correlation.Pearson(x, y); !math.IsNaN(r) {
			text = "r = " + coefficient(r)
		}
		text += fmt.Sprintf(", n = %d", len(x))
		if len(s.groups) > 1 {
			text = g + ": " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// heat are the matrices of one instance.
func heat(model, data string, judged []Judged) (plots.Preferences, bool) {
	at, most := -1, 0
	for i, x := range judged {
		n := min(x.Relation.N(), mostHeat)
		count := 0
		for a := range n {
			for b := range n {
				if x.Relation.Judged(a, b) {
					count++
				}
			}
		}
		if count > most {
			at, most = i, count
		}
	}
	if at < 0 {
		return plots.Preferences{}, false
	}
	x := judged[at]
	n := min(x.Relation.N(), mostHeat)
	p := plots.Preferences{Title: fmt.Sprintf("Judgements of %s, %s, instance %s", model, data, x.Instance.ID), Relation: matrix(x.Relation, n)}
	if n < x.Relation.N() {
		p.Title += fmt.Sprintf(", the first %d of %d items", n, x.Relation.N())
	}
	for _, item := range x.Instance.Items[:n] {
		p.Items = append(p.Items, item.ID)
	}
	if x.Negated != nil && x.Negated.Count() > 0 {
		p.Negated = matrix(x.Negated, n)
	}
	return p, n > 1
}

func matrix(m *Judgements, n int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		for j := range n {
			out[i] = append(out[i], m.At(i, j))
		}
	}
	return out
}
