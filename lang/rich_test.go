package lang_test

import (
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata/rich")

type htmler interface{ HTML() string }
type latexer interface{ LaTeX() string }

var allowed = map[string]string{
	"div": "class style", "span": "style title", "b": "title", "pre": "style", "table": "style", "thead": "", "tbody": "", "tr": "",
	"th": "scope style", "td": "style title", "img": "alt style src",
}

// plainHTML reads HTML as strictly as XML, and returns its text and its tooltips. What a
// front-end would remove or carry out is an error.
func plainHTML(text string) (plain string, tips []string, err error) {
	if !strings.HasPrefix(text, `<div class="tex2jax_ignore mathjax_ignore"`) {
		return "", nil, fmt.Errorf("dollar signs would be taken for mathematics")
	}
	d := xml.NewDecoder(strings.NewReader(text))
	var b strings.Builder
	for {
		token, err := d.Token()
		if err == io.EOF {
			return b.String(), tips, nil
		}
		if err != nil {
			return "", nil, err
		}
		switch x := token.(type) {
		case xml.StartElement:
			attributes, ok := allowed[x.Name.Local]
			if !ok {
				return "", nil, fmt.Errorf("the element %s", x.Name.Local)
			}
			for _, a := range x.Attr {
				if !strings.Contains(" "+attributes+" ", " "+a.Name.Local+" ") {
					return "", nil, fmt.Errorf("%s has the attribute %s", x.Name.Local, a.Name.Local)
				}
				switch a.Name.Local {
				case "title":
					tips = append(tips, a.Value)
				case "style":
					if strings.ContainsAny(a.Value, "\\<>\"'") || strings.Contains(a.Value, "url") {
						return "", nil, fmt.Errorf("the style %s", a.Value)
					}
				}
			}
			if b.Len() > 0 {
				b.WriteByte('|')
			}
		case xml.CharData:
			b.Write(x)
		case xml.Comment, xml.ProcInst, xml.Directive:
			return "", nil, fmt.Errorf("%T", x)
		}
	}
}

// balanced reports whether the braces that are not escaped, the dollar signs and the
// environments of LaTeX are balanced.
func balanced(s string) bool {
	depth, dollars := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth < 0 {
				return false
			}
		case '$':
			dollars++
		}
	}
	return depth == 0 && dollars == 2 && s[0] == '$' && s[len(s)-1] == '$' && strings.Count(s, `\begin{`) == strings.Count(s, `\end{`)
}

const richProgram = `dog = M("A dog is a", "dog")
mammal = M("A dog is a", "mammal")
rule = dog -> mammal
rule
rho(rule)
cacc(rule)
entails(dog & mammal, rule)
equivalent(dog, mammal)
models(rule)
grad(rule)
M("A dog is", "an animal") | prob(0.25)
prob(0.5) | true
ladder("A dog is a mammal.")
top("A dog is", 3)
%who
%calibration
%help ->
%time off
`

// TestRichGolden compares what results show in a notebook with files that were looked at.
func TestRichGolden(t *testing.T) {
	for name, src := range map[string]string{
		"exact":     richProgram,
		"intervals": "%model top\n" + richProgram,
		"run":       "f(x, a) = M(x, a) & prob(0.5)\n%run f rows.csv",
		"plot":      "%plot report prob(0.3)",
	} {
		s := session(t)
		if name == "run" {
			path := file(t, t.TempDir(), "rows.csv", "x,a\nA dog is a,dog\nA dog is a,<b>no</b>\nA dog is a,\n")
			src = strings.Replace(src, "rows.csv", path, 1)
		}
		var b strings.Builder
		for _, r := range eval(t, s, src) {
			page := r.(htmler).HTML()
			plain, _, err := plainHTML(page)
			if err != nil {
				t.Errorf("%v in %s", err, page)
			}
			if strings.Contains(page, "NaN") {
				t.Errorf("NaN in %s", page)
			}
			if r.Kind() == "figure" {
				page = regexp.MustCompile(`base64,[^"]*`).ReplaceAllString(page, "base64,")
			}
			if r, ok := r.(*lang.Run); ok {
				page = strings.Replace(page, r.File, "rows.csv", 1)
			}
			fmt.Fprintf(&b, "%s\n", strings.NewReplacer("<tr>", "\n<tr>", "<div", "\n<div", "<table", "\n<table").Replace(page))
			if r, ok := r.(latexer); ok {
				b.WriteString("\n" + r.LaTeX() + "\n")
				if !balanced(r.LaTeX()) {
					t.Errorf("not balanced: %s", r.LaTeX())
				}
			}
			// The numbers are those of the text.
			if r.Kind() == "report" || r.Kind() == "ladder" {
				for _, number := range regexp.MustCompile(`[0-9]+\.[0-9]+(e-[0-9]+)?`).FindAllString(r.Text(lang.Style{Width: 200}), -1) {
					if !strings.Contains(plain, number) {
						t.Errorf("%s of the text is not in %s", number, plain)
					}
				}
			}
		}
		path := filepath.Join("testdata", "rich", name+".html")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("%v (run go test ./lang -run Rich -update to write it, and look at it)", err)
		}
		if diff := cmp.Diff(string(want), b.String()); diff != "" {
			t.Errorf("%s\n%s", path, diff)
		}
	}
}

