package preference

import (
	"context"
	"fmt"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
)

// sorting is Table 4: PairS over 100 shuffles, for data with human scores.
func (t *tables) sorting() error {
	x := &table.Table{
		Number: "Table 4", Caption: "ranking by merge sort with the model as the comparison (PairS)",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, quantity("H.", "H", "%"), quantity("s_tran(5)", "s_tran(5)", "%"), quantity("s_comm", "s_comm", "%"),
			quantity("PairS", "PairS", "Spearman ×100"), quantity("PairS calibrated", "PairS calibrated", "Spearman ×100"), quantity("gain", "PairS gain", "Spearman ×100"),
			quantity("win rate", "win rate", "Spearman ×100"), quantity("asked", "judgements of PairS", ""), quantity("asked, calibrated", "judgements of PairS calibrated", ""), quantity("asked, win rate", "judgements of the win rate", "")},
		Notes: []string{
			fmt.Sprintf("Spearman correlation with human scores ×100, the mean over instances of the mean over %d shuffles (seed %d). Win rate: by all judgements of all pairs. Asked: judgements that a ranking takes; a calibrated comparison takes two.", DefaultRuns, t.o.Measure.Subsets.Seed),
			"Slips of the paper: Table 4 prints “+.2.4” for Phi-3-medium; its s_comm of Phi-3-mini, 46.9, is 66.9 in Table 1.",
		},
	}
	here := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		judged := r.judged(0)
		if len(judged) == 0 {
			continue
		}
		s, err := Sort(context.Background(), judged, SortOptions{Seed: t.o.Measure.Subsets.Seed, Bootstrap: t.o.Measure.Bootstrap})
		if err != nil {
			return fmt.Errorf("sorting by %s: %w", r.Model.Name, err)
		}
		if s.Raw.Spearman.Instances == 0 {
			continue
		}
		o := t.o.Measure
		o.K = DefaultK
		m, err := Measure(judged, o)
		if err != nil {
			return err
		}
		line := t.row(r)
		line.Subset = r.Data
		line.Cells = append(line.Cells, table.Text(r.Data), percent(m.H), percent(m.Transitive), percent(m.Commutative),
			percent(s.Raw.Spearman), percent(s.Calibrated.Spearman), percent(s.Gain), percent(s.WinRate.Spearman),
			table.Number(s.Raw.Judgements, 1), table.Number(s.Calibrated.Judgements, 1), table.Number(s.WinRate.Judgements, 1))
		here.Rows = append(here.Rows, line)
		if of, rate, given := s.Raw.Spearman.Instances, s.WinRate.Spearman.Instances, r.given(); rate < given {
			x.Notes = append(x.Notes, fmt.Sprintf("%s on %s: PairS is of %d of %d instances, the win rate of %d. Left out are those that are bad, not judged whole, or all of whose items humans hold equal, and of the win rate those all of whose items win equally often.",
				folder.ModelName(r.Model.Name), r.Data, of, given, rate))
		}
	}
	if len(here.Rows) == 0 {
		return nil
	}
	return t.withPublished(x, here, "Preference Table 4")
}
