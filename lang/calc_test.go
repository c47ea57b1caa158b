package lang_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/modellog/modellog/lang"
	"pgregory.net/rapid"
)

// arithmetic draws an expression with its value, by Go's own operators. Parentheses are
// everywhere but where the grammar makes them superfluous by chance.
func arithmetic(t *rapid.T, depth int) (text string, value float64) {
	kinds := 7
	if depth == 0 {
		kinds = 1
	}
	inner := func() (string, float64) { return arithmetic(t, depth-1) }
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		x := float64(rapid.IntRange(1, 999).Draw(t, "thousandths")) / 1000
		return fmt.Sprint(x), x
	case 1:
		a, x := inner()
		return "-(" + a + ")", -x
	case 2:
		a, x := inner()
		f := rapid.SampledFrom([]string{"exp", "ln", "log2", "sqrt", "sigmoid"}).Draw(t, "function")
		return f + "(" + a + ")", map[string]func(float64) float64{
			"exp": math.Exp, "ln": math.Log, "log2": math.Log2, "sqrt": math.Sqrt,
			"sigmoid": func(x float64) float64 { return 1 - 1/(1+math.Exp(x)) },
		}[f](x)
	case 3:
		a, x := inner()
		b, y := inner()
		return "(" + a + ") + (" + b + ")", x + y
	case 4:
		a, x := inner()
		b, y := inner()
		return "(" + a + ") * (" + b + ")", x * y
	case 5:
		a, x := inner()
		b, y := inner()
		return "(" + a + ")/(" + b + ")", x / y
	default:
		a, x := inner()
		b, y := inner()
		return "(" + a + ")-(" + b + ")", x - y
	}
}

func TestCalcArithmetic(t *testing.T) {
	s := session(t)
	rapid.Check(t, func(t *rapid.T) {
		text, want := arithmetic(t, 4)
		results, err := try(s, "%calc "+text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := results[0].(*lang.Value).Number.Lo
		if math.IsNaN(want) != math.IsNaN(got) || !math.IsNaN(want) && got != want && math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
			t.Fatalf("%s is %g, not %g", text, want, got)
		}
	})
}

// TestCalcPrecedence has the value that is written in the papers' way of reading.
func TestCalcPrecedence(t *testing.T) {
	s := session(t)
	for text, want := range map[string]float64{
		"2 + 3 * 4": 14, "2*3+4": 10, "10 - 2 - 3": 5, "24/4/2": 3, "2^3^2": 512, "-2^2": -4, "2^-1": 0.5, "(-2)^2": 4,
		"-2*-3": 6, "1-1": 0, "1 -1": 0, "2 · 3 − 1": 5, "1e-3*1e3": 1, ".5 + .25": 0.75, "--1": 1, "2^(1+1)": 4, "1/0": math.Inf(1),
	} {
		if got := number(t, s, "%calc "+text); got != want {
			t.Errorf("%s is %g, not %g", text, want, got)
		}
	}
	near(t, "sigmoid of logit", number(t, s, "%calc sigmoid(logit(0.0055) + 3.97)"), 0.0055*math.Exp(3.97)/(0.0055*math.Exp(3.97)+1-0.0055))
}

