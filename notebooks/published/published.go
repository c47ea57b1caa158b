// Package published has the figures that the papers' tables print, so that one's
// own can be shown beside them, and reads files of the same form.
//
// The form is tidy: a CSV file with one number a row. Columns are found by their
// names: value, and as far as a file has them table, model, family, size, subset,
// quantity, unit, std, and lo and hi, between which a value lies that is not
// known exactly (value is then their middle). Any other column says something more
// of what the number is of.
package published

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// About says what a number is of. What is not known or does not apply is empty.
type About struct {
	Table    string // where it is published, such as "ModelLog Table 2"; "" for one's own
	Model    string
	Family   string
	Size     float64 // the model's number of parameters; 0 where it is not known
	Subset   string  // the task or data set
	Quantity string  // such as "CAcc"
	Unit     string  // such as "%", where 81.0 means 0.81
	// Other has the columns beyond these, by their names: the setting, an
	// example's prefix. Columns that are empty are not in it.
	Other map[string]string
}

// Figure is a number and what it is of.
type Figure struct {
	About
	Value float64
	// Lo and Hi are the ends of the interval that the number lies in, or of the one that Other has the
	// kind of under "interval", such as a bootstrap's, which need not contain it. Both are
	// Value where it is known exactly.
	Lo, Hi float64
	Std    float64 // the standard deviation, 0 for none
	// Printed and PrintedStd are the value and the deviation with the file's
	// own digits: "81.0", and "" where no deviation is told. PrintedLo and PrintedHi are the
	// interval's ends, "" where the number is known exactly.
	Printed, PrintedStd, PrintedLo, PrintedHi string
	Line                                      int // of the file, from 1
}

//go:embed *.csv
var files embed.FS

// load reads all the embedded files: the tables in the order of the files' names.
var load = sync.OnceValues(func() (t struct {
	names   []string
	figures map[string][]Figure
}, err error) {
	t.figures = make(map[string][]Figure)
	paths, err := fs.Glob(files, "*.csv")
	if err != nil {
		return t, err
	}
	for _, p := range paths {
		b, err := files.ReadFile(p)
		if err != nil {
			return t, err
		}
		figures, _, err := Read(bytes.NewReader(b), p)
		if err != nil {
			return t, err
		}
		if len(figures) == 0 {
			return t, fmt.Errorf("%s has no rows", p)
		}
		name := figures[0].Table
		t.names = append(t.names, name)
		t.figures[name] = figures
	}
	return t, nil
})

// Tables returns the names of the tables, such as "ModelLog Table 2", paper by
// paper in the order of their numbers.
func Tables() ([]string, error) {
	t, err := load()
	return slices.Clone(t.names), err
}

// Table returns the figures of a table by its name, row by row as they are printed.
func Table(name string) ([]Figure, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	figures, ok := t.figures[name]
	if !ok {
		return nil, fmt.Errorf("there is no published table %q; there are %s", name, strings.Join(t.names, ", "))
	}
	figures = slices.Clone(figures)
	for i := range figures {
		figures[i].Other = maps.Clone(figures[i].Other)
	}
	return figures, nil
}

// Bounds of what Read takes.
const (
	maxBytes = 4 << 20
	maxRows  = 20_000
)

// Read reads a file of figures. Its name is used in messages, and where it ends in
// .tsv the fields are separated by tabs. A byte-order mark is skipped. Read also
// returns the names of all columns, in the file's order.
//
// It is an error, with the line, if a row has another number of fields than the
// header, has no value, or has something in a column of numbers that is not a
// finite number.
func Read(r io.Reader, name string) (figures []Figure, columns []string, err error) {
	bounded := &io.LimitedReader{R: r, N: maxBytes + 1}
	b := bufio.NewReader(bounded)
	if mark, _ := b.Peek(3); string(mark) == "\xEF\xBB\xBF" {
		b.Discard(3)
	}
	c := csv.NewReader(b)
	c.FieldsPerRecord = -1
	if strings.EqualFold(path.Ext(name), ".tsv") {
		c.Comma = '\t'
	}
	head, err := c.Read()
	if err == io.EOF {
		return nil, nil, fmt.Errorf("%s is empty and has no line of columns", name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s has no line of columns: %w", name, err)
	}
	for i := range head {
		head[i] = strings.TrimSpace(head[i])
		if slices.Contains(head[:i], head[i]) {
			return nil, nil, fmt.Errorf("%s has two columns %q", name, head[i])
		}
	}
	if !slices.Contains(head, "value") {
		return nil, nil, fmt.Errorf(`the columns of %s are %q; it needs "value"`, name, head)
	}
	for {
		record, err := c.Read()
		if bounded.N == 0 {
			return nil, nil, fmt.Errorf("%s has more than %d MB", name, maxBytes>>20)
		}
		if err == io.EOF {
			return figures, head, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := c.FieldPos(0)
		if len(figures) == maxRows {
			return nil, nil, fmt.Errorf("%s has more than %d rows", name, maxRows)
		}
		f, err := figure(head, record)
		if err != nil {
			return nil, nil, fmt.Errorf("%s, line %d %w", name, line, err)
		}
		f.Line = line
		figures = append(figures, f)
	}
}

// figure reads a row.
func figure(head, record []string) (f Figure, err error) {
	if len(record) != len(head) {
		return f, fmt.Errorf("has %d fields for %d columns", len(record), len(head))
	}
	texts := map[string]*string{
		"table": &f.Table, "model": &f.Model, "family": &f.Family, "subset": &f.Subset, "quantity": &f.Quantity,
		"unit": &f.Unit, "value": &f.Printed, "std": &f.PrintedStd, "lo": &f.PrintedLo, "hi": &f.PrintedHi,
	}
	var size string
	texts["size"] = &size
	for i, h := range head {
		v := strings.TrimSpace(record[i])
		if to := texts[h]; to != nil {
			*to = v
		} else if v != "" {
			if f.Other == nil {
				f.Other = make(map[string]string)
			}
			f.Other[h] = v
		}
	}
	if f.Printed == "" {
		return f, errors.New("has no value")
	}
	f.Lo, f.Hi = math.Inf(-1), math.Inf(1)
	for _, n := range []struct {
		column, text string
		to           *float64
	}{{"size", size, &f.Size}, {"value", f.Printed, &f.Value}, {"std", f.PrintedStd, &f.Std}, {"lo", f.PrintedLo, &f.Lo}, {"hi", f.PrintedHi, &f.Hi}} {
		if n.text == "" {
			continue
		}
		if *n.to, err = strconv.ParseFloat(n.text, 64); err != nil || math.IsNaN(*n.to) || math.IsInf(*n.to, 0) {
			return f, fmt.Errorf("does not have a number in the column %q but %q", n.column, n.text)
		}
	}
	switch {
	case f.Size < 0:
		return f, errors.New("has a size below 0")
	case f.Std < 0:
		return f, errors.New("has a standard deviation below 0")
	case (f.PrintedLo == "") != (f.PrintedHi == ""):
		return f, errors.New("has one end of an interval, and not both lo and hi")
	case f.PrintedLo == "":
		f.Lo, f.Hi = f.Value, f.Value
	case (f.Lo > f.Value || f.Value > f.Hi) && (f.Other["interval"] == "" || f.Lo > f.Hi):
		// An interval that says of what kind it is, such as a bootstrap's, need not contain its estimate.
		return f, fmt.Errorf("has the value %s, which does not lie between lo, %s, and hi, %s", f.Printed, f.PrintedLo, f.PrintedHi)
	}
	return f, nil
}
