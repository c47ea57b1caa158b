package gguf

import (
	"cmp"
	"slices"

	"github.com/modellog/modellog/lm"
)

// leastShared is how many tokens prefixes must begin with alike for these to be read once. What is read before
// is another pass of the engine, which for a few tokens costs more than it saves.
const leastShared = 32

// segment is a part of a batch's prefixes that is read once: the tokens from begin to end of all prefixes
// under it.
type segment struct {
	tokens     []lm.Token // of the first prefix under it, from its beginning
	begin, end int
	sequence   int   // the first prefix under it, whose sequence its tokens are read as
	branches   []int // of the segments that go on from here the sequences, but its own
	leaf       bool  // the prefix ends with it
}

// tree sorts a batch of different prefixes into segments: those of a wave go on from those of the waves before, and
// may be read at once. In a batch that shares nothing there is one wave, of the prefixes in their order.
func tree(prefixes [][]lm.Token) (waves [][]segment) {
	order := make([]int, len(prefixes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(prefixes[a], prefixes[b]) })
	var grow func(group []int, from, wave int) []int
	// grow reads a group of sorted prefixes from a token on, and returns the sequences that begin there.
	grow = func(group []int, from, wave int) []int {
		for len(waves) <= wave {
			waves = append(waves, nil)
		}
		first := prefixes[group[0]]
		if len(group) == 1 {
			waves[wave] = append(waves[wave], segment{tokens: first, begin: from, end: len(first), sequence: group[0], leaf: true})
			return group
		}
		// Sorted, the first and the last have in common what all have. A token of each is left, after
		// which its distribution is read.
		all := alike(first, prefixes[group[len(group)-1]])
		common := all
		for _, i := range group {
			common = min(common, len(prefixes[i])-1)
		}
		if common-from >= leastShared {
			s := segment{tokens: first, begin: from, end: common, sequence: group[0]}
			at := len(waves[wave])
			waves[wave] = append(waves[wave], s)
			for _, sub := range split(prefixes, group, common) {
				for _, sequence := range grow(sub, common, wave+1) {
					if sequence != s.sequence {
						s.branches = append(s.branches, sequence)
					}
				}
			}
			waves[wave][at] = s
			return group[:1]
		}
		var begun []int
		for _, sub := range split(prefixes, group, all) {
			begun = append(begun, grow(sub, from, wave)...)
		}
		return begun
	}
	if len(prefixes) > 0 {
		grow(order, 0, 0)
	}
	for _, wave := range waves {
		slices.SortFunc(wave, func(a, b segment) int { return cmp.Compare(a.sequence, b.sequence) })
	}
	return waves
}

// split divides a group of sorted prefixes by their token at a place, where some may have ended.
func split(prefixes [][]lm.Token, group []int, at int) (out [][]int) {
	for i := 0; i < len(group); {
		j := i + 1
		for j < len(group) && len(prefixes[group[i]]) > at && prefixes[group[j]][at] == prefixes[group[i]][at] {
			j++
		}
		out = append(out, group[i:j])
		i = j
	}
	return out
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
