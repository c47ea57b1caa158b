package bootstrap_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/modellog/modellog/evals/bootstrap"
)

// Of a large sample the interval is the normal one: mean ± 1.96 s/√n.
func TestMean(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	x := make([]float64, 4000)
	sum, squares := 0.0, 0.0
	for i := range x {
		x[i] = random.NormFloat64()*2 + 1
		sum += x[i]
		squares += x[i] * x[i]
	}
	n := float64(len(x))
	mean := sum / n
	half := 1.96 * math.Sqrt((squares/n-mean*mean)/n)
	got, err := bootstrap.Mean(x, bootstrap.Options{Seed: 42})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got.Value-mean) > 1e-12 || math.Abs(got.Lo-(mean-half)) > 0.1*half || math.Abs(got.Hi-(mean+half)) > 0.1*half {
		t.Errorf("%+v; the normal interval is %g ± %g", got, mean, half)
	}
	again, _ := bootstrap.Mean(x, bootstrap.Options{Seed: 42})
	other, _ := bootstrap.Mean(x, bootstrap.Options{Seed: 43})
	if again != got || other == got {
		t.Errorf("the same seed gives %+v and %+v, another %+v", got, again, other)
	}
}

// Ninety-five of a hundred intervals hold the true mean, or nearly so.
func TestCoverage(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	held := 0
	for trial := range 400 {
		x := make([]float64, 100)
		for i := range x {
			if random.Float64() < 0.3 {
				x[i] = 1
			}
		}
		got, err := bootstrap.Mean(x, bootstrap.Options{Resamples: 400, Seed: uint64(trial)})
		if err != nil {
			t.Fatal(err)
		}
		if got.Lo <= 0.3 && 0.3 <= got.Hi {
			held++
		}
	}
	if share := float64(held) / 400; share < 0.91 || share > 0.98 {
		t.Errorf("the truth lies in %.3f of the intervals", share)
	}
}

// Pairs are drawn together: two lists that differ by a constant differ surely.
func TestDifference(t *testing.T) {
	a := []float64{1, 5, 2, 8, 3}
	b := []float64{3, 7, 4, 10, 5}
	got, err := bootstrap.Difference(a, b, bootstrap.Options{Seed: 1})
	if err != nil || got != (bootstrap.Interval{Value: 2, Lo: 2, Hi: 2}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := bootstrap.Difference(a, b[:4], bootstrap.Options{}); err == nil {
		t.Error("lists of other lengths are paired")
	}
	if _, err := bootstrap.Mean(nil, bootstrap.Options{}); err == nil {
		t.Error("nothing has a mean")
	}
	// Some draws have nothing in the denominator.
	one, err := bootstrap.Statistic(5, bootstrap.Options{Seed: 1}, func(draw []int) float64 {
		n, of := 0.0, 0.0
		for _, i := range draw {
			if i == 0 {
				of++
				n++
			}
		}
		return n / of
	})
	if err != nil || one != (bootstrap.Interval{Value: 1, Lo: 1, Hi: 1}) {
		t.Errorf("%+v, %v", one, err)
	}
}
