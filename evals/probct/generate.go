package probct

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/modellog/modellog/evals/wordnet"
)

// candidate is a row before it is judged.
type candidate struct {
	Row
	subset string
	rules  Verdicts

	subjectFails bool // what it is about fails a criterion, whatever is said of it
}

// textless says whether the templates have no text for some of the candidate's holes.
func (c *candidate) textless() bool {
	for _, text := range c.Holes {
		if text == "" {
			return true
		}
	}
	return false
}

// generator draws candidates.
type generator struct {
	db        *wordnet.DB
	taxonomy  *taxonomy
	english   *english
	templates *Templates

	upper      map[string]bool // words that nobody says of a thing
	exclusive  map[string]bool // words whose kinds exclude one another
	homographs map[string]bool // words whose frequency is another word's
	subjects   []*node
	targets    map[*node]said // the nodes that can be targets and passed the rules
	vetted     []Decision     // of all words that could be targets
	ancestry   map[*node][]*node
	kinds      map[*node]map[*node]bool // below, of targets
	parents    map[*node][]*node        // of a target, the nearest targets above it
	children   map[*node][]*node
	marks      map[*node]marks
}

// topFile is the lexicographer's file of the nouns above all others, such as "animal", which
// can be said of things.
const topFile = 3

// option is what a candidate is made of beside its subject: targets, the true one first.
type option [2]*node

func newGenerator(db *wordnet.DB, t *taxonomy, words *Words, templates *Templates) *generator {
	g := &generator{
		db: db, taxonomy: t, english: newEnglish(words), templates: templates,
		upper:      set(upperText),
		exclusive:  set(exclusiveText),
		homographs: set(homographsText),
		targets:    make(map[*node]said),
		ancestry:   make(map[*node][]*node),
		kinds:      make(map[*node]map[*node]bool),
		parents:    make(map[*node][]*node),
		children:   make(map[*node][]*node),
		marks:      make(map[*node]marks),
	}
	for _, n := range t.nodes {
		if entityFiles[n.lexfile] == "" && n.lexfile != topFile || g.taboo(n) {
			continue
		}
		if l, ok := g.targetLemma(n); ok {
			y := g.say(n, l)
			var v Verdicts
			g.judgeNoun(&v, y, true)
			v.pass(Grammatical, "one word, %s", y.noun.number)
			v.pass(Factual, "nothing in its definition speaks against it")
			g.vetted = append(g.vetted, newDecision("target", "wn:"+l.key, l.text, v))
			if v.OK() {
				g.targets[n] = y
			}
		}
		if _, ok := g.subjectLemma(n); ok && n.lexfile != topFile {
			g.subjects = append(g.subjects, n)
		}
	}
	for _, n := range t.nodes {
		if _, ok := g.targets[n]; !ok {
			continue
		}
		for _, m := range g.above(n) {
			if !slices.ContainsFunc(g.parents[n], func(k *node) bool { return slices.Contains(g.above(k), m) }) {
				g.parents[n] = append(g.parents[n], m)
				g.children[m] = append(g.children[m], n)
			}
		}
	}
	return g
}

func (g *generator) verb(word string) bool {
	ids, err := g.db.Lookup(word, wordnet.Verb)
	return err == nil && len(ids) > 0
}

func (g *generator) taboo(n *node) bool {
	if taboo.MatchString(n.gloss) || slices.ContainsFunc(n.lemmas, func(l lemma) bool { return profane.MatchString(l.text) }) {
		return true
	}
	return slices.ContainsFunc(n.usage, func(u *node) bool { return taboo.MatchString(u.lemmas[0].text) })
}

// targetLemma is the word that says a node of something else.
func (g *generator) targetLemma(n *node) (lemma, bool) {
	if n.instance {
		return lemma{}, false
	}
	var first lemma
	found := false
	for _, l := range n.lemmas {
		if targetWord(l.text) && g.english.words.one(l.text) > 0 && (!found || l.order < first.order) {
			first, found = l, true
		}
		if l.order == 0 && g.upper[strings.ToLower(l.text)] {
			return lemma{}, false
		}
	}
	return first, found && !g.upper[first.text]
}

