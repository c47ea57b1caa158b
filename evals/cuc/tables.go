package cuc

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/correlation"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// Tables returns the paper's tables with the figures of results above those that are published, Table 1 for
// each data set and Table 6; what became of the rows; the ablations, all from the readings that were made:
// thresholds, formats of answers, rankings by one side alone, rank correlations; and the same pairs as
// constraints. As CSV, where all tables are one, the column "in" says which of them a figure is in.
func Tables(results []*Result, o Options) ([]*table.Table, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if len(results) == 0 || len(results[0].Data) == 0 {
		return nil, fmt.Errorf("tables of no results")
	}
	families, err := published.Families()
	if err != nil {
		return nil, err
	}
	t := &tables{results: results, o: o, first: o.Formats[0], families: families}
	for k, d := range results[0].Data {
		t.main(k, d.Data)
	}
	for k, d := range results[0].Data {
		t.scale(k, d.Data)
	}
	t.rows()
	t.thresholds()
	if len(o.Formats) > 1 {
		t.formats()
	}
	t.rankings()
	t.correlations()
	t.constraints()
	return t.out, t.err
}

type tables struct {
	results  []*Result
	o        Options
	first    Format
	families []string // the published ones
	known    map[metricsOf]Metrics
	out      []*table.Table
	err      error
}

// metricsOf is what metrics are of.
type metricsOf struct {
	data       *DataResult
	format     string
	thresholds Thresholds
}

// metrics are those of a result on its k-th data set; false where no row was measured.
func (t *tables) metrics(r *Result, k int, f Format, th Thresholds) (Metrics, bool) {
	of := metricsOf{r.Data[k], f.Name, th}
	if m, ok := t.known[of]; ok {
		return m, m.N > 0
	}
	var m Metrics
	if points := r.Data[k].Points(f, t.o.Unnormalised); len(points) > 0 {
		var err error
		if m, err = Measure(points, th, t.o.Bootstrap); err != nil && t.err == nil {
			t.err = fmt.Errorf("%s on %s: %w", r.Model.Name, r.Data[k].Name, err)
		}
	}
	if t.known == nil {
		t.known = map[metricsOf]Metrics{}
	}
	t.known[of] = m
	return m, m.N > 0
}

// measured are two groups of rows, the figures and their bootstrap intervals.
type measured struct{ here, intervals table.Group }

func (t *tables) measured() *measured {
	return &measured{table.Group{Heading: "measured here"}, table.Group{Heading: fmt.Sprintf("their 95 %% bootstrap intervals (B = %d, seed %d)", t.o.Bootstrap.Resamples, t.o.Bootstrap.Seed)}}
}

// add adds to both groups a row which begins like line. What has no interval stands before the figures.
func (g *measured) add(line table.Row, without []table.Cell, figures ...bootstrap.Interval) {
	bounds := line
	bounds.Cells = slices.Clone(line.Cells)
	bounds.Other = map[string]string{"interval": "95 % bootstrap"}
	maps.Copy(bounds.Other, line.Other)
	for _, c := range without {
		line.Cells, bounds.Cells = append(line.Cells, c), append(bounds.Cells, table.Missing())
	}
	for _, f := range figures {
		line.Cells = append(line.Cells, table.Number(f.Value, 3))
		bounds.Cells = append(bounds.Cells, table.Interval(f.Lo, f.Hi, 3).WithEstimate(f.Value))
	}
	g.here.Rows, g.intervals.Rows = append(g.here.Rows, line), append(g.intervals.Rows, bounds)
}

func (g *measured) groups() []table.Group { return []table.Group{g.here, g.intervals} }

// row begins a row of a model on a data set.
func (t *tables) row(r *Result, subset string) table.Row {
	name := folder.ModelName(r.Model.Name)
	return table.Row{
		About: table.About{Model: name, Family: published.FamilyOf(name, t.families), Size: float64(r.Model.Parameters), Subset: subset},
		Cells: []table.Cell{table.Text(name)},
	}
}

// number is a cell of a figure, undefined where it is NaN.
func number(x float64, decimals int) table.Cell { return table.Number(x, decimals) }

