package lang_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lang/syntax"
	"pgregory.net/rapid"
)

// formula is a random formula with its own evaluation, for counting by hand.
type formula struct {
	text string
	eval func(truth []bool) bool
}

// formulas generates formulas over n named events in the language's words and signs.
func formulas(n, depth int) *rapid.Generator[formula] {
	return rapid.Custom(func(t *rapid.T) formula {
		if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
			i := rapid.IntRange(-2, n-1).Draw(t, "event")
			switch i {
			case -2:
				return formula{"false", func([]bool) bool { return false }}
			case -1:
				return formula{"⊤", func([]bool) bool { return true }}
			}
			return formula{fmt.Sprintf("e%d", i), func(truth []bool) bool { return truth[i] }}
		}
		sub := func(label string) formula { return formulas(n, depth-1).Draw(t, label) }
		switch op := rapid.IntRange(0, 8).Draw(t, "op"); op {
		case 0:
			f := sub("f")
			return formula{rapid.SampledFrom([]string{"!(", "not (", "~("}).Draw(t, "not") + f.text + ")", func(x []bool) bool { return !f.eval(x) }}
		case 1, 2, 3:
			fs := rapid.SliceOfN(formulas(n, depth-1), 1, 4).Draw(t, "fs")
			k := rapid.IntRange(0, 5).Draw(t, "k")
			texts := make([]string, len(fs))
			for i, f := range fs {
				texts[i] = f.text
			}
			name := []string{"atleast", "atmost", "exactly"}[op-1]
			return formula{fmt.Sprintf("%s(%d, %s)", name, k, strings.Join(texts, ",\n ")), func(x []bool) bool {
				got := 0
				for _, f := range fs {
					if f.eval(x) {
						got++
					}
				}
				return [...]bool{got >= k, got <= k, got == k}[op-1]
			}}
		}
		f, g, h := sub("f"), sub("g"), sub("h")
		op := rapid.SampledFrom([]string{"&", "|", "xor", "->", "<->"}).Draw(t, "connective")
		apply := func(a, b bool) bool {
			switch op {
			case "&":
				return a && b
			case "|":
				return a || b
			case "xor":
				return a != b
			case "->":
				return !a || b
			}
			return a == b
		}
		return formula{
			fmt.Sprintf("(%s) %s\n(%s) %s (%s)", f.text, op, g.text, op, h.text),
			func(x []bool) bool {
				if op == "->" { // to the right
					return apply(f.eval(x), apply(g.eval(x), h.eval(x)))
				}
				return apply(apply(f.eval(x), g.eval(x)), h.eval(x))
			},
		}
	})
}

