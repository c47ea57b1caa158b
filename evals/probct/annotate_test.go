package probct

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// TestKappa compares with the textbooks' example, two readers of 50 grant proposals, by hand, and with
// what scikit-learn 1.9.1's cohen_kappa_score gives for it and the others.
func TestKappa(t *testing.T) {
	for _, c := range []struct {
		both, first, second, neither int
		want                         float64
	}{
		{20, 5, 10, 15, 0.4}, // p_o = 35/50, p_e = 0.5·0.6 + 0.5·0.4
		{45, 15, 25, 15, 0.13043478260869568},
		{25, 35, 5, 35, 0.2592592592592593},
		{0, 1, 1, 0, -1},
		{3, 0, 0, 7, 1},
		{40, 3, 2, 5, 0.6081504702194358},
		{1, 49, 0, 0, 0},
		{0, 25, 25, 0, -1},
	} {
		got, ok := Kappa(c.both, c.first, c.second, c.neither)
		if !ok || math.Abs(got-c.want) > 1e-14 {
			t.Errorf("%v: %v, %v", c, got, ok)
		}
	}
	for _, c := range [][4]int{{0, 0, 0, 0}, {50, 0, 0, 0}, {0, 0, 0, 50}} {
		if got, ok := Kappa(c[0], c[1], c[2], c[3]); ok {
			t.Errorf("%v: %v, want undefined", c, got)
		}
	}
}

// TestKappaFormula compares with scikit-learn's way of computing it: one less the disagreement that
// there is over that which is expected, from the confusion matrix.
func TestKappaFormula(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 60))
		var confusion [2][2]float64 // 1 accepts
		var n, rows, columns [2]float64
		total := 0.0
		c := [4]int{count.Draw(t, "both"), count.Draw(t, "first"), count.Draw(t, "second"), count.Draw(t, "neither")}
		confusion[1][1], confusion[1][0], confusion[0][1], confusion[0][0] = float64(c[0]), float64(c[1]), float64(c[2]), float64(c[3])
		for i := range n {
			for j := range n {
				rows[i] += confusion[i][j]
				columns[j] += confusion[i][j]
				total += confusion[i][j]
			}
		}
		disagreed, expected := confusion[0][1]+confusion[1][0], (rows[0]*columns[1]+rows[1]*columns[0])/total
		got, ok := Kappa(c[0], c[1], c[2], c[3])
		if total == 0 || expected == 0 {
			if ok {
				t.Fatalf("%v: %v, want undefined", c, got)
			}
			return
		}
		if want := 1 - disagreed/expected; !ok || math.Abs(got-want) > 1e-12 {
			t.Fatalf("%v: %v, want %v", c, got, want)
		}
		if swapped, _ := Kappa(c[0], c[2], c[1], c[3]); math.Abs(swapped-got) > 1e-15 {
			t.Fatalf("%v and with annotators swapped %v", got, swapped)
		}
		if turned, _ := Kappa(c[3], c[2], c[1], c[0]); math.Abs(turned-got) > 1e-12 {
			t.Fatalf("%v and with answers swapped %v", got, turned)
		}
	})
}

// candidates writes a suite's decisions: n of each subset, of which every third is accepted.
func candidates(t testing.TB, n int, subsets ...string) (dir string) {
	t.Helper()
	var lines []string
	lines = append(lines, `{"subset":"target","id":"wn:dog","text":"dog","judge":"rules","accepted":true}`)
	for _, s := range subsets {
		for i := range n {
			b, err := json.Marshal(decided{Subset: s, ID: fmt.Sprintf("%s-%d", s, i), Judge: "rules", Accepted: i%3 == 0, Facts: []Fact{
				{Text: fmt.Sprintf("A thing of kind %d is a dog", i), True: true}, {Text: fmt.Sprintf("A thing of kind %d is not a dog", i), True: false},
			}})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, string(b))
		}
	}
	dir = t.TempDir()
	writeDecisions(t, dir, lines)
	return dir
}

func writeDecisions(t testing.TB, dir string, lines []string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, DecisionsFile), []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
}