// column is a column of a quantity as the published tables call it.
func column(head, quantity string) table.Column {
	return table.Column{Head: head, About: table.About{Quantity: quantity}}
}

var modelColumn = table.Column{Head: "Model", Key: "model"}

// add finishes a table: published figures follow those that were measured.
func (t *tables) add(x *table.Table, publishedName string) {
	if publishedName != "" {
		figures, err := published.Table(publishedName)
		if err == nil {
			var g table.Group
			if g, err = table.GroupOf("published: "+publishedName, x.Columns, figures); err == nil {
				x.Groups = append(x.Groups, g)
			}
		}
		if err != nil && t.err == nil {
			t.err = err
		}
	}
	in := x.Number
	if in == "" {
		in, _, _ = strings.Cut(x.Caption, ",")
	}
	for _, g := range x.Groups {
		for i := range g.Rows {
			r := &g.Rows[i]
			if r.Other == nil {
				r.Other = map[string]string{}
			}
			r.Other["in"] = in
		}
	}
	t.out = append(t.out, x)
}

// how says under what a table's figures are measured.
func (t *tables) how() string {
	s := t.o.Thresholds.String()
	if t.o.Unnormalised {
		s += ", p = P(" + t.first.Yes + ") as it is"
	}
	if t.first != Formats[0] {
		s += ", " + t.first.String()
	}
	return s
}

// main is Table 1 of the k-th data set.
func (t *tables) main(k int, d *Data) {
	x := &table.Table{
		Number: "Table 1", Caption: fmt.Sprintf("%s, %s", d.Name, t.how()),
		Columns: []table.Column{modelColumn, column("n", "n"), column("Acc", "Acc"), column("Coverage", "Coverage"), column("Acc_cov", "Acc_cov"), column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("%v_neg>0", "%v_neg>0"), column("ECE_cov", "ECE_cov")},
		Notes:   []string{"Each column alone can be led by a model that is of no use: read them together."},
	}
	if d.Kind != FOLIO {
		x.Number = "Table 1, " + d.Name
	}
	g := t.measured()
	for _, r := range t.results {
		if m, ok := t.metrics(r, k, t.first, t.o.Thresholds); ok {
			g.add(t.row(r, d.Name), []table.Cell{number(float64(m.N), 0)}, m.Acc, m.Coverage, m.AccCov, m.Commitment, m.Violation, m.Violated, m.ECECov)
		}
	}
	x.Groups = g.groups()
	if len(g.here.Rows) == 0 {
		return
	}
	if d.Kind != FOLIO {
		t.add(x, "")
		return
	}
	x.Notes = append(x.Notes, "The published models are others; their prompts and answer tokens are not published.")
	t.add(x, "CUC Table 1")
}

// scale is Table 6 of the k-th data set, with the differences within a family of which several sizes were
// measured. On data other than FOLIO, of which none is published, there is no table without a difference.
func (t *tables) scale(k int, d *Data) {
	x := &table.Table{
		Number: "Table 6", Caption: "scale within a family, " + d.Name + ", " + t.how(),
		Columns: []table.Column{modelColumn, column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("Coverage", "Coverage"), column("Acc", "Acc"), column("Acc_cov", "Acc_cov"), column("ECE_cov", "ECE_cov")},
		Notes:   []string{"Differences are between models of one family, by their names, with the next number of parameters."},
	}
	g := table.Group{Heading: "measured here"}
	figures := func(r *Result) []float64 {
		m, ok := t.metrics(r, k, t.first, t.o.Thresholds)
		if !ok {
			return nil
		}
		return []float64{m.Commitment.Value, m.Violation.Value, m.Coverage.Value, m.Acc.Value, m.AccCov.Value, m.ECECov.Value}
	}
	families := map[string][]*Result{}
	var order []string
	for _, r := range t.results {
		f := figures(r)
		if f == nil {
			continue
		}
		line := t.row(r, d.Name)
		for _, v := range f {
			line.Cells = append(line.Cells, number(v, 3))
		}
		g.Rows = append(g.Rows, line)
		family := published.PlainName(line.Family)
		if families[family] == nil {
			order = append(order, family)
		}
		families[family] = append(families[family], r)
	}
	var differences []table.Row
	for _, family := range order {
		of := families[family]
		slices.SortStableFunc(of, func(a, b *Result) int { return cmp.Compare(a.Model.Parameters, b.Model.Parameters) })
		for i := 1; i < len(of); i++ {
			small, large := of[i-1], of[i]
			if small.Model.Parameters == 0 || small.Model.Parameters == large.Model.Parameters {
				continue // a size that a server does not tell, or the same weights otherwise tuned or rounded
			}
			about := t.row(large, d.Name).About
			about.Model, about.Size = folder.ModelName(large.Model.Name)+" − "+folder.ModelName(small.Model.Name), 0
			row := table.Row{About: about, Cells: []table.Cell{table.Text(about.Model)}}
			from, to := figures(small), figures(large)
			for j := range to {
				row.Cells = append(row.Cells, number(to[j]-from[j], 3))
			}
			differences = append(differences, row)
		}
	}
	if len(differences) == 0 {
		if len(g.Rows) == 0 || d.Kind != FOLIO {
			return
		}
		x.Notes = []string{"No two models measured here are of one family and of different sizes, so that there is no difference to show."}
	}
	g.Rows = append(g.Rows, differences...)
	x.Groups = []table.Group{g}
	if d.Kind != FOLIO {
		x.Number += ", " + d.Name
		t.add(x, "")
		return
	}
	x.Notes = append(x.Notes, "The paper's text has “4.9× lower violation”, which by its Table 6 is 6.6×, and an “83% reduction in coverage”, which is that of commitment: coverage falls by 76 %.")
	t.add(x, "CUC Table 6")
}

