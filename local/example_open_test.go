//go:build cgo

package local_test

import (
	"context"
	"fmt"
	"log"

	. "github.com/modellog/modellog"
	"github.com/modellog/modellog/local"
)

// A model is opened by its name: one that `modellog models get` has fetched or Ollama has pulled, a
// file ("gguf:PATH"), or a server's.
func ExampleOpen() {
	ctx := context.Background()
	s, err := local.Open(ctx, "smollm2:135m-instruct", local.Options{Precision: "exact"})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	tree, err := s.Define(ctx, "tree", M("An oak is a kind of", "tree"))
	if err != nil {
		log.Fatal(err)
	}
	plant, err := s.Define(ctx, "plant", M("An oak is a kind of", "plant"))
	if err != nil {
		log.Fatal(err)
	}
	report, err := s.Evaluate(ctx, Implies(tree, plant))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: WMC %.2f, by chance %.2f, %s\n", report.Formula, report.WMC.Lo, report.WMC0, report.CAcc)
	// Output: tree → plant: WMC 0.32, by chance 0.75, inconsistent
}
