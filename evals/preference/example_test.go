package preference_test

import (
	"fmt"

	"github.com/modellog/modellog/evals/preference"
)

// A cycle of four is seen among four items and not among three (Figure 2d).
func ExampleTransitivity() {
	m, _ := preference.NewJudgements(4)
	for _, x := range []struct {
		i, j int
		p    float64
	}{{0, 1, 0.9}, {1, 2, 0.7}, {2, 3, 0.6}, {0, 3, 0.2}} {
		if err := m.Set(x.i, x.j, x.p, 0); err != nil {
			fmt.Println(err)
		}
	}
	g := preference.RelationGraph(m)
	for k := 3; k <= 4; k++ {
		s, err := preference.Transitivity(g, k, preference.Subsets{})
		fmt.Println(k, s.Value(), err)
	}
	fmt.Println(g.Cycle())
	// Output:
	// 3 1 <nil>
	// 4 0 <nil>
	// [0 1 2 3]
}

// Annotations with a cycle become a partial ranking, and that all the comparisons it implies.
func ExampleAugment() {
	cs := []preference.Comparison{{I: 0, J: 1, P: 1}, {I: 1, J: 2, P: 1}, {I: 2, J: 0, P: 1}, {I: 0, J: 3, P: 1}}
	rates, err := preference.WinLoss(4, cs)
	fmt.Printf("%.2f %v\n", rates, err)
	for _, p := range preference.Augment(rates, cs, preference.AugmentOptions{OneOrder: true}) {
		fmt.Println(p.First, p.Second, p.NamesFirst, p.Origin)
	}
	// Output:
	// [0.33 0.00 0.00 -1.00] <nil>
	// 0 1 true annotated
	// 0 2 true resolved
	// 0 3 true annotated
	// 1 3 true implied
	// 2 3 true implied
}
