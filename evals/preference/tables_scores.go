package preference

import (
	"fmt"
	"slices"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// cells are those of the four scores of Table 1.
func cells(ms []Metrics, cell func(Mean) table.Cell) []table.Cell {
	out := []table.Cell{cell(ms[0].H)}
	for _, m := range ms {
		out = append(out, cell(m.Transitive))
	}
	return append(out, cell(ms[0].Commutative), cell(ms[0].Negation))
}

// scoreColumns are those of the four scores.
func (t *tables) scoreColumns() []table.Column {
	out := []table.Column{quantity("H.", "H", "%")}
	for _, k := range t.sizes() {
		name := fmt.Sprintf("s_tran(%d)", k)
		out = append(out, quantity(name, name, "%"))
	}
	return append(out, quantity("s_comm", "s_comm", "%"), quantity("s_neg", "s_neg", "%"))
}

// noteTable1 has what its readers must know.
var noteTable1 = []string{
	"In %, means over the instances that a score is defined for. H.: agreement with human annotation, over both orders of each pair; pairs that humans hold equal are left out. The paper does not say how it treats either.",
	"Slips of the paper: Table 1 prints “78,7” (Phi-3-mini, CoT, CaTeRS, s_neg); Phi-3-mini's s_comm on SummEval is 66.9 here and 46.9 in Table 4; Llama-2-7B and Llama-2-13B have the same H. on SummEval and on NovelEval to the digit.",
}

// scores is Table 1, one block of it for each data set, with the published rows of those that the paper has.
func (t *tables) scores() error {
	var sets []string
	for _, r := range t.results {
		if !slices.Contains(sets, r.Data) {
			sets = append(sets, r.Data)
		}
	}
	figures, err := published.Table("Preference Table 1")
	if err != nil {
		return err
	}
	for _, set := range sets {
		x := &table.Table{Number: "Table 1, " + set, Caption: "logical consistency", Columns: append([]table.Column{modelColumn}, t.scoreColumns()...), Notes: noteTable1[:1]}
		for _, method := range methods {
			here := table.Group{Heading: "measured here: " + settingNames[method]}
			intervals := table.Group{Heading: t.interval()}
			for _, r := range t.results {
				if r.Data != set || r.Method != method || len(r.judged(0)) == 0 {
					continue
				}
				ms, err := t.measured(r)
				if err != nil {
					return err
				}
				line, bounds := t.row(r), t.row(r)
				line.Subset, bounds.Subset = set, set
				bounds.Other["interval"] = fmt.Sprintf("%.0f %% bootstrap", 100*t.level())
				line.Cells = append(line.Cells, cells(ms, percent)...)
				bounds.Cells = append(bounds.Cells, cells(ms, percentInterval)...)
				here.Rows, intervals.Rows = append(here.Rows, line), append(intervals.Rows, bounds)
			}
			if len(here.Rows) > 0 {
				x.Groups = append(x.Groups, here, intervals)
			}
		}
		here := len(x.Groups) > 0
		for _, method := range methods {
			var of []published.Figure
			for _, f := range figures {
				if f.Subset == set && f.Other["setting"] == string(method) {
					of = append(of, f)
				}
			}
			if len(of) == 0 {
				continue
			}
			g, err := table.GroupOf("published: Preference Table 1, "+settingNames[method], x.Columns, of)
			if err != nil {
				return err
			}
			x.Groups = append(x.Groups, g)
			x.Notes = noteTable1
		}
		t.add(x, here)
	}
	return nil
}