// dead reports whether a definition ends in the years of a life.
func dead(n *node) bool {
	d := strings.TrimSpace(definition(n.gloss))
	i := strings.LastIndexByte(d, '(')
	if i < 0 || !strings.HasSuffix(d, ")") {
		return false
	}
	from, to, ok := strings.Cut(d[i+1:len(d)-1], "-")
	year := func(s string) bool {
		s = strings.TrimSpace(s)
		return len(s) >= 3 && len(s) <= 4 && strings.Trim(s, "0123456789") == ""
	}
	return ok && year(from) && year(to)
}

// subjectLemma is the word for a node that a statement is about: of those that the frequency list
// has, the one with one meaning that WordNet names first.
func (g *generator) subjectLemma(n *node) (lemma, bool) {
	var best lemma
	found := false
	for _, l := range n.lemmas {
		if !drawable(l.text) || g.english.words.Zipf(l.text) == 0 {
			continue
		}
		if n.instance && (n.lexfile != 18 || !strings.Contains(l.text, " ") || !dead(n)) {
			continue
		}
		better := !found
		if found && (l.senses == 1) != (best.senses == 1) {
			better = l.senses == 1
		} else if found {
			better = l.order < best.order
		}
		if better {
			best, found = l, true
		}
	}
	return best, found
}

// above returns the targets that a node is, nearest first.
func (g *generator) above(n *node) []*node {
	if a, ok := g.ancestry[n]; ok {
		return a
	}
	var a []*node
	for _, m := range n.above() {
		if _, ok := g.targets[m]; ok {
			a = append(a, m)
		}
	}
	g.ancestry[n] = a
	return a
}

func (g *generator) below(n *node) map[*node]bool {
	b, ok := g.kinds[n]
	if !ok {
		b = n.below()
		g.kinds[n] = b
	}
	return b
}

// said is a node with the word for it.
type said struct {
	node  *node
	lemma lemma
	noun  noun
	why   string // of its number
}

func (g *generator) subject(n *node) said {
	l, _ := g.subjectLemma(n)
	return g.say(n, l)
}

func (g *generator) say(n *node, l lemma) said {
	s := said{node: n, lemma: l, noun: noun{text: l.text}}
	if n.instance {
		s.noun.number, s.why = Name, "a name"
		return s
	}
	s.noun.number, s.why = g.english.number(l.text, n.lexfile)
	return s
}

// words judges the words of a candidate. The targets have been judged already; what was
// found is said again.
func (g *generator) words(c *candidate, x said, targets ...said) {
	g.judgeNoun(&c.rules, x, false)
	c.subjectFails = slices.ContainsFunc(c.rules[:], func(v Verdict) bool { return v.Class != "" })
	for _, y := range targets {
		g.judgeNoun(&c.rules, y, true)
		if repeats(x.lemma.text, y.lemma.text) {
			c.rules.fail(Grammatical, "repeats a word", "%q has the word %q in it", x.lemma.text, y.lemma.text)
		}
	}
}

// fill writes the text of a hole into a candidate; a text that cannot be written is a fault of
// grammar.
func (g *generator) fill(c *candidate, hole string, x, y1 noun, targets ...noun) string {
	text, err := g.templates.write(c.subset, hole, x, y1, targets...)
	if err != nil {
		c.rules.fail(Grammatical, faultOf(err.Error()), "%v", err)
		text = ""
	}
	c.Holes[hole] = text
	return text
}

func faultOf(message string) string {
	switch {
	case strings.Contains(message, "different articles"):
		return "a or an"
	case strings.Contains(message, "\"the\""):
		return "the"
	}
	return "count or mass"
}

// begin makes a candidate whose id comes from the sources of its words.
func begin(subset string, sources ...string) *candidate {
	sum := sha256.Sum256([]byte(subset + "\n" + strings.Join(sources, "\n")))
	return &candidate{
		Row: Row{
			ID:    initials(subset) + "-" + hex.EncodeToString(sum[:6]),
			Holes: make(map[string]string),
		},
		subset: subset,
	}
}

