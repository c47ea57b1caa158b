package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// example has something in every field.
func example() *Manifest {
	m := &Manifest{
		Format: 1, Command: "probct run",
		Program: Program{Version: "v1.2.0", Commit: "5e8ff9bf55ba3508199d22e984129be6", Modified: true, Go: "go1.26.0", Engine: "github.com/ollama/ollama v0.17.4"},
		Machine: Machine{OS: "linux", Arch: "amd64", CPU: "A Processor", Features: []string{"AVX", "FMA3"}, Threads: 2},
		Data:    []Data{{Path: "suite/transitivity.jsonl", SHA256: strings.Repeat("ab", 32), Bytes: 12345, Rows: 500}},
		Options: map[string]string{"nucleus": "0.8 0.85 0.9 0.95", "limit": "0"},
		Seeds:   map[string]uint64{"bootstrap": 42, "rows": 18446744073709551615},
		Counts:  []Count{{Model: "gemma3:270m-pt", Data: "transitivity", Rows: 500, Scored: 390, MultiToken: 108, Bad: 2, Reasons: []BadRow{{7, `it has no field "x1"`}}}},
		Started: time.Date(2026, 11, 30, 5, 0, 0, 0, time.UTC), Seconds: 12.345,
	}
	m.AddModel(lm.Info{
		Name: "gemma3:270m-pt", Backend: "gguf", Digest: "a5fd3b62230aa5ec60212297dc9d20ea", Architecture: "gemma3", Quantization: "Q4_K_M",
		Revision: "r1", Precision: "exact", Path: "/nowhere/model.gguf", Parameters: 268098176, Vocabulary: 262144, Context: 32768, Whole: true,
	})
	m.AddCalibration(calibrate.Calibration{Method: calibrate.NucleusEntropy, P: 0.95})
	m.AddCalibration(calibrate.Calibration{Method: calibrate.Entropy, P: 0.95})
	return m
}

const exampleText = `{
  "format": 1,
  "command": "probct run",
  "program": {
    "version": "v1.2.0",
    "commit": "5e8ff9bf55ba3508199d22e984129be6",
    "modified": true,
    "go": "go1.26.0",
    "engine": "github.com/ollama/ollama v0.17.4"
  },
  "machine": {
    "os": "linux",
    "arch": "amd64",
    "cpu": "A Processor",
    "features": [
      "AVX",
      "FMA3"
    ],
    "threads": 2
  },
  "models": [
    {
      "name": "gemma3:270m-pt",
      "backend": "gguf",
      "digest": "a5fd3b62230aa5ec60212297dc9d20ea",
      "revision": "r1",
      "precision": "exact",
      "architecture": "gemma3",
      "quantization": "Q4_K_M",
      "parameters": 268098176,
      "vocabulary": 262144,
      "context": 32768,
      "whole": true
    }
  ],
  "calibrations": [
    {
      "method": "nucleus-entropy",
      "p": 0.95
    },
    {
      "method": "entropy"
    }
  ],
  "data": [
    {
      "path": "suite/transitivity.jsonl",
      "sha256": "abababababababababababababababababababababababababababababababab",
      "bytes": 12345,
      "rows": 500
    }
  ],
  "options": {
    "limit": "0",
    "nucleus": "0.8 0.85 0.9 0.95"
  },
  "seeds": {
    "bootstrap": 42,
    "rows": 18446744073709551615
  },
  "counts": [
    {
      "model": "gemma3:270m-pt",
      "data": "transitivity",
      "rows": 500,
      "scored": 390,
      "multi_token": 108,
      "bad": 2,
      "reasons": [
        {
          "line": 7,
          "why": "it has no field \"x1\""
        }
      ]
    }
  ],
  "started": "2026-11-30T05:00:00Z",
  "seconds": 12.345
}
`

