package bench_test

import (
	"context"
	"encoding/csv"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/bench"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
)

func pass(rows ...[]float64) bench.Pass {
	var p bench.Pass
	for _, row := range rows {
		var out []*float64
		for _, x := range row {
			if x == 0 {
				out = append(out, nil)
				continue
			}
			out = append(out, &x)
		}
		p.LogP = append(p.LogP, out)
	}
	return p
}

func TestCompare(t *testing.T) {
	d, err := bench.Compare(pass([]float64{-1, -2}, []float64{-3}), pass([]float64{-1.5, 0}, []float64{-2.75}))
	if want := (bench.Difference{Events: 3, Compared: 2, Most: 0.5, Mean: 0.375}); err != nil || d != want {
		t.Errorf("%+v, %v, want %+v", d, err, want)
	}
	for name, other := range map[string]bench.Pass{
		"a prefix less": pass([]float64{-1, -2}),
		"a target less": pass([]float64{-1}, []float64{-3}),
		"no number":     pass([]float64{-1, math.NaN()}, []float64{-3}),
	} {
		if d, err := bench.Compare(pass([]float64{-1, -2}, []float64{-3}), other); err == nil {
			t.Errorf("%s: %+v and no error", name, d)
		}
	}
}

type contestant struct {
	name    string
	seconds []float64
	log     *[]string
	logP    [][]*float64
	err     error
}

func (c *contestant) Name() string     { return c.name }
func (c *contestant) Setting() string  { return "" }
func (c *contestant) Processes() []int { return []int{os.Getpid()} }
func (c *contestant) Run(context.Context) (bench.Pass, error) {
	*c.log = append(*c.log, c.name)
	s := c.seconds[0]
	c.seconds = c.seconds[1:]
	return bench.Pass{Seconds: s, LogP: c.logP}, c.err
}

func TestInterleave(t *testing.T) {
	var log []string
	a, b := &contestant{name: "a", seconds: []float64{3, 1, 2}, log: &log}, &contestant{name: "b", seconds: []float64{5, 6, 4}, log: &log}
	got, err := bench.Interleave(t.Context(), []bench.Contestant{a, b}, 3, 0, func(string, float64) {})
	if err != nil || strings.Join(log, "") != "ababab" || got[0].Best() != 1 || got[1].Best() != 4 {
		t.Errorf("%v, order %v", err, log)
	}
	// One that fails stops none of the others.
	a.seconds, b.seconds, b.err, log = []float64{2, 1}, []float64{1}, errors.New("broken"), nil
	got, err = bench.Interleave(t.Context(), []bench.Contestant{b, a}, 2, 0, func(string, float64) {})
	if err != nil || strings.Join(log, "") != "baa" || got[0].Err != b.err || got[1].Err != nil || got[1].Best() != 1 {
		t.Errorf("%v, order %v", err, log)
	}
}

