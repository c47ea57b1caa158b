package lang

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/plots"
)

// point is a row of a file of measured values, one value a row: columns "size" (number of
// parameters) and "value", and as far as it has them "model", "family", "std", "unit", "table" (of
// published values) and others, such as "subset" and "quantity", that say what the value is of.
type point struct {
	model, family, unit, table string
	size, value, std           float64
	about                      map[string]string // the other columns
}

// columnsOfPoints are the columns that do not tell one curve plot from another.
var columnsOfPoints = []string{"model", "family", "size", "value", "std", "unit", "table"}

const (
	maxPointsFile = 4 << 20
	maxPoints     = 20_000
)

// readPoints reads a CSV or TSV file. Rows without a size, which have no place on a curve, are
// left out. It returns the columns that say what a value is of, in their order.
func readPoints(path string) (points []point, about []string, err error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b := bufio.NewReader(io.LimitReader(f, maxPointsFile))
	if mark, _ := b.Peek(3); string(mark) == "\xEF\xBB\xBF" {
		b.Discard(3)
	}
	r := csv.NewReader(b)
	r.FieldsPerRecord = -1
	if strings.EqualFold(filepath.Ext(path), ".tsv") {
		r.Comma = '\t'
	}
	head, err := r.Read()
	if err != nil {
		return nil, nil, fmt.Errorf("%s has no line of columns: %w", displayPath(path), err)
	}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
	}
	for _, needed := range []string{"size", "value"} {
		if !slices.Contains(head, needed) {
			return nil, nil, fmt.Errorf(`the columns of %s are %s; a scaling curve needs "size", the number of parameters, and "value"`, displayPath(path), strings.Join(quoteAll(head), ", "))
		}
	}
	for _, h := range head {
		if !slices.Contains(columnsOfPoints, h) {
			about = append(about, h)
		}
	}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return points, about, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", displayPath(path), err)
		}
		line, _ := r.FieldPos(0)
		if len(record) != len(head) {
			return nil, nil, fmt.Errorf("%s, line %d has %s for %s", displayPath(path), line, plural(len(record), "field"), plural(len(head), "column"))
		}
		if len(points) == maxPoints {
			return nil, nil, fmt.Errorf("%s has more than %s rows", displayPath(path), count(maxPoints))
		}
		p := point{about: map[string]string{}}
		texts := map[string]*string{"model": &p.model, "family": &p.family, "unit": &p.unit, "table": &p.table}
		numbers := map[string]*float64{"size": &p.size, "value": &p.value, "std": &p.std}
		for i, h := range head {
			v := strings.TrimSpace(record[i])
			switch {
			case texts[h] != nil:
				*texts[h] = v
			case numbers[h] != nil && v != "":
				if *numbers[h], err = strconv.ParseFloat(v, 64); err != nil {
					return nil, nil, fmt.Errorf("%s, line %d: %q is no number of the column %q", displayPath(path), line, v, h)
				}
			case numbers[h] != nil && h == "value":
				return nil, nil, fmt.Errorf("%s, line %d has no value", displayPath(path), line)
			case numbers[h] == nil:
				p.about[h] = v
			}
		}
		if p.std < 0 {
			return nil, nil, fmt.Errorf("%s, line %d: a standard deviation is not below 0", displayPath(path), line)
		}
		if p.size > 0 {
			points = append(points, p)
		}
	}
}

