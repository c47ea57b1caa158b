package local_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/modellog/modellog"
	"github.com/modellog/modellog/local"
)

// Without a model a session evaluates formulas over events of known probability.
func ExampleNew() {
	ctx := context.Background()
	s := local.New(nil)
	defer s.Close()
	coin, err := s.Define(ctx, "coin", Prob(0.5))
	if err != nil {
		log.Fatal(err)
	}
	report, err := s.Evaluate(ctx, Implies(coin, Prob(0.25)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report)
	// Output:
	// coin → prob(0.25)                                  inconsistent
	//   WMC 0.625   WMC₀ 0.750   ρ -0.500   I 0.415 bits   loss 0.470
	//   event        P       ∂WMC
	//   coin         0.500   -0.750
	//   prob(0.25)   0.250   +0.500
}
