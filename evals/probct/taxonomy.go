package probct

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modellog/modellog/evals/wordnet"
)

// taxonomy is the graph of a WordNet's nouns.
type taxonomy struct {
	nodes []*node
	byID  map[wordnet.ID]*node
}

// node is a synset in the taxonomy.
type node struct {
	id       wordnet.ID
	lexfile  int
	instance bool // a single thing: it has an instance hypernym
	gloss    string
	lemmas   []lemma // best known first
	usage    []*node // what WordNet says of the words' use: "ethnic slur", "slang", …

	up, down []*node // hypernyms, hyponyms
	of, has  []*node // instance hypernyms, instances
	faulty   []*node // of up, those that do not hold of the world

	all, sound []*node // what is above, in WordNet and by what holds; made when asked for
}

// lemma is a word of a synset.
type lemma struct {
	text    string
	key     string // the sense key
	number  int    // of the sense
	senses  int    // how many meanings the noun has
	tags    int    // of this sense
	allTags int    // of all the noun's senses
	other   int    // of its senses as verb, adjective and adverb
	parts   int    // of how many of these it is
	order   int    // its place among the synset's words
}

func (n *node) String() string { return n.lemmas[0].text }

// source is how a node is named in a fact's sources.
func (l lemma) source() string { return "wn:" + l.key }

// usageDomain is the pointer from a synset to how its words are used.
const usageDomain wordnet.Relation = ";u"

