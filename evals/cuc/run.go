package cuc

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

// rowsEnding is the ending of files of rows.
const rowsEnding = ".jsonl"

// Options say how models are asked, and what is made of their answers.
type Options struct {
	Formats      []Format   // of answers; the paper's default alone if empty
	Style        Style      // AutoStyle if empty
	Prompts      *Prompts   // DefaultPrompts if nil
	Thresholds   Thresholds // the paper's if both are 0, unless ZeroThresholds says that they are meant
	Unnormalised bool       // P(YES) as it is, not against P(NO)
	Bootstrap    bootstrap.Options
	Version      string // of the program, for the manifest

	ZeroThresholds bool
}

func (o *Options) complete() error {
	if len(o.Formats) == 0 {
		o.Formats = Formats[:1]
	}
	if o.Style == "" {
		o.Style = AutoStyle
	}
	if o.Prompts == nil {
		p := DefaultPrompts()
		o.Prompts = &p
	}
	if o.Thresholds == (Thresholds{}) && !o.ZeroThresholds {
		o.Thresholds = DefaultThresholds()
	}
	if o.Bootstrap.Seed == 0 {
		o.Bootstrap.Seed = DefaultSeed
	}
	if o.Bootstrap.Resamples == 0 {
		o.Bootstrap.Resamples = 1000
	}
	return o.Thresholds.Check()
}

// Machine is what a run needs of this machine.
type Machine struct {
	Open     func(ctx context.Context, name string) (lm.Model, error)
	Cache    event.Cache                         // of readings; nil for none
	Progress func(label string, done, total int) // may be nil
}

// Result is what a run has of one model.
type Result struct {
	Model   lm.Info
	Style   Style
	Answers []*Answers // of each format, also of those that the model lacks
	Data    []*DataResult
}

// DataResult is what a run has of one model on one data set.
type DataResult struct {
	*Data
	Rows []*Measured // for each example, one of each format that the model can be asked under
}

// Count counts the rows of a format by what became of them.
func (d *DataResult) Count(f Format) (measured, bad, unsure int) {
	for _, r := range d.Rows {
		if r.Format != f.Name {
			continue
		}
		switch r.Status {
		case StatusMeasured:
			measured++
		case StatusBad:
			bad++
		default:
			unsure++
		}
	}
	return measured, bad, unsure
}

// measured are the rows of a format that were measured.
func (d *DataResult) measured(f Format) []*Measured {
	var out []*Measured
	for _, r := range d.Rows {
		if r.Format == f.Name && r.Status == StatusMeasured {
			out = append(out, r)
		}
	}
	return out
}

// Points are what the metrics need of a format's rows.
func (d *DataResult) Points(f Format, unnormalised bool) []Point {
	var out []Point
	for _, r := range d.measured(f) {
		out = append(out, r.point(unnormalised))
	}
	return out
}

// Run asks models about data sets, one model after the other, and writes the run into a folder, which is
// made: each model's rows, the tables in all forms, the figures, and last the manifest.
//
// A model that fails does not end a run of several: the others are asked, tables, figures and manifest are of
// those, the manifest has the failure among its options, and the error, which comes with the results, says so.
//
// Of a run that does not end there is no manifest. What was read is kept in the cache of readings, so that
// the same call goes on from there, and writes the same files as one that was never interrupted, but for
// the seconds in the manifest. A folder that has a manifest of another run is an error.
func Run(ctx context.Context, on Machine, models []string, data []*Data, dir string, o Options) (results []*Result, err error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := folder.CheckModels(models); err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, d := range data {
		if named[d.Name] {
			return nil, fmt.Errorf("two data sets are called %s; give one of the files another name", d.Name)
		}
		named[d.Name] = true
	}
	m, err := newManifest(ctx, models, data, o)
	if err != nil {
		return nil, err
	}
	// What a run finds out about its models is not known before it.
	kinds := []manifest.Kind{manifest.OfCommand, manifest.OfData, manifest.OfOption, manifest.OfSeed}
	claimed, err := folder.Claim(dir, m, kinds, "prompt of ", "answers of ", folder.FailureOf)
	if err != nil {
		return nil, err
	}
	defer func() { claimed.End(err) }()
	var failures []error
	for _, name := range models {
		r, err := runModel(ctx, on, name, data, dir, o)
		if err != nil {
			var failed *modelError
			ofModel := errors.As(err, &failed)
			err = fmt.Errorf("asking %s: %w", name, err)
			if !ofModel || ctx.Err() != nil {
				return nil, err
			}
			failures = append(failures, err)
			m.Options[folder.FailureOf+name] = failed.Error()
			continue
		}
		var rows []*Measured
		for _, d := range r.Data {
			rows = append(rows, d.Rows...)
		}
		if err := folder.WriteRows(filepath.Join(dir, folder.RowsFile(name, rowsEnding)), rows); err != nil {
			return nil, err
		}
		results = append(results, r)
		count(m, r, o)
	}
	failure := folder.Partial(dir, len(models), failures)
	if len(results) == 0 {
		return nil, failure
	}
	// A figure that cannot be drawn is no reason to be without the manifest.
	tabled, err := writeRun(results, o, dir)
	if err != nil && !tabled {
		return nil, fmt.Errorf("writing the run: %w", err)
	}
	if err != nil {
		failure = errors.Join(failure, fmt.Errorf("drawing the run's figures: %w", err))
	}
	m.Seconds = time.Since(m.Started).Seconds()
	return results, errors.Join(failure, m.Save(filepath.Join(dir, folder.ManifestFile)))
}