func draw(t testing.TB, dir string, o SampleOptions) []Item {
	t.Helper()
	items, _, err := Sample(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// TestSample: a sample does not depend on the candidates' order, begins with the smaller ones, and
// differs by seed; subsets come in the paper's order.
func TestSample(t *testing.T) {
	dir := candidates(t, 200, "own", SpatialExclusivity, Transitivity)
	ten := draw(t, dir, SampleOptions{N: 10, Seed: 1})
	var subsets []string
	for _, x := range ten {
		if !slices.Contains(subsets, x.Subset) {
			subsets = append(subsets, x.Subset)
		}
	}
	if !slices.Equal(subsets, []string{Transitivity, SpatialExclusivity, "own"}) || len(ten) != 30 {
		t.Errorf("%d of %v", len(ten), subsets)
	}
	five := draw(t, dir, SampleOptions{N: 5, Seed: 1, Subsets: []string{SpatialExclusivity}})
	if d := cmp.Diff(ten[10:15], five); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(ten, draw(t, dir, SampleOptions{N: 10, Seed: 2})); d == "" {
		t.Error("two seeds draw the same")
	}
	if all := draw(t, dir, SampleOptions{N: 1000, Seed: 1}); len(all) != 600 {
		t.Errorf("%d of 600", len(all))
	}
	b, err := os.ReadFile(filepath.Join(dir, DecisionsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	writeDecisions(t, dir, append(lines, "", strings.Replace(lines[0], "is", "is", 1)))
	if d := cmp.Diff(ten, draw(t, dir, SampleOptions{N: 10, Seed: 1})); d != "" {
		t.Errorf("in another order: %s", d)
	}
}

// TestSampleIsFair: over many seeds each candidate is drawn as often as the others.
func TestSampleIsFair(t *testing.T) {
	dir := candidates(t, 20, Transitivity)
	const seeds, n = 2000, 5
	drawn := make(map[string]int)
	for seed := range uint64(seeds) {
		for _, x := range draw(t, dir, SampleOptions{N: n, Seed: seed}) {
			drawn[x.ID]++
		}
	}
	// χ² of 19 degrees of freedom, which is above 43.8 once in a thousand times; draws without
	// replacement vary less.
	chi := 0.0
	for i := range 20 {
		d := float64(drawn[fmt.Sprintf("%s-%d", Transitivity, i)]) - seeds*n/20
		chi += d * d / (seeds * n / 20)
	}
	if chi > 43.8 || chi < 1 {
		t.Errorf("χ² = %.1f: %v", chi, drawn)
	}
}

func TestSampleMistakes(t *testing.T) {
	for _, c := range []struct {
		text string // of the decisions; "none" for no file
		o    SampleOptions
		want string
	}{
		{"none", SampleOptions{N: 5}, "modellog probct build --out"},
		{"", SampleOptions{N: 5}, "no candidates"},
		{`{"subset":"target","id":"wn:dog"}`, SampleOptions{N: 5}, "no candidates"},
		{"\n{\"subset\":", SampleOptions{N: 5}, "line 2"},
		{`{"subset":"a","facts":[{"text":"x"}]}`, SampleOptions{N: 5}, "line 1 has no id"},
		{`{"subset":"a","id":"1","facts":[{"text":"x"}]}`, SampleOptions{N: 5, Subsets: []string{"b"}}, `the subset "b"`},
		{`{"subset":"a","id":"1","facts":[{"text":"x"}]}`, SampleOptions{}, "0 candidates"},
		{strings.Repeat("x", 2<<20), SampleOptions{N: 5}, "too long"},
	} {
		dir := t.TempDir()
		if c.text != "none" {
			writeDecisions(t, dir, []string{c.text})
		}
		if _, _, err := Sample(t.Context(), dir, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
}

func open(t testing.TB, path, annotator string) *Answers {
	t.Helper()
	a, err := OpenAnswers(path, annotator, "abc", SampleOptions{N: 50, Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestAnnotation: whatever an annotator does and wherever the work is interrupted, what counts is
// what was said last of each item, and nothing is asked twice.
func TestAnnotation(t *testing.T) {
	items := draw(t, candidates(t, 4, Transitivity, NegationConsistency), SampleOptions{N: 3, Seed: 1})
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		a, err := OpenAnswers(path, "A", "abc", SampleOptions{N: 50, Seed: 42})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { a.Close() }()
		s := newSession(items, a)
		want := make(map[string]Answer)
		var last []string
		notes := make(map[string]string)
		for range rapid.IntRange(0, 30).Draw(rt, "steps") {
			x := s.current()
			switch op := rapid.SampledFrom([]string{"accept", "reject", "skip", "undo", "note", "again", "cut"}).Draw(rt, "do"); op {
			case "accept", "reject", "skip":
				if x == nil {
					continue
				}
				if want[x.ID] == Accept || want[x.ID] == Reject {
					rt.Fatalf("%s is asked again", x.ID)
				}
				if err := s.say(Answer(op)); err != nil {
					rt.Fatal(err)
				}
				want[x.ID] = Answer(op)
				last = append(last, x.ID)
			case "undo":
				ok, err := s.undo()
				if err != nil || ok != (len(last) > 0) {
					rt.Fatalf("%v, %v; there are %v", ok, err, last)
				}
				if ok {
					id := last[len(last)-1]
					last = last[:len(last)-1]
					delete(want, id)
					if s.current().ID != id {
						rt.Fatalf("%s is asked, not %s", s.current().ID, id)
					}
				}
			case "note":
				if x == nil {
					continue
				}
				notes[x.ID] = rapid.StringMatching(`[a-z" <é犬]{0,9}`).Draw(rt, "note")
				if err := a.Note(*x, notes[x.ID]); err != nil {
					rt.Fatal(err)
				}
			case "again", "cut":
				if err := a.Close(); err != nil {
					rt.Fatal(err)
				}
				if op == "cut" { // a line was being written when the program was killed
					f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
					if err != nil {
						rt.Fatal(err)
					}
					f.WriteString(`{"subset":"transitivity","id":"transi`)
					f.Close()
				}
				if a, err = OpenAnswers(path, "A", "abc", SampleOptions{N: 50, Seed: 42}); err != nil {
					rt.Fatal(err)
				}
				s = newSession(items, a)
				// what was skipped is asked again, and cannot be undone
				last = slices.DeleteFunc(last, func(id string) bool { return want[id] == Skip })
			}
		}
		got := make(map[string]Answer)
		for _, j := range a.Judged() {
			got[j.ID] = j.Answer
			if j.Note != notes[j.ID] {
				rt.Fatalf("the note of %s is %q, not %q", j.ID, j.Note, notes[j.ID])
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			rt.Fatal(d)
		}
		read, err := ReadAnswers(path)
		if err != nil {
			rt.Fatal(err)
		}
		if d := cmp.Diff(a.Judged(), read.Judged()); d != "" {
			rt.Fatal(d)
		}
	})
}

func TestOpenAnswersMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "A.jsonl")
	a := open(t, path, "A")
	if _, err := OpenAnswers(path, "A", "abc", SampleOptions{N: 50, Seed: 42}); err == nil || !strings.Contains(err.Error(), "another modellog") {
		t.Errorf("opened twice: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		annotator, decisions string
		seed                 uint64
		want                 string
	}{
		{"B", "abc", 42, "those of A, not of B"},
		{"A", "abd", 42, "another suite"},
		{"A", "abc", 43, "--seed 42"},
	} {
		if _, err := OpenAnswers(path, c.annotator, c.decisions, SampleOptions{N: 50, Seed: c.seed}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c, err)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"not JSON\n", "line 1 is not an answer"},
		{`{"subset":"a","id":"b","answer":"accept","filter":true}` + "\n", "the first line does not say"},
		{string(before) + `{"subset":"a","id":"b","answer":"perhaps"}` + "\n", `line 2: "perhaps" is no answer`},
		{string(before) + `{"subset":"a","id":"b","answer":"accept"}` + "\n", "what the filter decided"},
		{string(before) + `{"answer":"accept"}` + "\n", "names no item"},
		{string(before) + strings.Repeat("x", 100<<10) + "\n", "line 2 is too long"},
		{"", "there are none"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadAnswers(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ReadAnswers(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestCompareAnswers counts item by item what the report counts.
func TestCompareAnswers(t *testing.T) {
	items := draw(t, candidates(t, 40, Transitivity, "own", MutualExclusivity), SampleOptions{N: 40, Seed: 1})
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(7, 7))
	var by [2]*Answers
	said := [2]map[string]Answer{{}, {}}
	for i := range by {
		by[i] = open(t, filepath.Join(dir, fmt.Sprint(i)), string(rune('A'+i)))
		for _, x := range items {
			answer := []Answer{Accept, Accept, Reject, Skip, ""}[r.IntN(5)]
			if answer == "" {
				continue
			}
			if err := by[i].Say(x, answer); err != nil {
				t.Fatal(err)
			}
			if answer != Skip {
				said[i][x.ID] = answer
			}
		}
	}
	got, err := CompareAnswers(by[0], by[1])
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]*Agreement)
	for _, x := range items {
		for _, subset := range []string{x.Subset, ""} {
			if want[subset] == nil {
				want[subset] = &Agreement{Subset: subset}
			}
			w := want[subset]
			a, b := said[0][x.ID], said[1][x.ID]
			switch {
			case a == "" && b == "":
				continue
			case b == "":
				w.OnlyFirst++
				continue
			case a == "":
				w.OnlySecond++
				continue
			case a == Accept && b == Accept:
				w.Both++
			case a == Accept:
				w.First++
			case b == Accept:
				w.Second++
			default:
				w.Neither++
			}
			w.N++
			if x.Accepted {
				w.Filter++
				if a == Accept {
					w.FilterAndFirst++
				}
				if b == Accept {
					w.FilterAndOther++
				}
			}
		}
	}
	for i, subset := range []string{Transitivity, MutualExclusivity, "own", ""} {
		if d := cmp.Diff(*want[subset], got[i]); d != "" {
			t.Errorf("%s: %s", subset, d)
		}
	}

	// The table's numbers are those.
	tab, err := AgreementTable(by[0], by[1], got)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := table.Write(&b, table.CSV, table.Style{}, tab); err != nil {
		t.Fatal(err)
	}
	figures, _, err := published.Read(&b, "own.csv")
	if err != nil {
		t.Fatal(err)
	}
	w := want[Transitivity]
	kappa, _ := w.Kappa()
	numbers := map[string]float64{
		"examples": float64(w.N), "human accept": float64(w.Both) / float64(w.N), "filter accept": float64(w.Filter) / float64(w.N),
		"annotator 1 precision": float64(w.FilterAndFirst) / float64(w.Filter), "annotator 2 precision": float64(w.FilterAndOther) / float64(w.Filter),
		"Cohen's kappa": kappa,
	}
	seen := 0
	for _, f := range figures {
		if f.Table == "" && f.Subset == "Transitivity" {
			seen++
			if f.Value != numbers[f.Quantity] {
				t.Errorf("%s is %v, want %v", f.Quantity, f.Value, numbers[f.Quantity])
			}
		}
	}
	if seen != len(numbers) {
		t.Errorf("%d figures of %d", seen, len(numbers))
	}

	by[1].Decisions = "other"
	if _, err := CompareAnswers(by[0], by[1]); err == nil || !strings.Contains(err.Error(), "different suites") {
		t.Error(err)
	}
	none := []*Answers{open(t, filepath.Join(dir, "c"), "C"), open(t, filepath.Join(dir, "d"), "D")}
	if _, err := CompareAnswers(none[0], none[1]); err == nil {
		t.Error("nothing was compared")
	}
	x, y := items[0], items[0]
	y.Accepted = !x.Accepted
	if err := errors.Join(none[0].Say(x, Accept), none[1].Say(y, Accept)); err != nil {
		t.Fatal(err)
	}
	if _, err := CompareAnswers(none[0], none[1]); err == nil || !strings.Contains(err.Error(), "the filter's decision about "+x.ID) {
		t.Error(err)
	}
}

// TestKeys: special keys, pastes and broken characters are no answers, however they are cut.
func TestKeys(t *testing.T) {
	for in, want := range map[string]string{
		"a":                             "a",
		"aru":                           "aru",
		"\x1b[A\x1b[1;5Aa":              "a",
		"\x1bOAr":                       "r",
		"\x1bas":                        "s", // Alt-a
		"é犬":                            "é犬",
		"\xffa":                         "a",
		"\x1b[200~aaaa\nr\x1b[201~s":    "s",
		"\x1b[200~a\x1b[A\x1b[201~\x03": "\x03",
	} {
		for cut := 1; cut <= len(in); cut++ {
			var k keys
			got := string(k.feed([]byte(in[:cut]))) + string(k.feed([]byte(in[cut:])))
			if strings.HasSuffix(in[:cut], "\x1b") { // as far as the terminal tells, the key Escape
				continue
			}
			if got != want {
				t.Errorf("%q cut at %d: %q, want %q", in, cut, got, want)
			}
		}
	}
	var k keys
	if got := string(k.feed([]byte("\x1b"))); got != "\x1b" {
		t.Errorf("Escape: %q", got)
	}
}

// TestFold: no words are lost, and lines keep within the width as far as their words do.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`( {0,3}[a-z犬é]{1,20} ?){0,12}`).Draw(t, "text")
		w := rapid.IntRange(1, 60).Draw(t, "width")
		lines := fold(s, w, strings.Repeat(" ", rapid.IntRange(0, 8).Draw(t, "indent")))
		if got, want := strings.Fields(strings.Join(lines, " ")), strings.Fields(s); !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
		for _, l := range lines {
			if width(strings.TrimRight(l, " ")) > w && len(strings.Fields(l)) > 1 {
				t.Fatalf("%q is wider than %d", l, w)
			}
		}
	})
}
