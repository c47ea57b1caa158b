package preference

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/notebooks/published"
)

// shipped are the runs in the folder results.
var shipped = []struct {
	dir, name, file string
	kind            Kind
	models          []modeltest.Reference
}{
	{"noveleval", "NovelEval", "data/noveleval.json", NovelEval, []modeltest.Reference{modeltest.SmolLM, modeltest.Gemma}},
	{"newsroom", "Newsroom", "data/newsroom.json", Newsroom, []modeltest.Reference{modeltest.SmolLM}},
}

// The tables of the results in the repository have what follows from their rows, counted here in another way, and
// the rows have no text of the data.
func TestShippedResults(t *testing.T) {
	for _, run := range shipped {
		t.Run(run.dir, func(t *testing.T) {
			dir := filepath.Join("results", run.dir)
			m, err := manifest.Load(filepath.Join(dir, folder.ManifestFile))
			if err != nil {
				t.Fatal(err)
			}
			if m.Program.Version == "" || strings.Contains(m.Program.Version, "dirty") {
				t.Errorf("the program's version is %q, which nobody can build again", m.Program.Version)
			}
			if len(m.Models) != len(run.models) || len(m.Counts) != len(run.models) {
				t.Fatalf("the manifest has the models %+v", m.Models)
			}
			p, err := DefaultPrompts(Task(m.Options["task"]))
			if err != nil || m.Options["prompts"] != p.digest() {
				t.Errorf("the prompts have changed since the run; %v", err)
			}
			figures := foldertest.Figures(t, dir)
			d, _, err := Read(run.kind, modeltest.Shared(t, run.file), ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := LoadRun(t.Context(), dir, d); err != nil {
				t.Error(err)
			}
			for i, model := range run.models {
				if got := m.Models[i]; got.Name != model.Name || got.Digest != model.SHA256 {
					t.Errorf("model %d of the manifest is %+v", i+1, got)
				}
				path := filepath.Join(dir, folder.RowsFile(model.Name, rowsEnding))
				rows, err := ReadRows(path)
				if err != nil {
					t.Fatal(err)
				}
				if c := m.Counts[i]; c.Rows != len(rows) || c.Scored+c.Bad != len(rows) {
					t.Errorf("%d rows; the manifest has %+v", len(rows), c)
				}
				for quantity, want := range recount(rows) {
					at := slices.IndexFunc(figures, func(f published.Figure) bool {
						return f.Other["in"] == "Table 1, "+run.name && f.Table == "" && f.Model == model.Name && f.Quantity == quantity && f.Other["interval"] == ""
					})
					if at < 0 || math.Abs(figures[at].Value-100*want) > 1e-9 {
						t.Errorf("%s of %s is not %g in the table", quantity, model.Name, 100*want)
					}
				}
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				for _, in := range d.Instances {
					for _, item := range in.Items {
						if len(item.Text) > 20 && strings.Contains(string(text), item.Text[:20]) {
							t.Errorf("the rows have the text of item %s", item.ID)
						}
					}
				}
			}
		})
	}
}

// recount counts the four scores of Table 1 from rows, with maps and all triples, and no code of the measures: a
// tournament has a cycle if and only if three of its items have one.
func recount(rows []*Row) map[string]float64 {
	type key struct {
		instance, first, second string
		question                Question
	}
	first := map[key]bool{} // whether the label names the item that is shown first
	human := map[key]string{}
	var instances []string
	items := map[string][]string{}
	for _, r := range rows {
		if !slices.Contains(instances, r.Instance) {
			instances = append(instances, r.Instance)
		}
		for _, id := range []string{r.First, r.Second} {
			if !slices.Contains(items[r.Instance], id) {
				items[r.Instance] = append(items[r.Instance], id)
			}
		}
		k := key{r.Instance, r.First, r.Second, r.Question}
		first[k], human[k] = r.A.Lo >= r.B.Lo, r.Human
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	add := func(quantity string, hit, of int) {
		if of > 0 {
			sums[quantity] += float64(hit) / float64(of)
			counts[quantity]++
		}
	}
	for _, in := range instances {
		ids := items[in]
		var h, hs, comm, comms, neg, negs int
		for i, a := range ids {
			for j, b := range ids {
				if i == j {
					continue
				}
				here := first[key{in, a, b, Relation}]
				if w := human[key{in, a, b, Relation}]; w == "first" || w == "second" {
					hs++
					if here == (w == "first") {
						h++
					}
				}
				if negs++; here != first[key{in, a, b, Negated}] {
					neg++
				}
				if i < j {
					if comms++; here != first[key{in, b, a, Relation}] {
						comm++
					}
				}
			}
		}
		add("H", h, hs)
		add("s_comm", comm, comms)
		add("s_neg", neg, negs)
		beats := func(i, j int) bool { // the pair is read in the order of the items
			if i < j {
				return first[key{in, ids[i], ids[j], Relation}]
			}
			return !first[key{in, ids[j], ids[i], Relation}]
		}
		var acyclic, subsets int
		for mask := range 1 << len(ids) {
			var of []int
			for i := range ids {
				if mask>>i&1 == 1 {
					of = append(of, i)
				}
			}
			if len(of) != 5 {
				continue
			}
			subsets++
			cycle := false
			for _, i := range of {
				for _, j := range of {
					for _, k := range of {
						cycle = cycle || i != j && j != k && i != k && beats(i, j) && beats(j, k) && beats(k, i)
					}
				}
			}
			if !cycle {
				acyclic++
			}
		}
		add("s_tran(5)", acyclic, subsets)
	}
	out := map[string]float64{}
	for q, s := range sums {
		out[q] = s / counts[q]
	}
	return out
}

// The tables of the results are made again from their rows and the data.
func TestShippedTables(t *testing.T) {
	for _, run := range shipped {
		t.Run(run.dir, func(t *testing.T) {
			d, _, err := Read(run.kind, modeltest.Shared(t, run.file), ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			results, err := LoadRun(context.Background(), filepath.Join("results", run.dir), d)
			if err != nil {
				t.Fatal(err)
			}
			again := t.TempDir()
			if _, err := writeRun(results, RunOptions{}, again); err != nil {
				t.Fatal(err)
			}
			for _, ending := range []string{".txt", ".csv", ".md", ".tex"} {
				want, err := os.ReadFile(filepath.Join("results", run.dir, folder.TablesFile+ending))
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(filepath.Join(again, folder.TablesFile+ending))
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != string(want) {
					t.Errorf("%s differs from what the rows make", folder.TablesFile+ending)
				}
			}
		})
	}
}

// The rows of the chains of thought have the votes of their samples, and a self-agreement is of two votes at least.
func TestShippedCoT(t *testing.T) {
	dir := filepath.Join("results", "newsroom-cot")
	rows, err := ReadRows(filepath.Join(dir, folder.RowsFile(modeltest.SmolLM.Name, rowsEnding)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "samples-smollm2-135m-instruct.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(rows) != 12 || len(lines) != 36 {
		t.Fatalf("%d rows, %d samples", len(rows), len(lines))
	}
	for i, r := range rows {
		of := strings.Join(lines[3*i:3*i+3], "\n")
		want := Votes{A: strings.Count(of, `"answer":"A"`), B: strings.Count(of, `"answer":"B"`), Unparsed: strings.Count(of, `"answer":""`)}
		if r.Votes == nil || *r.Votes != want || (r.Status == StatusJudged) != (want.A+want.B > 0) {
			t.Errorf("row %d has %+v, its samples %+v", i+1, r.Votes, want)
		}
	}
	results, err := LoadRun(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range results[0].answered(0) {
		if !math.IsNaN(a.SelfAgreement) {
			t.Errorf("instance %s has a self-agreement of %g, and no judgement has two votes", a.Instance.ID, a.SelfAgreement)
		}
	}
}
