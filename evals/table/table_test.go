package table_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/notebooks/published"
)

var update = flag.Bool("update", false, "write the golden files anew")

func figures(t testing.TB, name string) []published.Figure {
	t.Helper()
	f, err := published.Table(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func groupOf(t testing.TB, heading string, columns []table.Column, f []published.Figure) table.Group {
	t.Helper()
	g, err := table.GroupOf(heading, columns, f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// consistency is the paper's main table with rows that have one of everything.
func consistency(t testing.TB) *table.Table {
	columns := []table.Column{{Head: "Model", Key: "model"}}
	for _, s := range []string{"Transitivity", "Forward Implication", "Negation Consistency", "Mutual Exclusivity", "Spatial Exclusivity"} {
		columns = append(columns, table.Column{Head: s, About: table.About{Subset: s, Quantity: "CAcc", Unit: "%"}, Best: table.Highest})
	}
	return &table.Table{
		Number: "Table 2", Caption: "CAcc (%), mean ± std over p ∈ {0.8, 0.85, 0.9, 0.95}", Columns: columns,
		Groups: []table.Group{
			{Heading: "measured here", Mark: true, Rows: []table.Row{
				{About: table.About{Model: "gemma3:270m-pt", Family: "Gemma-3", Size: 268098176}, Cells: []table.Cell{
					table.Text("gemma3:270m-pt"), table.Number(53.86792452830189, 1).WithStd(0.987), table.Number(9.96, 1).WithStd(12.04), table.Undefined(), table.Missing(), table.Number(100, 1).WithStd(0),
				}},
				{About: table.About{Model: "小模型_1 & 2"}, Cells: []table.Cell{
					table.Text("小模型_1 & 2"), table.Interval(12.3, 15.06, 1), table.Number(-0.04, 1), table.Number(7, 1), table.Number(math.NaN(), 1), table.Interval(99, 100, 1).WithStd(1.5),
				}},
			}},
			groupOf(t, "published (ModelLog, Table 2)", columns, figures(t, "ModelLog Table 2")),
		},
		Notes: []string{"Small models with weights of 4 bits; 50 % of the rows were <left out>, $x_1$ ≠ x₂."},
	}
}

// validation is Table 5, whose rows are subsets, of the published figures alone.
func validation(t testing.TB) *table.Table {
	columns := []table.Column{{Head: "Subset", Key: "subset"}}
	for _, q := range []string{"human accept", "LLM accept", "annotator 1 precision", "annotator 2 precision"} {
		columns = append(columns, table.Column{Head: q, About: table.About{Quantity: q}, Best: table.Highest})
	}
	g := groupOf(t, "", columns, figures(t, "ModelLog Table 5"))
	g.Mark = true
	return &table.Table{Number: "Table 5", Columns: columns, Groups: []table.Group{g}}
}

// examples is Table 8, whose rows have three texts.
func examples(t testing.TB) *table.Table {
	columns := []table.Column{{Head: "Prefix", Key: "prefix"}, {Head: "a", Key: "premise"}, {Head: "b", Key: "conclusion"}}
	for _, q := range []string{"P1", "P2", "rho"} {
		for _, m := range []string{"Gemma-3-270M", "Gemma-3-12B-pt"} {
			columns = append(columns, table.Column{Head: q + " " + strings.TrimPrefix(m, "Gemma-3-"), About: table.About{Quantity: q, Model: m}})
		}
	}
	f := figures(t, "ModelLog Table 8")
	for i := range columns[3:] { // the models' sizes and families are the columns' too
		at := slices.IndexFunc(f, func(x published.Figure) bool { return x.Model == columns[3+i].Model })
		columns[3+i].Family, columns[3+i].Size = f[at].Family, f[at].Size
	}
	return &table.Table{Caption: "Forward implication in two models", Columns: columns, Groups: []table.Group{groupOf(t, "", columns, f)}}
}

func write(t testing.TB, f table.Format, st table.Style, tables ...*table.Table) string {
	t.Helper()
	var b bytes.Buffer
	if err := table.Write(&b, f, st, tables...); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestGolden compares all forms with files that were read by eye.
func TestGolden(t *testing.T) {
	all := []*table.Table{consistency(t), validation(t), examples(t)}
	got := map[string]string{
		"text-colour": write(t, table.PlainText, table.Style{Color: true, Width: 100}, all...),
	}
	for _, w := range []int{0, 80, 50} {
		got[fmt.Sprintf("text-%d", w)] = write(t, table.PlainText, table.Style{Width: w}, all...)
	}
	for _, f := range []table.Format{table.CSV, table.Markdown, table.LaTeX} {
		got[f.String()] = write(t, f, table.Style{}, all...)
	}
	for name, text := range got {
		path := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.MkdirAll("testdata", 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), text); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestPublishedGroups: what a paper prints comes out of a table as it went in.
func TestPublishedGroups(t *testing.T) {
	for _, c := range []struct {
		table *table.Table
		name  string
		group int
	}{{consistency(t), "ModelLog Table 2", 1}, {validation(t), "ModelLog Table 5", 0}, {examples(t), "ModelLog Table 8", 0}} {
		c.table.Groups = c.table.Groups[c.group : c.group+1]
		got, _, err := published.Read(strings.NewReader(write(t, table.CSV, table.Style{}, c.table)), "own.csv")
		if err != nil {
			t.Fatal(err)
		}
		want := figures(t, c.name)
		strip := func(fs []published.Figure) (out []string) {
			for _, f := range fs {
				f.Line = 0
				out = append(out, fmt.Sprintf("%+v", f))
			}
			slices.Sort(out)
			return out
		}
		if d := cmp.Diff(strip(want), strip(got)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestPlotScaling: the constraint language draws what CSV has of measured and published figures.
func TestPlotScaling(t *testing.T) {
	tab := consistency(t)
	tab.Groups[0].Rows[1].Size = 135e6
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.csv"), []byte(write(t, table.CSV, table.Style{}, tab)), 0o666); err != nil {
		t.Fatal(err)
	}
	s := lang.New(lang.Options{Dir: dir})
	var figure, text, whole string
	err := s.Eval(t.Context(), "", "%plot scaling own.csv subset=\"Transitivity\"\n%table own.csv subset=\"Transitivity\"", func(r lang.Result) error {
		if f, ok := r.(*lang.Figure); ok {
			svg, err := f.SVG()
			figure = string(svg)
			return err
		}
		text = r.Text(lang.Style{Width: 100})
		b, err := r.MarshalJSON()
		whole = string(b)
		return err
	})
	if err != nil || !strings.Contains(figure, "<svg") {
		t.Errorf("%v: %d bytes of figure", err, len(figure))
	}
	for _, want := range []string{`gemma3:270m-pt +measured here +53\.9 ± 1\.0`, `小模型_1 & 2 +measured here +12\.3 … 15\.06`, `Gemma-3-12B-pt +ModelLog Table 2 +40\.4 ± 1\.6`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	// What is shown shorter is whole in the file.
	for _, want := range []string{"53.86792452830189", "0.987"} {
		if !strings.Contains(whole, want) {
			t.Errorf("there is no %s in %s", want, whole)
		}
	}
}

// anyCell draws a cell with the numbers that CSV must have of it: lo, hi, std or -1, and the value.
func anyCell(t *rapid.T) (table.Cell, []float64) {
	x := rapid.OneOf(rapid.Float64Range(-100, 100), rapid.Float64(), rapid.Map(rapid.IntRange(-1000, 1000), func(i int) float64 { return float64(i) / 10 }))
	decimals := rapid.IntRange(0, 4).Draw(t, "decimals")
	lo, hi, std := x.Draw(t, "lo"), x.Draw(t, "hi"), -1.0
	var c table.Cell
	var value float64
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return table.Missing(), nil
	case 1:
		return table.Undefined(), nil
	case 2:
		return table.Text(rapid.String().Draw(t, "text")), nil
	case 3:
		c, hi, value = table.Number(lo, decimals), lo, lo
	case 4:
		if lo > hi {
			lo, hi = hi, lo
		}
		c = table.Interval(lo, hi, decimals)
		if rapid.Bool().Draw(t, "has an estimate") {
			value = min(max(x.Draw(t, "estimate"), lo), hi)
			c = c.WithEstimate(value)
		} else {
			value = min(max(lo/2+hi/2, lo), hi)
		}
	}
	if rapid.Bool().Draw(t, "has std") {
		std = math.Abs(x.Draw(t, "std"))
		c = c.WithStd(std)
		if math.IsInf(std, 0) {
			std = -1
		}
	}
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return c, nil
	}
	return c, []float64{lo, hi, std, value}
}

func anyTable(t *rapid.T) (*table.Table, [][]float64) {
	word := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9 ,"\\{}$&#%_~^<>|*\[\]' .:-]{0,12}`), rapid.String())
	tab := &table.Table{Number: word.Draw(t, "number"), Caption: word.Draw(t, "caption"), Columns: []table.Column{{Head: "Model", Key: "model"}}}
	n := rapid.IntRange(1, 6).Draw(t, "columns")
	for i := range n {
		tab.Columns = append(tab.Columns, table.Column{Head: word.Draw(t, "head"), About: table.About{Quantity: fmt.Sprint("q", i), Unit: "%"}, Best: table.Best(rapid.IntRange(0, 2).Draw(t, "best"))})
	}
	var want [][]float64
	for range rapid.IntRange(0, 3).Draw(t, "groups") {
		g := table.Group{Heading: word.Draw(t, "heading"), Mark: rapid.Bool().Draw(t, "mark")}
		for range rapid.IntRange(0, 4).Draw(t, "rows") {
			r := table.Row{About: table.About{Model: word.Draw(t, "model"), Size: 135e6, Other: map[string]string{"p": word.Draw(t, "p")}}, Cells: []table.Cell{table.Text(word.Draw(t, "name"))}}
			for range n {
				c, numbers := anyCell(t)
				r.Cells = append(r.Cells, c)
				if numbers != nil {
					want = append(want, numbers)
				}
			}
			g.Rows = append(g.Rows, r)
		}
		tab.Groups = append(tab.Groups, g)
	}
	return tab, want
}

// TestCSVReadsBack: every finite number is in the CSV once, in its order, to the last digit.
func TestCSVReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, want := anyTable(t)
		var b bytes.Buffer
		if err := table.Write(&b, table.CSV, table.Style{}, tab); err != nil {
			t.Fatal(err)
		}
		read, _, err := published.Read(&b, "own.csv")
		if err != nil {
			t.Fatal(err)
		}
		if len(read) != len(want) {
			t.Fatalf("%d numbers, want %d", len(read), len(want))
		}
		for i, f := range read {
			std := f.Std
			if f.PrintedStd == "" {
				std = -1
			}
			if f.Lo != want[i][0] || f.Hi != want[i][1] || std != want[i][2] || f.Value != want[i][3] || f.Size != 135e6 || f.Unit != "%" {
				t.Fatalf("%+v, want %v", f, want[i])
			}
		}
	})
}

// An interval around an estimate has the estimate for its value, also where it does not contain it; without one, the
// middle. It reads back from the group that published figures make of it.
func TestEstimate(t *testing.T) {
	columns := []table.Column{{Head: "Model", Key: "model"}, {Head: "ECE", About: table.About{Quantity: "ECE"}}}
	row := func(i int, c table.Cell) table.Row {
		return table.Row{About: table.About{Model: fmt.Sprint("m", i), Other: map[string]string{"interval": "95 % bootstrap"}}, Cells: []table.Cell{table.Text("m"), c}}
	}
	cells := []table.Cell{
		table.Interval(0.25, 0.75, 2), table.Interval(0.25, 0.75, 2).WithEstimate(0.625), table.Interval(0.25, 0.75, 2).WithEstimate(0.125),
		table.Interval(0, 0, 2).WithEstimate(0.5), table.Interval(0.25, 0.75, 2).WithEstimate(math.NaN()), table.Number(math.NaN(), 1).WithEstimate(1),
	}
	own := &table.Table{Columns: columns, Groups: []table.Group{{}}}
	for i, c := range cells {
		own.Groups[0].Rows = append(own.Groups[0].Rows, row(i, c))
	}
	want := [][3]float64{{0.5, 0.25, 0.75}, {0.625, 0.25, 0.75}, {0.125, 0.25, 0.75}, {0.5, 0, 0}, {0.5, 0.25, 0.75}}
	for range 2 {
		var b, text bytes.Buffer
		if err := errors.Join(table.Write(&b, table.CSV, table.Style{}, own), table.Write(&text, table.PlainText, table.Style{}, own)); err != nil {
			t.Fatal(err)
		}
		if n := len(regexp.MustCompile(`0\.250? … 0\.750?`).FindAllString(text.String(), -1)); n != 4 {
			t.Errorf("%d intervals are shown\n%s", n, &text)
		}
		figures, _, err := published.Read(&b, "own.csv")
		if err != nil || len(figures) != len(want) {
			t.Fatalf("%d figures, %v", len(figures), err)
		}
		for i, f := range figures {
			if got := [3]float64{f.Value, f.Lo, f.Hi}; got != want[i] {
				t.Errorf("figure %d is %v, want %v", i, got, want[i])
			}
		}
		g, err := table.GroupOf("", columns, figures)
		if err != nil {
			t.Fatal(err)
		}
		own = &table.Table{Columns: columns, Groups: []table.Group{g}}
	}
}

// TestTextWidth: no line is longer than the width unless a number is, and no number is broken.
func TestTextWidth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, _ := anyTable(t)
		w := rapid.IntRange(60, 120).Draw(t, "width")
		var b, wide bytes.Buffer
		if err := table.Write(&b, table.PlainText, table.Style{Width: w}, tab); err != nil {
			t.Fatal(err)
		}
		if err := table.Write(&wide, table.PlainText, table.Style{}, tab); err != nil {
			t.Fatal(err)
		}
		number := regexp.MustCompile(`\S*\d\.\d\S*`)
		has := map[string]int{}
		for _, n := range number.FindAllString(b.String(), -1) {
			has[n]++
		}
		for _, g := range tab.Groups {
			for _, r := range g.Rows {
				for i, c := range r.Cells {
					one := &table.Table{Columns: []table.Column{{Head: "x", About: table.About{Quantity: "q"}}}, Groups: []table.Group{{Rows: []table.Row{{Cells: []table.Cell{c}}}}}}
					var cell bytes.Buffer
					if err := table.Write(&cell, table.PlainText, table.Style{}, one); err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						continue
					}
					for _, n := range number.FindAllString(cell.String(), -1) {
						if has[n] == 0 && !strings.Contains(b.String(), n) {
							t.Fatalf("%s is not in\n%s", n, b.String())
						}
					}
				}
			}
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if strings.ContainsAny(l, "\r\x1b\x07") {
				t.Fatalf("a control character is in %q", l)
			}
			// a number of 20 digits and a deviation may be longer than any width
			if got := (&runewidth.Condition{}).StringWidth(l); got > max(w, 110) {
				t.Fatalf("%d columns for %d: %q", got, w, l)
			}
		}
	})
}

