package lang

import (
	"context"
	"math"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/logic"
)

// measurement is a formula with what its readings make of it.
type measurement struct {
	g *grounded
	d *logic.Diagram

	WMC, Rho, Loss Interval // Rho is NaN where it is undefined
	WMC0, Info     float64
	CAcc           logic.Verdict
}

// measure reads a formula's events and scores it.
func (s *Session) measure(ctx context.Context, g *grounded, f *logic.Formula) (*measurement, error) {
	// The diagram first: whether the formula can be counted is known before
	// the model runs.
	d, err := s.compiled.compile(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := s.readAll(ctx, g); err != nil {
		return nil, err
	}
	m := &measurement{g: g, d: d}
	if !g.exact() {
		return m, m.bound(ctx)
	}
	sc, err := logic.Score(d, g.weights(0))
	if err != nil {
		return nil, err
	}
	m.WMC, m.Rho, m.Loss = calibrate.Exact(sc.WMC), calibrate.Exact(sc.Rho), calibrate.Exact(sc.Loss)
	if !sc.RhoDefined {
		m.Rho = calibrate.Exact(math.NaN())
	}
	m.WMC0, m.Info, m.CAcc = sc.WMC0, sc.Info, sc.CAcc
	return m, nil
}

// bound bounds the scores where probabilities are intervals.
func (m *measurement) bound(ctx context.Context) error {
	sc, err := logic.ScoreBounds(ctx, m.d, m.g.weights(-1), m.g.weights(+1))
	if err != nil {
		return err
	}
	m.WMC, m.Rho, m.Loss = Interval(sc.WMC), Interval(sc.Rho), Interval(sc.Loss)
	if !sc.RhoDefined {
		m.Rho = calibrate.Exact(math.NaN())
	}
	m.WMC0, m.Info, m.CAcc = sc.WMC0, sc.Info, sc.CAcc
	return nil
}

// gradient returns ∂WMC/∂p for each variable, all from one backward pass where
// the probabilities are exact.
func (m *measurement) gradient(ctx context.Context) ([]Interval, error) {
	out := make([]Interval, len(m.g.vars))
	if m.g.exact() {
		dst := make([]float64, len(m.g.vars))
		m.d.Gradient(m.g.weights(0), dst)
		for i, x := range dst {
			out[i] = calibrate.Exact(x)
		}
		return out, nil
	}
	// ∂WMC/∂p(v) = WMC(F|v) − WMC(F|¬v), each bounded.
	err := m.conditioned(ctx, func(i int, with, without Interval) {
		out[i] = Interval{Lo: with.Lo - without.Hi, Hi: with.Hi - without.Lo}
	})
	return out, err
}

// conditioned bounds WMC(F|v) and WMC(F|¬v) for each variable v.
func (m *measurement) conditioned(ctx context.Context, yield func(i int, with, without Interval)) error {
	lo, hi := m.g.probabilities()
	at := func(i int, p float64) (Interval, error) {
		l, h := lo[i], hi[i]
		lo[i], hi[i] = p, p
		x, err := m.d.Bounds(ctx, lo, hi)
		lo[i], hi[i] = l, h
		return Interval(x), err
	}
	for i := range m.g.vars {
		with, err := at(i, 1)
		if err != nil {
			return err
		}
		without, err := at(i, 0)
		if err != nil {
			return err
		}
		yield(i, with, without)
	}
	return nil
}

// marginals returns each variable's probability given that the formula holds;
// NaN where the formula cannot hold.
func (m *measurement) marginals(ctx context.Context) ([]Interval, error) {
	out := make([]Interval, len(m.g.vars))
	if m.g.exact() {
		dst := make([]float64, len(m.g.vars))
		defined := m.d.Marginals(m.g.weights(0), dst)
		for i, x := range dst {
			if !defined {
				x = math.NaN()
			}
			out[i] = calibrate.Exact(x)
		}
		return out, nil
	}
	// By Bayes: p·WMC(F|v) against (1−p)·WMC(F|¬v), each at its ends.
	share := func(yes, no float64) float64 {
		if yes == 0 && no == 0 {
			return math.NaN()
		}
		return yes / (yes + no)
	}
	lo, hi := m.g.probabilities()
	err := m.conditioned(ctx, func(i int, with, without Interval) {
		out[i] = Interval{
			Lo: share(lo[i]*with.Lo, (1-lo[i])*without.Hi),
			Hi: share(hi[i]*with.Hi, (1-hi[i])*without.Lo),
		}
		if math.IsNaN(out[i].Lo) || math.IsNaN(out[i].Hi) {
			out[i] = Interval{Lo: 0, Hi: 1} // the formula may be impossible
		}
	})
	return out, err
}

// topModels hands over the k most probable satisfying interpretations, each
// with the natural logarithm of its probability. Where probabilities are intervals the order is that of
// their upper ends.
func (m *measurement) topModels(ctx context.Context, k int, yield func(truth logic.Interpretation, logP Interval)) error {
	lo, hi := m.g.weights(-1), m.g.weights(+1)
	upper := make([]logic.Weight, len(hi))
	for i := range upper {
		upper[i] = logic.Weight{P: hi[i].P, Q: lo[i].Q}
	}
	models, err := m.d.TopModels(ctx, upper, k)
	if err != nil {
		return err
	}
	exact := m.g.exact()
	for _, x := range models {
		if err := ctx.Err(); err != nil {
			return err
		}
		logP := calibrate.Exact(x.LogProb)
		if !exact {
			logP = calibrate.Exact(0)
			for i := range m.g.vars {
				if x.Interpretation[i] {
					logP.Lo, logP.Hi = logP.Lo+math.Log(lo[i].P), logP.Hi+math.Log(hi[i].P)
				} else {
					logP.Lo, logP.Hi = logP.Lo+math.Log(hi[i].Q), logP.Hi+math.Log(lo[i].Q)
				}
			}
		}
		yield(x.Interpretation, logP)
	}
	return nil
}