// TestSave: the fields' names and order are those that readers rely on, and Load has them again.
func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.json")
	for range 2 { // the second replaces the first
		if err := example().Save(path); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(exampleText, string(b)); d != "" {
		t.Error(d)
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(example(), m); d != "" {
		t.Error(d)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

// TestSaveFails: a manifest that cannot be replaced is left as it was.
func TestSaveFails(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "manifest.json")
	if err := os.MkdirAll(filepath.Join(target, "a folder with something in it"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := example().Save(target); err == nil {
		t.Error("a folder was replaced")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left", len(files))
	}
	if err := example().Save(filepath.Join(dir, "nowhere", "manifest.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestLoadMistakes(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, c := range []struct{ text, want string }{
		{"", "it is no manifest"},
		{"[1]", "it is no manifest"},
		{`{"schemaVersion": 2}`, `there is no "format"`},
		{`{"format": 99}`, "a later version of modellog"},
		{`{"format": 1} and more`, "it is no manifest"},
		{strings.Repeat(" ", 16<<20+1), "more than 16 MB"},
	} {
		path := filepath.Join(dir, "manifest.json")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.20q: %v, want %q", c.text, err, c.want)
		}
	}
}

func TestNew(t *testing.T) {
	before := time.Now().UTC().Add(-time.Second)
	m := New("probct run", "v9")
	if m.Program.Version != "v9" || m.Program.Go != runtime.Version() || m.Machine.OS != runtime.GOOS || m.Machine.Threads < 1 || m.Started.Before(before) || m.Started.Location() != time.UTC {
		t.Errorf("%+v", m)
	}
	if runtime.GOARCH == "amd64" && len(m.Machine.Features) == 0 {
		t.Error("the processor has no features")
	}
}

func TestAddData(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("abc", []byte("abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	m := New("test", "")
	if err := m.AddData(t.Context(), "abc", 1); err != nil {
		t.Fatal(err)
	}
	want := Data{Path: "abc", SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", Bytes: 3, Rows: 1} // FIPS 180-2's example
	if m.Data[0] != want {
		t.Errorf("%+v", m.Data[0])
	}
	if err := m.AddData(t.Context(), "none", 1); !errors.Is(err, fs.ErrNotExist) || len(m.Data) != 1 {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.AddData(ctx, "abc", 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAddBad(t *testing.T) {
	var c Count
	for i := range 100 {
		c.AddBad(i, "so")
	}
	if c.Bad != 100 || len(c.Reasons) != maxReasons || c.Reasons[0].Line != 0 {
		t.Errorf("%+v", c)
	}
}

// TestPublic: no texts tell where a manifest was made, and what does not is as it was.
func TestPublic(t *testing.T) {
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "Jane Doe")
	t.Chdir(dir)
	t.Setenv("HOME", home)
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{dir + "/suite/a.jsonl", "suite/a.jsonl"},
		{"gguf:" + dir + "/m.gguf", "gguf:m.gguf"},
		{"gguf:/srv/models/m.gguf", "gguf:m.gguf"},
		{"gguf:" + home + "/m.gguf", "gguf:~/m.gguf"},
		{"open " + home + "/my data/x: no such file", "open ~/my data/x: no such file"},
		{"/srv/a folder/x.jsonl", "x.jsonl"},
		{`open "/srv/data/x.jsonl": denied`, `open "x.jsonl": denied`},
		{`at C:\Users\jane\x.jsonl now`, `at x.jsonl now`},
		{"openai:http://jane:secret@gpu7.lab.example:8000/v1#llama", "openai:http://server/v1#llama"},
		{"openai:http://gpu7.lab.example:8000/v1+https://jane:secret@gpu8.lab.example/v1+http://localhost:1#llama", "openai:http://server/v1+https://server/v1+http://localhost:1#llama"},
		{"https://gpu7.lab.example/v1?key=secret", "https://server/v1"},
		{"http://127.0.0.1:11434 0.17.4", "http://127.0.0.1:11434 0.17.4"},
		{"http://localhost:11434", "http://localhost:11434"},
		{"gemma3:270m-pt", "gemma3:270m-pt"},
		{"hf.co/org/name:Q4_K_M", "hf.co/org/name:Q4_K_M"},
		{"github.com/ollama/ollama v0.17.4", "github.com/ollama/ollama v0.17.4"},
		{"either and/or both, 1/2, a / b", "either and/or both, 1/2, a / b"},
		{"suite/a.jsonl", "suite/a.jsonl"},
	} {
		m := New("test", "")
		m.Options = map[string]string{"x": c[0]}
		m.Models = []Model{{Name: c[0]}}
		m.Counts = []Count{{Reasons: []BadRow{{1, c[0]}}}}
		p := m.public()
		for _, got := range []string{p.Options["x"], p.Models[0].Name, p.Counts[0].Reasons[0].Why} {
			if got != c[1] {
				t.Errorf("%q becomes %q, want %q", c[0], got, c[1])
			}
		}
		if m.Options["x"] != c[0] || m.Models[0].Name != c[0] || m.Counts[0].Reasons[0].Why != c[0] {
			t.Errorf("the manifest itself has changed: %+v", m)
		}
		if again := p.public(); cmp.Diff(p, again) != "" {
			t.Error(cmp.Diff(p, again))
		}
	}
	for path, want := range map[string]string{"a/b.csv": "a/b.csv", "../b.csv": "b.csv", dir + "/b.csv": "b.csv", home + "/x/b.csv": "b.csv"} {
		if got := (&Manifest{Data: []Data{{Path: path}}}).public().Data[0].Path; got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
}

// TestPrivate: a saved manifest of this very machine does not name it.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.json")
	m := New("probct run", "")
	if err := m.AddData(t.Context(), "manifest_test.go", 1); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m.Options = map[string]string{"out": filepath.Dir(path), "exe": exe}
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	for _, s := range []string{host, filepath.Dir(exe), os.TempDir()} {
		if len(s) > 3 && strings.Contains(string(b), s) {
			t.Errorf("%q is in\n%s", s, b)
		}
	}
}

// TestCompare: each change is said, and nothing else.
func TestCompare(t *testing.T) {
	for _, c := range []struct {
		change func(*Manifest)
		kind   Kind
		want   string // "" for no difference
	}{
		{func(m *Manifest) {
			m.Started = m.Started.Add(time.Hour)
			m.Seconds = 1
			m.Counts = nil
			m.Machine.Threads = 8
		}, 0, ""},
		{func(m *Manifest) { m.Data[0].Path = "/srv/moved/transitivity.jsonl" }, 0, ""},
		{func(m *Manifest) { m.Calibrations[0], m.Calibrations[1] = m.Calibrations[1], m.Calibrations[0] }, 0, ""},
		{func(m *Manifest) { m.Data[0].SHA256 = "cd" + m.Data[0].SHA256[2:]; m.Data[0].Rows = 501 }, OfData, "the data file suite/transitivity.jsonl has changed since (500 rows then, 501 now)"},
		{func(m *Manifest) { m.Data[0].SHA256 = "cd" + m.Data[0].SHA256[2:] }, OfData, "the data file suite/transitivity.jsonl has changed since (500 rows as then, digest abababababab then, cdababababab now)"},
		// Before a run its rows are not counted yet.
		{func(m *Manifest) { m.Data[0].SHA256 = "cd" + m.Data[0].SHA256[2:]; m.Data[0].Rows = 0 }, OfData, "the data file suite/transitivity.jsonl has changed since (digest abababababab then, cdababababab now)"},
		{func(m *Manifest) { m.Data = nil }, OfData, "the data file suite/transitivity.jsonl was read then and is not now"},
		{func(m *Manifest) { m.Data = append(m.Data, Data{Path: "x.csv"}) }, OfData, "the data file x.csv is read now and was not then"},
		{func(m *Manifest) { m.Models[0].Digest = "77" }, OfModel, "the weights of gemma3:270m-pt have changed since (digest a5fd3b62230a then, 77 now)"},
		{func(m *Manifest) { m.Models[0].Precision = "native" }, OfModel, "the precision of gemma3:270m-pt was exact and is native"},
		{func(m *Manifest) { m.Models[0].Whole = false }, OfModel, "gemma3:270m-pt is read whole by only one of the two; the other has intervals"},
		{func(m *Manifest) { m.Models = append(m.Models, Model{Name: "b"}) }, OfModel, "the model b is asked now and was not then"},
		{func(m *Manifest) { m.Models = nil }, OfModel, "the model gemma3:270m-pt was asked then and is not now"},
		{func(m *Manifest) { m.Calibrations = m.Calibrations[:1] }, OfCalibration, "the calibrations were entropy, nucleus-entropy p = 0.95 and are nucleus-entropy p = 0.95"},
		{func(m *Manifest) { m.Options["limit"] = "9" }, OfOption, `the option limit was "0" and is "9"`},
		{func(m *Manifest) { delete(m.Options, "limit") }, OfOption, `the option limit was "0", and is not set now`},
		{func(m *Manifest) { m.Options["a"] = "b" }, OfOption, `the option a is "b", and was not set then`},
		{func(m *Manifest) { m.Seeds["bootstrap"] = 43 }, OfSeed, `the seed of bootstrap was "42" and is "43"`},
		{func(m *Manifest) { m.Program.Modified = false }, OfProgram, "the state of modellog's sources was changed after the commit and is as committed"},
		{func(m *Manifest) { m.Program.Engine = "" }, OfProgram, "the engine was github.com/ollama/ollama v0.17.4, and is not known now"},
		{func(m *Manifest) { m.Machine.Features = append(m.Machine.Features, "AVX2") }, OfMachine, "the processor's list of features was AVX FMA3 and is AVX FMA3 AVX2"},
		{func(m *Manifest) { m.Command = "probct diff" }, OfCommand, "the command was probct run and is probct diff"},
	} {
		a, b := example(), example()
		a.Program.Modified, b.Program.Modified = false, false
		if strings.Contains(c.want, "state of modellog") {
			a.Program.Modified = true
		}
		c.change(b)
		got := Compare(a, b)
		want := []Difference{{c.kind, c.want}}
		if c.want == "" {
			want = nil
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", c.want, d)
		}
	}
	if got := Compare(example(), example()); len(got) != 1 || !strings.Contains(got[0].Text, "not committed") {
		t.Errorf("sources that are not committed: %v", got)
	}
}

// TestCompareWithSaved: a run is compatible with its own manifest, whatever its paths were called.
func TestCompareWithSaved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "manifest.json")
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"/srv/x/m.gguf", "http://host/v1", "gguf:/a b/c"}), rapid.StringMatching(`[a-z/:. ]{0,20}`))
		m := example()
		m.Program.Modified = false
		m.Options = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,5}`), word, 0, 4).Draw(t, "options")
		m.Models[0].Name = word.Draw(t, "model")
		m.Data = nil
		for i := range rapid.IntRange(0, 3).Draw(t, "files") {
			m.Data = append(m.Data, Data{Path: "/srv/" + word.Draw(t, "path"), SHA256: fmt.Sprint(i), Rows: i})
		}
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		saved, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := Compare(saved, m); len(d) > 0 {
			t.Fatalf("%v", d)
		}
	})
}

// A model that is open is that of a run, but for other weights or another precision under its name; where its file
// is does not matter, nor does the revision of the engine.
func TestOtherWeights(t *testing.T) {
	m := example()
	m.Models = []Model{{Name: "gguf:/srv/a/m.gguf", Digest: "11", Precision: "exact", Revision: "r1"}, {Name: "other", Digest: "22"}}
	for _, c := range []struct {
		now  lm.Info
		want string
	}{
		{lm.Info{Name: "gguf:/srv/a/m.gguf", Digest: "11", Precision: "exact", Revision: "r2"}, ""},
		{lm.Info{Name: "gguf:/srv/moved/m.gguf", Digest: "11", Precision: "exact"}, ""},
		{lm.Info{Name: "gguf:/srv/b/m.gguf", Digest: "12", Precision: "exact"}, "the weights of gguf:m.gguf have changed since (digest 11 then, 12 now)"},
		{lm.Info{Name: "gguf:/srv/a/m.gguf", Digest: "11", Precision: "native"}, "the precision of gguf:m.gguf was exact and is native"},
		{lm.Info{Name: "third", Digest: "33"}, ""},
	} {
		if got := m.OtherWeights(c.now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.now, got, c.want)
		}
	}
}
