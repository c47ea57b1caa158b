package logic

import "math"

// scaled is the number m·2^(256·e), with |m| in [2⁻¹²⁸, 2¹²⁸) or 0: products of thousands of
// probabilities neither underflow nor cost a logarithm each.
type scaled struct {
	m float64
	e int32
}

const (
	scaleUp   = 0x1p256
	scaleDown = 0x1p-256
	scaledMax = 0x1p128
	scaledMin = 0x1p-128
)

func scale(m float64, e int32) scaled {
	if m == 0 {
		return scaled{}
	}
	for math.Abs(m) < scaledMin {
		m *= scaleUp
		e--
	}
	for math.Abs(m) >= scaledMax {
		m *= scaleDown
		e++
	}
	return scaled{m, e}
}

func (a scaled) mul(b scaled) scaled { return scale(a.m*b.m, a.e+b.e) }

func (a scaled) add(b scaled) scaled {
	if a.m == 0 {
		return b
	}
	if b.m == 0 {
		return a
	}
	if a.e < b.e {
		a, b = b, a
	}
	switch a.e - b.e {
	case 0:
		return scale(a.m+b.m, a.e)
	case 1:
		return scale(a.m+b.m*scaleDown, a.e)
	}
	return a
}

func (a scaled) neg() scaled { return scaled{-a.m, a.e} }

// over returns a/b as a float64.
func (a scaled) over(b scaled) float64 {
	q := a.m / b.m
	switch e := a.e - b.e; {
	case q == 0 || e == 0:
		return q
	case e > 8:
		return math.Inf(1) * q
	case e < -8:
		return 0
	default:
		return math.Ldexp(q, int(e)*256)
	}
}

// float returns a as a float64, 0 where that underflows.
func (a scaled) float() float64 { return a.over(scaled{1, 0}) }

func (a scaled) log() float64 { return math.Log(a.m) + float64(a.e)*256*math.Ln2 }

func (d *Diagram) forwardScaled(w []Weight) []scaled {
	val := make([]scaled, d.edges())
	val[0] = scaled{1, 0}
	j := 2
	for _, v := range d.leaf {
		val[j], val[j+1] = scale(w[v].P, 0), scale(w[v].Q, 0)
		j += 2
	}
	for i := range d.nodes {
		n := &d.nodes[i]
		t, u := val[n.t], val[n.t^1]
		val[j] = t.mul(val[n.h]).add(u.mul(val[n.l]))
		val[j+1] = t.mul(val[n.h^1]).add(u.mul(val[n.l^1]))
		j += 2
	}
	return val
}

func (d *Diagram) backwardScaled(val []scaled) []scaled {
	adj := make([]scaled, 1+len(d.leaf)+len(d.nodes))
	adj[d.root>>1] = scaled{1, 0}
	if d.root&1 != 0 {
		adj[d.root>>1].m = -1
	}
	for i := len(d.nodes) - 1; i >= 0; i-- {
		a := adj[1+len(d.leaf)+i]
		if a.m == 0 {
			continue
		}
		n := &d.nodes[i]
		adj[n.h>>1] = adj[n.h>>1].add(a.mul(val[n.t]))
		x := a.mul(val[n.t^1])
		if n.l&1 != 0 {
			x = x.neg()
		}
		adj[n.l>>1] = adj[n.l>>1].add(x)
		h, l := val[n.h], val[n.l]
		if s := h.add(l); s.e > 0 || s.e == 0 && s.m > 1 {
			h, l = val[n.l^1], val[n.h^1]
		}
		adj[n.t>>1] = adj[n.t>>1].add(a.mul(h.add(l.neg())))
	}
	return adj
}

// tiny is the probability below which float64 sums may have lost terms to underflow, and the scaled
// numbers take over.
const tiny = 1e-280

