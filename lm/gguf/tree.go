package gguf

import (
	"cmp"
	"math"
	"slices"

	"github.com/modellog/modellog/lm"
)

const (
	// passTokens is what a pass of the engine costs before it has read anything, in tokens that could be read
	// in the same time: the weights go through the processor's caches once more (BenchmarkPass).
	passTokens = 10

	// mostWaves is how many passes may build on each other.
	mostWaves = 6
)

// segment is a part of a batch's prefixes that is read once: the tokens from begin to end of all prefixes
// under it.
type segment struct {
	tokens     []lm.Token // of a prefix under it, from its beginning
	begin, end int
	sequence   int      // a prefix under it, whose sequence its tokens are read as
	branches   []branch // the other sequences that go on from here
	leaves     []leaf   // the prefixes that end in it, the shortest first
}

// leaf is a prefix that ends with the given number of tokens of a segment's.
type leaf struct{ prefix, tokens int }

// branch is a sequence that goes on from the first tokens of another.
type branch struct{ sequence, tokens int }

// tree sorts a batch of different prefixes into segments: those of a wave go on from those of the waves before, and
// are read at once. What prefixes begin with alike is a segment of its own where that makes the whole cheaper: of
// all trees with at most mostWaves waves it returns one with the fewest tokens, where a wave counts as passTokens.
// All leaves are in the last wave, in the order of the prefixes, since for each wave with leaves the weights of
// the output head go through the processor's caches.
func tree(prefixes [][]lm.Token) [][]segment {
	if len(prefixes) == 0 {
		return nil
	}
	order := make([]int, len(prefixes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(prefixes[a], prefixes[b]) })
	g := grower{prefixes: prefixes, order: order, costs: make(map[state]int), reaching: make(map[state]int)}
	root := g.common(0, len(order))
	best, more := g.cost(root, 0, 0), 0
	for w := 1; w < mostWaves; w++ {
		if c := g.cost(root, 0, w) + w*passTokens; c < best {
			best, more = c, w
		}
	}
	g.waves = make([][]segment, more+1)
	g.grow(root, 0, more, false)
	for _, wave := range g.waves {
		slices.SortFunc(wave, func(a, b segment) int { return cmp.Compare(a.sequence, b.sequence) })
	}
	return g.waves
}

// group is sorted prefixes with what all of them begin with.
type group struct {
	first, n int      // of the order
	depth    int      // tokens in common
	ends     bool     // the first of them ends there
	under    []*group // by the token that follows
}

// state is what the cheapest tree of a group depends on: the tokens known already, and the waves that may follow.
type state struct {
	*group
	from, more int
}

type grower struct {
	prefixes [][]lm.Token
	order    []int
	costs    map[state]int
	reaching map[state]int
	waves    [][]segment
}

func (g *grower) prefix(i int) []lm.Token { return g.prefixes[g.order[i]] }

// common gathers what n sorted prefixes from first on have in common. Sorted, the first and the last have in common
// what all have, and one that ends there is the first.
func (g *grower) common(first, n int) *group {
	out := &group{first: first, n: n, depth: alike(g.prefix(first), g.prefix(first+n-1))}
	out.ends = len(g.prefix(first)) == out.depth
	i, end := first, first+n
	if out.ends {
		i++
	}
	for i < end {
		j := i + 1
		for j < end && g.prefix(j)[out.depth] == g.prefix(i)[out.depth] {
			j++
		}
		out.under = append(out.under, g.common(i, j-i))
		i = j
	}
	return out
}

// cost is how many tokens are read of a group at least, when so many are known and so many more waves may follow.
func (g *grower) cost(of *group, from, more int) int {
	at := state{of, from, more}
	if c, known := g.costs[at]; known {
		return c
	}
	c := g.apart(of, from, more)
	if g.mayShare(of, from, more) {
		c = min(c, g.shared(of, from, more))
	}
	g.costs[at] = c
	return c
}

