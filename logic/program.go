package logic

// program is a diagram's evaluation for the root's own probability, without its complement's. Of most
// nodes only one of the two signs is then asked for (of both where the node is another's test, or in a
// parity), so it is about half of what forward does; the sums are the same, digit for digit.
type program struct {
	ops  []op
	size int // of the array of values: ⊤, ⊥, both signs of each leaf, and one for each operation
	root uint32
}

// op computes val[t]·val[h] + val[u]·val[l], where u is the complement of t; of a conjunction of parts u
// and l are ⊥, so that the complement of t need not be known for its sake.
type op struct{ t, h, u, l uint32 }

// newProgram lists the signs of nodes that the root needs, in the diagram's order.
func (d *Diagram) newProgram() program {
	first := 2 * (1 + len(d.leaf))
	place := make([]uint32, d.edges()) // by edge; above first 1 stands for one that is needed
	for e := range first {
		place[e] = uint32(e)
	}
	if int(d.root) >= first {
		place[d.root] = 1
	}
	count := 0
	for i := len(d.nodes) - 1; i >= 0; i-- {
		e := first + 2*i
		nd := &d.nodes[i]
		need := func(e edge) {
			if int(e) >= first {
				place[e] = 1
			}
		}
		for s := range edge(2) {
			if place[e+int(s)] == 0 {
				continue
			}
			count++
			if nd.h^s != edgeFalse {
				need(nd.t)
				need(nd.h ^ s)
			}
			if nd.l^s != edgeFalse {
				need(nd.t ^ 1)
				need(nd.l ^ s)
			}
		}
	}
	p := program{ops: make([]op, 0, count), size: first + count}
	for i := range d.nodes {
		nd := &d.nodes[i]
		for s := range edge(2) {
			e := first + 2*i + int(s)
			if place[e] == 0 {
				continue
			}
			o := op{edgeFalse, edgeFalse, edgeFalse, edgeFalse}
			if nd.h^s != edgeFalse {
				o.t, o.h = place[nd.t], place[nd.h^s]
			}
			if nd.l^s != edgeFalse {
				o.u, o.l = place[nd.t^1], place[nd.l^s]
			}
			place[e] = uint32(first + len(p.ops))
			p.ops = append(p.ops, o)
		}
	}
	p.root = place[d.root]
	return p
}

// run computes the root's probability in val, which is as long as size says.
func (p *program) run(leaf []Var, w []Weight, val []float64) float64 {
	val[0], val[1] = 1, 0
	first := 2 + 2*len(leaf)
	for i, v := range leaf {
		x := &w[v]
		val[2+2*i], val[3+2*i] = x.P, x.Q
	}
	out := val[first:]
	out = out[:len(p.ops)]
	for i := range out {
		o := &p.ops[i]
		out[i] = val[o.t]*val[o.h] + val[o.u]*val[o.l]
	}
	return val[p.root]
}

// Values of programs up to these sizes lie on the stack; clearing it costs more than evaluating a diagram
// of a few variables, hence two sizes.
const (
	tinyProgram  = 32
	smallProgram = 128
)

// WMC returns the weighted model count of Eq. 1, the probability that the formula holds. It does not
// allocate for diagrams of up to some tens of nodes, nor in the long run for larger ones; the first call
// prepares the others.
func (d *Diagram) WMC(w []Weight) float64 {
	d.oneSided.Do(func() { d.program = d.newProgram() })
	p := &d.program
	switch {
	case p.size <= tinyProgram:
		var val [tinyProgram]float64
		return p.run(d.leaf, w, val[:])
	case p.size <= smallProgram:
		var val [smallProgram]float64
		return p.run(d.leaf, w, val[:])
	}
	s := d.pool.Get().(*[]float64) // at least as long, since forward has both signs of all
	x := p.run(d.leaf, w, *s)
	d.pool.Put(s)
	return x
}
