package preference

import (
	"fmt"
	"math"
)

// MaxItems bounds the items of one instance, whose judgements are a matrix.
const MaxItems = 1000

// Judgements are a model's judgements over the N items of one instance under one question, the relation's or
// the negated relation's: for each ordered pair (i, j), shown with xᵢ first and xⱼ second, the probability in
// [0, 1] of the label that names the first. Under the relation that is P(xᵢ ≻ xⱼ); under the negated one it
// is the probability that xᵢ is named when the lesser is asked for, P(xᵢ ≺ xⱼ). A pair that was not judged
// is NaN.
//
// Judgements are not safe for use while another goroutine sets them.
type Judgements struct {
	n          int
	p, neither []float64 // row-major, NaN where not judged
}

// NewJudgements returns judgements over n items, 0 to [MaxItems], of which none is made yet.
func NewJudgements(n int) (*Judgements, error) {
	if n < 0 || n > MaxItems {
		return nil, fmt.Errorf("judgements over %d items: 0 to %d are possible", n, MaxItems)
	}
	j := &Judgements{n: n, p: make([]float64, n*n), neither: make([]float64, n*n)}
	for i := range j.p {
		j.p[i], j.neither[i] = math.NaN(), math.NaN()
	}
	return j, nil
}

// N is the number of items.
func (m *Judgements) N() int { return m.n }

// Set sets the judgement of a pair that is shown with i first: p, the probability of the label that names i
// among the two labels, and the mass that the model puts on neither label, both in [0, 1]. Neither may be NaN
// where it is not known, as for sampled answers. Setting a pair again replaces it.
func (m *Judgements) Set(i, j int, p, neither float64) error {
	switch {
	case i < 0 || j < 0 || i >= m.n || j >= m.n:
		return fmt.Errorf("a judgement of items %d and %d of %d", i, j, m.n)
	case i == j:
		return fmt.Errorf("a judgement of item %d against itself", i)
	case !(p >= 0 && p <= 1):
		return fmt.Errorf("the judgement of items %d and %d is %g; a probability lies between 0 and 1", i, j, p)
	case neither < 0 || neither > 1:
		return fmt.Errorf("the mass on neither label for items %d and %d is %g; it lies between 0 and 1", i, j, neither)
	}
	m.p[i*m.n+j], m.neither[i*m.n+j] = p, neither
	return nil
}

// At is the probability of the label that names i when i is shown first and j second; NaN where the pair was
// not judged, and for i = j.
func (m *Judgements) At(i, j int) float64 { return m.p[i*m.n+j] }

// Neither is the mass on neither label for the pair shown with i first; NaN where it is not known.
func (m *Judgements) Neither(i, j int) float64 { return m.neither[i*m.n+j] }

// Judged reports whether the pair was judged with i first.
func (m *Judgements) Judged(i, j int) bool { p := m.At(i, j); return p == p }

// Decision is F(xᵢ, xⱼ) of the pair shown with i first: whether the label names i, which it does for P ≥ ½ as
// in Algorithm 1. It is false as well for a pair that was not judged; see [Judgements.Judged].
func (m *Judgements) Decision(i, j int) bool { return m.At(i, j) >= 0.5 }

// Calibrated is P(xᵢ ≻ xⱼ) averaged over both orders, (P(i≻j | i first) + 1 − P(j≻i | j first)) / 2 (Zheng et
// al., 2023); of one order alone where the other was not judged; NaN where neither was. Calibrated(i, j) and
// Calibrated(j, i) sum to 1.
func (m *Judgements) Calibrated(i, j int) float64 {
	first, second := m.At(i, j), 1-m.At(j, i)
	switch {
	case first != first:
		return second
	case second != second:
		return first
	}
	return (first + second) / 2
}

// Count is the number of ordered pairs that were judged.
func (m *Judgements) Count() int {
	n := 0
	for _, p := range m.p {
		if p == p {
			n++
		}
	}
	return n
}
