package preference

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// checkComparisons returns an error where a comparison is not of two of n items.
func checkComparisons(n int, comparisons []Comparison) error {
	for k, c := range comparisons {
		if c.I < 0 || c.J < 0 || c.I >= n || c.J >= n || c.I == c.J || !(c.P >= 0 && c.P <= 1) {
			return fmt.Errorf("comparison %d is of items number %d and %d of %d, the first preferred with probability %g; it is of two different items, and a probability lies between 0 and 1", k+1, c.I+1, c.J+1, n, c.P)
		}
	}
	return nil
}

// WinLoss is the win-loss rate of §4.1 of each of n items: the comparisons it wins minus those it loses, over
// those it takes part in, in [−1, 1]; NaN for an item in none. A comparison with 0 < P < 1 is won by P and
// lost by 1 − P, so that a tie counts among those taken part in alone. Which rates are equal does not depend
// on the order of the comparisons: those within 10⁻¹² of each other are.
func WinLoss(n int, comparisons []Comparison) ([]float64, error) {
	if err := checkComparisons(n, comparisons); err != nil {
		return nil, fmt.Errorf("win-loss rates: %w", err)
	}
	net, parts := make([]float64, n), make([]float64, n)
	for _, c := range comparisons {
		net[c.I] += 2*c.P - 1
		net[c.J] -= 2*c.P - 1
		parts[c.I]++
		parts[c.J]++
	}
	for i := range net {
		net[i] /= parts[i] // 0/0 is NaN
	}
	levelOut(net, 1e-12)
	return net, nil
}

// levelOut makes scores equal that differ by rounding alone: next to each other by at most so much. Of two items with
// the same record one would be preferred otherwise, as it happens, where nothing says so.
func levelOut(scores []float64, apart float64) {
	var order []int
	for i, s := range scores {
		if s == s {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(scores[i], scores[j]) })
	last := math.Inf(-1) // as it was
	for k, i := range order {
		s := scores[i]
		if k > 0 && s-last <= apart {
			scores[i] = scores[order[k-1]]
		}
		last = s
	}
}

// EloOptions say how [Elo] rates.
type EloOptions struct {
	K      float64 // the most that one comparison changes a rating by; 32 if 0
	Start  float64 // the rating that all begin with; 1500 if 0
	Rounds int     // passes over all comparisons, each in an order of its own; 1 if 0
	Seed   uint64  // of the orders
}

// Elo rates each of n items (Elo, 1978): after a comparison of i and j that i wins with P, i's rating grows
// and j's falls by K·(P − E), E = 1/(1 + 10^((Rj − Ri)/400)). Ratings depend on the order of the comparisons,
// which is shuffled with the seed. An item in no comparison is NaN.
func Elo(n int, comparisons []Comparison, o EloOptions) ([]float64, error) {
	if err := checkComparisons(n, comparisons); err != nil {
		return nil, fmt.Errorf("Elo ratings: %w", err)
	}
	o.K, o.Start, o.Rounds = cmp.Or(o.K, 32), cmp.Or(o.Start, 1500), cmp.Or(o.Rounds, 1)
	if !(o.K > 0 && o.K <= 1000) || math.IsNaN(o.Start) || math.IsInf(o.Start, 0) || o.Rounds < 1 || o.Rounds > 10_000 {
		return nil, fmt.Errorf("Elo ratings with K = %g from %g in %d rounds: K lies between 0 and 1,000, and there are 1 to 10,000 rounds", o.K, o.Start, o.Rounds)
	}
	r := make([]float64, n)
	for i := range r {
		r[i] = math.NaN()
	}
	for _, c := range comparisons {
		r[c.I], r[c.J] = o.Start, o.Start
	}
	random := rand.New(rand.NewPCG(o.Seed, 0))
	for range o.Rounds {
		for _, k := range random.Perm(len(comparisons)) {
			c := comparisons[k]
			d := o.K * (c.P - 1/(1+math.Pow(10, (r[c.J]-r[c.I])/400)))
			r[c.I] += d
			r[c.J] -= d
		}
	}
	return r, nil
}