// An interrupted run has the passes that had ended, and writes them with what is missing and
// why; so does one with a contestant that failed or did other work.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log []string
	first := &contestant{name: "first", seconds: []float64{2, 4}, log: &log, logP: pass([]float64{-1}).LogP}
	second := &contestant{name: "second", seconds: []float64{3, 1.5}, log: &log, logP: pass([]float64{-1.5}).LogP}
	broken := &contestant{name: "broken", seconds: []float64{9}, log: &log, err: errors.New("it has no weights")}
	other := &contestant{name: "other", seconds: []float64{9, 9}, log: &log, logP: pass([]float64{-1}, []float64{-2}).LogP}
	late := &contestant{name: "late", seconds: []float64{9, 9}, log: &log}
	turns := 0
	measured, err := bench.Interleave(ctx, []bench.Contestant{first, second, broken, other, late}, 2, 0, func(string, float64) {
		if turns++; turns == 3 { // first, second, other
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || strings.Join(log, " ") != "first second broken other" {
		t.Fatalf("%v, turns of %v", err, log)
	}
	r := &bench.Report{Suite: &bench.Suite{Prefixes: make([]bench.Prefix, 6)}, Reference: measured[0].Last, Measured: measured, Ended: "interrupted",
		Skipped: []bench.Skipped{{Name: "not installed", Why: "no module"}}}
	r.Model.Name = "m1"
	if r.Passes() != 3 {
		t.Errorf("%d passes", r.Passes())
	}
	c := bench.NewCircumstances("test", "v9.9-test", 1)
	c.Missing = []bench.Skipped{{Name: "m2", Why: "interrupted before it"}}
	dir := t.TempDir()
	if err := bench.Save(dir, "suite", c, []*bench.Report{r}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "suite.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`not all passes: interrupted\n`,
		`first +1 +2\.00 +3\.0 +1\.00 .*0, 0, 1 of 1\n`, // 6 prefixes in 2 s
		`second +1 +3\.00 +2\.0 +1\.50 .*0\.5, 0\.5, 1 of 1\n`,
		`broken +missing: it has no weights\n`, `other +missing: one pass read 1 prefixes and the other 2\n`, `late +missing: interrupted\n`,
		`not installed +missing: no module\n`, `m2 is missing: interrupted before it\n`,
	} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("suite.txt lacks %s:\n%s", want, text)
		}
	}
	file, err := os.Open(filepath.Join(dir, "suite.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var got []string
	for _, l := range lines[1:] {
		got = append(got, strings.Join([]string{l[column["model"]], l[column["contestant"]], l[column["pass"]], l[column["seconds"]], l[column["missing"]]}, "|"))
	}
	if diff := cmp.Diff([]string{
		"m1|first|1|2|", "m1|second|1|3|", "m1|broken|||it has no weights", "m1|other|||one pass read 1 prefixes and the other 2", "m1|late|||interrupted",
		"m1|not installed|||no module", "m2||||interrupted before it",
	}, got); diff != "" {
		t.Error(diff)
	}

	// Without the first there is nothing that others are a multiple of.
	measured[0].Seconds, measured[0].CPU, measured[0].Err = nil, nil, errors.New("it is out of memory")
	var b strings.Builder
	if err := bench.WriteText(&b, c, []*bench.Report{r}); err != nil || !regexp.MustCompile(`second +1 +3\.00 +2\.0 +– `).MatchString(b.String()) || !strings.Contains(b.String(), "missing: it is out of memory") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A peer that is not installed is passed over with Python's own words.
func TestPeerThatIsMissing(t *testing.T) {
	python, err := bench.Environment(t.Context(), t.TempDir(), "ollama", func(string) {})
	if err != nil {
		t.Skip("there is no python3")
	}
	if out, err := exec.Command(python, "-c", "import torch").CombinedOutput(); err == nil {
		t.Skipf("this python3 has torch %s", out)
	}
	prefixes := []bench.Prefix{{Text: "a", Tokens: []lm.Token{1}, Targets: []lm.Token{2}, Pieces: []string{"b"}}}
	_, err = bench.StartPeer(t.Context(), prefixes, bench.PeerOptions{Kind: "transformers", Python: python, Model: "none.gguf", Threads: 1})
	if err == nil || !strings.Contains(err.Error(), "No module named 'torch'") {
		t.Errorf("%v", err)
	}
	_, err = bench.StartPeer(t.Context(), prefixes, bench.PeerOptions{Kind: "ollama", Python: python, Model: "none", Threads: 1, Server: &bench.Server{Address: "127.0.0.1:1"}})
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

func TestSuite(t *testing.T) {
	r := modeltest.SmolLM
	m, err := gguf.Open(t.Context(), r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Native, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	suite, err := probct.Load(filepath.Join("..", "evals", "probct", "suite"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := bench.NewSuite(t.Context(), m, suite, 2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Readings().Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	events, seen := 0, map[string]bool{}
	for i, p := range s.Prefixes {
		if seen[p.Text] {
			t.Errorf("%q is there twice", p.Text)
		}
		seen[p.Text] = true
		var text strings.Builder
		for k, token := range p.Tokens {
			if k > 0 || !p.BOS {
				text.Write(m.Piece(token))
			}
		}
		if text.String() != p.Text {
			t.Errorf("tokens of %q are %q", p.Text, text.String())
		}
		err := m.Read(t.Context(), [][]lm.Token{p.Tokens}, func(_ int, d lm.Distribution) error {
			var z float64
			for _, l := range d.Logits {
				z += math.Exp(float64(l))
			}
			for k, target := range p.Targets {
				events++
				if string(m.Piece(target)) != p.Pieces[k] {
					t.Errorf("target %q is %q", p.Pieces[k], m.Piece(target))
				}
				if want := float64(d.Logits[target]) - math.Log(z); math.Abs(*got.LogP[i][k]-want) > 1e-4 {
					t.Errorf("log P(%q | %q) is %v, want %v", p.Pieces[k], p.Text, *got.LogP[i][k], want)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if events != s.Events || events < 10 {
		t.Errorf("%d events, and %d were counted", s.Events, events)
	}

	// What is written has all of it.
	measured, err := bench.Interleave(t.Context(), []bench.Contestant{s.Command(), s.Readings()}, 1, 0, func(string, float64) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range measured {
		if m.Err != nil {
			t.Fatal(m.Err)
		}
		if cpu, ok := m.BestCPU(); !ok || cpu <= 0 || cpu > 64*m.Best() {
			t.Errorf("%s: %v, %v seconds on processors in %v", m.Name(), cpu, ok, m.Best())
		}
	}
	report := &bench.Report{Model: m.Info(), Suite: s, Reference: got, Measured: measured, Skipped: []bench.Skipped{{Name: "other", Why: "it is not there"}}}
	dir := t.TempDir()
	if err := bench.Save(dir, "suite", bench.NewCircumstances("test", "v9.9-test", 1), []*bench.Report{report}); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"suite.txt": {r.Name, "modellog v9.9-test", "modellog probct run", "1.00", "missing: it is not there"},
		"suite.csv": {"contestant", r.Name + ",native,"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("%s lacks %q:\n%s", file, w, text)
			}
		}
	}
}
