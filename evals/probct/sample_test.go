package probct_test

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/internal/modeltest"
)

// How far a row that is read again may be from the row in the repository. A prefix's neighbours in its
// batch change the order in which the engine adds, by which log P moves by hundred-thousandths, and but for
// Linux Gemma's by thousandths; the offset C moves with the entropy, and ρ, which is of the size of an event's log-odds, with both.
const (
	sampleLogP   = 0.02
	sampleC      = 0.02
	sampleEventP = 0.005
	sampleRho    = 0.03
)

// The rows in results/sample-*.jsonl, a few of each subset, come out again when the models are asked
// anew: log P, C, event probability, gradient, WMC, ρ, under all calibrations.
func TestShippedSample(t *testing.T) {
	for _, ref := range []modeltest.Reference{modeltest.Gemma, modeltest.SmolLM} {
		t.Run(ref.Name, func(t *testing.T) {
			shipped := map[string][]*probct.Measured{}
			name := strings.Replace(folder.RowsFile(ref.Name, ".jsonl"), "rows-", "sample-", 1)
			if err := probct.ReadRows(filepath.Join("results", name), func(m *probct.Measured) error {
				shipped[m.Subset] = append(shipped[m.Subset], m)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			ref.Path(t)

			// A suite of those lines of the suite's files, in its order.
			dir := t.TempDir()
			whole := load(t, "suite")
			for _, sub := range whole.Subsets {
				if len(shipped[sub.Name]) < 3 {
					t.Fatalf("%s has %d rows of %s", name, len(shipped[sub.Name]), sub.Name)
				}
				var lines []int
				for _, m := range shipped[sub.Name] {
					lines = append(lines, m.Line)
				}
				write(t, filepath.Join(dir, filepath.Base(sub.File)), linesOf(t, sub.File, lines))
			}
			text, err := os.ReadFile(whole.Logic)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, filepath.Base(whole.Logic)), string(text))

			s := session(t, t.TempDir()) // with an empty cache, so that all is read
			if _, err := s.OpenModel(t.Context(), ref.Name); err != nil {
				t.Fatal(err)
			}
			most := map[string]float64{}
			rows := 0
			if _, err := probct.Measure(t.Context(), s, load(t, dir), probct.Options{}, func(got *probct.Measured) error {
				rows++
				want := shipped[got.Subset][got.Line-1]
				compareRow(t, got, want, most)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			// A few are chance; more are other nuclei.
			if n := most["nuclei of one token more or less"]; n > float64(rows*len(calibrate.TableThresholds()))/16 {
				t.Errorf("in %g of %d rows under nucleus size a nucleus differs by a token", n, rows*len(calibrate.TableThresholds()))
			}
			t.Logf("%d rows, the largest differences: %v", rows, most)
		})
	}
}

func compareRow(t *testing.T, got, want *probct.Measured, most map[string]float64) {
	t.Helper()
	if got.Status != want.Status || !slices.Equal(got.Values, want.Values) || len(got.Events) != len(want.Events) || len(got.Results) != len(want.Results) {
		t.Errorf("%s, line %d: %s of %q, %d events, and it was %s of %q, %d events", want.Subset, want.Line, got.Status, got.Values, len(got.Events), want.Status, want.Values, len(want.Events))
		return
	}
	near := func(what string, got, want probct.Numbers, tolerance float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Errorf("%s is %v, and it was %v", what, got, want)
			return
		}
		for i := range got {
			d := math.Abs(got[i] - want[i])
			kind, _, _ := strings.Cut(what, " of ")
			most[kind] = max(most[kind], d)
			if !(d <= tolerance) {
				t.Errorf("%s is %v, and it was %v", what, got, want)
			}
		}
	}
	of := func(what string) string { return what + " of " + want.Subset + ", line " + want.Values[0] }
	for i, e := range got.Events {
		w := want.Events[i]
		if e.Prefix != w.Prefix || e.Token != w.Token {
			t.Errorf("%q after %q, and it was %q after %q", e.Token, e.Prefix, w.Token, w.Prefix)
		}
		near(of("log P"), e.LogP, w.LogP, sampleLogP)
	}
	for k, u := range got.Results {
		w := want.Results[k]
		if u.Method != w.Method || u.P != w.P {
			t.Errorf("calibration %d is %s %g, and it was %s %g", k, u.Method, u.P, w.Method, w.P)
			continue
		}
		if u.Method == calibrate.NucleusSize.String() && oneToken(u.C, w.C) {
			most["nuclei of one token more or less"]++
			continue
		}
		for i := range u.EventP {
			near(of("C"), u.C[i], w.C[i], sampleC)
			near(of("event probability"), u.EventP[i], w.EventP[i], sampleEventP)
			near(of("gradient"), u.Gradient[i], w.Gradient[i], sampleEventP)
		}
		near(of("WMC"), u.WMC, w.WMC, sampleEventP)
		near(of("WMC of the true statements"), u.FactsWMC, w.FactsWMC, sampleEventP)
		near(of("ρ"), u.Rho, w.Rho, sampleRho)
		// A row that is not next to ρ = 0 has the verdict that it had.
		if len(w.Rho) == 1 && math.Abs(w.Rho[0]) > sampleRho && u.Verdict != w.Verdict {
			t.Errorf("%s under %s: %s, and it was %s", of("verdict"), u.Method, u.Verdict, w.Verdict)
		}
	}
}

// oneToken says whether nuclei, of which C is the logarithm of the size, differ by one token at the
// nucleus' end, which may be in or out by the last digit of its probability. Of a small one that is more in C
// than all else; of a large one it is within the tolerance.
func oneToken(got, want []probct.Numbers) bool {
	one := false
	for i := range got {
		if len(got[i]) != 1 || len(want[i]) != 1 {
			return false
		}
		tokens := math.Abs(math.Round(math.Exp(got[i][0])) - math.Round(math.Exp(want[i][0])))
		if tokens > 1 && math.Abs(got[i][0]-want[i][0]) > sampleC {
			return false
		}
		one = one || math.Abs(got[i][0]-want[i][0]) > sampleC
	}
	return one
}

// linesOf are the lines of a file with those numbers.
func linesOf(t *testing.T, path string, numbers []int) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b strings.Builder
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if slices.Contains(numbers, n) {
			b.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
