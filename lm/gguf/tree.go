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

// alike is how many tokens two prefixes begin with alike.
func alike(a, b []lm.Token) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
