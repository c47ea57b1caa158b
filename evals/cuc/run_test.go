package cuc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/store/readings"
	"github.com/modellog/modellog/notebooks/published"
)

// machine opens the reference models so that two prefixes are a batch: an interruption then falls between batches.
func machine(t testing.TB, cache event.Cache, progress func(string, int, int)) Machine {
	t.Helper()
	dir, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return Machine{
		Cache: cache, Progress: progress,
		Open: func(ctx context.Context, name string) (lm.Model, error) {
			for _, r := range modeltest.All {
				if r.Name == name {
					return gguf.Open(ctx, r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Exact, CacheDir: dir, Threads: 1, Batch: 2})
				}
			}
			return nil, fmt.Errorf("there is no model %q", name)
		},
	}
}

func readingsCache(t testing.TB, dir string) *readings.Cache {
	t.Helper()
	c, err := readings.Open(context.Background(), dir, readings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A run that is broken off and gone on with writes, byte for byte, what one writes that was not.
func TestResume(t *testing.T) {
	path := write(t, "own.csv", own+"It rains.,The street is dry.,,perhaps\n")
	run := func(ctx context.Context, cache event.Cache, dir string, progress func(string, int, int)) ([]*Result, error) {
		d, err := Read(Plain, path)
		if err != nil {
			t.Fatal(err)
		}
		return Run(ctx, machine(t, cache, progress), []string{modeltest.SmolLM.Name}, []*Data{d}, dir, Options{Version: "test"})
	}
	whole, broken := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "run")
	results, err := run(t.Context(), readingsCache(t, t.TempDir()), whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	if measured, bad, unsure := results[0].Data[0].Count(Formats[0]); measured != 3 || bad != 1 || unsure != 0 {
		t.Errorf("%d measured, %d bad, %d not sure", measured, bad, unsure)
	}

	cache := readingsCache(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	_, err = run(ctx, cache, broken, func(_ string, done, _ int) {
		if done == 4 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(broken, folder.ManifestFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that did not end has a manifest: %v", err)
	}
	read := 0
	if _, err := run(t.Context(), cache, broken, func(_ string, _, total int) { read = total }); err != nil {
		t.Fatal(err)
	}
	if read == 0 || read >= 6 {
		t.Errorf("%d of 6 prefixes were left to read", read)
	}
	a, b := foldertest.Files(t, whole), foldertest.Files(t, broken)
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			t.Errorf("%s differs", name)
		}
	}
	if len(a) != len(b) || len(a) < 7 { // without a curve, where nothing is answered
		t.Errorf("%d and %d files", len(a), len(b))
	}

	// The rows are read back, and have no text of the data.
	rows, err := ReadRows(filepath.Join(whole, folder.RowsFile(modeltest.SmolLM.Name, rowsEnding)))
	if err != nil || len(rows) != 4 || rows[0].Phi.P != results[0].Data[0].Rows[0].Phi.P {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for name, text := range a {
		if bytes.Contains(text, []byte("bakers")) || bytes.Contains(text, []byte("ferry")) {
			t.Errorf("%s has text of the data", name)
		}
	}
	// As CSV each figure is told from each other.
	figures, _, err := published.Read(bytes.NewReader(a["tables.csv"]), "tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range figures {
		id := fmt.Sprint(f.Table, f.Model, f.Subset, f.Quantity, f.Other)
		if seen[id] {
			t.Errorf("tables.csv, line %d: two figures are %s", f.Line, id)
		}
		seen[id] = true
	}
	m, err := manifest.Load(filepath.Join(whole, folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if c := m.Counts[0]; c.Rows != 4 || c.Scored != 3 || c.Bad != 1 || !strings.Contains(c.Reasons[0].Why, "perhaps") || c.Reasons[0].Line != 7 {
		t.Errorf("%+v", c)
	}
	if m.Seeds["bootstrap"] != 42 || m.Options["prompt of "+modeltest.SmolLM.Name] != "chat" {
		t.Errorf("%v, %v", m.Seeds, m.Options)
	}

	// Another run does not write over it; the same may.
	d, err := Read(Plain, path)
	if err != nil {
		t.Fatal(err)
	}
	other := Options{Thresholds: Thresholds{Tau: 0.7, Delta: 0.1}}
	if _, err := Run(t.Context(), machine(t, cache, nil), []string{modeltest.SmolLM.Name}, []*Data{d}, whole, other); err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("a run of other thresholds: %v", err)
	}
	imposter := machine(t, cache, nil)
	imposter.Open = func(ctx context.Context, name string) (lm.Model, error) {
		dir, err := store.CacheDir()
		if err != nil {
			return nil, err
		}
		return gguf.Open(ctx, modeltest.Gemma.Path(t), gguf.Options{Name: name, Digest: modeltest.Gemma.SHA256, Precision: gguf.Exact, CacheDir: dir, Threads: 1})
	}
	before := foldertest.Files(t, whole)
	if _, err := Run(t.Context(), imposter, []string{modeltest.SmolLM.Name}, []*Data{d}, whole, Options{}); err == nil || !strings.Contains(err.Error(), "have changed since") {
		t.Errorf("a run of other weights under the same name: %v", err)
	}
	if !maps.EqualFunc(before, foldertest.Files(t, whole), bytes.Equal) {
		t.Error("it has written over the run")
	}
	none := filepath.Join(t.TempDir(), "a", "run")
	if _, err := Run(t.Context(), machine(t, cache, nil), []string{"nobody"}, []*Data{d}, none, Options{}); err == nil {
		t.Error("a model that is not there was asked")
	}
	if _, err := os.Stat(filepath.Dir(none)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that failed at once leaves a folder: %v", err)
	}
	if _, err := Run(t.Context(), machine(t, cache, nil), []string{modeltest.SmolLM.Name}, []*Data{d, d}, whole, Options{}); err == nil || !strings.Contains(err.Error(), "two data sets are called own") {
		t.Errorf("a data set twice: %v", err)
	}
	if _, err := Run(t.Context(), machine(t, cache, nil), []string{"a:1", "a*1"}, []*Data{d}, whole, Options{}); err == nil || !strings.Contains(err.Error(), "in two runs") {
		t.Errorf("two models of one name: %v", err)
	}
}

// A model that cannot be asked leaves the others' run whole: it is told, and the manifest has it. Once it can be, the
// same call fills it in.
func TestOneModelFails(t *testing.T) {
	d, err := Read(Plain, write(t, "own.csv", own))
	if err != nil {
		t.Fatal(err)
	}
	dir, on := filepath.Join(t.TempDir(), "run"), machine(t, readingsCache(t, t.TempDir()), nil)
	models := []string{"nobody", modeltest.SmolLM.Name}
	results, err := Run(t.Context(), on, models, []*Data{d}, dir, Options{})
	if err == nil || !strings.Contains(err.Error(), `asking nobody: there is no model "nobody"`) || !strings.Contains(err.Error(), "the other 1 of 2 models") || len(results) != 1 || results[0].Model.Name != modeltest.SmolLM.Name {
		t.Fatalf("%d results, %v", len(results), err)
	}
	m, err := manifest.Load(filepath.Join(dir, folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Models) != 1 || len(m.Counts) != 1 || !strings.Contains(m.Options["failure of nobody"], "there is no model") {
		t.Errorf("%+v, %v", m.Models, m.Options)
	}
	if first := foldertest.Files(t, dir); len(first["tables.csv"]) == 0 || first["rows-nobody.jsonl"] != nil {
		t.Errorf("%d files", len(first))
	}
	open := on.Open
	on.Open = func(ctx context.Context, name string) (lm.Model, error) {
		m, err := open(ctx, modeltest.SmolLM.Name)
		return named{m, name}, err
	}
	if results, err = Run(t.Context(), on, models, []*Data{d}, dir, Options{}); err != nil || len(results) != 2 {
		t.Fatalf("%d results, %v", len(results), err)
	}
	if m, err = manifest.Load(filepath.Join(dir, folder.ManifestFile)); err != nil || len(m.Models) != 2 || m.Options["failure of nobody"] != "" {
		t.Errorf("%+v, %v", m, err)
	}
	// One that lacks the first format's answers is a failure like others; with none left there is no run.
	none := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), machine(t, nil, nil), models, []*Data{d}, none, Options{Formats: Formats[2:]}); err == nil || strings.Count(err.Error(), "asking ") != 2 || !strings.Contains(err.Error(), "Entailed and Refuted") {
		t.Error(err)
	}
	if _, err := os.Stat(none); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run of no model leaves a folder: %v", err)
	}
}

// named is a model under another name.
type named struct {
	lm.Model
	name string
}

func (m named) Info() lm.Info {
	i := m.Model.Info()
	i.Name = m.name
	return i
}

func TestReadRows(t *testing.T) {
	for text, want := range map[string]string{"{": "line 1", `{"status":"measured"}` + "\n": "lacks its answers"} {
		if _, err := ReadRows(write(t, "rows.jsonl", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestPrompts(t *testing.T) {
	if got := Fill("{premises}|{statement}|{yes}|{no}|{other}", "{statement}", "{yes}", Formats[0]); got != "{statement}|{yes}|YES|NO|{other}" {
		t.Errorf("%q", got)
	}
	dir := filepath.Join(t.TempDir(), "prompts")
	if err := WritePrompts(dir, DefaultPrompts()); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPrompts(dir); err != nil || p != DefaultPrompts() {
		t.Errorf("%+v, %v", p, err)
	}
	if err := WritePrompts(dir, DefaultPrompts()); err == nil {
		t.Error("prompts are written over")
	}
	if err := os.WriteFile(filepath.Join(dir, PlainFile), []byte("\ufeff{premises} so: {statement}?\r\n\r\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := ReadPrompts(dir); err != nil || p.Plain != "{premises} so: {statement}?" || p.Chat != DefaultPrompts().Chat {
		t.Errorf("%+v, %v", p, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ChatFile), []byte("{premises}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrompts(dir); err == nil || !strings.Contains(err.Error(), "no {statement}") {
		t.Error(err)
	}
	if _, err := ReadPrompts(t.TempDir()); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Error(err)
	}
}
