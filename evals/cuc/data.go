package cuc

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Example is an example of a data set. One that cannot be asked has Bad, and nothing else but its line.
type Example struct {
	Line     int    // of the file, from 1
	Premises string // each on a line of its own
	Phi      string // φ, the conclusion
	NotPhi   string // ¬φ
	Rule     Rule   // by which ¬φ was made; empty where the data have it
	Label    Label
	Bad      string // why it cannot be asked
}

// Kind is a form of data.
type Kind string

// The kinds of data.
const (
	FOLIO  Kind = "folio"  // FOLIO v0.0, JSON lines
	LogiQA Kind = "logiqa" // LogiQA 2.0 as natural language inference, JSON lines
	Plain  Kind = "plain"  // CSV, TSV or JSON lines with premises, phi, not_phi and label
)

// Data is a data set.
type Data struct {
	Name     string // "FOLIO", "LogiQA 2.0", or the file's name without its ending
	Kind     Kind
	File     string
	Rows     int       // in the file, bad ones too
	Examples []Example // in the file's order, bad ones too
	Seed     uint64    // with which they were drawn; meaningful where there are fewer examples than rows
}

const (
	maxLineBytes = 4 << 20
	maxRows      = 1 << 20
)

// Read reads a data set. A file that is not of the kind at all is an error with the line; an example
// that cannot be asked (a malformed line, an unknown label, a conclusion that the rules do not negate)
// is kept with its reason. Byte-order marks and line ends of Windows do no harm.
func Read(kind Kind, path string) (*Data, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading examples: %w", err)
	}
	defer f.Close()
	base := filepath.Base(path)
	ext := strings.ToLower(filepath.Ext(path))
	d := &Data{Name: strings.TrimSuffix(base, filepath.Ext(base)), Kind: kind, File: path}
	switch kind {
	case FOLIO:
		d.Name = "FOLIO"
		d.Examples, err = readLines(f, readFOLIO)
	case LogiQA:
		d.Name = "LogiQA 2.0"
		d.Examples, err = readLines(f, readLogiQA)
	case Plain:
		switch ext {
		case ".csv":
			d.Examples, err = readTable(f, ',')
		case ".tsv":
			d.Examples, err = readTable(f, '\t')
		case ".jsonl", ".ndjson":
			d.Examples, err = readLines(f, readPlain)
		default:
			err = fmt.Errorf("a file of examples ends in .csv, .tsv or .jsonl")
		}
	default:
		err = fmt.Errorf("%q is no kind of data", kind)
	}
	if err != nil {
		return nil, fmt.Errorf("reading examples: %s: %w", path, err)
	}
	d.Rows = len(d.Examples)
	if !slices.ContainsFunc(d.Examples, func(e Example) bool { return e.Bad == "" }) {
		why := ""
		if d.Rows > 0 {
			why = fmt.Sprintf("; line %d: %s", d.Examples[0].Line, d.Examples[0].Bad)
		}
		return nil, fmt.Errorf("reading examples: %s has no row that can be asked, of %d%s", path, d.Rows, why)
	}
	return d, nil
}

// Draw leaves n of the rows, drawn with a seed without replacement and kept in the file's order. All are
// left where n is 0 or there are no more.
func (d *Data) Draw(n int, seed uint64) {
	if n <= 0 || n >= len(d.Examples) {
		return
	}
	at := rand.New(rand.NewPCG(seed, 0)).Perm(len(d.Examples))[:n]
	slices.Sort(at)
	drawn := make([]Example, n)
	for i, k := range at {
		drawn[i] = d.Examples[k]
	}
	d.Examples, d.Seed = drawn, seed
}

// readLines reads JSON lines, empty ones left out.
func readLines(r io.Reader, read func([]byte) (Example, error)) ([]Example, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLineBytes)
	var out []Example
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(out) == maxRows {
			return nil, fmt.Errorf("line %d: there are more than %d examples", n, maxRows)
		}
		e, err := read(line)
		out = append(out, e.checked(n, err))
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d bytes", n+1, maxLineBytes)
	} else if err != nil {
		return nil, err
	}
	return out, nil
}

// checked puts the line into an example, and its fault where there is one.
func (e Example) checked(line int, err error) Example {
	e.Line = line
	switch {
	case err != nil:
	case e.Phi == "":
		err = errors.New("the conclusion is empty")
	case e.NotPhi == "":
		err = errors.New("the negated conclusion is empty")
	case e.NotPhi == e.Phi:
		err = errors.New("the negated conclusion is the conclusion")
	case e.Premises == "":
		err = errors.New("there are no premises")
	case !utf8.ValidString(e.Premises + e.Phi + e.NotPhi):
		err = errors.New("the text is no valid UTF-8; convert it")
	}
	if err != nil {
		return Example{Line: line, Bad: err.Error()}
	}
	return e
}

// decode reads a JSON object.
func decode(line []byte, to any) error {
	err := json.Unmarshal(line, to)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return fmt.Errorf("%q is a JSON %s where text is needed", strings.ToLower(wrong.Field[strings.LastIndex(wrong.Field, ".")+1:]), wrong.Value)
	}
	return fmt.Errorf("the line is no JSON object: %w", err)
}

