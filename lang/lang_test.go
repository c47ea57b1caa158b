package lang_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

// session starts a session whose default model is counted from the corpus.
func session(t testing.TB, models ...*modeltest.Bigram) *lang.Session {
	t.Helper()
	byName := map[string]*modeltest.Bigram{"ngram": modeltest.NewBigram(modeltest.Corpus, 0), "top": modeltest.NewBigram(modeltest.Corpus, 20)}
	byName["top"].Model.Name, byName["top"].Model.Digest = "top", "1"
	for _, m := range models {
		byName[m.Model.Name] = m
	}
	s := lang.New(lang.Options{
		Model: "ngram",
		Dir:   t.TempDir(),
		Open: func(ctx context.Context, name string) (lm.Model, error) {
			if m := byName[name]; m != nil {
				return m, nil
			}
			return nil, fmt.Errorf("no model is called %q", name)
		},
		ModelNames: func(ctx context.Context) ([]lm.ModelName, error) {
			return []lm.ModelName{{Name: "ngram", Backend: "counted", Detail: "bigrams"}, {Name: "top", Backend: "counted"}}, nil
		},
	})
	t.Cleanup(func() { s.Close() })
	return s
}

// eval evaluates a program and returns its results.
func eval(t testing.TB, s *lang.Session, src string) []lang.Result {
	t.Helper()
	results, err := try(s, src)
	if err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	return results
}

func try(s *lang.Session, src string) (results []lang.Result, err error) {
	err = s.Eval(context.Background(), "", src, func(r lang.Result) error {
		results = append(results, r)
		return nil
	})
	return results, err
}

// last returns the last result, which must be of type T.
func last[T lang.Result](t testing.TB, results []lang.Result) T {
	t.Helper()
	if len(results) == 0 {
		t.Fatal("no result")
	}
	r, ok := results[len(results)-1].(T)
	if !ok {
		t.Fatalf("the last result is a %s", results[len(results)-1].Kind())
	}
	return r
}

// number evaluates a query.
func number(t testing.TB, s *lang.Session, query string) float64 {
	t.Helper()
	v := last[*lang.Value](t, eval(t, s, query)).Number
	if !v.IsExact() {
		t.Fatalf("%s is an interval", query)
	}
	return v.Lo
}

func near(t testing.TB, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// TestPrograms runs the programs of testdata/*.logic, whose chunks are separated by
// "---". A line may say at its end what its result's text must be (#= text; \n for several
// lines), and a line that is wrong says so (### "regexp" for the message without its place).
func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.logic")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line := 1
		for _, chunk := range strings.Split(string(b), "\n---\n") {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(file), line), func(t *testing.T) { runChunk(t, chunk) })
			line += strings.Count(chunk, "\n") + 2
		}
	}
}