// TestBest: only what is surely the best is marked.
func TestBest(t *testing.T) {
	for _, c := range []struct {
		best  table.Best
		cells []table.Cell
		want  string // M for each marked
	}{
		{table.Highest, []table.Cell{table.Number(1, 1), table.Number(2, 1)}, ".M"},
		{table.Lowest, []table.Cell{table.Number(1, 1), table.Number(2, 1)}, "M."},
		{table.None, []table.Cell{table.Number(1, 1), table.Number(2, 1)}, ".."},
		{table.Highest, []table.Cell{table.Number(1, 1)}, "."},
		{table.Highest, []table.Cell{table.Number(1.01, 1), table.Number(1.04, 1), table.Number(0.9, 1)}, "MM."}, // look the same
		{table.Highest, []table.Cell{table.Number(1, 1), table.Undefined(), table.Missing()}, "..."},
		{table.Highest, []table.Cell{table.Interval(1, 3, 1), table.Number(2, 1)}, ".."},
		{table.Highest, []table.Cell{table.Interval(2, 3, 1), table.Number(2, 1)}, "M."},
		{table.Lowest, []table.Cell{table.Interval(1, 3, 1), table.Interval(3, 4, 1), table.Number(8, 1)}, "M.."},
	} {
		g := table.Group{Mark: true}
		for _, x := range c.cells {
			g.Rows = append(g.Rows, table.Row{Cells: []table.Cell{table.Text("m"), x}})
		}
		text := write(t, table.Markdown, table.Style{}, &table.Table{Columns: []table.Column{{Head: "Model", Key: "model"}, {Head: "x", Best: c.best}}, Groups: []table.Group{g}})
		got := ""
		for _, l := range strings.Split(strings.TrimSpace(text), "\n")[2:] {
			if strings.Contains(l, "**") {
				got += "M"
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s\n%s", c.best, got, c.want, text)
		}
	}
}

// TestMistakes: what cannot be written is said, and nothing is written.
func TestMistakes(t *testing.T) {
	model, x := table.Column{Head: "Model", Key: "model"}, table.Column{Head: "x"}
	for _, c := range []struct {
		table  table.Table
		format table.Format
		want   string
	}{
		{table.Table{}, table.PlainText, "no columns"},
		{table.Table{Columns: []table.Column{x, model}}, table.LaTeX, `"Model" says what rows are and stands behind`},
		{table.Table{Columns: []table.Column{model, x}, Groups: []table.Group{{Heading: "own", Rows: []table.Row{{Cells: []table.Cell{table.Text("m")}}}}}}, table.Markdown, `row 1 of the group "own" has 1 cells for 2 columns`},
		{table.Table{Number: "Table 2", Columns: []table.Column{model, x}, Groups: []table.Group{{Rows: []table.Row{{Cells: []table.Cell{table.Text("m"), table.Number(1, 1)}}}}}}, table.CSV, `writing the table "Table 2": row 1 of the group "" has a number in the column "x"`},
	} {
		var b bytes.Buffer
		if err := table.Write(&b, c.format, table.Style{}, &c.table); err == nil || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%v, want %q; wrote %q", err, c.want, b.String())
		}
	}
	twice := append(figures(t, "ModelLog Table 5"), figures(t, "ModelLog Table 5")...)
	if _, err := table.GroupOf("", []table.Column{model, x}, twice); err == nil || !strings.Contains(err.Error(), "two figures") {
		t.Error(err)
	}
	for name, want := range map[string]table.Format{"text": table.PlainText, "CSV": table.CSV, "markdown": table.Markdown, "latex": table.LaTeX} {
		if f, err := table.ParseFormat(name); err != nil || f != want {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
	if _, err := table.ParseFormat("html"); err == nil || !strings.Contains(err.Error(), "latex") {
		t.Error(err)
	}
}

// TestLaTeXEscapes: whatever the texts are, braces and dollars pair up and nothing
// special stands for anything but itself.
func TestLaTeXEscapes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tab, _ := anyTable(t)
		var b bytes.Buffer
		if err := table.Write(&b, table.LaTeX, table.Style{}, tab); err != nil {
			t.Fatal(err)
		}
		cells := strings.Count(b.String(), " & ")
		lines := 1
		for _, g := range tab.Groups {
			lines += len(g.Rows)
		}
		if want := lines * (len(tab.Columns) - 1); cells < want {
			t.Fatalf("%d separators, want %d:\n%s", cells, want, b.String())
		}
		for _, l := range strings.Split(b.String(), "\n") {
			if strings.HasPrefix(l, "% ") {
				continue
			}
			if strings.Contains(l, `\shortstack`) { // \\ within it ends no row of the table
				l = strings.ReplaceAll(l, `\\`, " ")
			}
			depth, math, separators := 0, false, 0
			for i := 0; i < len(l); i++ {
				switch l[i] {
				case '\\':
					i++
				case '{':
					depth++
				case '}':
					depth--
				case '$':
					math = !math
				case '&':
					separators++
				case '#', '%', '~':
					if l[i] != '~' {
						t.Fatalf("%c stands alone in %q", l[i], l)
					}
				case '_', '^':
					if !math {
						t.Fatalf("%c stands outside of mathematics in %q", l[i], l)
					}
				}
				if depth < 0 {
					t.Fatalf("braces do not pair up in %q", l)
				}
			}
			if depth != 0 || math || separators != 0 && separators != len(tab.Columns)-1 {
				t.Fatalf("depth %d, mathematics %v, %d separators: %q", depth, math, separators, l)
			}
		}
	})
}