// initials are the first letters of a subset's words, such as "fi".
func initials(subset string) string {
	var b strings.Builder
	for _, w := range strings.Split(subset, "_") {
		b.WriteByte(w[0])
	}
	return b.String()
}

// fact adds a statement: a text, with the word that follows it.
func (c *candidate) fact(text, target string, holds bool, sources ...string) {
	c.Facts = append(c.Facts, Fact{Text: strings.TrimSpace(text + " " + target), True: holds, Source: sources})
}

// entailed notes which edges of the graph a candidate's truth rests upon.
func (c *candidate) entailed(x *node, ys ...*node) {
	for _, y := range ys {
		switch {
		case x.soundly(y):
			c.rules.pass(Factual, "%s is below %s", x, y)
		case x.is(y):
			c.rules.fail(Factual, "fault of WordNet", "that every %s is a %s rests upon an edge of WordNet that does not hold", x, y)
		default:
			c.rules.fail(Factual, "not entailed", "the taxonomy does not have %s below %s", x, y)
		}
		x = y
	}
}

// chains returns pairs of what a node is, the nearer first. The second is above the first,
// not only above the node.
func (g *generator) chains(n *node) []option {
	var pairs []option
	above := g.above(n)
	for i, a := range above {
		for _, b := range above[i+1:] {
			if slices.Contains(g.above(a), b) {
				pairs = append(pairs, option{a, b})
			}
		}
	}
	return pairs
}

// options returns what a subset's candidates about a node can say.
func (g *generator) options(subset string, n *node) []option {
	switch subset {
	case Transitivity:
		return g.chains(n)
	case ForwardImplication:
		if n.instance {
			return nil // a single thing is not a type
		}
		return g.chains(n)
	case NegationConsistency:
		var all []option
		for _, a := range g.above(n) {
			all = append(all, option{a})
		}
		return all
	case MutualExclusivity:
		if n.instance {
			return nil // what somebody was does not exclude other things
		}
		var all []option
		for _, a := range g.above(n) {
			for _, b := range g.siblings(a) {
				all = append(all, option{a, b})
			}
		}
		return all
	}
	return nil
}

// candidate makes the candidate of a subset about a node.
func (g *generator) candidate(subset string, n *node, o option) *candidate {
	switch subset {
	case Transitivity:
		return g.transitivity(n, o[0], o[1])
	case ForwardImplication:
		return g.forwardImplication(n, o[0], o[1])
	case NegationConsistency:
		return g.negationConsistency(n, o[0])
	default:
		return g.mutualExclusivity(n, o[0], o[1])
	}
}

// transitivity: x is a y1, every y1 is a y2, x is a y2.
func (g *generator) transitivity(n, a, b *node) *candidate {
	x, y1, y2 := g.subject(n), g.targets[a], g.targets[b]
	c := begin(Transitivity, x.lemma.key, y1.lemma.key, y2.lemma.key)
	g.words(c, x, y1, y2)
	if repeats(y1.lemma.text, y2.lemma.text) {
		c.rules.fail(Grammatical, "repeats a word", "%q has the word %q in it", y1.lemma.text, y2.lemma.text)
	}
	c.Holes["y1"], c.Holes["y2"] = y1.lemma.text, y2.lemma.text
	x1 := g.fill(c, "x1", x.noun, y1.noun, y1.noun, y2.noun)
	x2 := g.fill(c, "x2", x.noun, y1.noun, y2.noun)
	c.fact(x1, y1.lemma.text, true, x.lemma.source(), y1.lemma.source())
	c.fact(x2, y2.lemma.text, true, y1.lemma.source(), y2.lemma.source())
	c.fact(x1, y2.lemma.text, true, x.lemma.source(), y2.lemma.source())
	c.entailed(n, a, b)
	return g.finish(c)
}

