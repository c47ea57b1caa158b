package cuc

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Rule is what makes the negation of a sentence out of it. The rules are tried in their order; the
// first that fits is taken. negation.txt has examples of each, which tests run.
type Rule string

// The rules.
const (
	// Unwrap takes off "It is not the case that".
	Unwrap Rule = "unwrap"
	// Quantifier changes the word that begins a simple clause: all → not all, some → no, no → some.
	Quantifier Rule = "quantifier"
	// Remove takes "not" away from behind the first auxiliary of a simple clause.
	Remove Rule = "remove not"
	// Insert puts "not" behind the first auxiliary of a simple clause.
	Insert Rule = "insert not"
	// Wrap puts "It is not the case that" in front: right for every sentence, where the others would
	// negate only a part.
	Wrap Rule = "wrap"
)

// NegationExamples is the table of examples: for each conclusion the rule and the negation, or why the
// rules do not negate it.
//
//go:embed negation.txt
var NegationExamples string

const notTheCase = "It is not the case that "

// Why the rules do not negate a conclusion.
var (
	errQuestion  = errors.New("the conclusion is a question, which has no negation")
	errSentences = errors.New("the conclusion is several sentences, of which the rules negate none alone")
	errNoVerb    = errors.New("the conclusion is no sentence that the rules know: it has no finite verb of theirs")
	errNoSubject = errors.New("the conclusion is no sentence that the rules know: it begins with its verb")
)

// Negate makes the negation of an English sentence by rules. It fails where the text is a question, is
// several sentences, or is not known to be a sentence at all: data made from answers of multiple choice
// have many fragments.
func Negate(sentence string) (negation string, rule Rule, err error) {
	s := oneLine(sentence)
	body, end := s, ""
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") {
		body, end = strings.TrimRight(s, ".! "), "."
	}
	switch {
	case strings.HasSuffix(s, "?"):
		return "", "", errQuestion
	case severalSentences.MatchString(withoutAbbreviations(body)):
		return "", "", errSentences
	}
	words := strings.Fields(body)
	if len(words) < 2 {
		return "", "", errNoVerb
	}
	first := word(words[0])
	if rest, ok := cutPrefixFold(body, notTheCase); ok {
		return capital(rest) + end, Unwrap, nil
	}
	if rest, ok := cutPrefixFold(body, "It is not true that "); ok {
		return capital(rest) + end, Unwrap, nil
	}
	switch {
	case questionWords[first] && (len(words) < 3 || !clauseVerb(words[1:])):
		return "", "", errNoVerb
	case auxiliaries[first] || bare[first]:
		return "", "", errNoSubject
	case !clauseVerb(words), strings.HasSuffix(first, "ing") && !clauseVerb(beforeSubordinate(words)):
		return "", "", errNoVerb
	}
	if simple(words) {
		if n, ok := quantified(words); ok {
			return n + end, Quantifier, nil
		}
		if n, rule, ok := auxiliary(words); ok {
			return n + end, rule, nil
		}
	}
	return notTheCase + small(body) + end, Wrap, nil
}

// NegateFOLIO makes the negation of a conclusion of FOLIO, which are all sentences. Its formula decides
// what may be changed within the sentence: of an atom "not" may be put in, of a negated atom it may be taken
// away. All others, and formulas that cannot be read, are wrapped.
func NegateFOLIO(sentence, formula string) (negation string, rule Rule, err error) {
	s := oneLine(sentence)
	if s == "" {
		return "", "", errors.New("the conclusion is empty")
	}
	body := strings.TrimRight(s, ".! ")
	words := strings.Fields(body)
	shape := shapeOf(formula)
	if shape != compound && simple(words) {
		if n, rule, ok := auxiliary(words); ok && (rule == Insert) == (shape == atom) {
			return n + ".", rule, nil
		}
	}
	return notTheCase + small(body) + ".", Wrap, nil
}

// shape is the outermost form of a formula.
type shape int

const (
	compound shape = iota
	atom
	negatedAtom
)

var atomPattern = regexp.MustCompile(`^[\pL\pN_'’-]+\([^()∀∃¬∧∨→↔⊕]*\)$`)

func shapeOf(formula string) shape {
	f := strings.TrimSpace(formula)
	negated := false
	for {
		if inner, ok := strings.CutPrefix(f, "¬"); ok {
			negated, f = !negated, strings.TrimSpace(inner)
		} else if strings.HasPrefix(f, "(") && strings.HasSuffix(f, ")") && !strings.ContainsAny(f, "∧∨→↔⊕∀∃") {
			f = strings.TrimSpace(f[1 : len(f)-1])
		} else {
			break
		}
	}
	switch {
	case !atomPattern.MatchString(f):
		return compound
	case negated:
		return negatedAtom
	}
	return atom
}

