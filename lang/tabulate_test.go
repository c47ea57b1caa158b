package lang

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tabulate shows a table of the session's runs and files.
func tabulate(s *Session, words string) (*Table, error) {
	u, c, all, err := wordsOf(s, "%table "+words)
	if err != nil {
		return nil, err
	}
	var t *Table
	u.emit = func(r Result) error {
		t = r.(*Table)
		return nil
	}
	return t, s.tableCommand(context.Background(), u, c, all)
}

func TestTabulate(t *testing.T) {
	s := runs(t)
	for name, text := range map[string]string{
		"table.csv": table, "table6.csv": table6,
		"examples.csv": "table,model,size,quantity,value,prefix\nT8,a,1e9,P1,0.07,x\nT8,b,,P1,0.83,x\nT8,a,1e9,rho,0.94,x\nT8,a,1e9,P1,0.03,y\nT8,b,,rho,-2.21,x\n",
		"own.csv": "table,model,size,quantity,unit,value,std\n,a,1e9,CAcc,%,84.98003992015968,0.9555160756051352\n,a,1e9,P1,,-0.036788682693418936,0.0021911831032482656\n,a,1e9,I,bits,0.1926450779423959,\n" +
			",a,1e9,n,examples,503,\n,a,1e9,tiny,,1.5e-07,\n,a,1e9,typed,%,84.98,\n,b,1e9,typed,%,20.125,\nT,a,1e9,CAcc,%,81.00000,\n",
		"odd.csv": "model,size,value\n\"a\x1bb\",,1.50\na,1,2\na,1,3\n",
	} {
		if err := os.WriteFile(filepath.Join(s.opts.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for words, want := range map[string]string{
		// Published values have their own digits, and one of no size its line.
		"table.csv": `
Paper Table 2 · CAcc (%)
  model          table           Forward Implication   Negation Consistency
  Gemma-3-270M   Paper Table 2                79.7 ± 0.5                 18.5 ± 1.4
  Gemma-3-1B     Paper Table 2                65.1 ± 1.5
  GPT            Paper Table 2                                                   99
  mine           measured here                                                   20`,
		// One's own of all digits are shortened as those of runs are.
		"own.csv": `
T
  model   table             CAcc (%)             P₁   I (bits)   n (examples)      tiny
  a       T                 81.00000
  a       measured here   85.0 ± 1.0   -0.04 ± 0.00      0.193            503   1.5e-07
  b       measured here

  model   table           typed (%)
  a       T
  a       measured here       84.98
  b       measured here        20.1`,
		`table.csv implication subset="Forward Implication"`: `
Forward Implication · Paper Table 2
  model                   table             CAcc (%)
  Gemma-3-270M            Paper Table 2   79.7 ± 0.5
  Gemma-3-1B              Paper Table 2   65.1 ± 1.5
  gemma3:270m-pt          measured here   73.0 ± 2.6
  smollm2:135m-instruct   measured here   50.0 … 60.0
  measured here: nucleus-entropy, mean ± standard deviation over p = 0.8, 0.85, 0.9, 0.95;
  nucleus-entropy, p = 0.95`,
		"table6.csv P1=wmc(implication) P2-P1=rho(implication)": `
Forward Implication · Paper Table 6
  model                   table            P₁             P₂ − P₁       P₂ > P₁ (%)
  Gemma-3-270M            Paper Table 6`,
		"implication negation quantity=rho": `
ρ
  model                   implication   negation
  gemma3:270m-pt          0.15 ± 0.13      -0.20
  smollm2:135m-instruct          0.30`,
		"examples.csv": `
T8
  model   prefix     P₁       ρ
  a       x        0.07    0.94
  b       x        0.83   -2.21
  a       y        0.03`,
		"odd.csv": `
  model    value
  a\x1bb    1.50
  a            2
  a            3`,
	} {
		got, err := tabulate(s, words)
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		lines := strings.Split(got.Text(Style{Width: 90}), "\n")
		for i, l := range strings.Split(want, "\n")[1:] {
			if i >= len(lines) || !strings.HasPrefix(strings.Join(strings.Fields(lines[i]), " "), strings.Join(strings.Fields(l), " ")) {
				t.Errorf("%s gives\n%s\nand not%s", words, strings.Join(lines, "\n"), want)
				break
			}
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%s: %v", words, err)
		}
	}
	for words, want := range map[string]string{
		"":                        "write %table FILE.csv",
		"table.csv subset=x":      `there is no subset "x"`,
		"table.csv implicatoin":   `did you mean "implication"`,
		"nothing.csv implication": "there is no file",
	} {
		if _, err := tabulate(s, words); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", words, err, want)
		}
	}
}

// TestTabulateNarrow: columns that do not fit a line come below, with the models again.
func TestTabulateNarrow(t *testing.T) {
	s := New(Options{Dir: "../notebooks/published"})
	got, err := tabulate(s, "modellog-table10.csv")
	if err != nil {
		t.Fatal(err)
	}
	text := got.Text(Style{Width: 80})
	for _, l := range strings.Split(text, "\n") {
		if len([]rune(l)) > 80 {
			t.Errorf("a line of %d columns: %s", len([]rune(l)), l)
		}
	}
	if n := strings.Count(text, "Gemma-3-12B-pt"); n != 2 {
		t.Errorf("the models stand %d times in\n%s", n, text)
	}
	for _, x := range []string{"81.0 ± 2.3", "23.8 ± 7.7", "Spatial Exclusivity"} {
		if !strings.Contains(text, x) {
			t.Errorf("%s is missing in\n%s", x, text)
		}
	}
}

// TestTabulatePublished: a number of the CSV files is a cell, for each ModelLog table.
func TestTabulatePublished(t *testing.T) {
	files, err := filepath.Glob("../notebooks/published/modellog-table*.csv")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files (%v)", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tabulate(New(Options{Dir: filepath.Dir(file)}), filepath.Base(file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		cells := 0
		for _, row := range got.Cells {
			for _, c := range row[got.keys:] {
				if c != "" {
					cells++
				}
			}
		}
		if want := strings.Count(strings.TrimSpace(string(data)), "\n"); cells != want {
			t.Errorf("%s has %d values, and %d are shown", file, want, cells)
		}
	}
}