// texts is a text, or a list of texts that stand on lines of their own.
type texts []string

func (t *texts) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = nil
		if one != "" {
			*t = texts{one}
		}
		return nil
	}
	var all []string
	if err := json.Unmarshal(b, &all); err != nil {
		return &json.UnmarshalTypeError{Value: "value", Field: "premises"}
	}
	*t = all
	return nil
}

// lines joins texts, each trimmed and on a line of its own.
func (t texts) lines() string {
	var out []string
	for _, s := range t {
		if s = oneLine(s); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n")
}

// oneLine makes white space within a text single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func readFOLIO(line []byte) (Example, error) {
	var row struct {
		Premises   texts
		Conclusion *string
		Formula    string `json:"conclusion-FOL"`
		Label      string
	}
	if err := decode(line, &row); err != nil {
		return Example{}, err
	}
	if row.Conclusion == nil || row.Premises == nil {
		return Example{}, errors.New(`the row has no "premises" or no "conclusion", as FOLIO's have`)
	}
	label, err := parseLabel(row.Label, map[string]Label{"true": LabelTrue, "false": LabelFalse, "uncertain": LabelUncertain, "unknown": LabelUncertain})
	if err != nil {
		return Example{}, err
	}
	e := Example{Premises: row.Premises.lines(), Phi: oneLine(*row.Conclusion), Label: label}
	e.NotPhi, e.Rule, err = NegateFOLIO(e.Phi, row.Formula)
	return e, err
}

func readLogiQA(line []byte) (Example, error) {
	var row struct {
		Major      texts `json:"major_premise"`
		Minor      texts `json:"minor_premise"`
		Conclusion *string
		Label      string
	}
	if err := decode(line, &row); err != nil {
		return Example{}, err
	}
	if row.Conclusion == nil || row.Major == nil && row.Minor == nil {
		return Example{}, errors.New(`the row has no "major_premise" and "minor_premise" or no "conclusion", as LogiQA's have`)
	}
	label, err := parseLabel(row.Label, map[string]Label{"entailed": LabelTrue, "not entailed": LabelNotTrue})
	if err != nil {
		return Example{}, err
	}
	e := Example{Premises: append(row.Major, row.Minor...).lines(), Phi: oneLine(*row.Conclusion), Label: label}
	e.NotPhi, e.Rule, err = Negate(e.Phi)
	return e, err
}

// labels are those that a file of one's own may have.
var labels = map[string]Label{
	"true": LabelTrue, "false": LabelFalse, "uncertain": LabelUncertain, "unknown": LabelUncertain,
	"entailed": LabelTrue, "refuted": LabelFalse, "contradicted": LabelFalse, "not entailed": LabelNotTrue, "not true": LabelNotTrue,
}

func parseLabel(text string, known map[string]Label) (Label, error) {
	if l, ok := known[strings.ToLower(strings.TrimSpace(text))]; ok {
		return l, nil
	}
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	return "", fmt.Errorf("the label %q is not known; the labels are %s", text, strings.Join(names, ", "))
}

func readPlain(line []byte) (Example, error) {
	var row struct {
		Premises texts
		Phi      string
		NotPhi   string `json:"not_phi"`
		Label    string
	}
	if err := decode(line, &row); err != nil {
		return Example{}, err
	}
	return plain(row.Premises, row.Phi, row.NotPhi, row.Label)
}

// plain is an example of a file of one's own. Where ¬φ is left out the rules make it.
func plain(premises texts, phi, notPhi, label string) (Example, error) {
	l, err := parseLabel(label, labels)
	if err != nil {
		return Example{}, err
	}
	e := Example{Premises: premises.lines(), Phi: oneLine(phi), NotPhi: oneLine(notPhi), Label: l}
	if e.NotPhi == "" && e.Phi != "" {
		e.NotPhi, e.Rule, err = Negate(e.Phi)
	}
	return e, err
}

// readTable reads CSV with a header. Premises stand on the lines of one field.
func readTable(r io.Reader, comma rune) ([]Example, error) {
	b := bufio.NewReader(r)
	if mark, _ := b.Peek(3); string(mark) == "\xef\xbb\xbf" {
		b.Discard(3)
	}
	rows := csv.NewReader(b)
	rows.Comma = comma
	rows.FieldsPerRecord = -1
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header: %w", err)
	}
	column := map[string]int{}
	for i, name := range header {
		column[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for _, name := range []string{"premises", "phi", "label"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("line 1 has no column %q; the columns are premises, phi, not_phi and label", name)
		}
	}
	var out []Example
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, err // names the line
		}
		if len(out) == maxRows {
			return nil, fmt.Errorf("there are more than %d examples", maxRows)
		}
		line, _ := rows.FieldPos(0)
		if len(row) != len(header) {
			out = append(out, Example{}.checked(line, fmt.Errorf("the row has %d fields and the header %d", len(row), len(header))))
			continue
		}
		notPhi := ""
		if i, ok := column["not_phi"]; ok {
			notPhi = row[i]
		}
		e, err := plain(strings.Split(row[column["premises"]], "\n"), row[column["phi"]], notPhi, row[column["label"]])
		out = append(out, e.checked(line, err))
	}
}
