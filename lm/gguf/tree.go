package gguf

import (
	"slices"

	"github.com/modellog/modellog/lm"
)

// node is a token of a tree of prefixes: what begins with the same tokens goes through the same nodes.
type node struct {
	token  lm.Token
	parent int // the node before it, -1 for a first token
	depth  int // tokens before it
	prefix int // the prefix that ends with it, -1 for none
}

// tree makes a tree of different prefixes. A node comes after its parent, and what all prefixes begin with before all
// else: stem is how many nodes that is.
func tree(prefixes [][]lm.Token) (nodes []node, stem int) {
	order := make([]int, len(prefixes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(prefixes[a], prefixes[b]) })
	var before []lm.Token
	var path []int // the nodes of the prefix before
	for k, i := range order {
		p := prefixes[i]
		known := alike(before, p)
		if k == 0 {
			stem = len(p)
		} else {
			stem = min(stem, known)
		}
		path = path[:known]
		for d := known; d < len(p); d++ {
			n := node{token: p[d], parent: -1, depth: d, prefix: -1}
			if d > 0 {
				n.parent = path[d-1]
			}
			path = append(path, len(nodes))
			nodes = append(nodes, n)
		}
		nodes[path[len(p)-1]].prefix = i
		before = p
	}
	return nodes, stem
}

// growing is a tree that prefixes are added to one after the other. That a prefix begins as the one before it is found
// without looking at each of its tokens in the tree: all the beginnings of a text of n tokens have n²/2.
type growing struct {
	next map[step]int // the node that a token leads to; nodes are numbered from 1, and 0 is before the first token
	ends map[int]bool // nodes at which a prefix ends
	last []lm.Token   // the prefix that was added last
	path []int        // its nodes
}

type step struct {
	from  int
	token lm.Token
}

// add adds a prefix: it has end as its last node, and the first known of its tokens were there before. at is the node
// of the last of these.
func (g *growing) add(prefix []lm.Token) (end, known, at int) {
	if g.next == nil {
		g.next, g.ends = make(map[step]int), make(map[int]bool)
	}
	from := alike(g.last, prefix)
	g.path = g.path[:from]
	if from > 0 {
		end = g.path[from-1]
	}
	known, at = from, end
	for _, t := range prefix[from:] {
		n, there := g.next[step{end, t}]
		if !there {
			n = len(g.next) + 1
			g.next[step{end, t}] = n
		} else {
			known, at = known+1, n
		}
		g.path, end = append(g.path, n), n
	}
	g.last, g.ends[end] = prefix, true
	return end, known, at
}

// alike is how many tokens two prefixes begin with alike.
func alike(a, b []lm.Token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
