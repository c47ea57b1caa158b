package syntax

import "strings"

// Nearest returns the candidate that a misspelt name was most likely meant to
// be, or "" where none is near: at most a third of its letters are wrong,
// where a letter that is missing, added, replaced or swapped with its neighbour is
// one mistake and case is none. Of equally near candidates the first is taken.
func Nearest(name string, candidates []string) string {
	const longest = 64 // longer names are not compared
	x := []rune(strings.ToLower(name))
	if len(x) > longest {
		return ""
	}
	best, bestDist := "", max(1, len(x)/3)+1
	for _, c := range candidates {
		y := []rune(strings.ToLower(c))
		if c == name || len(y) > longest || len(y)-len(x) >= bestDist || len(x)-len(y) >= bestDist {
			continue
		}
		// A name of one letter is near to everything of one letter.
		if d := distance(x, y); d < bestDist && d < max(len(x), len(y)) {
			best, bestDist = c, d
		}
	}
	return best
}

// distance counts the mistakes between two words (optimal string alignment).
func distance(x, y []rune) int {
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(y)]
}
