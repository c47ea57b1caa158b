package cuc

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// determiners begin a noun phrase.
	determiners = set(`the a an this that these those its his her their our your my every each no some any another all both several many most few one such certain`)
	// behindVerb stand behind a verb, and hardly ever behind a noun: determiners, and pronouns that are objects.
	behindVerb = set(`certain the a an this these those its his her their our your my every each no some any another all both several many more less only him them it us me you themselves itself himself herself
		nothing something anything everything everyone someone nobody`)
	// thatNouns are forms in -s that may be nouns that a clause with "that" belongs to.
	thatNouns      = set("claims reports hopes fears doubts notes notices forecasts wishes guesses promises orders requests demands")
	objectPronouns = set("it him them us me you himself herself itself themselves")
	nominative     = set("i he she we they")
	finites        = set(`is are am was were has had does did will would can could cannot must may might should shall ought can't won't isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't couldn't
		wouldn't shouldn't mustn't it's he's she's that's there's what's who's here's i'm they're we're you're i've we've you've they've i'd he'll she'll it'll they'll we'll you'll i'll`)
	// finiteBase are finite where nothing stands before them that wants an infinitive.
	finiteBase = set("have do")
	infinitive = set(`to will would can could cannot must may might should shall can't won't couldn't wouldn't shouldn't mustn't do does did don't doesn't didn't let lets make makes made help helps helped not see sees saw watch hear
		and or but nor than he'll she'll it'll they'll we'll you'll i'll`)
	// nounWill are words before "will", "can" and "might" where those are nouns, besides determiners.
	nounWill = set("free good ill last own strong political sheer trash garbage tin beer iron popular general human of by with military")
	// openers begin a clause of their own, that has a finite verb of its own.
	openers   = set("which who whom whose when where because if whether although though while whereas unless whenever wherever how why what whatever whoever whichever that")
	relative  = set("which who whom whose")
	thatAlone = set("of on to from by like") // behind these "that" begins no clause
	// maybeOpeners begin a clause, or only a phrase.
	maybeOpeners = set("as than before after until till since once")
	// leads join a sentence to the one before it.
	leads = set("so therefore thus hence consequently accordingly however nonetheless nevertheless moreover furthermore besides and but yet finally also")
	// months stand before the name of a month.
	months = set("in of since until last next this by early late mid every")
	// initialSub begin a sentence with a clause that needs a main clause.
	initialSub   = set("where if when because since although though while whereas unless whenever wherever once until after before as")
	conjunctions = set("and or but nor")
)

// possessive reports whether a word is the owner of what follows.
func possessive(w string) bool { return strings.HasSuffix(w, "'s") || strings.HasSuffix(w, "s'") }

// isGerund reports whether a word may be the form of a verb in -ing.
func isGerund(w string) bool {
	return len(w) > 4 && strings.HasSuffix(w, "ing") && !strings.HasSuffix(w, "thing") && !noGerunds[w]
}

var noGerunds = set("during evening morning spring string beijing king nanjing")

// isAdverb reports whether a word may stand between a subject and its verb.
func isAdverb(w string) bool {
	return strings.HasSuffix(w, "ly") && !noAdverbs[w] || commonAdverbs[w]
}

var noAdverbs = set(`family supply apply rely reply comply imply italy july assembly anomaly early daily weekly monthly yearly hourly friendly likely unlikely elderly lovely lonely costly deadly orderly
	timely multiply butterfly monopoly ally bully belly fly jelly homily`)

var commonAdverbs = set("not never always often also sometimes seldom then already still just even now soon once again both all indeed thus therefore only ever hardly")

// clause is a text in words, to be looked through for its verbs.
type clause struct {
	raw   []string
	words []string // in lower case, without punctuation around
}

func newClause(raw []string) *clause {
	c := &clause{raw: raw}
	for _, w := range raw {
		c.words = append(c.words, word(strings.ReplaceAll(w, "’", "'")))
	}
	return c
}

