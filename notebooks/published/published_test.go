// Package published_test holds the transcribed tables against the papers' text.
package published_test

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
)

const (
	modellog   = "001_7515a776d10e7874.txt"
	cuc        = "003_581ed9b0d7fd3b12.txt"
	preference = "004_51e2a28de7d600d3.txt"
)

// A source says where a table stands in a paper's text and what its columns are.
type source struct {
	file    string
	seed    string
	caption string   // start of the line that names the table
	below   bool     // the rows are below that line, not above it
	heads   int      // lines of column heads
	keys    []string // the columns that say what a row is about …
	columns []string // … and the others: their values of vary, joined by "|"
	vary    []string // columns of the CSV that differ along a line of the table
}

func each(n string, words ...string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strings.ReplaceAll(n, "*", w)
	}
	return out
}

var (
	subsets = []string{"Transitivity", "Forward Implication", "Negation Consistency", "Mutual Exclusivity", "Spatial Exclusivity"}
	cacc    = source{seed: modellog, heads: 1, keys: []string{"model"}, columns: each("*|CAcc", subsets...), vary: []string{"subset", "quantity"}}
	scaling = source{seed: modellog, heads: 1, keys: []string{"model"}, vary: []string{"quantity"}}
	judges  = []string{"H", "s_tran(5)", "s_comm", "s_neg"}
)

func (s source) in(file, caption string, columns ...string) source {
	s.file, s.caption = file, caption
	if columns != nil {
		s.columns = columns
	}
	return s
}

var sources = []source{
	{file: "modellog-table01.csv", seed: modellog, caption: "Table 1:", heads: 1, keys: []string{"subset"}, columns: []string{"", "I", ""}, vary: []string{"quantity"}},
	cacc.in("modellog-table02.csv", "Table 2:"),
	scaling.in("modellog-table03.csv", "Table 3:", "P2-P1", "P2>P1", "CAcc"),
	{file: "modellog-table04.csv", seed: modellog, caption: "Table 4:", heads: 1, keys: []string{"subset"},
		columns: []string{"raw|", "filtered|", "single-token|Gemma-3", "single-token|Llama-3", "single-token|Qwen3"}, vary: []string{"quantity", "family"}},
	{file: "modellog-table05.csv", seed: modellog, caption: "Table 5:", heads: 1, keys: []string{"subset"},
		columns: []string{"human accept", "LLM accept", "annotator 1 precision", "annotator 2 precision"}, vary: []string{"quantity"}},
	scaling.in("modellog-table06.csv", "Table 6:", "P1", "P2", "P2-P1", "P2>P1", "CAcc"),
	scaling.in("modellog-table07.csv", "Table 7:", "P1", "P2", "P3", "P3-P1P2", "P3>P1P2", "CAcc"),
	{file: "modellog-table08.csv", seed: modellog, caption: "Table 8:", heads: 2, keys: []string{"prefix", "premise", "conclusion"},
		columns: []string{"P1|Gemma-3-270M", "P1|Gemma-3-12B-pt", "P2|Gemma-3-270M", "P2|Gemma-3-12B-pt", "rho|Gemma-3-270M", "rho|Gemma-3-12B-pt"}, vary: []string{"quantity", "model"}},
	cacc.in("modellog-table09.csv", "Table 9:"),
	cacc.in("modellog-table10.csv", "Table 10:"),
	cacc.in("modellog-table11.csv", "Table 11:"),
	cacc.in("modellog-table12.csv", "Table 12:"),
	{file: "cuc-table01.csv", seed: cuc, caption: "Table 1.", heads: 1, keys: []string{"model"},
		columns: []string{"Acc", "Coverage", "Acc_cov", "E[c]", "E[v_neg]", "%v_neg>0"}, vary: []string{"quantity"}},
	{file: "cuc-table06.csv", seed: cuc, caption: "Scale Effects Within", below: true, heads: 1, keys: []string{"model"},
		columns: []string{"E[c]", "E[v_neg]", "Coverage", "Acc", "Acc_cov", "ECE_cov"}, vary: []string{"quantity"}},
	{file: "preference-table01.csv", seed: preference, caption: "Table 1:", below: true, heads: 2, keys: []string{"setting", "model"},
		columns: slices.Concat(each("SummEval|*", judges...), each("NovelEval|*", judges...), each("CaTeRS|*", judges...)), vary: []string{"subset", "quantity"}},
	{file: "preference-table02.csv", seed: preference, caption: "Table 2:", below: true, heads: 1, keys: []string{"setting"},
		columns: []string{"s_tran(5)", "s_comm", "examples", "comparisons per instance"}, vary: []string{"quantity"}},
	{file: "preference-table03.csv", seed: preference, caption: "Table 3:", below: true, heads: 2, keys: []string{"setting"}, columns: judges, vary: []string{"quantity"}},
	{file: "preference-table04.csv", seed: preference, caption: "Table 4:", below: true, heads: 2, keys: []string{"model"},
		columns: []string{"H", "s_tran(5)", "s_comm", "PairS", "PairS calibrated", "PairS gain"}, vary: []string{"quantity"}},
}

