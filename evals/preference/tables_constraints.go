package preference

import (
	"context"
	"fmt"

	"github.com/modellog/modellog/evals/table"
)

// constraints are the scores beside the constraints that they count.
func (t *tables) constraints() error {
	o := t.quick()
	o.K = min(o.K, MostBridgeItems)
	x := &table.Table{
		Caption: "the scores as constraints of ModelLog over the judgements",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, {Head: "Constraint", Key: "constraint"}, quantity("score", "score", "%"), quantity("WMC₀", "WMC0", ""), quantity("WMC", "WMC", ""), quantity("ρ", "rho", ""), quantity("CAcc", "CAcc", "%"), quantity("formulas", "formulas", "")},
		Notes:   []string{fmt.Sprintf("Each judgement is an event with its probability. A score counts an event as sure as soon as it is above ½; ρ keeps by how much: 0 is chance, 1 certainty. Strict order: on the sub-graphs of %d items that s_tran is of. CAcc: the share of formulas with ρ > 0.", o.K)},
	}
	g := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		judged := r.judged(0)
		b, err := Bridge(context.Background(), judged, o)
		if err != nil {
			return fmt.Errorf("%s on %s: %w", r.Model.Name, r.Data, err)
		}
		m, err := Measure(judged, o)
		if err != nil {
			return err
		}
		for _, c := range []struct {
			Constraint
			score Mean
		}{{b.Order, m.Transitive}, {b.Swap, m.Commutative}, {b.Negation, m.Negation}} {
			if c.Formulas == 0 {
				continue
			}
			line := t.row(r)
			line.Subset = r.Data
			line.Other["constraint"] = c.Name
			line.Cells = append(line.Cells, table.Text(r.Data), table.Text(c.Name), percent(c.score), table.Number(c.WMC0, 3), table.Number(c.WMC.Value, 3), table.Number(c.Rho.Value, 3), percent(c.CAcc), table.Number(float64(c.Formulas), 0))
			g.Rows = append(g.Rows, line)
		}
	}
	x.Groups = []table.Group{g}
	t.add(x, len(g.Rows) > 0)
	return nil
}
