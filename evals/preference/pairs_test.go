package preference

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/correlation"
)

func TestPairS(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 20).Draw(t, "n")
		var first []int
		for i := range n {
			first = append(first, i)
		}
		place := rapid.Permutation(first).Draw(t, "order of preference")
		asked := 0
		ranking, comparisons, err := PairS(ctx, first, func(_ context.Context, i, j int) (float64, error) {
			asked++
			if place[i] < place[j] {
				return 0.7, nil
			}
			return 0.2, nil
		})
		if err != nil || comparisons != asked || len(ranking) != n {
			t.Fatalf("%v, %d comparisons told, %d asked (%v)", ranking, comparisons, asked, err)
		}
		for k, i := range ranking {
			if place[i] != k {
				t.Fatalf("%v, order of preference %v", ranking, place)
			}
		}
		if most := n * int(math.Ceil(math.Log2(float64(max(n, 1))))); asked > most {
			t.Fatalf("%d comparisons of %d items, at most %d", asked, n, most)
		}
	})
	// The mean number of comparisons over all orders of 3 and 4 items is 8/3 and 14/3.
	for n, want := range map[int]float64{2: 1, 3: 8. / 3, 4: 14. / 3} {
		sum, orders := 0, permutations(n)
		for _, order := range orders {
			_, c, _ := PairS(ctx, order, func(_ context.Context, i, j int) (float64, error) {
				if i < j {
					return 1, nil
				}
				return 0, nil
			})
			sum += c
		}
		if got := float64(sum) / float64(len(orders)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%d items: %g comparisons, want %g", n, got, want)
		}
	}
	broken := errors.New("broken")
	if _, _, err := PairS(ctx, []int{0, 1, 2}, func(context.Context, int, int) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if _, _, err := PairS(ctx, []int{0, 1}, func(context.Context, int, int) (float64, error) { return 1.5, nil }); err == nil {
		t.Error("a probability of 1.5 is taken")
	}
}

// TestSort compares with the mean over all shuffles, and with what must come out of a perfect and of a fully
// biased model.
func TestSort(t *testing.T) {
	ctx := context.Background()
	x := math.NaN()
	human := &Instance{ID: "h", Items: []Item{{Score: 4}, {Score: 3}, {Score: 2}, {Score: 1}}}
	perfect := set(t, []float64{x, 1, 1, 1}, []float64{0, x, 1, 1}, []float64{0, 0, x, 1}, []float64{0, 0, 0, x})
	s, err := Sort(ctx, []Judged{{Instance: human, Relation: perfect}}, SortOptions{})
	if err != nil || math.Abs(s.Raw.Spearman.Value-1) > 1e-12 || math.Abs(s.Calibrated.Spearman.Value-1) > 1e-12 || math.Abs(s.WinRate.Spearman.Value-1) > 1e-12 || math.Abs(s.Gain.Value) > 1e-12 {
		t.Errorf("%+v %v", s, err)
	}
	if s.Calibrated.Comparisons != s.Raw.Comparisons || s.Calibrated.Judgements != 2*s.Calibrated.Comparisons || s.WinRate.Judgements != 12 || s.WinRate.Comparisons != 6 {
		t.Errorf("%+v", s)
	}
	// A bias for A that hides a weak but right preference: calibration takes it away.
	biased := set(t, []float64{x, 0.9, 0.9, 0.9}, []float64{0.8, x, 0.9, 0.9}, []float64{0.8, 0.8, x, 0.9}, []float64{0.8, 0.8, 0.8, x})
	// A cycle 1 ≻ 2 ≻ 3 ≻ 1 above 4, with some bias.
	cyclic := set(t, []float64{x, 0.9, 0.3, 0.9}, []float64{0.2, x, 0.9, 0.8}, []float64{0.6, 0.4, x, 0.9}, []float64{0.4, 0.6, 0.1, x})
	var want [2]float64
	for _, m := range []*Judgements{biased, cyclic} {
		scores := []float64{4, 3, 2, 1}
		for way, compare := range []func(i, j int) bool{
			func(i, j int) bool { return m.At(i, j) >= 0.5 },
			func(i, j int) bool { return (m.At(i, j)+1-m.At(j, i))/2 >= 0.5 },
		} {
			sum := 0.0
			for _, order := range permutations(4) {
				// Merge sort of four, written out.
				pair := func(a, b int) []int {
					if compare(a, b) {
						return []int{a, b}
					}
					return []int{b, a}
				}
				l, r := pair(order[0], order[1]), pair(order[2], order[3])
				var out []int
				for len(l)+len(r) > 0 {
					if len(r) == 0 || len(l) > 0 && compare(l[0], r[0]) {
						out, l = append(out, l[0]), l[1:]
					} else {
						out, r = append(out, r[0]), r[1:]
					}
				}
				place := make([]float64, 4)
				for k, i := range out {
					place[i] = -float64(k)
				}
				sum += correlation.Spearman(place, scores)
			}
			want[way] = sum / 24
		}
		s, err := Sort(ctx, []Judged{{Instance: human, Relation: m}}, SortOptions{Runs: 40_000, Seed: 9})
		// The standard error of a mean over 40,000 is below 1/200.
		if err != nil || math.Abs(s.Raw.Spearman.Value-want[0]) > 0.02 || math.Abs(s.Calibrated.Spearman.Value-want[1]) > 0.02 {
			t.Errorf("%g and %g, over all orders %g and %g (%v)", s.Raw.Spearman.Value, s.Calibrated.Spearman.Value, want[0], want[1], err)
		}
		if m == biased && (math.Abs(want[0]) > 1e-12 || want[1] < 1-1e-12) {
			t.Errorf("a biased model: raw %g, calibrated %g", want[0], want[1])
		}
	}
	partial := set(t, []float64{x, 1}, []float64{x, x})
	equalScores := &Instance{Items: []Item{{Score: 1}, {Score: 1}}}
	two := set(t, []float64{x, 1}, []float64{0, x})
	s, err = Sort(ctx, []Judged{{Instance: &Instance{Items: []Item{{Score: 1}, {Score: 2}}}, Relation: partial}, {Instance: equalScores, Relation: two}}, SortOptions{})
	if err != nil || s.Skipped != 2 || s.Raw.Spearman.Instances != 0 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := Sort(ctx, []Judged{{Instance: human, Relation: two}}, SortOptions{}); err == nil {
		t.Error("judgements of two items are taken for four")
	}
	if _, err := Sort(ctx, nil, SortOptions{Runs: -1}); err == nil {
		t.Error("−1 runs are taken")
	}
}

func TestWinRate(t *testing.T) {
	x := math.NaN()
	got := WinRate(set(t, []float64{x, 0.9, x}, []float64{0.2, x, x}, []float64{0.6, 0.5, x}))
	// 1 beats 2 twice and loses to 3 once; 3 beats 1 and 2.
	if want := []float64{2. / 3, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
