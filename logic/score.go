package logic

import (
	"math"
	"math/big"
)

// Verdict is the consistency metric CAcc of Eq. 6 for one formula.
type Verdict uint8

const (
	// Undecided: the probabilities are known within bounds only, and these admit both.
	Undecided Verdict = iota
	// Inconsistent: WMC ≤ WMC₀, no better than chance (CAcc 0).
	Inconsistent
	// Consistent: WMC > WMC₀, better than chance (CAcc 1).
	Consistent
)

func (v Verdict) String() string {
	switch v {
	case Inconsistent:
		return "inconsistent"
	case Consistent:
		return "consistent"
	}
	return "undecided"
}

// Scores are the measures of one formula under one weighting.
type Scores struct {
	WMC        float64 // Eq. 1, in [0, 1]
	LogWMC     float64 // natural logarithm, does not underflow
	WMC0       float64 // Eq. 3, in [0, 1]
	Rho        float64 // Eq. 5, at most 1, -Inf below the range of float64; 0 when undefined
	RhoDefined bool    // false for a tautology, where Eq. 5 is 0/0
	CAcc       Verdict // Eq. 6: Consistent or Inconsistent
	Info       float64 // I(F) in bits, +Inf for an unsatisfiable formula
	Loss       float64 // Eq. 2 in nats, +Inf where WMC is 0

	// Whether any interpretation satisfies the formula, and whether all do. WMC0 does not tell: it
	// rounds to 0 and 1 for formulas of many variables that are neither.
	Satisfiable, Valid bool
}

// Score evaluates a compiled formula. The error tells of weights that are too few or no probabilities.
func Score(d *Diagram, w []Weight) (Scores, error) {
	if err := d.Check(w); err != nil {
		return Scores{}, err
	}
	p, q := d.both(w)
	u := d.uninformed()
	s := Scores{WMC: min(p, 1), WMC0: u.wmc0, Info: u.info, Satisfiable: d.Satisfiable(), Valid: d.Valid()}
	s.LogWMC = min(0, d.logOf(w, p, q, d.root))
	s.Loss = 0 - s.LogWMC
	fail := d.failure(w, q)
	s.Rho, s.RhoDefined = rho(scale(s.WMC, 0), fail, u.p, u.q)
	s.CAcc = Inconsistent
	if d.better(w, s.LogWMC, fail) {
		s.CAcc = Consistent
	}
	return s, nil
}

// rho is Eq. 5, (p − p₀)/(1 − p₀), for a probability p and the one by chance p₀, each with its complement;
// false where that is 0/0. Next to a tautology p and p₀ are the same number in float64 and their
// complements are not.
func rho(p, q, p0, q0 scaled) (float64, bool) {
	if q0.m == 0 {
		return 0, false
	}
	x := p.add(p0.neg())
	if p0.float() > 0.5 {
		x = q0.add(q.neg())
	}
	return min(1, x.over(q0)), true
}

// failure returns WMC(¬F), which is q in float64, without underflow where Eq. 5 needs that.
func (d *Diagram) failure(w []Weight, q float64) scaled {
	if q > tiny || d.uninformed().q.float() > 0x1p-800 {
		return scale(min(q, 1), 0)
	}
	return d.forwardScaled(w)[d.root^1]
}

// better decides WMC > WMC₀, where WMC₀ is above ½ by the smaller numbers WMC(¬F) < 1 − WMC₀. Logarithms
// decide unless they are closer than their rounding; then both sides are computed with 320 bits, so that
// equality by symmetry (all weights ½, say) is not mistaken for a difference. Without weights, which
// are not known where logp and fail are bounds, the logarithms have the last word.
func (d *Diagram) better(w []Weight, logp float64, fail scaled) bool {
	u := d.uninformed()
	if d.root <= edgeFalse {
		return false // 0 > 0 or 1 > 1
	}
	sign, x, x0, root, count := 1, logp, u.log, d.root, u.count
	if u.p.float() > 0.5 {
		sign, x, x0, root = -1, math.Inf(-1), u.q.log(), d.root^1
		if fail.m != 0 {
			x = fail.log()
		}
		total := new(big.Int).Lsh(big.NewInt(1), uint(len(d.vars)))
		count = total.Sub(total, count)
	}
	diff := x - x0
	if w == nil || math.IsInf(x, -1) || math.Abs(diff) > 1e-9*max(math.Abs(x), math.Abs(x0)) {
		return float64(sign)*diff > 0
	}
	const precision = 320
	p := d.precise(w, precision, root)
	p0 := new(big.Float).SetPrec(precision).SetInt(count)
	p0.SetMantExp(p0, -len(d.vars))
	d0 := new(big.Float).SetPrec(precision).Sub(p, p0)
	return d0.Sign() == sign && d0.MantExp(nil) > p0.MantExp(nil)-200
}

// precise returns the probability of an edge in the given precision. Of each weight the smaller
// probability is taken at its word and the other as its complement.
func (d *Diagram) precise(w []Weight, precision uint, root edge) *big.Float {
	float := func(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
	val := make([]*big.Float, d.edges())
	val[0], val[1] = float(1), float(0)
	j := 2
	for _, v := range d.leaf {
		if w[v].P <= w[v].Q {
			val[j] = float(w[v].P)
			val[j+1] = float(1)
			val[j+1].Sub(val[j+1], val[j])
		} else {
			val[j+1] = float(w[v].Q)
			val[j] = float(1)
			val[j].Sub(val[j], val[j+1])
		}
		j += 2
	}
	x := float(0)
	for i := range d.nodes {
		n := &d.nodes[i]
		for s := edge(0); s < 2; s++ {
			y := float(0).Mul(val[n.t], val[n.h^s])
			x.Mul(val[n.t^1], val[n.l^s])
			val[j] = y.Add(y, x)
			j++
		}
	}
	return val[root]
}