// readTaxonomy reads the nouns of a WordNet.
func readTaxonomy(db *wordnet.DB, words *Words, progress func(done, total int)) (*taxonomy, error) {
	t := &taxonomy{byID: make(map[wordnet.ID]*node)}
	var synsets []*wordnet.Synset
	err := db.Synsets(wordnet.Noun, func(s *wordnet.Synset) error {
		n := &node{id: s.ID, lexfile: s.Lexfile, gloss: s.Gloss}
		t.byID[s.ID] = n
		t.nodes = append(t.nodes, n)
		synsets = append(synsets, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, s := range synsets {
		n := t.nodes[i]
		if i%1000 == 0 {
			progress(i, len(synsets))
		}
		for order, w := range s.Words {
			l := lemma{text: w.Lemma, order: order}
			for _, pos := range []wordnet.POS{wordnet.Noun, wordnet.Verb, wordnet.Adjective, wordnet.Adverb} {
				senses, err := db.Senses(w.Lemma, pos)
				if err != nil {
					return nil, err
				}
				for _, sense := range senses {
					if pos != wordnet.Noun {
						l.other += sense.Tags
						continue
					}
					l.senses++
					l.allTags += sense.Tags
					if sense.Synset == s.ID {
						l.key, l.number, l.tags = sense.Key, sense.Number, sense.Tags
					}
				}
				if pos != wordnet.Noun && len(senses) > 0 {
					l.parts++
				}
			}
			if l.key == "" {
				return nil, fmt.Errorf("the WordNet in %s has %q in the synset %v and not in index.sense", db.Dir(), w.Lemma, s.ID)
			}
			n.lemmas = append(n.lemmas, l)
		}
		// The word that stands for the synset is the one that is most often met in this
		// meaning, as far as that is known.
		slices.SortStableFunc(n.lemmas, func(a, b lemma) int {
			return cmp.Or(cmp.Compare(min(a.number, 3), min(b.number, 3)), cmp.Compare(b.tags, a.tags), cmp.Compare(words.Zipf(b.text), words.Zipf(a.text)))
		})
		for _, p := range s.Pointers {
			if p.Target.POS != wordnet.Noun {
				continue
			}
			to := t.byID[p.Target]
			if to == nil {
				return nil, fmt.Errorf("the WordNet in %s points from %v to %v, which is not there", db.Dir(), s.ID, p.Target)
			}
			switch p.Relation {
			case wordnet.Hypernym:
				n.up = append(n.up, to)
				to.down = append(to.down, n)
			case wordnet.InstanceHypernym:
				n.instance = true
				n.of = append(n.of, to)
				to.has = append(to.has, n)
			case usageDomain:
				n.usage = append(n.usage, to)
			}
		}
	}
	if err := t.acyclic(); err != nil {
		return nil, err
	}
	_, err = t.markFaults()
	return t, err
}

// errCycle is a taxonomy in which something is its own hypernym.
var errCycle = errors.New("the taxonomy has a cycle")

// acyclic fails where a node is above itself: then nothing that follows from the
// taxonomy can be relied upon.
func (t *taxonomy) acyclic() error {
	const (
		unseen = iota
		open
		done
	)
	state := make(map[*node]int, len(t.nodes))
	for _, start := range t.nodes {
		if state[start] != unseen {
			continue
		}
		type frame struct {
			n    *node
			next int
		}
		stack := []frame{{start, 0}}
		state[start] = open
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			above := append(slices.Clone(f.n.up), f.n.of...)
			if f.next == len(above) {
				state[f.n] = done
				stack = stack[:len(stack)-1]
				continue
			}
			m := above[f.next]
			f.next++
			switch state[m] {
			case open:
				return fmt.Errorf("%w: %s (%v) is above itself", errCycle, m, m.id)
			case unseen:
				state[m] = open
				stack = append(stack, frame{m, 0})
			}
		}
	}
	return nil
}

// above returns what WordNet says a node is: its hypernyms and theirs, an instance's
// kinds and theirs. The nearest come first, then in the order of the data.
func (n *node) above() []*node {
	if n.all == nil {
		n.all = n.climb(false)
	}
	return n.all
}

// climb walks up; soundly, it leaves out the edges that are known not to hold.
func (n *node) climb(soundly bool) []*node {
	seen := map[*node]bool{n: true}
	all := []*node{}
	level := []*node{n}
	for len(level) > 0 {
		var next []*node
		for _, m := range level {
			for _, h := range append(slices.Clone(m.of), m.up...) {
				if !seen[h] && !(soundly && slices.Contains(m.faulty, h)) {
					seen[h] = true
					next = append(next, h)
					all = append(all, h)
				}
			}
		}
		level = next
	}
	return all
}

// soundly reports whether each n is an m by edges that hold of the world.
func (n *node) soundly(m *node) bool {
	if n.sound == nil {
		n.sound = n.climb(true)
	}
	return n == m || slices.Contains(n.sound, m)
}

// is reports whether each n is an m.
func (n *node) is(m *node) bool { return n == m || slices.Contains(n.above(), m) }

// below returns all kinds and instances of a node, itself among them.
func (n *node) below() map[*node]bool {
	seen := map[*node]bool{n: true}
	stack := []*node{n}
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range append(slices.Clone(m.down), m.has...) {
			if !seen[d] {
				seen[d] = true
				stack = append(stack, d)
			}
		}
	}
	return seen
}

// disjoint reports whether nothing in the taxonomy is both a and b: neither is above the
// other, and they share no kind and no instance.
func disjoint(a, b map[*node]bool) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	for n := range a {
		if b[n] {
			return false
		}
	}
	return true
}

//go:embed faults.txt
var faultsText string

// markFaults marks the edges of faults.txt, and returns how many there are.
func (t *taxonomy) markFaults() (int, error) {
	pairs := make(map[[2]string]bool)
	for _, line := range listed(faultsText) {
		from, to, ok := strings.Cut(line, " > ")
		if !ok {
			return 0, fmt.Errorf("faults.txt: %q is not \"A > B\"", line)
		}
		pairs[[2]string{from, to}] = true
	}
	marked := 0
	for _, n := range t.nodes {
		for _, h := range n.up {
			for _, a := range n.lemmas {
				for _, b := range h.lemmas {
					if pairs[[2]string{strings.ToLower(a.text), strings.ToLower(b.text)}] && !slices.Contains(n.faulty, h) {
						n.faulty = append(n.faulty, h)
						marked++
					}
				}
			}
		}
	}
	return marked, nil
}

// listed returns the lines of a list without comments and empty ones.
func listed(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}
