package preference

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
)

// unclosed is a model of all tests, which a run must not close.
type unclosed struct{ *gguf.Model }

func (unclosed) Close() error { return nil }

func testMachine(t testing.TB, progress func(string, int, int)) Machine {
	return Machine{Progress: progress, Open: func(_ context.Context, name string) (lm.Model, error) {
		for _, r := range modeltest.All {
			if r.Name == name {
				return unclosed{engine.Open(t, r)}, nil
			}
		}
		return nil, fmt.Errorf("there is no model %q", name)
	}}
}

// plainData reads instances.
func plainData(t testing.TB, text string) *Dataset {
	t.Helper()
	d, _, err := Read(Plain, write(t, "own.jsonl", text), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ownData are instances of our own writing, one of which is bad.
func ownData(t testing.TB) *Dataset {
	t.Helper()
	return plainData(t, `{"id": "fruit", "items": [{"id": "a", "text": "Quince jelly", "score": 2}, {"id": "b", "text": "Medlar jam", "score": 1}]}
{"id": "one", "items": ["alone"]}
{"id": "boats", "source": "Boats for a river.", "items": [{"id": "p", "text": "Punt", "score": 3}, {"id": "q", "text": "Raft", "score": 3}, {"id": "r", "text": "Canoe", "score": 1}]}
{"id": "hats", "items": [{"id": "x", "text": "Bowler"}, {"id": "y", "text": "Fez"}]}
`)
}

// killedRun is set in the process that TestKilled starts and kills: the run's folder.
const killedRun = "MODELLOG_TEST_KILLED_PREFERENCE"

// A run that is killed at random moments and started again writes, byte for byte, what one writes that is left alone.
func TestKilled(t *testing.T) {
	if dir := os.Getenv(killedRun); dir != "" {
		o := RunOptions{Ask: Ask{Prompts: prompts(t, General)}, Version: "test"}
		if _, err := Run(t.Context(), testMachine(t, nil), []string{modeltest.SmolLM.Name}, manyData(t), dir, o); err != nil {
			t.Fatal(err)
		}
		return
	}
	modeltest.SmolLM.Path(t)
	files := foldertest.Killed(t, func(_, out string) string { return killedRun + "=" + out })
	if rows := files[folder.RowsFile(modeltest.SmolLM.Name, rowsEnding)]; bytes.Count(rows, []byte("\n")) != 5*12 {
		t.Errorf("%d rows", bytes.Count(rows, []byte("\n")))
	}
}

// manyData are instances of our own writing, enough to be killed among.
func manyData(t testing.TB) *Dataset {
	t.Helper()
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, `{"id": "%d", "source": "Street %d has three houses.", "items": [{"id": "a", "text": "A barn", "score": 1}, {"id": "b", "text": "A mill", "score": 2}, {"id": "c", "text": "House %d"}]}`+"\n", i, i, i)
	}
	return plainData(t, text.String())
}