// at is a word, empty outside of the clause.
func (c *clause) at(i int) string {
	if i < 0 || i >= len(c.words) {
		return ""
	}
	return c.words[i]
}

// determiner reports whether a word is one, and not a thing that is called A.
func (c *clause) determiner(i int) bool {
	return i >= 0 && i < len(c.words) && determiners[c.words[i]] && !(c.raw[i] == "A" && (i > 0 || letter(c)))
}

// stop reports whether punctuation ends what the word belongs to.
func (c *clause) stop(i int) bool {
	if i < 0 {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(c.raw[i], "'\"”’"))
	return strings.ContainsRune(",;:—)", r) || c.raw[i] == "-" || c.raw[i] == "–" || c.raw[i] == "—"
}

// before is the place of the last word before another that is no adverb, or -1 where punctuation or the beginning
// stands between.
func (c *clause) before(i int) int {
	for i--; i >= 0 && !c.stop(i); i-- {
		if !isAdverb(c.words[i]) {
			return i
		}
	}
	return -1
}

// capitalised reports whether the word is written as a name is.
func (c *clause) capitalised(i int) bool {
	r, _ := utf8.DecodeRuneInString(c.raw[i])
	return unicode.IsUpper(r)
}

// name reports whether all words before i are names, and surely so: two at least, or a letter.
func (c *clause) name(i int) bool {
	if i == 0 || i > 4 || determiners[c.words[0]] && c.raw[0] != "A" || prepositions[c.words[0]] {
		return false
	}
	for k := range i {
		if !c.capitalised(k) || c.stop(k) || isPlural(c.words[k]) {
			return false
		}
	}
	return i > 1 || utf8.RuneCountInString(c.raw[0]) == 1
}

// isPlural reports whether a word may be a plural.
func isPlural(w string) bool {
	return irregularPlurals[w] || len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") && !strings.HasSuffix(w, "'s") && !singularS[w]
}

var (
	irregularPlurals = set("people men women children police teeth feet mice geese data media criteria phenomena bacteria cattle")
	ambiguousPlurals = set("species series means")
	singularS        = set("news physics economics politics mathematics ethics always perhaps besides sometimes series species means lens gas bias canvas atlas texas dallas")
)

// auxiliary reports whether a word is a finite auxiliary, and not the noun "will" or the month of May.
func (c *clause) auxiliary(i int) bool {
	w := c.words[i]
	if finiteBase[w] {
		p := c.before(i)
		return i > 0 && p >= 0 && !infinitive[c.words[p]] && !infinitive[c.at(i-1)] && !prepositions[c.words[p]]
	}
	if !finites[w] {
		return false
	}
	switch w {
	case "will", "can", "might", "must":
		p := c.at(i - 1)
		if c.determiner(i-1) && p != "this" && p != "that" && p != "these" && p != "those" && p != "all" && p != "both" && p != "many" && p != "most" && p != "some" && p != "few" && p != "one" || nounWill[p] || strings.HasSuffix(p, "'s") || c.auxiliaryWord(i+1) {
			return false
		}
		return w == strings.ToLower(c.raw[i][:len(w)])
	case "may":
		return !c.capitalised(i) && !months[c.at(i-1)]
	case "is", "are":
		return c.at(i-1) != "to"
	}
	return true
}

// auxiliaryWord reports whether a word is written as a finite auxiliary is.
func (c *clause) auxiliaryWord(i int) bool { return finites[c.at(i)] }