func runChunk(t *testing.T, chunk string) {
	s := session(t)
	lines := strings.Split(chunk, "\n")
	wantErr := map[int]*regexp.Regexp{}
	var want []string
	for i, l := range lines {
		if code, expect, ok := strings.Cut(l, "###"); ok {
			pattern, err := strconv.Unquote(strings.TrimSpace(expect))
			if err != nil {
				t.Fatalf("line %d: %s is no quoted regexp", i+1, expect)
			}
			wantErr[i+1] = regexp.MustCompile(pattern)
			lines[i] = strings.TrimRight(code, " ")
		} else if code, expect, ok := strings.Cut(l, "#= "); ok {
			want = append(want, strings.ReplaceAll(expect, `\n`, "\n"))
			lines[i] = strings.TrimRight(code, " ")
		}
	}
	var got []string
	err := s.Eval(context.Background(), "", strings.Join(lines, "\n"), func(r lang.Result) error {
		if n, ok := r.(*lang.Note); ok && n.What == "model" {
			return nil
		}
		got = append(got, r.Text(lang.Style{}))
		return nil
	})
	if want != nil {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	var e *lang.Error
	switch {
	case err == nil:
		for line, w := range wantErr {
			t.Errorf("line %d: no error, want %q", line, w)
		}
	case !errors.As(err, &e):
		t.Errorf("%v is no *lang.Error", err)
	case wantErr[int(e.Start.Line)] == nil:
		t.Errorf("unexpected: %v", err)
	case !wantErr[int(e.Start.Line)].MatchString(e.Msg):
		t.Errorf("line %d: %q does not match %q", e.Start.Line, e.Msg, wantErr[int(e.Start.Line)])
	}
}

// TestReport holds a report against what the model's counts give by hand.
func TestReport(t *testing.T) {
	m := modeltest.NewBigram(modeltest.Corpus, 0)
	s := session(t, m)
	p1, p2 := m.P("A dog is a", " dog"), m.P("A dog is a", " mammal")
	// C of Eq. 4 by its definition: the entropy of the renormalised nucleus.
	tokens, _ := m.Tokenize(context.Background(), "A dog is a")
	c := nucleusEntropy(m, tokens[len(tokens)-1], 0.95)
	e1, e2 := eventP(p1, c), eventP(p2, c)

	results := eval(t, s, `dog = M("A dog is a", "dog")
mammal = M("A dog is a", "mammal")
rule = dog -> mammal
rule`)
	if n, ok := results[0].(*lang.Note); !ok || n.What != "model" || !strings.Contains(n.Message, "ngram · counted") {
		t.Errorf("the first use of a model does not say which it is: %v", results[0].Text(lang.Style{}))
	}
	r := last[*lang.Report](t, results)
	wmc := 1 - e1*(1-e2)
	tolerance := func(what string, got lang.Interval, want float64) {
		t.Helper()
		// The readings are of float32 logits.
		if !got.IsExact() || math.Abs(got.Lo-want) > 1e-6 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	tolerance("WMC", r.WMC, wmc)
	tolerance("ρ", r.Rho, (wmc-0.75)/0.25)
	tolerance("loss", r.Loss, -math.Log(wmc))
	near(t, "WMC₀", r.WMC0, 0.75)
	near(t, "I", r.Info, math.Log2(4.0/3))
	if r.Name != "rule" || r.Formula != "dog → mammal" || len(r.Events) != 2 || r.Model == nil || r.Model.Name != "ngram" {
		t.Errorf("got %+v", r)
	}
	for i, want := range []struct {
		name, piece string
		p, e, grad  float64
	}{{"dog", " dog", p1, e1, -(1 - e2)}, {"mammal", " mammal", p2, e2, e1}} {
		e := r.Events[i]
		if e.Name != want.name || e.Prefix != "A dog is a" || len(e.Tokens) != 1 || e.Tokens[0].Piece != want.piece || e.Tokens[0].PrefixText != "A dog is a" {
			t.Errorf("event %d: %+v", i, e)
			continue
		}
		x := e.Tokens[0]
		tolerance("P", x.P, want.p)
		tolerance("C", x.C, c)
		tolerance("event probability", x.EventP, want.e)
		tolerance("∂WMC", x.Grad, want.grad)
	}
	// A second look, from another formula, does not run the model.
	reads := m.Reads
	eval(t, s, `wmc(dog xor mammal); `+"\n"+`M("A dog is a", "mammal")`)
	if m.Reads != reads {
		t.Error("the model was run again")
	}
}

func nucleusEntropy(m *modeltest.Bigram, last lm.Token, p float64) float64 {
	var ps []float64
	for t := range m.Pieces {
		ps = append(ps, m.Next(last, lm.Token(t)))
	}
	mass, h := 0.0, 0.0
	for mass < p {
		best := 0
		for i := range ps {
			if ps[i] > ps[best] {
				best = i
			}
		}
		mass += ps[best]
		h -= ps[best] * math.Log(ps[best])
		ps[best] = 0
	}
	return h/mass + math.Log(mass)
}

func eventP(p, c float64) float64 {
	odds := p / (1 - p) * math.Exp(c)
	return odds / (1 + odds)
}

// TestSameEvent: the same prefix, target and join are one variable; another join that
// gives the same tokens too; prob(…) is one for each time it is written.
func TestSameEvent(t *testing.T) {
	s := session(t)
	a := number(t, s, `wmc(M("A dog is a", "dog"))`)
	near(t, "an event and itself", number(t, s, `wmc(M("A dog is a", "dog") & M("A dog is a", "dog"))`), a)
	near(t, "joined outright", number(t, s, `wmc(M("A dog is a", "dog") & M("A dog is a", "dog", join=" "))`), a)
	near(t, "the space in the target", number(t, s, `wmc(M("A dog is a", "dog") & M("A dog is a", " dog", join=""))`), a)
	near(t, "two prob", number(t, s, `wmc(prob(0.3) & prob(0.3))`), 0.09)
	near(t, "a named prob", number(t, s, "p = prob(0.3)\nwmc(p & p)"), 0.3)
	near(t, "a formula with prob, twice", number(t, s, "f = prob(0.3) | p\nwmc(f & f)"), 1-0.7*0.7)
	near(t, "a schema called twice", number(t, s, "g(x) = prob(0.5) & x\nwmc(g(p) | g(p))"), 0.3*0.75)
	near(t, "a hole used twice", number(t, s, "h(x) = x & x\nwmc(h(prob(0.3)))"), 0.3)
	near(t, "a formula entails itself", map[bool]float64{true: 1}[*last[*lang.Value](t, eval(t, s, "entails(f, f)")).Truth], 1)
}

// TestMultiToken: a target of several tokens is the conjunction of its tokens,
// each in its own context.
func TestMultiToken(t *testing.T) {
	m := modeltest.NewBigram(modeltest.Corpus, 0)
	s := session(t, m)
	eval(t, s, "%calibration raw")
	r := last[*lang.Report](t, eval(t, s, `M("A dog is", "an animal")`))
	if len(r.Events) != 1 || len(r.Events[0].Tokens) != 2 {
		t.Fatalf("got %+v", r.Events)
	}
	want := m.P("A dog is", " an") * m.P("A dog is an", " animal")
	if math.Abs(r.WMC.Lo-want) > 1e-6 {
		t.Errorf("WMC is %v, want %v", r.WMC, want)
	}
	if second := r.Events[0].Tokens[1].PrefixText; second != "A dog is an" {
		t.Errorf("the second token was asked after %q", second)
	}
	text := r.Text(lang.Style{})
	if !strings.Contains(text, `"an animal" is 2 tokens: it holds when all of them (∧) hold`) || !strings.Contains(text, "A dog is an▸ animal") {
		t.Errorf("the report does not say it:\n%s", text)
	}
	// The likelihood formula of a text is the model's likelihood under raw probabilities (Proposition 1).
	loss := number(t, s, `loss(likelihood("A dog is", "a mammal."))`)
	near(t, "likelihood", math.Round(loss*1e6), math.Round(-1e6*math.Log(m.P("A dog is", " a")*m.P("A dog is a", " mammal")*m.P(" mammal", "."))))
	// The top rung of its ladder too.
	l := last[*lang.Ladder](t, eval(t, s, `ladder("A dog is", "a mammal.")`))
	near(t, "the last rung", l.Rungs[2].LogWMC.Lo, -loss)
	near(t, "ladder(…, 2)", number(t, s, `wmc(ladder("A dog is", "a mammal.", 2))`), math.Exp(l.Rungs[1].LogWMC.Lo))
	near(t, "ladder(…, 1)", number(t, s, `wmc0(ladder("A dog is", "a mammal.", 1))`), 7.0/8)
}

// TestIntervals: through a backend that shows the 20 most probable tokens, the
// whole model's result lies in the interval, for every kind of result.
func TestIntervals(t *testing.T) {
	program := `a = M("A dog is a", "mammal")
b = M("A dog is a", "bird")
c = M("A dog is", "an animal")
rule = (a -> c) & !(a & b)
rule
wmc(rule)
rho(rule)
loss(rule)
cacc(rule)
grad(rule)
marginals(rule)
models(rule, 20)
ladder("A dog is a mammal.")
`
	for _, cal := range []string{"nucleus-entropy", "nucleus-entropy 0.8", "entropy", "nucleus-size", "raw"} {
		whole := eval(t, session(t), "%calibration "+cal+"\n"+program)
		part := eval(t, session(t), "%model top\n%calibration "+cal+"\n"+program)
		decode := func(rs []lang.Result) (out []any) {
			for _, r := range rs {
				if r.Kind() == "note" {
					continue
				}
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				var v any
				if err := json.Unmarshal(b, &v); err != nil {
					t.Fatal(err)
				}
				out = append(out, v)
			}
			return out
		}
		w, p := decode(whole), decode(part)
		intervals := 0
		for i := range w {
			compareInterval(t, cal+": ", w[i], p[i], &intervals)
		}
		if intervals < 20 {
			t.Errorf("%s: only %d intervals were compared", cal, intervals)
		}
		for _, r := range part {
			if text := r.Text(lang.Style{Width: 60}); strings.Contains(text, "NaN") {
				t.Errorf("NaN in\n%s", text)
			}
		}
	}
}

// compareInterval checks that numbers of a whole result lie in the intervals that
// stand in their places.
func compareInterval(t *testing.T, at string, whole, part any, n *int) {
	switch w := whole.(type) {
	case map[string]any:
		p, ok := part.(map[string]any)
		if !ok {
			t.Errorf("%s is %v", at, part)
			return
		}
		if rows, ok := w["rows"].([]any); ok && w["query"] == "models" {
			// In another order.
			for _, a := range rows {
				for _, b := range p["rows"].([]any) {
					x, y := a.(map[string]any), b.(map[string]any)
					if cmp.Equal(x["interpretation"], y["interpretation"]) {
						compareInterval(t, at+".models", x["p"], y["p"], n)
					}
				}
			}
			return
		}
		for k := range w {
			if k != "model" {
				compareInterval(t, at+"."+k, w[k], p[k], n)
			}
		}
	case []any:
		p, ok := part.([]any)
		if !ok || len(p) != len(w) {
			t.Errorf("%s has %v for %v", at, part, whole)
			return
		}
		for i := range w {
			compareInterval(t, fmt.Sprintf("%s[%d]", at, i), w[i], p[i], n)
		}
	case float64:
		switch p := part.(type) {
		case float64:
			if math.Abs(w-p) > 1e-5*math.Max(1, math.Abs(w)) {
				t.Errorf("%s is %v for %v", at, p, w)
			}
		case []any:
			*n++
			const rounding = 1e-5 // of float32 logits
			lo, hi := math.Inf(-1), math.Inf(1)
			if p[0] != nil {
				lo = p[0].(float64)
			}
			if p[1] != nil {
				hi = p[1].(float64)
			}
			if lo-rounding > w || w > hi+rounding {
				t.Errorf("%s: %v does not lie in [%v, %v]", at, w, lo, hi)
			}
		case nil: // undecided
			if !strings.HasSuffix(at, "cacc") && !strings.HasSuffix(at, "value") {
				t.Errorf("%s is null for %v", at, w)
			}
		default:
			t.Errorf("%s is %v for %v", at, part, w)
		}
	}
}

// TestNothingHalfDefined: a statement that fails leaves the session as it was.
func TestNothingHalfDefined(t *testing.T) {
	s := session(t)
	eval(t, s, "a = prob(0.3)\nb = !a")
	before := eval(t, s, "%who")[0].Text(lang.Style{})
	bad := filepath.Join(t.TempDir(), "bad.logic")
	if err := os.WriteFile(bad, []byte("a = prob(0.9)\nz = a\nwmc(a)\nq q"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{
		"c = a & nobody", "a = b", "a = a", "b = b | a", "f(x) = M(x)", "f(x) = f(x)", "c = a &", "c = prob(2)", "c = wmc(a)",
		"a = atleast(-1, b)", `b = "text"`, "M(x) = x", "c(true) = a", "%load " + bad,
	} {
		if _, err := try(s, src); err == nil {
			t.Errorf("%s: no error", src)
		}
		if after := eval(t, s, "%who")[0].Text(lang.Style{}); after != before {
			t.Errorf("%s: defined something:\n%s", src, after)
		}
	}
	near(t, "b", number(t, s, "wmc(b)"), 0.7)
	// A new name for which nothing was defined stays free.
	if _, err := try(s, "c = nobody\n"); err == nil {
		t.Error("no error")
	}
	if _, err := try(s, "wmc(c)"); err == nil || !strings.Contains(err.Error(), `no event or formula is called "c"`) {
		t.Errorf("got %v", err)
	}
}

func TestRedefinition(t *testing.T) {
	s := session(t)
	eval(t, s, "a = prob(0.3)\nf = !a\ng(x) = x & f")
	near(t, "f", number(t, s, "wmc(f)"), 0.7)
	near(t, "f after", number(t, s, "a = prob(0.6)\nwmc(f)"), 0.4)
	near(t, "g after", number(t, s, "wmc(g(true))"), 0.4)
	// An event can become a formula, and a formula a schema; what used it says so.
	near(t, "f after a formula", number(t, s, "a = prob(0.5) & prob(0.5)\nwmc(f)"), 0.75)
	_, err := try(s, "a(x) = x\nwmc(f)")
	var e *lang.Error
	if !errors.As(err, &e) || e.Start.String() != "2:5" || !strings.Contains(e.Msg, "f, defined at 2:1, cannot be used as it is: a is a schema") {
		t.Errorf("got %v", err)
	}
	near(t, "mended", number(t, s, "a = prob(0.25)\nwmc(f)"), 0.75)
	// The label in a report follows.
	r := last[*lang.Report](t, eval(t, s, "b = a\na = prob(0.1)\nf"))
	if r.Events[0].Name != "a" {
		t.Errorf("the event is called %q", r.Events[0].Name)
	}
}

// TestDeepDefinitions: names may be nested as deep as formulas, and no deeper.
func TestDeepDefinitions(t *testing.T) {
	s := session(t)
	var b strings.Builder
	b.WriteString("a0 = prob(0.5)\n")
	const n = 3000
	for i := range n {
		fmt.Fprintf(&b, "a%d = !a%d\n", i+1, i)
	}
	eval(t, s, b.String())
	near(t, "a chain of names", number(t, s, fmt.Sprintf("a0 = prob(0.3)\nwmc(a%d)", n)), 0.3)

	b.Reset()
	for i := n; i < 11_000; i++ {
		fmt.Fprintf(&b, "a%d = !a%d\n", i+1, i)
	}
	if _, err := try(s, b.String()); err == nil || !strings.Contains(err.Error(), "nested more than 10,000 levels deep") {
		t.Errorf("got %v", err)
	}
	// Doubling thirty times is a small graph …
	s = session(t)
	b.Reset()
	b.WriteString("b0 = prob(0.5) & prob(0.5)\n")
	for i := range 30 {
		fmt.Fprintf(&b, "b%d = b%d | b%d\n", i+1, i, i)
	}
	near(t, "doubled names", number(t, s, b.String()+"wmc(b30)"), 0.25)
	// … but a schema writes itself out anew each time.
	b.Reset()
	b.WriteString("s0(x) = x\n")
	for i := range 30 {
		fmt.Fprintf(&b, "s%d(x) = s%d(x) & s%d(x)\n", i+1, i, i)
	}
	if _, err := try(s, b.String()+"s30(prob(0.5))"); err == nil || !strings.Contains(err.Error(), "more than 500,000 parts") {
		t.Errorf("got %.300v", err)
	}
}

func TestHugeFormulas(t *testing.T) {
	s := session(t)
	var names, defs []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("e%d", i))
		defs = append(defs, fmt.Sprintf("e%d = prob(0.999)", i))
	}
	eval(t, s, strings.Join(defs, "\n"))
	near(t, "a conjunction of 1,000", number(t, s, "wmc("+strings.Join(names, " & ")+")"), math.Pow(0.999, 1000))
	near(t, "its loss", number(t, s, "loss("+strings.Join(names, " & ")+")"), -1000*math.Log(0.999))
	near(t, "a chain of 1,000 implications", number(t, s, "wmc("+strings.Join(names, " -> ")+")"), 1-math.Pow(0.999, 999)*0.001)
	near(t, "its WMC₀ by its definition", number(t, s, "info(exactly(1, "+strings.Join(names, ", ")+"))"), 1000-math.Log2(1000))
	near(t, "parity", number(t, s, "wmc("+strings.Join(names, " xor ")+")"), (1-math.Pow(1-2*0.999, 1000))/2)
	near(t, "equivalence of an even number", number(t, s, "wmc("+strings.Join(names[:4], " <-> ")+")"), (1+math.Pow(1-2*0.999, 4))/2)
	r := last[*lang.Report](t, eval(t, s, strings.Join(names, " | ")))
	for i, line := range strings.Split(r.Text(lang.Style{Width: 80}), "\n") {
		if n := len([]rune(line)); n > 80 {
			t.Errorf("line %d has %d columns", i+1, n)
		}
	}
	if n := strings.Count(r.Text(lang.Style{}), "\n"); n > 60 {
		t.Errorf("the report has %d lines", n)
	}
}

// TestInterrupt: a context that is done stops a program promptly, what was
// emitted stays, and the session goes on.
func TestInterrupt(t *testing.T) {
	m := modeltest.NewBigram(modeltest.Corpus, 0)
	m.Model.Name, m.Block = "slow", make(chan struct{})
	s := session(t, m)
	eval(t, s, "%model slow\na = prob(0.3)")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	var results []lang.Result
	start := time.Now()
	err := s.Eval(ctx, "", "wmc(a)\nb = a\nM(\"A dog is a\", \"dog\")\nc = a", func(r lang.Result) error {
		results = append(results, r)
		return nil
	})
	if !errors.Is(err, context.Canceled) || len(results) != 1 || time.Since(start) > 5*time.Second {
		t.Errorf("got %v, %d results after %v", err, len(results), time.Since(start))
	}
	close(m.Block)
	near(t, "b", number(t, s, "wmc(b)"), 0.3)
	if _, err := try(s, "c"); err == nil {
		t.Error("what came after the interrupt was done")
	}
	eval(t, s, `M("A dog is a", "dog")`)
}

// TestEmitError: the receiver's error ends the program and comes back as it is.
func TestEmitError(t *testing.T) {
	s := session(t)
	want := errors.New("the pipe is closed")
	n := 0
	err := s.Eval(context.Background(), "", "prob(0.3)\nprob(0.4)", func(lang.Result) error { n++; return want })
	if !errors.Is(err, want) || n != 1 {
		t.Errorf("got %v after %d results", err, n)
	}
}

func TestNoModel(t *testing.T) {
	s := lang.New(lang.Options{})
	for src, want := range map[string]string{
		`M("a", "b")`: "1:1: no model is chosen; %models lists those that are there, %model NAME chooses one",
		"%model x":    "1:8: this session was started without a way to open models",
		"%models":     "1:1: this session was started without a list of models",
		`top("a")`:    "1:1: no model is chosen",
	} {
		if _, err := try(s, src); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
	near(t, "without a model", number(t, s, "wmc(prob(0.3))"), 0.3)
	s = session(t)
	_, err := try(s, "%model nowhere")
	if err == nil || err.Error() != `1:8: no model is called "nowhere"` {
		t.Errorf("got %v", err)
	}
	if r := last[*lang.Report](t, eval(t, s, `M("A dog is a", "dog")`)); r.Model.Name != "ngram" {
		t.Error("the default model is gone")
	}
}

func TestCalibrationState(t *testing.T) {
	s := session(t)
	if got := s.Calibration(); got != calibrate.Default() {
		t.Errorf("got %v", got)
	}
	eval(t, s, "%calibration entropy\n%reset\n%model ngram")
	if got := s.Calibration().Method; got != calibrate.Entropy {
		t.Errorf("got %v", got)
	}
}

// TestText: colours only where they are asked for, nothing wider than the width, and an
// interval as its two ends.
func TestText(t *testing.T) {
	s := session(t)
	for _, r := range eval(t, s, `%model top
犬 = M("A dog is a", "mammal")
long = M("`+strings.Repeat("A dog is a ", 5)+`trout is a", "fish")
犬 -> long
犬 xor M("A dog is a", "bird") xor M("A dog is a", "golden retriever")
models(犬 | long)
%who
ladder("A dog is a mammal.")
%help`) {
		for _, width := range []int{60, 80, 120} {
			text := r.Text(lang.Style{Width: width})
			if strings.Contains(text, "\x1b") {
				t.Errorf("colours in\n%s", text)
			}
			colored := r.Text(lang.Style{Width: width, Color: true})
			if plain := regexp.MustCompile("\x1b\\[[0-9]+m").ReplaceAllString(colored, ""); plain != text {
				t.Errorf("without colours\n%s\nis\n%s", plain, text)
			}
			if n, ok := r.(*lang.Note); ok && (n.What == "help" || n.What == "model") {
				continue // sentences, which the terminal wraps
			}
			for _, line := range strings.Split(text, "\n") {
				if w := runewidth.StringWidth(line); w > max(width, 90) {
					t.Errorf("%d columns for %d: %s", w, width, line)
				}
			}
		}
	}
	report := last[*lang.Report](t, eval(t, s, "犬"))
	if text := report.Text(lang.Style{}); !strings.Contains(text, " … ") || strings.Contains(text, "0.373 … 0.373") {
		t.Errorf("\n%s", text)
	}
}
