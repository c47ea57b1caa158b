package logic

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Range is an interval that a value is sure to lie in, Lo ≤ Hi.
type Range struct{ Lo, Hi float64 }

// Bounds returns sure bounds on WMC when each variable's probability is only known to lie within
// [lo[v], hi[v]]. WMC is linear in each probability, so its extremes lie in corners of the box: variables
// in which it is monotone over the box (by their polarity in the formula, or by the sign of the
// derivative's bounds) are set to the end that matters; what is left is split on, within a budget, and
// bounded on the diagram. Where all variables are decided the bounds are tight; they are always rounded
// outwards. A bound that is no number counts as unknown, 0 or 1. The error is ctx's, soon after ctx ends.
func (d *Diagram) Bounds(ctx context.Context, lo, hi []float64) (Range, error) {
	low, high := make([]Weight, d.width()), make([]Weight, d.width())
	for _, v := range d.vars {
		low[v], high[v] = WeightFromProbability(lo[v]), WeightFromProbability(hi[v])
	}
	b, err := d.bound(ctx, low, high)
	return Range{b.low.p, b.high.p}, err
}

// extreme is a sure bound on WMC from one side: p on WMC(F), q on WMC(¬F) from the other, and p's
// logarithm. at is the corner where it is attained, nil if it is not known to be.
type extreme struct {
	p, q, log float64
	fail      scaled // q, where it underflows too
	at        []Weight
}

// corner is the extreme at given weights.
func (d *Diagram) corner(w []Weight) extreme {
	p, q := d.both(w)
	return extreme{min(p, 1), min(q, 1), min(0, d.logOf(w, p, q, d.root)), d.failure(w, q), w}
}

type bounds struct{ low, high extreme }

// bound bounds WMC over the box [lo, hi], which it puts in order.
func (d *Diagram) bound(ctx context.Context, lo, hi []Weight) (b bounds, err error) {
	lo, hi = slices.Clone(lo), slices.Clone(hi)
	point := true
	for _, v := range d.leaf {
		if !(lo[v].P >= 0 && lo[v].P <= 1) {
			lo[v] = Weight{0, 1}
		}
		if !(hi[v].P >= 0 && hi[v].P <= 1) {
			hi[v] = Weight{1, 0}
		}
		if lo[v].P > hi[v].P || lo[v].P == hi[v].P && lo[v].Q < hi[v].Q {
			lo[v], hi[v] = hi[v], lo[v]
		}
		point = point && lo[v] == hi[v]
	}
	if point {
		x := d.corner(lo)
		return bounds{x, x}, ctx.Err()
	}
	// A split costs some passes over the diagram; a large one gets fewer.
	budget := min(max(1, 1_000_000/(1+len(d.nodes))), 512)
	if b.low, err = d.extreme(ctx, lo, hi, -1, budget); err == nil {
		b.high, err = d.extreme(ctx, lo, hi, 1, budget)
	}
	if err != nil {
		return b, fmt.Errorf("bounding a formula of %d variables: %w", len(d.vars), err)
	}
	slack := 0x1p-52 * float64(4*(1+len(d.leaf)+len(d.nodes)))
	b.low.p = max(0, b.low.p*(1-slack))
	b.low.log -= slack
	b.low.q = min(1, b.low.q*(1+slack))
	if b.low.fail = b.low.fail.mul(scale(1+slack, 0)); b.low.fail.float() > 1 {
		b.low.fail = scaled{1, 0}
	}
	b.high.p = min(1, b.high.p*(1+slack))
	b.high.log = min(0, b.high.log+slack)
	b.high.q = max(0, b.high.q*(1-slack))
	b.high.fail = b.high.fail.mul(scale(max(0, 1-slack), 0))
	return b, nil
}

