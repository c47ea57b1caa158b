package logic_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"strings"

	"github.com/modellog/modellog/logic"
)

// Figure 2: the interpretations of a constraint (C), their probabilities under the model (D) and under
// the uninformed prior (E), and the scores that follow. The event probabilities are the ones that
// gemma3:270m-pt gives to "A Golden Retriever is a dog / mammal".
func Example_figure2() {
	dog, mammal := logic.Literal(0), logic.Literal(1)
	f := logic.Implies(dog, mammal)
	names := func(v logic.Var) string { return []string{"dog", "mammal"}[v] }

	d, err := logic.Compile(context.Background(), f)
	if err != nil {
		log.Fatal(err)
	}
	model := []logic.Weight{logic.WeightFromProbability(0.859), logic.WeightFromProbability(0.015)}
	uniform := []logic.Weight{{P: 0.5, Q: 0.5}, {P: 0.5, Q: 0.5}}
	mark := map[bool]string{true: "T", false: "F"}
	prior := map[string]float64{}
	for i, p := range d.Models(uniform) {
		prior[fmt.Sprint(i)] = p
	}
	fmt.Println(f.Format(names, logic.Unicode))
	fmt.Println("dog mammal S(I) prior")
	for i, p := range d.Models(model) {
		fmt.Printf("%-3s %-6s %.3f %.2f\n", mark[i[0]], mark[i[1]], p, prior[fmt.Sprint(i)])
	}
	s, err := logic.Score(d, model)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("WMC %.3f  WMC₀ %.3f  ρ %.2f  I %.3f bits  loss %.2f  %v\n", s.WMC, s.WMC0, s.Rho, s.Info, s.Loss, s.CAcc)
	// Output:
	// dog → mammal
	// dog mammal S(I) prior
	// T   T      0.013 0.25
	// F   T      0.002 0.25
	// F   F      0.139 0.25
	// WMC 0.154  WMC₀ 0.750  ρ -2.38  I 0.415 bits  loss 1.87  inconsistent
}

// Example 4: from ordinary disjunction down to the likelihood formula, each rung bounds the next.
func ExampleLadder() {
	p := []float64{0.9, 0.4, 0.7, 0.2}
	var w []logic.Weight
	for _, p := range p {
		w = append(w, logic.WeightFromProbability(p))
	}
	rungs, err := logic.Ladder(context.Background(), w)
	if err != nil {
		log.Fatal(err)
	}
	for i, r := range rungs {
		fmt.Printf("P(F≥%d) = %.4f\n", i+1, math.Exp(r.LogWMC()))
	}
	fmt.Printf("likelihood %.4f\n", p[0]*p[1]*p[2]*p[3])
	// Output:
	// P(F≥1) = 0.9856
	// P(F≥2) = 0.8092
	// P(F≥3) = 0.3548
	// P(F≥4) = 0.0504
	// likelihood 0.0504
}

func ExampleDiagram_Gradient() {
	d, err := logic.Compile(context.Background(), logic.Implies(logic.Literal(0), logic.Literal(1)))
	if err != nil {
		log.Fatal(err)
	}
	w := []logic.Weight{logic.WeightFromProbability(0.9), logic.WeightFromProbability(0.2)}
	dst := make([]float64, 2)
	p := d.Gradient(w, dst)
	fmt.Printf("WMC %.2f, ∂/∂p₀ %.2f, ∂/∂p₁ %.2f\n", p, dst[0], dst[1])
	// Output:
	// WMC 0.28, ∂/∂p₀ -0.80, ∂/∂p₁ 0.90
}

// The semantic loss of Eq. 2 and its gradient, for training: −∂log WMC/∂p.
func ExampleDiagram_LogGradient() {
	d, err := logic.Compile(context.Background(), logic.Xor(logic.Literal(0), logic.Literal(1)))
	if err != nil {
		log.Fatal(err)
	}
	w := []logic.Weight{logic.WeightFromProbability(0.5), logic.WeightFromProbability(0.1)}
	dst := make([]float64, 2)
	loss := -d.LogGradient(w, dst)
	fmt.Printf("loss %.3f, ∂/∂p₀ %.1f, ∂/∂p₁ %.1f\n", loss, -dst[0], 0-dst[1])
	// Output:
	// loss 0.693, ∂/∂p₀ -1.6, ∂/∂p₁ 0.0
}

// Eq. 3 of a conjunction of 2,000 is below what float64 can hold; its logarithm is exact.
func ExampleDiagram_LogWMC0() {
	var events []*logic.Formula
	for v := range 2000 {
		events = append(events, logic.Literal(logic.Var(v)))
	}
	d, err := logic.Compile(context.Background(), logic.And(events...))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("WMC₀ %g, log WMC₀ %.6f, I %g bits\n", d.WMC0(), d.LogWMC0(), d.Informativeness())
	// Output:
	// WMC₀ 0, log WMC₀ -1386.294361, I 2000 bits
}

// A formula that is too entangled to compile is refused before it fills the memory.
func ExampleWithNodeLimit() {
	var clauses []*logic.Formula
	for i := range 60 { // a random-looking 3-CNF
		lit := func(k int) *logic.Formula { return logic.Literal(logic.Var((i*i*k + 7*i + k*k*k) % 40)) }
		clauses = append(clauses, logic.Or(lit(1), logic.Not(lit(2)), lit(3)))
	}
	_, err := logic.Compile(context.Background(), logic.And(clauses...), logic.WithNodeLimit(50))
	fmt.Println(errors.Is(err, logic.ErrTooLarge))
	// Output:
	// true
}

func ExampleFormula_Format() {
	a, b, c := logic.Literal(0), logic.Literal(1), logic.Literal(2)
	f := logic.Implies(logic.And(a, logic.Or(b, logic.Not(c))), logic.AtLeast(2, a, b, logic.Xor(b, c)))
	name := func(v logic.Var) string { return string(rune('a' + v)) }
	fmt.Println(f.Format(name, logic.Unicode))
	fmt.Println(f.Format(name, logic.ASCII))
	// Output:
	// a ∧ (b ∨ ¬c) → atleast(2, a, b, b ⊕ c)
	// a & (b | !c) -> atleast(2, a, b, b xor c)
}

func ExampleCNF_Count() {
	cnf, err := logic.ReadDIMACS(strings.NewReader(`c t wmc
p cnf 3 2
c p weight 1 0.3 0
c p weight -1 0.7 0
1 -2 0
2 3 0
`))
	if err != nil {
		log.Fatal(err)
	}
	n, err := cnf.Count(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n.Models, n.Weighted.RatString())
	// Output:
	// 4 8/5
}
