package logic

import (
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
)

// Interpretation gives each variable's truth value, indexed by Var; entries that are no variable of the
// formula are false.
type Interpretation []bool

// Models yields every satisfying interpretation with its probability S(I; θ) (Figure 2, C and D), in
// the order of a truth table: variables ascending, true before false, the last varying fastest.
// Interpretations of probability 0 are among them. Each step costs time linear in the diagram and the
// number of variables; the interpretations are the caller's.
func (d *Diagram) Models(w []Weight) iter.Seq2[Interpretation, float64] {
	return func(yield func(Interpretation, float64) bool) {
		if !d.Satisfiable() {
			return
		}
		n := len(d.vars)
		c := newConditions(d)
		m := make(Interpretation, d.width())
		p := make([]float64, n+1) // probability of the first i choices
		p[0] = 1
		tried := make([]uint8, n+1) // choices tried at depth i: none, true, both
		for i := 0; i >= 0; {
			if i == n {
				if !yield(slices.Clone(m), p[n]) {
					return
				}
				i--
				continue
			}
			v := d.vars[i]
			if tried[i] == 2 {
				tried[i] = 0
				m[v] = false
				c.forget(v)
				i--
				continue
			}
			value := tried[i] == 0
			tried[i]++
			if !c.assume(v, value) {
				continue
			}
			m[v] = value
			if value {
				p[i+1] = p[i] * w[v].P
			} else {
				p[i+1] = p[i] * w[v].Q
			}
			i++
		}
	}
}

// conditions decides satisfiability under assumptions by one pass over the diagram.
type conditions struct {
	d        *Diagram
	possible []bool // by edge
	leaf     map[Var]int
}

func newConditions(d *Diagram) *conditions {
	c := &conditions{d, make([]bool, d.edges()), make(map[Var]int, len(d.leaf))}
	c.possible[edgeTrue] = true
	for i, v := range d.leaf {
		c.leaf[v] = i
		c.possible[2+2*i], c.possible[3+2*i] = true, true
	}
	return c
}

func (c *conditions) forget(v Var) {
	if i, ok := c.leaf[v]; ok {
		c.possible[2+2*i], c.possible[3+2*i] = true, true
	}
}

// assume sets v and tells whether the formula can still hold; v stays set.
func (c *conditions) assume(v Var, value bool) bool {
	i, ok := c.leaf[v]
	if !ok {
		return c.d.Satisfiable()
	}
	c.possible[2+2*i], c.possible[3+2*i] = value, !value
	return c.satisfiable()
}

func (c *conditions) satisfiable() bool {
	can := c.possible
	j := 2 + 2*len(c.d.leaf)
	for i := range c.d.nodes {
		n := &c.d.nodes[i]
		t, u := can[n.t], can[n.t^1]
		can[j] = t && can[n.h] || u && can[n.l]
		can[j+1] = t && can[n.h^1] || u && can[n.l^1]
		j += 2
	}
	return can[c.d.root]
}

// Model is a satisfying interpretation and the natural logarithm of its probability S(I; θ).
type Model struct {
	Interpretation Interpretation
	LogProb        float64
}

// MPE returns the most probable satisfying interpretation; false if there is none. Variables on which the
// formula does not depend take their likelier value.
func (d *Diagram) MPE(w []Weight) (Model, bool) {
	ms, err := d.TopModels(context.Background(), w, 1)
	if len(ms) == 0 || err != nil {
		return Model{}, false
	}
	return ms[0], true
}

