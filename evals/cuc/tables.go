package cuc

import (
	"fmt"
	"math"
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
		t.main(k, d.Name)
	}
	t.scale()
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
	out      []*table.Table
	err      error
}

// metrics are those of a result on its k-th data set; false where no row was measured.
func (t *tables) metrics(r *Result, k int, f Format, th Thresholds, o bootstrap.Options) (Metrics, bool) {
	points := r.Data[k].Points(f, t.o.Unnormalised)
	if len(points) == 0 {
		return Metrics{}, false
	}
	m, err := Measure(points, th, o)
	if err != nil && t.err == nil {
		t.err = fmt.Errorf("%s on %s: %w", r.Model.Name, r.Data[k].Name, err)
	}
	return m, err == nil
}

// quick is for figures that are shown without an interval.
var quick = bootstrap.Options{Resamples: 1}

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
func (t *tables) main(k int, name string) {
	x := &table.Table{
		Number: "Table 1", Caption: fmt.Sprintf("%s, %s", name, t.how()),
		Columns: []table.Column{modelColumn, column("n", "n"), column("Acc", "Acc"), column("Coverage", "Coverage"), column("Acc_cov", "Acc_cov"), column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("%v_neg>0", "%v_neg>0"), column("ECE_cov", "ECE_cov")},
		Notes:   []string{"Each column alone can be led by a model that is of no use: read them together."},
	}
	if name != "FOLIO" {
		x.Number = "Table 1, " + name
	}
	here := table.Group{Heading: "measured here"}
	intervals := table.Group{Heading: fmt.Sprintf("their 95 %% bootstrap intervals (B = %d, seed %d)", t.o.Bootstrap.Resamples, t.o.Bootstrap.Seed)}
	for _, r := range t.results {
		m, ok := t.metrics(r, k, t.first, t.o.Thresholds, t.o.Bootstrap)
		if !ok {
			continue
		}
		line, bounds := t.row(r, name), t.row(r, name)
		bounds.Other = map[string]string{"interval": "95 % bootstrap"}
		line.Cells = append(line.Cells, number(float64(m.N), 0))
		bounds.Cells = append(bounds.Cells, table.Missing())
		for _, f := range []bootstrap.Interval{m.Acc, m.Coverage, m.AccCov, m.Commitment, m.Violation, m.Violated, m.ECECov} {
			line.Cells = append(line.Cells, number(f.Value, 3))
			bounds.Cells = append(bounds.Cells, table.Interval(f.Lo, f.Hi, 3))
		}
		here.Rows, intervals.Rows = append(here.Rows, line), append(intervals.Rows, bounds)
	}
	x.Groups = []table.Group{here, intervals}
	if len(here.Rows) == 0 {
		return
	}
	if name != "FOLIO" {
		t.add(x, "")
		return
	}
	x.Notes = append(x.Notes, "The published models are others; their prompts and answer tokens are not published.")
	t.add(x, "CUC Table 1")
}

// scale is Table 6, with the differences within a family of which several sizes were measured.
func (t *tables) scale() {
	for k, d := range t.results[0].Data {
		if d.Name != "FOLIO" {
			continue
		}
		x := &table.Table{
			Number: "Table 6", Caption: "scale within a family, FOLIO, " + t.how(),
			Columns: []table.Column{modelColumn, column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("Coverage", "Coverage"), column("Acc", "Acc"), column("Acc_cov", "Acc_cov"), column("ECE_cov", "ECE_cov")},
			Notes:   []string{"The paper's text has “4.9× lower violation”, which by its Table 6 is 6.6×, and an “83% reduction in coverage”, which is that of commitment: coverage falls by 76 %."},
		}
		g := table.Group{Heading: "measured here"}
		last := map[string]*Result{}
		figures := func(r *Result) []float64 {
			m, ok := t.metrics(r, k, t.first, t.o.Thresholds, quick)
			if !ok {
				return nil
			}
			return []float64{m.Commitment.Value, m.Violation.Value, m.Coverage.Value, m.Acc.Value, m.AccCov.Value, m.ECECov.Value}
		}
		var differences []table.Row
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
			if before := last[line.Family]; before != nil {
				a, b := before, r
				if a.Model.Parameters > b.Model.Parameters {
					a, b = b, a
				}
				name := folder.ModelName(b.Model.Name) + " − " + folder.ModelName(a.Model.Name)
				from, to := figures(a), figures(b)
				difference := table.Row{About: table.About{Model: name, Family: line.Family, Subset: d.Name}, Cells: []table.Cell{table.Text(name)}}
				for i := range to {
					difference.Cells = append(difference.Cells, number(to[i]-from[i], 3))
				}
				differences = append(differences, difference)
			}
			last[line.Family] = r
		}
		if len(g.Rows) == 0 {
			return
		}
		g.Rows = append(g.Rows, differences...)
		x.Groups = []table.Group{g}
		t.add(x, "CUC Table 6")
	}
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
				yes += m.Phi.Yes.middle()
				notYes += m.NotPhi.Yes.middle()
				tokens += float64(m.tokens())
			}
			n := float64(measured)
			line.Cells = append(line.Cells, table.Text(d.Name), number(n+float64(bad+unsure), 0), number(n, 0), number(float64(bad), 0), number(float64(unsure), 0),
				number(neither/n/2, 3), number(yes/n, 3), number(notYes/n, 3), number(tokens/n/2, 0))
			g.Rows = append(g.Rows, line)
		}
		for i, a := range r.Answers {
			if i == 0 || len(r.Answers) == len(t.o.Formats) {
				x.Notes = append(x.Notes, fmt.Sprintf("%s, %s prompt: %s.", folder.ModelName(r.Model.Name), r.Style, a))
			}
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
	g := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		for k, d := range r.Data {
			for _, s := range Settings() {
				m, ok := t.metrics(r, k, t.first, s, quick)
				if !ok {
					continue
				}
				line := t.row(r, d.Name)
				tau, delta := fmt.Sprintf("%.2f", s.Tau), fmt.Sprintf("%.2f", s.Delta)
				line.Other = map[string]string{"tau": tau, "delta": delta}
				line.Cells = append(line.Cells, table.Text(d.Name), table.Text(tau), table.Text(delta), number(m.Coverage.Value, 3), number(m.Acc.Value, 3), number(m.AccCov.Value, 3), number(m.ECECov.Value, 3))
				g.Rows = append(g.Rows, line)
			}
		}
	}
	x.Groups = []table.Group{g}
	t.add(x, "")
}