// finite reports whether a word is a finite verb for sure.
func (c *clause) finite(i int) bool {
	if c.auxiliary(i) {
		return true
	}
	w, next := c.words[i], c.at(i+1)
	if i == 0 || c.capitalised(i) {
		return false
	}
	if c.stop(i) {
		next = ""
	}
	p := c.before(i)
	v, known := verbForms[w]
	if p < 0 {
		// Behind a comma: an apposition or a relative clause ends there, or a new phrase begins.
		return c.stop(i-1) && v.only && v.form&formBase == 0 && v.form&(formS|formPast) != 0
	}
	prev := c.words[p]
	subject := nominative[prev] || relative[prev] || prev == "it" && !prepositions[c.at(p-1)] && verbForms[c.at(p-1)].form == 0
	switch {
	case subject && (!known && (isPlural(w) || strings.HasSuffix(w, "ed") && prev != "it") || v.form&(formS|formPast|formPastPart) != 0):
		return true
	case subject && prev != "it" && v.form&formBase != 0:
		return true
	case (prev == "who" || prev == "which" || prev == "that" && p > 0 && !verbForms[c.at(p-1)].attitude) && behindVerb[next] && !determiners[w] && !prepositions[w] && !openers[w]:
		return true
	case conjunctions[prev], prepositions[prev], beForms[prev], haveForms[prev], infinitive[prev], possessive(prev), adjectival[prev]:
		return false
	}
	object := behindVerb[next] || next == "that" && v.attitude && !thatNouns[w] || possessive(next)
	if prev == "that" || prev == "this" {
		switch {
		case prev == "this":
			return (p == 0 || c.stop(p-1)) && v.form&formS != 0
		case v.form&(formS|formPast) != 0 && v.form&formBase == 0:
			return v.only || isPlural(c.at(p-1)) && v.form&formPast != 0
		case v.form&formBase != 0:
			return isPlural(c.at(p-1)) && (v.only || !verbForms[c.at(p-1)].attitude)
		}
		return false
	}
	if c.determiner(p) && prev != "all" && prev != "both" && prev != "each" {
		return false
	}
	often := i > 0 && isAdverb(c.words[i-1]) // no noun stands behind an adverb that has none before it
	switch {
	case !known:
		// The past form of a verb that the table lacks, with an object.
		return strings.HasSuffix(w, "ed") && len(w) > 4 && object
	case surePairs[w+" "+next] && (!isPlural(prev) || v.only || w == "needs"), surePluralPairs[w+" "+next] && isPlural(prev):
		return true
	case v.form&formS != 0:
		return v.only || often || c.name(p+1) || c.singularSubject(i) || object && !isPlural(prev)
	case v.form&formPast != 0 && v.form&formBase == 0:
		return true
	case v.form&formPastPart != 0 && v.form&formBase == 0:
		if next == "by" {
			return false
		}
		return v.free || v.to && next == "to" || v.attitude && next == "that" || objectPronouns[next] || (object || isPlural(next)) && !v.object || c.name(p+1)
	case v.form&formBase != 0:
		plural := (isPlural(prev) || prev == "you") && !c.capitalisedPhrase(p)
		switch {
		case v.only && (plural || often || !c.helped(i)):
			return true
		case plural && (object || p == 0 && irregularPlurals[prev] || p == 1 && counts[c.words[0]]):
			return true
		}
		return (often || object) && c.pluralHead(i)
	}
	return false
}

var (
	// surePairs are a verb and what stands behind it so that it is no noun: with a subject that is no plural, and
	// with one that is.
	surePairs       = setOf(strings.Split("lies in,leads to,points out,pointed out,needs to,wants to,focuses on,lags behind,ranks first,stems from,tends to,amounts to,aims to,works for,works as", ","))
	surePluralPairs = setOf(strings.Split("lie in,lead to,point out,pointed out,need to,want to,focus on,lag behind,rank first,stem from,come from,range from,work for,work as,work together,know how,know about,result from,aspire to", ","))
	counts          = set("all some most many few several these those both other")
)

// helped reports whether a verb stands before a word that a bare infinitive may follow: "help investors achieve".
func (c *clause) helped(i int) bool {
	for _, w := range c.words[:i] {
		switch w {
		case "help", "helps", "helped", "helping", "make", "makes", "made", "making", "let", "lets", "letting", "see", "sees", "saw", "seeing", "watch", "watching", "hear", "hearing", "have", "having":
			return true
		}
	}
	return false
}

