package cuc

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/notebooks/published"
	"github.com/modellog/modellog/plots"
)

// The results in the repository are of one run on the two small models: the tables have what follows from the
// rows, and the rows have no text of the data.
func TestShippedResults(t *testing.T) {
	m, err := manifest.Load(filepath.Join("results", folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if m.Program.Version == "" || strings.Contains(m.Program.Version, "dirty") {
		t.Errorf("the program's version is %q, which nobody can build again", m.Program.Version)
	}
	for _, want := range modeltest.All {
		if !slices.ContainsFunc(m.Models, func(x manifest.Model) bool { return x.Name == want.Name && x.Digest == want.SHA256 }) {
			t.Errorf("the manifest has no model %s of digest %s", want.Name, want.SHA256)
		}
	}
	prompts := DefaultPrompts()
	if m.Options["prompts"] != prompts.digest() {
		t.Error("the prompts have changed since the run")
	}
	figures := foldertest.Figures(t, "results")
	for _, c := range m.Counts {
		rows, err := ReadRows(filepath.Join("results", folder.RowsFile(c.Model, rowsEnding)))
		if err != nil {
			t.Fatal(err)
		}
		var points []Point
		n := 0
		for _, r := range rows {
			if r.Data != c.Data || r.Format != Formats[0].Name {
				continue
			}
			if n++; r.Status == StatusMeasured {
				points = append(points, r.point(false))
			}
		}
		if n != c.Rows || len(points) != c.Scored || n != c.Scored+c.Bad {
			t.Errorf("%s, %s: %d rows, %d measured; the manifest has %+v", c.Model, c.Data, n, len(points), c)
		}
		x, err := Measure(points, DefaultThresholds(), bootstrap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for quantity, want := range map[string]bootstrap.Interval{"Acc": x.Acc, "Coverage": x.Coverage, "Acc_cov": x.AccCov, "E[c]": x.Commitment, "E[v_neg]": x.Violation, "%v_neg>0": x.Violated, "ECE_cov": x.ECECov} {
			for _, interval := range []string{"", "95 % bootstrap"} {
				at := slices.IndexFunc(figures, func(f published.Figure) bool {
					return strings.HasPrefix(f.Other["in"], "Table 1") && f.Table == "" && f.Model == c.Model && f.Subset == c.Data && f.Quantity == quantity && f.Other["interval"] == interval
				})
				switch {
				case math.IsNaN(want.Value):
					if at >= 0 {
						t.Errorf("%s, %s: %s is undefined, and in the table", c.Model, c.Data, quantity)
					}
				case at < 0:
					t.Errorf("%s, %s: %s %s is missing", c.Model, c.Data, quantity, interval)
				case interval == "" && math.Abs(figures[at].Value-want.Value) > 1e-9,
					interval != "" && (math.Abs(figures[at].Value-want.Value) > 1e-9 || math.Abs(figures[at].Lo-want.Lo) > 1e-9 || math.Abs(figures[at].Hi-want.Hi) > 1e-9):
					t.Errorf("%s, %s: %s %s is %+v, and from the rows %+v", c.Model, c.Data, quantity, interval, figures[at], want)
				}
			}
		}
	}
	if len(m.Counts) != 4 {
		t.Errorf("%d counts", len(m.Counts))
	}
	for _, set := range []struct {
		kind Kind
		name string
	}{{FOLIO, "data/folio-validation.jsonl"}, {LogiQA, "data/logiqa2nli-test.jsonl"}} {
		t.Run(string(set.kind), func(t *testing.T) {
			d, err := Read(set.kind, modeltest.Shared(t, set.name))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range modeltest.All {
				text, err := os.ReadFile(filepath.Join("results", folder.RowsFile(r.Name, rowsEnding)))
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range d.Examples {
					if len(x.Phi) > 20 && strings.Contains(string(text), x.Phi) {
						t.Errorf("the rows have the text of line %d", x.Line)
					}
				}
			}
		})
	}
}

// shipped are results made of the rows in the repository, under as many names as there are.
func shipped(t testing.TB, names ...string) []*Result {
	t.Helper()
	var out []*Result
	for i, name := range names {
		of := modeltest.All[i%len(modeltest.All)]
		rows, err := ReadRows(filepath.Join("results", folder.RowsFile(of.Name, rowsEnding)))
		if err != nil {
			t.Fatal(err)
		}
		r := &Result{Model: lm.Info{Name: name, Parameters: uint64(1e6 * (i + 1))}, Style: PlainStyle, Answers: []*Answers{{Format: Formats[0], Yes: []Variant{{Text: " YES", Token: 1, Piece: " YES"}}, No: []Variant{{Text: " NO", Token: 2, Piece: " NO"}}}}}
		for _, d := range []*Data{{Name: "FOLIO", Kind: FOLIO}, {Name: "LogiQA 2.0", Kind: LogiQA}} {
			x := &DataResult{Data: d}
			for _, row := range rows {
				if row.Data == d.Name {
					x.Rows = append(x.Rows, row)
				}
			}
			if len(x.Rows) == 0 {
				t.Fatalf("%s has no rows of %s", name, d.Name)
			}
			r.Data = append(r.Data, x)
		}
		out = append(out, r)
	}
	return out
}

// However many models there are, the tables have each, and the figures are as many as it takes.
func TestManyModels(t *testing.T) {
	for n, want := range map[int]map[string]int{
		8:  {"frontier-folio": 1, "reliability-folio": 1, "coverage-folio": 1, "coverage-logiqa-2.0": 1},
		9:  {"frontier-folio": 1, "reliability-folio": 2, "coverage-folio": 2, "coverage-logiqa-2.0": 2},
		41: {"frontier-folio": 2, "reliability-folio": 6, "reliability-logiqa-2.0": 6},
	} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf("model-%02d", i+1))
		}
		dir := t.TempDir()
		// Gemma's rows alone, which have answers, so that each has a curve.
		results := shipped(t, names...)
		for i, r := range results {
			r.Data = results[i-i%2].Data
		}
		if err := Write(results, Options{Bootstrap: bootstrap.Options{Resamples: 2}}, dir); err != nil {
			t.Fatalf("%d models: %v", n, err)
		}
		drawings, err := os.ReadDir(filepath.Join(dir, folder.FiguresDir))
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]int{}
		for _, f := range drawings {
			kind, _, _ := strings.Cut(strings.TrimSuffix(f.Name(), ".svg"), "_")
			have[kind]++
		}
		for kind, parts := range want {
			if have[kind] != parts {
				t.Errorf("%d models: %d figures %s, want %d", n, have[kind], kind, parts)
			}
		}
		text, err := os.ReadFile(filepath.Join(dir, folder.TablesFile+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if !strings.Contains(string(text), ","+name+",") {
				t.Errorf("%d models: the tables have no %s", n, name)
			}
		}
	}
}

