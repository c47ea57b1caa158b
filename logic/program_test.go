package logic

import (
	"testing"

	"pgregory.net/rapid"
)

// The count of one sign is that of both signs, digit for digit, of formulas of any kind and of diagrams
// whose values lie on the stack and in the pool; enumeration is what both are held against elsewhere.
func TestOneSignIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		d := compile(t, genAny(t, n))
		w := genWeights(t, n)
		p, _ := d.both(w)
		for range 2 {
			if got := d.WMC(w); got != p {
				t.Fatalf("%v of one sign, %v of both", got, p)
			}
		}
	})
	for _, f := range families() {
		d := compile(t, f.f)
		w := benchWeights(1000)
		p, _ := d.both(w)
		if got := d.WMC(w); got != p {
			t.Errorf("%s: %v of one sign, %v of both", f.name, got, p)
		}
		if len(d.program.ops) > 2*len(d.nodes) || d.program.size > d.edges() {
			t.Errorf("%s: %d operations for %d nodes", f.name, len(d.program.ops), len(d.nodes))
		}
	}
}

// Nodes come after what they are made of, and those of one height together.
func TestNodesByHeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := compile(t, genAny(t, rapid.IntRange(1, 10).Draw(t, "n")))
		height := make([]int, 1+len(d.leaf)+len(d.nodes))
		last := 0
		for i, nd := range d.nodes {
			h := 0
			for _, e := range []edge{nd.t, nd.h, nd.l} {
				if int(e>>1) >= 1+len(d.leaf)+i {
					t.Fatalf("node %d needs slot %d", i, e>>1)
				}
				h = max(h, 1+height[e>>1])
			}
			if h < last {
				t.Fatalf("node %d has height %d and stands behind one of %d", i, h, last)
			}
			height[1+len(d.leaf)+i], last = h, h
		}
	})
}
