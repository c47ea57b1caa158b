package probct

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/lang"
)

// The endings of files of rows.
const (
	rowsJSONL   = ".jsonl"
	rowsParquet = ".parquet"
)

// RunOptions say how a run is made.
type RunOptions struct {
	Options
	Parquet bool   // rows as Parquet and not as JSON lines
	Version string // of the program, for the manifest; the module's if empty
}

// Run measures a suite on models, one after the other, and writes the run into a folder,
// which is made: each model's rows, the tables in all forms, the figures, and last the manifest.
//
// Of a run that does not end there is no manifest. What was read is kept in the
// session's cache of readings, so that the same call goes on from there, and writes the
// same files as one that was never interrupted, but for the seconds in the manifest. A folder that
// has a manifest of another run is an error, as is one of the same models with other weights or
// at another precision. A run that fails before it has written something leaves no folder.
func Run(ctx context.Context, s *lang.Session, suite *Suite, models []string, dir string, o RunOptions) (results []*Result, err error) {
	if len(o.Calibrations) == 0 {
		o.Calibrations = Calibrations()
	}
	if err := folder.CheckModels(models); err != nil {
		return nil, err
	}
	m := manifest.New("probct run", o.Version)
	for _, c := range o.Calibrations {
		m.AddCalibration(c)
	}
	m.Options = map[string]string{"models": strings.Join(models, ", "), "limit": strconv.Itoa(o.Limit), "multi": strconv.FormatBool(o.Multi)}
	// The data first: a run of other data is told before hours of work.
	for _, sub := range suite.Subsets {
		if err := m.AddData(ctx, sub.File, 0); err != nil {
			return nil, err
		}
	}
	if err := m.AddData(ctx, suite.Logic, 0); err != nil {
		return nil, err
	}
	claimed, err := folder.Claim(dir, m, []manifest.Kind{manifest.OfCommand, manifest.OfCalibration, manifest.OfData, manifest.OfOption})
	if err != nil {
		return nil, err
	}
	defer func() { claimed.End(err) }()

	for _, name := range models {
		r, err := runModel(ctx, s, suite, name, dir, o)
		if err != nil {
			return nil, fmt.Errorf("running %s: %w", name, err)
		}
		results = append(results, r)
		m.AddModel(r.Model)
		for i, g := range r.Subsets {
			m.Data[i].Rows = g.Rows
			c := manifest.Count{Model: r.Model.Name, Data: g.Name, Rows: g.Rows, Scored: g.Scored, MultiToken: g.Multi, Bad: g.Bad}
			for _, b := range g.BadRows {
				c.Reasons = append(c.Reasons, manifest.BadRow{Line: b.Line, Why: b.Why})
			}
			m.Counts = append(m.Counts, c)
		}
	}
	if err := Write(results, dir); err != nil {
		return nil, fmt.Errorf("writing the run: %w", err)
	}
	m.Seconds = time.Since(m.Started).Seconds()
	return results, m.Save(filepath.Join(dir, folder.ManifestFile))
}

func runModel(ctx context.Context, s *lang.Session, suite *Suite, name, dir string, o RunOptions) (*Result, error) {
	info, err := s.OpenModel(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := folder.ClaimModel(dir, info); err != nil {
		return nil, err
	}
	ending := rowsJSONL
	if o.Parquet {
		ending = rowsParquet
	}
	w, err := CreateRows(filepath.Join(dir, folder.RowsFile(name, ending)))
	if err != nil {
		return nil, err
	}
	r, err := Measure(ctx, s, suite, o.Options, w.Write)
	if err != nil {
		w.Abandon()
		return nil, err
	}
	return r, w.Close()
}

// Write writes the tables and figures of results into a folder.
func Write(results []*Result, dir string) error {
	tables, err := Tables(results)
	if err != nil {
		return err
	}
	figures, err := Figures(results)
	if err != nil {
		return err
	}
	return folder.Write(dir, tables, figures)
}
