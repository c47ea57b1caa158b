// Package notebooks holds the tests of the notebooks in this folder, which ship
// with their outputs: what they must have in common, that executing them anew gives
// the shipped outputs, and that they work in a browser.
package notebooks

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxBytes is the largest that a notebook may be: what is larger is slow to open
// and is not shown by the sites that show notebooks.
const maxBytes = 1 << 20

// text is a text of a notebook, which may be stored as a list of lines.
type text string

func (t *text) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err == nil {
		*t = text(strings.Join(lines, ""))
		return nil
	}
	var whole string
	err := json.Unmarshal(data, &whole)
	*t = text(whole)
	return err
}

// bundle is an output in its forms, by MIME type.
type bundle map[string]text

func (b *bundle) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*b = bundle{}
	for mime, value := range raw {
		var t text
		if err := json.Unmarshal(value, &t); err != nil {
			t = text(value) // a form that is JSON itself
		}
		(*b)[mime] = t
	}
	return nil
}

// output is an output of a cell.
type output struct {
	Type           string `json:"output_type"`
	ExecutionCount *int   `json:"execution_count"`
	Data           bundle
	Name           string // of a stream
	Text           text
	EName          string `json:"ename"`
	EValue         string `json:"evalue"`
	Traceback      []string
}

// shown is what a front-end shows of a stream, or of an error.
func (o output) shown() string {
	return string(o.Text) + ansi.ReplaceAllString(strings.Join(o.Traceback, "\n"), "")
}

type cell struct {
	ID             string
	Type           string `json:"cell_type"`
	Source         text
	ExecutionCount *int `json:"execution_count"`
	Outputs        []output
	Metadata       map[string]json.RawMessage
}

// code reports whether the cell is one that is executed.
func (c cell) code() bool { return c.Type == "code" && strings.TrimSpace(string(c.Source)) != "" }

// fails reports whether the cell is one that shows an error, for which Jupyter has
// a tag: those after it run nevertheless.
func (c cell) fails() bool {
	var tags []string
	if err := json.Unmarshal(c.Metadata["tags"], &tags); err != nil {
		return false
	}
	return slices.Contains(tags, "raises-exception")
}

type notebook struct {
	Name     string `json:"-"`
	Cells    []cell
	Metadata struct {
		Kernelspec struct{ Name string }
		Language   struct{ Name, Version string } `json:"language_info"`
	}
	Format int `json:"nbformat"`
	Minor  int `json:"nbformat_minor"`
}

func read(t testing.TB, path string) notebook {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := notebook{Name: strings.TrimSuffix(filepath.Base(path), ".ipynb")}
	if err := json.Unmarshal(data, &n); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

// shipped are the notebooks of this folder.
func shipped(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) == 0 {
		t.Fatal("there are no notebooks")
	}
	return paths
}

// TestShipped checks the notebooks as they are, without executing them.
func TestShipped(t *testing.T) {
	for _, path := range shipped(t) {
		t.Run(strings.TrimSuffix(path, ".ipynb"), func(t *testing.T) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > maxBytes {
				t.Errorf("%d kB; at most %d are wanted", info.Size()>>10, maxBytes>>10)
			}
			for _, fault := range faults(read(t, path)) {
				t.Error(fault)
			}
		})
	}
}

