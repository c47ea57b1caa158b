package cuc

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/regular"
)

// Example is an example of a data set. One that cannot be asked has Bad, and nothing else but its line and, if the
// fault lies in something else, its conclusion.
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

// Read reads a data set. A file that is not of the kind at all is an error with the line, and so is one of more
// than 256 MiB, 16,777,216 lines or 1,048,576 rows; an example that cannot be asked (a malformed line, an unknown label, a text that
// is too long or has a character that no text has, a conclusion that the rules do not negate) is kept with
// its reason. UTF-8's byte-order mark and line ends of Windows do no harm.
func Read(kind Kind, path string) (*Data, error) {
	base := filepath.Base(path)
	ext := strings.ToLower(filepath.Ext(path))
	if name := strings.TrimSuffix(base, filepath.Ext(base)); kind == Plain && (name == "" || len(name) > maxNameBytes || checkText("name", name) != nil || strings.Contains(name, "\n")) {
		return nil, fmt.Errorf("reading examples: %q: the data set is called like the file without its ending, which takes from 1 to %d bytes of text; rename the file", path, maxNameBytes)
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading examples: %w", err)
	}
	defer f.Close()
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
	lines, err := newLineReader(r)
	if err != nil {
		return nil, err
	}
	var out []Example
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		text := bytes.TrimSpace(l.text)
		if len(text) == 0 && !l.long {
			continue
		}
		if len(out) == maxRows {
			return nil, fmt.Errorf("line %d: there are more than %d examples; split the file", l.number, maxRows)
		}
		var e Example
		if l.long {
			err = errLongLine
		} else {
			e, err = read(text)
		}
		out = append(out, e.checked(l.number, err))
	}
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
	case len(e.Premises)+len(e.Phi)+len(e.NotPhi) > maxTextBytes:
		err = fmt.Errorf("the texts of the row are longer than %d MiB", maxTextBytes>>20)
	default:
		err = errors.Join(checkText("premises", e.Premises), checkText("conclusion", e.Phi), checkText("negated conclusion", e.NotPhi))
	}
	if err != nil {
		bad := Example{Line: line, Bad: err.Error()}
		if len(e.Phi) <= maxTextBytes && checkText("conclusion", e.Phi) == nil {
			bad.Phi = e.Phi
		}
		return bad
	}
	return e
}

// checkText refuses what no text has, and a prompt should not: bytes that are no UTF-8, half a surrogate pair and other
// characters that were lost (which JSON's decoder turns into U+FFFD), and control characters.
func checkText(what, s string) error {
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			return fmt.Errorf("the %s has at byte %d something that is no character of UTF-8, or U+FFFD in its place; mend the text", what, i+1)
		case unicode.IsControl(r) && r != '\n':
			return fmt.Errorf("the %s has at byte %d the control character U+%04X; take it out", what, i+1, r)
		}
	}
	return nil
}

// decode reads a JSON object.
func decode(line []byte, to any) error {
	if !utf8.Valid(line) {
		return errors.New("the line is no valid UTF-8; convert the file")
	}
	err := json.Unmarshal(line, to)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("the line is a JSON %s, and not an object", wrong.Value)
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
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
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
	lines, err := newLineReader(r)
	if err != nil {
		return nil, err
	}
	rows := &tableReader{lines: lines, comma: byte(comma)}
	text, number, why, err := rows.row()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty; its first line names the columns premises, phi, not_phi and label")
	}
	if err != nil {
		return nil, err
	}
	var header []string
	if why == nil {
		header, why = fields(text, comma)
	}
	if why != nil {
		return nil, fmt.Errorf("line %d, the header: %w", number, why)
	}
	column := map[string]int{}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, ok := column[name]; ok && (name == "premises" || name == "phi" || name == "not_phi" || name == "label") {
			return nil, fmt.Errorf("line %d names the column %q twice", number, name)
		}
		column[name] = i
	}
	for _, name := range []string{"premises", "phi", "label"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("line %d has no column %q; the columns are premises, phi, not_phi and label", number, name)
		}
	}
	var out []Example
	for {
		text, number, why, err := rows.row()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(out) == maxRows {
			return nil, fmt.Errorf("line %d: there are more than %d examples; split the file", number, maxRows)
		}
		var row []string
		if why == nil {
			row, why = fields(text, comma)
		}
		if why == nil && len(row) != len(header) {
			why = fmt.Errorf("the row has %d fields and the header %d", len(row), len(header))
		}
		if why != nil {
			out = append(out, Example{}.checked(number, why))
			continue
		}
		notPhi := ""
		if i, ok := column["not_phi"]; ok {
			notPhi = row[i]
		}
		e, err := plain(strings.Split(row[column["premises"]], "\n"), row[column["phi"]], notPhi, row[column["label"]])
		out = append(out, e.checked(number, err))
	}
}

// fields are those of one row.
func fields(text []byte, comma rune) ([]string, error) {
	if bytes.IndexByte(text, '"') < 0 { // most rows, and many times as fast
		return strings.Split(strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), string(comma)), nil
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = comma
	row, err := r.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, parse.Err // its line is of the row and not of the file
	}
	return row, err
}