// severalSentences finds the end of a sentence with more behind it.
var severalSentences = regexp.MustCompile(`[.!?;]['"”’)]*\s+\S|[?]`)

var abbreviations = regexp.MustCompile(`\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|No|[A-Z])\.`)

func withoutAbbreviations(s string) string {
	return abbreviations.ReplaceAllStringFunc(s, func(a string) string { return strings.TrimSuffix(a, ".") })
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var (
	// auxiliaries are the words that "not" may stand behind with the whole clause negated. "must not",
	// "may not" and "should not" say something else than that it is not so, and are not among them.
	auxiliaries = set("is are was were am will would can could does do did")
	modals      = set("must may might should shall ought need has have had cannot can't won't isn't aren't wasn't weren't doesn't don't didn't couldn't wouldn't hasn't haven't shouldn't 's")

	// verbs are finite forms that conclusions have where they have no auxiliary, and that are
	// hardly ever something else.
	verbs = set(`accepts affects agrees allows appears applies argues asks assumes attacks attracts attributes became becomes began begins believe believed believes belong belongs brings came caused
		causes chose claims comes concludes confuses considers consists contains continues contributes criticizes decided decreased denies depends describes deserves determines
		differs draws eats emphasizes enables ensures establishes exists explains fails fell fined finds found gained gave gets gives goes grew grows happens helps hosted ignores implies improves included
		includes increased indicates infers insisted involves keeps knew knows lacks leads left lies likes lives looks lost loves made makes maintains means meets
		mentions misinterprets needs occurs offers overlooks owns participated performs plays possesses prefers presents presumes presupposes prevents proves provides publishes raises reached reaches reads receives refers
		reflects refuses rejects relies remains represents requires rose said sang saw says seems sells sent serves shows sold speaks spends stands stated states stays studied studies suffers suggests supports takes taught teaches tells
		tends thinks thought took treats uses violates visited visits wants went won works writes wrote`)

	// bare begin fragments that have no subject: imperatives, infinitives, participles, and what a model of
	// multiple choice completes ("fails to consider that …").
	bare = func() map[string]bool {
		m := set("to be been being changed accelerate like")
		for v := range verbs {
			m[v] = true
		}
		return m
	}()
	subordinators = set("that which who whom whose where when because if whether although though while")
	prepositions  = set("in on at by for from to of with without under over during after before between among about into through according despite")
	questionWords = set("why how what when where who which whether whose whom")

	// scope has words of which one within a clause can keep "not" from negating all of it: conjunctions,
	// relative pronouns, quantities, and what is already negative.
	scope = set(`and or but nor yet so because since although though while whereas if unless when whenever where wherever until before after as than that who whom whose which what why how
		therefore thus hence however both either neither not never no none nobody nothing nowhere seldom rarely hardly scarcely without cannot
		all every each everyone everybody everything some someone somebody something any anyone anybody anything many most few several more less fewer least only just even also too always often usually sometimes
		generally probably perhaps possibly certainly must may might should shall ought least one two three four five six seven eight nine ten half`)

	lowered = set(`a an the this that these those there here it its he she his her they their we our you your i my if when while although though because since as in on at by for from to of with without under over
		during after before between among some all every each any no none not both either neither most many few several more less only once unless until whether whoever whatever people one two three four five according despite
		even just then so such other another what who where how when's people's everyone everything nothing nobody someone something anyone anything`)
)

// word is a word without punctuation around it, in lower case.
func word(w string) string {
	return strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' }))
}

// clauseVerb reports whether a finite verb that is known stands behind the first word.
func clauseVerb(words []string) bool {
	for _, w := range words[1:] {
		if w = word(strings.ReplaceAll(w, "’", "'")); auxiliaries[w] || modals[w] || verbs[w] {
			return true
		}
	}
	return false
}

// beforeSubordinate returns the words before the first that begins a clause within the sentence: "presenting
// an example to show that the plan is good" has its verb only there.
func beforeSubordinate(words []string) []string {
	for i, w := range words {
		if i > 0 && subordinators[word(w)] {
			return words[:i]
		}
	}
	return words
}

// simple reports whether there is but one clause, with nothing behind its beginning that could have "not"
// negate only a part: a word of scope, or punctuation within.
func simple(words []string) bool {
	for i, w := range words {
		bareWord := word(w)
		if i > 0 && scope[bareWord] && bareWord != "not" && !(i == 1 && word(words[0]) == "not") {
			return false
		}
		if i < len(words)-1 && strings.ContainsAny(w[len(w)-1:], ",;:—)\"") || strings.ContainsAny(w, "(\"“”") || w == "-" || w == "–" {
			return false
		}
	}
	return true
}

// quantifiers are beginnings of a clause, in lower case, and what they become.
var quantifiers = []struct{ from, to string }{
	{"not all ", "all "}, {"not every ", "every "}, {"all ", "not all "}, {"every ", "not every "}, {"each ", "not every "}, {"everyone ", "not everyone "}, {"everybody ", "not everybody "},
	{"everything ", "not everything "}, {"none of ", "some of "}, {"no one ", "someone "}, {"nobody ", "somebody "}, {"nothing ", "something "}, {"some of ", "none of "},
	{"some ", "no "}, {"someone ", "no one "}, {"somebody ", "nobody "}, {"something ", "nothing "},
	{"there is a ", "there is no "}, {"there is an ", "there is no "},
}

// negative are what stands in a clause that is negated behind its beginning.
var negative = set("not never no none nothing nobody cannot don't doesn't didn't isn't aren't wasn't weren't won't can't couldn't wouldn't")

func quantified(words []string) (string, bool) {
	for _, w := range words[2:] {
		if negative[word(w)] {
			return "", false
		}
	}
	text := strings.Join(words, " ")
	for _, q := range quantifiers {
		rest, ok := cutPrefixFold(text, q.from)
		if !ok {
			continue
		}
		return capital(q.to + rest), true
	}
	return "", false
}

// auxiliary changes "not" behind the first auxiliary, if nothing quantified begins the clause.
func auxiliary(words []string) (string, Rule, bool) {
	first := word(words[0])
	if scope[first] || prepositions[first] || first == "there" || slices.ContainsFunc(quantifiers, func(q struct{ from, to string }) bool { return strings.TrimSpace(q.from) == first }) {
		return "", "", false
	}
	for i, w := range words {
		if verbs[word(w)] {
			return "", "", false // "thinks he is": the auxiliary is another clause's
		}
		if i == 0 || !auxiliaries[word(w)] || word(w) != strings.ToLower(w) {
			continue
		}
		rest := words[i+1:]
		if len(rest) == 0 {
			return "", "", false // "than it was"
		}
		if slices.ContainsFunc(rest[1:], func(w string) bool { return negative[word(w)] }) {
			return "", "", false
		}
		if word(rest[0]) == "not" {
			if len(rest) == 1 || word(w) == "do" || word(w) == "does" || word(w) == "did" {
				return "", "", false // "does not own" would become "does own"
			}
			return strings.Join(slices.Concat(words[:i+1], rest[1:]), " "), Remove, true
		}
		if negative[word(rest[0])] || word(w) == "do" || word(w) == "does" || word(w) == "did" {
			return "", "", false // "do" without "not" is a verb of its own
		}
		if word(w) == "can" {
			return strings.Join(slices.Concat(words[:i], []string{"cannot"}, rest), " "), Insert, true
		}
		return strings.Join(slices.Concat(words[:i+1], []string{"not"}, rest), " "), Insert, true
	}
	return "", "", false
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// capital begins a text with a capital letter.
func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// small begins a text with a small letter, if its first word is one that is no name.
func small(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if lowered[word(first)] && first != "I" {
		r, n := utf8.DecodeRuneInString(s)
		return string(unicode.ToLower(r)) + s[n:]
	}
	return s
}

// NegationRow is a row of the table of examples.
type NegationRow struct {
	Line               int
	Sentence, Negation string
	Rule               Rule
	Refused            string // why, where there is no negation
}

// ParseNegations reads a table of examples: three fields between bars a line, the rule, the sentence and
// its negation; the rule is "–" where the third field is why it is refused. Lines that are empty or begin
// with # are left out.
func ParseNegations(text string) ([]NegationRow, error) {
	var out []NegationRow
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "|")
		if len(f) != 3 {
			return nil, fmt.Errorf("line %d has %d fields between bars, and not 3", i+1, len(f))
		}
		r := NegationRow{Line: i + 1, Rule: Rule(strings.TrimSpace(f[0])), Sentence: strings.TrimSpace(f[1]), Negation: strings.TrimSpace(f[2])}
		if r.Rule == "–" {
			r.Rule, r.Refused, r.Negation = "", r.Negation, ""
		}
		out = append(out, r)
	}
	return out, nil
}
