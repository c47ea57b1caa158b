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
	errQuestion    = errors.New("the conclusion is a question, which has no negation")
	errSentences   = errors.New("the conclusion is several sentences, of which the rules negate none alone")
	errSpeaker     = errors.New("the conclusion begins with who speaks and a colon; only what is said could be negated")
	errCut         = errors.New("the conclusion is cut off: it ends within a phrase, or has a bracket without its other")
	errLong        = fmt.Errorf("the conclusion has more than %d words", maxWords)
	errNoVerb      = errors.New("the conclusion is no sentence that the rules know: no finite verb of theirs is surely that of a main clause")
	errNoSubject   = errors.New("the conclusion is no sentence that the rules know: it begins with its verb")
	errSubordinate = errors.New("the conclusion is a clause that the rules know no main clause of")
)

// maxWords bounds what is looked through for verbs, word by word and back.
const maxWords = 400

// Negate makes the negation of an English sentence by rules. It fails where the text is a question, is
// several sentences, or is not surely a declarative sentence: data made from answers of multiple choice
// have many fragments. A word before the sentence that only joins it to another ("However,") is left out
// of the negation.
func Negate(sentence string) (negation string, rule Rule, err error) {
	s := oneLine(sentence)
	if strings.Contains(s, "?") {
		return "", "", errQuestion
	}
	body, end := s, ""
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") {
		body, end = strings.TrimRight(s, ".! "), "."
	}
	if severalSentences.MatchString(withoutAbbreviations(body)) {
		return "", "", errSentences
	}
	body = withoutLead(body)
	words := strings.Fields(body)
	if len(words) < 2 {
		return "", "", errNoVerb
	}
	if len(words) > maxWords {
		return "", "", errLong
	}
	if speaker.MatchString(body) {
		return "", "", errSpeaker
	}
	c := newClause(words)
	if !balanced(body) || cutEnds[c.words[len(words)-1]] && !strings.HasPrefix(words[len(words)-1], "A") {
		return "", "", errCut
	}
	for _, prefix := range []string{notTheCase, "It is not true that "} {
		if rest, ok := cutPrefixFold(body, prefix); ok {
			if inner := strings.Fields(rest); len(inner) > 1 && simple(inner) {
				return capital(rest) + end, Unwrap, nil
			}
		}
	}
	main := c.mainVerb()
	first, second := c.words[0], c.words[1]
	if initialSub[first] && (main < 0 || !c.divided(main)) {
		main = c.afterFirst()
	}
	switch {
	case questionWords[first] && (finites[second] || finiteBase[second]) && first != "what":
		return "", "", errQuestion
	case first == "how", first == "why", first == "whether", first == "which", first == "whose", first == "whom", first == "who",
		first == "that" && !finites[second],
		initialSub[first] && main < 0:
		return "", "", errSubordinate
	case finites[first] && !strings.Contains(first, "'") || finiteBase[first] || strings.HasSuffix(first, "n't"), c.imperative():
		return "", "", errNoSubject
	case main < 0:
		return "", "", errNoVerb
	}
	if simple(words) && c.single(main) {
		if n, ok := quantified(words, main); ok {
			return n + end, Quantifier, nil
		}
		if c.plainSubject(main) {
			if n, rule, ok := auxiliary(words); ok {
				return n + end, rule, nil
			}
		}
	}
	return notTheCase + small(body) + end, Wrap, nil
}

// withoutLead takes off words that only join a sentence to another.
func withoutLead(s string) string {
	for {
		first, rest, ok := strings.Cut(s, " ")
		w := word(first)
		next, _, _ := strings.Cut(rest, " ")
		if !ok || !leads[w] || !strings.HasSuffix(first, ",") && (!leadsAlone[w] || notLed[word(next)]) {
			return s
		}
		s = rest
	}
}

var (
	leadsAlone = set("so therefore thus hence but and")
	// Behind "so" and "and" these make something else: "so that", "so many".
	notLed = set("that many much far long few called little often as to too")
	// speaker is a name before a colon.
	speaker = regexp.MustCompile(`^(?:[^\s:]+ ){0,3}[^\s:]+:\s`)
	cutEnds = set("the a an and or but to that which who whose because if when than very into from at such as certain")
)

