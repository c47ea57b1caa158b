package probct

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write puts files into a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLoad(t *testing.T) {
	files := map[string]string{
		LogicFile: "capital(x, y) = M(x, y)\n" + Logic,
	}
	for _, name := range Published() {
		files[name+".jsonl"] = ""
	}
	files["capital.csv"] = "x,y\n"
	dir := write(t, files)
	s, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, sub := range s.Subsets {
		got = append(got, sub.Title+" "+sub.Constraint+" "+sub.Facts+" "+filepath.Base(sub.File))
	}
	want := []string{
		"Transitivity transitivity(x1, y1, x2, y2) transitivity_facts transitivity.jsonl",
		"Forward Implication forward_implication(x, y1, y2) forward_implication_facts forward_implication.jsonl",
		"Negation Consistency negation_consistency(x, not_x, y) negation_consistency_facts negation_consistency.jsonl",
		"Mutual Exclusivity mutual_exclusivity(x, y1, y2) mutual_exclusivity_facts mutual_exclusivity.jsonl",
		"Spatial Exclusivity spatial_exclusivity(x, y1, y2) spatial_exclusivity_facts spatial_exclusivity.jsonl",
		"capital capital(x, y)  capital.csv",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLoadMistakes(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "modellog probct build"},
		{map[string]string{LogicFile: "a = prob(0.5)\n"}, "defines no schema"},
		{map[string]string{LogicFile: "s(x) = M(x, \"a\") &&\n"}, "1:"},
		{map[string]string{LogicFile: "s(x) = M(x, \"a\")\n"}, "no file s.jsonl"},
		{map[string]string{LogicFile: "s(x) = M(x, \"a\")\n", "s.jsonl": "", "s.csv": ""}, "two files"},
		{map[string]string{LogicFile: "s(x) = M(x, \"a\")\ns(y) = M(y, \"b\")\n", "s.jsonl": ""}, "defines s twice"},
		{map[string]string{LogicFile: "s(x) = M(x, \"a\")\ns_facts(z) = M(z, \"a\")\n", "s.jsonl": ""}, "the hole z"},
	} {
		_, err := Load(write(t, c.files))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		}
	}
}

func TestRowJSON(t *testing.T) {
	r := Row{
		ID:     "fi-1",
		Holes:  map[string]string{"x": "A <b> & \"c\" is a", "y1": "dog", "y2": "animal"},
		Facts:  []Fact{{Text: "A dog is an animal", True: true, Source: []string{"wn:dog%1:05:00::"}}},
		Filter: map[string]string{"judge": "rules"},
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Row
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, again); d != "" {
		t.Error(d)
	}
}
