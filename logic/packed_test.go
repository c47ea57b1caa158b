package logic

import (
	"context"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// genLiteralFactors draws clauses, thresholds and parities over literals, of any polarity, with repeated
// arguments, of few variables and of all of them: what a state keeps as numbers.
func genLiteralFactors(t *rapid.T) (*Formula, int) {
	n := rapid.IntRange(3, 12).Draw(t, "n")
	literal := func(v int) *Formula {
		if rapid.Bool().Draw(t, "negated") {
			return Not(Literal(Var(v)))
		}
		return Literal(Var(v))
	}
	var fs []*Formula
	for range rapid.IntRange(1, 10).Draw(t, "factors") {
		var args []*Formula
		if rapid.Bool().Draw(t, "all") {
			for v := range n {
				args = append(args, literal(v))
			}
		} else {
			for range rapid.IntRange(2, 5).Draw(t, "arity") {
				args = append(args, literal(rapid.IntRange(0, n-1).Draw(t, "v")))
			}
		}
		k := rapid.IntRange(0, len(args)).Draw(t, "k")
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0, 1:
			fs = append(fs, Or(args...))
		case 2:
			fs = append(fs, Xor(args...))
		case 3:
			fs = append(fs, AtMost(k, args...))
		case 4:
			fs = append(fs, AtLeast(k, args...))
		case 5:
			fs = append(fs, Exactly(k, args...))
		case 6:
			fs = append(fs, Not(Exactly(k, args...)))
		case 7: // the same events, some of them twice
			fs = append(fs, AtMost(k, append(args, args[:1+len(args)/2]...)...))
		}
	}
	return And(fs...), n
}

// Along the tree, by packed states and by residuals, every interpretation is judged as it is by definition.
func TestPackedAgainstEnumeration(t *testing.T) {
	packedOnes := 0
	rapid.Check(t, func(t *rapid.T) {
		f, n := genLiteralFactors(t)
		w := genWeights(t, n)
		want, models := 0.0, int64(0)
		vars := mask(f.Vars())
		for bits := range uint(1) << n {
			if !holds(f, bits) {
				continue
			}
			want += interpretationWeight(w, n, bits)
			if bits&^vars == 0 {
				models++
			}
		}
		for _, way := range []way{alongTree, byResiduals} {
			var along *compiler
			d, err := Compile(context.Background(), f, func(c *compiler) { c.way, along = way, c })
			if err != nil {
				t.Fatal(err)
			}
			if along.packed > 0 {
				packedOnes++
			}
			if got := d.WMC(w); !near(got, want, 1e-12) && got != want {
				t.Fatalf("way %d: %v, want %v: %s", way, got, want, f.Format(nil, ASCII))
			}
			if got := d.Count(); got.Cmp(big.NewInt(models)) != 0 {
				t.Fatalf("way %d: %v models, want %d: %s", way, got, models, f.Format(nil, ASCII))
			}
		}
	})
	if packedOnes == 0 {
		t.Error("no formula was compiled by packed states")
	}
}

// Of several branches of the tree each takes its part of the state.
func TestPackedBranches(t *testing.T) {
	var fs []*Formula
	const n, arms = 90, 3
	for a := range arms {
		for i := range n { // between the first and the i-th variable lies one of the arm
			v := lit(n + n*a + i)
			fs = append(fs, Implies(lit(0), v), Implies(v, lit(i)))
		}
	}
	d := compile(t, And(fs...), func(c *compiler) { c.way = alongTree })
	// With the first true all are; with it false its arms are, and each other one allows all of its arms or none.
	want := new(big.Int).Exp(big.NewInt(1+1<<arms), big.NewInt(n-1), nil)
	if got := d.Count(); got.Cmp(want.Add(want, big.NewInt(1))) != 0 {
		t.Errorf("%v models, want %v", got, want)
	}
}

// alongOrder is a formula's packed compilation along a tree, that of the variables' own order or the one
// chosen, and what makes a diagram of its result.
func alongOrder(t *testing.T, f *Formula, natural bool) (*packed, func(edge) *Diagram) {
	t.Helper()
	c := &compiler{ctx: context.Background(), limit: DefaultNodeLimit, b: newBuilder(len(f.Vars()))}
	conv := &converter{s: newStore(1<<28, c.asked), atom: make(map[Var]int)}
	root := conv.convert(f)
	rank := make([]int, len(conv.vars))
	for i, v := range conv.vars {
		rank[i] = int(v)
	}
	c.mod = splitModules(conv.s, root, c.b, rank, c.asked)
	s := c.mod.s
	c.local, c.value = make([]int32, len(s.atoms)), make([]int8, len(s.atoms))
	atoms := make([]int32, len(s.atoms))
	for i := range atoms {
		atoms[i] = int32(i)
	}
	slices.SortFunc(atoms, func(a, b int32) int { return c.mod.rank[a] - c.mod.rank[b] })
	order := make([]int32, len(atoms))
	for i, a := range atoms {
		c.local[a], order[i] = int32(i), int32(i)
	}
	factors := s.kids(s.nodes[c.mod.root>>1].list)
	o := newOrderProblem(s, factors, len(atoms), c.local)
	tree := o.tree(order)
	if !natural {
		tree = o.plan(c.asked)
	}
	p := newPacked(c, s, factors, atoms, tree)
	if p == nil {
		t.Fatal("not packed")
	}
	return p, func(e edge) *Diagram { return newDiagram(c.b, e, conv.vars, f.Vars(), nil) }
}

// States of several words: all of the first variables are equal, and each or its partner is true, the
// partners coming last. A threshold over all lies across a word's border.
func TestPackedWideStates(t *testing.T) {
	for _, n := range []int{30, 31, 32, 33, 80, 200} {
		var fs, all []*Formula
		for i := range n {
			if i > 0 {
				fs = append(fs, Implies(lit(i-1), lit(i)), Implies(lit(i), lit(i-1)))
			}
			fs = append(fs, Or(lit(i), lit(n+i)))
			all = append(all, lit(i), lit(n+i))
		}
		fs = append(fs, AtMost(n+2, all...))
		p, diagram := alongOrder(t, And(fs...), true)
		wide := 0
		for i := range p.steps {
			wide = max(wide, p.steps[i].wide)
		}
		if wide < 1+2*n/64 {
			t.Errorf("%d pairs in %d words", n, wide)
		}
		// All false: the partners are true. All true: of the partners at most two are.
		want := big.NewInt(int64(1 + 1 + n + n*(n-1)/2))
		if got := diagram(p.run(1 << 20)).Count(); got.Cmp(want) != 0 {
			t.Errorf("%d pairs: %v models, want %v", n, got, want)
		}
	}
}

// Stopped by its budget and gone on with, the result is the same.
func TestPackedInTurns(t *testing.T) {
	f, want := chooseChain(120, 30)
	g, more := grid(9, 9)
	for _, x := range []struct {
		f    *Formula
		want *big.Int
	}{{f, want}, {g, more}} {
		p, diagram := alongOrder(t, x.f, false)
		stops := 0
		d := p.run(64)
		for ; d == edgeStop; d = p.run(64) {
			stops++
		}
		if stops < 10 || p.c.err != nil || p.s.over {
			t.Fatalf("stopped %d times, %v", stops, p.c.err)
		}
		if got := diagram(d).Count(); got.Cmp(x.want) != 0 {
			t.Errorf("%v models, want %v", got, x.want)
		}
	}
}