// rows says what became of them, and where the probability went.
func (t *tables) rows() {
	x := &table.Table{
		Caption: "rows, and what a model puts on neither answer",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, column("Rows", "rows"), column("Measured", "measured"), column("Bad", "bad"), column("Not sure", "not sure"), column("Neither", "P(neither)"), column("P(YES) Q_φ", "P(YES)"), column("P(YES) Q_¬φ", "P(YES) of the negation"), column("Tokens", "tokens")},
		Notes:   []string{"Bad rows cannot be asked: no negation by the rules, an unknown label, a malformed line, or too long for the model. Neither: mean probability of all tokens that are no answer. P(YES): mean, not normalised. Tokens: mean of a question."},
	}
	g := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		for _, d := range r.Data {
			measured, bad, unsure := d.Count(t.first)
			line := t.row(r, d.Name)
			var neither, yes, notYes, tokens float64
			for _, m := range d.measured(t.first) {
				neither += m.Phi.Neither() + m.NotPhi.Neither()
				yes += m.Phi.Yes.Middle()
				notYes += m.NotPhi.Yes.Middle()
				tokens += float64(m.tokens())
			}
			n := float64(measured)
			line.Cells = append(line.Cells, table.Text(d.Name), number(n+float64(bad+unsure), 0), number(n, 0), number(float64(bad), 0), number(float64(unsure), 0),
				number(neither/n/2, 3), number(yes/n, 3), number(notYes/n, 3), number(tokens/n/2, 0))
			g.Rows = append(g.Rows, line)
		}
		for _, a := range r.Answers {
			x.Notes = append(x.Notes, fmt.Sprintf("%s, %s prompt: %s.", folder.ModelName(r.Model.Name), r.Style, a))
		}
	}
	x.Groups = []table.Group{g}
	t.add(x, "")
}

// thresholds is the ablation of τ and δ.
func (t *tables) thresholds() {
	x := &table.Table{
		Caption: "threshold sensitivity, eight settings",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, {Head: "τ", Key: "tau"}, {Head: "δ", Key: "delta"}, column("Coverage", "Coverage"), column("Acc", "Acc"), column("Acc_cov", "Acc_cov"), column("ECE_cov", "ECE_cov")},
		Notes:   []string{"The paper names the first and the last of its eight settings; those between are ours. E[c] and E[v_neg] do not depend on them."},
	}
	g := t.measured()
	for _, r := range t.results {
		for k, d := range r.Data {
			for _, s := range Settings() {
				m, ok := t.metrics(r, k, t.first, s)
				if !ok {
					continue
				}
				line := t.row(r, d.Name)
				tau, delta := fmt.Sprintf("%.2f", s.Tau), fmt.Sprintf("%.2f", s.Delta)
				line.Other = map[string]string{"tau": tau, "delta": delta}
				line.Cells = append(line.Cells, table.Text(d.Name), table.Text(tau), table.Text(delta))
				g.add(line, nil, m.Coverage, m.Acc, m.AccCov, m.ECECov)
			}
		}
	}
	x.Groups = g.groups()
	t.add(x, "")
}

