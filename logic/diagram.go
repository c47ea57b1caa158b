package logic

import (
	"fmt"
	"slices"
	"sync"
)

// Diagram is a compiled formula. It is immutable: every method may be called from several goroutines at
// once. Methods that take weights index them by Var; only the entries of Vars are read. A slice that is
// too short makes them panic (Check tells beforehand).
type Diagram struct {
	vars  []Var // vars(F), ascending
	leaf  []Var // the variables that the diagram tests; slot 1+i is leaf[i]
	nodes []node
	root  edge
	pol   []uint8 // by leaf: polarity in the formula

	pool sync.Pool // *[]float64 of scratch values
	once sync.Once
	zero uninformed

	oneSided sync.Once
	program  program
}

// newDiagram keeps of b what top needs, in order of evaluation: by height, so that neighbours seldom wait
// for each other's values. In the order in which branching makes them most nodes would need the one before.
func newDiagram(b *builder, top edge, order []Var, vars []Var, pol map[Var]uint8) *Diagram {
	n := int(top>>1) + 1
	used := make([]bool, n)
	used[top>>1] = true
	leaves, inner := 0, 0
	for i := n - 1; i > 0; i-- {
		if !used[i] {
			continue
		}
		if i < b.leaves {
			leaves++
			continue
		}
		inner++
		nd := b.nodes[i]
		used[nd.t>>1], used[nd.h>>1], used[nd.l>>1] = true, true, true
	}
	d := &Diagram{vars: vars, leaf: make([]Var, 0, leaves), nodes: make([]node, 0, inner), pol: make([]uint8, 0, leaves)}
	height := make([]uint32, n)
	at := []uint32{0} // by height: how many nodes have it, then the next one's place
	for i := b.leaves; i < n; i++ {
		if used[i] {
			nd := &b.nodes[i]
			h := 1 + max(height[nd.t>>1], height[nd.h>>1], height[nd.l>>1])
			height[i] = h
			if int(h) == len(at) {
				at = append(at, 0)
			}
			at[h]++
		}
	}
	slot := height // a height gives way to the slot
	var next uint32 = 1
	for i := 1; i < min(n, b.leaves); i++ {
		if used[i] {
			slot[i] = next
			next++
			v := order[i-1]
			d.leaf = append(d.leaf, v)
			d.pol = append(d.pol, pol[v])
		}
	}
	for h, m := range at {
		at[h] = next
		next += m
	}
	d.nodes = d.nodes[:inner]
	for i := b.leaves; i < n; i++ {
		if !used[i] {
			continue
		}
		h := height[i]
		slot[i] = at[h]
		at[h]++
		nd := b.nodes[i]
		d.nodes[int(slot[i])-1-leaves] = node{slot[nd.t>>1]<<1 | nd.t&1, slot[nd.h>>1]<<1 | nd.h&1, slot[nd.l>>1]<<1 | nd.l&1}
	}
	d.root = slot[top>>1]<<1 | top&1
	size := d.edges()
	d.pool.New = func() any { s := make([]float64, size); return &s }
	return d
}

// edges returns the length of an array indexed by edge.
func (d *Diagram) edges() int { return 2 * (1 + len(d.leaf) + len(d.nodes)) }

// Vars returns the variables of the formula in ascending order, those that its truth does not depend on
// included. The slice is the caller's.
func (d *Diagram) Vars() []Var { return slices.Clone(d.vars) }

// Size returns the number of decision and conjunction nodes.
func (d *Diagram) Size() int { return len(d.nodes) }

// Satisfiable tells whether the formula has a satisfying interpretation.
func (d *Diagram) Satisfiable() bool { return d.root != edgeFalse }

// Valid tells whether every interpretation satisfies the formula.
func (d *Diagram) Valid() bool { return d.root == edgeTrue }

// width returns how long a slice of weights has to be.
func (d *Diagram) width() int {
	if len(d.vars) == 0 {
		return 0
	}
	return int(d.vars[len(d.vars)-1]) + 1
}

// Check reports weights that are too few, or not the two probabilities of one event.
func (d *Diagram) Check(w []Weight) error {
	if len(w) < d.width() {
		return fmt.Errorf("%d weights for a formula whose variables go up to %d", len(w), d.width()-1)
	}
	for _, v := range d.vars {
		if err := w[v].check(); err != nil {
			return fmt.Errorf("the weight of variable %d: %w", int(v), err)
		}
	}
	return nil
}

