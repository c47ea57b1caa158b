package logic

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// ModelCount is the answer of model counting.
type ModelCount struct {
	Satisfiable bool
	Models      *big.Int // satisfying interpretations of all declared variables
	Weighted    *big.Rat // Σ Π of literal weights over these, exact; nil where the CNF is not weighted
	Log10       float64  // decimal logarithm of Weighted's (else of Models') absolute value, -Inf for 0
}

// Count compiles the CNF and counts its models exactly, over all declared variables, those in no clause
// included; weights need not be normalised and may be negative.
func (c *CNF) Count(ctx context.Context, opts ...Option) (ModelCount, error) {
	d, err := Compile(ctx, c.Formula(), opts...)
	if err != nil {
		return ModelCount{}, fmt.Errorf("counting models: %w", err)
	}
	m := ModelCount{Satisfiable: d.Satisfiable(), Models: d.Count()}
	m.Models.Lsh(m.Models, uint(c.Vars-len(d.vars)))
	value := new(big.Rat).SetInt(m.Models)
	if c.Weighted() {
		if m.Weighted, err = c.weighted(ctx, d); err != nil {
			return ModelCount{}, fmt.Errorf("counting models: %w", err)
		}
		value = m.Weighted
	}
	m.Log10 = log10(value)
	return m, nil
}

// log10 returns the decimal logarithm of |x|.
func log10(x *big.Rat) float64 {
	if x.Sign() == 0 {
		return math.Inf(-1)
	}
	num, den := new(big.Int).Abs(x.Num()), x.Denom()
	if num.BitLen() < 1000 && den.BitLen() < 1000 {
		if f, _ := x.Float64(); math.Abs(f) > 1e-300 && !math.IsInf(f, 0) {
			return math.Log10(math.Abs(f))
		}
	}
	return (log2(num) - log2(den)) * math.Log10(2)
}

// weighted sums Π of literal weights. All numbers are integers over a common denominator for each
// variable. Diagrams leave out variables that do not matter; where the two ways of a node speak of
// different variables, the missing ones enter as the sum of their two weights, so that no division is
// needed and weights that sum to 0 are no special case.
func (c *CNF) weighted(ctx context.Context, d *Diagram) (*big.Rat, error) {
	first := 1 + len(d.leaf)
	words := (len(d.leaf) + 63) / 64
	if size := words * 8 * len(d.nodes); size > 2<<30 {
		return nil, fmt.Errorf("%w: weighting %d nodes over %d variables takes %d MB", ErrTooLarge, len(d.nodes), len(d.leaf), size>>20)
	}
	denominator := big.NewInt(1)
	integers := func(v int) (p, q *big.Int) {
		a, b := c.Weight(v), c.Weight(-v)
		g := new(big.Int).GCD(nil, nil, a.Denom(), b.Denom())
		l := new(big.Int).Mul(a.Denom(), new(big.Int).Quo(b.Denom(), g))
		denominator.Mul(denominator, l)
		p = new(big.Int).Mul(a.Num(), new(big.Int).Quo(l, a.Denom()))
		q = new(big.Int).Mul(b.Num(), new(big.Int).Quo(l, b.Denom()))
		return p, q
	}
	vals := make([]*big.Int, d.edges())
	scope := make([][]uint64, first+len(d.nodes))
	sums := make([]*big.Int, len(d.leaf))
	vals[0], vals[1] = big.NewInt(1), new(big.Int)
	scope[0] = make([]uint64, words)
	tested := make(map[int]bool, len(d.leaf))
	for i, v := range d.leaf {
		tested[int(v)+1] = true
		vals[2+2*i], vals[3+2*i] = integers(int(v) + 1)
		sums[i] = new(big.Int).Add(vals[2+2*i], vals[3+2*i])
		scope[1+i] = make([]uint64, words)
		scope[1+i][i>>6] = 1 << (i & 63)
	}
	last := make([]int, len(scope)) // a node's last user
	for i, nd := range d.nodes {
		last[nd.t>>1], last[nd.h>>1], last[nd.l>>1] = i, i, i
	}
	missing := func(x *big.Int, all, a, b []uint64) {
		if x.Sign() == 0 {
			return
		}
		for k := range all {
			for m := all[k] &^ (a[k] | b[k]); m != 0; m &= m - 1 {
				x.Mul(x, sums[k<<6+bits.TrailingZeros64(m)])
			}
		}
	}
	for i, nd := range d.nodes {
		if i&255 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		t, h, l := scope[nd.t>>1], scope[nd.h>>1], scope[nd.l>>1]
		all := make([]uint64, words)
		for k := range all {
			all[k] = t[k] | h[k] | l[k]
		}
		scope[first+i] = all
		for s := edge(0); s < 2; s++ {
			x := new(big.Int).Mul(vals[nd.t], vals[nd.h^s])
			missing(x, all, t, h)
			y := new(big.Int).Mul(vals[nd.t^1], vals[nd.l^s])
			missing(y, all, t, l)
			vals[2*(first+i)+int(s)] = x.Add(x, y)
		}
		for _, s := range [...]edge{nd.t >> 1, nd.h >> 1, nd.l >> 1} {
			if int(s) >= first && last[s] == i && s != d.root>>1 {
				vals[2*s], vals[2*s+1], scope[s] = nil, nil, nil
			}
		}
	}
	total := new(big.Int).Set(vals[d.root])
	full := make([]uint64, words)
	for i := range d.leaf {
		full[i>>6] |= 1 << (i & 63)
	}
	missing(total, full, scope[d.root>>1], scope[0])
	if total.Sign() != 0 {
		free := uint(0)
		for v := 1; v <= c.Vars; v++ {
			if tested[v] {
				continue
			}
			_, p := c.weights[int32(v)]
			if !p { // 1 + 1
				free++
				continue
			}
			a, b := integers(v)
			total.Mul(total, a.Add(a, b))
		}
		total.Lsh(total, free)
	}
	return new(big.Rat).SetFrac(total, denominator), nil
}
