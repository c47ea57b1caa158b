package preference

import (
	"fmt"
	"strings"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// Tables returns the tables of results: Tables 1, 3 and 4 of the paper with published rows below one's own, as
// far as the data are those that they are of; s_tran over K; the constraints beside the scores; correlations;
// and what became of the judgements. As CSV, where all tables are one, the column "in" says which of them
// a figure is in.
func Tables(results []*Result, o RunOptions) ([]*table.Table, error) {
	o.Measure.complete()
	if len(results) == 0 {
		return nil, fmt.Errorf("tables of no results")
	}
	families, err := published.Families()
	if err != nil {
		return nil, err
	}
	t := &tables{results: results, o: o, families: families}
	for _, part := range []func() error{t.scores, t.feedback, t.sorting, t.curve, t.constraints, t.correlations, t.places} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	return append(t.out, rowsTable(results)), nil
}

type tables struct {
	results  []*Result
	o        RunOptions
	families []string // the published ones
	out      []*table.Table
}

// judged are the instances that a result has of a wording.
func (r *Result) judged(wording int) []Judged {
	var out []Judged
	for _, a := range r.answered(wording) {
		out = append(out, a.Judged)
	}
	return out
}

// selfAgreement is the mean over a wording's instances of samples that agree with their majority.
func (r *Result) selfAgreement(wording int, o bootstrap.Options) (Mean, error) {
	var x []float64
	for _, a := range r.answered(wording) {
		x = append(x, a.SelfAgreement)
	}
	return meanOf(x, o)
}

// row begins a row of a model.
func (t *tables) row(r *Result) table.Row {
	name := folder.ModelName(r.Model.Name)
	return table.Row{
		About: table.About{Model: name, Family: published.FamilyOf(name, t.families), Size: float64(r.Model.Parameters), Other: map[string]string{"setting": string(r.Method)}},
		Cells: []table.Cell{table.Text(name)},
	}
}

var modelColumn = table.Column{Head: "Model", Key: "model"}

// quantity is a column of a quantity as the published tables call it.
func quantity(head, name, unit string) table.Column {
	return table.Column{Head: head, About: table.About{Quantity: name, Unit: unit}}
}

// percent is a cell of a mean of shares.
func percent(m Mean) table.Cell { return table.Number(100*m.Value, 1) }

func percentInterval(m Mean) table.Cell { return table.Interval(100*m.Lo, 100*m.Hi, 1) }

// add keeps a table, unless it has no row of one's own.
func (t *tables) add(x *table.Table, here bool) {
	if !here {
		return
	}
	in := x.Number
	if in == "" {
		in, _, _ = strings.Cut(x.Caption, ",")
	}
	mark(x, in)
	t.out = append(t.out, x)
}

// mark says in each row which table it is in.
func mark(x *table.Table, in string) {
	for _, g := range x.Groups {
		for i := range g.Rows {
			r := &g.Rows[i]
			if r.Other == nil {
				r.Other = map[string]string{}
			}
			r.Other["in"] = in
		}
	}
}

// publishedSets are the data sets of Table 1.
var publishedSets = []string{"SummEval", "NovelEval", "CaTeRS"}

func (t *tables) interval() string {
	return fmt.Sprintf("their %.0f %% bootstrap intervals (B = %d, seed %d)", 100*t.level(), t.o.Measure.Bootstrap.Resamples, t.o.Measure.Bootstrap.Seed)
}

func (t *tables) level() float64 {
	if l := t.o.Measure.Bootstrap.Level; l > 0 {
		return l
	}
	return 0.95
}

// sizes are the K that s_tran is shown for.
func (t *tables) sizes() []int {
	if t.o.Measure.K == DefaultK {
		return []int{DefaultK}
	}
	return []int{DefaultK, t.o.Measure.K}
}

// measured are the metrics of a result's first wording, at each K of sizes.
func (t *tables) measured(r *Result) ([]Metrics, error) {
	var out []Metrics
	for _, k := range t.sizes() {
		o := t.o.Measure
		o.K = k
		m, err := Measure(r.judged(0), o)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", r.Model.Name, r.Data, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// quick are the options without an interval.
func (t *tables) quick() MeasureOptions {
	o := t.o.Measure
	o.Bootstrap = quick
	return o
}

// answered are a wording's instances, as judged takes them.
func (r *Result) answered(wording int) []*Answered {
	var out []*Answered
	if wording < len(r.Answered) {
		for _, a := range r.Answered[wording] {
			if a != nil && a.Relation != nil && a.Instance.Bad == "" {
				out = append(out, a)
			}
		}
	}
	return out
}

// given is how many instances a result is of, those that could not be asked among them.
func (r *Result) given() int {
	seen := map[string]bool{}
	bad := 0
	for _, row := range r.Rows {
		if row.First == "" {
			bad++ // its name may be another's
			continue
		}
		seen[row.Instance] = true
	}
	return max(len(seen), len(r.answered(0))) + bad
}

// withPublished finishes a table of measured rows above published ones.
func (t *tables) withPublished(x *table.Table, here table.Group, name string) error {
	figures, err := published.Table(name)
	if err != nil {
		return err
	}
	g, err := table.GroupOf("published: "+name, x.Columns, figures)
	if err != nil {
		return err
	}
	x.Groups = []table.Group{here, g}
	t.add(x, true)
	return nil
}