// noAnswer is the mean probability of neither answer from which a model counts as one that hardly gives them.
const noAnswer = 0.9

// formats is the ablation of how the answers are called.
func (t *tables) formats() {
	x := &table.Table{
		Caption: "formats of the answers, " + t.o.Thresholds.String(),
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, {Head: "Answers", Key: "answers"}, column("Neither", "P(neither)"), column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("Coverage", "Coverage"), column("Acc", "Acc"), column("Acc_cov", "Acc_cov")},
		Notes:   []string{"The paper finds shifts of E[c] by up to 0.15 and no change in the order of its four models.", "Neither: mean probability of all tokens that are no answer."},
	}
	g := t.measured()
	for _, r := range t.results {
		name := folder.ModelName(r.Model.Name)
		hardly := map[string][]string{} // data sets by format
		for k, d := range r.Data {
			for _, f := range t.o.Formats {
				m, ok := t.metrics(r, k, f, t.o.Thresholds)
				if !ok {
					continue
				}
				neither := 0.0
				for _, row := range d.measured(f) {
					neither += (row.Phi.Neither() + row.NotPhi.Neither()) / 2 / float64(m.N)
				}
				if neither >= noAnswer {
					hardly[f.Name] = append(hardly[f.Name], fmt.Sprintf("%.4f on %s", neither, d.Name))
				}
				line := t.row(r, d.Name)
				line.Other = map[string]string{"answers": f.String()}
				line.Cells = append(line.Cells, table.Text(d.Name), table.Text(f.String()))
				g.add(line, []table.Cell{number(neither, 4)}, m.Commitment, m.Violation, m.Coverage, m.Acc, m.AccCov)
			}
		}
		for _, f := range t.o.Formats {
			if of := hardly[f.Name]; of != nil {
				x.Notes = append(x.Notes, fmt.Sprintf("%s hardly gives the answers %s: neither has %s. p is then a ratio of remainders, and this row says little of the model.", name, f, strings.Join(of, ", ")))
			}
		}
		for _, a := range r.Answers {
			if a.Lacks != "" {
				x.Notes = append(x.Notes, fmt.Sprintf("%s: %s.", name, a))
			}
		}
	}
	x.Groups = g.groups()
	t.add(x, "")
}

