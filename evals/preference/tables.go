package preference

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/correlation"
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
	methods := []Method{Direct, CoT}
	names := map[Method]string{Direct: "direct judgements", CoT: "CoT prompting"}
	for _, set := range sets {
		x := &table.Table{Number: "Table 1, " + set, Caption: "logical consistency", Columns: append([]table.Column{modelColumn}, t.scoreColumns()...), Notes: noteTable1[:1]}
		for _, method := range methods {
			here := table.Group{Heading: "measured here: " + names[method]}
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
			g, err := table.GroupOf("published: Preference Table 1, "+names[method], x.Columns, of)
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
		if s.Skipped > 0 {
			x.Notes = append(x.Notes, fmt.Sprintf("%s on %s: %d of %d instances are left out, not all judged or all of whose items humans hold equal.", folder.ModelName(r.Model.Name), r.Data, s.Skipped, len(judged)))
		}
	}
	if len(here.Rows) == 0 {
		return nil
	}
	return t.withPublished(x, here, "Preference Table 4")
}

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

// quick are the options without an interval.
func (t *tables) quick() MeasureOptions {
	o := t.o.Measure
	o.Bootstrap = quick
	return o
}

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
		agreement := table.Missing()
		if self.Instances > 0 {
			agreement = percent(self)
		}
		line.Cells = append(line.Cells, table.Text(r.Data), percent(m.First), percent(m.Calibrated), table.Number(m.Neither.Value, 3), table.Number(float64(m.Judgements), 0), table.Number(float64(m.Ties), 0), table.Number(float64(m.Unannotated), 0), agreement)
		g.Rows = append(g.Rows, line)
	}
	x.Groups = []table.Group{g}
	t.add(x, true)
	return nil
}

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
	type setting struct {
		data   string
		method Method
	}
	type models struct{ h, comm, tran, self []float64 }
	over, order := map[setting]*models{}, []setting{}
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
		agreement, err := r.selfAgreement(0, quick)
		if err != nil {
			return err
		}
		at := setting{r.Data, r.Method}
		if over[at] == nil {
			over[at] = &models{}
			order = append(order, at)
		}
		x := over[at]
		x.h, x.comm, x.tran, x.self = append(x.h, m.H.Value), append(x.comm, m.Commutative.Value), append(x.tran, m.Transitive.Value), append(x.self, agreement.Value)
	}
	for _, at := range order {
		x := over[at]
		of := fmt.Sprintf("%d models, %s", len(x.h), at.method)
		add(here, of, at.data, pairOf{"models", "s_comm and H", x.comm, x.h})
		add(here, of, at.data, pairOf{"models", "s_tran and H", x.tran, x.h})
		add(here, of, at.data, pairOf{"models", "s_tran and self-agreement", x.tran, x.self})
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
		for _, method := range []Method{Direct, CoT} {
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
		tran, comm := percent(s.Transitive), percent(s.Commutative)
		if s.Commutative.Instances == 0 {
			comm = table.Missing()
		}
		if s.Transitive.Instances == 0 {
			tran = table.Missing()
		}
		g.Rows = append(g.Rows, table.Row{
			About: table.About{Subset: data, Other: map[string]string{"setting": s.Name}},
			Cells: []table.Cell{table.Text(s.Name), tran, comm, table.Number(float64(s.Data), 0), table.Number(s.PerInstance, 2)},
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
