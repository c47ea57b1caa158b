package lang

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/plots"
)

// errNoRun is for figures of runs before there is one.
func errNoRun(u *unit, n syntax.Node) error {
	return u.src.Errorf(n, "there is no run yet whose ρ could be drawn; %%run SCHEMA FILE makes one")
}

// exactRhos are a run's scores, if they are known.
func (r *Run) exactRhos() ([]float64, error) {
	var rho []float64
	for _, x := range r.Rhos {
		if !x.IsExact() {
			return nil, errInterval
		}
		rho = append(rho, x.Lo)
	}
	return rho, nil
}

func (s *Session) plotHistogram(u *unit, c *syntax.Command, words []syntax.Word) (*plots.Figure, error) {
	if len(words) > 0 {
		return nil, errPlotUsage
	}
	if len(s.runs) == 0 {
		return nil, errNoRun(u, c)
	}
	last := s.runs[len(s.runs)-1]
	rho, err := last.exactRhos()
	if err != nil {
		return nil, err
	}
	return plots.NewHistogram(fmt.Sprintf("%s over %s", last.Schema, plural(last.Scored, "row")), rho)
}

// plotHistograms draws a row for each model that was run and a column for each schema and
// file, as Figures 3 to 6 do.
func (s *Session) plotHistograms(u *unit, c *syntax.Command, words []syntax.Word) (*plots.Figure, error) {
	if len(s.runs) == 0 {
		return nil, errNoRun(u, c)
	}
	chosen := s.runs
	if len(words) > 0 {
		chosen = nil
		for _, w := range words {
			of, err := s.runsOf(u, w, w.Text)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, of...)
		}
	}
	// Of one model's runs over the same data the one with the calibration in use, or the last.
	type place struct{ model, column string }
	at := map[place]*Run{}
	var rows, columns []string
	headings := columnNames(chosen)
	for _, r := range chosen {
		p := place{r.modelName(), headings[r]}
		if p.model == "" {
			p.model = "no model"
		}
		if o := at[p]; o == nil || o.Calibration != s.calibration {
			at[p] = r
		}
		if !slices.Contains(rows, p.model) {
			rows = append(rows, p.model)
		}
		if !slices.Contains(columns, p.column) {
			columns = append(columns, p.column)
		}
	}
	d := plots.Histograms{Title: "consistency ρ", Columns: columns}
	calibrations := map[calibrate.Calibration]bool{}
	for _, m := range rows {
		d.Rows = append(d.Rows, modelLabel(m))
		var row [][]float64
		for _, col := range columns {
			var rho []float64
			if r := at[place{m, col}]; r != nil {
				calibrations[r.Calibration] = true
				var err error
				if rho, err = r.exactRhos(); err != nil {
					return nil, err
				}
			}
			row = append(row, rho)
		}
		d.Rho = append(d.Rho, row)
	}
	if len(calibrations) == 1 {
		for cal := range calibrations {
			d.Title += " · " + cal.String()
		}
	}
	return plots.NewHistograms(d)
}

// modelLabel is a model's name for a figure: of a path the file's name.
func modelLabel(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 && i+1 < len(name) {
		name = name[i+1:]
	}
	if short := strings.TrimSuffix(name, ".gguf"); short != "" {
		return short
	}
	return name
}

// columnNames names what runs are over: the schema, and the file where a schema was run over several.
func columnNames(runs []*Run) map[*Run]string {
	files := map[string]map[string]bool{}
	for _, r := range runs {
		if files[r.Schema] == nil {
			files[r.Schema] = map[string]bool{}
		}
		files[r.Schema][r.Path] = true
	}
	names := map[*Run]string{}
	for _, r := range runs {
		names[r] = r.name()
		if len(files[r.Schema]) > 1 {
			names[r] += " " + filepath.Base(r.Path)
		}
	}
	return names
}

// runsOf are the runs of a schema.
func (s *Session) runsOf(u *unit, n syntax.Node, name string) ([]*Run, error) {
	var of []*Run
	var names []string
	for _, r := range s.runs {
		if r.name() == name {
			of = append(of, r)
		}
		names = append(names, r.name())
	}
	if of == nil {
		if near := nearest.Name(name, names); near != "" {
			return nil, u.src.Errorf(n, "there is no run of a schema %q yet; did you mean %q?", name, near)
		}
		return nil, u.src.Errorf(n, "there is no run of a schema %q yet; %%run %s FILE makes one", name, name)
	}
	return of, nil
}

