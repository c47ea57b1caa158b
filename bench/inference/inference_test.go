package inference

import (
	"context"
	"errors"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/bench"
	"github.com/modellog/modellog/evals/wordnet"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/logic"
)

// enumerate counts the models of a theory of few variables, and sums their weights.
func enumerate(t *Theory) (models int64, wmc [2]float64) {
	for bits := range uint64(1) << t.Vars {
		if !t.Holds(func(v int) bool { return bits>>(v-1)&1 == 1 }) {
			continue
		}
		models++
		for i, w := range t.Weights {
			p := 1.0
			for v, x := range w {
				if bits>>v&1 == 0 {
					x = 1 - x
				}
				p *= x
			}
			wmc[i] += p
		}
	}
	return models, wmc
}

func checkOwn(t *testing.T, theory *Theory) *Answer {
	t.Helper()
	o := &own{theory: theory, limits: Limits{Time: time.Minute, Memory: 1 << 30}}
	p, err := o.Run(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", theory.Name, err)
	}
	if p.Seconds <= 0 || o.answer.Recount <= 0 || o.answer.Recount > p.Seconds {
		t.Errorf("%s: compiled in %v s, counted in %v s", theory.Name, p.Seconds, o.answer.Recount)
	}
	if theory.Models != nil && theory.Models.String() != o.answer.Models {
		t.Errorf("%s: %s models, and %v by the closed form", theory.Name, o.answer.Models, theory.Models)
	}
	if theory.Vars <= 18 {
		models, wmc := enumerate(theory)
		if why := disagreement(&Answer{WMC: wmc, Models: big.NewInt(models).String()}, o.answer); why != "" {
			t.Errorf("%s: %s", theory.Name, why)
		}
	}
	return o.answer
}

func TestFamilies(t *testing.T) {
	small := map[string][]int{"chain": {1, 2, 9}, "tree": {3, 7, 10}, "grid": {1, 2, 4}, "choose": {1, 2, 9, 12}, "spaced": {4, 9, 16}, "order": {2, 3, 5, 6}}
	for _, f := range Families() {
		for _, size := range append(small[f.Name], f.Sizes[:2]...) {
			theory, err := f.Theory(size, 7)
			if err != nil {
				t.Fatal(err)
			}
			checkOwn(t, theory)
			again, _ := f.Theory(size, 7)
			other, _ := f.Theory(size, 8)
			if again.Weights[0][0] != theory.Weights[0][0] || other.Weights[0][0] == theory.Weights[0][0] {
				t.Errorf("%s: the seed does not settle the weights", theory.Name)
			}
		}
	}
}

// A thing with two hypernyms, below two co-hyponyms of which neither excludes the other.
//
//	1 ─ 2 ─ 5
//	  ─ 3 ─ 5, 6
//	  ─ 4
func TestExclusive(t *testing.T) {
	theory := exclusive("small", [][]int{nil, {2, 3, 4}, {5}, {5, 6}, nil, nil, nil})
	theory.weigh(1, 0)
	excluded := map[[2]int]bool{}
	for _, c := range theory.Clauses {
		if c[0] < 0 && c[1] < 0 {
			excluded[[2]int{-c[0], -c[1]}] = true
		}
	}
	if len(excluded) != 3 || !excluded[[2]int{2, 4}] || !excluded[[2]int{3, 4}] || !excluded[[2]int{5, 6}] {
		t.Errorf("excluded are %v", excluded)
	}
	// {}, 1, 12, 13, 123, 1235, 136, 1236, 14
	if a := checkOwn(t, theory); a.Models != "9" {
		t.Errorf("%s models", a.Models)
	}
}