// What is split has each model once, in their order, and no two figures of one name.
func TestSplit(t *testing.T) {
	any, err := publishedFrontier()
	if err != nil {
		t.Fatal(err)
	}
	figure, err := plots.NewFrontier("", any)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		models := make([]int, rapid.IntRange(0, 50).Draw(t, "models"))
		for i := range models {
			models[i] = i
		}
		most := rapid.IntRange(1, 10).Draw(t, "most")
		var drawn []int
		titles := map[string]bool{}
		figures, err := split("kind", "title", "data", models, most, func(title string, part []int) (*plots.Figure, error) {
			if len(part) == 0 || len(part) > most || titles[title] {
				t.Fatalf("%d models on %s", len(part), title)
			}
			titles[title] = true
			drawn = append(drawn, part...)
			return figure, nil
		})
		names := map[string]bool{}
		for _, f := range figures {
			names[f.Name] = true
		}
		if err != nil || !slices.Equal(drawn, models) || len(names) != len(titles) || (len(models)-1)/most+1 < len(names) {
			t.Fatalf("%v, %v, %v", drawn, names, err)
		}
	})
}

// tableOf finds a table by how its title begins.
func tableOf(t testing.TB, tables []*table.Table, number, caption string) *table.Table {
	t.Helper()
	for _, x := range tables {
		if x.Number == number && strings.HasPrefix(x.Caption, caption) {
			return x
		}
	}
	return nil
}