// faults lists what a notebook must not be shipped with.
func faults(n notebook) (faults []string) {
	add := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	if n.Format != 4 || n.Minor < 5 {
		add("the format is %d.%d; 4.5 has the cells' ids", n.Format, n.Minor)
	}
	if n.Metadata.Kernelspec.Name != "modellog" || n.Metadata.Language.Name != "modellog" {
		add("its kernel is %q and its language %q", n.Metadata.Kernelspec.Name, n.Metadata.Language.Name)
	}
	if n.Metadata.Language.Version != "" {
		add("it names version %s of the kernel, which changes with each commit", n.Metadata.Language.Version)
	}
	if len(n.Cells) == 0 || n.Cells[0].Type != "markdown" || !strings.HasPrefix(string(n.Cells[0].Source), "# ") {
		add("it does not start with a title")
	}
	count, outputs := 0, 0
	ids := map[string]bool{}
	for i, c := range n.Cells {
		at := fmt.Sprintf("cell %d (%s)", i+1, c.ID)
		if c.ID == "" || ids[c.ID] {
			add("%s: its id is missing, or another's", at)
		}
		ids[c.ID] = true
		if c.Type == "code" && !c.code() {
			add("%s is empty", at)
		}
		if !c.code() {
			continue
		}
		count++
		if c.ExecutionCount == nil || *c.ExecutionCount != count {
			add("%s: its execution count is not %d; run make notebooks NB=%s", at, count, n.Name)
		}
		if c.Metadata["execution"] != nil {
			add("%s: it has the times of its execution", at)
		}
		outputs += len(c.Outputs)
		failed := false
		for _, o := range c.Outputs {
			failed = failed || o.Type == "error"
			if o.Type == "error" && !c.fails() {
				add("%s: %s: %s", at, o.EName, o.EValue)
			}
			if o.Type == "stream" && o.Name == "stderr" {
				add("%s: there is a warning: %s", at, o.Text)
			}
			if o.ExecutionCount != nil && *o.ExecutionCount != count {
				add("%s: the execution count of an output is %d", at, *o.ExecutionCount)
			}
			if o.Data != nil && strings.TrimSpace(string(o.Data["text/plain"])) == "" && o.Data["text/html"] == "" {
				add("%s: an output has neither plain text nor HTML", at)
			}
			if svg, ok := o.Data["image/svg+xml"]; ok {
				if _, err := readSVG(string(svg)); err != nil {
					add("%s: its figure: %v", at, err)
				}
			}
			for _, svg := range drawn.FindAllString(string(o.Data["text/html"]), -1) {
				if _, err := readSVG(svg); err != nil {
					add("%s: the figure in its HTML: %v", at, err)
				}
			}
		}
		if c.fails() && !failed {
			add("%s: it is tagged as one that fails, and does not", at)
		}
	}
	if count == 0 || outputs == 0 {
		add("it has no outputs; run make notebooks NB=%s", n.Name)
	}
	return faults
}

// drawing is what two runs of a figure have in common.
type drawing struct {
	ViewBox  []float64
	Elements map[string]int // how many there are of each name
	Colours  map[string]bool
	Labels   []string // what is written as text
	Opaque   bool     // whether the first thing drawn is a filled background
}

// readSVG reads a figure, which must be well-formed.
func readSVG(source string) (drawing, error) {
	d := drawing{Elements: map[string]int{}, Colours: map[string]bool{}}
	decoder := xml.NewDecoder(strings.NewReader(source))
	inText := false
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return d, fmt.Errorf("it is not XML: %w", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			if len(d.Elements) == 0 && x.Name.Local != "svg" {
				return d, fmt.Errorf("its root is <%s>", x.Name.Local)
			}
			shape := x.Name.Local == "path" || x.Name.Local == "rect"
			first := shape && d.Elements["path"]+d.Elements["rect"] == 0
			d.Elements[x.Name.Local]++
			inText = x.Name.Local == "text"
			for _, a := range x.Attr {
				switch a.Name.Local {
				case "viewBox":
					if x.Name.Local != "svg" {
						break // a marker has one, too
					}
					for f := range strings.FieldsSeq(a.Value) {
						var v float64
						if _, err := fmt.Sscan(f, &v); err != nil {
							return d, fmt.Errorf("its viewBox is %q", a.Value)
						}
						d.ViewBox = append(d.ViewBox, v)
					}
				case "style", "fill", "stroke":
					for _, c := range colour.FindAllString(a.Value, -1) {
						d.Colours[strings.ToUpper(c)] = true
					}
					if first && colour.MatchString(a.Value) {
						d.Opaque = true
					}
				}
			}
		case xml.CharData:
			if label := strings.TrimSpace(string(x)); inText && label != "" {
				d.Labels = append(d.Labels, label)
			}
		case xml.EndElement:
			inText = false
		}
	}
	switch {
	case d.Elements["svg"] != 1:
		return d, errors.New("it is not one SVG")
	case len(d.ViewBox) != 4 || d.ViewBox[2] <= 0 || d.ViewBox[3] <= 0:
		return d, fmt.Errorf("its viewBox is %v", d.ViewBox)
	case d.Elements["path"]+d.Elements["rect"]+d.Elements["line"]+d.Elements["circle"] < 2:
		return d, errors.New("nothing is drawn")
	case !d.Opaque:
		return d, errors.New("it has no background, so that it cannot be read in a dark theme")
	}
	return d, nil
}
