package calibrate

import (
	"math"
	"sort"
)

// naive summarises a distribution as the definitions are written: all tokens are
// sorted by probability and then by id, and summed one by one.
func naive(logits []float32, ps []float64) (logZ, entropy float64, nuclei []Nucleus) {
	max := math.Inf(-1)
	for _, v := range logits {
		max = math.Max(max, float64(v))
	}
	type token struct {
		id int
		x  float64
	}
	var tokens []token
	for id, v := range logits {
		if x := float64(v) - max; x > minLogP {
			tokens = append(tokens, token{id, x})
		}
	}
	sort.Slice(tokens, func(i, j int) bool {
		if tokens[i].x != tokens[j].x {
			return tokens[i].x > tokens[j].x
		}
		return tokens[i].id < tokens[j].id
	})
	var zs, es compensated
	for _, t := range tokens {
		zs.add(math.Exp(t.x))
	}
	z := zs.sum()
	logZ = max + math.Log(z)
	for _, t := range tokens {
		es.add(h(math.Exp(t.x) / z))
	}
	entropy = es.sum()
	for _, p := range ps {
		n := 0
		var mass, e compensated
		for n < len(tokens) && (n == 0 || p == 1 || mass.sum() < p*(1-reached)) {
			mass.add(math.Exp(tokens[n].x) / z)
			n++
		}
		for _, t := range tokens[:n] {
			e.add(h(math.Exp(t.x) / z / mass.sum()))
		}
		nuclei = append(nuclei, Nucleus{P: p, Size: Exact(float64(n)), Entropy: Exact(e.sum()), Mass: Exact(mass.sum())})
	}
	return logZ, entropy, nuclei
}

// compensated is Neumaier's sum.
type compensated struct{ s, lost float64 }

func (c *compensated) add(x float64) {
	t := c.s + x
	if math.Abs(c.s) >= math.Abs(x) {
		c.lost += (c.s - t) + x
	} else {
		c.lost += (x - t) + c.s
	}
	c.s = t
}

func (c *compensated) sum() float64 { return c.s + c.lost }