// A run that is broken off between instances, and gone on with, writes byte for byte what one writes that was not;
// so does one that was killed within a line.
func TestRunResume(t *testing.T) {
	o := RunOptions{Ask: Ask{Prompts: prompts(t, General)}, Version: "test"}
	smol := modeltest.SmolLM.Name
	whole, broken := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	data := ownData(t)
	run := func(ctx context.Context, dir string, o RunOptions, progress func(string, int, int)) ([]*Result, error) {
		return Run(ctx, testMachine(t, progress), []string{smol}, data, dir, o)
	}
	last := 0
	results, err := run(t.Context(), whole, o, func(_ string, done, total int) {
		if last = done; total != 4+1+12+4 {
			t.Errorf("%d judgements in all", total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if n := r.Count(); n != (RowCounts{Judged: 20, Bad: 1}) || last != 21 || len(r.Rows) != 21 || len(r.Answered) != 1 || len(r.Answered[0]) != 3 || r.Read == 0 || r.Read >= r.Sent {
		t.Errorf("%+v, %d rows, %d reported; %d tokens of %d read", n, len(r.Rows), last, r.Read, r.Sent)
	}

	part := filepath.Join(broken, folder.RowsFile(smol, rowsEnding)+partEnding)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := run(ctx, broken, o, func(_ string, done, _ int) {
		if done == 5 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(kept, []byte("\n")); n != 3 {
		t.Errorf("%d lines are kept of a heading and two instances", n)
	}
	if _, err := os.Stat(filepath.Join(broken, folder.ManifestFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that did not end has a manifest: %v", err)
	}
	if err := os.WriteFile(part, append(kept, `{"instance":"boats","rows":[{"inst`...), 0o644); err != nil {
		t.Fatal(err)
	}
	other := o
	other.Cut = 5
	if _, err := run(t.Context(), broken, other, nil); err == nil || !strings.Contains(err.Error(), "interrupted run with other settings") {
		t.Errorf("another run goes on with it: %v", err)
	}
	for _, rows := range []string{`null,null,null,null`, strings.Repeat(`{"instance":"i","first":"a","second":"b","question":"relation","status":"judged"},`, 3) + `{}`} {
		lines := bytes.SplitAfterN(kept, []byte("\n"), 3)
		damaged := fmt.Sprintf("%s{\"instance\":%q,\"rows\":[%s]}\n%s", lines[0], data.Instances[0].ID, rows, lines[2])
		if err := os.WriteFile(part, []byte(damaged), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t.Context(), broken, o, nil); err == nil || !strings.Contains(err.Error(), "line 2: it is not of instance") {
			t.Errorf("rows that no run writes: %v", err)
		}
	}
	if err := os.WriteFile(part, append(kept, `{"instance":"boats","rows":[{"inst`...), 0o644); err != nil {
		t.Fatal(err)
	}
	first := -1
	if _, err := run(t.Context(), broken, o, func(_ string, done, _ int) {
		if first < 0 {
			first = done
		}
	}); err != nil {
		t.Fatal(err)
	}
	if first != 4 {
		t.Errorf("it went on from judgement %d; the first instance has 4", first)
	}
	a, b := foldertest.Files(t, whole), foldertest.Files(t, broken)
	if !maps.EqualFunc(a, b, bytes.Equal) {
		for name := range a {
			if !bytes.Equal(a[name], b[name]) {
				t.Errorf("%s differs", name)
			}
		}
		t.Errorf("%d files and %d", len(a), len(b))
	}

	// The rows are read back, have no text of the data, and make the judgements that the run had.
	rows, err := ReadRows(filepath.Join(whole, folder.RowsFile(smol, rowsEnding)))
	if err != nil || len(rows) != 21 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for name, text := range a {
		for _, s := range []string{"Quince", "Punt", "Boats for", "Bowler"} {
			if bytes.Contains(text, []byte(s)) {
				t.Errorf("%s has text of the data", name)
			}
		}
	}
	again, err := Collect(data.Instances[2], rows)
	if err != nil || again[0].Relation.At(2, 0) != r.Answered[0][1].Relation.At(2, 0) || again[0].Relation.Count() != 6 {
		t.Errorf("%v", err)
	}

	if _, err := Collect(data.Instances[2], append(rows, rows[len(rows)-5])); rows[len(rows)-5].Instance != "boats" || err == nil || !strings.Contains(err.Error(), "two rows judge") {
		t.Errorf("a row that is there twice: %v", err)
	}

	m, err := manifest.Load(filepath.Join(whole, folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Counts[0]; c.Rows != 21 || c.Scored != 20 || c.Bad != 1 || c.Reasons[0].Line != 2 || !strings.Contains(c.Reasons[0].Why, "1 items") {
		t.Errorf("%+v", c)
	}
	if m.Options["task"] != "general" || m.Options["labels of "+smol] != `A = "A" " A", B = "B" " B"` || !strings.Contains(m.Options["reading of "+smol], fmt.Sprintf("%d tokens, of which %d were read", r.Sent, r.Read)) {
		t.Errorf("%v", m.Options)
	}

	// Another run does not write over it; the same may.
	if _, err := run(t.Context(), whole, other, nil); err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("a run with texts cut: %v", err)
	}
	if !maps.EqualFunc(a, foldertest.Files(t, whole), bytes.Equal) {
		t.Error("it has written over the run")
	}
}

// onePass is a model that is asked nothing.
type onePass struct{ lm.Model }

func (onePass) Generate(context.Context, lm.Request) (lm.Response, error) {
	return lm.Response{}, errors.New("it was asked again")
}

func (m onePass) Input(ctx context.Context, r lm.Request) (lm.Input, error) {
	return m.Model.(lm.Generator).Input(ctx, r)
}

// A run of two models that ends in the second, or when its tables are written, has not lost the first one's answers.
func TestRunKeepsModels(t *testing.T) {
	o := RunOptions{
		Ask:    Ask{Prompts: sayPrompts(t), NoNegated: true, CoT: &Sampling{Samples: 1, Temperature: 0.7, MaxTokens: 4, Seed: 3}},
		Choice: Choice{Instances: 1, First: true}, Version: "test",
	}
	data, smol := ownData(t), modeltest.SmolLM.Name
	dir := filepath.Join(t.TempDir(), "run")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	open := testMachine(t, nil).Open
	_, err := Run(ctx, Machine{Open: func(ctx context.Context, name string) (lm.Model, error) {
		if name == "second" {
			cancel()
			return nil, ctx.Err()
		}
		return open(ctx, name)
	}}, []string{smol, "second"}, data, dir, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	before := foldertest.Files(t, dir)["samples-"+strings.TrimPrefix(folder.RowsFile(smol, rowsEnding), "rows-")]
	again := Machine{Open: func(ctx context.Context, name string) (lm.Model, error) {
		if name == "second" {
			return nil, errors.New("there is no second")
		}
		m, err := open(ctx, name)
		return onePass{m}, err
	}}
	results, err := Run(t.Context(), again, []string{smol, "second"}, data, dir, o)
	if len(results) != 1 || len(results[0].Samples) != 2 || err == nil || strings.Contains(err.Error(), "asked again") {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if after := foldertest.Files(t, dir)["samples-"+strings.TrimPrefix(folder.RowsFile(smol, rowsEnding), "rows-")]; len(before) == 0 || !bytes.Equal(before, after) {
		t.Errorf("%s becomes %s", before, after)
	}
}

// A run of chains of thought is kept sample by sample.
func TestRunResumeCoT(t *testing.T) {
	o := RunOptions{
		Ask:    Ask{Prompts: sayPrompts(t), Style: "plain", NoNegated: true, CoT: &Sampling{Samples: 2, Temperature: 1, MaxTokens: 4, Seed: 5}},
		Choice: Choice{Instances: 1, First: true}, Version: "test",
	}
	smol := modeltest.SmolLM.Name
	whole, broken := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	data := ownData(t)
	results, err := Run(t.Context(), testMachine(t, nil), []string{smol}, data, whole, o)
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; len(r.Samples) != 4 || len(r.Rows) != 2 || r.Method != CoT || r.Labels != nil {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := Run(ctx, testMachine(t, func(_ string, done, _ int) {
		if done == 1 {
			cancel()
		}
	}), []string{smol}, data, broken, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	part := filepath.Join(broken, folder.RowsFile(smol, rowsEnding)+partEnding)
	kept, err := os.ReadFile(part)
	if err != nil || bytes.Count(kept, []byte("\n")) != 3 {
		t.Errorf("%s, %v", kept, err)
	}
	if _, err := Run(t.Context(), testMachine(t, nil), []string{smol}, data, broken, o); err != nil {
		t.Fatal(err)
	}
	a, b := foldertest.Files(t, whole), foldertest.Files(t, broken)
	if !maps.EqualFunc(a, b, bytes.Equal) || a["samples-smollm2-135m-instruct.jsonl"] == nil {
		t.Errorf("the files differ, %v and %v", slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
}

// A model that fails does not keep the others from being asked, and leaves a run that says so.
func TestRunFailingModel(t *testing.T) {
	o := RunOptions{Ask: Ask{Prompts: prompts(t, General), NoNegated: true}, Choice: Choice{Instances: 1, First: true}, Version: "test"}
	dir := filepath.Join(t.TempDir(), "run")
	results, err := Run(t.Context(), testMachine(t, nil), []string{"nobody", modeltest.SmolLM.Name}, ownData(t), dir, o)
	if err == nil || !strings.Contains(err.Error(), `asking nobody: there is no model "nobody"`) || len(results) != 1 || len(results[0].Rows) != 2 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	got := foldertest.Files(t, dir)
	if got[folder.RowsFile(modeltest.SmolLM.Name, rowsEnding)] == nil || got["tables.txt"] == nil {
		t.Errorf("%v", slices.Sorted(maps.Keys(got)))
	}
	m, err := manifest.Load(filepath.Join(dir, folder.ManifestFile))
	if err != nil || len(m.Models) != 1 || m.Options["failure of nobody"] != `there is no model "nobody"` {
		t.Errorf("%+v, %v", m, err)
	}
	// The same call asks it again, and nothing but it.
	if again, err := Run(t.Context(), testMachine(t, nil), []string{"nobody", modeltest.SmolLM.Name}, ownData(t), dir, o); err == nil || len(again) != 1 {
		t.Errorf("%d results, %v", len(again), err)
	}
	if got := foldertest.Files(t, dir); got[folder.RowsFile(modeltest.SmolLM.Name, rowsEnding)+partEnding] == nil {
		t.Errorf("what was judged is gone before the run is whole: %v", slices.Sorted(maps.Keys(got)))
	}
	none := filepath.Join(t.TempDir(), "a", "run")
	if _, err := Run(t.Context(), testMachine(t, nil), []string{"nobody"}, ownData(t), none, o); err == nil {
		t.Error("a model that is not there was asked")
	}
	if _, err := os.Stat(filepath.Dir(none)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that failed at once leaves a folder: %v", err)
	}
}

// What is chosen are different instances and items in the order of the file, so many as were asked for, with their
// comparisons; which ones depends on the seed, and for items on nothing else.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*Instance
		for n := range rapid.IntRange(1, 8).Draw(t, "instances") {
			in := &Instance{ID: fmt.Sprint(n)}
			for k := range rapid.IntRange(2, 8).Draw(t, "items") {
				in.Items = append(in.Items, Item{ID: fmt.Sprint(k)})
				for i := range k {
					in.Comparisons = append(in.Comparisons, Comparison{I: i, J: k, P: float64(i) / 10, Line: k})
				}
			}
			all = append(all, in)
		}
		c := Choice{
			Instances: rapid.IntRange(0, 9).Draw(t, "n"), Items: rapid.SampledFrom([]int{0, 2, 3, 9}).Draw(t, "k"),
			First: rapid.Bool().Draw(t, "first"), Seed: rapid.Uint64().Draw(t, "seed"),
		}
		got, err := c.Choose(all)
		if err != nil {
			t.Fatal(err)
		}
		want := len(all)
		if c.Instances > 0 {
			want = min(want, c.Instances)
		}
		if len(got) != want {
			t.Fatalf("%d instances, want %d", len(got), want)
		}
		last := -1
		everyone := c
		everyone.Instances = 0
		others, _ := everyone.Choose(all)
		for _, in := range got {
			n := slices.IndexFunc(all, func(x *Instance) bool { return x.ID == in.ID })
			if n <= last {
				t.Fatalf("instance %d after %d", n, last)
			}
			last = n
			k := len(all[n].Items)
			if c.Items > 0 {
				k = min(k, c.Items)
			}
			if len(in.Items) != k || len(in.Comparisons) != k*(k-1)/2 || !slices.Equal(others[n].Items, in.Items) {
				t.Fatalf("%d items and %d comparisons, want %d", len(in.Items), len(in.Comparisons), k)
			}
			for i, item := range in.Items {
				if i > 0 && item.ID <= in.Items[i-1].ID {
					t.Fatal("the items are out of order")
				}
				if c.First && item.ID != fmt.Sprint(i) {
					t.Fatalf("item %s is not the first", item.ID)
				}
			}
			for _, x := range in.Comparisons {
				if in.Items[x.J].ID != fmt.Sprint(x.Line) || in.Items[x.I].ID != fmt.Sprint(int(x.P*10+0.5)) {
					t.Fatalf("%+v is of other items", x)
				}
			}
		}
	})
	if _, err := (Choice{Items: 1}).Choose(nil); err == nil {
		t.Error("one item is compared")
	}
	// The name of a bad row is that of its line, which may be another's own.
	if got, err := (Choice{}).Choose([]*Instance{{ID: "line 2", Line: 1}, {ID: "line 2", Line: 2, Bad: "no JSON"}}); err != nil || len(got) != 2 {
		t.Error(got, err)
	}
	if _, err := (Choice{}).Choose([]*Instance{{ID: "a"}, {ID: "a", Line: 7}}); err == nil || !strings.Contains(err.Error(), "line 7") {
		t.Errorf("two instances of one name: %v", err)
	}
}

// Every one of several items is drawn as often as each other.
func TestChooseEvenly(t *testing.T) {
	in := &Instance{ID: "i", Items: make([]Item, 5)}
	for k := range in.Items {
		in.Items[k].ID = fmt.Sprint(k)
	}
	counts := map[string]int{}
	const draws = 2000
	for seed := range uint64(draws) {
		got, err := Choice{Items: 2, Seed: seed}.Choose([]*Instance{in})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range got[0].Items {
			counts[item.ID]++
		}
	}
	for id, n := range counts { // binomial: 800 ± 22
		if n < 700 || n > 900 {
			t.Errorf("item %s is drawn %d times of %d", id, n, draws)
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, s := range []string{
		`{"instance":"i","line":1,"first":"a","second":"b","question":"relation","status":"judged","p":0.25,"a":0.1,"b":[0.3,0.4]}`,
		`{"instance":"i","status":"bad","why":"x"}`, `{"instance":"i","first":"a","second":"a"}`, `{`, `[]`, `{"instance":"i","first":"a","second":"b","question":"negated","wording":-1,"status":"judged","p":2}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := folder.DecodeRows(bytes.NewReader(text), (*Row).check)
		if err != nil {
			return
		}
		for _, r := range rows {
			if r.Status == StatusJudged && !(r.P.Middle() >= 0 && r.P.Middle() <= 1) {
				t.Fatalf("%+v", r)
			}
			in := &Instance{ID: r.Instance, Items: []Item{{ID: r.First}, {ID: r.Second}}}
			if r.First != "" {
				if _, err := Collect(in, []*Row{r}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestReadRowsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{": "line 1", `{"instance":""}`: "names no instance", `{"instance":"i","first":"a"}`: "not two items",
		`{"instance":"i","first":"a","second":"b"}`:                                                                        "no question",
		`{"instance":"i","first":"a","second":"b","question":"relation","status":"judged"}`:                                "has no p",
		`{"instance":"i","first":"a","second":"b","question":"relation","status":"judged","p":1.5}`:                        "that is a probability",
		`{"instance":"i","first":"a","second":"b","question":"relation","status":"judged","wording":100}`:                  "wording 100",
		`{"instance":"i","first":"a","second":"b","question":"relation","status":"made","p":0.5}`:                          "no status",
		`{"instance":"i","first":"a","second":"b","question":"relation","status":"judged","p":0.5,"votes":{"a":-1,"b":3}}`: "-1 votes for A",
		`{"instance":"i","first":"a","second":"b","question":"relation","status":"judged","p":0.5,"votes":{"a":0,"b":0}}`:  "0 votes for A",
	} {
		path := filepath.Join(t.TempDir(), "rows.jsonl")
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRows(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
