package probct_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lang"
)

// Of two results the higher CAcc is marked, and no published figure is: the paper's best are among
// rows that are not all here. What the paper has two figures for is said below the table.
func TestTables(t *testing.T) {
	dir := t.TempDir()
	from := coins(t, 200)
	for name, text := range map[string]string{
		"imply.csv":   "forward_implication.csv",
		"other.csv":   "transitivity.csv",
		"suite.logic": "suite.logic",
	} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "suite.logic" {
			b = []byte("forward_implication(p, q) = prob(p) -> prob(q)\ntransitivity(p, q) = prob(p) & prob(q) -> prob(0.4)\n")
		}
		if err := os.WriteFile(filepath.Join(dir, text), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var results []*probct.Result
	for i, limit := range []int{40, 0} {
		r, err := probct.Measure(t.Context(), lang.New(lang.Options{}), load(t, dir), probct.Options{Limit: limit}, func(*probct.Measured) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		r.Model.Name = string('a' + rune(i))
		results = append(results, r)
	}
	tables, err := probct.Tables(results)
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for _, x := range tables {
		var b bytes.Buffer
		if err := table.Write(&b, table.Markdown, table.Style{}, x); err != nil {
			t.Fatal(err)
		}
		text[x.Number] = b.String()
	}

	measured, published, ok := strings.Cut(text["Tables 2 and 10"], "published: ModelLog Table 2")
	if !ok || !strings.Contains(published, "81.0") {
		t.Fatalf("there are no published figures:\n%s", text["Tables 2 and 10"])
	}
	if strings.Contains(published, "**") {
		t.Errorf("a published figure is marked:\n%s", published)
	}
	for col, sub := range results[0].Subsets {
		cacc := [2]float64{sub.Under[0].CAcc.Lo, results[1].Subsets[col].Under[0].CAcc.Lo}
		if cacc[0] == cacc[1] {
			t.Fatalf("both have CAcc %g in %s, which tells nothing of the mark", cacc[0], sub.Name)
		}
		for i, r := range results {
			want := fmt.Sprintf("%.1f", 100*cacc[i])
			cell := ""
			for line := range strings.Lines(measured) {
				if strings.HasPrefix(line, "| "+r.Model.Name+" ") {
					cell = strings.Split(line, "|")[col+2]
				}
			}
			if !strings.Contains(cell, want) || strings.Contains(cell, "**") != (cacc[i] > cacc[1-i]) {
				t.Errorf("%s of %s is %q, of %g and %g", sub.Name, r.Model.Name, cell, cacc[0], cacc[1])
			}
		}
	}

	for number, note := range map[string]string{"Tables 3 and 6": "75.4, 57.8, 44.1, 38.3", "Table 7": "77.6, 64.6, 42.6, 36.0"} {
		if !strings.Contains(text[number], note) {
			t.Errorf("%s does not say that the paper has other figures elsewhere:\n%s", number, text[number])
		}
	}
}
