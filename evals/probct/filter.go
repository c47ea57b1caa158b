package probct

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/modellog/modellog/evals/wordnet"
)

// Criterion is one of the four criteria of Appendix B.2.
type Criterion int

// The criteria in the paper's order.
const (
	Grammatical Criterion = iota
	Monosemous
	Salient
	Factual
	criteria
)

func (c Criterion) String() string {
	return [...]string{"grammatical", "monosemous", "salient", "factual"}[c]
}

// Criteria returns the four in the paper's order.
func Criteria() []Criterion { return []Criterion{Grammatical, Monosemous, Salient, Factual} }

// Verdict is what a judge says of a candidate under one criterion.
type Verdict struct {
	OK    bool   `json:"ok"`
	Class string `json:"class,omitempty"` // the kind of fault, as the card counts them
	Why   string `json:"why"`
}

// Verdicts are indexed by Criterion.
type Verdicts [criteria]Verdict

// OK reports whether a candidate meets every criterion.
func (v Verdicts) OK() bool {
	for _, w := range v {
		if !w.OK {
			return false
		}
	}
	return true
}

// fail notes a fault, unless there is one already under that criterion.
func (v *Verdicts) fail(c Criterion, class, format string, args ...any) {
	if v[c].Class == "" {
		v[c] = Verdict{Class: class, Why: fmt.Sprintf(format, args...)}
	}
}

// pass says why a candidate meets a criterion, unless it does not.
func (v *Verdicts) pass(c Criterion, format string, args ...any) {
	if v[c].Class != "" {
		return
	}
	why := fmt.Sprintf(format, args...)
	if v[c].OK {
		why = v[c].Why + "; " + why
	}
	v[c] = Verdict{OK: true, Why: why}
}

// The thresholds of the rules. They follow from what the criteria ask for and were set
// by reading rows, without any model's score.
const (
	// subjectZipf: what a statement is about is met at least once in some three million
	// words.
	subjectZipf = 2.5
	// targetZipf: a target is met at least once in some 600,000 words.
	targetZipf = 3.2
	// nameZipf: a surname that WordNet knows one bearer of.
	nameZipf = 3.0
	// countedGap: a noun that is counted has a plural that is not more than thirty times
	// rarer.
	countedGap = 1.5
	// minKinds: so many kinds of a target are in the frequency list. A noun without kinds
	// that was never tagged may be in the list as another word, or as a name.
	minKinds = 5
	// subjectShare and targetShare: of a noun's occurrences in the texts that were
	// tagged with senses, how many are of the meaning at hand. A target's meaning is
	// narrowed down by what is said of it, a subject's by nothing.
	subjectShare = 2.0 / 3
	targetShare  = 0.5
	minTags      = 2
)

// The lexicographer's files of WordNet whose nouns are things that can be pointed at.
var entityFiles = map[int]string{
	5: "animal", 6: "artifact", 8: "body", 13: "food", 17: "object", 18: "person", 20: "plant", 27: "substance",
}

// living reports whether a lexicographer's file is of what is always counted.
func living(lexfile int) bool { return lexfile == 5 || lexfile == 18 || lexfile == 20 }

//go:embed upper.txt
var upperText string

//go:embed homographs.txt
var homographsText string

//go:embed exclusive.txt
var exclusiveText string

// set makes a set of a list's lines.
func set(text string) map[string]bool {
	m := make(map[string]bool)
	for _, line := range listed(text) {
		m[line] = true
	}
	return m
}

// unfit is what a gloss says of things that do not exist, or exist no more.
var unfit = regexp.MustCompile(`(?i)\b(mythical|mythology|mythological|legendary|imaginary|fictional|fictitious|folklore|fabled|hypothetical|supposed(ly)?|deity|goddess|god of|not a true|not true|imitation|no longer|usually considered|sometimes considered|sometimes classified)\b|^(any of [a-z]+ |an? )?(large |small )?extinct\b`)

// taboo is what WordNet says of words that are no use in a suite.
var taboo = regexp.MustCompile(`(?i)\b(offensive|disparag\w*|derogat\w*|ethnic slur|slur|vulgar\w*|obscen\w*|pejorative|contemptuous|insulting|prostitut\w*|genital\w*|sexual\w*|sexually|homosexual\w*|Nazi)\b`)

// register is what WordNet says of words that are not everybody's.
var register = regexp.MustCompile(`(?i)\b(slang|archaism|archaic|dialect|regionalism|colloquialism|formality|baby talk)\b`)

