package preference

import (
	"strings"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// feedback is Table 3, for results on Summarize from Feedback: models before and after training on data that
// [Stages] made are rows of their own.
func (t *tables) feedback() error {
	x := &table.Table{
		Number: "Table 3", Caption: "instruction-tuning, " + dataNames[Feedback],
		Columns: append([]table.Column{modelColumn, {Head: "Data", Key: "setting"}}, t.scoreColumns()...),
		Notes:   []string{"The published rows are of Llama-3-8B-Instruct, 200 instances. The paper cites the paper of CaTeRS for this data set, which is by Stiennon et al. (2020)."},
	}
	here := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		if r.Data != dataNames[Feedback] || len(r.judged(0)) == 0 {
			continue
		}
		ms, err := t.measured(r)
		if err != nil {
			return err
		}
		line := t.row(r)
		line.Subset = r.Data
		line.Cells = append(append(line.Cells, table.Text(string(r.Method))), cells(ms, percent)...)
		here.Rows = append(here.Rows, line)
	}
	if len(here.Rows) == 0 {
		return nil
	}
	return t.withPublished(x, here, "Preference Table 3")
}

// Table2 is Table 2 of stages of refinement, with the published rows below.
func Table2(stages []Stage, data string) (*table.Table, error) {
	x := &table.Table{
		Number: "Table 2", Caption: "data at each stage of refinement and augmentation, " + data,
		Columns: []table.Column{{Head: "Data", Key: "setting"}, quantity("s_tran(5)", "s_tran(5)", ""), quantity("s_comm", "s_comm", ""), quantity("# Data", "examples", ""), quantity("AvgComp/Inst", "comparisons per instance", "")},
		Notes: []string{
			"The two scores in %, but for the published “1” of the augmented rows, which are not: the paper prints 1 below 98.4 and 87.6. s_tran is of the instances with 5 items or more; s_comm of pairs that the data have in both orders.",
		},
	}
	g := table.Group{Heading: "made here"}
	for _, s := range stages {
		g.Rows = append(g.Rows, table.Row{
			About: table.About{Subset: data, Other: map[string]string{"setting": s.Name}},
			Cells: []table.Cell{table.Text(s.Name), percent(s.Transitive), percent(s.Commutative), table.Number(float64(s.Data), 0), table.Number(s.PerInstance, 2)},
		})
	}
	figures, err := published.Table("Preference Table 2")
	if err != nil {
		return nil, err
	}
	for i, f := range figures { // the units differ, and the note says how
		if strings.HasPrefix(f.Quantity, "s_") {
			figures[i].Unit = ""
		}
	}
	there, err := table.GroupOf("published: Preference Table 2", x.Columns, figures)
	if err != nil {
		return nil, err
	}
	x.Groups = []table.Group{g, there}
	mark(x, x.Number)
	return x, nil
}
