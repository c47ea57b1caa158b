package lang

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/plots"
)

// runs are a session with runs of two schemas, whose figures are made up.
func runs(t *testing.T) *Session {
	t.Helper()
	s := New(Options{Dir: t.TempDir()})
	err := s.Eval(context.Background(), "", "implication(x, a, b) = M(x, a) -> M(x, b)\nnegation(x, y, a) = M(x, a) xor M(y, a)", func(Result) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	cal := func(p float64) calibrate.Calibration {
		return calibrate.Calibration{Method: calibrate.NucleusEntropy, P: p}
	}
	s.keep(&Run{Schema: "implication(x, a, b)", Path: "/f", Scored: 10, CAcc: calibrate.Exact(0.1), Calibration: cal(0.8), Model: &lm.Info{Name: "gemma3:270m-pt", Parameters: 268e6}})
	for i, p := range []float64{0.8, 0.85, 0.9, 0.95} { // the first in place of the one before
		s.keep(&Run{
			Schema: "implication(x, a, b)", Path: "/f", Scored: 10, CAcc: calibrate.Exact(0.70 + 0.02*float64(i)), WMC: calibrate.Exact(0.2 + 0.1*float64(i)), Rho: calibrate.Exact(0.1 * float64(i)), Info: 0.415,
			Rhos: []Interval{calibrate.Exact(-0.5), calibrate.Exact(0.5)}, Calibration: cal(p), Model: &lm.Info{Name: "gemma3:270m-pt", Parameters: 268e6},
		})
	}
	s.keep(&Run{
		Schema: "implication(x, a, b)", Path: "/f", Scored: 10, CAcc: Interval{Lo: 0.5, Hi: 0.6}, Rho: calibrate.Exact(0.3), Info: 0.415,
		Rhos: []Interval{calibrate.Exact(0.25)}, Calibration: cal(0.95), Model: &lm.Info{Name: "smollm2:135m-instruct", Parameters: 135e6},
	})
	s.keep(&Run{ // another method, which is not averaged with the others
		Schema: "implication(x, a, b)", Path: "/f", Scored: 10, CAcc: calibrate.Exact(0), Rhos: []Interval{calibrate.Exact(-1)},
		Calibration: calibrate.Calibration{Method: calibrate.Raw}, Model: &lm.Info{Name: "smollm2:135m-instruct", Parameters: 135e6},
	})
	s.keep(&Run{
		Schema: "negation(x, y, a)", Path: "/g", Scored: 4, CAcc: calibrate.Exact(0.25), Rho: calibrate.Exact(-0.2), Info: 1,
		Rhos:        []Interval{calibrate.Exact(-0.9), calibrate.Exact(0.3), calibrate.Exact(-0.1), calibrate.Exact(-0.1)},
		Calibration: cal(0.95), Model: &lm.Info{Name: "gemma3:270m-pt", Parameters: 268e6},
	})
	return s
}

func TestMeasuredValues(t *testing.T) {
	s := runs(t)
	if len(s.runs) != 7 {
		t.Fatalf("%d runs are kept", len(s.runs))
	}
	p := &scalingPanel{about: map[string]string{"quantity": "CAcc"}, values: []panelValue{{family: "Gemma-3"}}}
	got, err := s.measuredValues(s.runs[:6], p, "")
	if err != nil {
		t.Fatal(err)
	}
	// The mean of 70, 72, 74, 76 and their sample standard deviation, √(20/3).
	std := math.Sqrt(20.0 / 3)
	want := []panelValue{
		{model: "gemma3:270m-pt", family: "Gemma-3", size: 268e6, value: 73, std: std, bar: plots.Range{Lo: 73 - std, Hi: 73 + std}, shown: "73.0 ± 2.6", ps: []float64{0.8, 0.85, 0.9, 0.95}},
		{model: "smollm2:135m-instruct", family: "smollm2", size: 135e6, value: 55, bar: plots.Range{Lo: 50, Hi: 60}, shown: "50.0 … 60.0", ps: []float64{0.95}},
	}
	for i, w := range want {
		g := got[i]
		if math.Abs(g.value-w.value) > 1e-9 || math.Abs(g.std-w.std) > 1e-9 || math.Abs(g.bar.Lo-w.bar.Lo) > 1e-9 || math.Abs(g.bar.Hi-w.bar.Hi) > 1e-9 {
			t.Errorf("got %+v, want %+v", g, w)
		}
		if g.model != w.model || g.family != w.family || g.size != w.size || g.shown != w.shown || !slices.Equal(g.ps, w.ps) || g.table != "" {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
	for score, want := range map[string]float64{"rho": 0.15, "wmc": 0.35, "cacc": 0.73} {
		p := &scalingPanel{about: map[string]string{"quantity": "P1"}, unit: "1"}
		got, err := s.measuredValues(s.runs[:6], p, score)
		if err != nil || math.Abs(got[0].value-want) > 1e-12 {
			t.Errorf("mean %s is %+v (%v)", score, got, err)
		}
	}
	for q, want := range map[string]string{"P1": `this is a curve of "P1"; quantity=… chooses one, or say what measures it, as in P1=wmc(SCHEMA)`, "": `a curve of ""`} {
		p.about["quantity"] = q
		if _, err := s.measuredValues(s.runs, p, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", q, err)
		}
	}
}

func TestFamilyOf(t *testing.T) {
	p := &scalingPanel{values: []panelValue{{family: ""}, {family: "Gemma-3"}, {family: "Llama-3"}, {family: "Qwen2.5"}}}
	for model, want := range map[string]string{
		"gemma3:270m-pt": "Gemma-3", "llama3.2:1b": "Llama-3", "qwen2.5:0.5b": "Qwen2.5", "smollm2:135m-instruct": "smollm2",
		"gguf:/models/gemma-3-1b.gguf": "Gemma-3", "hf.co/x/Llama-3.2-3B": "Llama-3", "mine": "mine", "gguf:/models/mine.gguf": "mine",
	} {
		if got := familyOf(model, p); got != want {
			t.Errorf("%s is of the family %q, not %q", model, got, want)
		}
	}
}

// TestInformative: a run's place is its mean I and ρ, its bar the quartiles.
func TestInformative(t *testing.T) {
	s := runs(t)
	p, err := s.runs[6].informative()
	if err != nil || p.Info != 1 || p.Rho != plots.Exactly(-0.2) || p.Middle != (plots.Range{Lo: -0.1, Hi: -0.1}) {
		t.Errorf("%+v %v", p, err)
	}
	r := &Run{Info: 0.4, Rho: calibrate.Exact(0)}
	for i := range 101 {
		r.Rhos = append(r.Rhos, calibrate.Exact(-float64((i*37)%101)/100))
	}
	if p, err := r.informative(); err != nil || p.Middle != (plots.Range{Lo: -0.75, Hi: -0.25}) {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := (&Run{Schema: "f(x)"}).informative(); err == nil {
		t.Error("a run without scores has a place")
	}
}

const table = `table,model,family,size,subset,quantity,unit,value,std
Paper Table 2,Gemma-3-270M,Gemma-3,270000000,Forward Implication,CAcc,%,79.7,0.5
Paper Table 2,Gemma-3-1B,Gemma-3,1000000000,Forward Implication,CAcc,%,65.1,1.5
Paper Table 2,Gemma-3-270M,Gemma-3,270000000,Negation Consistency,CAcc,%,18.5,1.4
Paper Table 2,GPT,GPT,,Negation Consistency,CAcc,%,99,
,mine,mine,500000000,Negation Consistency,CAcc,%,20,
`

const table6 = `table,model,family,size,subset,quantity,unit,value,std
Paper Table 6,Gemma-3-270M,Gemma-3,270000000,Forward Implication,P1,,0.530,0.03
Paper Table 6,Gemma-3-270M,Gemma-3,270000000,Forward Implication,P2-P1,,0.17,0.01
Paper Table 6,Gemma-3-270M,Gemma-3,270000000,Forward Implication,P2>P1,%,64.7,0.2
`

// scale draws a scaling curve of the session's runs and a file, and returns its title.
func scale(s *Session, words string) (*plots.Figure, error) {
	u, c, all, err := wordsOf(s, "%plot scaling "+words)
	if err != nil {
		return nil, err
	}
	return s.plotScaling(u, c, all[1:])
}

func wordsOf(s *Session, src string) (*unit, *syntax.Command, []syntax.Word, error) {
	p, err := syntax.NewParser("", src)
	if err != nil {
		return nil, nil, nil, err
	}
	stmt, err := p.Next()
	if err != nil {
		return nil, nil, nil, err
	}
	c := stmt.(*syntax.Command)
	all, err := c.Words()
	return &unit{src: p.Source(), dir: s.opts.Dir}, c, all, err
}

func TestScaling(t *testing.T) {
	s := runs(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(s.opts.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("table.csv", table)
	write("bom.csv", "\uFEFF"+strings.ReplaceAll(table, "\n", "\r\n"))
	write("tabs.tsv", strings.ReplaceAll(table, ",", "\t"))
	write("table6.csv", table6)
	write("bare.csv", "size,value\n1e9,0.5\n")
	write("nosize.csv", "model,value\nm,1\n")
	write("text.csv", "size,value\n1e9,high\n")
	write("short.csv", "size,value,std\n1e9,1\n")
	write("minus.csv", "size,value,std\n1e9,1,-1\n")
	write("novalue.csv", "size,value\n1e9,\n")
	write("nothing.csv", "size,value\n,1\n")
	write("empty.csv", "")
	var many strings.Builder
	many.WriteString("size,value,subset\n")
	for i := range 13 {
		fmt.Fprintf(&many, "1e9,1,s%d\n", i)
	}
	write("many.csv", many.String())
	for words, want := range map[string]string{
		"table.csv":                              "Paper Table 2",
		"bom.csv":                                "Paper Table 2",
		"tabs.tsv":                               "Paper Table 2",
		"bare.csv":                               "scaling",
		`table.csv subset="forward implication"`: "Forward Implication · Paper Table 2",
		`table.csv "subset=Forward Implication"`: "Forward Implication · Paper Table 2",
		`table.csv implication subset="Forward Implication"`:                          "Forward Implication · Paper Table 2",
		`table.csv implication="Forward Implication" negation="Negation Consistency"`: "Paper Table 2",
		"implication":                                           "implication · CAcc",
		"implication negation":                                  "CAcc",
		"implication quantity=rho":                              "implication · ρ",
		"P1=wmc(implication) Δ=rho(negation)":                   "scaling",
		`table6.csv P1=wmc(implication) p2-p1=rho(implication)`: "Forward Implication · Paper Table 6",
	} {
		f, err := scale(s, words)
		if err != nil || f.Title() != want {
			t.Errorf("%s: %v; want the title %q", words, err, want)
			if f != nil {
				t.Errorf("it is %q", f.Title())
			}
		}
	}
	for words, want := range map[string]string{
		"":                                    "a plot was given something else",
		"subset=x":                            "a plot was given something else",
		"nosize.csv":                          `the columns of .* are "model", "value"; it needs "size"`,
		"text.csv":                            `line 2 does not have a number in the column "value" but "high"`,
		"short.csv":                           "line 2 has 2 fields for 3 columns",
		"minus.csv":                           "a standard deviation below 0",
		"novalue.csv":                         "line 2 has no value",
		"nothing.csv":                         "there is nothing in it with a size",
		"empty.csv":                           "has no line of columns",
		"many.csv":                            "these are 13 curve plots, and a figure has room for 12; choose some by subset=…",
		"table.csv subset=Forward":            `there is no subset "Forward"`,
		"table.csv subset=ForwardImplication": `did you mean "Forward Implication"`,
		"table.csv colour=red":                `no file has a column "colour"; there are subset, quantity`,
		"table.csv implication":               `say which subset the schema measures: implication="…"; there are Forward Implication, Negation Consistency`,
		"table.csv implication=x":             `there is no subset "x"`,
		"table.csv model=Gemma-3-1C":          `there is no model "Gemma-3-1C"; did you mean "Gemma-3-1B"?`,
		"table.csv implicatoin":               `did you mean "implication"`,
		"bare.csv implication":                `this is a curve of ""`,
		"implication quantity=P1":             `this is a curve of "P1"`,
		"table6.csv P1=wmc(implicatoin)":      `did you mean "implication"`,
		"table6.csv P2-P2=rho(implication)":   `there is no quantity "P2-P2"; did you mean "P2-P1"?`,
		"table6.csv P1=loss(implication)":     `no file has a column "P1"; there are subset, quantity`,
		"table.csv CAcc=cacc(implication)":    `2 curves are of CAcc; choose one by subset=…`,
	} {
		_, err := scale(s, words)
		if err == nil || !matches(want, err.Error()) {
			t.Errorf("%s: %v; want %q", words, err, want)
		}
	}
	other := *s.runs[0]
	other.Path, other.File, s.runs[0].File = "/h", "h.csv", "f.csv"
	s.keep(&other)
	if _, err := scale(s, "implication"); err == nil || !strings.Contains(err.Error(), "implication was run on f.csv and on h.csv") {
		t.Errorf("two files: %v", err)
	}
}

// TestScalingTables: what two tables say of the same models is not one curve.
func TestScalingTables(t *testing.T) {
	s := New(Options{Dir: t.TempDir()})
	again := strings.ReplaceAll(strings.ReplaceAll(table, "Paper Table 2", "Paper Table 3"), ",79.7,", ",75.4,")
	for name, text := range map[string]string{"table.csv": table, "again.csv": again} {
		if err := os.WriteFile(filepath.Join(s.opts.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	curves := func(words string) []string {
		u, _, all, err := wordsOf(s, "%plot scaling "+words)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.gather(u, all[1:])
		if err != nil {
			t.Fatal(err)
		}
		var families []string
		for _, x := range g.curves()[0].Points {
			if !slices.Contains(families, x.Family) {
				families = append(families, x.Family)
			}
		}
		return families
	}
	if got := curves(`table.csv again.csv subset="Forward Implication"`); !slices.Equal(got, []string{"Gemma-3, Paper Table 2", "Gemma-3, Paper Table 3"}) {
		t.Errorf("the curves are of %q", got)
	}
	if got := curves("table.csv"); !slices.Equal(got, []string{"Gemma-3"}) {
		t.Errorf("the curves are of %q", got)
	}
}

func matches(pattern, s string) bool {
	for i, part := range strings.Split(pattern, ".*") {
		at := strings.Index(s, part)
		if at < 0 || i > 0 && at == 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return true
}

// TestPublishedTables draws every table that has sizes, by the README's words.
func TestPublishedTables(t *testing.T) {
	s := New(Options{Dir: "../notebooks/published"})
	files, err := filepath.Glob("../notebooks/published/modellog-table*.csv")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files (%v)", len(files), err)
	}
	drawn := 0
	for _, file := range files {
		words := filepath.Base(file)
		if strings.Contains(words, "table08") {
			words += " quantity=rho"
		}
		f, err := scale(s, words)
		if err != nil {
			if !slices.ContainsFunc([]string{"table01", "table04", "table05"}, func(n string) bool { return strings.Contains(words, n) }) {
				t.Errorf("%s: %v", words, err)
			}
			continue
		}
		if _, err := f.SVG(); err != nil {
			t.Errorf("%s: %v", words, err)
		}
		drawn++
	}
	if drawn != 9 {
		t.Errorf("%d tables have curves", drawn)
	}
}

func FuzzPoints(f *testing.F) {
	for _, text := range []string{table, "size,value\n1,2\n", "", "size,value,\"\n", "\uFEFFsize,value\r\n1e400,NaN\n", "size,size,value,value\n1,2,3,4\n"} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "points.csv")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if fig, err := scale(New(Options{Dir: dir}), "points.csv"); err == nil {
			if svg, err := fig.SVG(); err != nil || strings.Contains(string(svg), "NaN") {
				t.Fatalf("%v, or NaN", err)
			}
		}
	})
}
