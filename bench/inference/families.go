package inference

import (
	"fmt"
	"math/big"
)

// Family is theories of one kind, of growing sizes.
type Family struct {
	Name  string
	About string // what its theories say, in a line
	Sizes []int
	make  func(size int) (*Theory, error)
	rare  int // see weigh
}

// Theory makes the theory of a size, with weights drawn from the seed.
func (f *Family) Theory(size int, seed uint64) (*Theory, error) {
	t, err := f.make(size)
	if err != nil {
		return nil, fmt.Errorf("the theory of size %d of family %s: %w", size, f.Name, err)
	}
	t.Family = f.Name
	t.weigh(seed, f.rare)
	return t, nil
}

// Families are those that need no data. Variables are numbered in an order that suits programs
// which keep to it: along a chain, depth first in a tree, column by column in a grid.
func Families() []*Family {
	closed := func(f func(int) *Theory) func(int) (*Theory, error) {
		return func(size int) (*Theory, error) { return f(size), nil }
	}
	return []*Family{
		{Name: "chain", About: "each of n variables implies the next", Sizes: []int{100, 1000, 10_000}, make: closed(chain), rare: 1},
		{Name: "tree", About: "in a complete binary tree of n variables a child implies its parent", Sizes: []int{127, 1023, 8191}, make: closed(tree), rare: -1},
		{Name: "grid", About: "in a grid of n × n no two neighbours are true", Sizes: []int{6, 8, 10, 12, 14, 16, 18, 20}, make: closed(grid), rare: -1},
		{Name: "choose", About: "exactly n/2 of n variables are true", Sizes: []int{20, 100, 500, 1000, 2000}, make: closed(choose)},
		{Name: "spaced", About: "exactly n/4 of n variables in a row are true, no two neighbours", Sizes: []int{20, 100, 400, 1000, 2000}, make: closed(spaced)},
		{Name: "order", About: "a relation on the pairs of n items is a strict order", Sizes: []int{4, 6, 7, 8, 9, 10, 11, 12, 13}, make: closed(order)},
	}
}

func chain(n int) *Theory {
	t := &Theory{Name: fmt.Sprintf("chain of %d", n), Vars: n, Models: big.NewInt(int64(n) + 1)}
	for i := 1; i < n; i++ {
		t.Clauses = append(t.Clauses, []int{-i, i + 1})
	}
	return t
}

// tree: with T(nothing) = 1 a node has T = T(left)·T(right) + 1 models.
func tree(n int) *Theory {
	t := &Theory{Name: fmt.Sprintf("tree of %d", n)}
	var node func(i, parent int) *big.Int
	node = func(i, parent int) *big.Int {
		if i >= n {
			return big.NewInt(1)
		}
		t.Vars++
		v := t.Vars
		if parent > 0 {
			t.Clauses = append(t.Clauses, []int{-v, parent})
		}
		m := new(big.Int).Mul(node(2*i+1, v), node(2*i+2, v))
		return m.Add(m, big.NewInt(1))
	}
	t.Models = node(0, 0)
	return t
}

// grid: the models are counted cell by cell, by what the last n cells are.
func grid(n int) *Theory {
	t := &Theory{Name: fmt.Sprintf("grid of %d × %d", n, n), Vars: n * n}
	for c := range n {
		for r := range n {
			v := c*n + r + 1
			if r+1 < n {
				t.Clauses = append(t.Clauses, []int{-v, -v - 1})
			}
			if c+1 < n {
				t.Clauses = append(t.Clauses, []int{-v, -v - n})
			}
		}
	}
	if n <= 20 { // beyond, this takes longer than any limit
		t.Models = independentSets(n)
	}
	return t
}

func independentSets(n int) *big.Int {
	states := map[uint32]*big.Int{0: big.NewInt(1)}
	for cell := range n * n {
		next := make(map[uint32]*big.Int, len(states))
		add := func(s uint32, k *big.Int) {
			if o, ok := next[s]; ok {
				o.Add(o, k)
			} else {
				next[s] = new(big.Int).Set(k)
			}
		}
		r := cell % n
		for s, k := range states {
			add(s&^(1<<r), k)
			if s>>r&1 == 0 && (r == 0 || s>>(r-1)&1 == 0) {
				add(s|1<<r, k)
			}
		}
		states = next
	}
	sum := new(big.Int)
	for _, k := range states {
		sum.Add(sum, k)
	}
	return sum
}

func row(n int) []int {
	of := make([]int, n)
	for i := range of {
		of[i] = i + 1
	}
	return of
}

func choose(n int) *Theory {
	k := n / 2
	return &Theory{
		Name: fmt.Sprintf("%d of %d", k, n), Vars: n, Exactly: []Exactly{{k, row(n)}},
		Models: new(big.Int).Binomial(int64(n), int64(k)),
	}
}

// spaced: n-k+1 over k.
func spaced(n int) *Theory {
	k := n / 4
	t := &Theory{
		Name: fmt.Sprintf("%d of %d, spaced", k, n), Vars: n, Exactly: []Exactly{{k, row(n)}},
		Models: new(big.Int).Binomial(int64(n-k+1), int64(k)),
	}
	for i := 1; i < n; i++ {
		t.Clauses = append(t.Clauses, []int{-i, -i - 1})
	}
	return t
}

// order: n! models. Variable (i, j), i < j, says that i is before j; of three items no cycle.
func order(n int) *Theory {
	t := &Theory{Name: fmt.Sprintf("order of %d", n), Vars: n * (n - 1) / 2, Models: new(big.Int).MulRange(1, int64(n))}
	pair := func(i, j int) int { return i*(2*n-i-1)/2 + j - i }
	for a := range n {
		for b := a + 1; b < n; b++ {
			for c := b + 1; c < n; c++ {
				ab, bc, ac := pair(a, b), pair(b, c), pair(a, c)
				t.Clauses = append(t.Clauses, []int{-ab, -bc, ac}, []int{ab, bc, -ac})
			}
		}
	}
	return t
}