// LogWMC returns the natural logarithm of WMC. It does not underflow (a conjunction of thousands of
// unlikely events) and is accurate next to 0, where it is taken from the complement's probability.
func (d *Diagram) LogWMC(w []Weight) float64 {
	p, q := d.both(w)
	return d.logOf(w, p, q, d.root)
}

func (d *Diagram) logOf(w []Weight, p, q float64, root edge) float64 {
	switch {
	case p > 0.5:
		return math.Log1p(-q)
	case p > tiny:
		return math.Log(p)
	case root == edgeFalse:
		return math.Inf(-1)
	}
	v := d.forwardScaled(w)[root]
	if v.m == 0 {
		return math.Inf(-1)
	}
	return v.log()
}

// Loss returns the semantic loss of Eq. 2, −log WMC, in nats; +Inf where WMC is 0.
func (d *Diagram) Loss(w []Weight) float64 { return 0 - d.LogWMC(w) }

// LogGradient returns LogWMC and sets dst[v] = ∂log WMC/∂p(v), the negative of the semantic loss's
// gradient, for every variable; other entries become 0. Where WMC is 0 a derivative is ±Inf, or 0 for a
// variable that alone cannot mend it.
func (d *Diagram) LogGradient(w []Weight, dst []float64) float64 {
	clear(dst)
	if d.root <= edgeFalse {
		return d.LogWMC(w)
	}
	s, a := d.pool.Get().(*[]float64), d.pool.Get().(*[]float64)
	defer d.pool.Put(s)
	defer d.pool.Put(a)
	p, q := d.forward(w, *s)
	if p > tiny {
		d.backward(*s, *a)
		for i, v := range d.leaf {
			dst[v] = (*a)[1+i] / p
		}
		return d.logOf(w, p, q, d.root)
	}
	val := d.forwardScaled(w)
	adj := d.backwardScaled(val)
	total := val[d.root]
	for i, v := range d.leaf {
		if g := adj[1+i]; g.m != 0 {
			if total.m == 0 {
				dst[v] = math.Copysign(math.Inf(1), g.m)
			} else {
				dst[v] = g.over(total)
			}
		}
	}
	if total.m == 0 {
		return math.Inf(-1)
	}
	return total.log()
}

// Marginals sets dst[v] = P(v | F), each variable's probability once the formula is known to hold, and
// returns true. A variable on which F does not depend keeps its own probability. Where WMC is 0 the
// marginals are undefined: false is returned and dst is all 0.
func (d *Diagram) Marginals(w []Weight, dst []float64) bool {
	clear(dst)
	val := d.forwardScaled(w)
	total := val[d.root]
	if total.m == 0 {
		return false
	}
	for _, v := range d.vars {
		dst[v] = w[v].P
	}
	// The flow through an edge is the derivative of the root by that edge's probability with the
	// complement's held fixed: sums of products, nothing is subtracted.
	flow := make([]scaled, d.edges())
	flow[d.root] = scaled{1, 0}
	for i := len(d.nodes) - 1; i >= 0; i-- {
		j := 2 * (1 + len(d.leaf) + i)
		a, b := flow[j], flow[j+1]
		n := &d.nodes[i]
		to := func(e edge, x scaled) { flow[e] = flow[e].add(x) }
		t, u := val[n.t], val[n.t^1]
		to(n.h, a.mul(t))
		to(n.h^1, b.mul(t))
		to(n.l, a.mul(u))
		to(n.l^1, b.mul(u))
		to(n.t, a.mul(val[n.h]).add(b.mul(val[n.h^1])))
		to(n.t^1, a.mul(val[n.l]).add(b.mul(val[n.l^1])))
	}
	for i, v := range d.leaf {
		e := edge(1+i) << 1
		yes, no := flow[e].mul(val[e]).over(total), flow[e^1].mul(val[e^1]).over(total)
		skipped := max(0, 1-yes-no) // the part that does not test v
		if skipped < 1e-13 {        // rounding
			skipped = 0
		}
		dst[v] = min(1, (yes+w[v].P*skipped)/(yes+no+skipped))
	}
	return true
}
