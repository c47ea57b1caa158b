package preference

import (
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
)

// rowsTable says what became of the judgements that were asked for, and what reading them took.
func rowsTable(results []*Result) *table.Table {
	t := &table.Table{
		Caption: "Judgements by what became of them",
		Columns: []table.Column{{Head: "Model", Key: "model"}, {Head: "Data", Key: "subset"}, {Head: "by", Key: "method"}},
		Notes: []string{
			"Each ordered pair is asked for under each question and wording. Bad: could not be asked. Not sure: the backend tells of its most probable tokens only, and too little of the labels. " +
				"No answer: none of the samples could be parsed. Cut: texts of the prompt were cut, as was asked for.",
			"Sent are the tokens of all prompts; read are those that went through the model, since what prompts begin with alike is read once.",
		},
	}
	for _, q := range []string{"judged", "bad", "not sure", "no answer", "cut", "tokens sent", "tokens read"} {
		t.Columns = append(t.Columns, table.Column{Head: q, About: table.About{Quantity: q, Other: map[string]string{"in": "rows"}}})
	}
	var rows []table.Row
	for _, r := range results {
		n := r.Count()
		name := folder.ModelName(r.Model.Name)
		row := table.Row{
			About: table.About{Model: name, Subset: r.Data, Other: map[string]string{"method": string(r.Method)}},
			Cells: []table.Cell{table.Text(name), table.Text(r.Data), table.Text(string(r.Method))},
		}
		for _, x := range []int{n.Judged, n.Bad, n.Unsure, n.NoAnswer, n.Cut} {
			row.Cells = append(row.Cells, table.Number(float64(x), 0))
		}
		for _, x := range []int{r.Sent, r.Read} {
			cell := table.Missing()
			if x > 0 {
				cell = table.Number(float64(x), 0)
			}
			row.Cells = append(row.Cells, cell)
		}
		rows = append(rows, row)
	}
	t.Groups = []table.Group{{Rows: rows}}
	return t
}