// extreme returns the least (side -1) or greatest (side 1) WMC over the box, or a sure bound on it.
func (d *Diagram) extreme(ctx context.Context, lo, hi []Weight, side int, budget int) (extreme, error) {
	lo, hi = slices.Clone(lo), slices.Clone(hi)
	free := make([]int, 0, len(d.leaf)) // leaves not yet decided
	decide := func(i int, increasing bool) {
		v := d.leaf[i]
		if increasing == (side > 0) {
			lo[v] = hi[v]
		} else {
			hi[v] = lo[v]
		}
	}
	for i, v := range d.leaf {
		switch {
		case lo[v] == hi[v]:
		case d.pol[i] == 1:
			decide(i, true)
		case d.pol[i] == 2:
			decide(i, false)
		default:
			free = append(free, i)
		}
	}
	var box *interval
	for len(free) > 0 {
		if err := ctx.Err(); err != nil {
			return extreme{}, err
		}
		box = d.interval(lo, hi)
		left := free[:0]
		for _, i := range free {
			g, size := box.adj[1+i], box.size[1+i]
			noise := 1e-12*size + least
			switch {
			case g.Lo > noise, size == 0: // or without influence in the box
				decide(i, true)
			case g.Hi < -noise:
				decide(i, false)
			default:
				left = append(left, i)
			}
		}
		if len(left) == len(free) {
			break
		}
		free = left
	}
	if len(free) == 0 {
		return d.corner(lo), ctx.Err()
	}
	if budget > 1 {
		// Split on the variable that may matter most; in each half it is decided.
		best, most := -1, -1.0
		for _, i := range free {
			v := d.leaf[i]
			g := box.adj[1+i]
			if m := (hi[v].P - lo[v].P) * max(-g.Lo, g.Hi); m > most {
				best, most = i, m
			}
		}
		v := d.leaf[best]
		l, h := lo[v], hi[v]
		hi[v] = l
		a, err := d.extreme(ctx, lo, hi, side, budget/2)
		if err != nil {
			return a, err
		}
		lo[v], hi[v] = h, h
		b, err := d.extreme(ctx, lo, hi, side, budget/2)
		if err != nil {
			return b, err
		}
		if (a.log < b.log || a.log == b.log && a.p < b.p) == (side < 0) {
			return a, nil
		}
		return b, nil
	}
	var x extreme
	if side < 0 {
		x = extreme{p: box.low[d.root], q: box.high[d.root^1]}
		x.log = math.Inf(-1)
	} else {
		x = extreme{p: min(1, box.high[d.root]), q: box.low[d.root^1]}
		x.log = 0
	}
	switch {
	case x.p > 0.5:
		x.log = math.Log1p(-min(x.q, 1))
	case x.p > tiny:
		x.log = math.Log(x.p)
	case side > 0:
		x.log = math.Log(tiny)
	}
	x.fail = scale(min(x.q, 1), 0)
	return x, nil
}

// interval holds bounds on every edge's probability and on every slot's derivative over a box.
type interval struct {
	low, high []float64 // by edge
	adj       []Range   // by slot
	size      []float64 // by slot: of the terms that adj sums, so 1e-16 of it is rounding; 0 only without influence
}

// least is what upper bounds do not fall below, so that they stay bounds, and above 0, where float64
// underflows.
const least = 1e-290

// up multiplies upper bounds.
func up(a, b float64) float64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a*b, least)
}