// forwardImplication: x is a y1, so x is a y2.
func (g *generator) forwardImplication(n, a, b *node) *candidate {
	x, y1, y2 := g.subject(n), g.targets[a], g.targets[b]
	c := begin(ForwardImplication, x.lemma.key, y1.lemma.key, y2.lemma.key)
	g.words(c, x, y1, y2)
	c.Holes["y1"], c.Holes["y2"] = y1.lemma.text, y2.lemma.text
	text := g.fill(c, "x", x.noun, y1.noun, y1.noun, y2.noun)
	c.fact(text, y1.lemma.text, true, x.lemma.source(), y1.lemma.source())
	c.fact(text, y2.lemma.text, true, x.lemma.source(), y2.lemma.source())
	c.entailed(n, a, b)
	return g.finish(c)
}

// negationConsistency: x is a y, or x is not a y.
func (g *generator) negationConsistency(n, a *node) *candidate {
	x, y := g.subject(n), g.targets[a]
	c := begin(NegationConsistency, x.lemma.key, y.lemma.key)
	g.words(c, x, y)
	c.Holes["y"] = y.lemma.text
	is := g.fill(c, "x", x.noun, y.noun, y.noun)
	not := g.fill(c, "not_x", x.noun, y.noun, y.noun)
	c.fact(is, y.lemma.text, true, x.lemma.source(), y.lemma.source())
	c.fact(not, y.lemma.text, false, x.lemma.source(), y.lemma.source())
	c.entailed(n, a)
	return g.finish(c)
}

// mutualExclusivity: x is a y1 and not its sibling y2.
func (g *generator) mutualExclusivity(n, a, b *node) *candidate {
	x, y1, y2 := g.subject(n), g.targets[a], g.targets[b]
	c := begin(MutualExclusivity, x.lemma.key, y1.lemma.key, y2.lemma.key)
	g.words(c, x, y1, y2)
	c.Holes["y1"], c.Holes["y2"] = y1.lemma.text, y2.lemma.text
	text := g.fill(c, "x", x.noun, y1.noun, y1.noun, y2.noun)
	c.fact(text, y1.lemma.text, true, x.lemma.source(), y1.lemma.source())
	c.fact(text, y2.lemma.text, false, x.lemma.source(), y2.lemma.source())
	c.entailed(n, a)
	switch {
	case n.is(b) || !disjoint(g.below(a), g.below(b)):
		c.rules.fail(Factual, "not disjoint", "something in the taxonomy is both %s and %s", a, b)
	case !g.excludes(a, b):
		c.rules.fail(Factual, "not exclusive", "WordNet does not divide what is above %s and %s by one mark: something can be both", a, b)
	default:
		c.rules.pass(Factual, "%s and %s are siblings without a common kind", a, b)
	}
	return g.finish(c)
}

// siblings returns the other targets that have a nearest target in common with one.
func (g *generator) siblings(a *node) []*node {
	var s []*node
	for _, parent := range g.parents[a] {
		for _, n := range g.children[parent] {
			if n != a && !n.is(a) && !a.is(n) && !slices.Contains(s, n) {
				s = append(s, n)
			}
		}
	}
	return s
}

// excludes reports whether the nearest that two siblings have in common is a noun whose kinds
// exclude one another.
func (g *generator) excludes(a, b *node) bool {
	for _, n := range []*node{a, b} {
		for _, l := range n.lemmas {
			if g.exclusive["!"+strings.ToLower(l.text)] {
				return false // a word for an age, a sex or a use
			}
		}
	}
	for _, parent := range a.above() {
		if b.is(parent) {
			return slices.ContainsFunc(parent.lemmas, func(l lemma) bool { return g.exclusive[strings.ToLower(l.text)] })
		}
	}
	return false
}

// finish says of each criterion that nothing was found against it.
func (g *generator) finish(c *candidate) *candidate {
	c.rules.pass(Grammatical, "articles and numbers agree")
	c.rules.pass(Factual, "no exception is known")
	return c
}