// balanced reports whether brackets come in pairs.
func balanced(s string) bool {
	open := 0
	for _, r := range s {
		switch r {
		case '(', '（':
			open++
		case ')', '）':
			if open--; open < 0 {
				return false
			}
		}
	}
	return open == 0
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
	if shape != compound && len(words) > 1 && len(words) <= maxWords && simple(words) {
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
var severalSentences = regexp.MustCompile(`[.!;]['"”’)]*\s+\S|[\p{Ll}\d)]\s?[.!][\s'"“]?\p{Lu}|;\S`)

var abbreviations = regexp.MustCompile(`\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|No|Co|Inc|Ltd|Jr|Sr|[ap]\.m|e\.g|i\.e|[A-Z])\.`)

func withoutAbbreviations(s string) string {
	return abbreviations.ReplaceAllStringFunc(s, func(a string) string { return strings.TrimSuffix(a, ".") })
}

var (
	// auxiliaries are the words that "not" may stand behind with the whole clause negated. "must not",
	// "may not" and "should not" say something else than that it is not so, and are not among them.
	auxiliaries   = set("is are was were am will would can could does do did")
	prepositions  = set("in on at by for from to of with without under over during after before between among about into through according despite")
	questionWords = set("why how what when where who which whether whose whom")

	// scope has words of which one within a clause can keep "not" from negating all of it: conjunctions,
	// relative pronouns, quantities, and what is already negative.
	scope = set(`and or but nor yet so because since although though while whereas if unless when whenever where wherever until before after as than that who whom whose which what why how
		therefore thus hence however both either neither not never no none nobody nothing nowhere seldom rarely hardly scarcely without cannot ever can't won't
		all every each everyone everybody everything some someone somebody something any anyone anybody anything many most few several more less fewer least only just even also too always often usually sometimes
		generally probably perhaps possibly certainly occasionally frequently mostly mainly largely merely solely quite rather somewhat fairly almost nearly still already once must may might should shall ought least one two three four five six seven eight nine ten half`)

	lowered = set(`a an the this that these those there here it its he she his her they their we our you your i my if when while although though because since as in on at by for from to of with without under over
		during after before between among some all every each any no none not both either neither most many few several more less only once unless until whether whoever whatever people one two three four five according despite
		even just then so such other another what who where how when's people's everyone everything nothing nobody someone something anyone anything`)
)

// word is a word without punctuation around it, in lower case.
func word(w string) string {
	return strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' && r != '’' }))
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

// quantified changes the quantity that a clause begins with. What follows must be what is counted, and the verb.
func quantified(words []string, main int) (string, bool) {
	if main < 1 || slices.ContainsFunc(words[2:], func(w string) bool { return negative[word(w)] }) {
		return "", false
	}
	text := strings.Join(words, " ")
	for _, q := range quantifiers {
		rest, ok := cutPrefixFold(text, q.from)
		if !ok {
			continue
		}
		counted := len(strings.Fields(q.from))
		if counted >= len(words) {
			return "", false
		}
		v := verbForms[word(words[counted])]
		if !pronouns[strings.TrimSpace(q.from)] && (main == counted || v.only || v.attitude) && !strings.HasPrefix(q.from, "there") {
			return "", false // "some say"
		}
		if q.from == "none of " && singularVerbs[word(words[main])] {
			return "", false // "some of them is"
		}
		if word(words[counted-1]) != "of" && word(words[counted]) == "of" {
			return "", false // "each of the"
		}
		return capital(q.to + rest), true
	}
	return "", false
}

var singularVerbs = set("is was has does")

// pronouns are quantifiers that count nothing that is named behind them.
var pronouns = set("everyone everybody everything nobody nothing someone somebody something")

// auxiliary changes "not" behind the first auxiliary, if nothing quantified begins the clause.
func auxiliary(words []string) (string, Rule, bool) {
	c := newClause(words)
	first := c.words[0]
	if scope[first] || prepositions[first] || first == "there" || slices.ContainsFunc(quantifiers, func(q struct{ from, to string }) bool { return strings.TrimSpace(q.from) == first }) {
		return "", "", false
	}
	for i, w := range words {
		if i == 0 {
			continue
		}
		if !auxiliaries[c.words[i]] || c.words[i] != w || !c.auxiliary(i) {
			if c.finite(i) || verbForms[c.words[i]].attitude && !determiners[c.words[i-1]] && !prepositions[c.words[i-1]] {
				return "", "", false // "thinks he is": the auxiliary is another clause's
			}
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
			if len(rest) == 1 || w == "do" || w == "does" || w == "did" {
				return "", "", false // "does not own" would become "does own"
			}
			return strings.Join(slices.Concat(words[:i+1], rest[1:]), " "), Remove, true
		}
		if negative[word(rest[0])] || w == "do" || w == "does" || w == "did" {
			return "", "", false // "do" without "not" is a verb of its own
		}
		if w == "can" {
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
	words := strings.Fields(s)
	if len(words) == 0 || !lowered[word(words[0])] || words[0] == "I" || strings.HasPrefix(words[0], "A") && letter(newClause(words)) {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// letter reports whether the "A" before a clause is the name of something: a verb or a conjunction follows.
func letter(c *clause) bool {
	switch {
	case c.raw[0] == "a":
		return false
	case c.raw[0] != "A": // "A,"
		return c.words[0] == "a" || c.words[0] == "a's"
	}
	next := c.at(1)
	if finites[next] || conjunctions[next] || isAdverb(next) || prepositions[next] || finiteBase[next] || next == "either" || next == "neither" {
		return true
	}
	v := verbForms[next]
	return v.form&formS != 0 && v.only || v.form&formPast != 0 || v.form&(formS|formPastPart) != 0 && behindVerb[c.at(2)]
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