// TestRichTooltips: what was asked is there in full where the line is cut, with ids and pieces.
func TestRichTooltips(t *testing.T) {
	s := session(t)
	long := strings.Repeat("A dog is a mammal. ", 8) + "A dog is"
	for _, src := range []string{fmt.Sprintf("M(%q, \"an animal\")", long), fmt.Sprintf("grad(M(%q, \"an animal\"))", long)} {
		r := eval(t, s, src)
		page := r[len(r)-1].(htmler).HTML()
		plain, tips, err := plainHTML(page)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(tips, "\n")
		m := modeltest.NewBigram(modeltest.Corpus, 0)
		if strings.Count(plain, long) > 1 || !strings.Contains(plain, "…") || !strings.Contains(all, long+"▸ an") || !strings.Contains(all, long+" an▸ animal") {
			t.Errorf("%s\n%s", plain, all)
		}
		if want := fmt.Sprintf("%d “ is” ▸ %d “ an”", m.IDs[" is"], m.IDs[" an"]); !strings.Contains(all, want) {
			t.Errorf("%s is not in %s", want, all)
		}
	}
}

// TestPrompts: JSON says in full what was asked, token by token; in a long text once.
func TestPrompts(t *testing.T) {
	s := session(t)
	m := modeltest.NewBigram(modeltest.Corpus, 0)
	type step struct {
		Token  lm.Token
		Prompt []lm.Token
		Pieces []string `json:"prompt_pieces"`
	}
	steps := func(src string) []step {
		t.Helper()
		results := eval(t, s, src)
		b, err := json.Marshal(results[len(results)-1])
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Events []struct{ Steps []step } }
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		return r.Events[0].Steps
	}
	got := steps(`M("A dog is", "an animal")`)
	id := func(piece string) lm.Token { return m.IDs[piece] }
	prompt := []lm.Token{0, id("A"), id(" dog"), id(" is")}
	want := []step{
		{id(" an"), prompt, []string{"", "A", " dog", " is"}},
		{id(" animal"), append(prompt, id(" an")), []string{"", "A", " dog", " is", " an"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, x := range steps("prob(0.5)") {
		if x.Prompt != nil {
			t.Error("a prompt that nobody was asked")
		}
	}
	s = session(t, func() *modeltest.Bigram {
		m := modeltest.NewBigram(modeltest.Corpus, 0)
		m.Model.Name, m.Model.Context = "wide", 400
		return m
	}())
	eval(t, s, "%model wide")
	long := steps(`ladder("` + strings.Repeat("A dog is a mammal. ", 30) + `")`)
	if len(long) < 100 || len(long[0].Prompt) != 1 || long[1].Prompt != nil {
		t.Errorf("%d steps, prompts of %d and %d tokens", len(long), len(long[0].Prompt), len(long[1].Prompt))
	}
}

// anyText are texts that have broken programs.
func anyText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "<script>alert(1)</script>", `" onmouseover="x`, "$5 and $6", `\(x\)`, "a\nb\x00\x1b[31m", "\u202eabc", "\xff\xfe", "-->", "]]>", `{}\_^~#%&`, "金毛🐶",
		strings.Repeat("long ", 2000), strings.Repeat("x", 10000), "&lt;", "\ufffe",
	}))
}

