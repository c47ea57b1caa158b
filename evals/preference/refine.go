package preference

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/modellog/modellog/evals/bootstrap"
)

// Ranker estimates a ranking of n items from comparisons: scores, the larger the more preferred, NaN where
// nothing is known of an item.
type Ranker func(n int, comparisons []Comparison) ([]float64, error)

// Origin says where a pair of a refined or augmented data set comes from.
type Origin string

// The origins.
const (
	Annotated Origin = "annotated" // the majority of annotations says so
	Resolved  Origin = "resolved"  // annotated the other way, or undecided; the ranking says so
	Implied   Origin = "implied"   // not annotated
)

// Pair is an ordered pair of an instance with the judgement that is right for it.
type Pair struct {
	First, Second int  // the items in the order in which they are shown
	Negated       bool // the negated relation is asked for
	NamesFirst    bool // the right label is that of the item shown first
	Origin        Origin
}

// Wins is the preferred item.
func (p Pair) Wins() int {
	if p.NamesFirst != p.Negated {
		return p.First
	}
	return p.Second
}

// Refine resolves annotations by a ranking that is estimated from them (§4.1): each annotated pair is kept once,
// with the preference of the ranking, and left out where the ranking does not know (equal scores). The result
// has no cycle.
func Refine(scores []float64, comparisons []Comparison) (kept []Comparison, resolved, dropped int) {
	human := (&Instance{Items: unscored(len(scores)), Comparisons: comparisons}).Human()
	for i := range scores {
		for j := i + 1; j < len(scores); j++ {
			h := human(i, j)
			if h != h {
				continue
			}
			first, second := Prefers(scores, i, j)
			if !first && !second {
				dropped++
				continue
			}
			c := Comparison{I: i, J: j, P: 1}
			if second {
				c.I, c.J = j, i
			}
			if first != (h > 0.5) || h == 0.5 {
				resolved++
			}
			kept = append(kept, c)
		}
	}
	return kept, resolved, dropped
}

// unscored are items of which nothing is known.
func unscored(n int) []Item {
	out := make([]Item, n)
	for i := range out {
		out[i].Score = math.NaN()
	}
	return out
}

// AugmentOptions say what [Augment] makes of a pair that a ranking orders.
type AugmentOptions struct {
	OneOrder bool // show each pair once, the items in their order in the instance, and not in both orders
	Negated  bool // ask each for the negated relation too
}

// Augment splits a ranking into the comparisons that it implies (§4.1): all pairs of items whose scores are
// known and differ, each shown in both orders, which is what gives the augmented data of Table 2 their s_comm
// of 1, and with the negated relation if asked for. Pairs come in the order of their items.
func Augment(scores []float64, comparisons []Comparison, o AugmentOptions) []Pair {
	human := (&Instance{Items: unscored(len(scores)), Comparisons: comparisons}).Human()
	var out []Pair
	for i := range scores {
		for j := range scores {
			if i == j || o.OneOrder && i > j {
				continue
			}
			first, second := Prefers(scores, i, j)
			if !first && !second {
				continue
			}
			p := Pair{First: i, Second: j, NamesFirst: first, Origin: Resolved}
			switch h := human(i, j); {
			case h != h:
				p.Origin = Implied
			case h > 0.5 && first || h < 0.5 && second:
				p.Origin = Annotated
			}
			out = append(out, p)
			if o.Negated {
				p.Negated, p.NamesFirst = true, !p.NamesFirst
				out = append(out, p)
			}
		}
	}
	return out
}

// AsAnnotated are the pairs of comparisons as they stand, each in the order in which it was annotated, ties
// left out: the data sets "raw" and "perturbed" of Table 2.
func AsAnnotated(comparisons []Comparison) []Pair {
	var out []Pair
	for _, c := range comparisons {
		if c.P != 0.5 {
			out = append(out, Pair{First: c.I, Second: c.J, NamesFirst: c.P > 0.5, Origin: Annotated})
		}
	}
	return out
}

// Perturb returns copies of the instances in which a share of all comparisons is flipped: the nearest whole
// number of them, drawn with the seed without replacement among those that are no ties (§4.2 flips 10 %).
func Perturb(instances []*Instance, share float64, seed uint64) (perturbed []*Instance, flipped int, err error) {
	if !(share >= 0 && share <= 1) {
		return nil, 0, fmt.Errorf("flipping a share of %g of the comparisons: it lies between 0 and 1", share)
	}
	var at [][2]int
	for i, in := range instances {
		other := *in
		other.Comparisons = slices.Clone(in.Comparisons)
		perturbed = append(perturbed, &other)
		for k, c := range other.Comparisons {
			if c.P != 0.5 {
				at = append(at, [2]int{i, k})
			}
		}
	}
	flipped = int(math.Round(share * float64(len(at))))
	for _, x := range rand.New(rand.NewPCG(seed, 0)).Perm(len(at))[:flipped] {
		c := &perturbed[at[x][0]].Comparisons[at[x][1]]
		c.P = 1 - c.P
	}
	return perturbed, flipped, nil
}

// DataStatistics is a row of Table 2.
type DataStatistics struct {
	Name        string
	Transitive  Mean    // s_tran(K) of the instances' relation graphs, of those of K items or more
	Commutative Mean    // s_comm, of the instances with a pair in both orders
	Data        int     // pairs
	PerInstance float64 // pairs per instance
	Instances   int     // with a pair
	Conflicts   int     // pairs of items of which the data say both, under the relation
}

