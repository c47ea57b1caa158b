package cuc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/modellog/modellog/internal/modeltest"
)

func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFOLIO(t *testing.T) {
	d, err := Read(FOLIO, modeltest.Shared(t, "data/folio-validation.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	n := map[Label]int{}
	for _, e := range d.Examples {
		if e.Bad != "" {
			t.Errorf("line %d: %s", e.Line, e.Bad)
		}
		if e.Premises == "" || e.NotPhi == "" || e.Rule == "" {
			t.Errorf("line %d: %+v", e.Line, e)
		}
		n[e.Label]++
	}
	// Counted with another program.
	if d.Rows != 204 || n[LabelTrue] != 72 || n[LabelFalse] != 63 || n[LabelUncertain] != 69 {
		t.Errorf("%d rows, %v", d.Rows, n)
	}
	if e := d.Examples[0]; e.Line != 1 || strings.Count(e.Premises, "\n") != 5 || e.Phi != "Bonnie performs in school talent shows often." ||
		e.NotPhi != "It is not the case that Bonnie performs in school talent shows often." || e.Label != LabelUncertain {
		t.Errorf("%+v", e)
	}
}

func TestLogiQA(t *testing.T) {
	d, err := Read(LogiQA, modeltest.Shared(t, "data/logiqa2nli-test.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	n := map[Label]int{}
	for _, e := range d.Examples {
		if e.Bad != "" {
			bad++
			continue
		}
		n[e.Label]++
	}
	if d.Rows != 3942 || n[LabelFalse]+n[LabelUncertain] != 0 || n[LabelTrue] == 0 || n[LabelNotTrue] == 0 || bad+n[LabelTrue]+n[LabelNotTrue] != 3942 {
		t.Errorf("%d rows, %d bad, %v", d.Rows, bad, n)
	}
	// The table of examples says how many.
	if said := fmt.Sprintf("Of all 3,942 rows %s are negated.", humanize.Comma(int64(3942-bad))); !strings.Contains(NegationExamples, said) {
		t.Errorf("negation.txt does not have %q", said)
	}
	if e := d.Examples[0]; e.Premises != "Professor Wu talked about system theory to students\nHe said: Many systems are observable, but the'black box' is not" || e.Label != LabelNotTrue || e.NotPhi != "The black box is not the system." {
		t.Errorf("%+v", e)
	}

	// The same seed draws the same rows in the file's order, another seed others.
	lines := func(n int, seed uint64) []int {
		c := *d
		c.Draw(n, seed)
		var out []int
		for _, e := range c.Examples {
			out = append(out, e.Line)
		}
		return out
	}
	a := lines(304, 42)
	if len(a) != 304 || !slices.IsSorted(a) || !slices.Equal(a, lines(304, 42)) || slices.Equal(a, lines(304, 43)) {
		t.Errorf("%d rows drawn", len(a))
	}
	if slices.Contains(slices.Compact(slices.Clone(a)), 0) || len(slices.Compact(slices.Clone(a))) != 304 {
		t.Error("a row is drawn twice")
	}
	if len(lines(0, 1)) != 3942 || len(lines(5000, 1)) != 3942 {
		t.Error("not all rows are left")
	}
}

func TestPlain(t *testing.T) {
	for name, text := range map[string]string{
		"own.csv": "\ufeffpremises,phi,not_phi,label\r\n\"All cats purr.\r\nTom is a cat.\",Tom purrs.,Tom does not purr.,true\r\n" +
			"It rains.,The street is dry.,,FALSE\r\nIt rains.,The street is dry.,,perhaps\r\nIt rains.\r\n",
		"own.tsv": "label\tphi\tpremises\ttopic\ntrue\tTom purrs.\tAll cats purr. Tom is a cat.\tcats\nfalse\tThe street is dry.\tIt rains.\tweather\n",
		"own.jsonl": "\ufeff" + `{"premises":["All cats purr.","Tom is a cat."],"phi":"Tom purrs.","not_phi":"Tom does not purr.","label":"entailed"}` + "\r\n\r\n" +
			`{"premises":"It rains.","phi":"The street is dry.","label":"refuted"}` + "\n" +
			`{"premises":"It rains.","phi":"The street is dry."` + "\n" +
			`{"premises":7,"phi":"The street is dry.","label":"true"}` + "\n" +
			`{"premises":"It rains.","phi":"","label":"true"}` + "\n" +
			`{"premises":"It rains.","phi":"Dry!","not_phi":"Dry!","label":"true"}` + "\n",
	} {
		d, err := Read(Plain, write(t, name, text))
		if err != nil {
			t.Fatal(err)
		}
		if d.Name != "own" {
			t.Errorf("%s is called %q", name, d.Name)
		}
		var good, bad []string
		for _, e := range d.Examples {
			if e.Bad != "" {
				bad = append(bad, e.Bad)
				continue
			}
			good = append(good, strings.Join([]string{e.Premises, e.Phi, e.NotPhi, string(e.Rule), string(e.Label)}, "/"))
		}
		street := "It rains./The street is dry./The street is not dry./insert not/false"
		switch name {
		case "own.csv":
			if !slices.Equal(good, []string{"All cats purr.\nTom is a cat./Tom purrs./Tom does not purr.//true", street}) {
				t.Errorf("%s: %q", name, good)
			}
			if len(bad) != 2 || !strings.Contains(bad[0], `"perhaps"`) || !strings.Contains(bad[1], "1 fields") {
				t.Errorf("%s: %q", name, bad)
			}
			if d.Examples[0].Line != 2 || d.Examples[1].Line != 4 || d.Examples[3].Line != 6 {
				t.Errorf("%+v", d.Examples)
			}
		case "own.tsv":
			if len(good) != 1 || len(bad) != 1 || good[0] != street { // "Tom purrs" has no verb of the rules
				t.Errorf("%s: %q, %q", name, good, bad)
			}
		case "own.jsonl":
			if !slices.Equal(good, []string{"All cats purr.\nTom is a cat./Tom purrs./Tom does not purr.//true", street}) || len(bad) != 4 {
				t.Errorf("%s: %q, %q", name, good, bad)
			}
			for i, part := range []string{"no JSON object", `"premises"`, "conclusion is empty", "negated conclusion is the conclusion"} {
				if !strings.Contains(bad[i], part) {
					t.Errorf("%q does not tell of %q", bad[i], part)
				}
			}
			if e := d.Examples[1]; e.Line != 3 {
				t.Errorf("%+v", e)
			}
		}
	}
	for name, text := range map[string]string{
		"own.csv": "premises,conclusion\na,b\n", "own.txt": "", "own.jsonl": "{}\n", "empty.csv": "", "long.jsonl": strings.Repeat("x", maxLineBytes+1),
	} {
		if _, err := Read(Plain, write(t, name, text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A file of another kind says what is missing.
	if _, err := Read(LogiQA, write(t, "folio.jsonl", `{"premises":["a"],"conclusion":"It is b.","label":"True"}`)); err == nil || !strings.Contains(err.Error(), "major_premise") {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"premises":["a"],"conclusion":"It is b.","conclusion-FOL":"B(a)","label":"True"}`)
	f.Add(`{"major_premise":[],"minor_premise":"a","conclusion":"It is b.","label":"entailed"}`)
	f.Add("premises,phi,label\na,It is b.,true\n")
	f.Add("\ufeffpremises,phi,not_phi,label\r\n\"a\r\nb\",It is b.,It is c.,true\r\n\"a,It is b.,,true\r\n\r\na,\"It is \"\"b\"\".\",,false")
	f.Add(`{"premises":["a\ud800"],"phi":"It is \u0000.","label":"true"}` + "\n[1]\nnull\n{\"phi\":1}")
	f.Add("\xff\xfep\x00")
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func() ([]Example, error){
			func() ([]Example, error) { return readLines(strings.NewReader(text), readFOLIO) },
			func() ([]Example, error) { return readLines(strings.NewReader(text), readLogiQA) },
			func() ([]Example, error) { return readLines(strings.NewReader(text), readPlain) },
			func() ([]Example, error) { return readTable(strings.NewReader(text), ',') },
		} {
			examples, err := read()
			if err != nil {
				continue
			}
			for _, e := range examples {
				if strings.ContainsAny(e.Premises+e.Phi+e.NotPhi, "\x00\x1b\u0085\ufffd") || !utf8.ValidString(e.Premises+e.Phi+e.NotPhi) {
					t.Fatalf("%q", []string{e.Premises, e.Phi, e.NotPhi})
				}
				if e.Line < 1 || e.Bad == "" && (e.Premises == "" || e.Phi == "" || e.NotPhi == "" || e.Phi == e.NotPhi || e.Label == "") {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}