func openWordNet(t *testing.T) *wordnet.DB {
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := wordnet.Locate("", s.DatasetDir("wordnet"))
	if err != nil {
		t.Skip(err)
	}
	db, err := wordnet.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// In WordNet's taxonomy of dogs each model is closed upwards and has no two that exclude each other: each synset
// can hold, and then so do all above it.
func TestTaxonomies(t *testing.T) {
	f := Taxonomies(openWordNet(t))
	theory, err := f.Theory(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if theory.Vars < 150 || len(theory.Clauses) < 500 {
		t.Errorf("%d synsets and %d clauses below %s", theory.Vars, len(theory.Clauses), theory.Name)
	}
	checkOwn(t, theory)
	d, err := logic.Compile(t.Context(), theory.Formula())
	if err != nil {
		t.Fatal(err)
	}
	w := make([]logic.Weight, theory.Vars)
	for i := range w {
		w[i] = logic.WeightFromProbability(0.5)
	}
	for v := range theory.Vars {
		w[v] = logic.WeightFromProbability(1)
		m := make([]float64, theory.Vars)
		if !d.Marginals(w, m) {
			t.Fatalf("synset %d cannot hold", v+1)
		}
		for _, c := range theory.Clauses {
			if c[0] == -(v+1) && c[1] > 0 && m[c[1]-1] != 1 {
				t.Errorf("synset %d holds and %d above it need not", v+1, c[1])
			}
		}
		w[v] = logic.WeightFromProbability(0.5)
	}
}

func TestDisagreement(t *testing.T) {
	a := &Answer{WMC: [2]float64{0.25, 1e-200}, Models: "1000000000001"}
	for _, c := range []struct {
		b    *Answer
		want string
	}{
		{&Answer{WMC: [2]float64{0.25 * (1 + 1e-10), 1e-200}, Models: "1000000000000.0"}, ""},
		{&Answer{WMC: [2]float64{0.25, 1e-200}}, ""},
		{&Answer{WMC: [2]float64{0.25, 0}}, "weighted count is 0 and not 1e-200"},
		{&Answer{WMC: [2]float64{0.25 * (1 + 1e-8), 1e-200}}, "weighted count is"},
		{&Answer{WMC: a.WMC, Models: "1000000010001"}, "it counts 1000000010001 models"},
		{&Answer{WMC: a.WMC, Models: "inf"}, "its number of models is inf"},
	} {
		if got := disagreement(a, c.b); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%+v: %q, want %q", c.b, got, c.want)
		}
	}
}

// Work is repeated for a batch, also where its first time is much longer than the others.
func TestRepeated(t *testing.T) {
	calls := 0
	got, err := repeated(func() error {
		if calls++; calls == 1 {
			for begin := processor(); processor() < begin+0.09; {
			}
		}
		return nil
	})
	if err != nil || got <= 0 || got > 0.001 {
		t.Errorf("%g, %v", got, err)
	}
	const each = 0.003
	if got, err = repeated(func() error {
		for begin := processor(); processor() < begin+each; {
		}
		return nil
	}); err != nil || got < each || got > 5*each {
		t.Errorf("%g for what takes %g, %v", got, each, err)
	}
	failure := errors.New("no")
	if _, err := repeated(func() error { return failure }); err != failure {
		t.Errorf("%v", err)
	}
}

// Limits end modellog's part with a line that says so.
func TestLimits(t *testing.T) {
	big := grid(26)
	big.weigh(1, -1)
	for want, l := range map[string]Limits{
		"not in 300ms":                 {Time: 300 * time.Millisecond, Memory: 1 << 40},
		"formula too large to compile": {Time: time.Minute, Memory: 2 << 20},
	} {
		o := &own{theory: big, limits: l}
		begin := time.Now()
		if _, err := o.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) || time.Since(begin) > 20*time.Second {
			t.Errorf("%+v: %v after %v", l, err, time.Since(begin))
		}
	}
}

// installed are the peers that an environment has.
func installed(t *testing.T) []*Peer {
	cache, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	python := filepath.Join(cache, "bench", "peers", "bin", "python")
	var have []*Peer
	for _, p := range Peers() {
		if err := exec.Command(python, "-c", "import "+p.Kind).Run(); err == nil {
			p.Python = python
			have = append(have, p)
		}
	}
	if len(have) == 0 {
		t.Skip("no peer is installed; make bench-exact installs them")
	}
	return have
}

// The largest taxonomy is compiled within the default limit. ProbLog 2.3.0 gives its first weighted count as
// 2.09167212179e-09 (d-DNNF by dsharp, of these clauses and weights).
func TestOrganisms(t *testing.T) {
	db := openWordNet(t)
	f := Taxonomies(db)
	theory, err := f.Theory(f.Sizes[len(f.Sizes)-1], 1)
	if err != nil {
		t.Fatal(err)
	}
	d, err := logic.Compile(t.Context(), theory.Formula())
	if err != nil {
		t.Fatal(err)
	}
	w := make([]logic.Weight, theory.Vars)
	for v, p := range theory.Weights[0] {
		w[v] = logic.WeightFromProbability(p)
	}
	const want = 2.09167212179e-09
	if got := d.WMC(w); math.Abs(got/want-1) > 1e-11 {
		t.Errorf("%s of %d variables: WMC %.12g, want %.12g", theory.Name, theory.Vars, got, want)
	}
}