// TestCalcQueries holds the queries against themselves, Eqs. 2, 3 and 5, and Proposition 5
// with the loss's derivative from a difference of losses.
func TestCalcQueries(t *testing.T) {
	s := session(t)
	define := `f(p, q) = prob(p) -> prob(q)
a = prob(0.86)
b = prob(0.015)
rule = a -> b
odd = a xor b xor prob(0.3)
`
	eval(t, s, define)
	for _, equal := range [][2]string{
		{"rho(rule)", "(wmc(rule) - wmc0(rule)) / (1 - wmc0(rule))"},
		{"loss(odd)", "-ln(wmc(odd))"},
		{"info(rule)", "-log2(wmc0(rule))"},
		{"info(rule)", "log2(4/3)"},
		{"cacc(rule)", "0"},
		{"cacc(!rule)", "1"},
		{"grad(rule, a)", "wmc(f(1, 0.015)) - wmc(f(0, 0.015))"},
		{"grad(rule, b)", "0.86"},
		{"grad(rule, prob(0.5))", "0"}, // an event that is not in it
		{`wmc(M("a", "dog"))`, `1 - wmc(!M('a', "dog"))`},
	} {
		near(t, equal[0], number(t, s, "%calc "+equal[0]), number(t, s, "%calc "+equal[1]))
	}
	slope := number(t, s, "%calc (loss(f(0.86001, 0.015)) - loss(f(0.85999, 0.015))) / 0.00002")
	identity := number(t, s, "%calc -wmc0(rule)/wmc(rule) * 2^info(rule) * grad(rule, a)")
	if math.Abs(slope-identity) > 1e-6*math.Abs(slope) {
		t.Errorf("the loss rises by %g, and Proposition 5 says %g", slope, identity)
	}

	table := last[*lang.Table](t, eval(t, s, "%calc wmc(rule), 1 - 0.86*(1 - 0.015)"))
	if len(table.Cells) != 2 || table.Cells[0][0] != "wmc(rule)" || table.Cells[0][1] != table.Cells[1][1] {
		t.Errorf("got %q", table.Cells)
	}
}

// TestCalcIntervals: what is computed from intervals holds what is computed from the numbers
// in them.
func TestCalcIntervals(t *testing.T) {
	s := session(t)
	eval(t, s, `dog = M("A dog is a", "dog")
robin = M("A robin is a", "bird")
rule = dog -> robin
`)
	for _, x := range []string{
		"wmc(rule) - wmc0(rule)", "1 / wmc(rule)", "-loss(rule)", "wmc(dog)^2 + wmc(robin)^2", "exp(-loss(rule))", "rho(rule) * rho(dog)",
		"-wmc0(rule)/wmc(rule) * 2^info(rule) * grad(rule, dog)", "sqrt(wmc(dog)) / 3", "logit(wmc(dog))", "2 * cacc(rule)",
	} {
		exact := number(t, s, "%model ngram\n%calc "+x)
		v := last[*lang.Value](t, eval(t, s, "%model top\n%calc "+x)).Number
		if !(v.Lo <= exact+1e-12 && exact-1e-12 <= v.Hi) {
			t.Errorf("%s is %g, not in %v", x, exact, v)
		}
	}
	v := last[*lang.Value](t, eval(t, s, "%model top\n%calc 1/rho(rule), 1\n%calc 1/(wmc(dog) - wmc(dog))")).Number
	if !math.IsNaN(v.Lo) {
		t.Errorf("division by an interval around 0 is %v", v)
	}
}

func TestCalcMistakes(t *testing.T) {
	s := session(t)
	eval(t, s, "a = prob(0.3)\nl = ladder(a, prob(0.5))\n")
	for text, want := range map[string]string{
		"%calc":                              "1:1: write %calc EXPRESSION",
		"%calc 1 +":                          "1:10: expected a number, a query such as wmc(F), or \"(\", found the end",
		"%calc 1 2":                          `1:9: expected + - * / ^ or ",", found "2"`,
		"%calc (1 + 2":                       `1:7: this "(" is never closed`,
		"%calc 1 + 2)":                       `1:12: expected + - * / ^ or ",", found ")"`,
		"%calc a + 1":                        `1:7: "a" is no number; write wmc(a)`,
		"%calc wmc(a":                        `1:10: this "(" is never closed`,
		"%calc wmc(a & )":                    "1:15: ",
		"%calc 2 * wmc(b)":                   `1:15: no event or formula is called "b"`,
		"%calc models(a)":                    "1:7: models gives no number",
		"%calc prob(0.3)":                    `1:7: "prob" is no query`,
		"%calc grad(a)":                      "1:7: write grad(F, E)",
		"%calc grad(a, !a)":                  "1:15: the second argument",
		"%calc wmc(l)":                       "1:11: ",
		"%calc grad(a, likelihood(\"a b\"))": "1:15: ",
		"%calc " + strings.Repeat("-", 2000) + "1": "nested more than 1000 levels",
		"%calc " + strings.Repeat("(", 2000) + "1": "nested more than 1000 levels",
	} {
		if _, err := try(s, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: got %v, not %q", text, err, want)
		}
	}
}