// rankings is the paper's component analysis: the order of models by one side alone and by both. On FOLIO
// the published models are ranked with those that were measured.
func (t *tables) rankings() {
	type entry struct {
		row                            table.Row
		coverage, accCov, c, violation float64
	}
	for k, d := range t.results[0].Data {
		var all []entry
		for _, r := range t.results {
			if m, ok := t.metrics(r, k, t.first, t.o.Thresholds); ok {
				all = append(all, entry{t.row(r, d.Name), m.Coverage.Value, m.AccCov.Value, m.Commitment.Value, m.Violation.Value})
			}
		}
		here := len(all)
		if d.Kind == FOLIO {
			figures, err := published.Table("CUC Table 1")
			if err != nil && t.err == nil {
				t.err = err
			}
			for _, f := range figures {
				if len(all) == here || all[len(all)-1].row.Model != f.Model {
					about := f.About
					about.Quantity, about.Other = "", map[string]string{}
					all = append(all, entry{row: table.Row{About: about, Cells: []table.Cell{table.Text(f.Model)}}})
				}
				e := &all[len(all)-1]
				switch f.Quantity {
				case "Coverage":
					e.coverage = f.Value
				case "Acc_cov":
					e.accCov = f.Value
				case "E[c]":
					e.c = f.Value
				case "E[v_neg]":
					e.violation = f.Value
				}
			}
		}
		if len(all) < 2 {
			continue
		}
		x := &table.Table{
			Caption: "rankings on " + d.Name + ", 1 is best",
			Columns: []table.Column{modelColumn, column("coherence only", "rank by E[v_neg]"), column("commitment only", "rank by E[c]"), column("coverage only", "rank by Coverage"), column("joint", "rank by the joint score"), column("joint score", "joint score")},
			Notes:   []string{"Coherence only: least E[v_neg]. Commitment only: most E[c]. Joint score: Coverage · Acc_cov · (1 − E[v_neg]), our own, as the paper gives no formula."},
		}
		rank := func(of func(e entry) float64) []float64 {
			v := make([]float64, len(all))
			for i, e := range all {
				v[i] = -of(e) // the greatest is first
			}
			return correlation.Ranks(v)
		}
		joint := func(e entry) float64 { return Joint(e.coverage, e.accCov, e.violation) }
		coherence, commitment := rank(func(e entry) float64 { return -e.violation }), rank(func(e entry) float64 { return e.c })
		coverage, both := rank(func(e entry) float64 { return e.coverage }), rank(joint)
		x.Groups = []table.Group{{Heading: "measured here"}, {Heading: "published: CUC Table 1"}}
		for i, e := range all {
			for _, v := range []float64{coherence[i], commitment[i], coverage[i], both[i]} {
				decimals := 0
				if v != math.Trunc(v) {
					decimals = 1 // shared
				}
				e.row.Cells = append(e.row.Cells, number(v, decimals))
			}
			e.row.Cells = append(e.row.Cells, number(joint(e), 3))
			g := &x.Groups[0]
			if i >= here {
				g = &x.Groups[1]
			}
			g.Rows = append(g.Rows, e.row)
		}
		if here == len(all) {
			x.Groups = x.Groups[:1]
		}
		t.add(x, "")
	}
}

// correlations are the rank correlations over models.
func (t *tables) correlations() {
	if len(t.results) < 2 {
		return
	}
	x := &table.Table{
		Caption: "rank correlations (Spearman)",
		Columns: []table.Column{{Head: "Of", Key: "of"}, {Head: "Between", Key: "between"}, column("n", "n"), column("ρ", "Spearman")},
		Notes: []string{
			"n is how many pairs are ranked: the models that were measured on both sides, or these under the eight settings. Over two models ρ can only be 1, −1 or undefined.",
			"“Coverage, all settings” pools models and settings. Coverage falls from one setting to the next for whatever model and data, and that alone makes its ρ large: it is no measure of whether the models come in the same order. Its pairs are not independent, either.",
			"The paper has ρ = 0.97 between FOLIO and LogiQA over its four models. The ρ of four ranks without ties is 1, 0.8, 0.6, …, so that it is not of those alone; of what it is, the paper does not say.",
		},
	}
	g := table.Group{Heading: "measured here"}
	line := func(of, between string, a, b []float64) {
		// A model that was not measured on one side is on neither.
		var both [2][]float64
		for i := range a {
			if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
				both[0], both[1] = append(both[0], a[i]), append(both[1], b[i])
			}
		}
		a, b = both[0], both[1]
		g.Rows = append(g.Rows, table.Row{
			About: table.About{Other: map[string]string{"of": of, "between": between}},
			Cells: []table.Cell{table.Text(of), table.Text(between), number(float64(len(a)), 0), number(correlation.Spearman(a, b), 3)},
		})
	}
	of := func(k int, f Format, s Thresholds, figure func(Metrics) float64) []float64 {
		var out []float64
		for _, r := range t.results {
			x := math.NaN()
			if m, ok := t.metrics(r, k, f, s); ok {
				x = figure(m)
			}
			out = append(out, x)
		}
		return out
	}
	coverage := func(m Metrics) float64 { return m.Coverage.Value }
	commitment := func(m Metrics) float64 { return m.Commitment.Value }
	violation := func(m Metrics) float64 { return m.Violation.Value }
	def := t.o.Thresholds
	data := t.results[0].Data
	for k, d := range data {
		for _, s := range Settings() {
			if s != def {
				line("Coverage, "+d.Name, fmt.Sprintf("(%.2f, %.2f) and (%.2f, %.2f)", def.Tau, def.Delta, s.Tau, s.Delta), of(k, t.first, def, coverage), of(k, t.first, s, coverage))
			}
		}
		for _, f := range t.o.Formats[1:] {
			line("E[c], "+d.Name, t.first.String()+" and "+f.String(), of(k, t.first, def, commitment), of(k, f, def, commitment))
		}
	}
	for k := 1; k < len(data); k++ {
		between := data[0].Name + " and " + data[k].Name
		line("E[c]", between, of(0, t.first, def, commitment), of(k, t.first, def, commitment))
		line("E[v_neg]", between, of(0, t.first, def, violation), of(k, t.first, def, violation))
		line("Coverage", between, of(0, t.first, def, coverage), of(k, t.first, def, coverage))
		var a, b []float64
		for _, s := range Settings() {
			a, b = append(a, of(0, t.first, s, coverage)...), append(b, of(k, t.first, s, coverage)...)
		}
		line("Coverage, all settings", between, a, b)
	}
	x.Groups = []table.Group{g}
	t.add(x, "")
}

