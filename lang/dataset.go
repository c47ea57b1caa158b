package lang

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// Dataset is a file of rows, and what is measured on each.
type Dataset struct {
	File string // .csv, .tsv, .jsonl or .parquet; relative to the session's folder

	// Schemas are the names of those that each row fills. They share the events that
	// they have in common, and are measured on the same reading.
	Schemas []string

	// Calibrations are all applied to one reading of each event; the session's where
	// there are none.
	Calibrations []calibrate.Calibration

	Multi    bool // keep rows in which a target has several tokens
	Limit    int  // stop after so many rows; 0 for all
	Gradient bool // of the first schema's WMC
}

// Row is one of a dataset's rows with what was measured on it.
type Row struct {
	Line   int
	Values []string // for the holes, in the order of [Holes]

	// Bad says why the row could not be measured, and Multi that it was left out since a
	// target has several tokens. Events and Scores are nil in either case.
	Bad   string
	Multi bool

	Events []RowEvent
	Scores [][]RowScore // a list for each schema with one for each calibration
}

// RowEvent is a token event of a row.
type RowEvent struct {
	Prefix string // as text; "" of prob(…)
	Piece  string // the token's text; "" of prob(…)
	LogP   Interval
	C      []Interval // the calibration's offset (Eq. 4), for each calibration
	EventP []Interval // the event's probability, for each calibration
}

// RowScore is how far a row satisfies a schema under one calibration.
type RowScore struct {
	WMC, Rho   Interval // Rho is NaN where it is undefined: where the formula is always true
	WMC0, Info float64
	CAcc       logic.Verdict
	Gradient   []Interval // ∂WMC/∂p of each of the row's events, if it was asked for
}

// Holes returns the holes of schemas, in the order in which they first occur. The rows of
// a [Dataset] have a value for each. It is an error if a name is no schema's.
func (s *Session) Holes(schemas ...string) ([]string, error) {
	var holes []string
	for _, name := range schemas {
		d, err := s.schema(name)
		if err != nil {
			return nil, err
		}
		for _, h := range d.params {
			if !slices.Contains(holes, h) {
				holes = append(holes, h)
			}
		}
	}
	return holes, nil
}

// schema looks a schema up.
func (s *Session) schema(name string) (*definition, error) {
	d := s.names[name]
	if d != nil && d.params != nil {
		return d, nil
	}
	var schemas []string
	for _, n := range s.order {
		if s.names[n].params != nil {
			schemas = append(schemas, n)
		}
	}
	hint := `; define it first, as in implication(x, a, b) = M(x, a) -> M(x, b)`
	if near := nearest.Name(name, schemas); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	return nil, fmt.Errorf("no schema is called %q%s", name, hint)
}

// Measure measures a dataset and hands over its rows in their order, whether they could be
// measured or not. Rows are read from the model some hundreds at a time, and no more than
// those are held. It returns when the file is at its end, when yield returns an error, which
// is returned, and when ctx is done.
func (s *Session) Measure(ctx context.Context, data Dataset, yield func(*Row) error) error {
	m, err := s.open(data)
	if err != nil {
		return err
	}
	defer m.in.close()
	return m.all(ctx, yield)
}

// Resolve finds the tokens of a dataset's events and hands over its rows in their order, as Measure does, without
// asking the model what it says of them: their events have a prefix and a token and nothing else, and there
// are no scores. A row that Measure would find bad for its text or its tokens is bad here.
func (s *Session) Resolve(ctx context.Context, data Dataset, yield func(*Row) error) error {
	m, err := s.open(data)
	if err != nil {
		return err
	}
	defer m.in.close()
	return m.each(ctx, func(r *pendingRow) error {
		if r.g != nil {
			for _, v := range r.g.vars {
				var e RowEvent
				if v.step != nil {
					e.Prefix, e.Piece = v.step.PrefixText, v.step.Piece
				}
				r.Events = append(r.Events, e)
			}
		}
		return yield(&r.Row)
	})
}