// pluralHead reports whether a plural is the last word before the first preposition, at the beginning.
func (c *clause) pluralHead(i int) bool {
	for k := 0; k < i; k++ {
		if c.stop(k) {
			return false
		}
		if k > 0 && prepositions[c.words[k]] {
			return isPlural(c.words[k-1])
		}
	}
	k := c.before(i)
	return k >= 0 && isPlural(c.words[k])
}

var (
	beForms    = set("is are am was were be been being")
	haveForms  = set("has have had having")
	adjectival = set("new old good bad main same other own different public social economic national local recent current general high low")
)

// capitalisedPhrase reports whether a word is of a name in the middle of the sentence, of which the end of the
// word says nothing.
func (c *clause) capitalisedPhrase(i int) bool { return i > 0 && c.capitalised(i) }

// singularSubject reports whether the words before a form in -s are a determiner of one thing and words without
// plural or preposition: "a county plans" can be no noun phrase.
func (c *clause) singularSubject(i int) bool {
	begin := 0
	for k := i - 1; k >= 0; k-- {
		if c.stop(k) {
			begin = k + 1
			break
		}
	}
	n := 0
	for k := begin; k < i; k++ {
		w := c.words[k]
		if k == begin {
			if w != "a" && w != "an" && w != "this" && w != "each" && w != "every" && w != "another" && w != "one" || c.at(k+1) == "of" {
				return false
			}
			continue
		}
		if prepositions[w] || isPlural(w) || determiners[w] || conjunctions[w] || openers[w] || c.auxiliaryWord(k) {
			return false
		}
		if !isAdverb(w) {
			n++
		}
	}
	return n > 0
}

// opens reports whether a clause within begins at a word: that clause has the next finite verb.
func (c *clause) opens(i int) bool {
	w, next := c.words[i], c.at(i+1)
	if !openers[w] {
		return false
	}
	if c.stop(i) || next == "" {
		return false
	}
	v := verbForms[next]
	switch {
	case relative[w]:
		return true
	case w == "that" && initialSub[c.words[0]] && (c.stop(i-1) || c.at(i-1) == "then"):
		return false // "if an artist is poor, that artist is …"
	case w == "that":
		return next != "of" && !thatAlone[c.at(i-1)]
	case next == "to" || next == "possible" || next == "necessary" || isGerund(next) || prepositions[next]:
		return false
	case w != "what" && w != "how" && (v.form == formPart || v.form == formPastPart):
		return false
	}
	return true
}

// mainVerb finds the finite verb of the main clause, -1 where there is none that is sure. Each clause within takes
// the first finite verb behind its beginning, so that what is left over is the main clause's.
func (c *clause) mainVerb() int {
	open, maybe := 0, 0
	within := false // the last verb was a clause's within
	for i, w := range c.words {
		v := verbForms[w]
		prev := c.at(i - 1)
		switch {
		case c.opens(i):
			open++
			continue
		case maybeOpeners[w] && !c.stop(i) && !isGerund(c.at(i+1)) && !c.phrase(i):
			maybe++
			continue
		case nominative[w] && i > 0 && !c.stop(i-1) && !conjunctions[prev] && !openers[prev] && !maybeOpeners[prev] && !prepositions[prev] && !isAdverb(prev) && !finites[prev] && !verbForms[prev].attitude && prev != "so" && !noNouns[prev]:
			open++ // "the book he wrote"
		case reducers[w] && i > 0 && c.determiner(i) && !times[c.at(i+1)] && !c.stop(i-1) && c.nounLike(i-1):
			open++ // "the book the nurse wrote"
		case c.finite(i):
			k := i - 1
			for k >= 0 && isAdverb(c.words[k]) {
				k--
			}
			switch {
			case within && conjunctions[c.at(k)]:
			case open > 0:
				open--
				within = true
			case maybe > 0:
				maybe--
				within = true
			default:
				return i
			}
			if v.clause && c.saysMore(i) || v.attitude && c.auxiliaryWord(i+1) && c.words[0] != "what" {
				open++ // "examples that he admits are rare"
			}
			continue
		case v.clause && (v.form&formIng != 0 && !c.determiner(i-1) || v.form&formBase != 0 && prev == "to") && c.saysMore(i):
			open++ // "believing he is right"
		}
		if c.stop(i) {
			maybe = 0
		}
	}
	return -1
}

