package preference

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/modellog/modellog/evals/bootstrap"
	"github.com/modellog/modellog/evals/correlation"
)

// Compare tells the probability, in [0, 1], that item i is preferred to item j.
type Compare func(ctx context.Context, i, j int) (float64, error)

// PairS ranks items by merge sort with a model as the comparison (Pairwise-Preference Search, Liu et al.,
// 2024, in its greedy form, which §5.1 describes). It begins with the items in the order given, and returns
// them from the most preferred down, with the number of comparisons, at most n⌈log₂ n⌉. The item of the
// earlier half is shown first and is taken for P ≥ ½.
func PairS(ctx context.Context, order []int, compare Compare) (ranking []int, comparisons int, err error) {
	if len(order) < 2 {
		return append([]int(nil), order...), 0, nil
	}
	left, n, err := PairS(ctx, order[:len(order)/2], compare)
	comparisons += n
	if err != nil {
		return nil, comparisons, err
	}
	right, n, err := PairS(ctx, order[len(order)/2:], compare)
	comparisons += n
	if err != nil {
		return nil, comparisons, err
	}
	for len(left) > 0 && len(right) > 0 {
		p, err := compare(ctx, left[0], right[0])
		if err == nil && !(p >= 0 && p <= 1) {
			err = fmt.Errorf("the probability is %g", p)
		}
		if err != nil {
			return nil, comparisons, fmt.Errorf("comparing items %d and %d: %w", left[0], right[0], err)
		}
		comparisons++
		if p >= 0.5 {
			ranking, left = append(ranking, left[0]), left[1:]
		} else {
			ranking, right = append(ranking, right[0]), right[1:]
		}
	}
	return append(append(ranking, left...), right...), comparisons, nil
}

// Raw compares by judgements as they were made with i shown first.
func (m *Judgements) Raw() Compare {
	return func(_ context.Context, i, j int) (float64, error) { return judged(m.At(i, j)) }
}

// CalibratedCompare compares by [Judgements.Calibrated], which takes two judgements each.
func (m *Judgements) CalibratedCompare() Compare {
	return func(_ context.Context, i, j int) (float64, error) {
		if !m.Judged(i, j) || !m.Judged(j, i) {
			return judged(math.NaN())
		}
		return m.Calibrated(i, j), nil
	}
}

func judged(p float64) (float64, error) {
	if p != p {
		return 0, fmt.Errorf("the pair was not judged")
	}
	return p, nil
}

// WinRate is the share of judgements that each item wins, among all of it in either order; NaN for an item
// in none. Over all ordered pairs it takes N(N − 1) judgements and has no bias for places.
func WinRate(m *Judgements) []float64 {
	won := make([]Share, m.N())
	for i := range m.N() {
		for j := range m.N() {
			if m.Judged(i, j) {
				won[i].add(m.Decision(i, j))
				won[j].add(!m.Decision(i, j))
			}
		}
	}
	out := make([]float64, m.N())
	for i, s := range won {
		out[i] = s.Value()
	}
	return out
}

// DefaultRuns is the number of shuffles over which the paper averages.
const DefaultRuns = 100

// SortOptions say how [Sort] sorts.
type SortOptions struct {
	Runs      int    // shuffles of each instance; [DefaultRuns] if 0
	Seed      uint64 // of the shuffles
	Bootstrap bootstrap.Options
}

// Sorted is what one way to rank gives, each a mean over instances of the mean over runs.
type Sorted struct {
	Spearman    Mean    // of the ranking with human scores
	Comparisons float64 // of a run
	Judgements  float64 // of the model that a run takes, two of each calibrated comparison
}

// Sorting are the right columns of Table 4.
type Sorting struct {
	Raw, Calibrated, WinRate Sorted
	Gain                     Mean // of Calibrated over Raw, paired by instances
	Skipped                  int  // instances without all judgements, or all of whose items humans hold equal
}

// Sort ranks each instance by PairS, raw and calibrated, from the same shuffles, and by the full win rate, and
// compares with human scores. It needs no model: merge sort asks for judgements that were all made.
func Sort(ctx context.Context, all []Judged, o SortOptions) (Sorting, error) {
	if o.Runs == 0 {
		o.Runs = DefaultRuns
	}
	var s Sorting
	if o.Runs < 1 || o.Runs > 100_000 {
		return s, fmt.Errorf("sorting in %d runs: there are 1 to 100,000", o.Runs)
	}
	var raw, calibrated, rate, gain []float64
	var rawN, calibratedN, rateN float64
	for n, x := range all {
		m := x.Relation
		if m.N() != len(x.Instance.Items) {
			return s, fmt.Errorf("instance %d (%s): judgements over %d items of %d", n+1, x.Instance.ID, m.N(), len(x.Instance.Items))
		}
		human := make([]float64, m.N())
		for i, item := range x.Instance.Items {
			human[i] = item.Score
		}
		if m.N() < 2 || m.Count() < m.N()*(m.N()-1) || math.IsNaN(correlation.Spearman(human, human)) {
			s.Skipped++
			continue
		}
		random := rand.New(rand.NewPCG(o.Seed, uint64(n)))
		var sums [2]float64
		var counts [2]int
		for range o.Runs {
			order := random.Perm(m.N())
			for way, compare := range []Compare{m.Raw(), m.CalibratedCompare()} {
				ranking, c, err := PairS(ctx, order, compare)
				if err != nil {
					return s, fmt.Errorf("instance %d (%s): %w", n+1, x.Instance.ID, err)
				}
				scores := make([]float64, m.N())
				for place, i := range ranking {
					scores[i] = float64(-place)
				}
				sums[way] += correlation.Spearman(scores, human)
				counts[way] += c
			}
			if err := ctx.Err(); err != nil {
				return s, err
			}
		}
		runs := float64(o.Runs)
		raw, calibrated = append(raw, sums[0]/runs), append(calibrated, sums[1]/runs)
		gain = append(gain, (sums[1]-sums[0])/runs)
		rate = append(rate, correlation.Spearman(WinRate(m), human))
		rawN += float64(counts[0]) / runs
		calibratedN += float64(counts[1]) / runs
		rateN += float64(m.Count())
	}
	n := float64(len(raw))
	s.Raw.Comparisons, s.Raw.Judgements = rawN/n, rawN/n
	s.Calibrated.Comparisons, s.Calibrated.Judgements = calibratedN/n, 2*calibratedN/n
	s.WinRate.Comparisons, s.WinRate.Judgements = rateN/n/2, rateN/n
	for _, f := range []struct {
		to *Mean
		of []float64
	}{{&s.Raw.Spearman, raw}, {&s.Calibrated.Spearman, calibrated}, {&s.WinRate.Spearman, rate}, {&s.Gain, gain}} {
		var err error
		if *f.to, err = meanOf(f.of, o.Bootstrap); err != nil {
			return s, err
		}
	}
	return s, nil
}