// Statistics describes a data set of pairs, those of each instance under its place in the list of instances,
// of which each has the number of items given. A pair under the negated relation counts among the data, and its
// preference among the edges of the graph.
func Statistics(name string, items []int, pairs [][]Pair, o MeasureOptions) (DataStatistics, error) {
	s := DataStatistics{Name: name}
	if len(items) != len(pairs) {
		return s, fmt.Errorf("statistics of %s: %d instances and the pairs of %d", name, len(items), len(pairs))
	}
	if o.K == 0 {
		o.K = DefaultK
	}
	var transitive, commutative []float64
	for n, ps := range pairs {
		if len(ps) == 0 {
			continue
		}
		s.Instances++
		s.Data += len(ps)
		var comparisons []Comparison
		named := map[[2]int][2]int{} // how often the label of the first was right, and how often the other
		for _, p := range ps {
			c := Comparison{I: p.First, J: p.Second}
			if p.Wins() == p.First {
				c.P = 1
			}
			comparisons = append(comparisons, c)
			if !p.Negated {
				x := named[[2]int{p.First, p.Second}]
				if p.NamesFirst {
					x[0]++
				} else {
					x[1]++
				}
				named[[2]int{p.First, p.Second}] = x
			}
		}
		if err := checkComparisons(items[n], comparisons); err != nil {
			return s, fmt.Errorf("statistics of %s, instance %d: %w", name, n+1, err)
		}
		g := ComparisonGraph(items[n], comparisons)
		var both Share
		for i, to := range g {
			for _, j := range to {
				if i < j && g.Has(j, i) {
					s.Conflicts++
				}
			}
		}
		for k, x := range named {
			if y, ok := named[[2]int{k[1], k[0]}]; ok && k[0] < k[1] && x[0] != x[1] && y[0] != y[1] {
				both.add((x[0] > x[1]) != (y[0] > y[1]))
			}
		}
		commutative = append(commutative, both.Value())
		if items[n] >= o.K {
			x, err := Transitivity(g, o.K, o.Subsets)
			if err != nil {
				return s, fmt.Errorf("statistics of %s, instance %d: %w", name, n+1, err)
			}
			transitive = append(transitive, x.Value())
		}
	}
	s.PerInstance = float64(s.Data) / float64(s.Instances)
	var err error
	if s.Transitive, err = meanOf(transitive, o.Bootstrap); err != nil {
		return s, err
	}
	s.Commutative, err = meanOf(commutative, o.Bootstrap)
	return s, err
}

// Stage is a stage of refinement of a data set: its pairs, and its row of Table 2.
type Stage struct {
	DataStatistics
	Pairs [][]Pair // of each instance, in their order
	// Perturbed is the share of comparisons that were flipped first, with the seed.
	Perturbed float64
	Seed      uint64
	// RankedBy is how the items were ranked, and Scores are those by which the pairs of an instance are ordered;
	// empty where they come from no ranking.
	RankedBy string
	Scores   [][]float64
}

// RefineOptions say how [Stages] makes its data sets.
type RefineOptions struct {
	Rank     Ranker  // [WinLoss] if nil
	RankedBy string  // what it is called in the provenance; "win-loss" if Rank is nil
	Perturb  float64 // share of comparisons that are flipped first, in [0, 1]; the paper's is 0.1
	Seed     uint64
	Measure  MeasureOptions
}

// Stages makes the four data sets of Table 2 from instances with comparisons: as they are, perturbed, refined
// and augmented, and that with the negated relation. What the last two are made from is the perturbed one.
// Instances without comparisons are left empty.
func Stages(instances []*Instance, o RefineOptions) ([]Stage, error) {
	if o.Rank == nil {
		o.Rank, o.RankedBy = WinLoss, "win-loss"
	}
	perturbed, _, err := Perturb(instances, o.Perturb, o.Seed)
	if err != nil {
		return nil, err
	}
	stages := make([]Stage, 4)
	items := make([]int, len(instances))
	for s := range stages {
		stages[s].Pairs = make([][]Pair, len(instances))
		if s > 0 && o.Perturb > 0 {
			stages[s].Perturbed, stages[s].Seed = o.Perturb, o.Seed
		}
		if s > 1 {
			stages[s].RankedBy = o.RankedBy
		}
	}
	for n, in := range instances {
		items[n] = len(in.Items)
		if err := checkComparisons(len(in.Items), in.Comparisons); err != nil {
			return nil, fmt.Errorf("instance %s, line %d of the data: %w", in.ID, in.Line, err)
		}
		from := perturbed[n].Comparisons
		scores, err := o.Rank(len(in.Items), from)
		if err != nil {
			return nil, fmt.Errorf("instance %s, line %d of the data: %w", in.ID, in.Line, err)
		}
		stages[0].Pairs[n] = AsAnnotated(in.Comparisons)
		stages[1].Pairs[n] = AsAnnotated(from)
		stages[2].Scores, stages[3].Scores = append(stages[2].Scores, scores), append(stages[3].Scores, scores)
		stages[2].Pairs[n] = Augment(scores, from, AugmentOptions{})
		stages[3].Pairs[n] = Augment(scores, from, AugmentOptions{Negated: true})
	}
	for s, name := range []string{"Raw data", "Perturbed data", "Aug. data", "Aug. data+Neg."} {
		if stages[s].DataStatistics, err = Statistics(name, items, stages[s].Pairs, o.Measure); err != nil {
			return nil, err
		}
	}
	return stages, nil
}

// quick is for figures that are shown without an interval.
var quick = bootstrap.Options{Resamples: 1}