// apart is the cost of a group whose common tokens are read with each of those under it. A prefix that ends there
// ends in the segment of another, or has its own.
func (g *grower) apart(of *group, from, more int) int {
	c := g.under(of, from, more)
	if of.ends {
		_, extra := g.host(of, from, more)
		c += extra
	}
	return c
}

// under is the cost of the groups under one whose common tokens are read with each of them.
func (g *grower) under(of *group, from, more int) int {
	c := 0
	for _, u := range of.under {
		c += g.cost(u, from, more)
	}
	return c
}

// host chooses which of the groups under one has a segment of the last wave go from the known tokens through the group's common
// ones, so that prefixes can end in it, and what that costs more than otherwise; nil is the segment of the prefix
// that ends with them.
func (g *grower) host(of *group, from, more int) (host *group, extra int) {
	extra = math.MaxInt32
	if of.ends {
		extra = of.depth - from
	}
	for _, u := range of.under {
		if e := g.reach(u, from, more) - g.cost(u, from, more); e < extra {
			host, extra = u, e
		}
	}
	return host, extra
}

// reach is the cost of a group where a segment of the last wave goes from the known tokens through its common ones.
func (g *grower) reach(of *group, from, more int) int {
	at := state{of, from, more}
	if c, known := g.reaching[at]; known {
		return c
	}
	_, extra := g.host(of, from, more)
	c := g.under(of, from, more) + extra
	g.reaching[at] = c
	return c
}

// shared is the cost of a group whose common tokens are read once, a wave before the others. A prefix that ends
// there has its last token read again, with the leaves.
func (g *grower) shared(of *group, from, more int) int {
	c := of.depth - from
	if of.ends {
		c++
	}
	for _, u := range of.under {
		c += g.cost(u, of.depth, more-1)
	}
	return c
}

func (g *grower) mayShare(of *group, from, more int) bool {
	return more > 0 && len(of.under) > 0 && of.depth > from
}

// grow puts the segments of a group into the last waves, of which there are more beside that of the leaves, and
// returns the sequences that begin there, with the tokens they go on from. Where it is told to reach, it returns
// which segment of the last wave goes through the group's common tokens, too.
func (g *grower) grow(of *group, from, more int, reach bool) (begun []branch, through int) {
	wave, last := len(g.waves)-1-more, len(g.waves)-1
	share := !reach && g.mayShare(of, from, more) && g.shared(of, from, more) < g.apart(of, from, more)
	begin, left := from, more
	if share {
		begin, left = of.depth, more-1
	}
	var host *group
	own := share && of.ends
	if !share && (reach || of.ends) {
		host, _ = g.host(of, from, more)
		own = host == nil
	}
	for _, u := range of.under {
		under, at := g.grow(u, begin, left, u == host)
		if begun = append(begun, under...); u == host {
			through = at
		}
	}
	if own {
		begin = min(begin, of.depth-1)
		through = len(g.waves[last])
		s := segment{tokens: g.prefix(of.first), begin: begin, end: of.depth, sequence: g.order[of.first]}
		g.waves[last] = append(g.waves[last], s)
		begun = append(begun, branch{s.sequence, begin})
	}
	if of.ends {
		s := &g.waves[last][through]
		s.leaves = slices.Insert(s.leaves, 0, leaf{g.order[of.first], of.depth})
	}
	if !share {
		return begun, through
	}
	s := segment{tokens: g.prefix(of.first), begin: from, end: of.depth, sequence: begun[0].sequence, branches: begun[1:]}
	g.waves[wave] = append(g.waves[wave], s)
	return []branch{{s.sequence, from}}, 0
}

// alike is how many tokens two prefixes begin with alike.
func alike(a, b []lm.Token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// treeTokens is how many tokens are read of prefixes.
func treeTokens(waves [][]segment) int {
	n := 0
	for _, wave := range waves {
		for _, s := range wave {
			n += s.end - s.begin
		}
	}
	return n
}