// constraints puts the same pairs as constraints beside c and v_neg.
func (t *tables) constraints() {
	x := &table.Table{
		Caption: "the pair as a constraint, M(Q_φ, y) ⊕ M(Q_¬φ, y), nucleus entropy, p = 0.95",
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, {Head: "y", Key: "token"}, column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("event φ", "P(M(Q_φ))"), column("event ¬φ", "P(M(Q_¬φ))"), column("mean ρ", "mean rho"), {Head: "CAcc (%)", About: table.About{Quantity: "CAcc", Unit: "%"}},
			{Head: "v_neg = 0, ρ ≤ 0 (%)", About: table.About{Quantity: "coherent and inconsistent", Unit: "%"}}, {Head: "v_neg > 0, ρ > 0 (%)", About: table.About{Quantity: "violated and consistent", Unit: "%"}}},
		Notes: []string{"y is the one token that is asked for, the first of those that write " + t.first.Yes + "; p, c and v_neg are of all of them.", "⊕ asks for exactly one of the two: a model that affirms neither is coherent by v_neg and inconsistent by ρ (last column but one). v_neg sees probabilities of the answers against each other, ρ the calibrated event that y comes next; a model for which y is a live continuation of either question can violate the one and satisfy the other."},
	}
	g := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		for _, d := range r.Data {
			rows := d.measured(t.first)
			if len(rows) == 0 {
				continue
			}
			n := float64(len(rows))
			var c, v, hidden, seen float64
			var p, q, rho, consistent mean
			for _, m := range rows {
				pt := m.point(t.o.Unnormalised)
				violation := Violation(pt.P, pt.NotP)
				c += Commitment(pt.P, pt.NotP) / n
				v += violation / n
				p.add(m.Phi.EventP, n)
				q.add(m.NotPhi.EventP, n)
				rho.add(*m.Rho, n)
				switch m.CAcc {
				case "consistent":
					consistent.add(Bounds{Lo: 100, Hi: 100}, n)
				case "undecided":
					consistent.add(Bounds{Lo: 0, Hi: 100}, n)
				}
				if violation <= rounding && m.CAcc == "inconsistent" {
					hidden += 100 / n
				}
				if violation > rounding && m.CAcc == "consistent" {
					seen += 100 / n
				}
			}
			line := t.row(r, d.Name)
			y := ""
			for _, a := range r.Answers {
				if a.Format == t.first {
					y = fmt.Sprintf("%q", a.Yes[0].Piece)
				}
			}
			line.Other = map[string]string{"token": y}
			line.Cells = append(line.Cells, table.Text(d.Name), table.Text(y), number(c, 3), number(v, 3), p.cell(3), q.cell(3), rho.cell(3), consistent.cell(1), number(hidden, 1), number(seen, 1))
			g.Rows = append(g.Rows, line)
		}
	}
	x.Groups = []table.Group{g}
	t.add(x, "")
}

// mean is that of bounds.
type mean Bounds

// add adds an n-th part of bounds.
func (m *mean) add(x Bounds, n float64) {
	m.Lo += x.Lo / n
	m.Hi += x.Hi / n
}

func (m mean) cell(decimals int) table.Cell { return table.Interval(m.Lo, m.Hi, decimals) }