// open opens a dataset's file.
func (s *Session) open(data Dataset) (*measuring, error) {
	path, err := s.abs(data.File, s.opts.Dir)
	if err != nil {
		return nil, err
	}
	holes, err := s.Holes(data.Schemas...)
	if err != nil {
		return nil, err
	}
	in, err := openRows(path, holes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	m, err := s.newMeasuring(&unit{emit: func(Result) error { return nil }}, data, holes, in)
	if err != nil {
		in.close()
		return nil, err
	}
	return m, nil
}

// mostSteps is how many token events Prefetch holds where the session's options do not say.
const mostSteps = 200_000

// Prefetch asks the model for all events of datasets, so that Measure finds them in the
// session's cache: a prefix that occurs in several of them is read once, for all that is
// asked of it. Of more events than [Options].Hold, so many at a time are held. Rows that cannot be measured are passed over.
func (s *Session) Prefetch(ctx context.Context, datasets ...Dataset) error {
	var steps []event.Step
	seen := map[string]bool{}
	var cals []calibrate.Calibration
	hold := cmp.Or(max(s.opts.Hold, 0), mostSteps)
	read := func() error {
		if len(steps) == 0 {
			return nil
		}
		err := s.reader("reading").Prefetch(ctx, steps, cals)
		steps = nil
		clear(seen)
		return err
	}
	for _, data := range datasets {
		m, err := s.open(data)
		if err != nil {
			return err
		}
		cals = m.data.Calibrations
		err = m.each(ctx, func(r *pendingRow) error {
			if r.g == nil {
				return nil
			}
			for _, v := range r.g.vars {
				if v.step == nil {
					continue
				}
				if key := v.step.Key(); !seen[key] {
					seen[key] = true
					steps = append(steps, *v.step)
				}
			}
			if len(steps) < hold {
				return nil
			}
			return read()
		})
		m.in.close()
		if err != nil {
			return err
		}
	}
	return read()
}

const rowBatch = 512 // rows read by the model together

// measuring is a dataset that is being measured.
type measuring struct {
	s        *Session
	u        *unit
	data     Dataset
	schemas  []*definition
	holes    []string
	in       *rows
	batch    []*pendingRow
	rows     int  // taken from the file
	read     bool // the model was asked
	progress func(done, total int)
	total    int
}

// pendingRow is a row that waits for the model.
type pendingRow struct {
	Row
	g *grounded // nil where there is nothing to measure
}

func (s *Session) newMeasuring(u *unit, data Dataset, holes []string, in *rows) (*measuring, error) {
	if len(data.Calibrations) == 0 {
		data.Calibrations = []calibrate.Calibration{s.calibration}
	}
	for _, c := range data.Calibrations {
		if err := c.Validate(); err != nil {
			return nil, err
		}
	}
	if data.Limit == 0 {
		data.Limit = math.MaxInt
	}
	m := &measuring{s: s, u: u, data: data, holes: holes, in: in, total: min(in.total, data.Limit)}
	for _, name := range data.Schemas {
		d, err := s.schema(name)
		if err != nil {
			return nil, err
		}
		// One that no longer holds together fails here and not on every row.
		if err := newExpander(s, d.src).check(d); err != nil {
			return nil, err
		}
		m.schemas = append(m.schemas, d)
	}
	if len(m.schemas) == 0 {
		return nil, errors.New("a dataset needs at least one schema")
	}
	m.progress = s.progress("run " + m.schemas[0].name)
	return m, nil
}

func (m *measuring) all(ctx context.Context, yield func(*Row) error) error {
	err := m.each(ctx, func(r *pendingRow) error {
		if m.batch = append(m.batch, r); len(m.batch) < rowBatch {
			return nil
		}
		return m.measure(ctx, yield)
	})
	if err != nil {
		return err
	}
	return m.measure(ctx, yield)
}

// each takes rows from the file and grounds them.
func (m *measuring) each(ctx context.Context, yield func(*pendingRow) error) error {
	for m.rows < m.data.Limit {
		if err := ctx.Err(); err != nil {
			return stopped(ctx)
		}
		values, line, err := m.in.next()
		if err == io.EOF {
			return nil
		}
		var bad *rowError
		if err != nil && !errors.As(err, &bad) {
			return err
		}
		m.rows++
		r := &pendingRow{Row: Row{Line: line, Values: values}}
		if bad != nil {
			r.Line, r.Bad = bad.line, bad.msg
		} else if err := m.ground(ctx, r); err != nil {
			return err
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// ground writes a row's formulas out and finds their events' tokens.
func (m *measuring) ground(ctx context.Context, r *pendingRow) error {
	holes := make(map[string]value, len(r.Values))
	for i, v := range r.Values {
		if v == "" {
			r.Bad = fmt.Sprintf("%q is empty", m.holes[i])
			return nil
		}
		holes[m.holes[i]] = value{kind: textValue, text: v, data: true}
	}
	var terms []*term
	for _, d := range m.schemas {
		e := newExpander(m.s, d.src)
		v, err := e.body(d, holes, callPath{})
		var t *term
		if err == nil {
			t, err = (&expander{s: m.s, src: d.src, holes: holes, expansion: e.expansion}).asFormula(d.body, v)
		}
		if err != nil {
			r.Bad = message(err)
			return nil
		}
		terms = append(terms, t)
	}
	if needsModel(atomsOf(terms)) {
		// A model that cannot be opened is no row's fault.
		if err := m.s.needModel(ctx, m.u); err != nil {
			return err
		}
	}
	g, err := m.s.ground(ctx, m.u, terms...)
	if err != nil {
		if ctx.Err() != nil {
			return stopped(ctx)
		}
		r.Bad = err.Error()
		return nil
	}
	for _, a := range g.atoms {
		if a.kind == atomEvent && len(a.vars) > 1 && !m.data.Multi {
			r.Multi = true
			return nil
		}
	}
	if m.s.model != nil {
		most := m.s.model.Info().Context
		for _, v := range g.vars {
			if v.step != nil && most > 0 && len(v.step.Prefix) > most {
				r.Bad = (&lm.ContextError{Tokens: len(v.step.Prefix), Context: most}).Error()
				return nil
			}
		}
	}
	r.g = g
	return nil
}

// measure reads the batch's events together, scores its rows and hands them over.
func (m *measuring) measure(ctx context.Context, yield func(*Row) error) error {
	var steps []event.Step
	for _, r := range m.batch {
		if r.g == nil {
			continue
		}
		for _, v := range r.g.vars {
			if v.step != nil {
				steps = append(steps, *v.step)
			}
		}
	}
	done := m.rows - len(m.batch)
	readings := make([][]event.Reading, len(m.data.Calibrations))
	if len(steps) > 0 {
		reader := m.s.reader("")
		reader.Progress = func(read, of int) {
			m.progress(done+len(m.batch)*read/max(of, 1), m.total)
		}
		var err error
		if readings, err = reader.ReadUnder(ctx, steps, m.data.Calibrations); err != nil {
			return err
		}
		m.read = true
	}
	for _, r := range m.batch {
		if r.g != nil {
			n := 0
			for _, v := range r.g.vars {
				if v.step != nil {
					n++
				}
			}
			mine := make([][]event.Reading, len(readings))
			for k, all := range readings {
				mine[k], readings[k] = all[:n], all[n:]
			}
			if err := m.score(ctx, r, mine); err != nil {
				return err
			}
		}
		if err := yield(&r.Row); err != nil {
			return err
		}
	}
	m.batch = m.batch[:0]
	m.progress(m.rows, max(m.total, m.rows))
	return nil
}

// score fills in a row's events and scores; readings has those of its model's events for
// each calibration.
func (m *measuring) score(ctx context.Context, r *pendingRow, readings [][]event.Reading) error {
	g := r.g
	r.Events = make([]RowEvent, len(g.vars))
	r.Scores = make([][]RowScore, len(g.formulas))
	for k := range m.data.Calibrations {
		at := 0
		for i := range g.vars {
			if g.vars[i].step != nil {
				g.vars[i].reading = readings[k][at]
				at++
			}
		}
		g.given()
		for i, v := range g.vars {
			e := &r.Events[i]
			if v.step != nil {
				e.Prefix, e.Piece = v.step.PrefixText, v.step.Piece
			}
			e.LogP = v.reading.LogP
			e.C = append(e.C, v.reading.C)
			e.EventP = append(e.EventP, v.reading.EventP)
		}
		for i, f := range g.formulas {
			x, err := m.s.measure(ctx, g, f)
			if err != nil {
				return err
			}
			score := RowScore{WMC: x.WMC, Rho: x.Rho, WMC0: x.WMC0, Info: x.Info, CAcc: x.CAcc}
			if i == 0 && m.data.Gradient {
				if score.Gradient, err = x.gradient(ctx); err != nil {
					return err
				}
			}
			r.Scores[i] = append(r.Scores[i], score)
		}
	}
	return nil
}