func (d *Diagram) interval(lo, hi []Weight) *interval {
	n := d.edges()
	x := &interval{make([]float64, n), make([]float64, n), make([]Range, n/2), make([]float64, n/2)}
	low, high := x.low, x.high
	low[0], high[0] = 1, 1
	j := 2
	for _, v := range d.leaf {
		low[j], high[j] = lo[v].P, hi[v].P
		low[j+1], high[j+1] = hi[v].Q, lo[v].Q
		j += 2
	}
	for i := range d.nodes {
		nd := &d.nodes[i]
		t, u := nd.t, nd.t^1
		for s := edge(0); s < 2; s++ {
			// t is independent of h and l, so the ends of its interval are the extremes.
			h, l := nd.h^s, nd.l^s
			low[j] = min(low[t]*low[h]+high[u]*low[l], high[t]*low[h]+low[u]*low[l])
			high[j] = max(up(low[t], high[h])+up(high[u], high[l]), up(high[t], high[h])+up(low[u], high[l]))
			j++
		}
	}
	x.adj[d.root>>1] = Range{1, 1}
	if d.root&1 != 0 {
		x.adj[d.root>>1] = Range{-1, -1}
	}
	x.size[d.root>>1] = 1
	for i := len(d.nodes) - 1; i >= 0; i-- {
		s := 1 + len(d.leaf) + i
		a, size := x.adj[s], x.size[s]
		if size == 0 {
			continue
		}
		nd := &d.nodes[i]
		add := func(e edge, lo, hi, size float64) {
			r := &x.adj[e>>1]
			if e&1 != 0 {
				lo, hi = -hi, -lo
			}
			r.Lo += lo
			r.Hi += hi
			x.size[e>>1] += size
		}
		times := func(e edge) (float64, float64, float64) { // a times a probability
			return min(a.Lo*low[e], a.Lo*high[e]), max(a.Hi*low[e], a.Hi*high[e]), up(size, high[e])
		}
		p, q, r := times(nd.t)
		add(nd.h, p, q, r)
		p, q, r = times(nd.t ^ 1)
		add(nd.l, p, q, r)
		h, l := nd.h, nd.l // h − l, from the complements where these are smaller
		if high[h]+high[l] > high[h^1]+high[l^1] {
			h, l = nd.l^1, nd.h^1
		}
		from, to := low[h]-high[l], high[h]-low[l]
		add(nd.t, min(a.Lo*from, a.Lo*to, a.Hi*from, a.Hi*to), max(a.Lo*from, a.Lo*to, a.Hi*from, a.Hi*to), up(size, max(high[h], high[l])))
	}
	return x
}

// ScoreRanges are the measures of one formula when probabilities are known within bounds only.
type ScoreRanges struct {
	WMC        Range   // Eq. 1
	WMC0       float64 // Eq. 3, exact
	Rho        Range   // Eq. 5
	RhoDefined bool    // false for a tautology
	CAcc       Verdict // Eq. 6; Undecided when the bounds admit both
	Info       float64 // bits, exact
	Loss       Range   // Eq. 2 in nats

	Satisfiable, Valid bool // as in Scores
}

// ScoreBounds bounds a compiled formula's measures when each weight lies between lo[v] and hi[v] (by P).
// Where they are equal for all variables the result equals Score's. It returns ctx's error soon after ctx
// ends.
func ScoreBounds(ctx context.Context, d *Diagram, lo, hi []Weight) (ScoreRanges, error) {
	for _, w := range [][]Weight{lo, hi} {
		if err := d.Check(w); err != nil {
			return ScoreRanges{}, err
		}
	}
	for _, v := range d.vars {
		if lo[v].P > hi[v].P {
			return ScoreRanges{}, fmt.Errorf("variable %d: the lower bound %g lies above the upper bound %g", int(v), lo[v].P, hi[v].P)
		}
	}
	b, err := d.bound(ctx, lo, hi)
	if err != nil {
		return ScoreRanges{}, err
	}
	u := d.uninformed()
	s := ScoreRanges{
		WMC:  Range{b.low.p, b.high.p},
		WMC0: u.wmc0,
		Info: u.info,
		Loss: Range{0 - b.high.log, 0 - b.low.log},

		Satisfiable: d.Satisfiable(), Valid: d.Valid(),
	}
	s.Rho.Lo, s.RhoDefined = rho(scale(b.low.p, 0), b.low.fail, u.p, u.q)
	s.Rho.Hi, _ = rho(scale(b.high.p, 0), b.high.fail, u.p, u.q)
	above := func(x extreme) bool { return d.better(x.at, x.log, x.fail) }
	switch {
	case above(b.low):
		s.CAcc = Consistent
	case !above(b.high):
		s.CAcc = Inconsistent
	}
	return s, nil
}