// DefaultPrior is the regularisation of [BradleyTerry].
const DefaultPrior = 0.5

// BradleyTerry estimates the strength θ of each of n items, in nats, in the model P(i ≻ j) = σ(θᵢ − θⱼ)
// (Bradley and Terry, 1952), by the MM algorithm (Hunter, 2004). An item in no comparison is NaN.
//
// Without more, an item that never loses would be infinitely strong, and items that no chain of comparisons
// joins could not be compared. So each item that takes part also wins prior comparisons against an item of
// strength 0, and loses as many: one draw, for [DefaultPrior], which is taken where prior is 0. The estimate
// is then unique. It has converged when the gradient of the log-likelihood is below 10⁻⁹ of the comparisons
// that an item wins, or of 1, for each item. Strengths within 10⁻⁶ of each other are equal: nearer than that the
// order in which items are listed would decide between two of the same record.
func BradleyTerry(ctx context.Context, n int, comparisons []Comparison, prior float64) ([]float64, error) {
	if err := checkComparisons(n, comparisons); err != nil {
		return nil, fmt.Errorf("Bradley–Terry strengths: %w", err)
	}
	prior = cmp.Or(prior, DefaultPrior)
	if !(prior >= 1e-3 && prior <= 1e6) {
		return nil, fmt.Errorf("Bradley–Terry strengths with a prior of %g comparisons: it lies between 0.001 and 1,000,000", prior)
	}
	type edge struct {
		to    int
		times float64
	}
	wins := make([]float64, n)
	met := make([]map[int]float64, n)
	for _, c := range comparisons {
		wins[c.I] += c.P
		wins[c.J] += 1 - c.P
		for _, x := range [][2]int{{c.I, c.J}, {c.J, c.I}} {
			if met[x[0]] == nil {
				met[x[0]] = map[int]float64{}
			}
			met[x[0]][x[1]]++
		}
	}
	edges := make([][]edge, n)
	for i, m := range met {
		for j, times := range m {
			edges[i] = append(edges[i], edge{j, times})
		}
		slices.SortFunc(edges[i], func(a, b edge) int { return cmp.Compare(a.to, b.to) }) // sums in one order
	}
	strength := make([]float64, n) // e^θ
	for i := range strength {
		strength[i] = 1
	}
	const most = 1_000_000
	for range most {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		steepest := 0.0
		for i, es := range edges {
			if es == nil {
				continue
			}
			denominator := 2 * prior / (strength[i] + 1)
			for _, e := range es {
				denominator += e.times / (strength[i] + strength[e.to])
			}
			won := wins[i] + prior
			steepest = max(steepest, math.Abs(won-strength[i]*denominator)/max(1, won))
			strength[i] = won / denominator
		}
		if steepest < 1e-9 {
			theta := make([]float64, n)
			for i := range theta {
				theta[i] = math.Log(strength[i])
				if edges[i] == nil {
					theta[i] = math.NaN()
				}
			}
			levelOut(theta, 1e-6)
			return theta, nil
		}
	}
	return nil, fmt.Errorf("Bradley–Terry strengths: not converged after %d iterations; take a larger prior than %g", most, prior)
}

// Prefers reports what a ranking by scores says of two items: i is preferred, j is (both false where they have
// the same score, or one has none: they are not compared in a partial order).
func Prefers(scores []float64, i, j int) (first, second bool) {
	return scores[i] > scores[j], scores[i] < scores[j]
}

// Order lists the items that have a score from the most preferred down, in classes of equal score.
func Order(scores []float64) [][]int {
	var items []int
	for i, s := range scores {
		if s == s {
			items = append(items, i)
		}
	}
	slices.SortStableFunc(items, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	var out [][]int
	for k, i := range items {
		if k == 0 || scores[i] != scores[items[k-1]] {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	return out
}
