package logic

import (
	"fmt"
	"math"
)

// Weight is the probability that a variable is true (P) and that it is false (Q). P+Q is 1 up to
// rounding; both are kept so that a probability next to 1 keeps the digits of its complement.
type Weight struct{ P, Q float64 }

// WeightFromProbability returns the weight of an event of probability p in [0, 1].
func WeightFromProbability(p float64) Weight { return Weight{p, 1 - p} }

// WeightFromLogit returns the weight of an event of log odds l (natural logarithm), σ(l) of Eq. 4;
// ±Inf are certainty.
func WeightFromLogit(l float64) Weight {
	if l >= 0 {
		e := math.Exp(-l)
		return Weight{1 / (1 + e), e / (1 + e)}
	}
	e := math.Exp(l)
	return Weight{e / (1 + e), 1 / (1 + e)}
}

// WeightFromLog returns the weight of an event whose probability has the natural logarithm logp ≤ 0.
// Below about -745 the probability is 0 in float64.
func WeightFromLog(logp float64) Weight { return Weight{math.Exp(logp), -math.Expm1(logp)} }

// check reports a weight that is no probability.
func (w Weight) check() error {
	if !(w.P >= 0 && w.P <= 1 && w.Q >= 0 && w.Q <= 1) || math.Abs(w.P+w.Q-1) > 1e-9 {
		return fmt.Errorf("%g and %g are not the two probabilities of one event (each in [0, 1], sum 1)", w.P, w.Q)
	}
	return nil
}

// better returns the probability of the likelier value.
func (w Weight) better() float64 { return max(w.P, w.Q) }