// The peers that are installed count what modellog counts, in each of their settings; one that is broken is a line that
// says why.
func TestPeers(t *testing.T) {
	have := installed(t)
	broken := &Peer{Kind: "none", Name: "broken", Settings: []string{""}, Python: have[0].Python}
	var families []*Family
	for _, f := range Families() {
		f.Sizes = map[string][]int{"grid": {4}, "spaced": {12}, "order": {4}}[f.Name]
		families = append(families, f)
	}
	o := Options{Families: families, Peers: append(have, broken), Limits: Limits{Time: 30 * time.Second, Memory: 4 << 30}, Repeats: 1, Seed: 3, Tell: t.Logf}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	settings := 0
	for _, l := range r.Lines {
		if ok := l.Name != "broken"; l.OK() != ok {
			t.Errorf("%s", l)
		}
		if l.Name == "broken" && !strings.Contains(l.Why, "exit status") {
			t.Errorf("%s", l)
		}
		settings++
	}
	if want := 3 * 3; settings < want {
		t.Errorf("%d lines", settings)
	}
	dir := t.TempDir()
	if err := r.Save(dir, bench.NewCircumstances("test", "v9.9-test", 1), o); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{"exact.txt": {"v9.9-test", "grid of 4 × 4", "missing: exit status"}, "exact.csv": {"compile_and_count_seconds", "order of 4,6,8,0,modellog"}} {
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

// A setting that was left out for being slower is asked where its peer finishes in no other, and only there.
func TestAskedAgain(t *testing.T) {
	have := installed(t)
	o := Options{Peers: have, Limits: Limits{Time: 30 * time.Second, Memory: 4 << 30}, Repeats: 1, Seed: 3, Tell: t.Logf}
	theory, err := Families()[2].Theory(4, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []string{unfinished, ""} {
		out := map[string]string{}
		for _, p := range have {
			out[p.Name+", "+p.Settings[0]] = first
			for _, s := range p.Settings[1:] {
				out[p.Name+", "+s] = "another was faster"
			}
		}
		lines, err := o.theory(t.Context(), theory, out, func(map[string]string) {})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines[1:] {
			if slow := out[l.Name+", "+l.Setting] == "another was faster"; l.OK() == (slow == (first == "")) {
				t.Errorf("the first setting of each %q, %s", first, l)
			}
		}
		leave(lines, out)
		for key, why := range out {
			if first == unfinished && why == "another was faster" {
				t.Errorf("%s was asked, and counts as %s", key, why)
			}
		}
	}
}

// A run that is interrupted has what there was by then.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	families := Families()[:1]
	o := Options{Families: families, Limits: Limits{Time: time.Minute, Memory: 1 << 30}, Repeats: 2, Seed: 1, Tell: func(string, ...any) { cancel() }}
	r, err := Run(ctx, o)
	if err == nil || r.Ended == "" || len(r.Lines) != 2 || !r.Lines[0].OK() || r.Lines[1].OK() {
		t.Errorf("%v, %q, %v", err, r.Ended, r.Lines)
	}
	if c := r.Comparisons(); len(c) != 2 || !c[0].Whole || c[1].Whole {
		t.Errorf("the first is whole, the second is not: %v", c)
	}
}

// What did not finish a theory, and what is much slower than another setting, is not asked for the next.
func TestLeave(t *testing.T) {
	line := func(name, setting string, seconds float64) *Line {
		l := &Line{Name: name, Setting: setting}
		if seconds > 0 {
			l.Seconds = []float64{seconds}
		} else {
			l.Why = "not in time"
		}
		return l
	}
	out := map[string]string{}
	if leave([]*Line{line("a", "x", 1), line("a", "y", 4), line("a", "z", 9), line("b", "", 0), line("c", "", 20)}, out) || len(out) != 2 || out["a, z"] == "" || out["b, "] == "" {
		t.Errorf("%v", out)
	}
	if !leave([]*Line{line("a", "x", 0)}, map[string]string{}) {
		t.Error("all are out, and it goes on")
	}
}