// TestBruteForce holds reports of random programs against counting all
// interpretations, and their gradients against finite differences.
func TestBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		p := rapid.SliceOfN(rapid.Float64Range(0.01, 0.99), n, n).Draw(t, "p")
		f := formulas(n, 3).Draw(t, "f")
		// All events are in it.
		text := "(" + f.text + ") & (true"
		for i := range n {
			text += fmt.Sprintf(" | e%d", i)
		}
		text += ")"

		sum := func(p []float64) (wmc float64) {
			for row := range 1 << n {
				truth := make([]bool, n)
				weight := 1.0
				for i := range n {
					if truth[i] = row>>i&1 == 1; truth[i] {
						weight *= p[i]
					} else {
						weight *= 1 - p[i]
					}
				}
				if f.eval(truth) {
					wmc += weight
				}
			}
			return wmc
		}
		half := make([]float64, n)
		var src strings.Builder
		for i := range n {
			half[i] = 0.5
			fmt.Fprintf(&src, "e%d = prob(%v)\n", i, p[i])
		}
		s := lang.New(lang.Options{})
		var got *lang.Report
		var truth []*lang.Value
		src.WriteString("rule = " + text + "\nrule\nentails(rule, rule)\nequivalent(rule, !rule)\n")
		err := s.Eval(context.Background(), "", src.String(), func(r lang.Result) error {
			switch r := r.(type) {
			case *lang.Report:
				got = r
			case *lang.Value:
				truth = append(truth, r)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s\n%v", src.String(), err)
		}
		wmc, wmc0 := sum(p), sum(half)
		close := func(what string, got, want float64) {
			t.Helper()
			if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) && !(math.IsInf(want, 1) && math.IsInf(got, 1)) {
				t.Fatalf("%s\n%s is %v, want %v", src.String(), what, got, want)
			}
		}
		close("WMC", got.WMC.Lo, wmc)
		close("WMC₀", got.WMC0, wmc0)
		close("I", got.Info, -math.Log2(wmc0))
		close("loss", got.Loss.Lo, -math.Log(wmc))
		if wmc0 < 1 {
			close("ρ", got.Rho.Lo, (wmc-wmc0)/(1-wmc0))
		} else if !math.IsNaN(got.Rho.Lo) {
			t.Fatalf("ρ of a tautology is %v", got.Rho)
		}
		for _, e := range got.Events {
			var i int
			fmt.Sscanf(e.Name, "e%d", &i)
			const h = 1e-6
			q := append([]float64(nil), p...)
			q[i] += h
			up := sum(q)
			q[i] -= 2 * h
			if want := (up - sum(q)) / (2 * h); math.Abs(e.Tokens[0].Grad.Lo-want) > 1e-7 {
				t.Fatalf("∂WMC/∂%s is %v, want %v", e.Name, e.Tokens[0].Grad, want)
			}
		}
		if len(got.Events) != n || !*truth[0].Truth || *truth[1].Truth {
			t.Fatalf("%s\n%d events, entails itself %v, equivalent to its negation %v", src.String(), len(got.Events), *truth[0].Truth, *truth[1].Truth)
		}
		// The formula as it is shown is the same formula.
		again := last[*lang.Value](new(testing.T), mustEval(t, s, fmt.Sprintf("equivalent(rule, %s)", got.Formula)))
		if !*again.Truth {
			t.Fatalf("%s is shown as %s", text, got.Formula)
		}
	})
}

func mustEval(t *rapid.T, s *lang.Session, src string) []lang.Result {
	results, err := try(s, src)
	if err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	return results
}

// FuzzEval evaluates anything: no panic, errors only of the language, every result
// with its text and valid JSON, no NaN in either.
func FuzzEval(f *testing.F) {
	for _, seed := range []string{
		"a = prob(0.3)\nb = prob(0.5)\na -> b", "wmc(prob(0.3) & prob(0.3))", "f(x) = x & x\nf(prob(0.2))",
		"models(prob(1) xor prob(0), 3)", "ladder(prob(0.9), prob(0.5))", "mpe(false)", "marginals(false)", "grad(true)",
		"atleast(3, true, prob(0.5))", "%who", "%help ->", "%time wmc(true)", "%calibration raw", "%plot report prob(0.3) | true",
		"%plot interpretations prob(0) & prob(1)", "a = prob(0.3)\na = !a", "%plot ladder ladder(prob(0), prob(1))", "entails(true, false)",
		"info(prob(0.5) & !prob(0.5))", "M(\"a\", \"b\")", "x=prob(1e-320)\nloss(x)", "%reset", "prob(0.3);", "rho(true)",
	} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src string) {
		// Nothing is read or written outside.
		for _, command := range []string{"load", "run", "save"} {
			if strings.Contains(src, command) {
				t.Skip()
			}
		}
		s := lang.New(lang.Options{Dir: dir})
		err := s.Eval(context.Background(), "", src, func(r lang.Result) error {
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatalf("%s: %v", r.Kind(), err)
			}
			var object map[string]any
			if err := json.Unmarshal(b, &object); err != nil || object["kind"] != r.Kind() {
				t.Fatalf("%s: %v %v", b, err, object["kind"])
			}
			for _, width := range []int{0, 1, 200} {
				if text := r.Text(lang.Style{Color: width > 0, Width: width}); strings.Contains(text, "NaN") || !strings.HasPrefix(r.Kind(), "note") && strings.Contains(text, "\n\n") {
					t.Fatalf("%s", text)
				}
			}
			return nil
		})
		var e *lang.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v is no *lang.Error", err)
		}
		if e != nil && strings.Contains(e.Msg, "fault of modellog itself") {
			t.Fatal(e.Msg)
		}
		s.Complete(src, len([]rune(src)))
		_, _ = syntax.ParseExpr(src)
	})
}