// phrase reports whether "as" or "than" surely begins no clause: "such as", "serve as", "other than", "than in".
func (c *clause) phrase(i int) bool {
	prev, next := c.at(i-1), c.at(i+1)
	switch c.words[i] {
	case "as":
		return asAfter[prev]
	case "than":
		return prev == "other" || prev == "rather" || prepositions[next] || numbers[next] || next != "" && unicode.IsDigit(rune(next[0]))
	}
	return false
}

var (
	asAfter = set("such well known serve serves served serving act acts acted acting used use uses work works worked working regarded seen viewed described treated defined considered known")
	numbers = set("one two three four five six seven eight nine ten twenty thirty forty fifty hundred half")
)

// afterFirst finds the main verb behind the first comma, or "then", of a sentence that begins with a clause within,
// where the rules cannot follow that clause's own verb. -1 where it is not sure.
func (c *clause) afterFirst() int {
	verb := maybeOpeners[c.words[0]] // which may begin a phrase without verb
	for k := 1; k < len(c.words)-2; k++ {
		v := verbForms[c.words[k]]
		if c.auxiliary(k) || v.form != 0 && !determiners[c.words[k-1]] && !prepositions[c.words[k-1]] {
			verb = true
		}
		if !c.stop(k) {
			continue
		}
		rest := newClause(c.raw[k+1:])
		if rest.words[0] == "then" {
			rest, k = newClause(c.raw[k+2:]), k+1
		}
		main := rest.mainVerb()
		if !verb || k < 2 || main < 1 || conjunctions[rest.words[0]] || openers[rest.words[0]] && rest.words[0] != "that" || initialSub[rest.words[0]] || rest.imperative() {
			return -1
		}
		return k + 1 + main
	}
	return -1
}

// reducers are determiners, which begin a clause where a noun stands before them.
var reducers = set("the a an this these its his her their our your my")

// nounLike reports whether a word is none of those that a determiner follows within a phrase.
func (c *clause) nounLike(i int) bool {
	w := c.words[i]
	if p := c.before(i); p >= 0 && infinitive[c.words[p]] && !conjunctions[c.words[p]] && c.words[p] != "than" || c.finite(i) {
		return false
	}
	return !prepositions[w] && !conjunctions[w] && !openers[w] && !maybeOpeners[w] && !isAdverb(w) && !c.auxiliaryWord(i) && (verbForms[w].form == 0 || !verbForms[w].only && (verbForms[w].form == formS || c.determiner(i-1))) && !beForms[w] && !haveForms[w] && !finiteBase[w] && !determiners[w] &&
		!isGerund(w) && !strings.HasSuffix(w, "ed") && !strings.HasSuffix(w, "self") && !strings.HasSuffix(w, "selves") && !months[w] && !leads[w] && !noNouns[w]
}

// times are what "this" and "a" count as an adverb: "this year", "a day".
var times = set("year years month months week weeks day days time times moment morning afternoon evening decade century season")

// noNouns are other words that a determiner follows within a phrase.
var noNouns = set("beneath either neither maybe perhaps to all both half such as than like per plus minus times worth except near around across within beyond behind against toward towards upon off out up down onto inside outside throughout along unlike every each quite rather what away back better you him them me us it today yesterday each other only due more less most least that then therefore else not")

// saysMore reports whether a clause without "that" may follow a verb of saying or thinking.
func (c *clause) saysMore(i int) bool {
	next := c.at(i + 1)
	return next != "" && !c.stop(i) && !openers[next] && next != "to" && !prepositions[next] && !finites[next]
}

