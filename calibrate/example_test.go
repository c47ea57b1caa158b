package calibrate_test

import (
	"fmt"
	"log"
	"math"

	"github.com/modellog/modellog/calibrate"
)

// Five plausible continuations, one rare one, and an absurd one. The raw
// probability of a plausible one is under a fifth, and it is as live as any.
func Example() {
	logits := []float32{2, 2, 2, 2, 2, -1, -9}
	cal := calibrate.Default()
	s, err := calibrate.Summarize(logits, cal.Thresholds())
	if err != nil {
		log.Fatal(err)
	}
	c, err := cal.Offset(s)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: nucleus of %v tokens, C = %.3f\n", cal, s.Nuclei[0].Size, c.Lo)
	for _, token := range []int{0, 5, 6} {
		p := s.LogP(float64(logits[token]))
		fmt.Printf("raw %.6f  event %.6f\n", math.Exp(p.Lo), calibrate.EventProbability(p, c).Lo)
	}
	// Output:
	// nucleus-entropy, p = 0.95: nucleus of 5 tokens, C = 1.609
	// raw 0.198027  event 0.552498
	// raw 0.009859  event 0.047426
	// raw 0.000003  event 0.000017
}

// Example 2 of the paper, "A computer is not / is an airplane" under SmolLM2-135M:
// the published event probabilities, 0.58 and 0.001, do not follow from the published
// P and C by Eq. 4.
func ExampleEventProbability() {
	for _, e := range []struct {
		prefix    string
		p, c      float64
		published string
	}{
		{"A computer is not an", 0.0055, 3.97, "0.58"},
		{"A computer is an", 3.2678e-05, 4.11, "0.001"},
	} {
		event := calibrate.EventProbability(calibrate.Exact(math.Log(e.p)), calibrate.Exact(e.c))
		fmt.Printf("%-21s P = %.5g, C = %g: Eq. 4 gives %.3g (published: %s)\n", e.prefix, e.p, e.c, event.Lo, e.published)
	}
	// Output:
	// A computer is not an  P = 0.0055, C = 3.97: Eq. 4 gives 0.227 (published: 0.58)
	// A computer is an      P = 3.2678e-05, C = 4.11: Eq. 4 gives 0.00199 (published: 0.001)
}

// A server lists the three most probable of 1,000 tokens. What the calibration makes
// of them is known within bounds, and so is what it makes of a token not listed.
func ExampleSummarizeTop() {
	top := []float64{math.Log(0.6), math.Log(0.3), math.Log(0.04)}
	s, err := calibrate.SummarizeTop(top, 1000, []float64{0.95})
	if err != nil {
		log.Fatal(err)
	}
	n := s.Nuclei[0]
	fmt.Printf("nucleus of %v tokens, entropy %.2f … %.2f\n", n.Size, n.Entropy.Lo, n.Entropy.Hi)
	first := calibrate.EventProbability(s.LogP(top[0]), n.Entropy)
	other := calibrate.EventProbability(s.Unseen, n.Entropy)
	fmt.Printf("event of the first: %.3f … %.3f\n", first.Lo, first.Hi)
	fmt.Printf("event of any other: %.3f … %.3f\n", other.Lo, other.Hi)
	// Output:
	// nucleus of 4 … 170 tokens, entropy 0.84 … 0.92
	// event of the first: 0.776 … 0.791
	// event of any other: 0.000 … 0.095
}
