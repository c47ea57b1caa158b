package probct

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/parquet-go/parquet-go"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/parquetfile"
	"github.com/modellog/modellog/lang"
)

// Measured is a row of a run's file of rows, which is JSON lines or Parquet.
type Measured struct {
	Subset string   `json:"subset" parquet:"subset,dict"`
	Line   int      `json:"line" parquet:"line"` // of the subset's file
	Status string   `json:"status" parquet:"status,dict"`
	Why    string   `json:"why,omitempty" parquet:"why,optional"` // a bad row is one
	Values []string `json:"values" parquet:"values,list"`         // for the schema's holes

	Events  []MeasuredEvent `json:"events,omitempty" parquet:"events,list"`
	Results []MeasuredUnder `json:"results,omitempty" parquet:"results,list"`
}

// What became of a row.
const (
	StatusMeasured = "measured"
	StatusMulti    = "multi-token" // a target has several tokens, and those were not kept
	StatusBad      = "bad"
)

// MeasuredEvent is a token event of a row. LogP is the natural logarithm of the token's raw
// probability.
type MeasuredEvent struct {
	Prefix string  `json:"prefix" parquet:"prefix"`
	Token  string  `json:"token" parquet:"token"`
	LogP   Numbers `json:"log_p" parquet:"log_p,list"`
}

// MeasuredUnder is what a row comes to under one calibration: of each event the offset C and the
// probability (Eq. 4) and ∂WMC/∂p, of the constraint WMC, ρ and the verdict, and of the
// conjunction of the row's true statements WMC and the verdict.
type MeasuredUnder struct {
	Method       string    `json:"method" parquet:"method,dict"`
	P            float64   `json:"p,omitempty" parquet:"p"` // 0 where the method has no nucleus
	C            []Numbers `json:"c" parquet:"c,list"`
	EventP       []Numbers `json:"event_p" parquet:"event_p,list"`
	Gradient     []Numbers `json:"grad" parquet:"grad,list"`
	WMC          Numbers   `json:"wmc" parquet:"wmc,list"`
	Rho          Numbers   `json:"rho" parquet:"rho,list"` // none where it is undefined
	Verdict      string    `json:"verdict" parquet:"verdict,dict"`
	FactsWMC     Numbers   `json:"facts_wmc,omitempty" parquet:"facts_wmc,list"`
	FactsVerdict string    `json:"facts_verdict,omitempty" parquet:"facts_verdict,optional,dict"`
}

// Numbers is a number that may be known only to lie in an interval: one number, two for the
// ends of an interval, or none where it is undefined. In JSON it is x, [lo, hi] or null.
type Numbers []float64

func numbers(x lang.Interval) Numbers {
	switch {
	case math.IsNaN(x.Lo) || math.IsNaN(x.Hi):
		return nil
	case x.Lo == x.Hi:
		return Numbers{x.Lo}
	}
	return Numbers{x.Lo, x.Hi}
}

// Interval returns the ends, which are NaN where the number is undefined.
func (n Numbers) Interval() lang.Interval {
	switch len(n) {
	case 1:
		return lang.Interval{Lo: n[0], Hi: n[0]}
	case 2:
		return lang.Interval{Lo: n[0], Hi: n[1]}
	}
	return lang.Interval{Lo: math.NaN(), Hi: math.NaN()}
}

// MarshalJSON writes infinite ends, which JSON has not, as ±1e999.
func (n Numbers) MarshalJSON() ([]byte, error) {
	if len(n) == 0 {
		return []byte("null"), nil
	}
	var parts []string
	for _, x := range n {
		switch {
		case math.IsInf(x, 1):
			parts = append(parts, "1e999")
		case math.IsInf(x, -1):
			parts = append(parts, "-1e999")
		default:
			b, err := json.Marshal(x)
			if err != nil {
				return nil, err
			}
			parts = append(parts, string(b))
		}
	}
	if len(parts) == 1 {
		return []byte(parts[0]), nil
	}
	return []byte("[" + strings.Join(parts, ",") + "]"), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Numbers) UnmarshalJSON(b []byte) error {
	var one json.Number
	var all []json.Number
	*n = nil
	if json.Unmarshal(b, &one) == nil {
		if one == "" { // null
			return nil
		}
		all = []json.Number{one}
	} else if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	if len(all) > 2 {
		return fmt.Errorf("%d numbers where there can be one or the two ends of an interval", len(all))
	}
	for _, text := range all {
		x, err := text.Float64()
		if err != nil && !math.IsInf(x, 0) {
			return err
		}
		*n = append(*n, x)
	}
	return nil
}

