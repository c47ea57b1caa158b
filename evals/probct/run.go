package probct

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lang"
)

// The names of a run's files, besides ManifestFile and a file of rows for each model.
const (
	TablesFile = "tables" // with the ending of each form
	FiguresDir = "figures"
)

const (
	rowsPrefix  = "rows-"
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
// has a manifest of another run is an error.
func Run(ctx context.Context, s *lang.Session, suite *Suite, models []string, dir string, o RunOptions) ([]*Result, error) {
	if len(o.Calibrations) == 0 {
		o.Calibrations = Calibrations()
	}
	files := map[string]string{}
	for _, name := range models {
		file := rowsFile(name, "")
		if other, ok := files[file]; ok {
			return nil, fmt.Errorf("the rows of %s and %s would have one name, %s; measure them in two runs", other, name, file)
		}
		files[file] = name
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the run's folder: %w", err)
	}
	if err := sameRun(filepath.Join(dir, ManifestFile), m); err != nil {
		return nil, err
	}

	var results []*Result
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
	return results, m.Save(filepath.Join(dir, ManifestFile))
}

// sameRun refuses to write over a run of something else.
func sameRun(path string, now *manifest.Manifest) error {
	then, err := manifest.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the run's folder has a manifest that cannot be read, choose another folder: %w", err)
	}
	for _, d := range manifest.Compare(then, now) {
		switch d.Kind {
		case manifest.OfCommand, manifest.OfCalibration, manifest.OfData, manifest.OfOption:
			return fmt.Errorf("%s has a run of something else (%s); choose another folder for this one", filepath.Dir(path), d)
		}
	}
	return nil
}

func runModel(ctx context.Context, s *lang.Session, suite *Suite, name, dir string, o RunOptions) (*Result, error) {
	if _, err := s.OpenModel(ctx, name); err != nil {
		return nil, err
	}
	ending := rowsJSONL
	if o.Parquet {
		ending = rowsParquet
	}
	w, err := CreateRows(filepath.Join(dir, rowsFile(name, ending)))
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

// rowsFile is the name of the file of a model's rows, after the last part of the model's name where
// that is a path.
func rowsFile(model, ending string) string {
	model = strings.TrimPrefix(shown(model), "gguf:")
	return rowsPrefix + strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:*?"<>|`, r) || r <= ' ' {
			return '-'
		}
		return r
	}, model) + ending
}

// Write writes the tables and figures of results into a folder.
func Write(results []*Result, dir string) error {
	tables, err := Tables(results)
	if err != nil {
		return err
	}
	for _, f := range []table.Format{table.PlainText, table.CSV, table.Markdown, table.LaTeX} {
		var b bytes.Buffer
		if err := table.Write(&b, f, table.Style{Width: 120}, tables...); err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(dir, TablesFile+f.Extension()), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	figures, err := Figures(results)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, FiguresDir), 0o755); err != nil {
		return err
	}
	for _, f := range figures {
		svg, err := f.SVG()
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(dir, FiguresDir, f.Name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}
