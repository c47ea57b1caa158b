// Package examples_test runs the example programs. Each has its expected output
// beside it; numbers may differ in the last digits from machine to machine.
package examples_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/notebooks/published"
)

// model opens gemma3:270m-pt once for all tests.
var model = sync.OnceValues(func() (lm.Model, error) {
	cache, err := store.CacheDir()
	if err != nil {
		return nil, err
	}
	return gguf.Open(context.Background(), modeltest.Gemma.Find(), gguf.Options{
		Name: modeltest.Gemma.Name, Digest: modeltest.Gemma.SHA256, Precision: gguf.Exact, CacheDir: cache, Threads: 1,
	})
})

func TestMain(m *testing.M) {
	code := m.Run()
	if modeltest.Gemma.Find() != "" {
		if m, err := model(); err == nil {
			m.Close()
		}
	}
	os.Exit(code)
}

// newSession starts a session whose model is gemma3:270m-pt; a test that asks it
// is skipped where it is missing.
func newSession(t *testing.T) *lang.Session {
	return lang.New(lang.Options{
		Model: modeltest.Gemma.Name,
		Dir:   t.TempDir(),
		Open: func(context.Context, string) (lm.Model, error) {
			modeltest.Gemma.Path(t)
			m, err := model()
			if err != nil {
				return nil, err
			}
			return lm.Kept(m), nil
		},
	})
}

// run evaluates a program and returns what a user sees, and the results.
func run(t *testing.T, name string) (string, []lang.Result) {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	var results []lang.Result
	err = newSession(t).Eval(t.Context(), name, string(src), func(r lang.Result) error {
		text := r.Text(lang.Style{})
		if n, ok := r.(*lang.Note); ok && n.What == "saved" {
			text = "/…/" + filepath.Base(n.Path)
		}
		out = append(out, text)
		results = append(results, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n\n") + "\n", results
}

// TestExamples compares each program's output with the file of its name that ends
// in .out. UPDATE_EXAMPLES=1 writes these files anew.
func TestExamples(t *testing.T) {
	programs, err := filepath.Glob("*.logic")
	if err != nil || len(programs) < 4 {
		t.Fatal(programs, err)
	}
	for _, program := range programs {
		t.Run(program, func(t *testing.T) {
			got, results := run(t, program)
			expected := strings.TrimSuffix(program, ".logic") + ".out"
			if os.Getenv("UPDATE_EXAMPLES") != "" {
				if err := os.WriteFile(expected, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(expected)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, got, string(want))
			for _, r := range results {
				if n, ok := r.(*lang.Note); ok && n.What == "saved" {
					if b, err := os.ReadFile(n.Path); err != nil || !strings.Contains(string(b), "<svg") {
						t.Errorf("%s is no figure: %v", n.Path, err)
					}
				}
			}
		})
	}
}

var numeral = regexp.MustCompile(`[-+]?\d[\d,]*(\.\d+)?(e[-+]\d+)?`)

// compare insists on the same words in the same order, and on numbers that agree to one
// per cent or two units of their last digit.
func compare(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		t.Fatalf("%d lines for %d:\n%s", len(g), len(w), got)
	}
	for i := range g {
		words := func(s string) string { return strings.Join(strings.Fields(numeral.ReplaceAllString(s, "#")), " ") }
		if words(g[i]) != words(w[i]) {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, g[i], w[i])
			continue
		}
		ns, ms := numeral.FindAllString(g[i], -1), numeral.FindAllString(w[i], -1)
		for j := range ns {
			x, _ := strconv.ParseFloat(strings.ReplaceAll(ns[j], ",", ""), 64)
			y, _ := strconv.ParseFloat(strings.ReplaceAll(ms[j], ",", ""), 64)
			if math.Abs(x-y) > max(0.01*math.Abs(y), 2*unit(ms[j])) {
				t.Errorf("line %d: %s for %s:\n got %s\nwant %s", i+1, ns[j], ms[j], g[i], w[i])
			}
		}
	}
}

// unit is what a number's last digit is worth.
func unit(s string) float64 {
	mantissa, exp, _ := strings.Cut(s, "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exp)
	return math.Pow10(e - len(decimals))
}

// TestTable8 holds the events of table8.logic against Eq. 4 over the reference's readings, to
// two digits, and shows them beside the published figures.
func TestTable8(t *testing.T) {
	figures, err := published.Table("ModelLog Table 8")
	if err != nil {
		t.Fatal(err)
	}
	printed := map[string]float64{} // by the event's word
	for _, f := range figures {
		word, ok := map[string]string{"P1": "premise", "P2": "conclusion"}[f.Quantity] // and ρ, of both
		if ok && f.Model == "Gemma-3-270M" {
			printed[f.Other[word]] = f.Value
		}
	}
	want := map[string]float64{}
	for _, r := range modeltest.Gemma.Readings(t) {
		for _, target := range r.Targets {
			p := math.Exp(target.LogProb)
			odds := p / (1 - p) * math.Exp(r.Nucleus["0.95"].Entropy)
			want[r.Prefix+target.Text] = odds / (1 + odds)
		}
	}
	_, results := run(t, "table8.logic")
	seen := 0
	for _, r := range results {
		report, ok := r.(*lang.Report)
		if !ok {
			continue
		}
		for _, e := range report.Events {
			w, ok := want[e.Prefix+" "+e.Target]
			p := e.Tokens[0].EventP
			if !ok || len(e.Tokens) != 1 || !p.IsExact() {
				t.Fatalf("%+v", e)
			}
			if _, ok := printed[e.Name]; !ok {
				t.Errorf("Table 8 has no %s", e.Name)
			}
			seen++
			t.Logf("%-10s %.4f, reference %.4f, published %.2f", e.Name, p.Lo, w, printed[e.Name])
			if math.Abs(p.Lo-w) > 0.005 {
				t.Errorf("%s is %.4f, want %.4f", e.Name, p.Lo, w)
			}
		}
	}
	if seen != len(printed) || seen != 10 {
		t.Errorf("%d events for %d", seen, len(printed))
	}
}