// judgeNoun judges a noun in one of its senses; target says that it is what is said of
// another.
func (g *generator) judgeNoun(v *Verdicts, s said, target bool) {
	n, l := s.node, s.lemma
	share, least, what := subjectShare, subjectZipf, "subject"
	if target {
		share, least, what = targetShare, targetZipf, "target"
	}

	switch {
	case n.instance:
	case scientific(g, l.text, n.lexfile):
		v.fail(Grammatical, "scientific name", "%q is a scientific name, which takes no article", l.text)
	case g.english.isPlural(l.text):
		v.fail(Grammatical, "plural", "%q is a plural or has no singular", l.text)
	case s.noun.number == Unclear:
		v.fail(Grammatical, "count or mass", "whether %q is counted is not clear (%s)", l.text, s.why)
	}

	switch {
	case l.senses == 1:
		v.pass(Monosemous, "%q has one meaning", l.text)
	case l.number == 1 && (l.tags >= minTags || target && l.tags > 0) && float64(l.tags) >= share*float64(l.allTags):
		v.pass(Monosemous, "%q has this meaning %d times of %d", l.text, l.tags, l.allTags)
	default:
		v.fail(Monosemous, what+" ambiguous", "%q has %d meanings, and this is number %d with %d of %d occurrences", l.text, l.senses, l.number, l.tags, l.allTags)
	}

	z := g.english.words.Zipf(l.text)
	compound := !g.english.words.has(l.text)
	switch {
	case n.instance:
		g.judgeName(v, n, l)
	case z < least:
		v.fail(Salient, what+" rare", "%q has Zipf frequency %.1f, below %.1f", l.text, z, least)
	case g.homographs[strings.ToLower(l.text)]:
		v.fail(Salient, what+" perhaps another word", "the frequency list has %q as another word, too", l.text)
	case compound && l.tags == 0:
		v.fail(Salient, "compound unknown", "of %q the list has only the words, whose frequency (Zipf %.1f) does not tell how well known it is, and it was never tagged", l.text, z)
	case l.parts > 0 && l.other > l.tags:
		v.fail(Salient, what+" mostly no noun", "%q is met %d times as another part of speech and %d times in this meaning", l.text, l.other, l.tags)
	case l.parts > 0 && l.tags == 0 && !compound && !target:
		v.fail(Salient, what+" perhaps no noun", "%q is another part of speech, too, and its frequency as a noun is not known", l.text)
	case target && l.tags == 0 && g.known(n) < minKinds:
		v.fail(Salient, "target perhaps another word", "%q was never tagged, and %d of its kinds are in the frequency list", l.text, g.known(n))
	case !target && l.tags == 0 && s.noun.number == Count && g.pluralGap(l.text) > countedGap:
		v.fail(Salient, "subject perhaps another word", "%q was never tagged, and its plural %q is too rare for a noun of its frequency: the list may have a name or a foreign word", l.text, g.english.pluralOf(l.text))
	case g.inflected(l.text):
		v.fail(Salient, what+" perhaps no noun", "%q is an inflected verb, too, and its frequency as a noun is not known", l.text)
	default:
		v.pass(Salient, "%q has Zipf frequency %.1f", l.text, z)
	}

	for _, u := range n.usage {
		if register.MatchString(u.lemmas[0].text) {
			v.fail(Salient, "register", "WordNet marks %q as %s", l.text, u.lemmas[0].text)
		}
	}
	marks := g.marked(n)
	if m := marks.register; m != "" {
		v.fail(Salient, "register", "WordNet's definition of %q has the word %q", l.text, m)
	}
	if !n.instance && n.lexfile == 18 && dead(n) {
		v.fail(Factual, "definition", "WordNet has %q, a person, as a kind", l.text)
	}
	if m := marks.unfit; m != "" {
		v.fail(Factual, "definition", "WordNet's definition of %q has the word %q", l.text, m)
	}
}

// marks are the words of a definition that speak against its noun.
type marks struct{ register, unfit string }

// marked returns a node's marks, which are looked for once.
func (g *generator) marked(n *node) marks {
	m, ok := g.marks[n]
	if !ok {
		m = marks{register.FindString(n.gloss), unfit.FindString(definition(n.gloss))}
		g.marks[n] = m
	}
	return m
}

