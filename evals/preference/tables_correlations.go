package preference

import (
	"fmt"

	"github.com/modellog/modellog/evals/correlation"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// pairOf is a correlation that is asked for.
type pairOf struct {
	over, what string
	x, y       []float64
}

// correlations are those of Figures 4 and 5, and of transitivity with human agreement, of which §3.2 says that
// it is below 0.05: over instances, over wordings, over models, and over the models of Table 1.
func (t *tables) correlations() error {
	x := &table.Table{
		Caption: "correlations",
		Columns: []table.Column{{Head: "Of", Key: "of"}, {Head: "Data", Key: "subset"}, {Head: "Between", Key: "between"}, {Head: "Over", Key: "over"}, quantity("n", "n", ""), quantity("Pearson", "Pearson", ""), quantity("Spearman", "Spearman", "")},
		Notes:   []string{"The paper's figures 4 and 5 print no numbers. §3.2 calls the correlations of transitivity with human agreement below 0.05 on all data sets; over the ten models of its Table 1 they are what is shown."},
	}
	group := func(heading string) *table.Group {
		x.Groups = append(x.Groups, table.Group{Heading: heading})
		return &x.Groups[len(x.Groups)-1]
	}
	add := func(g *table.Group, of, set string, p pairOf) {
		var a, b []float64
		for i := range p.x {
			if p.x[i] == p.x[i] && p.y[i] == p.y[i] {
				a, b = append(a, p.x[i]), append(b, p.y[i])
			}
		}
		if len(a) < 3 {
			return
		}
		g.Rows = append(g.Rows, table.Row{
			About: table.About{Subset: set, Other: map[string]string{"of": of, "between": p.what, "over": p.over}},
			Cells: []table.Cell{table.Text(of), table.Text(set), table.Text(p.what), table.Text(p.over), table.Number(float64(len(a)), 0), table.Number(correlation.Pearson(a, b), 3), table.Number(correlation.Spearman(a, b), 3)},
		})
	}
	here := group("measured here")
	for _, r := range t.results {
		m, err := Measure(r.judged(0), t.quick())
		if err != nil {
			return err
		}
		var self []float64
		for _, a := range r.answered(0) {
			self = append(self, a.SelfAgreement)
		}
		of := folder.ModelName(r.Model.Name) + ", " + string(r.Method)
		add(here, of, r.Data, pairOf{"instances", "s_comm and H", m.Each.Commutative, m.Each.H})
		add(here, of, r.Data, pairOf{"instances", "s_tran and H", m.Each.Transitive, m.Each.H})
		add(here, of, r.Data, pairOf{"instances", "s_tran and self-agreement", m.Each.Transitive, self})
		var h, comm []float64
		for w := range r.Answered {
			m, err := Measure(r.judged(w), t.quick())
			if err != nil {
				return err
			}
			h, comm = append(h, m.H.Value), append(comm, m.Commutative.Value)
		}
		add(here, of, r.Data, pairOf{"wordings", "s_comm and H", comm, h})
	}
	of, err := t.models()
	if err != nil {
		return err
	}
	for _, set := range of {
		for _, method := range methods {
			var h, comm, tran []float64
			for _, m := range set.models {
				if x, ok := m.by[method]; ok {
					h, comm, tran = append(h, x.H.Value), append(comm, x.Commutative.Value), append(tran, x.Transitive.Value)
				}
			}
			name := fmt.Sprintf("%d models, %s", len(h), method)
			add(here, name, set.data, pairOf{"models", "s_comm and H", comm, h})
			add(here, name, set.data, pairOf{"models", "s_tran and H", tran, h})
			tran, self := set.stable(method)
			add(here, fmt.Sprintf("%d models, %s", len(self), method), set.data, pairOf{"models", "s_tran and self-agreement", tran, self})
		}
	}
	if len(here.Rows) == 0 {
		return nil
	}
	figures, err := published.Table("Preference Table 1")
	if err != nil {
		return err
	}
	there := group("of the published figures: Preference Table 1")
	for _, set := range publishedSets {
		for _, method := range methods {
			of := map[string][]float64{}
			for _, f := range figures {
				if f.Subset == set && f.Other["setting"] == string(method) {
					of[f.Quantity] = append(of[f.Quantity], f.Value)
				}
			}
			add(there, "ten models, "+string(method), set, pairOf{"models", "s_comm and H", of["s_comm"], of["H"]})
			add(there, "ten models, "+string(method), set, pairOf{"models", "s_tran and H", of["s_tran(5)"], of["H"]})
		}
	}
	t.add(x, true)
	return nil
}
