package preference

import (
	"github.com/modellog/modellog/evals/table"
)

// places is what the labels are biased by, and what H leaves out.
func (t *tables) places() error {
	x := &table.Table{
		Caption: "places, and judgements that H leaves out",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, quantity("names the first", "names the first", "%"), quantity("s_tran(5), calibrated", "s_tran(5) calibrated", "%"), quantity("neither label", "P(neither label)", ""), quantity("judgements", "judgements", ""), quantity("ties", "ties", ""), quantity("not annotated", "not annotated", ""), quantity("self-agreement", "self-agreement", "%")},
		Notes:   []string{"Names the first: the share of judgements under the relation, ½ without a bias for places. A model that always names the first has s_tran = 1 by Algorithm 1, which asks in the order of the list; calibrated: by judgements averaged over both orders. Neither label: mean probability of all tokens that are no label. Ties: judgements of pairs that humans hold equal."},
	}
	g := table.Group{Heading: "measured here"}
	o := t.quick()
	o.K = DefaultK
	for _, r := range t.results {
		m, err := Measure(r.judged(0), o)
		if err != nil {
			return err
		}
		self, err := r.selfAgreement(0, quick)
		if err != nil {
			return err
		}
		line := t.row(r)
		line.Subset = r.Data
		// What a method does not give is missing; what it gives and has no value is undefined.
		agreement, neither := percent(self), table.Missing()
		if r.Method == Direct {
			agreement, neither = table.Missing(), table.Number(m.Neither.Value, 3)
		}
		line.Cells = append(line.Cells, table.Text(r.Data), percent(m.First), percent(m.Calibrated), neither, table.Number(float64(m.Judgements), 0), table.Number(float64(m.Ties), 0), table.Number(float64(m.Unannotated), 0), agreement)
		g.Rows = append(g.Rows, line)
	}
	x.Groups = []table.Group{g}
	t.add(x, true)
	return nil
}
