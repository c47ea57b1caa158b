package preference

import (
	"errors"
	"fmt"
	"io"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// WritePlain writes instances as JSON lines that [Read] reads as [Plain]: texts, scores and comparisons. Those that
// cannot be asked are left out.
func WritePlain(w io.Writer, all []*Instance) error {
	type item struct {
		ID    string   `json:"id"`
		Text  string   `json:"text"`
		Score *float64 `json:"score,omitempty"`
	}
	type comparison struct {
		First  string  `json:"first"`
		Second string  `json:"second"`
		P      float64 `json:"p"`
	}
	for _, in := range all {
		if in.Bad != "" {
			continue
		}
		row := struct {
			ID          string       `json:"id"`
			Source      string       `json:"source,omitempty"`
			Items       []item       `json:"items"`
			Comparisons []comparison `json:"comparisons,omitempty"`
		}{ID: in.ID, Source: in.Source}
		for _, x := range in.Items {
			row.Items = append(row.Items, item{x.ID, x.Text, known(x.Score)})
		}
		for _, c := range in.Comparisons {
			row.Comparisons = append(row.Comparisons, comparison{in.Items[c.I].ID, in.Items[c.J].ID, c.P})
		}
		if err := folder.EncodeRow(w, row); err != nil {
			return fmt.Errorf("writing instances: %w", err)
		}
	}
	return nil
}

// SortingTable is Table 4 of results whose instances have human scores: what ranking by merge sort with the model as
// the comparison gives, beside the published rows.
func SortingTable(results []*Result, o RunOptions) (*table.Table, error) {
	o.Measure.complete()
	families, err := published.Families()
	if err != nil {
		return nil, err
	}
	t := &tables{results: results, o: o, families: families}
	if err := t.sorting(); err != nil {
		return nil, err
	}
	if len(t.out) == 0 {
		return nil, errors.New("no instance has human scores that differ and judgements of all its pairs in both orders; give the data that the run was of")
	}
	return t.out[0], nil
}
