package modellog_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	. "github.com/modellog/modellog"
	"github.com/modellog/modellog/local"
)

// How far does a model satisfy that rain makes wet? With M("…", "…") in place of Prob the
// probabilities are a language model's.
func Example() {
	ctx := context.Background()
	s := local.New(nil)
	defer s.Close()
	rain, err := s.Define(ctx, "rain", Prob(0.3))
	if err != nil {
		log.Fatal(err)
	}
	wet, err := s.Define(ctx, "wet", Prob(0.4))
	if err != nil {
		log.Fatal(err)
	}
	report, err := s.Evaluate(ctx, Implies(rain, wet))
	if err != nil {
		log.Fatal(err)
	}
	if err := Show(report); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ρ %.2f, %s\n", report.Rho.Lo, report.CAcc)
	for _, e := range report.Events {
		fmt.Printf("∂WMC/∂%s %+.1f\n", e.Name, e.Tokens[0].Gradient.Lo)
	}
	// Output:
	// rain → wet                                          consistent
	//   WMC 0.820   WMC₀ 0.750   ρ 0.280   I 0.415 bits   loss 0.198
	//   event   P       ∂WMC
	//   rain    0.300   -0.600
	//   wet     0.400   +0.300
	// ρ 0.28, consistent
	// ∂WMC/∂rain -0.6
	// ∂WMC/∂wet +0.3
}

// In a cell in Go the session is the notebook's; in any other program one starts a session of its own.
func ExampleConnect() {
	ctx := context.Background()
	s, err := Connect(ctx)
	if errors.Is(err, ErrNoKernel) {
		s, err = local.New(nil), nil
	}
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	report, err := s.Evaluate(ctx, Or(Prob(0.5), Prob(0.5)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.WMC.Lo)
	// Output: 0.75
}

func ExampleSession_Eval() {
	ctx := context.Background()
	s := local.New(nil)
	defer s.Close()
	results, err := s.Eval(ctx, `
		heads = prob(0.5)
		wmc(heads | !heads)
		entails(heads, heads | prob(0.1))`)
	for _, r := range results {
		fmt.Println(r.Kind, r)
	}
	if err != nil {
		log.Fatal(err)
	}
	report, err := s.Evaluate(ctx, Not(Text("heads")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Formula, report.WMC.Lo)

	_, err = s.Eval(ctx, "haeds")
	if mistake, ok := errors.AsType[*Error](err); ok {
		fmt.Println(mistake.Message)
	}
	// Output:
	// value 1
	// value true
	// ¬heads 0.5
	// 1:1: no event or formula is called "haeds"; did you mean "heads"?
}

func ExampleSession_Run() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "modellog")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "facts.csv")
	if err := os.WriteFile(file, []byte("p,q\n0.9,0.2\n0.1,0.3\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	s := local.New(nil)
	defer s.Close()
	if _, err := s.Eval(ctx, "implication(p, q) = prob(p) -> prob(q)"); err != nil {
		log.Fatal(err)
	}
	run, err := s.Run(ctx, "implication", file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows, ρ %.2f, CAcc %.0f %%\n", run.N, run.Rho.Lo, 100*run.CAcc.Lo)
	// Output: 2 rows, ρ -0.58, CAcc 50 %
}

func ExampleSession_DefineSchema() {
	ctx := context.Background()
	s := local.New(nil)
	defer s.Close()
	err := s.DefineSchema(ctx, "implication", []string{"x", "a", "b"}, func(h []string) Formula {
		return Implies(M(h[0], h[1]), M(h[0], h[2]))
	})
	if err != nil {
		log.Fatal(err)
	}
	names, err := s.Names(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(names[0].Kind, names[0].Doc)
	// Output: schema implication(x, a, b) = M(x, a) → M(x, b)
}

func ExampleAtLeast() {
	report, err := local.New(nil).Evaluate(context.Background(), AtLeast(2, Prob(0.9), Prob(0.5), Prob(0.2)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f against %.2f by chance\n", report.WMC.Lo, report.WMC0)
	// Output: 0.55 against 0.50 by chance
}

func ExampleM() {
	dog := M("A Golden Retriever is a", "dog")
	mammal := M("A Golden Retriever is a", "mammal")
	fmt.Println(Implies(dog, Not(Not(mammal))))
	// Output: M("A Golden Retriever is a", "dog") -> !!M("A Golden Retriever is a", "mammal")
}

// A Prob stands once in a formula: written twice, it would be two events. A name stands for the same event everywhere.
func ExampleProb() {
	ctx := context.Background()
	s := local.New(nil)
	defer s.Close()
	p := Prob(0.3)
	_, err := s.Evaluate(ctx, And(p, Not(p)))
	fmt.Println(err)
	if p, err = s.Define(ctx, "p", p); err != nil {
		log.Fatal(err)
	}
	report, err := s.Evaluate(ctx, And(p, Not(p)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.WMC.Lo, report.Info)
	// Output:
	// evaluating: prob(0.3) stands twice in a formula, where it would be two events: give it a name with Define and use that
	// 0 +Inf
}
