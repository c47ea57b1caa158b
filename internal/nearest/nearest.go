// Package nearest finds what a misspelt name was most likely meant to be.
package nearest

import (
	"strings"
	"unicode/utf8"

	"github.com/hbollon/go-edlib"
)

// Name returns the candidate that name was most likely meant to be, or "" where
// none is near: at most a third of its letters are wrong, where a letter that is
// missing, added, replaced or swapped with its neighbour is one mistake and case
// is none. Of equally near candidates the first is taken.
func Name(name string, candidates []string) string {
	const longest = 64 // longer names are not compared
	if utf8.RuneCountInString(name) > longest {
		return ""
	}
	x := strings.ToLower(name)
	n := utf8.RuneCountInString(x)
	best, limit := "", max(1, n/3)
	for _, c := range candidates {
		y := strings.ToLower(c)
		m := utf8.RuneCountInString(y)
		if c == name || m > longest || m-n > limit || n-m > limit {
			continue
		}
		// A name of one letter is near to everything of one letter.
		if d := edlib.OSADamerauLevenshteinDistance(x, y); d <= limit && d < max(n, m) {
			best, limit = c, d-1
		}
	}
	return best
}