// plotScaling draws values over the size of models: from files, published or one's own, and
// from the session's runs.
func (s *Session) plotScaling(u *unit, c *syntax.Command, words []syntax.Word) (*plots.Figure, error) {
	var points []point
	var about []string
	type filter struct {
		word       syntax.Word
		key, value string
	}
	var filters []filter
	var schemas []filter // a schema, and the subset that it measures or ""
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
			points = append(points, more...)
			for _, col := range columns {
				if !slices.Contains(about, col) {
					about = append(about, col)
				}
			}
		case isOption && s.names[key] == nil:
			filters = append(filters, filter{w, key, value})
		default:
			schemas = append(schemas, filter{w, key, value})
		}
	}
	if len(points) == 0 && len(schemas) == 0 {
		if len(words) > 0 && len(filters) < len(words) {
			return nil, u.src.Errorf(words[0], "there is nothing in it with a size")
		}
		return nil, errPlotUsage
	}

	quantity := ""
	for _, f := range filters {
		if f.key == "quantity" {
			quantity = f.value
		}
		if !slices.Contains(about, f.key) {
			if f.key == "quantity" && len(points) == 0 {
				continue // of runs alone
			}
			if len(about) == 0 {
				return nil, u.src.Errorf(f.word, "no file has a column %q to choose by", f.key)
			}
			return nil, u.src.Errorf(f.word, "no file has a column %q; there are %s", f.key, joinAnd(about))
		}
		var values []string
		kept := points[:0:0]
		for _, p := range points {
			v := p.about[f.key]
			if strings.EqualFold(v, f.value) {
				kept = append(kept, p)
			}
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(kept) == 0 {
			if near := nearest.Name(f.value, values); near != "" {
				return nil, u.src.Errorf(f.word, "there is no %s %q; did you mean %q?", f.key, f.value, near)
			}
			return nil, u.src.Errorf(f.word, "there is no %s %q; there are %s", f.key, f.value, joinAnd(values))
		}
		points = kept
	}

	// A panel for each thing that values are of.
	ps := panelsOf(points, about)
	if len(points) == 0 {
		q := cmp.Or(quantity, "CAcc")
		for _, sc := range schemas {
			ps = append(ps, &scalingPanel{about: map[string]string{"quantity": q, "subset": sc.key}})
		}
		about = []string{"subset", "quantity"}
	}
	if len(ps) > 12 {
		var choices []string
		for _, col := range about {
			if len(distinct(ps, col)) > 1 {
				choices = append(choices, col+"=…")
			}
		}
		return nil, u.src.Errorf(c, "these are %d curve plots, and a figure has room for 12; choose some by %s", len(ps), joinAnd(choices))
	}
	for _, sc := range schemas {
		runs, err := s.runsOf(u, sc.word, sc.key)
		if err != nil {
			return nil, err
		}
		panel, err := choosePanels(u, sc.word, sc.key, sc.value, ps)
		if err != nil {
			return nil, err
		}
		for _, p := range panel {
			own, err := s.measuredPoints(runs, p)
			if err != nil {
				return nil, u.src.Errorf(sc.word, "%w", err)
			}
			p.points = append(p.points, own...)
		}
	}
	return drawScaling(ps, about)
}

// scalingPanel is a curve plot in the making.
type scalingPanel struct {
	about  map[string]string
	unit   string
	tables []string
	points []plots.ScalingPoint
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
		x := plots.ScalingPoint{Model: pt.model, Family: pt.family, Size: pt.size, Value: pt.value, Measured: pt.table == ""}
		if pt.std > 0 {
			x.Bar = plots.Range{Lo: pt.value - pt.std, Hi: pt.value + pt.std}
		}
		if pt.table != "" && !slices.Contains(p.tables, pt.table) {
			p.tables = append(p.tables, pt.table)
		}
		p.points = append(p.points, x)
	}
	return ps
}

