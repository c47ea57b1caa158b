package inference

import (
	"fmt"
	"slices"

	"github.com/modellog/modellog/evals/wordnet"
)

// roots are words of WordNet whose first noun meaning has from about a hundred to thousands of
// hyponyms below it, the fewest first.
var roots = []string{"dog", "bird", "mammal", "vertebrate", "animal", "organism"}

// Taxonomies is the family of WordNet's nouns below a word: a synset implies its hypernyms, and
// co-hyponyms exclude each other, but for those that have a hyponym in common.
func Taxonomies(db *wordnet.DB) *Family {
	f := &Family{Name: "taxonomy", About: "WordNet's nouns below a word: a hyponym implies its hypernym, co-hyponyms exclude each other", rare: -1}
	for i := range roots {
		f.Sizes = append(f.Sizes, i+1)
	}
	f.make = func(size int) (*Theory, error) { return taxonomy(db, roots[size-1]) }
	return f
}

func taxonomy(db *wordnet.DB, word string) (*Theory, error) {
	ids, err := db.Lookup(word, wordnet.Noun)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("WordNet in %s has no noun %q", db.Dir(), word)
	}
	number := map[wordnet.ID]int{}
	var children [][]int // by number; 0 is none
	children = append(children, nil)
	var visit func(id wordnet.ID) (int, error)
	visit = func(id wordnet.ID) (int, error) {
		if n, ok := number[id]; ok {
			return n, nil
		}
		n := len(children)
		number[id] = n
		children = append(children, nil)
		s, err := db.Synset(id)
		if err != nil {
			return 0, err
		}
		for _, p := range s.Pointers {
			if p.Relation != wordnet.Hyponym {
				continue
			}
			c, err := visit(p.Target)
			if err != nil {
				return 0, err
			}
			if !slices.Contains(children[n], c) {
				children[n] = append(children[n], c)
			}
		}
		return n, nil
	}
	if _, err := visit(ids[0]); err != nil {
		return nil, err
	}
	return exclusive(word, children), nil
}

// exclusive makes the theory of a taxonomy: children[v] are the variables below v, and those of
// children[0] are ignored.
func exclusive(name string, children [][]int) *Theory {
	n := len(children) - 1
	t := &Theory{Name: name, Vars: n}
	parents := make([]int, n+1)
	for v := 1; v <= n; v++ {
		for _, c := range children[v] {
			t.Clauses = append(t.Clauses, []int{-c, v})
			parents[c]++
		}
	}
	// Below which children of one synset a synset lies that has several hypernyms itself, or is below
	// one that has: only these can be below two children.
	for v := 1; v <= n; v++ {
		under := make([]map[int]bool, len(children[v]))
		for i, c := range children[v] {
			under[i] = map[int]bool{}
			seen := map[int]bool{c: true}
			stack := []int{c}
			for len(stack) > 0 {
				u := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if parents[u] > 1 {
					under[i][u] = true
				}
				for _, w := range children[u] {
					if !seen[w] {
						seen[w] = true
						stack = append(stack, w)
					}
				}
			}
		}
		for i, a := range children[v] {
			for k, b := range children[v][:i] {
				if !meet(under[i], under[k]) {
					t.Clauses = append(t.Clauses, []int{-b, -a})
				}
			}
		}
	}
	return t
}

func meet(a, b map[int]bool) bool {
	for x := range a {
		if b[x] {
			return true
		}
	}
	return false
}
