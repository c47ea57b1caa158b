package lang

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/notebooks/published"
	"github.com/modellog/modellog/plots"
)

// point is a row of a file of figures, of package published: columns "size" (number of parameters)
// and "value", and as far as it has them "model", "family", "std", "unit", "table" (of published
// values), "lo" and "hi" (of a value that is not known exactly), and others, such as "subset" and
// "quantity", that say what the value is of.
type point struct {
	model, family, unit, table string
	size, value, std           float64 // size is 0 where the file does not tell it
	lo, hi                     float64
	shown                      string            // value ± std, of published ones with the file's own digits
	about                      map[string]string // the other columns
}

// columnsOfPoints are the columns that do not tell one curve plot from another.
var columnsOfPoints = []string{"model", "family", "size", "value", "std", "lo", "hi", "unit", "table"}

// readPoints reads a CSV or TSV file. It returns the columns that say what a value is of, in their order.
func readPoints(path string) (points []point, about []string, err error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	figures, columns, err := published.Read(f, displayPath(path))
	if err != nil {
		return nil, nil, err
	}
	if !slices.Contains(columns, "size") {
		return nil, nil, fmt.Errorf(`the columns of %s are %s; it needs "size", the number of parameters, and "value"`, displayPath(path), strings.Join(quoteAll(columns), ", "))
	}
	for _, h := range columns {
		if !slices.Contains(columnsOfPoints, h) {
			about = append(about, h)
		}
	}
	for _, x := range figures {
		p := point{
			model: x.Model, family: x.Family, unit: x.Unit, table: x.Table, size: x.Size, value: x.Value, std: x.Std,
			lo: x.Lo, hi: x.Hi, about: map[string]string{},
		}
		digits := func(printed string) string { return printed }
		if x.Table == "" {
			digits = func(printed string) string { return shortened(printed, x.Unit) }
		}
		p.shown = digits(x.Printed)
		if x.PrintedLo != "" {
			p.shown = span(digits(x.PrintedLo), digits(x.PrintedHi))
		}
		if x.PrintedStd != "" {
			p.shown += " ± " + digits(x.PrintedStd)
		}
		for _, h := range about {
			switch h {
			case "subset":
				p.about[h] = x.Subset
			case "quantity":
				p.about[h] = x.Quantity
			default:
				p.about[h] = x.Other[h]
			}
		}
		points = append(points, p)
	}
	return points, about, nil
}

// decimals is how many decimals a value of one's own is shown with.
func decimals(unit string) int {
	switch unit {
	case "%":
		return 1
	case "":
		return 2
	}
	return 3
}

// shortened rounds a number that a program wrote with all its digits.
func shortened(printed, unit string) string {
	_, fraction, _ := strings.Cut(printed, ".")
	x, err := strconv.ParseFloat(printed, 64)
	// One more is what a person may have typed.
	if err != nil || len(fraction) <= decimals(unit)+1 || strings.ContainsAny(fraction, "eE") {
		return printed
	}
	return strconv.FormatFloat(x, 'f', decimals(unit), 64)
}

// plotScaling draws values over the size of models: from files, published or one's own, and
// from the session's runs. Values of models whose size is not known have no place in it.
func (s *Session) plotScaling(u *unit, c *syntax.Command, words []syntax.Word) (*plots.Figure, error) {
	g, err := s.gather(u, words)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, errPlotUsage
	}
	for _, p := range g.panels {
		p.values = slices.DeleteFunc(p.values, func(v panelValue) bool { return !(v.size > 0) })
	}
	g.panels = slices.DeleteFunc(g.panels, func(p *scalingPanel) bool { return len(p.values) == 0 })
	if len(g.panels) == 0 {
		return nil, u.src.Errorf(words[0], "there is nothing in it with a size")
	}
	if len(g.panels) > mostPanels {
		return nil, u.src.Errorf(c, "these are %d curve plots, and a figure has room for %d; choose some by %s", len(g.panels), mostPanels, g.choices(g.about))
	}
	return g.draw()
}

