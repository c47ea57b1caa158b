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
// included; weights need not be normalised and may be negative. The node limit bounds the memory of both,
// and an error that says that it was reached wraps ErrTooLarge.
func (c *CNF) Count(ctx context.Context, opts ...Option) (ModelCount, error) {
	if err := c.valid(); err != nil {
		return ModelCount{}, fmt.Errorf("counting models: %w", err)
	}
	d, err := Compile(ctx, c.Formula(), opts...)
	if err != nil {
		return ModelCount{}, fmt.Errorf("counting models: %w", err)
	}
	m := ModelCount{Satisfiable: d.Satisfiable(), Models: d.Count()}
	m.Models.Lsh(m.Models, uint(c.Vars-len(d.vars)))
	value := new(big.Rat).SetInt(m.Models)
	if c.Weighted() {
		if m.Weighted, err = c.weighted(ctx, d, newCompiler(ctx, opts)); err != nil {
			return ModelCount{}, fmt.Errorf("counting models: %w", err)
		}
		value = m.Weighted
	}
	m.Log10 = log10(value)
	return m, nil
}

// valid tells what is wrong with a CNF that was not read from a file.
func (c *CNF) valid() error {
	if c.Vars < 0 || c.Vars > maxDIMACSVars {
		return fmt.Errorf("%d variables are declared, and there may be 0 to %d", c.Vars, maxDIMACSVars)
	}
	for i, clause := range c.Clauses {
		for _, l := range clause {
			if v := int64(l); v == 0 || max(v, -v) > int64(c.Vars) {
				return fmt.Errorf("clause %d has the literal %d, and there are the variables 1 to %d", i+1, l, c.Vars)
			}
		}
	}
	return nil
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
// needed and weights that sum to 0 are no special case. The value of a complement is the product of all
// these sums less the node's.
func (c *CNF) weighted(ctx context.Context, d *Diagram, limits *compiler) (*big.Rat, error) {
	first := 1 + len(d.leaf)
	words := (len(d.leaf) + 63) / 64
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
	vals := make([]*big.Int, first+len(d.nodes))
	sums := make([]*big.Int, first+len(d.nodes))  // Π of the sums of weights of a slot's variables
	scope := make([][]uint64, first+len(d.nodes)) // of nodes: their variables
	vals[0], sums[0] = big.NewInt(1), big.NewInt(1)
	tested := make(map[int]bool, len(d.leaf))
	held := 0 // bytes at a time
	bytes := func(slot edge) int { return 8*(len(scope[slot])+len(vals[slot].Bits())+len(sums[slot].Bits())) + 80 }
	hold := func(slot edge) error {
		if held += bytes(slot); held > limits.quota {
			return fmt.Errorf("%w: weighting the diagram's %d nodes over %d variables takes more than the %d MB that the limit of %d nodes allows; raise the limit",
				ErrTooLarge, len(d.nodes), len(d.leaf), limits.quota/1e6, limits.limit)
		}
		return nil
	}
	for i, v := range d.leaf {
		tested[int(v)+1] = true
		p, q := integers(int(v) + 1)
		vals[1+i], sums[1+i] = p, new(big.Int).Add(p, q)
		if err := hold(edge(1 + i)); err != nil {
			return nil, err
		}
	}
	value := func(e edge) *big.Int {
		if e&1 == 0 {
			return vals[e>>1]
		}
		return new(big.Int).Sub(sums[e>>1], vals[e>>1])
	}
	last := make([]int, len(scope)) // a node's last user
	for i, nd := range d.nodes {
		last[nd.t>>1], last[nd.h>>1], last[nd.l>>1] = i, i, i
	}
	var alone [3][]uint64 // the variables of a leaf, of three at a time
	for i := range alone {
		alone[i] = make([]uint64, words)
	}
	set := func(i int, slot edge) []uint64 {
		if int(slot) >= first {
			return scope[slot]
		}
		clear(alone[i])
		if slot > 0 {
			alone[i][(slot-1)>>6] = 1 << ((slot - 1) & 63)
		}
		return alone[i]
	}
	multiply := func(x *big.Int, word int, m uint64) {
		for ; m != 0; m &= m - 1 {
			x.Mul(x, sums[1+word<<6+bits.TrailingZeros64(m)])
		}
	}
	var free [][]uint64 // sets that are used no more
	for i, nd := range d.nodes {
		if i&63 == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		var all []uint64
		if n := len(free); n > 0 {
			all, free = free[n-1], free[:n-1]
		} else {
			all = make([]uint64, words)
		}
		t, h, l := nd.t>>1, nd.h>>1, nd.l>>1
		inT, inH, inL := set(0, t), set(1, h), set(2, l)
		high, low := value(nd.h), value(nd.l)
		high, low = new(big.Int).Mul(value(nd.t), high), new(big.Int).Mul(value(nd.t^1), low)
		sum := new(big.Int).Mul(sums[t], sums[h])
		switch {
		case l == 0:
			low.Mul(low, sums[h])
		case h == 0:
			high.Mul(high, sums[l])
			sum.Mul(sum, sums[l])
		}
		for k := range all {
			a, x, y := inT[k], inH[k], inL[k]
			all[k] = a | x | y
			if h == 0 || l == 0 {
				continue
			}
			if m := y &^ (a | x); m != 0 {
				multiply(high, k, m)
				multiply(sum, k, m)
			}
			multiply(low, k, x&^(a|y))
		}
		self := edge(first + i)
		scope[self], sums[self], vals[self] = all, sum, high.Add(high, low)
		if err := hold(self); err != nil {
			return nil, err
		}
		for _, s := range [...]edge{t, h, l} {
			if int(s) >= first && last[s] == i && s != d.root>>1 && scope[s] != nil {
				held -= bytes(s)
				free = append(free, scope[s])
				vals[s], sums[s], scope[s] = nil, nil, nil
			}
		}
	}
	total := new(big.Int).Set(value(d.root))
	for k, m := range set(0, d.root>>1) {
		multiply(total, k, ^m&ones(min(len(d.leaf)-k<<6, 64)))
	}
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
