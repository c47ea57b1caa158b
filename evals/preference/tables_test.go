package preference

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/correlation"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/notebooks/published"
)

// resultOf is what a run would have of a model that judges by the true scores with noise and a bias for the
// first place.
func resultOf(t *testing.T, model, data string, method Method, wordings int, noise, bias float64) *Result {
	t.Helper()
	random := rand.New(rand.NewPCG(4, uint64(len(model)+len(data))))
	r := &Result{Model: lm.Info{Name: model, Parameters: 135e6}, Data: data, Method: method}
	for w := range wordings {
		var all []*Answered
		for n := range 6 {
			in := &Instance{ID: fmt.Sprint(n)}
			for i := range 8 {
				in.Items = append(in.Items, Item{ID: fmt.Sprint(i + 1), Score: float64((i*5 + n) % 7)})
			}
			a := &Answered{Judged: Judged{Instance: in}, SelfAgreement: math.NaN()}
			if method == CoT {
				a.SelfAgreement = 0.5 + 0.5*random.Float64()
			}
			for _, m := range []**Judgements{&a.Relation, &a.Negated} {
				*m, _ = NewJudgements(8)
				for i := range 8 {
					for j := range 8 {
						if i == j {
							continue
						}
						d := in.Items[i].Score - in.Items[j].Score
						if m == &a.Negated {
							d = -d
						}
						d += bias + float64(w)*0.3 + noise*random.NormFloat64()
						if err := (*m).Set(i, j, 1/(1+math.Exp(-d)), 0.1); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			all = append(all, a)
		}
		// A bad instance has nothing.
		bad, _ := NewJudgements(0)
		all = append(all, &Answered{Judged: Judged{Instance: &Instance{ID: "bad", Bad: "x"}, Relation: bad}, SelfAgreement: math.NaN()})
		r.Answered = append(r.Answered, all)
	}
	return r
}

func optionsOf(t *testing.T) RunOptions {
	t.Helper()
	p, err := DefaultPrompts(Coherence)
	if err != nil {
		t.Fatal(err)
	}
	return RunOptions{Ask: Ask{Prompts: p}}
}

func TestTables(t *testing.T) {
	results := []*Result{
		resultOf(t, "smollm2:135m-instruct", "NovelEval", Direct, 4, 3, 1),
		resultOf(t, "gemma3:270m-pt", "NovelEval", Direct, 1, 1, 0),
		resultOf(t, "a third", "NovelEval", Direct, 1, 5, 0.2),
		resultOf(t, "a-third", "CaTeRS", Direct, 1, 5, 0.2),
		resultOf(t, "a third", "CaTeRS", Direct, 1, 5, 0.2),
		resultOf(t, "smollm2:135m-instruct", "Newsroom", CoT, 1, 2, 0),
		resultOf(t, "smollm2:135m-instruct", "CaTeRS", Direct, 1, 2, 0),
		resultOf(t, "smollm2:135m-instruct", "Summarize from Feedback", Direct, 1, 2, 0),
	}
	o := optionsOf(t)
	o.Measure.K = 4
	tables, err := Tables(results, o)
	if err != nil {
		t.Fatal(err)
	}
	var all, csv bytes.Buffer
	for _, f := range []table.Format{table.PlainText, table.Markdown, table.LaTeX} {
		if err := table.Write(&all, f, table.Style{Width: 120}, tables...); err != nil {
			t.Fatal(err)
		}
	}
	if path := os.Getenv("MODELLOG_TABLES"); path != "" {
		if err := os.WriteFile(path, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Write(&csv, table.CSV, table.Style{}, tables...); err != nil {
		t.Fatal(err)
	}
	figures, _, err := published.Read(&csv, "tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	// find returns the one figure that agrees with what is asked for.
	find := func(in, model, subset, quantity string, other ...string) float64 {
		t.Helper()
		var found []published.Figure
	next:
		for _, f := range figures {
			if f.Other["in"] != in || f.Model != model || f.Subset != subset || f.Quantity != quantity || f.Other["interval"] != "" {
				continue
			}
			for _, o := range other {
				k, v, _ := strings.Cut(o, "=")
				if f.Other[k] != v {
					continue next
				}
			}
			found = append(found, f)
		}
		if len(found) != 1 {
			t.Fatalf("%s, %s, %s, %s, %v: %d figures", in, model, subset, quantity, other, len(found))
		}
		return found[0].Value
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	// One's own figures are those of Measure, by hand for H: the share of right judgements of each instance.
	first := results[0].judged(0)
	if len(first) != 6 {
		t.Fatalf("%d instances", len(first))
	}
	h := 0.0
	for _, x := range first {
		hit, of := 0.0, 0.0
		for i := range 8 {
			for j := range 8 {
				if d := x.Instance.Items[i].Score - x.Instance.Items[j].Score; d != 0 {
					of++
					if (x.Relation.At(i, j) >= 0.5) == (d > 0) {
						hit++
					}
				}
			}
		}
		h += 100 * hit / of / 6
	}
	near("H", find("Table 1, NovelEval", "smollm2:135m-instruct", "NovelEval", "H"), h)
	m4, _ := Measure(first, MeasureOptions{K: 4, Bootstrap: quick})
	m5, _ := Measure(first, MeasureOptions{K: 5, Bootstrap: quick})
	near("s_tran(4)", find("Table 1, NovelEval", "smollm2:135m-instruct", "NovelEval", "s_tran(4)"), 100*m4.Transitive.Value)
	near("s_tran(5)", find("Table 1, NovelEval", "smollm2:135m-instruct", "NovelEval", "s_tran(5)"), 100*m5.Transitive.Value)
	near("s_tran(4) of the curve", find("s_tran(K) over K", "smollm2:135m-instruct", "NovelEval", "s_tran(4)"), 100*m4.Transitive.Value)
	near("CoT", find("Table 1, Newsroom", "smollm2:135m-instruct", "Newsroom", "s_comm", "setting=CoT"), 100*func() float64 {
		m, _ := Measure(results[5].judged(0), MeasureOptions{Bootstrap: quick})
		return m.Commutative.Value
	}())
	near("chance", find("s_tran(K) over K", "chance", "any", "s_tran(5)"), 100*120./1024)
	// Published figures are as they are printed.
	near("published", find("Table 1, NovelEval", "Gemma-2-9B", "NovelEval", "s_comm", "setting=direct"), 85.3)
	near("published", find("Table 1, CaTeRS", "Phi-3-mini", "CaTeRS", "s_neg", "setting=CoT"), 78.7)
	near("published", find("Table 4", "Phi-3-medium", "SummEval", "PairS gain"), 2.4)
	near("published", find("Table 3", "Llama-3-8B-Instruct", "Summarize from Feedback", "s_neg", "setting=IT Augmented data + Neg."), 87.9)
	// Over three models, of their figures in Table 1.
	var commutes, agrees []float64
	for _, model := range []string{"smollm2:135m-instruct", "gemma3:270m-pt", "a third"} {
		commutes = append(commutes, find("Table 1, NovelEval", model, "NovelEval", "s_comm"))
		agrees = append(agrees, find("Table 1, NovelEval", model, "NovelEval", "H"))
	}
	near("correlation", find("correlations", "", "NovelEval", "Pearson", "of=3 models, direct", "between=s_comm and H"), correlation.Pearson(commutes, agrees))
	// Correlations over the ten published models, by Python's statistics.correlation.
	for set, want := range map[string]string{"SummEval": "0.5307 0.8648", "NovelEval": "0.5654 0.8616", "CaTeRS": "-0.1118 0.0395"} {
		for i, method := range []string{"direct", "CoT"} {
			w, _ := strconv.ParseFloat(strings.Fields(want)[i], 64)
			if got := find("correlations", "", set, "Pearson", "of=ten models, "+method, "between=s_tran and H"); math.Abs(got-w) > 5e-4 {
				t.Errorf("%s, %s: %g, want %g", set, method, got, w)
			}
		}
	}
	for _, want := range []string{"78,7", "+.2.4", "2^(K(K−1)/2)", "Stiennon"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("the tables do not name the slip %q", want)
		}
	}
	if _, err := Tables(nil, o); err == nil {
		t.Error("tables of nothing")
	}
	drawn, err := Figures(results, o)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, f := range drawn {
		if names[f.Name] {
			t.Errorf("two figures are called %s", f.Name)
		}
		names[f.Name] = true
		if dir := os.Getenv("MODELLOG_PLOTS"); dir != "" {
			if err := f.Figure.Save(dir + "/" + f.Name + ".png"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"commutativity-models-direct-noveleval", "commutativity-models-cot-newsroom", "self-agreement-models-newsroom", "judgements-smollm2-135m-instruct-noveleval", "judgements-smollm2-135m-instruct--cot-newsroom", "transitivity-noveleval", "judgements-a-third-caters", "judgements-a-third-caters-2", "commutativity-noveleval", "self-agreement-newsroom"} {
		if !names[name] {
			t.Errorf("there is no figure %s among %v", name, names)
		}
	}
}

// The points over models are the figures of Table 1: one's own, and those of the paper, read here from its file.
func TestModelFigures(t *testing.T) {
	results := []*Result{
		resultOf(t, "smollm2:135m-instruct", "NovelEval", Direct, 1, 3, 1), resultOf(t, "smollm2:135m-instruct", "NovelEval", CoT, 1, 2, 0.5),
		resultOf(t, "gemma3:270m-pt", "NovelEval", Direct, 1, 1, 0), resultOf(t, "gemma3:270m-pt", "Newsroom", Direct, 1, 1, 0),
	}
	o := optionsOf(t)
	o.Measure.complete()
	table := &tables{results: results, o: o}
	sets, err := table.models()
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) != 2 || len(sets[0].models) != 2 || len(sets[0].models[0].by) != 2 || !math.IsNaN(sets[0].models[1].self) {
		t.Fatalf("%+v", sets)
	}
	m, err := Measure(results[0].judged(0), MeasureOptions{Bootstrap: quick})
	if err != nil {
		t.Fatal(err)
	}
	self := 0.0
	for _, a := range results[1].answered(0) {
		self += a.SelfAgreement / 6
	}
	tran, selves := sets[0].stable(Direct)
	if len(tran) != 1 || tran[0] != m.Transitive.Value || math.Abs(selves[0]-self) > 1e-12 {
		t.Errorf("s_tran of direct judgements and self-agreement of chains of thought: %v, %v; want %g, %g", tran, selves, m.Transitive.Value, self)
	}
	file, err := os.ReadFile("../../notebooks/published/preference-table01.csv")
	if err != nil {
		t.Fatal(err)
	}
	figures, err := published.Table("Preference Table 1")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range publishedSets {
		for _, method := range methods {
			points := publishedPoints(figures, set, method)
			if len(points) != 10 {
				t.Errorf("%s, %s: %d points", set, method, len(points))
			}
			for _, p := range points {
				for q, v := range map[string]float64{"s_comm": p.X, "H": p.Y} {
					row := fmt.Sprintf(",%s,%s,%%,%s,,%s\n", set, q, strconv.FormatFloat(v, 'f', 1, 64), method)
					if !p.Published || !strings.Contains(string(file), row) {
						t.Errorf("%s: no row ends in %q", p.Name, row)
					}
				}
			}
		}
	}
	if points := publishedPoints(figures, "Newsroom", Direct); points != nil {
		t.Errorf("the paper has no Newsroom: %v", points)
	}
	// Of NovelEval, direct, by Python's statistics.correlation, and of ranks.
	if got := correlated(publishedPoints(figures, "NovelEval", Direct)); got != "Pearson, Spearman of the published 0.91, 0.94 (n = 10)" {
		t.Error(got)
	}
	drawn, err := table.modelFigures()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range drawn {
		names = append(names, f.Name)
	}
	if got := strings.Join(names, " "); got != "commutativity-models-direct-noveleval commutativity-models-cot-noveleval self-agreement-models-noveleval commutativity-models-direct-newsroom" {
		t.Error(got)
	}
}

// That rankings are of fewer instances than the run is of is told.
func TestSortingOfFewer(t *testing.T) {
	r := resultOf(t, "a model", "mine", Direct, 1, 1, 0)
	for i := range r.Answered[0][1].Instance.Items {
		r.Answered[0][1].Instance.Items[i].Score = 1
	}
	r.Rows = []*Row{{Instance: "bad", Status: StatusBad}, {Instance: "0", First: "1"}, {Instance: "0", First: "2"}}
	x, err := SortingTable([]*Result{r}, optionsOf(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(x.Notes, "\n"); !strings.Contains(got, "a model on mine: PairS is of 5 of 7 instances, the win rate of 5.") {
		t.Error(got)
	}
}

func TestTable2(t *testing.T) {
	in := &Instance{ID: "a", Items: unscored(5), Comparisons: []Comparison{{I: 0, J: 1, P: 1}, {I: 1, J: 2, P: 1}, {I: 2, J: 0, P: 1}, {I: 0, J: 3, P: 1}, {I: 0, J: 4, P: 1}}}
	stages, err := Stages([]*Instance{in}, RefineOptions{Measure: MeasureOptions{Bootstrap: quick}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := Table2(stages, "a file")
	if err != nil {
		t.Fatal(err)
	}
	var text, csv bytes.Buffer
	if err := table.Write(&text, table.PlainText, table.Style{}, x); err != nil {
		t.Fatal(err)
	}
	if err := table.Write(&csv, table.CSV, table.Style{}, x); err != nil {
		t.Fatal(err)
	}
	lines := map[string][]string{}
	for line := range strings.Lines(text.String()) {
		if f := strings.Fields(line); len(f) > 4 {
			name := strings.Join(f[:len(f)-4], " ")
			lines[name] = append(lines[name], strings.Join(f[len(f)-4:], " "))
		}
	}
	// A wins 3 of 4 (½), B and C 1 of 2 (0), D and E lose all (−1): 1 ≻ 2 groups: 1·2 + 1·2 + 2·2 = 8 pairs in two orders.
	for name, want := range map[string][2]string{
		"Raw data": {"0.0 undefined 5 5.00", "98.4 – 14800 6.29"}, "Aug. data": {"100.0 100.0 16 16.00", "1 1 30900 13.2"}, "Aug. data+Neg.": {"100.0 100.0 32 32.00", "1 1 61800 26.4"},
	} {
		if got := lines[name]; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
