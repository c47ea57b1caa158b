package preference

import (
	"fmt"
	"math"

	"github.com/modellog/modellog/evals/bootstrap"
)

// Judged is an instance with a model's judgements of it.
type Judged struct {
	Instance *Instance
	Relation *Judgements
	Negated  *Judgements // nil where the negated relation was not asked
}

// DefaultK is the number of items of a sub-graph in the paper's tables.
const DefaultK = 5

// MeasureOptions say how [Measure] measures.
type MeasureOptions struct {
	K         int // of s_tran(K); [DefaultK] if 0
	Subsets   Subsets
	Bootstrap bootstrap.Options
}

// Mean is a mean over instances with the ends of its interval, all NaN of none.
type Mean struct {
	bootstrap.Interval
	Instances int // it is of
}

// Metrics are the averages of a row of Table 1 over instances, each of those for which it is defined.
type Metrics struct {
	K                                    int
	Instances                            int
	H, Transitive, Commutative, Negation Mean
	Calibrated                           Mean // s_tran(K) of judgements averaged over both orders, where both were made
	First                                Mean // share of judgements that name the item shown first
	Neither                              Mean // mass on neither label
	Ties, Unannotated, Judgements        int  // judgements left out of H, and all of the relation
	// Each has the instances' own values, NaN where undefined, for correlations.
	Each struct{ H, Transitive, Commutative, Negation []float64 }
}

// Measure computes the scores of each instance and averages them. s_tran(K) is left out for an instance of
// fewer than K items, which the number of instances of the mean tells.
func Measure(all []Judged, o MeasureOptions) (Metrics, error) {
	if o.K == 0 {
		o.K = DefaultK
	}
	m := Metrics{K: o.K, Instances: len(all)}
	if o.K < 3 {
		return m, fmt.Errorf("s_tran(%d): a cycle has at least 3 items", o.K)
	}
	var first, neither, calibrated []float64
	for n, x := range all {
		h, err := HumanAgreement(x.Relation, x.Instance)
		if err != nil {
			return m, fmt.Errorf("instance %d (%s): %w", n+1, x.Instance.ID, err)
		}
		m.Ties += h.Ties
		m.Unannotated += h.Unannotated
		m.Judgements += x.Relation.Count()
		m.Each.H = append(m.Each.H, h.Value())
		transitive, both := math.NaN(), math.NaN()
		if x.Relation.N() >= o.K && x.Relation.Count() > 0 {
			s, err := Transitivity(RelationGraph(x.Relation), o.K, o.Subsets)
			if err != nil {
				return m, fmt.Errorf("instance %d (%s): %w", n+1, x.Instance.ID, err)
			}
			transitive = s.Value()
			if n := x.Relation.N(); x.Relation.Count() == n*(n-1) {
				if s, err = Transitivity(CalibratedGraph(x.Relation), o.K, o.Subsets); err != nil {
					return m, fmt.Errorf("instance %d (%s): %w", n+1, x.Instance.ID, err)
				}
				both = s.Value()
			}
		}
		calibrated = append(calibrated, both)
		m.Each.Transitive = append(m.Each.Transitive, transitive)
		m.Each.Commutative = append(m.Each.Commutative, Commutativity(x.Relation).Value())
		negation := math.NaN()
		if x.Negated != nil {
			s, err := NegationInvariance(x.Relation, x.Negated)
			if err != nil {
				return m, fmt.Errorf("instance %d (%s): %w", n+1, x.Instance.ID, err)
			}
			negation = s.Value()
		}
		m.Each.Negation = append(m.Each.Negation, negation)
		first = append(first, FirstShown(x.Relation).Value())
		neither = append(neither, meanNeither(x.Relation))
	}
	for _, f := range []struct {
		to *Mean
		of []float64
	}{
		{&m.H, m.Each.H}, {&m.Transitive, m.Each.Transitive}, {&m.Commutative, m.Each.Commutative},
		{&m.Negation, m.Each.Negation}, {&m.Calibrated, calibrated}, {&m.First, first}, {&m.Neither, neither},
	} {
		var err error
		if *f.to, err = meanOf(f.of, o.Bootstrap); err != nil {
			return m, err
		}
	}
	return m, nil
}

// meanNeither is the mean mass on neither label, NaN where it is not known of any judgement.
func meanNeither(m *Judgements) float64 {
	sum, n := 0.0, 0
	for _, v := range m.neither {
		if v == v {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// meanOf is the mean of the values that are defined.
func meanOf(x []float64, o bootstrap.Options) (Mean, error) {
	var defined []float64
	for _, v := range x {
		if v == v {
			defined = append(defined, v)
		}
	}
	if len(defined) == 0 {
		nan := math.NaN()
		return Mean{Interval: bootstrap.Interval{Value: nan, Lo: nan, Hi: nan}}, nil
	}
	i, err := bootstrap.Mean(defined, o)
	if err != nil {
		return Mean{}, fmt.Errorf("bootstrap intervals: %w", err)
	}
	return Mean{i, len(defined)}, nil
}

// CurvePoint is s_tran(K) at one K.
type CurvePoint struct {
	K int
	Mean
	Chance float64 // its expectation for random tournaments, K!/2^(K(K−1)/2)
}

// TransitivityCurve is s_tran(K) over K from 3 to most, each the mean over the instances that have as many
// items. It ends before most where none has.
func TransitivityCurve(all []Judged, most int, o MeasureOptions) ([]CurvePoint, error) {
	var out []CurvePoint
	graphs := make([]Graph, len(all))
	for i, x := range all {
		graphs[i] = RelationGraph(x.Relation)
	}
	for k := 3; k <= most; k++ {
		var values []float64
		for i, g := range graphs {
			if len(g) < k || all[i].Relation.Count() == 0 {
				continue
			}
			s, err := Transitivity(g, k, o.Subsets)
			if err != nil {
				return nil, err
			}
			values = append(values, s.Value())
		}
		if len(values) == 0 {
			break
		}
		m, err := meanOf(values, o.Bootstrap)
		if err != nil {
			return nil, err
		}
		out = append(out, CurvePoint{K: k, Mean: m, Chance: RandomTournament(k)})
	}
	return out, nil
}

// RandomTournament is the share of tournaments of K items that have no cycle, K!/2^(K(K−1)/2): of the
// 2^(K(K−1)/2) ways to direct all pairs (§2.1 of the paper has 2^K), K! are rankings.
func RandomTournament(k int) float64 {
	p := 1.0
	for i := 2; i <= k; i++ {
		p *= float64(i) * math.Ldexp(1, 1-i) // the i-th item has i places, and i−1 pairs
	}
	return p
}