// mostPanels is how many curve plots a figure, and how many columns of values a table has room for.
const mostPanels = 12

// choices are the filters that would leave fewer panels.
func (g *gathered) choices(columns []string) string {
	var choices []string
	for _, col := range columns {
		if len(g.distinct(col)) > 1 {
			choices = append(choices, col+"=…")
		}
	}
	return joinAnd(choices)
}

// gathered is what files and runs say of models, a panel for each thing that values are of.
type gathered struct {
	panels []*scalingPanel
	about  []string // the columns by which panels may differ, in their order
}

// filter is a word that chooses: by a column's value; or a schema and the subset that it measures,
// or ""; or a quantity and the schema that measures it.
type filter struct {
	word       syntax.Word
	key, value string
}

// gather reads the words of %plot scaling and %table. It returns nil where they name no values.
func (s *Session) gather(u *unit, words []syntax.Word) (*gathered, error) {
	var points []point
	g := &gathered{}
	var filters, measures []filter
	files := false
	for _, w := range words {
		key, value, isOption := strings.Cut(w.Text, "=")
		switch ext := strings.ToLower(filepath.Ext(w.Text)); {
		case ext == ".csv" || ext == ".tsv":
			path, err := s.abs(w.Text, u.dir)
			if err != nil {
				return nil, u.src.Errorf(w, "%w", err)
			}
			more, columns, err := readPoints(path)
			if err != nil {
				return nil, u.src.Errorf(w, "%w", err)
			}
			files = true
			points = append(points, more...)
			for _, col := range columns {
				if !slices.Contains(g.about, col) {
					g.about = append(g.about, col)
				}
			}
		case isOption && s.names[key] == nil && scoreOf.FindString(value) == "":
			filters = append(filters, filter{w, key, value})
		default:
			measures = append(measures, filter{w, key, value})
		}
	}
	if !files && len(measures) == 0 {
		return nil, nil
	}

	quantity := ""
	for _, f := range filters {
		if f.key == "quantity" {
			quantity = f.value
		}
		kept, err := f.choose(u, points, g.about)
		if err != nil {
			return nil, err
		}
		points = kept
	}

	g.panels = panelsOf(points, g.about)
	if !files {
		g.about = []string{"subset", "quantity"}
		for _, m := range measures {
			about := map[string]string{"quantity": cmp.Or(quantity, "CAcc"), "subset": m.key}
			if scoreOf.MatchString(m.value) {
				about = map[string]string{"quantity": m.key}
			}
			g.panels = append(g.panels, &scalingPanel{about: about})
		}
	}
	for _, m := range measures {
		if err := s.addMeasured(u, g, m); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// scoreOf is what measures a quantity: a mean of a schema's runs, as in P1=wmc(premise).
var scoreOf = regexp.MustCompile(`^(wmc|rho|cacc)\(([^()]*)\)$`)

// addMeasured adds what a schema's runs say of the models that were asked.
func (s *Session) addMeasured(u *unit, g *gathered, m filter) error {
	schema, score := m.key, ""
	find := g.ofSubset
	if parts := scoreOf.FindStringSubmatch(m.value); parts != nil {
		score, schema = parts[1], strings.TrimSpace(parts[2])
		find = g.ofQuantity
	}
	runs, err := s.runsOf(u, m.word, schema)
	if err != nil {
		return err
	}
	for _, r := range runs[1:] {
		if r.Path != runs[0].Path {
			return u.src.Errorf(m.word, "%s was run on %s and on %s, whose rows are no one measurement; define a schema with another name for one of them", schema, clip(runs[0].File), clip(r.File))
		}
	}
	panels, err := find(u, m)
	if err != nil {
		return err
	}
	for _, p := range panels {
		own, err := s.measuredValues(runs, p, score)
		if err != nil {
			return u.src.Errorf(m.word, "%w", err)
		}
		p.values = append(p.values, own...)
	}
	return nil
}

// choosable are the columns beside those about a value that points can be chosen by.
var choosable = map[string]func(point) string{
	"model":  func(p point) string { return p.model },
	"family": func(p point) string { return p.family },
	"table":  func(p point) string { return p.table },
}

// choose keeps the points that a filter asks for.
func (f filter) choose(u *unit, points []point, about []string) ([]point, error) {
	of, ok := choosable[f.key]
	if !ok {
		of = func(p point) string { return p.about[f.key] }
	}
	if !ok && !slices.Contains(about, f.key) {
		if f.key == "quantity" && len(points) == 0 {
			return nil, nil // of runs alone
		}
		if len(about) == 0 {
			return nil, u.src.Errorf(f.word, "no file has a column %q to choose by", f.key)
		}
		return nil, u.src.Errorf(f.word, "no file has a column %q; there are %s", f.key, joinAnd(about))
	}
	var values []string
	var kept []point
	for _, p := range points {
		v := of(p)
		if strings.EqualFold(v, f.value) {
			kept = append(kept, p)
		}
		if !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if len(kept) == 0 {
		return nil, unknown(u, f.word, f.key, f.value, values)
	}
	return kept, nil
}

// scalingPanel has the values of one thing: a curve plot, or a column of a table.
type scalingPanel struct {
	about  map[string]string
	unit   string
	values []panelValue
}

// panelValue is a value of one model.
type panelValue struct {
	model, family string
	table         string // that it was published in; "" for one's own
	size, value   float64
	std           float64     // 0 for none
	bar           plots.Range // lo … hi of an interval, widened by std
	shown         string
	ps            []float64 // nucleus thresholds of the runs that it is a mean of
	method        string    // of their calibration
}

func panelsOf(points []point, about []string) []*scalingPanel {
	var ps []*scalingPanel
	byKey := map[string]*scalingPanel{}
	for _, pt := range points {
		key := ""
		for _, col := range about {
			key += pt.about[col] + "\x00"
		}
		p := byKey[key]
		if p == nil {
			p = &scalingPanel{about: pt.about, unit: pt.unit}
			byKey[key] = p
			ps = append(ps, p)
		}
		v := panelValue{model: pt.model, family: pt.family, table: pt.table, size: pt.size, value: pt.value, std: pt.std, shown: pt.shown}
		if lo, hi := pt.lo-pt.std, pt.hi+pt.std; lo < hi {
			v.bar = plots.Range{Lo: lo, Hi: hi}
		}
		p.values = append(p.values, v)
	}
	return ps
}

// distinct are the values of a column, in their order.
func (g *gathered) distinct(column string) []string {
	var values []string
	for _, p := range g.panels {
		if v := p.about[column]; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// ofSubset finds the panels that a schema's runs belong to: those of the subset that is named, of
// the only one there is, or of one that is called as the schema is.
func (g *gathered) ofSubset(u *unit, m filter) ([]*scalingPanel, error) {
	subsets := g.distinct("subset")
	if m.value == "" && len(subsets) == 1 {
		return g.panels, nil
	}
	wanted := published.PlainName(cmp.Or(m.value, m.key))
	var out []*scalingPanel
	for _, p := range g.panels {
		if published.PlainName(p.about["subset"]) == wanted {
			out = append(out, p)
		}
	}
	if out == nil && m.value != "" {
		return nil, u.src.Errorf(m.word, "there is no subset %q; there are %s", m.value, joinAnd(subsets))
	}
	if out == nil {
		return nil, u.src.Errorf(m.word, `say which subset the schema measures: %s="…"; there are %s`, m.key, joinAnd(subsets))
	}
	return out, nil
}

// ofQuantity finds the panel of a quantity that a run measures.
func (g *gathered) ofQuantity(u *unit, m filter) ([]*scalingPanel, error) {
	var out []*scalingPanel
	for _, p := range g.panels {
		if strings.EqualFold(p.about["quantity"], m.key) {
			out = append(out, p)
		}
	}
	switch {
	case out == nil:
		return nil, unknown(u, m.word, "quantity", m.key, g.distinct("quantity"))
	case len(out) > 1:
		return nil, u.src.Errorf(m.word, "%d curves are of %s; choose one by %s", len(out), clip(m.key), g.choices(slices.DeleteFunc(slices.Clone(g.about), func(col string) bool { return col == "quantity" })))
	}
	return out, nil
}

// unknown is the error for a value that a column does not have.
func unknown(u *unit, w syntax.Word, column, value string, values []string) error {
	if near := nearest.Name(value, values); near != "" {
		return u.src.Errorf(w, "there is no %s %q; did you mean %q?", column, value, near)
	}
	return u.src.Errorf(w, "there is no %s %q; there are %s", column, value, joinAnd(values))
}

// measuredValues are the values of a schema's runs, one for each model: the mean over the runs that
// differ only in the nucleus (p = 0.80, 0.85, 0.90, 0.95 in the paper), with their sample standard
// deviation. Runs with another method than the one in use are left out. The score is wmc,
// rho or cacc, and without one what the panel's quantity is called.
func (s *Session) measuredValues(runs []*Run, p *scalingPanel, score string) ([]panelValue, error) {
	q := p.about["quantity"]
	if score == "" {
		if score = published.PlainName(q); score == "ρ" {
			score = "rho"
		}
	}
	scale := 1.0
	if score == "cacc" {
		p.unit = cmp.Or(p.unit, "%")
	}
	if p.unit == "%" {
		scale = 100
	}
	var value func(*Run) Interval
	switch score {
	case "wmc":
		value = func(r *Run) Interval { return r.WMC }
	case "rho":
		value = func(r *Run) Interval { return r.Rho }
	case "cacc":
		value = func(r *Run) Interval { return r.CAcc }
	default:
		return nil, fmt.Errorf("runs have WMC, rho and CAcc, and this is a curve of %q; quantity=… chooses one, or say what measures it, as in %s=wmc(SCHEMA)", q, cmp.Or(q, "P1"))
	}
	var models []string
	of := map[string][]*Run{}
	for _, r := range runs {
		if r.Calibration.Method != s.calibration.Method || r.Model == nil || math.IsNaN(value(r).Lo) {
			continue
		}
		if r.Model.Parameters == 0 {
			return nil, fmt.Errorf("the backend does not tell the size of %s; write its value into a CSV file with a size", r.Model.Name)
		}
		if of[r.Model.Name] == nil {
			models = append(models, r.Model.Name)
		}
		of[r.Model.Name] = append(of[r.Model.Name], r)
	}
	if models == nil {
		return nil, fmt.Errorf("there is no run with %s that asked a model and has this value", s.calibration.Method)
	}
	var out []panelValue
	for _, m := range models {
		v := panelValue{model: modelLabel(m), family: familyOf(m, p), size: float64(of[m][0].Model.Parameters), method: s.calibration.Method.String()}
		n := float64(len(of[m]))
		var lo, hi, sum2 float64
		for _, r := range of[m] {
			x := value(r)
			lo, hi = lo+scale*x.Lo/n, hi+scale*x.Hi/n
			if s.calibration.Method.UsesNucleus() {
				v.ps = append(v.ps, r.Calibration.P)
			}
		}
		v.value = (lo + hi) / 2
		for _, r := range of[m] {
			x := value(r)
			d := scale*(x.Lo+x.Hi)/2 - v.value
			sum2 += d * d
		}
		if n > 1 {
			v.std = math.Sqrt(sum2 / (n - 1))
		}
		if lo-v.std < hi+v.std {
			v.bar = plots.Range{Lo: lo - v.std, Hi: hi + v.std}
		}
		slices.Sort(v.ps)
		fixed := func(x float64) string { return strconv.FormatFloat(x, 'f', decimals(p.unit), 64) }
		v.shown = span(fixed(lo), fixed(hi))
		if n > 1 {
			v.shown += " ± " + fixed(v.std)
		}
		out = append(out, v)
	}
	return out, nil
}

// familyOf is a model's family: that of published values in a panel, if one fits.
func familyOf(model string, p *scalingPanel) string {
	var families []string
	for _, v := range p.values {
		families = append(families, v.family)
	}
	return published.FamilyOf(modelLabel(model), families)
}

// curves names the panels by what differs among them.
func (g *gathered) curves() []plots.ScalingPanel {
	var panels []plots.ScalingPanel
	for _, p := range g.panels {
		x := plots.ScalingPanel{}
		for _, v := range p.values {
			family := v.family
			if v.table != "" && p.repeats() {
				family = strings.TrimPrefix(family+", "+v.table, ", ")
			}
			x.Points = append(x.Points, plots.ScalingPoint{Model: v.model, Family: family, Size: v.size, Value: v.value, Bar: v.bar, Measured: v.table == ""})
		}
		x.Title, x.Label = g.label(p)
		if p.unit != "" {
			x.Label = strings.TrimSpace(x.Label + " (" + p.unit + ")")
		}
		panels = append(panels, x)
	}
	return panels
}

// draw names the figure by what does not differ among the panels.
func (g *gathered) draw() (*plots.Figure, error) {
	title := g.title()
	if q := g.distinct("quantity"); len(g.tables()) == 0 && len(q) == 1 && q[0] != "" {
		title = append(title, quantityName(q[0]))
	}
	return plots.NewScaling(cmp.Or(strings.Join(title, " · "), "scaling"), g.curves())
}

// repeats reports whether tables say something of the same model, so that each needs a curve of its own.
func (p *scalingPanel) repeats() bool {
	in := map[string]string{}
	for _, v := range p.values {
		if t, ok := in[v.model]; ok && t != v.table && v.table != "" {
			return true
		}
		if v.table != "" {
			in[v.model] = v.table
		}
	}
	return false
}

// label is what tells a panel from the others, and the name of its quantity where that is not a part of it.
func (g *gathered) label(p *scalingPanel) (name, quantity string) {
	var names []string
	quantity = quantityName(p.about["quantity"])
	for _, col := range g.about {
		switch {
		case len(g.distinct(col)) < 2:
		case col == "quantity":
			names = append(names, quantity)
			quantity = ""
		case p.about[col] != "":
			names = append(names, p.about[col])
		}
	}
	return strings.Join(names, " · "), quantity
}

// title is what is the same in all panels but for the quantity, and the tables that they are from.
func (g *gathered) title() []string {
	var title []string
	for _, col := range g.about {
		if values := g.distinct(col); col != "quantity" && len(values) == 1 && values[0] != "" {
			title = append(title, values[0])
		}
	}
	return append(title, g.tables()...)
}

// tables are those that published values are from.
func (g *gathered) tables() []string {
	var tables []string
	for _, p := range g.panels {
		for _, v := range p.values {
			if v.table != "" && !slices.Contains(tables, v.table) {
				tables = append(tables, v.table)
			}
		}
	}
	return tables
}

// quantityName writes the tables' quantities as the papers do: P₂ − P₁ for P2-P1.
func quantityName(q string) string {
	if q == "rho" {
		return "ρ"
	}
	if len(q) < 2 || q[0] != 'P' || !unicode.IsDigit(rune(q[1])) {
		return q
	}
	return strings.NewReplacer("1", "₁", "2", "₂", "3", "₃", "-", " − ", ">", " > ").Replace(q)
}

// joinAnd lists some words.
func joinAnd(words []string) string {
	const most = 12
	var quoted []string
	for i, w := range words {
		if i == most {
			quoted = append(quoted, "…")
			break
		}
		quoted = append(quoted, clip(w))
	}
	return strings.Join(quoted, ", ")
}
