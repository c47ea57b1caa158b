package probct_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/store/readings"
)

// suite writes a suite of the published schemas with few rows into a folder.
func suite(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"suite.logic": probct.Logic + "\nown(p, q) = prob(p) | prob(q)\n",
		// A byte-order mark, CRLF, and rows that cannot be measured.
		"transitivity.csv": "\uFEFFx1,y1,x2,y2\r\nA poodle is a,dog,Every dog is a,mammal\r\nA robin is a,bird,,animal\r\nA sparrow is a,bird,Every bird is an,animal\r\n",
		"forward_implication.jsonl": `{"id":"a","x":"A robin is a type of","y1":"bird","y2":"animal","facts":[]}
{"id":"b","x":"Mango is a type of","y1":"fruit","y2":"food"}
{"id":"c","x":"Mango is a type of","y1":"qqzzxyk fruit","y2":"food"}
{"id":"d","x":"Oak is a type of","y1":"tree"}
{"id":"e","x":"Oak is a type of","y1":"tree","y2":"plant"}
`,
		"negation_consistency.jsonl": `{"x":"A robin is a type of","not_x":"A robin is not a type of","y":"bird"}
{"x":"Mango is a type of","not_x":"Mango is not a type of","y":"fruit"}
`,
		"mutual_exclusivity.jsonl": `{"x":"A robin is a type of","y1":"bird","y2":"fish"}
`,
		"spatial_exclusivity.jsonl": `{"x":"Paris is in","y1":"France","y2":"Germany"}
`,
		"own.tsv": "p\tq\n0.5\t0.25\n0.1\t0.2\n1\t0\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// session starts a session that opens the reference models, with a cache of readings.
func session(t testing.TB, cache string) *lang.Session {
	t.Helper()
	dir, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := readings.Open(context.Background(), cache, readings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := lang.New(lang.Options{
		Cache: kept,
		Open: func(ctx context.Context, name string) (lm.Model, error) {
			for _, r := range modeltest.All {
				if r.Name == name {
					return gguf.Open(ctx, r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Exact, CacheDir: dir, Threads: 1})
				}
			}
			return nil, fmt.Errorf("there is no model %q", name)
		},
	})
	t.Cleanup(func() { s.Close(); kept.Close() })
	return s
}

func load(t testing.TB, dir string) *probct.Suite {
	t.Helper()
	s, err := probct.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a run says of each row is what a report of the row's formula says, and its means are the
// means of those.
func TestRun(t *testing.T) {
	s := session(t, t.TempDir())
	out := filepath.Join(t.TempDir(), "run")
	dir := suite(t)
	results, err := probct.Run(t.Context(), s, load(t, dir), []string{modeltest.SmolLM.Name}, out, probct.RunOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string][4]int{}
	for _, g := range results[0].Subsets {
		counts[g.Name] = [4]int{g.Rows, g.Scored, g.Multi, g.Bad}
	}
	if diff := cmp.Diff(map[string][4]int{
		"transitivity": {3, 2, 0, 1}, "forward_implication": {5, 3, 1, 1}, "negation_consistency": {2, 2, 0, 0},
		"mutual_exclusivity": {1, 1, 0, 0}, "spatial_exclusivity": {1, 1, 0, 0}, "own": {3, 3, 0, 0},
	}, counts); diff != "" {
		t.Error(diff)
	}
	if b := results[0].Subsets[0].BadRows; len(b) != 1 || b[0].Line != 3 || b[0].Why != `"x2" is empty` {
		t.Errorf("%+v", b)
	}

	run, err := probct.OpenRun(out)
	if err != nil {
		t.Fatal(err)
	}
	type sums struct {
		cacc, facts, wmc, delta float64
		n                       int
	}
	total := map[string]*sums{}
	cal := calibrate.Calibration{Method: calibrate.NucleusEntropy, P: 0.9}
	if err := s.SetCalibration(cal); err != nil {
		t.Fatal(err)
	}
	if err := run.Rows(modeltest.SmolLM.Name, func(m *probct.Measured) error {
		if m.Status != probct.StatusMeasured {
			return nil
		}
		u := m.Under(cal)
		args := make([]string, len(m.Values))
		for i, v := range m.Values {
			if args[i] = fmt.Sprintf("%q", v); m.Subset == "own" {
				args[i] = v
			}
		}
		report := func(schema string, args []string) *lang.Report {
			var out *lang.Report
			if err := s.Eval(t.Context(), "", schema+"("+strings.Join(args, ", ")+")", func(r lang.Result) error {
				if rep, ok := r.(*lang.Report); ok {
					out = rep
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return out
		}
		want := report(m.Subset, args)
		if math.Abs(u.WMC[0]-want.WMC.Lo) > 1e-4 || u.Verdict != want.CAcc.String() {
			t.Errorf("%s:%d: WMC %v, %s; the report has %v, %v", m.Subset, m.Line, u.WMC, u.Verdict, want.WMC, want.CAcc)
		}
		if total[m.Subset] == nil {
			total[m.Subset] = &sums{}
		}
		x := total[m.Subset]
		x.n++
		x.wmc += u.WMC[0]
		if u.Verdict == "consistent" {
			x.cacc++
		}
		if u.FactsVerdict == "consistent" {
			x.facts++
		}
		p := 1.0
		for _, e := range u.EventP[:len(u.EventP)-1] {
			p *= e[0]
		}
		x.delta += u.EventP[len(u.EventP)-1][0] - p
		if m.Subset == probct.ForwardImplication { // ∂/∂P₁ of P₁ → P₂ is −(1 − P₂)
			if g := u.Gradient[0][0]; math.Abs(g+1-u.EventP[1][0]) > 1e-9 {
				t.Errorf("%s:%d: ∂WMC/∂P₁ = %v with P₂ = %v", m.Subset, m.Line, g, u.EventP[1])
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	k := slices.Index(probct.Calibrations(), cal)
	for _, g := range results[0].Subsets {
		x, a := total[g.Name], g.Under[k]
		n := float64(x.n)
		for _, v := range []struct {
			what      string
			got, want float64
		}{{"CAcc", a.CAcc.Lo, x.cacc / n}, {"facts", a.FactsCAcc.Lo, x.facts / n}, {"WMC", a.WMC.Lo, x.wmc / n}, {"Δ", a.Delta.Lo, x.delta / n}} {
			if v.what == "facts" && g.Facts == "" {
				v.want = math.NaN()
			}
			if !(math.Abs(v.got-v.want) < 1e-9 || math.IsNaN(v.got) && math.IsNaN(v.want)) {
				t.Errorf("%s: %s %v, and from the rows %v", g.Name, v.what, v.got, v.want)
			}
		}
	}

	// The table that other programs read has the same figures.
	figures := foldertest.Figures(t, out)
	// CAcc of forward implication is in many tables: each time a line says which one.
	seen := map[string]bool{}
	under := map[string]string{}
	for _, x := range figures {
		id := fmt.Sprintf("%q", []string{x.Other["in"], x.Table, x.Model, x.Subset, x.Quantity, x.Other["calibration"]})
		if seen[id] {
			t.Errorf("tables.csv, line %d: two figures are %s", x.Line, id)
		}
		seen[id] = true
		if x.Model == modeltest.SmolLM.Name && x.Subset == "Forward Implication" && x.Quantity == "CAcc" {
			under[x.Other["in"]] = x.Other["calibration"]
		}
	}
	want := map[string]string{
		"Tables 2 and 10": "nucleus-entropy", "Tables 3 and 6": "nucleus-entropy", "Table 9": "nucleus-entropy",
		"Table 11": "entropy", "Table 12": "nucleus-size", "": "raw",
	}
	if diff := cmp.Diff(want, under); diff != "" {
		t.Errorf("tables.csv has other figures of the measured CAcc of forward implication (-want +got):\n%s", diff)
	}
	for _, name := range []string{"tables.txt", "tables.md", "tables.tex", "figures/histograms.svg", "figures/scaling.svg"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(out, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	// The same again, as Parquet, has the same rows; another run does not write over it.
	if _, err := probct.Run(t.Context(), s, load(t, dir), []string{modeltest.SmolLM.Name}, out, probct.RunOptions{Options: probct.Options{Limit: 1}}); err == nil || !strings.Contains(err.Error(), "choose another folder") {
		t.Errorf("a run of other options: %v", err)
	}
	second := filepath.Join(t.TempDir(), "parquet")
	if _, err := probct.Run(t.Context(), s, load(t, dir), []string{modeltest.SmolLM.Name}, second, probct.RunOptions{Parquet: true}); err != nil {
		t.Fatal(err)
	}
	rows := func(dir string) (all []probct.Measured) {
		r, err := probct.OpenRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Rows(modeltest.SmolLM.Name, func(m *probct.Measured) error { all = append(all, *m); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	if diff := cmp.Diff(rows(out), rows(second), cmp.Comparer(func(a, b []probct.Numbers) bool {
		return slices.EqualFunc(a, b, func(x, y probct.Numbers) bool { return slices.Equal(x, y) })
	}), cmp.Comparer(func(a, b probct.Numbers) bool { return slices.Equal(a, b) }),
		cmp.Comparer(func(a, b []probct.MeasuredUnder) bool { return fmt.Sprint(a) == fmt.Sprint(b) }),
		cmp.Comparer(func(a, b []probct.MeasuredEvent) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
		t.Error(diff)
	}

	// Compared with itself nothing has changed.
	changes, err := probct.Diff(run, modeltest.SmolLM.Name, run, modeltest.SmolLM.Name, probct.DiffOptions{Calibration: cal, Bootstrap: bootstrap.Options{Seed: 1, Resamples: 50}, Examples: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.CAcc != (bootstrap.Interval{}) || c.Rho != (bootstrap.Interval{}) || c.Gained+c.Lost+c.OnlyA+c.OnlyB+len(c.Fallen)+len(c.Risen) > 0 || c.Pairs == 0 {
			t.Errorf("%+v", c)
		}
	}
}

// A finished run is not written over by one of other weights under its model's name, nor by one at another
// precision; the same again is.
func TestRunOtherWeights(t *testing.T) {
	cache, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir, out := suite(t), filepath.Join(t.TempDir(), "run")
	run := func(r modeltest.Reference, precision gguf.Precision) error {
		t.Helper()
		s := lang.New(lang.Options{Open: func(ctx context.Context, name string) (lm.Model, error) {
			return gguf.Open(ctx, r.Path(t), gguf.Options{Name: name, Digest: r.SHA256, Precision: precision, CacheDir: cache, Threads: 1})
		}})
		defer s.Close()
		_, err := probct.Run(t.Context(), s, load(t, dir), []string{"m"}, out, probct.RunOptions{Options: probct.Options{Limit: 1}})
		return err
	}
	files := func() map[string]string {
		t.Helper()
		content := map[string]string{}
		if err := fs.WalkDir(os.DirFS(out), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || path == folder.ManifestFile {
				return err
			}
			b, err := os.ReadFile(filepath.Join(out, path))
			content[path] = string(b)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return content
	}
	if err := run(modeltest.SmolLM, gguf.Exact); err != nil {
		t.Fatal(err)
	}
	before := files()
	if before["rows-m.jsonl"] == "" {
		t.Fatalf("the run has written no rows, but %v", slices.Sorted(maps.Keys(before)))
	}
	for _, c := range []struct {
		model     modeltest.Reference
		precision gguf.Precision
		want      string
	}{
		{modeltest.Gemma, gguf.Exact, "the weights of m have changed since"},
		{modeltest.SmolLM, gguf.Native, "the precision of m was exact and is native"},
	} {
		if err := run(c.model, c.precision); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "choose another folder") {
			t.Errorf("%v, want %q", err, c.want)
		}
		if diff := cmp.Diff(before, files()); diff != "" {
			t.Errorf("the run was written over: %s", diff)
		}
	}
	if err := run(modeltest.SmolLM, gguf.Exact); err != nil {
		t.Error(err)
	}
}

// A run that fails before it has measured anything leaves no folder.
func TestRunLeavesNoFolder(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "runs")
	_, err := probct.Run(t.Context(), session(t, t.TempDir()), load(t, suite(t)), []string{"nobody"}, filepath.Join(parent, "1"), probct.RunOptions{})
	if err == nil || !strings.Contains(err.Error(), `no model "nobody"`) {
		t.Fatal(err)
	}
	if _, err := os.Stat(parent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s was left: %v", parent, err)
	}
}

// A subset none of whose rows can be measured fails, and says why.
func TestAllBad(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"suite.logic": "f(x, y) = M(x, y)", "f.csv": "x,y\nParis is in,\n,France\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := probct.Measure(t.Context(), lang.New(lang.Options{}), load(t, dir), probct.Options{}, func(*probct.Measured) error { return nil })
	if !errors.Is(err, probct.ErrNothingMeasured) || !strings.Contains(err.Error(), `line 2: "y" is empty`) {
		t.Error(err)
	}
}

// coins is a suite that needs no model: two subsets over given probabilities.
func coins(t testing.TB, rows int) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(5, 5))
	var a, b bytes.Buffer
	a.WriteString("p,q\n")
	b.WriteString("p,q\n")
	for range rows {
		fmt.Fprintf(&a, "%.6f,%.6f\n", random.Float64(), random.Float64())
		fmt.Fprintf(&b, "%.6f,%.6f\n", random.Float64(), random.Float64())
	}
	for name, text := range map[string]string{"suite.logic": "imply(p, q) = prob(p) -> prob(q)\nother(p, q) = prob(p) xor prob(q)", "imply.csv": a.String(), "other.csv": b.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// coinRun writes the run of a suite that needs no model, under a model's name.
func coinRun(t testing.TB, suiteDir, model string) *probct.RunFolder {
	t.Helper()
	dir := t.TempDir()
	w, err := probct.CreateRows(filepath.Join(dir, "rows-"+model+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := probct.Measure(t.Context(), lang.New(lang.Options{}), load(t, suiteDir), probct.Options{}, w.Write); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	m := manifest.New("probct run", "")
	m.AddModel(lm.Info{Name: model})
	if err := m.Save(filepath.Join(dir, folder.ManifestFile)); err != nil {
		t.Fatal(err)
	}
	r, err := probct.OpenRun(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The worst rows are those that sorting all of them finds.
func TestWorst(t *testing.T) {
	r := coinRun(t, coins(t, 500), "coins")
	cal := calibrate.Default()
	for _, subset := range []string{"", "imply", "other"} {
		var all []*probct.Measured
		if err := r.Rows("coins", func(m *probct.Measured) error {
			if subset == "" || m.Subset == subset {
				all = append(all, m)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.SortStableFunc(all, func(a, b *probct.Measured) int {
			switch x, y := a.Under(cal).Rho[0], b.Under(cal).Rho[0]; {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
		got, err := r.Worst("coins", subset, cal, 17)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range got {
			if m.Subset != all[i].Subset || m.Line != all[i].Line {
				t.Errorf("%q, place %d: %s:%d, and sorted %s:%d", subset, i, m.Subset, m.Line, all[i].Subset, all[i].Line)
			}
		}
		if len(got) != 17 {
			t.Errorf("%d rows", len(got))
		}
		// Of p → q the blame lies with p if 1 − q > p.
		if subset == "imply" {
			u := got[0].Under(cal)
			want := 0
			if 1-u.EventP[1][0] < u.EventP[0][0] {
				want = 1
			}
			if u.Blame() != want {
				t.Errorf("blame %d of %+v", u.Blame(), u)
			}
		}
	}
	if _, err := r.Worst("coins", "implies", cal, 3); err == nil || !strings.Contains(err.Error(), "imply, other") {
		t.Error(err)
	}
	if _, err := r.Worst("coins", "", calibrate.Calibration{Method: calibrate.NucleusSize, P: 0.5}, 3); err == nil {
		t.Error("rows under a calibration that was not measured")
	}
	if _, err := r.Model("else"); err == nil || !strings.Contains(err.Error(), "coins") {
		t.Error(err)
	}
}

// Differences are those of the rows' own figures.
func TestDiff(t *testing.T) {
	a := coinRun(t, coins(t, 300), "a")
	// The second run has half of the probabilities the other way round.
	dir := coins(t, 300)
	text, err := os.ReadFile(filepath.Join(dir, "imply.csv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i := 1; i < len(lines); i += 2 {
		p, q, _ := strings.Cut(lines[i], ",")
		lines[i] = q + "," + p
	}
	if err := os.WriteFile(filepath.Join(dir, "imply.csv"), []byte(strings.Join(lines[:251], "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := coinRun(t, dir, "b")
	cal := calibrate.Default()
	changes, err := probct.Diff(a, "a", b, "b", probct.DiffOptions{Calibration: cal, Bootstrap: bootstrap.Options{Seed: 42}, Examples: 2})
	if err != nil {
		t.Fatal(err)
	}
	c := changes[0]
	if c.Subset != "imply" || c.Pairs != 250 || c.OnlyA != 50 || c.OnlyB != 0 || len(c.Fallen) != 2 || len(c.Risen) != 2 {
		t.Errorf("%+v", c)
	}
	if math.Abs(c.CAcc.Value-(c.CAccB-c.CAccA)) > 1e-12 || math.Abs(c.CAcc.Value-float64(c.Gained-c.Lost)/250) > 1e-12 || c.CAcc.Lo > c.CAcc.Value || c.CAcc.Hi < c.CAcc.Value {
		t.Errorf("%+v", c)
	}
	// Swapped, ρ of p → q goes from q-1 to p-1 scaled: what falls most falls by the largest difference.
	most := 0.0
	rho := map[int]float64{}
	if err := a.Rows("a", func(m *probct.Measured) error {
		if m.Subset == "imply" {
			rho[m.Line] = m.Under(cal).Rho[0]
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := b.Rows("b", func(m *probct.Measured) error {
		if m.Subset == "imply" {
			most = max(most, rho[m.Line]-m.Under(cal).Rho[0])
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if got := c.Fallen[0].A - c.Fallen[0].B; got != most {
		t.Errorf("fell most by %v, and of all rows by %v", got, most)
	}
	if o := changes[1]; o.Subset != "other" || o.CAcc != (bootstrap.Interval{}) || o.Pairs != 300 {
		t.Errorf("%+v", o)
	}
}

// A damaged file of rows is an error with its line.
func TestReadRowsDamaged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rows-a.jsonl":   `{"subset":"s","line":1,"status":"measured","values":[],"events":[{"prefix":"","token":"","log_p":-1}],"results":[{"method":"raw","c":[],"event_p":[],"grad":[],"wmc":1,"rho":null,"verdict":"consistent"}]}`,
		"rows-b.jsonl":   "{\"subset\":\"s\"}\n{",
		"rows-c.jsonl":   `{"subset":"s","results":[{"wmc":[1,2,3]}]}`,
		"rows-d.parquet": "PAR1 and no more PAR1",
		"rows-e.parquet": "and this is none",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := probct.ReadRows(path, func(*probct.Measured) error { return nil }); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		} else if strings.Contains(err.Error(), "damaged") != (name == "rows-d.parquet") || strings.Contains(err.Error(), "is not a Parquet file") != (name == "rows-e.parquet") {
			t.Error(err)
		}
	}
}

// killed is set in the process that TestKilled starts and kills.
const killed = "MODELLOG_TEST_KILLED_RUN"

// A run that is killed at random moments and started again writes what one writes that is
// left alone.
func TestKilled(t *testing.T) {
	if args := strings.Split(os.Getenv(killed), "\n"); len(args) == 3 {
		s := session(t, args[0])
		if _, err := probct.Run(context.Background(), s, load(t, args[1]), []string{modeltest.SmolLM.Name}, args[2], probct.RunOptions{}); err != nil {
			t.Fatal(err)
		}
		return
	}
	modeltest.SmolLM.Path(t)
	dir := suite(t)
	var rows strings.Builder
	for i := range 160 {
		fmt.Fprintf(&rows, `{"x":"The number %d is a type of","y1":"number","y2":"thing"}`+"\n", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "forward_implication.jsonl"), []byte(rows.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	files := foldertest.Killed(t, func(cache, out string) string {
		return killed + "=" + strings.Join([]string{cache, dir, out}, "\n")
	})
	for _, name := range []string{"tables.txt", "tables.csv", "tables.md", "tables.tex", "figures/histograms.svg", "figures/scaling.svg", "rows-smollm2-135m-instruct.jsonl"} {
		if files[name] == nil {
			t.Errorf("the run has no %s", name)
		}
	}
}
