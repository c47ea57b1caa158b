package preference

import (
	"fmt"

	"github.com/modellog/modellog/evals/table"
)

// mostCurve is the largest K that s_tran is shown over.
const mostCurve = 10

// curve is s_tran over K.
func (t *tables) curve() error {
	x := &table.Table{
		Caption: "s_tran(K) over K",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}},
		Notes:   []string{"In %. Chance: the share of the 2^(K(K−1)/2) ways to direct all pairs that are one of the K! rankings; §2.1 of the paper has 2^K. A value is of the instances with K items or more."},
	}
	here, chance := table.Group{Heading: "measured here"}, table.Row{About: table.About{Model: "chance", Subset: "any"}, Cells: []table.Cell{table.Text("chance"), table.Text("any")}}
	var rows []table.Row
	most := 0
	for _, r := range t.results {
		points, err := TransitivityCurve(r.judged(0), mostCurve, t.quick())
		if err != nil {
			return err
		}
		if len(points) == 0 {
			continue
		}
		line := t.row(r)
		line.Subset = r.Data
		line.Cells = append(line.Cells, table.Text(r.Data))
		for _, p := range points {
			line.Cells = append(line.Cells, percent(p.Mean))
		}
		most = max(most, len(points))
		rows = append(rows, line)
	}
	for k := 3; k < 3+most; k++ {
		name := fmt.Sprintf("s_tran(%d)", k)
		x.Columns = append(x.Columns, quantity(fmt.Sprintf("K = %d", k), name, "%"))
		chance.Cells = append(chance.Cells, table.Number(100*RandomTournament(k), 1))
	}
	for _, r := range rows {
		r.Cells = append(r.Cells, make([]table.Cell, len(x.Columns)-len(r.Cells))...)
		here.Rows = append(here.Rows, r)
	}
	x.Groups = []table.Group{here, {Heading: "random judgements", Rows: []table.Row{chance}}}
	t.add(x, len(rows) > 0)
	return nil
}