// names are what the papers call rows that have another name here.
var names = strings.NewReplacer(
	"Direct Judgements", "direct", "CoT Prompting", "CoT",
	" (2.7B)", "", " ⚠ Vacuous", "", "Δ (3B − 1.5B)", "3B − 1.5B", " …", "",
	"Entity Mutual", "Mutual", "Spatial Mutual Exclusivity", "Spatial Exclusivity", "Spatial Mutex", "Spatial Exclusivity",
)

var (
	// decoration is what stands in a cell beside its numbers.
	decoration = regexp.MustCompile(`\\color\[rgb\]\{[^}]*\}|\\mathbf|\\pm|[${}(]`)
	figure     = regexp.MustCompile(`[+−-]?\d[\d.,]*K?`)
)

// block returns a table's lines.
func (s source) block(t *testing.T, text string) [][]string {
	lines := strings.Split(text, "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, s.caption) })
	if at < 0 {
		t.Fatalf("%s has no line %q", s.seed, s.caption)
	}
	step := -1
	if s.below {
		step = 1
	}
	for !strings.Contains(lines[at], "\t") {
		at += step
	}
	var rows [][]string
	for ; at < len(lines) && strings.TrimSpace(lines[at]) != ""; at += step {
		rows = append(rows, strings.Split(lines[at], "\t"))
	}
	if !s.below {
		slices.Reverse(rows)
	}
	return rows[s.heads:]
}

// printed reads the numbers of a table in the paper's text: what they are about → value and std.
func (s source) printed(t *testing.T, text string) map[string][2]float64 {
	out := map[string][2]float64{}
	heading := ""
	for _, row := range s.block(t, text) {
		if len(row) == 1 { // a line between the rows
			heading = names.Replace(row[0])
			continue
		}
		var keys []string
		if s.keys[0] == "setting" && len(s.keys) == 2 {
			keys = append(keys, heading)
		}
		for len(keys) < len(s.keys) {
			key := names.Replace(strings.TrimSpace(row[0]))
			if key == "Negation" {
				key = "Negation Consistency"
			}
			keys = append(keys, key)
			row = row[1:]
		}
		var cells []string
		for i, c := range row {
			switch {
			case c == "" && s.seed == preference: // space between groups of columns
				continue
			case s.file == "preference-table04.csv" && i == len(row)-1: // two numbers
				raw, gain, _ := strings.Cut(c, " +")
				cells = append(cells, raw, strings.TrimPrefix(gain, "."))
				continue
			}
			cells = append(cells, c)
		}
		if s.file == "modellog-table01.csv" && len(cells) == 3 {
			cells[0], cells[2] = "", "" // a formula, a sentence
		}
		if len(cells) != len(s.columns) {
			t.Fatalf("%s: %d cells for %d columns: %q", s.file, len(cells), len(s.columns), cells)
		}
		for i, c := range cells {
			if c == "-" || c == "" {
				continue
			}
			var v [2]float64
			got := figure.FindAllString(decoration.ReplaceAllString(c, " "), -1)
			if len(got) == 0 || len(got) > 2 {
				t.Fatalf("%s: %d numbers in %q", s.file, len(got), c)
			}
			for j, text := range got {
				v[j] = parse(t, text)
			}
			key := strings.Join(append(slices.Clone(keys), s.columns[i]), "|")
			if _, ok := out[key]; ok {
				t.Fatalf("%s: %s is there twice", s.file, key)
			}
			out[key] = v
		}
	}
	return out
}

func parse(t *testing.T, text string) float64 {
	text = strings.Replace(text, "−", "-", 1)
	if whole, decimals, ok := strings.Cut(text, ","); ok && len(decimals) < 3 {
		text = whole + "." + decimals // a comma for a point
	}
	text, thousands := strings.CutSuffix(strings.ReplaceAll(text, ",", ""), "K")
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	if thousands {
		x *= 1000
	}
	return x
}

// read reads a table as records by column.
func read(t *testing.T, file string) []map[string]string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	records, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var out []map[string]string
	for _, r := range records[1:] {
		m := map[string]string{}
		for i, name := range records[0] {
			m[name] = r[i]
		}
		out = append(out, m)
	}
	return out
}

// TestTables compares all numbers of all tables with the papers' text, in both directions.
func TestTables(t *testing.T) {
	total := 0
	for _, s := range sources {
		b, err := os.ReadFile(modeltest.Shared(t, filepath.Join("seeds", s.seed)))
		if err != nil {
			t.Fatal(err)
		}
		want := s.printed(t, string(b))
		for _, r := range read(t, s.file) {
			var keys []string
			for _, k := range slices.Concat(s.keys, s.vary) {
				keys = append(keys, r[k])
			}
			key := strings.Join(keys, "|")
			v, ok := want[key]
			if !ok {
				t.Errorf("%s: the paper has no number for %s", s.file, key)
				continue
			}
			delete(want, key)
			std := 0.0
			if r["std"] != "" {
				std = parse(t, r["std"])
				total++
			}
			total++
			if got := parse(t, r["value"]); fmt.Sprintf("%.6g", got) != fmt.Sprintf("%.6g", v[0]) || std != v[1] {
				t.Errorf("%s: %s is %v ± %v, in the paper %v ± %v", s.file, key, got, std, v[0], v[1])
			}
		}
		for key := range want {
			t.Errorf("%s: %s is missing", s.file, key)
		}
	}
	if total < 800 {
		t.Errorf("only %d numbers were compared", total)
	}
	t.Logf("%d numbers", total)
}