// formats is the ablation of how the answers are called.
func (t *tables) formats() {
	x := &table.Table{
		Caption: "formats of the answers, " + t.o.Thresholds.String(),
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, {Head: "Answers", Key: "answers"}, column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("Coverage", "Coverage"), column("Acc", "Acc"), column("Acc_cov", "Acc_cov")},
		Notes:   []string{"The paper finds shifts of E[c] by up to 0.15 and no change in the order of its four models."},
	}
	g := table.Group{Heading: "measured here"}
	for _, r := range t.results {
		for k, d := range r.Data {
			for _, f := range t.o.Formats {
				m, ok := t.metrics(r, k, f, t.o.Thresholds, quick)
				if !ok {
					continue
				}
				line := t.row(r, d.Name)
				line.Other = map[string]string{"answers": f.String()}
				line.Cells = append(line.Cells, table.Text(d.Name), table.Text(f.String()), number(m.Commitment.Value, 3), number(m.Violation.Value, 3), number(m.Coverage.Value, 3), number(m.Acc.Value, 3), number(m.AccCov.Value, 3))
				g.Rows = append(g.Rows, line)
			}
		}
	}
	x.Groups = []table.Group{g}
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
			if m, ok := t.metrics(r, k, t.first, t.o.Thresholds, quick); ok {
				all = append(all, entry{t.row(r, d.Name), m.Coverage.Value, m.AccCov.Value, m.Commitment.Value, m.Violation.Value})
			}
		}
		here := len(all)
		if d.Name == "FOLIO" {
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
			"n is how many pairs are ranked: models, or models under the eight settings. Over two models ρ can only be 1, −1 or undefined.",
			"The paper has ρ = 0.97 between FOLIO and LogiQA over its four models. The ρ of four ranks without ties is 1, 0.8, 0.6, …, so that it is not of those alone; of what it is, the paper does not say.",
		},
	}
	g := table.Group{Heading: "measured here"}
	line := func(of, between string, a, b []float64) {
		g.Rows = append(g.Rows, table.Row{
			About: table.About{Other: map[string]string{"of": of, "between": between}},
			Cells: []table.Cell{table.Text(of), table.Text(between), number(float64(len(a)), 0), number(correlation.Spearman(a, b), 3)},
		})
	}
	of := func(k int, f Format, s Thresholds, figure func(Metrics) float64) []float64 {
		var out []float64
		for _, r := range t.results {
			x := math.NaN()
			if m, ok := t.metrics(r, k, f, s, quick); ok {
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
		Caption: fmt.Sprintf("the pair as a constraint, M(Q_φ, %s) ⊕ M(Q_¬φ, %s), nucleus entropy, p = 0.95", t.first.Yes, t.first.Yes),
		Columns: []table.Column{modelColumn, {Head: "Data", Key: "subset"}, column("E[c]", "E[c]"), column("E[v_neg]", "E[v_neg]"), column("event φ", "P(M(Q_φ))"), column("event ¬φ", "P(M(Q_¬φ))"), column("mean ρ", "mean rho"), {Head: "CAcc (%)", About: table.About{Quantity: "CAcc", Unit: "%"}},
			{Head: "v_neg = 0, ρ ≤ 0 (%)", About: table.About{Quantity: "coherent and inconsistent", Unit: "%"}}, {Head: "v_neg > 0, ρ > 0 (%)", About: table.About{Quantity: "violated and consistent", Unit: "%"}}},
		Notes: []string{"⊕ asks for exactly one of the two: a model that affirms neither is coherent by v_neg and inconsistent by ρ (last column but one). v_neg sees probabilities of the answers against each other, ρ the calibrated event that YES comes next; a model for which YES is a live continuation of either question can violate the one and satisfy the other."},
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
			var p, q, rho, consistent Bounds
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
					consistent.add(Bounds{100, 100}, n)
				case "undecided":
					consistent.add(Bounds{0, 100}, n)
				}
				if violation <= rounding && m.CAcc == "inconsistent" {
					hidden += 100 / n
				}
				if violation > rounding && m.CAcc == "consistent" {
					seen += 100 / n
				}
			}
			line := t.row(r, d.Name)
			line.Cells = append(line.Cells, table.Text(d.Name), number(c, 3), number(v, 3), p.cell(3), q.cell(3), rho.cell(3), consistent.cell(1), number(hidden, 1), number(seen, 1))
			g.Rows = append(g.Rows, line)
		}
	}
	x.Groups = []table.Group{g}
	t.add(x, "")
}

// add adds an n-th part of bounds.
func (b *Bounds) add(x Bounds, n float64) {
	b.Lo += x.Lo / n
	b.Hi += x.Hi / n
}

func (b Bounds) cell(decimals int) table.Cell { return table.Interval(b.Lo, b.Hi, decimals) }
