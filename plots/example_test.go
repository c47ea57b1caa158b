package plots_test

import (
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/modellog/modellog/plots"
)

// Figure 2 of the paper for dog → mammal: the one interpretation that violates the
// implication is the one the model believes in.
func ExampleNewInterpretations() {
	f, err := plots.NewInterpretations(plots.Interpretations{
		Formula: "dog → mammal",
		Events:  []string{"dog", "mammal"},
		Rows: []plots.Interpretation{
			{Truth: []bool{true, true}, P: 0.013, Satisfies: true},
			{Truth: []bool{true, false}, P: 0.846, Satisfies: false},
			{Truth: []bool{false, true}, P: 0.002, Satisfies: true},
			{Truth: []bool{false, false}, P: 0.139, Satisfies: true},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Title())
	// Output: dog → mammal · WMC 0.154 · WMC₀ 0.750
}

// A figure is saved in the format that its file's name ends in.
func ExampleFigure_Save() {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ladder, err := plots.NewLadder("three events of probability ½", []float64{math.Log(7. / 8), math.Log(4. / 8), math.Log(1. / 8)})
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"ladder.svg", "ladder.png", "ladder.gif"} {
		path := filepath.Join(dir, name)
		err := ladder.Save(path)
		_, missing := os.Stat(path)
		fmt.Println(name, err == nil, missing == nil)
	}
	// Output:
	// ladder.svg true true
	// ladder.png true true
	// ladder.gif false false
}

// Scores of five examples; the line in the figure is at their mean.
func ExampleNewHistogram() {
	f, err := plots.NewHistogram("forward implication", []float64{-2.38, 0.5, 0.9, 1, 0})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Title())
	// Output: forward implication · CAcc 60.0 %
}

// The gradient tells which prediction to blame: less of dog or more of mammal.
func ExampleNewEvents() {
	f, err := plots.NewEvents("dog → mammal", []plots.Event{
		{Name: "dog", P: plots.Exactly(0.0576), EventP: plots.Exactly(0.859), Gradient: plots.Exactly(-0.985)},
		{Name: "mammal", P: plots.Exactly(0.00015), EventP: plots.Exactly(0.015), Gradient: plots.Exactly(0.859)},
	})
	if err != nil {
		log.Fatal(err)
	}
	w, h := f.Size()
	fmt.Printf("%s, %.1f × %.1f inches\n", f.Title(), w.Points()/72, h.Points()/72)
	// Output: dog → mammal, 6.5 × 1.9 inches
}

// One's own model beside a published one, each with its error bar.
func ExampleNewScaling() {
	f, err := plots.NewScaling("forward implication", []plots.ScalingPanel{{
		Label: "CAcc (%)",
		Points: []plots.ScalingPoint{
			{Model: "Gemma-3-270M", Family: "Gemma-3", Size: 270e6, Value: 79.7, Bar: plots.Range{Lo: 79.2, Hi: 80.2}},
			{Model: "Gemma-3-1B-pt", Family: "Gemma-3", Size: 1e9, Value: 65.1, Bar: plots.Range{Lo: 63.6, Hi: 66.6}},
			{Model: "mine", Family: "mine", Size: 500e6, Value: 71, Measured: true},
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Title())
	// Output: forward implication
}