// TopModels returns the k most probable satisfying interpretations, most probable first, fewer when there
// are fewer. It visits no others: the cost is one pass over the diagram and then about k times its depth.
//
// They are ranked by the product of w's P for what is true and Q for what is false. The two of a variable
// need not sum to 1: with P from the upper and Q from the lower end of an interval, the ranking is by the
// interpretations' greatest possible probabilities, and so are the LogProb.
//
// The error is ctx's, soon after ctx ends.
func (d *Diagram) TopModels(ctx context.Context, w []Weight, k int) ([]Model, error) {
	if k <= 0 || !d.Satisfiable() {
		return nil, nil
	}
	b := newBest(ctx, d, w)
	// A derivation decides some variables; the others are free. Derivations come best first, each with
	// its free variables at their likelier values; flips of these are merged in as they become due.
	var q completions
	next := 0
	pull := func() {
		if dv, ok := b.get(d.root, next); ok {
			next++
			m := make(Interpretation, d.width())
			fixed := make([]bool, d.width())
			b.assign(d.root, next-1, m, fixed)
			c := &completion{score: dv.score, base: m}
			for _, v := range d.vars {
				if !fixed[v] {
					m[v] = w[v].P >= w[v].Q
					c.free = append(c.free, flip{v, logOr(w[v].better()) - logOr(min(w[v].P, w[v].Q))})
				}
			}
			slices.SortStableFunc(c.free, func(a, b flip) int {
				switch {
				case a.cost < b.cost:
					return -1
				case a.cost > b.cost:
					return 1
				}
				return 0
			})
			heap.Push(&q, c)
		}
	}
	pull()
	var out []Model
	for len(out) < k && q.Len() > 0 {
		// Each takes time linear in the variables, so ctx is asked each time.
		if b.err == nil {
			b.err = ctx.Err()
		}
		if b.err != nil {
			break
		}
		c := heap.Pop(&q).(*completion)
		m := slices.Clone(c.base)
		for _, i := range c.flips {
			m[c.free[i].v] = !m[c.free[i].v]
		}
		out = append(out, Model{m, d.logProb(w, m)})
		if len(c.flips) == 0 {
			pull()
		}
		// The next subsets of flips: one more, or the last exchanged for its successor.
		last := -1
		if len(c.flips) > 0 {
			last = c.flips[len(c.flips)-1]
		}
		if last+1 < len(c.free) {
			more := &completion{c.score - c.free[last+1].cost, c.base, c.free, append(slices.Clone(c.flips), last+1)}
			heap.Push(&q, more)
			if last >= 0 {
				other := slices.Clone(c.flips)
				other[len(other)-1] = last + 1
				heap.Push(&q, &completion{c.score + c.free[last].cost - c.free[last+1].cost, c.base, c.free, other})
			}
		}
	}
	if b.err != nil {
		return nil, fmt.Errorf("listing the %d most probable interpretations of %d variables: %w", k, len(d.vars), b.err)
	}
	return out, nil
}

func (d *Diagram) logProb(w []Weight, m Interpretation) float64 {
	sum := 0.0
	for _, v := range d.vars {
		p, q := w[v].P, w[v].Q
		if !m[v] {
			p, q = q, p
		}
		if q < 0.5 && math.Abs(p+q-1) < 0x1p-51 {
			sum += math.Log1p(-q)
		} else {
			sum += math.Log(p)
		}
	}
	return sum
}

// logOr is the logarithm with a finite stand-in for 0, so that interpretations of probability 0 can be
// told apart and come last.
func logOr(p float64) float64 {
	if p == 0 {
		return -1e100
	}
	return math.Log(p)
}

type flip struct {
	v    Var
	cost float64
}

type completion struct {
	score float64
	base  Interpretation
	free  []flip
	flips []int
}

type completions []*completion

func (q completions) Len() int           { return len(q) }
func (q completions) Less(i, j int) bool { return q[i].score > q[j].score }
func (q completions) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *completions) Push(x any)        { *q = append(*q, x.(*completion)) }
func (q *completions) Pop() any {
	old := *q
	c := old[len(old)-1]
	*q = old[:len(old)-1]
	return c
}

// best enumerates the derivations of each edge, best first and only as far as asked for. An edge holds in
// two ways: its test with its then-edge, or the test's complement with its else-edge; the ways exclude
// each other, so every derivation stands for other interpretations. Scores are logarithms relative to
// each variable's likelier value.
type best struct {
	ctx   context.Context
	err   error // ctx's, once it was met; what is found then is incomplete
	steps int
	d     *Diagram
	top   []float64 // by edge: the best score, -Inf if impossible
	found map[edge]*derivations
}