// imperative reports whether the text begins as a command does, or with a verb whose subject was left out.
func (c *clause) imperative() bool {
	i := 0
	for i < len(c.words)-1 && (isAdverb(c.words[i]) || c.words[i] == "please" || c.words[i] == "either") && !determiners[c.words[i]] {
		i++
	}
	w, next := c.words[i], c.at(i+1)
	v, known := verbForms[w]
	switch {
	case w == "let" || w == "do" || w == "don't" || w == "be":
		return true
	case c.stop(i) && i == 0 && !(v.only && v.form&formS != 0), !known, v.form&(formBase|formS) == 0, conjunctions[next] && !v.only:
		return false
	case v.only && v.form&formS == 0 && !finites[next]:
		return true
	case v.only && v.form&formS != 0:
		return true
	}
	if w == "like" {
		return next == "to"
	}
	return behindVerb[next] && c.raw[i+1] != "A" || next == "to" || c.words[0] == "never" || c.words[0] == "please"
}

// divided reports whether punctuation or "then" stands between the beginning, which is a clause within, and the
// main verb.
func (c *clause) divided(main int) bool {
	for i := range main {
		if c.stop(i) || c.words[i] == "then" {
			return true
		}
	}
	return false
}

// single reports whether the main verb is the only finite one, so far as words tell.
func (c *clause) single(main int) bool {
	for i, w := range c.words {
		if i == main {
			continue
		}
		v := verbForms[w]
		switch {
		case i > main && (c.auxiliary(i) || nominative[w]), i > 0 && nominative[w]:
			return false
		case i < main && (c.finite(i) || v.attitude && !determiners[c.at(i-1)] && !prepositions[c.at(i-1)]):
			return false
		case i > main && v.attitude && c.saysMore(i) && v.form&(formBase|formS|formIng) != 0 && v.only:
			return false
		}
	}
	return true
}

// plainSubject reports whether "not" behind the main verb negates all of the clause: the subject is one thing, by
// name, by a definite description or as a mass, and holds nothing that might be a verb. "A man was not fined"
// and "the guests will not pay" say something else than that it is not so that a man was, and that they will.
func (c *clause) plainSubject(main int) bool {
	first := c.words[0]
	switch {
	case main == 0, first == "a" && !letter(c), first == "an":
		return false
	case nominative[first]:
		return c.before(main) == 0 && first != "we" && first != "they"
	case strings.HasSuffix(first, "ing") && verbForms[first].form != 0:
		return false
	}
	if first == "another" || strings.HasSuffix(first, "'s") && scope[strings.TrimSuffix(first, "'s")] || ambiguousPlurals[c.words[main-1]] {
		return false
	}
	if w := c.words[main]; w == "are" || w == "were" || strings.HasPrefix(w, "aren") || strings.HasPrefix(w, "weren") {
		return false
	}
	head := true // before the first preposition
	for i := 0; i < main; i++ {
		w, prev := c.words[i], c.at(i-1)
		v := verbForms[w]
		behind := i == 0 || determiners[prev] || prepositions[prev] || strings.HasSuffix(prev, "'s")
		switch {
		case conjunctions[w], openers[w], nominative[w] && i > 0:
			return false
		case prepositions[w]:
			if head && i > 0 && isPlural(c.words[i-1]) {
				return false
			}
			head = false
		case determiners[w] && i > 0 && !prepositions[prev]:
			return false // "the mayor hopes the plan will"
		case v.attitude && !(behind && i > 0),
			v.form&(formPast|formPastPart|formPart) != 0 && v.form&formBase == 0 && !behind,
			v.form == 0 && strings.HasSuffix(w, "ed") && !behind:
			return false
		case isPlural(w) && i+1 < main && !prepositions[c.words[i+1]] && !isAdverb(c.words[i+1]) && !c.capitalisedPhrase(i):
			return false // it may be a verb
		}
	}
	last := main - 1
	for last > 0 && isAdverb(c.words[last]) {
		last--
	}
	return !head || !isPlural(c.words[last])
}
