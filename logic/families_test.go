package logic

import "math/big"

// Families of formulas whose counts are known in closed form or by a recurrence of their own.

func lit(i int) *Formula { return Literal(Var(i)) }

// chain is x0 → x1 → … → x(n-1): n+1 models.
func chain(n int) (*Formula, *big.Int) {
	var fs []*Formula
	for i := 1; i < n; i++ {
		fs = append(fs, Implies(lit(i-1), lit(i)))
	}
	return And(fs...), big.NewInt(int64(n) + 1)
}

// tree is a complete binary tree in which a child entails its parent: T(leaf) = 2, T = T(left)·T(right) + 1.
func tree(n int) (*Formula, *big.Int) {
	var fs []*Formula
	for i := 1; i < n; i++ {
		fs = append(fs, Implies(lit(i), lit((i-1)/2)))
	}
	var count func(i int) *big.Int
	count = func(i int) *big.Int {
		if i >= n {
			return big.NewInt(1)
		}
		c := new(big.Int).Mul(count(2*i+1), count(2*i+2))
		return c.Add(c, big.NewInt(1))
	}
	return And(fs...), count(0)
}

// treeOr has a clause on each edge of a complete binary tree.
func treeOr(n int) (*Formula, *big.Int) {
	var fs []*Formula
	for i := 1; i < n; i++ {
		fs = append(fs, Or(lit(i), lit((i-1)/2)))
	}
	var count func(i int) (t, f *big.Int)
	count = func(i int) (*big.Int, *big.Int) {
		if i >= n {
			return big.NewInt(1), big.NewInt(0)
		}
		lt, lf := count(2*i + 1)
		rt, rf := count(2*i + 2)
		a, b := new(big.Int).Add(lt, lf), new(big.Int).Add(rt, rf)
		return a.Mul(a, b), new(big.Int).Mul(lt, rt)
	}
	t, f := count(0)
	return And(fs...), t.Add(t, f)
}

// grid forbids two true neighbours in a rows × columns grid; the count comes from the transfer matrix.
func grid(rows, columns int) (*Formula, *big.Int) {
	var fs []*Formula
	at := func(r, c int) *Formula { return lit(c*rows + r) }
	for c := range columns {
		for r := range rows {
			if r+1 < rows {
				fs = append(fs, Not(And(at(r, c), at(r+1, c))))
			}
			if c+1 < columns {
				fs = append(fs, Not(And(at(r, c), at(r, c+1))))
			}
		}
	}
	if rows > 20 {
		return And(fs...), nil
	}
	// Broken profile: one cell at a time, states are the last rows' cells.
	states := map[uint32]*big.Int{0: big.NewInt(1)}
	for cell := range rows * columns {
		next := map[uint32]*big.Int{}
		add := func(s uint32, n *big.Int) {
			if o, ok := next[s]; ok {
				o.Add(o, n)
			} else {
				next[s] = new(big.Int).Set(n)
			}
		}
		r := cell % rows
		for s, n := range states {
			up := r > 0 && s>>(r-1)&1 == 1
			left := s>>r&1 == 1
			add(s&^(1<<r), n)
			if !up && !left {
				add(s|1<<r, n)
			}
		}
		states = next
	}
	total := new(big.Int)
	for _, n := range states {
		total.Add(total, n)
	}
	return And(fs...), total
}

// choose is exactly k of n: n over k.
func choose(n, k int) (*Formula, *big.Int) {
	fs := make([]*Formula, n)
	for i := range fs {
		fs[i] = lit(i)
	}
	return Exactly(k, fs...), new(big.Int).Binomial(int64(n), int64(k))
}

// chooseChain is exactly k of n true, no two neighbours: n-k+1 over k.
func chooseChain(n, k int) (*Formula, *big.Int) {
	f, _ := choose(n, k)
	fs := []*Formula{f}
	for i := 1; i < n; i++ {
		fs = append(fs, Or(Not(lit(i-1)), Not(lit(i))))
	}
	return And(fs...), new(big.Int).Binomial(int64(n-k+1), int64(k))
}

// order says that a relation on the pairs of k items is a strict linear order: k! models.
func order(k int) (*Formula, *big.Int) {
	before := func(i, j int) *Formula {
		if i > j {
			i, j = j, i
			return Not(lit(i*k + j))
		}
		return lit(i*k + j)
	}
	var fs []*Formula
	for a := range k {
		for b := range k {
			for c := range k {
				if a != b && b != c && a != c {
					fs = append(fs, Implies(And(before(a, b), before(b, c)), before(a, c)))
				}
			}
		}
	}
	return And(fs...), new(big.Int).MulRange(1, int64(k))
}

// taxonomy is a tree of the given branching in which a child entails its parent and siblings exclude each
// other: a model is a path from the root, or nothing.
func taxonomy(n, branching int) (*Formula, *big.Int) {
	var fs []*Formula
	children := make(map[int][]*Formula)
	for i := 1; i < n; i++ {
		p := (i - 1) / branching
		fs = append(fs, Implies(lit(i), lit(p)))
		children[p] = append(children[p], lit(i))
	}
	for p := range n {
		if c := children[p]; len(c) > 1 {
			for i := range c {
				for j := range i {
					fs = append(fs, Not(And(c[j], c[i])))
				}
			}
		}
	}
	return And(fs...), big.NewInt(int64(n) + 1)
}

// treeChoose is tree with exactly k true: a coefficient of T(x) = 1 + x·T(left)·T(right).
func treeChoose(n, k int) (*Formula, *big.Int) {
	f, _ := tree(n)
	g, _ := choose(n, k)
	var poly func(i int) []*big.Int
	poly = func(i int) []*big.Int {
		if i >= n {
			return []*big.Int{big.NewInt(1)}
		}
		l, r := poly(2*i+1), poly(2*i+2)
		p := make([]*big.Int, len(l)+len(r))
		for j := range p {
			p[j] = new(big.Int)
		}
		for a, x := range l {
			for b, y := range r {
				p[a+b+1].Add(p[a+b+1], new(big.Int).Mul(x, y))
			}
		}
		p[0].SetInt64(1)
		return p
	}
	return And(f, g), poly(0)[k]
}