func distinct(ps []*scalingPanel, column string) []string {
	var values []string
	for _, p := range ps {
		if v := p.about[column]; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// choosePanels finds the panels that a schema's runs belong to: those of the subset that is named, of
// the only one there is, or of one that is called as the schema is.
func choosePanels(u *unit, w syntax.Word, schema, subset string, ps []*scalingPanel) ([]*scalingPanel, error) {
	subsets := distinct(ps, "subset")
	if subset == "" && len(subsets) == 1 {
		return ps, nil
	}
	wanted := plainName(cmp.Or(subset, schema))
	var out []*scalingPanel
	for _, p := range ps {
		if plainName(p.about["subset"]) == wanted {
			out = append(out, p)
		}
	}
	if out == nil && subset != "" {
		return nil, u.src.Errorf(w, "there is no subset %q; there are %s", subset, joinAnd(subsets))
	}
	if out == nil {
		return nil, u.src.Errorf(w, `say which subset the schema measures: %s="…"; there are %s`, schema, joinAnd(subsets))
	}
	return out, nil
}

// plainName is a name without what people write differently: case, spaces and signs.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// measuredPoints are the points of a schema's runs, one for each model: the mean over the runs that
// differ only in the nucleus (p = 0.80, 0.85, 0.90, 0.95 in the paper), with their sample standard
// deviation as its error bar. Runs with another method than the one in use are left out.
func (s *Session) measuredPoints(runs []*Run, p *scalingPanel) ([]plots.ScalingPoint, error) {
	var value func(*Run) Interval
	switch q := p.about["quantity"]; {
	case plainName(q) == "cacc":
		p.unit = cmp.Or(p.unit, "%")
		scale := 1.0
		if p.unit == "%" {
			scale = 100
		}
		value = func(r *Run) Interval { return Interval{Lo: scale * r.CAcc.Lo, Hi: scale * r.CAcc.Hi} }
	case q == "rho" || q == "ρ":
		value = func(r *Run) Interval { return r.Rho }
	default:
		return nil, fmt.Errorf("runs have CAcc and rho, and this is a curve of %q; quantity=… chooses one", q)
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
	var out []plots.ScalingPoint
	for _, m := range models {
		n := float64(len(of[m]))
		var lo, hi, mean, sum2 float64
		for _, r := range of[m] {
			v := value(r)
			lo, hi, mean = lo+v.Lo/n, hi+v.Hi/n, mean+(v.Lo+v.Hi)/2/n
		}
		for _, r := range of[m] {
			v := value(r)
			sum2 += ((v.Lo+v.Hi)/2 - mean) * ((v.Lo+v.Hi)/2 - mean)
		}
		std := 0.0
		if n > 1 {
			std = math.Sqrt(sum2 / (n - 1))
		}
		x := plots.ScalingPoint{Model: modelLabel(m), Family: familyOf(m, p), Size: float64(of[m][0].Model.Parameters), Value: mean, Measured: true}
		if lo-std < hi+std {
			x.Bar = plots.Range{Lo: lo - std, Hi: hi + std}
		}
		out = append(out, x)
	}
	return out, nil
}

// familyOf is the published family that a model's name starts with, or else its name up to the colon.
func familyOf(model string, p *scalingPanel) string {
	base := modelLabel(model)
	for _, pt := range p.points {
		if f := plainName(pt.Family); f != "" && strings.HasPrefix(plainName(base), f) {
			return pt.Family
		}
	}
	name, _, _ := strings.Cut(base, ":")
	return name
}

// drawScaling names the panels by what differs among them, and the figure by what does not.
func drawScaling(ps []*scalingPanel, about []string) (*plots.Figure, error) {
	var differ, title []string
	for _, col := range about {
		if values := distinct(ps, col); len(values) > 1 {
			differ = append(differ, col)
		} else if col != "quantity" && values[0] != "" {
			title = append(title, values[0])
		}
	}
	var tables []string
	var panels []plots.ScalingPanel
	for _, p := range ps {
		for _, t := range p.tables {
			if !slices.Contains(tables, t) {
				tables = append(tables, t)
			}
		}
		var name []string
		label := quantityName(p.about["quantity"])
		for _, col := range differ {
			if col == "quantity" {
				name = append(name, label)
				label = ""
			} else if p.about[col] != "" {
				name = append(name, p.about[col])
			}
		}
		if p.unit != "" {
			label = strings.TrimSpace(label + " (" + p.unit + ")")
		}
		panels = append(panels, plots.ScalingPanel{Title: strings.Join(name, " · "), Label: label, Points: p.points})
	}
	title = append(title, tables...)
	if q := distinct(ps, "quantity"); len(tables) == 0 && len(q) == 1 && q[0] != "" {
		title = append(title, quantityName(q[0]))
	}
	if len(title) == 0 {
		title = []string{"scaling"}
	}
	return plots.NewScaling(strings.Join(title, " · "), panels)
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
