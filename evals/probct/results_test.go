package probct_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/internal/modeltest"
)

// The results in the repository are those of the suite in the repository, on the two small models, and
// all their files are of one run.
func TestShippedResults(t *testing.T) {
	m, err := manifest.Load(filepath.Join("results", folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(m.Program.Version, "dirty") || m.Program.Version == "" {
		t.Errorf("the program's version is %q, which nobody can build again", m.Program.Version)
	}

	// The data are the suite as it is.
	now := manifest.New("", "")
	suite := load(t, "suite")
	for _, s := range suite.Subsets {
		if err := now.AddData(t.Context(), s.File, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := now.AddData(t.Context(), suite.Logic, 0); err != nil {
		t.Fatal(err)
	}
	if len(m.Data) != len(now.Data) {
		t.Fatalf("the manifest has %d files and the suite %d", len(m.Data), len(now.Data))
	}
	for i, d := range now.Data {
		if m.Data[i].SHA256 != d.SHA256 {
			t.Errorf("%s has changed since the run; run it again as results/README.md says", filepath.Base(d.Path))
		}
	}

	// The models are those whose digests the tests know.
	for _, want := range []modeltest.Reference{modeltest.Gemma, modeltest.SmolLM} {
		if !slices.ContainsFunc(m.Models, func(x manifest.Model) bool { return x.Name == want.Name && x.Digest == want.SHA256 }) {
			t.Errorf("the manifest has no model %s of digest %s", want.Name, want.SHA256)
		}
	}
	if len(m.Calibrations) != len(probct.Calibrations()) {
		t.Errorf("%d calibrations, of %d", len(m.Calibrations), len(probct.Calibrations()))
	}

	// tables.csv has what was counted, and CAcc of each subset and model in each of the tables.
	figures := foldertest.Figures(t, "results")
	value := func(in, model, subset, quantity string) float64 {
		t.Helper()
		for _, x := range figures {
			if x.Other["in"] == in && x.Model == model && x.Subset == subset && x.Quantity == quantity {
				return x.Value
			}
		}
		t.Errorf("tables.csv has no %s of %s, %s, in %q", quantity, model, subset, in)
		return -1
	}
	for _, c := range m.Counts {
		subset := probct.Title(c.Data)
		for quantity, n := range map[string]int{"filtered": c.Rows, "single-token": c.Scored, "multi-token": c.MultiToken, "bad": c.Bad} {
			if got := value("Tables 1 and 4", c.Model, subset, quantity); got != float64(n) {
				t.Errorf("%s, %s: %g %s, and %d in the manifest", c.Model, subset, got, quantity, n)
			}
		}
		if c.Rows != c.Scored+c.MultiToken+c.Bad {
			t.Errorf("%s, %s: %d rows are not %d measured, %d of several tokens and %d bad", c.Model, subset, c.Rows, c.Scored, c.MultiToken, c.Bad)
		}
		for _, in := range []string{"Tables 2 and 10", "Table 9", "Table 11", "Table 12", ""} {
			if got := value(in, c.Model, subset, "CAcc"); got < 0 || got > 100 {
				t.Errorf("%q: CAcc of %s, %s, is %g %%", in, c.Model, subset, got)
			}
		}
	}
	for _, file := range []string{"tables.txt", "tables.md", "tables.tex", "figures/histograms.svg", "figures/scaling.svg"} {
		if b, err := os.ReadFile(filepath.Join("results", file)); err != nil || len(b) == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}

	// The comparison in the README has these figures.
	readme, err := os.ReadFile(filepath.Join("results", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range []modeltest.Reference{modeltest.Gemma, modeltest.SmolLM} {
		line := regexp.MustCompile(`(?m)^\| measured: ` + "`" + regexp.QuoteMeta(ref.Name) + "`" + `.*$`).Find(readme)
		if line == nil {
			t.Errorf("README.md has no line of %s", ref.Name)
		}
		for _, s := range suite.Subsets {
			want := strconv.FormatFloat(value("Tables 2 and 10", ref.Name, s.Title, "CAcc"), 'f', 1, 64)
			if !strings.Contains(string(line), " "+want+" ") {
				t.Errorf("README.md, %s: %s of %s is not in %s", ref.Name, want, s.Title, line)
			}
		}
	}
}