// randomResults are a report, tables and notes whose every text is arbitrary.
func randomResults(t *rapid.T) []lang.Result {
	text := func(what string) string { return anyText().Draw(t, what) }
	numbers := rapid.SampledFrom([]float64{0, 1, 0.5, -2.38, 1e-300, math.Inf(1), math.Inf(-1), math.NaN()})
	interval := func(what string) lang.Interval {
		return lang.Interval{Lo: numbers.Draw(t, what), Hi: numbers.Draw(t, what)}
	}
	token := lang.ReportToken{
		Token: 7, Piece: text("piece"), PrefixText: text("prefix"), Prompt: []lm.Token{1, 2}, PromptPieces: []string{text("first"), text("second")},
		P: interval("p"), Size: interval("size"), C: interval("c"), EventP: interval("event p"), Grad: interval("grad"),
	}
	info := &lm.Info{Name: text("model"), Backend: text("backend"), Precision: text("precision")}
	yes := rapid.Bool().Draw(t, "truth")
	verdict := rapid.SampledFrom([]logic.Verdict{logic.Consistent, logic.Inconsistent, logic.Undecided}).Draw(t, "verdict")
	return []lang.Result{
		&lang.Report{
			Name: text("name"), Formula: text("formula"), WMC: interval("wmc"), WMC0: 0.5, Rho: interval("rho"), Info: 1, Loss: interval("loss"), CAcc: verdict,
			Events: []lang.ReportEvent{
				{Name: text("event"), Prefix: text("prefix"), Target: text("target"), Tokens: []lang.ReportToken{token, token}},
				{Name: text("event"), Given: true, Tokens: []lang.ReportToken{token}},
			},
			Model: info, Calibration: calibrate.Default(),
		},
		&lang.Value{Query: text("query"), Formula: text("formula"), Number: interval("number")},
		&lang.Value{Query: "entails", Formula: text("formula"), Truth: &yes},
		&lang.Value{Query: "cacc", Formula: text("formula"), Verdict: &verdict},
		&lang.Table{Query: "who", Formula: text("formula"), Head: []string{text("head"), "b"}, Cells: [][]string{{text("cell"), text("cell")}}, Note: text("note")},
		&lang.Ladder{Name: text("name"), Formula: text("formula"), Rungs: []lang.Rung{{K: 1, LogWMC: interval("log"), WMC0: 0.5, Info: 1}}, Model: info},
		&lang.Run{Schema: text("schema"), File: text("file"), Rows: 2, Scored: 1, BadRows: 9, Bad: []lang.BadRow{{Line: 3, Why: text("why")}}, Rho: interval("rho"), CAcc: lang.Interval{Lo: 0, Hi: 1}, Model: info},
		&lang.Note{What: "model", Message: text("message")},
	}
}

// TestRichAnything: whatever the texts are, HTML is well formed and nothing in it is theirs to
// decide, and LaTeX is balanced.
func TestRichAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, r := range randomResults(t) {
			page := r.(htmler).HTML()
			plain, _, err := plainHTML(page)
			if err != nil {
				t.Fatalf("%s: %v in %q", r.Kind(), err, page)
			}
			if strings.Contains(plain, "NaN") && !strings.Contains(fmt.Sprint(r), "NaN") || len(page) > 400_000 {
				t.Fatalf("%s: %d bytes: %.200s", r.Kind(), len(page), plain)
			}
			if r, ok := r.(latexer); ok && !balanced(r.LaTeX()) {
				t.Fatalf("not balanced: %s", r.LaTeX())
			}
		}
	})
}

// FuzzRich evaluates programs whose texts are arbitrary and shows their results.
func FuzzRich(f *testing.F) {
	for _, s := range []string{"dog", `<img src=x onerror="alert(1)">`, "$\\frac{1}{2}$", "a\nb", "\u202e", "{", "}", `\`, "“”", strings.Repeat("dog ", 100), "&amp;", "\x00"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, prefix, target string) {
		s := session(t)
		src := fmt.Sprintf("M(%s, %[2]s)\nwmc(M(%[1]s, %[2]s))\ngrad(M(%[1]s, %[2]s))\nladder(%[2]s)\n", quote(prefix), quote(target))
		results, _ := try(s, src) // what is no event is an error, which has tests of its own
		for _, r := range results {
			if _, _, err := plainHTML(r.(htmler).HTML()); err != nil {
				t.Fatalf("%s: %v in %q", r.Kind(), err, r.(htmler).HTML())
			}
			if r, ok := r.(latexer); ok && !balanced(r.LaTeX()) {
				t.Fatalf("not balanced: %s", r.LaTeX())
			}
		}
	})
}

// quote writes a text as the language reads it back.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		fmt.Fprintf(&b, `\U%08X`, r)
	}
	b.WriteByte('"')
	return b.String()
}