// judgeName judges how well known a person is: by the surname, if WordNet has it as a word for that
// person and nothing else.
func (g *generator) judgeName(v *Verdicts, n *node, name lemma) {
	for _, l := range n.lemmas {
		if strings.Contains(l.text, " ") || !strings.HasSuffix(name.text, " "+l.text) {
			continue
		}
		z := g.english.words.Zipf(l.text)
		switch {
		case l.senses > 1:
			v.fail(Salient, "surname shared", "WordNet has %d meanings of %q, so its frequency does not tell how well known %s is", l.senses, l.text, name.text)
		case name.tags+l.tags == 0:
			v.fail(Salient, "name never tagged", "%q was never met in the texts that were tagged with senses", name.text)
		case z < nameZipf:
			v.fail(Salient, "subject rare", "%q has Zipf frequency %.1f, below %.1f", l.text, z, nameZipf)
		default:
			v.pass(Salient, "the surname %q, which WordNet has of one person, has Zipf frequency %.1f", l.text, z)
		}
		return
	}
	v.fail(Salient, "no surname", "WordNet does not have the surname of %q by itself", name.text)
}

// pluralGap is how much rarer a noun's plural is, in Zipf.
func (g *generator) pluralGap(text string) float64 {
	return g.english.words.Zipf(text) - g.english.words.Zipf(g.english.pluralOf(text))
}

// known counts a node's kinds that the frequency list has.
func (g *generator) known(n *node) int {
	count := 0
	for m := range n.below() {
		if m != n && g.english.words.Zipf(m.lemmas[0].text) > 0 {
			count++
		}
	}
	return count
}

// scientific reports whether a name of an animal or a plant looks like one of two Latin words: a
// capital first, and a last word that is no English noun.
func scientific(g *generator, text string, lexfile int) bool {
	words := strings.Fields(text)
	if lexfile != 5 && lexfile != 20 || len(words) < 2 || !unicode.IsUpper(rune(words[0][0])) {
		return false
	}
	last := words[len(words)-1]
	ids, err := g.db.Lookup(last, wordnet.Noun)
	return err != nil || len(ids) == 0 || g.english.words.Zipf(last) < subjectZipf
}

// profane are words that WordNet does not mark in every meaning.
var profane = regexp.MustCompile(`(?i)^(ass|asshole|arse|bastard|bitch|bugger|cock|cunt|dick|fag|faggot|fucker|motherfucker|prick|pussy|queer|shit|slut|tits?|turd|whore|vagina|penis|condom|nude)$`)

// inflected reports whether a word looks like a form of a verb that WordNet has, such as "spat" or
// "lighted"; only what the ending tells is seen.
func (g *generator) inflected(text string) bool {
	for _, end := range []string{"ed", "ing"} {
		stem, ok := strings.CutSuffix(strings.ToLower(text), end)
		if !ok || len(stem) < 3 {
			continue
		}
		for _, verb := range []string{stem, stem + "e", strings.TrimRight(stem, stem[len(stem)-1:]) + stem[len(stem)-1:]} {
			if g.verb(verb) {
				return true
			}
		}
	}
	return false
}

// definition is a gloss without its examples.
func definition(gloss string) string {
	text, _, _ := strings.Cut(gloss, `; "`)
	return text
}

// drawable reports whether a lemma has the shape of a word: letters, with spaces, hyphens and
// apostrophes in between, and at most three words.
func drawable(text string) bool {
	for _, w := range strings.Fields(text) {
		if strings.ToUpper(w) == w && strings.Trim(w, "IVX") != "" {
			return false // letters for words; Roman numerals are of kings
		}
		if !strings.ContainsAny(strings.ToLower(w), "aeiouy") && strings.Trim(w, "IVX") != "" {
			return false // an abbreviation
		}
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && r != ' ' && r != '-' && r != '\'' {
			return false
		}
	}
	return len(strings.Fields(text)) <= 3 && len(text) > 1
}

// targetWord reports whether a lemma can be a token's word: one word in small letters.
func targetWord(text string) bool {
	for _, r := range text {
		if !unicode.IsLower(r) {
			return false
		}
	}
	return len(text) > 1
}

// repeats reports whether a target is one of a subject's words, or the end of one: "a sheepdog is
// a dog" says little.
func repeats(subject, target string) bool {
	s := strings.ToLower(subject)
	return slices.ContainsFunc(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '-' }), func(w string) bool {
		return strings.HasSuffix(w, target) || strings.HasPrefix(w, target) && len(target) > 3
	})
}