type derivation struct {
	score      float64
	way        edge // 0 or 1
	rank, rest int  // ranks of the parts' derivations
}

type derivations struct {
	list []derivation
	next derivationHeap
}

type derivationHeap []derivation

func (q derivationHeap) Len() int           { return len(q) }
func (q derivationHeap) Less(i, j int) bool { return q[i].score > q[j].score }
func (q derivationHeap) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *derivationHeap) Push(x any)        { *q = append(*q, x.(derivation)) }
func (q *derivationHeap) Pop() any {
	old := *q
	d := old[len(old)-1]
	*q = old[:len(old)-1]
	return d
}

// stop tells whether to give up.
func (b *best) stop() bool {
	if b.steps++; b.err == nil && b.steps&255 == 0 {
		b.err = b.ctx.Err()
	}
	return b.err != nil
}

func newBest(ctx context.Context, d *Diagram, w []Weight) *best {
	b := &best{ctx: ctx, err: ctx.Err(), d: d, top: make([]float64, d.edges()), found: make(map[edge]*derivations)}
	b.top[edgeFalse] = math.Inf(-1)
	for i, v := range d.leaf {
		m := logOr(w[v].better())
		b.top[2+2*i] = logOr(w[v].P) - m
		b.top[3+2*i] = logOr(w[v].Q) - m
	}
	j := edge(2 + 2*len(d.leaf))
	for range d.nodes {
		for s := edge(0); s < 2; s++ {
			t, h := b.parts(j+s, 0)
			u, l := b.parts(j+s, 1)
			b.top[j+s] = max(b.top[t]+b.top[h], b.top[u]+b.top[l])
		}
		j += 2
	}
	return b
}

// parts returns the two edges that way of e conjoins.
func (b *best) parts(e, way edge) (edge, edge) {
	n := &b.d.nodes[int(e>>1)-1-len(b.d.leaf)]
	if way == 0 {
		return n.t, n.h ^ e&1
	}
	return n.t ^ 1, n.l ^ e&1
}

func (b *best) inner(e edge) bool { return int(e>>1) > len(b.d.leaf) }

// get returns the k-th best derivation of e, from 0.
func (b *best) get(e edge, k int) (derivation, bool) {
	if !b.inner(e) {
		return derivation{score: b.top[e]}, k == 0 && !math.IsInf(b.top[e], -1)
	}
	ds := b.found[e]
	if ds == nil {
		ds = &derivations{}
		b.found[e] = ds
		for way := edge(0); way < 2; way++ {
			t, x := b.parts(e, way)
			if s := b.top[t] + b.top[x]; !math.IsInf(s, -1) {
				heap.Push(&ds.next, derivation{score: s, way: way})
			}
		}
	}
	for len(ds.list) <= k {
		if ds.next.Len() == 0 || b.stop() {
			return derivation{}, false
		}
		dv := heap.Pop(&ds.next).(derivation)
		ds.list = append(ds.list, dv)
		t, x := b.parts(e, dv.way)
		offer := func(rank, rest int) {
			if p, ok := b.get(t, rank); ok {
				if q, ok := b.get(x, rest); ok {
					heap.Push(&ds.next, derivation{p.score + q.score, dv.way, rank, rest})
				}
			}
		}
		offer(dv.rank, dv.rest+1)
		if dv.rest == 0 { // so that each pair of ranks is offered once
			offer(dv.rank+1, 0)
		}
	}
	return ds.list[k], true
}

// assign writes the k-th best derivation of e into m.
func (b *best) assign(e edge, k int, m Interpretation, fixed []bool) {
	type todo struct {
		e edge
		k int
	}
	stack := []todo{{e, k}}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !b.inner(x.e) {
			if x.e > edgeFalse {
				v := b.d.leaf[x.e>>1-1]
				m[v], fixed[v] = x.e&1 == 0, true
			}
			continue
		}
		dv, _ := b.get(x.e, x.k)
		t, y := b.parts(x.e, dv.way)
		stack = append(stack, todo{t, dv.rank}, todo{y, dv.rest})
	}
}