// Scratch space of diagrams up to these numbers of slots lies on the stack; clearing it costs more than
// evaluating a diagram of a few variables, hence two sizes.
const (
	tinySlots  = 10
	smallSlots = 64
)

// forward fills val, indexed by edge, with the probability of every edge, and returns the root's and its
// complement's. Both signs are summed on their own, without subtraction, so each keeps its digits.
func (d *Diagram) forward(w []Weight, val []float64) (p, q float64) {
	j := 2
	for _, v := range d.leaf {
		val[j], val[j+1] = w[v].P, w[v].Q
		j += 2
	}
	return d.sweep(val)
}

// sweep is forward over leaves that are already in val.
func (d *Diagram) sweep(val []float64) (p, q float64) {
	val = val[:d.edges()]
	val[0], val[1] = 1, 0
	j := 2 + 2*len(d.leaf)
	for i := range d.nodes {
		n := &d.nodes[i]
		t, h, l := val[n.t:][:2], val[n.h:][:2], val[n.l&^1:][:2] // t and h are regular
		s := n.l & 1
		val[j] = t[0]*h[0] + t[1]*l[s]
		val[j+1] = t[0]*h[1] + t[1]*l[s^1]
		j += 2
	}
	return val[d.root], val[d.root^1]
}

// backward fills adj, indexed by slot, with ∂root/∂slot after forward has filled val.
func (d *Diagram) backward(val, adj []float64) {
	slots := 1 + len(d.leaf) + len(d.nodes)
	adj = adj[:slots]
	clear(adj)
	if d.root&1 == 0 {
		adj[d.root>>1] = 1
	} else {
		adj[d.root>>1] = -1
	}
	for i := len(d.nodes) - 1; i >= 0; i-- {
		a := adj[1+len(d.leaf)+i]
		if a == 0 {
			continue
		}
		n := &d.nodes[i]
		adj[n.h>>1] += a * val[n.t] // h and t are regular
		x := a * val[n.t^1]
		if n.l&1 != 0 {
			x = -x
		}
		adj[n.l>>1] += x
		adj[n.t>>1] += a * difference(val, n)
	}
}

// difference returns v(h) − v(l), from the complements when these are the smaller numbers.
func difference(val []float64, n *node) float64 {
	if val[n.h]+val[n.l] > 1 {
		return val[n.l^1] - val[n.h^1]
	}
	return val[n.h] - val[n.l]
}

// both returns WMC(F) and WMC(¬F).
func (d *Diagram) both(w []Weight) (p, q float64) {
	switch n := d.edges(); {
	case n <= 2*tinySlots:
		var val [2 * tinySlots]float64
		return d.forward(w, val[:])
	case n <= 2*smallSlots:
		var val [2 * smallSlots]float64
		return d.forward(w, val[:])
	}
	s := d.pool.Get().(*[]float64)
	p, q = d.forward(w, *s)
	d.pool.Put(s)
	return p, q
}

// Gradient returns WMC and sets dst[v] = ∂WMC/∂p(v) = WMC(F|v) − WMC(F|¬v) for every variable, 0 for
// entries that are no variable of the formula; dst is as long as the largest variable demands. All
// derivatives come from one backward pass.
func (d *Diagram) Gradient(w []Weight, dst []float64) float64 {
	clear(dst)
	switch n := d.edges(); {
	case n <= 2*tinySlots:
		var val [2 * tinySlots]float64
		var adj [tinySlots]float64
		return d.gradient(w, dst, val[:], adj[:])
	case n <= 2*smallSlots:
		var val [2 * smallSlots]float64
		var adj [smallSlots]float64
		return d.gradient(w, dst, val[:], adj[:])
	}
	s, a := d.pool.Get().(*[]float64), d.pool.Get().(*[]float64)
	p := d.gradient(w, dst, *s, *a)
	d.pool.Put(s)
	d.pool.Put(a)
	return p
}

func (d *Diagram) gradient(w []Weight, dst, val, adj []float64) float64 {
	p, _ := d.forward(w, val)
	d.backward(val, adj)
	for i, v := range d.leaf {
		dst[v] = adj[1+i]
	}
	return p
}