// TestLaTeXCompiles typesets all tables, and one of odd texts, with the real program.
func TestLaTeXCompiles(t *testing.T) {
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("there is no pdflatex (Debian: texlive-latex-recommended)")
	}
	odd := &table.Table{Number: "Table 1\n\\evil", Caption: `\input{x} $x_1^2$ #1 50 % a~b "c" 'd' <e> |f| ` + "`g` --- ?` !` ''h''", Columns: []table.Column{{Head: "[Model]", Key: "model"}, {Head: "P₂ − P₁ > ρ"}}}
	for _, s := range []string{"[1] a", "*a", `\`, "{", "é ü ñ ß", "∧ ∨ ¬ → ↔ ⊕ ⊤ ⊥", "κ ± σ ≥ ∞ …", "", "a & b"} {
		odd.Groups = append(odd.Groups, table.Group{Heading: s, Rows: []table.Row{{Cells: []table.Cell{table.Text(s), table.Interval(math.Inf(-1), 1, 2).WithStd(math.Inf(1))}}}})
	}
	real := consistency(t)
	real.Groups[0].Rows[1].Cells[0] = table.Text("small_1 & 2") // pdflatex has no Chinese type
	dir := t.TempDir()
	source := "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + write(t, table.LaTeX, table.Style{}, odd, real, validation(t), examples(t)) + "\\end{document}\n"
	if err := os.WriteFile(filepath.Join(dir, "tables.tex"), []byte(source), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pdflatex, "-interaction=nonstopmode", "-halt-on-error", "tables.tex")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || bytes.Contains(out, []byte("Missing character")) {
		t.Fatalf("%v\n%s\n%s", err, out, source)
	}
	if kept := os.Getenv("KEEP_PDF"); kept != "" {
		b, err := os.ReadFile(filepath.Join(dir, "tables.pdf"))
		if err == nil {
			err = os.WriteFile(kept, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
