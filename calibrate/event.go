package calibrate

import "math"

// EventLogit returns logit(P) + C, the log odds of the event of Eq. 4, from the
// natural logarithm of the token's raw probability and the offset. It grows with
// both, so the ends of the result come from the ends of the arguments.
//
// The result is accurate for P near 0, where logit(P) is nearly ln P, and for P
// near 1, as far as logP tells the two apart; it is −Inf for P = 0 and +Inf for
// P = 1. A logP above zero, which only rounding can produce, is taken as zero.
func EventLogit(logP, c Interval) Interval {
	return Interval{logit(logP.Lo) + c.Lo, logit(logP.Hi) + c.Hi}
}

// EventProbability returns σ(logit(P) + C), Eq. 4, in [0, 1].
func EventProbability(logP, c Interval) Interval {
	l := EventLogit(logP, c)
	return Interval{Sigmoid(l.Lo), Sigmoid(l.Hi)}
}

// Sigmoid returns 1/(1 + e⁻ˣ) with full relative accuracy for every x, also where
// the result is tiny. For the complement near 1 use Sigmoid(−x).
func Sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

// logit returns ln(p/(1−p)) from ln p.
func logit(logp float64) float64 {
	if logp >= 0 {
		return math.Inf(1)
	}
	// ln(1 − e^logp): each form is accurate on its own side of p = 1/2.
	if logp > -math.Ln2 {
		return logp - math.Log(-math.Expm1(logp))
	}
	return logp - math.Log1p(-math.Exp(logp))
}