// modelError is the failure of a model, which is none of the run.
type modelError struct{ error }

func (e *modelError) Unwrap() error { return e.error }

func newManifest(ctx context.Context, models []string, data []*Data, o Options) (*manifest.Manifest, error) {
	m := manifest.New("cuc run", o.Version)
	m.AddCalibration(calibrate.Default()) // of the constraint
	var formats []string
	for _, f := range o.Formats {
		formats = append(formats, f.Name)
	}
	m.Options = map[string]string{
		"models": strings.Join(models, ", "), "answers": strings.Join(formats, ", "), "prompt": string(o.Style), "prompts": o.Prompts.digest(),
		"tau": strconv.FormatFloat(o.Thresholds.Tau, 'g', -1, 64), "delta": strconv.FormatFloat(o.Thresholds.Delta, 'g', -1, 64),
		"normalised": strconv.FormatBool(!o.Unnormalised), "resamples": strconv.Itoa(o.Bootstrap.Resamples),
	}
	m.Seeds = map[string]uint64{"bootstrap": o.Bootstrap.Seed}
	for _, d := range data {
		if err := m.AddData(ctx, d.File, d.Rows); err != nil {
			return nil, err
		}
		m.Options["kind of "+d.Name] = string(d.Kind)
		if len(d.Examples) < d.Rows {
			m.Options["rows of "+d.Name] = strconv.Itoa(len(d.Examples))
			m.Seeds["rows of "+d.Name] = d.Seed
		}
	}
	return m, nil
}

// count adds a model and what became of its rows to the manifest. A row counts once, under the first format.
func count(m *manifest.Manifest, r *Result, o Options) {
	m.AddModel(r.Model)
	name := r.Model.Name
	m.Options["prompt of "+name] = string(r.Style)
	for _, a := range r.Answers {
		m.Options["answers of "+name+", "+a.Format.Name] = a.String()
	}
	for _, d := range r.Data {
		measured, _, _ := d.Count(o.Formats[0])
		c := manifest.Count{Model: name, Data: d.Name, Rows: len(d.Examples), Scored: measured}
		for _, row := range d.Rows {
			if row.Format == o.Formats[0].Name && row.Status != StatusMeasured {
				c.AddBad(row.Line, row.Why)
			}
		}
		m.Counts = append(m.Counts, c)
	}
}

// runModel asks a model. What the model is to blame for is a modelError.
func runModel(ctx context.Context, on Machine, name string, data []*Data, dir string, o Options) (*Result, error) {
	m, err := on.Open(ctx, name)
	if err != nil {
		return nil, &modelError{err}
	}
	defer m.Close()
	r := &Result{Model: m.Info()}
	if err := folder.ClaimModel(dir, r.Model); err != nil {
		return nil, err
	}
	reader := &event.Reader{Model: m, Cache: on.Cache}
	e, err := newElicitor(ctx, reader, *o.Prompts, o.Style, o.Formats)
	if err != nil {
		return nil, &modelError{err}
	}
	r.Style, r.Answers = e.asker.Style, e.answers
	for _, d := range data {
		if on.Progress != nil {
			reader.Progress = func(done, total int) { on.Progress(folder.ModelName(name)+", "+d.Name, done, total) }
		}
		rows, err := e.measure(ctx, d)
		if err != nil {
			return nil, &modelError{err}
		}
		r.Data = append(r.Data, &DataResult{Data: d, Rows: rows})
	}
	return r, nil
}

// Write writes the tables and then the figures of results into a folder.
func Write(results []*Result, o Options, dir string) error {
	_, err := writeRun(results, o, dir)
	return err
}

// writeRun reports whether it came as far as the figures.
func writeRun(results []*Result, o Options, dir string) (tabled bool, err error) {
	if err := o.complete(); err != nil {
		return false, err
	}
	tables, err := Tables(results, o)
	if err != nil {
		return false, err
	}
	if err := folder.Write(dir, tables, nil); err != nil {
		return false, err
	}
	figures, err := Figures(results, o)
	if err != nil {
		return true, err
	}
	return true, folder.WriteFigures(dir, figures)
}

// Asked is what a model is given for an example: the two questions under a format, as texts with special
// tokens by their names, and the tokens of the answers.
type Asked struct {
	Example Example
	Style   Style
	Answers *Answers
	Phi     lm.Input
	NotPhi  lm.Input
}

// Ask returns what a model would be given for the example of a line, without asking it.
func Ask(ctx context.Context, m lm.Model, d *Data, line int, o Options) (*Asked, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	for _, x := range d.Examples {
		if x.Line != line {
			continue
		}
		if x.Bad != "" {
			return nil, fmt.Errorf("%s:%d: %s", d.File, line, x.Bad)
		}
		e, err := newElicitor(ctx, &event.Reader{Model: m}, *o.Prompts, o.Style, o.Formats[:1])
		if err != nil {
			return nil, err
		}
		a := &Asked{Example: x, Style: e.asker.Style, Answers: e.answers[0]}
		if a.Phi, err = e.asker.question(ctx, x.Premises, x.Phi, o.Formats[0]); err != nil {
			return nil, err
		}
		a.NotPhi, err = e.asker.question(ctx, x.Premises, x.NotPhi, o.Formats[0])
		return a, err
	}
	return nil, fmt.Errorf("%s has no example on line %d", d.File, line)
}