// plotInformativeness draws ρ over I: of formulas, of a ladder's rungs, and of the runs of
// schemas; without any of them, of all runs.
func (s *Session) plotInformativeness(ctx context.Context, u *unit, c *syntax.Command, args []syntax.Expr) (*plots.Figure, error) {
	var points []plots.InformativePoint
	var title []string
	addRuns := func(runs []*Run) error {
		names := columnNames(runs)
		models := map[string]bool{}
		for _, r := range runs {
			models[r.modelName()] = true
		}
		for _, r := range runs {
			p, err := r.informative()
			if err != nil {
				return err
			}
			if p.Name = names[r]; len(models) > 1 {
				p.Name += ", " + modelLabel(r.modelName())
			}
			points = append(points, p)
		}
		return nil
	}
	if len(args) == 0 {
		if len(s.runs) == 0 {
			return nil, u.src.Errorf(c, "write %%plot informativeness F, G, … with formulas, ladders or schemas that were run; there is no run yet")
		}
		if err := addRuns(s.current(s.runs)); err != nil {
			return nil, err
		}
		title = []string{"runs with " + s.calibration.String()}
	}
	for _, x := range args {
		if n, ok := x.(*syntax.Name); ok && s.names[n.Text] != nil && s.names[n.Text].params != nil {
			runs, err := s.runsOf(u, n, n.Text)
			if err != nil {
				return nil, err
			}
			if err := addRuns(s.current(runs)); err != nil {
				return nil, err
			}
			title = append(title, n.Text)
			continue
		}
		// A result of its own, which is not emitted, so that its names are those of a report.
		r, err := s.result(ctx, u, x)
		if err != nil {
			return nil, err
		}
		name := syntax.Format(x, syntax.Unicode)
		title = append(title, name)
		switch r := r.(type) {
		case *Report:
			if math.IsNaN(r.Rho.Lo) || math.IsInf(r.Info, 0) {
				what := map[bool]string{true: "always true, and its ρ is undefined", false: "never true, and its I is infinite"}[math.IsNaN(r.Rho.Lo)]
				return nil, u.src.Errorf(x, "this formula is %s, so that it has no place in the figure", what)
			}
			points = append(points, plots.InformativePoint{Name: clip(name), Info: r.Info, Rho: plots.Range(r.Rho)})
		case *Ladder:
			for i, g := range r.Rungs {
				p := plots.InformativePoint{Info: g.Info, Rho: plots.Range(g.Rho), Series: name}
				if i == 0 || i == len(r.Rungs)-1 {
					p.Name = fmt.Sprintf("k = %d", g.K)
				}
				points = append(points, p)
			}
		}
	}
	return plots.NewInformativeness(clip(strings.Join(title, ", ")), points)
}

// current are the runs under the calibration in use, or all where none is.
func (s *Session) current(runs []*Run) []*Run {
	var out []*Run
	for _, r := range runs {
		if r.Calibration == s.calibration {
			out = append(out, r)
		}
	}
	if out == nil {
		return runs
	}
	return out
}

// informative is a run's means, and where the middle half of its scores lies.
func (r *Run) informative() (plots.InformativePoint, error) {
	p := plots.InformativePoint{Info: r.Info, Rho: plots.Range(r.Rho)}
	if len(r.Rhos) == 0 || math.IsInf(r.Info, 0) {
		return p, fmt.Errorf("the run of %s has no mean of ρ or of I that could be drawn", r.name())
	}
	sorted := slices.SortedFunc(slices.Values(r.Rhos), func(a, b Interval) int { return cmp.Compare(a.Lo, b.Lo) })
	// The middle is of the scores' lower ends where they are intervals.
	at := func(share float64) float64 { return sorted[int(math.Round(share*float64(len(sorted)-1)))].Lo }
	if len(sorted) > 3 {
		p.Middle = plots.Range{Lo: at(0.25), Hi: at(0.75)}
	}
	return p, nil
}