// TestFiles: each file is one of the sources', each row says what it is, and sizes are
// what the models' names say.
func TestFiles(t *testing.T) {
	files, err := filepath.Glob("*.csv")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(sources) {
		t.Errorf("%d files for %d tables", len(files), len(sources))
	}
	nominal := regexp.MustCompile(`(?:^|-)([\d.]+)([MB])`)
	for _, file := range files {
		tables := map[string]bool{}
		for i, r := range read(t, file) {
			tables[r["table"]] = true
			if r["quantity"] == "" || r["value"] == "" || r["subset"] == "" {
				t.Errorf("%s: row %d does not say what it is: %v", file, i+2, r)
			}
			m := nominal.FindStringSubmatch(r["model"])
			switch {
			case r["model"] == "Phi-2": // the paper says 2.7B beside the name
				if r["size"] != "2700000000" {
					t.Errorf("%s: row %d: %s", file, i+2, r["size"])
				}
			case m == nil || strings.Contains(r["model"], "−"):
				if r["size"] != "" {
					t.Errorf("%s: row %d has a size that its name does not tell", file, i+2)
				}
			default:
				x, _ := strconv.ParseFloat(m[1], 64)
				if want := strconv.FormatFloat(x*map[string]float64{"M": 1e6, "B": 1e9}[m[2]], 'f', 0, 64); r["size"] != want {
					t.Errorf("%s: row %d: the size of %s is %s, not %s", file, i+2, r["model"], want, r["size"])
				}
				if r["family"] == "" {
					t.Errorf("%s: row %d has no family", file, i+2)
				}
			}
		}
		if len(tables) != 1 {
			t.Errorf("%s is of the tables %v", file, tables)
		}
	}
}

// TestSlips: the differences that README.md tells of are in the tables.
func TestSlips(t *testing.T) {
	value := func(file, model, subset, quantity string) (found float64) {
		for _, r := range read(t, file) {
			if r["model"] == model && r["subset"] == subset && r["quantity"] == quantity && r["setting"] != "CoT" {
				found = parse(t, r["value"])
			}
		}
		return found
	}
	for i, model := range []string{"Gemma-3-270M", "Gemma-3-1B-pt", "Gemma-3-4B-pt", "Gemma-3-12B-pt"} {
		if a, b := value("modellog-table03.csv", model, subsets[1], "CAcc"), value("modellog-table02.csv", model, subsets[1], "CAcc"); a != []float64{75.4, 57.8, 44.1, 38.3}[i] || b != []float64{79.7, 65.1, 50.8, 45.2}[i] {
			t.Errorf("forward implication, %s: %v and %v", model, a, b)
		}
		if a, b := value("modellog-table07.csv", model, subsets[0], "CAcc"), value("modellog-table10.csv", model, subsets[0], "CAcc"); a != []float64{77.6, 64.6, 42.6, 36.0}[i] || b != []float64{81.0, 69.0, 46.9, 40.4}[i] {
			t.Errorf("transitivity, %s: %v and %v", model, a, b)
		}
	}
	if a, b := value("modellog-table02.csv", "Gemma-3-12B-pt", subsets[4], "CAcc"), value("modellog-table10.csv", "Gemma-3-270M", subsets[4], "CAcc"); a != 23.8 || b != 18.5 {
		t.Errorf("spatial exclusivity: %v and %v", a, b)
	}
	small, large := func(q string) float64 { return value("cuc-table06.csv", "Qwen2.5-1.5B", "FOLIO", q) }, func(q string) float64 { return value("cuc-table06.csv", "Qwen2.5-3B", "FOLIO", q) }
	for what, got := range map[string]string{
		"6.6× violation":   fmt.Sprintf("%.1f", small("E[v_neg]")/large("E[v_neg]")),
		"76 % of coverage": fmt.Sprintf("%.0f", 100*(1-large("Coverage")/small("Coverage"))),
		"83 % of E[c]":     fmt.Sprintf("%.0f", 100*(1-large("E[c]")/small("E[c]"))),
	} {
		if !strings.HasPrefix(what, got) {
			t.Errorf("%s is %s", what, got)
		}
	}
	if a, b := value("preference-table01.csv", "Phi-3-mini", "SummEval", "s_comm"), value("preference-table04.csv", "Phi-3-mini", "SummEval", "s_comm"); a != 66.9 || b != 46.9 {
		t.Errorf("commutativity: %v and %v", a, b)
	}
}