func newMeasured(subset string, row *lang.Row, cals []calibrate.Calibration) *Measured {
	m := &Measured{Subset: subset, Line: row.Line, Status: StatusMeasured, Why: row.Bad, Values: append([]string{}, row.Values...)}
	switch {
	case row.Bad != "":
		m.Status = StatusBad
		return m
	case row.Multi:
		m.Status = StatusMulti
		return m
	}
	for _, e := range row.Events {
		m.Events = append(m.Events, MeasuredEvent{Prefix: e.Prefix, Token: e.Piece, LogP: numbers(e.LogP)})
	}
	for k, cal := range cals {
		x := row.Scores[0][k]
		u := MeasuredUnder{Method: cal.Method.String(), WMC: numbers(x.WMC), Rho: numbers(x.Rho), Verdict: x.CAcc.String()}
		if cal.Method.UsesNucleus() {
			u.P = cal.P
		}
		for i, e := range row.Events {
			u.C = append(u.C, numbers(e.C[k]))
			u.EventP = append(u.EventP, numbers(e.EventP[k]))
			u.Gradient = append(u.Gradient, numbers(x.Gradient[i]))
		}
		if len(row.Scores) > 1 {
			u.FactsWMC, u.FactsVerdict = numbers(row.Scores[1][k].WMC), row.Scores[1][k].CAcc.String()
		}
		m.Results = append(m.Results, u)
	}
	return m
}

// Under returns what a row comes to under a calibration; nil if it was not measured under it.
func (m *Measured) Under(cal calibrate.Calibration) *MeasuredUnder {
	for i := range m.Results {
		u := &m.Results[i]
		if u.Method == cal.Method.String() && (u.P == cal.P || !cal.Method.UsesNucleus()) {
			return u
		}
	}
	return nil
}

// RowWriter writes a file of rows. What it writes stands under the file's name only when Close
// has been called.
type RowWriter struct {
	file    *renameio.PendingFile
	buffer  *bufio.Writer
	parquet *parquet.GenericWriter[Measured]
}

// CreateRows begins a file of rows, of the form that its name's ending says: .jsonl or .parquet.
func CreateRows(path string) (*RowWriter, error) {
	ext := filepath.Ext(path)
	if ext != rowsJSONL && ext != rowsParquet {
		return nil, fmt.Errorf("writing rows to %s: a file of rows ends in %s or %s", path, rowsJSONL, rowsParquet)
	}
	f, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return nil, fmt.Errorf("writing rows: %w", err)
	}
	w := &RowWriter{file: f, buffer: bufio.NewWriterSize(f, 1<<18)}
	if ext == rowsParquet {
		w.parquet = parquet.NewGenericWriter[Measured](w.buffer, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(10_000))
	}
	return w, nil
}

// Write adds a row.
func (w *RowWriter) Write(m *Measured) error {
	if w.parquet != nil {
		_, err := w.parquet.Write([]Measured{*m})
		return err
	}
	b, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	w.buffer.Write(b)
	return w.buffer.WriteByte('\n')
}

// Close finishes the file and gives it its name.
func (w *RowWriter) Close() error {
	defer w.Abandon()
	var err error
	if w.parquet != nil {
		err = w.parquet.Close()
	}
	if err = errors.Join(err, w.buffer.Flush()); err == nil {
		err = w.file.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	return nil
}

// Abandon drops an unfinished file.
func (w *RowWriter) Abandon() { _ = w.file.Cleanup() }

// maxRowBytes bounds a line of a file of rows.
const maxRowBytes = 16 << 20

// ReadRows hands over the rows of a file that a run wrote.
func ReadRows(path string, yield func(*Measured) error) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading a run's rows: %w", err)
	}
	defer f.Close()
	if filepath.Ext(path) == rowsParquet {
		return readParquetRows(f, yield)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxRowBytes)
	n := 0
	for lines.Scan() {
		n++
		var m Measured
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("reading a run's rows: %s:%d: %w", path, n, err)
		}
		if err := m.check(); err != nil {
			return fmt.Errorf("reading a run's rows: %s:%d: %w", path, n, err)
		}
		if err := yield(&m); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("reading a run's rows: %s:%d: %w", path, n+1, err)
	}
	return nil
}

func readParquetRows(f *os.File, yield func(*Measured) error) (err error) {
	// The library panics on some files of other columns.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("reading a run's rows: %s is damaged, or has no rows of a run (%v)", f.Name(), p)
		}
	}()
	file, err := parquetfile.Open(f)
	if err != nil {
		return fmt.Errorf("reading a run's rows: %s: %w", f.Name(), err)
	}
	r := parquet.NewGenericReader[Measured](file)
	defer r.Close()
	for n := 1; ; {
		rows := make([]Measured, 64)
		k, err := r.Read(rows)
		for i := range rows[:k] {
			if bad := rows[i].check(); bad != nil {
				return fmt.Errorf("reading a run's rows: %s, row %d: %w", f.Name(), n, bad)
			}
			n++
			if err := yield(&rows[i]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a run's rows: %s: %w", f.Name(), err)
		}
	}
}

// check makes sure that what belongs together is as long as it must be.
func (m *Measured) check() error {
	for _, u := range m.Results {
		for _, list := range [][]Numbers{u.C, u.EventP, u.Gradient} {
			if len(list) != len(m.Events) {
				return fmt.Errorf("%d numbers for %d events", len(list), len(m.Events))
			}
		}
	}
	return nil
}
