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
	Rho        float64 // Eq. 5, at most 1; 0 when undefined
	RhoDefined bool    // false for a tautology, where Eq. 5 is 0/0
	CAcc       Verdict // Eq. 6: Consistent or Inconsistent
	Info       float64 // I(F) in bits, +Inf for an unsatisfiable formula
	Loss       float64 // Eq. 2 in nats, +Inf where WMC is 0
}

// Score evaluates a compiled formula. The error tells of weights that are too few or no probabilities.
func Score(d *Diagram, w []Weight) (Scores, error) {
	if err := d.Check(w); err != nil {
		return Scores{}, err
	}
	p, q := d.both(w)
	u := d.uninformed()
	s := Scores{WMC: min(p, 1), WMC0: u.wmc0, Info: u.info}
	s.LogWMC = min(0, d.logOf(w, p, q, d.root))
	s.Loss = 0 - s.LogWMC
	s.Rho, s.RhoDefined = d.rho(p, q)
	s.CAcc = Inconsistent
	if d.better(w, s.LogWMC) {
		s.CAcc = Consistent
	}
	return s, nil
}

// rho returns Eq. 5 for WMC(F) = p and WMC(¬F) = q, from whichever keeps more digits.
func (d *Diagram) rho(p, q float64) (float64, bool) {
	u := d.uninformed()
	if d.Valid() {
		return 0, false
	}
	if u.wmc0 > 0.5 {
		return (u.fail - q) / u.fail, true
	}
	return (p - u.wmc0) / u.fail, true
}

// better decides WMC > WMC₀. Logarithms decide unless they are closer than their rounding; then both
// sides are computed with 320 bits, so that equality by symmetry (all weights ½, say) is not mistaken for
// a difference.
func (d *Diagram) better(w []Weight, logp float64) bool {
	u := d.uninformed()
	if d.root <= edgeFalse {
		return false // 0 > 0 or 1 > 1
	}
	if diff := logp - u.log; math.IsInf(logp, -1) || math.Abs(diff) > 1e-9*max(math.Abs(logp), math.Abs(u.log)) {
		return diff > 0
	}
	const precision = 320
	p := d.precise(w, precision)
	p0 := new(big.Float).SetPrec(precision).SetInt(u.count)
	p0.SetMantExp(p0, -len(d.vars))
	diff := new(big.Float).SetPrec(precision).Sub(p, p0)
	if diff.Sign() <= 0 {
		return false
	}
	return diff.MantExp(nil) > p0.MantExp(nil)-200
}

// precise returns WMC in the given precision. Of each weight the smaller probability is taken at its
// word and the other as its complement.
func (d *Diagram) precise(w []Weight, precision uint) *big.Float {
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
	return val[d.root]
}
