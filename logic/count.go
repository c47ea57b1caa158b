package logic

import (
	"math"
	"math/big"
)

// uninformed holds what Eq. 3 says about a formula, computed once.
type uninformed struct {
	count *big.Int
	wmc0  float64 // nearest to the exact ratio
	p, q  scaled  // WMC₀ and 1 − WMC₀, nearest to the exact ratios; they do not underflow
	log   float64 // natural logarithm of the exact ratio
	info  float64 // bits
}

// Count returns |I(F)|, the number of satisfying interpretations of Vars. The number is the caller's.
func (d *Diagram) Count() *big.Int { return new(big.Int).Set(d.uninformed().count) }

// WMC0 returns Eq. 3, |I(F)| / 2^|vars(F)|: the float64 nearest to the exact ratio (0 below about 2⁻¹⁰⁷⁵).
func (d *Diagram) WMC0() float64 { return d.uninformed().wmc0 }

// LogWMC0 returns the natural logarithm of Eq. 3; it neither underflows nor loses digits next to 0.
func (d *Diagram) LogWMC0() float64 { return d.uninformed().log }

// Informativeness returns I(F) = −log₂ WMC₀(F) in bits: 0 for a tautology, |vars(F)| for a minterm
// (Proposition 2), +Inf for an unsatisfiable formula. It is computed from the exact count, so it is right
// for any number of variables.
func (d *Diagram) Informativeness() float64 { return d.uninformed().info }

func (d *Diagram) uninformed() *uninformed {
	d.once.Do(func() {
		n := len(d.vars)
		u := &d.zero
		u.count = d.count()
		total := new(big.Int).Lsh(big.NewInt(1), uint(n))
		others := new(big.Int).Sub(total, u.count)
		u.p, u.q = ratio(u.count, n), ratio(others, n)
		u.wmc0 = u.p.float()
		switch {
		case u.count.Sign() == 0:
			u.log, u.info = math.Inf(-1), math.Inf(1)
		case others.Sign() == 0:
		case others.Cmp(u.count) < 0: // next to a tautology
			u.log = math.Log1p(-u.q.float())
			u.info = -u.log / math.Ln2
		default:
			u.info = float64(n) - log2(u.count)
			u.log = -u.info * math.Ln2
		}
	})
	return &d.zero
}

// ratio returns x/2ⁿ, correctly rounded.
func ratio(x *big.Int, n int) scaled {
	if x.Sign() == 0 {
		return scaled{}
	}
	f := new(big.Float).SetInt(x) // as precise as x is long
	m := new(big.Float)
	e := f.MantExp(m) - n
	r, _ := m.Float64()
	return scale(math.Ldexp(r, e%256), int32(e/256))
}

// log2 returns the binary logarithm of x > 0, exact for powers of two.
func log2(x *big.Int) float64 {
	f := new(big.Float).SetInt(x)
	m := new(big.Float)
	e := f.MantExp(m)
	r, _ := m.Float64()
	return float64(e) + math.Log2(r)
}

// count counts interpretations of d.vars. Every node has an exact dyadic probability under weights ½.
func (d *Diagram) count() *big.Int {
	n := len(d.vars)
	if n <= 52 {
		// All sums are of multiples of 2⁻⁵² up to 1: float64 is exact.
		val := make([]float64, d.edges())
		for j := 2; j < 2+2*len(d.leaf); j++ {
			val[j] = 0.5
		}
		p, _ := d.sweep(val)
		return big.NewInt(int64(math.Ldexp(p, n)))
	}
	type dyadic struct {
		m *big.Int // over 2^k
		k uint
	}
	first := 1 + len(d.leaf)
	vals := make([]dyadic, first+len(d.nodes))
	one := big.NewInt(1)
	vals[0] = dyadic{one, 0}
	for i := 1; i < first; i++ {
		vals[i] = dyadic{one, 1}
	}
	last := make([]int, len(vals)) // a node's last user; after that its number is let go
	for i, nd := range d.nodes {
		last[nd.t>>1], last[nd.h>>1], last[nd.l>>1] = i, i, i
	}
	last[d.root>>1] = len(d.nodes)
	at := func(e edge) *big.Int {
		v := vals[e>>1]
		if e&1 == 0 {
			return v.m
		}
		c := new(big.Int).Lsh(one, v.k)
		return c.Sub(c, v.m)
	}
	for i, nd := range d.nodes {
		t, h, l := vals[nd.t>>1], vals[nd.h>>1], vals[nd.l>>1]
		k := max(h.k, l.k)
		a, b := at(nd.h), at(nd.l)
		x, y := new(big.Int), new(big.Int)
		if int(nd.t>>1) < first {
			x.Lsh(a, k-h.k)
			y.Lsh(b, k-l.k)
		} else {
			if a.Sign() != 0 {
				x.Mul(t.m, a)
				x.Lsh(x, k-h.k)
			}
			if b.Sign() != 0 {
				y.Mul(at(nd.t^1), b)
				y.Lsh(y, k-l.k)
			}
		}
		vals[first+i] = dyadic{x.Add(x, y), k + t.k}
		for _, s := range [...]edge{nd.t >> 1, nd.h >> 1, nd.l >> 1} {
			if int(s) >= first && last[s] == i {
				vals[s].m = nil
			}
		}
	}
	r := at(d.root)
	return new(big.Int).Lsh(r, uint(n)-vals[d.root>>1].k)
}