// The differences of Table 6 are within a family, by whatever name its models are opened, from one size to the
// next, on any data; those of Table 1 and the published rows are of FOLIO by its kind and not by its name.
func TestScale(t *testing.T) {
	names := func(results []*Result, o Options, number string) []string {
		tables, err := Tables(results, o)
		if err != nil {
			t.Fatal(err)
		}
		x := tableOf(t, tables, number, "scale")
		if x == nil {
			return nil
		}
		var out []string
		for _, g := range x.Groups {
			for _, r := range g.Rows {
				out = append(out, r.Model)
			}
		}
		return out
	}
	o := Options{Bootstrap: bootstrap.Options{Resamples: 20}}
	others := []string{"Qwen2.5-1.5B", "Qwen2.5-3B", "3B − 1.5B"}
	results := shipped(t, "gguf:/models/SmolLM2-360M.gguf", "smollm2:135m", "gguf:other.gguf", "gguf:/models/SmolLM2-1.7B-Q8_0.gguf")
	results[0].Model.Parameters, results[1].Model.Parameters, results[3].Model.Parameters = 360e6, 135e6, 1700e6
	want := []string{"SmolLM2-360M.gguf", "smollm2:135m", "gguf:other.gguf", "SmolLM2-1.7B-Q8_0.gguf", "SmolLM2-360M.gguf − smollm2:135m", "SmolLM2-1.7B-Q8_0.gguf − SmolLM2-360M.gguf"}
	if got := names(results, o, "Table 6"); !slices.Equal(got, slices.Concat(want, others)) {
		t.Errorf("%q", got)
	}
	if got := names(results, o, "Table 6, LogiQA 2.0"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// The differences are those of the figures.
	tables, err := Tables(results, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, table.CSV, table.Style{}, tableOf(t, tables, "Table 6", "scale")); err != nil {
		t.Fatal(err)
	}
	figures := map[string]float64{}
	read, _, err := published.Read(&b, "tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range read {
		figures[f.Model+" "+f.Quantity] = f.Value
	}
	for _, q := range []string{"E[c]", "E[v_neg]", "Coverage", "Acc"} {
		large, small, d := figures["SmolLM2-360M.gguf "+q], figures["smollm2:135m "+q], figures["SmolLM2-360M.gguf − smollm2:135m "+q]
		if large == small || math.Abs(large-small-d) > 1e-12 {
			t.Errorf("%s: %g − %g is %g", q, large, small, d)
		}
	}
	// The same weights at another quantisation, a size that is not told, and other families make no difference.
	results[1].Model.Parameters, results[3].Model.Parameters = 360e6, 0
	if got := names(results, o, "Table 6"); !slices.Equal(got, slices.Concat(want[:4], others)) {
		t.Errorf("%q", got)
	}
	if got := names(results, o, "Table 6, LogiQA 2.0"); got != nil {
		t.Errorf("%q", got)
	}
	// One's own file that is called as the paper's.
	for _, r := range results {
		r.Data = r.Data[:1]
		own := *r.Data[0].Data
		own.Kind = Plain
		r.Data[0].Data = &own
	}
	if tables, err = Tables(results, o); err != nil || tableOf(t, tables, "Table 1", "") != nil {
		t.Errorf("published rows stand below one's own data: %v", err)
	}
	if x := tableOf(t, tables, "Table 1, FOLIO", ""); x == nil || len(x.Groups) != 2 {
		t.Errorf("%+v", x)
	}
}
