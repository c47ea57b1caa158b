package cuc

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/notebooks/published"
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
	f, err := os.Open(filepath.Join("results", folder.TablesFile+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	figures, _, err := published.Read(f, "tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Counts {
		rows, err := ReadRows(filepath.Join("results", folder.RowsFile(c.Model, rowsEnding)))
		if err != nil {
			t.Fatal(err)
		}
		var points []Point
		n := 0
		for _, r := range rows {
			if r.Data != c.Data {
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
					interval != "" && (math.Abs(figures[at].Lo-want.Lo) > 1e-9 || math.Abs(figures[at].Hi-want.Hi) > 1e-9):
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
