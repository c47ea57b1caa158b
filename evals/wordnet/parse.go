package wordnet

import (
	"fmt"
	"strconv"
	"strings"
)

// syntaxError is what is wrong with a line.
type syntaxError string

func (e syntaxError) Error() string { return string(e) }

func wrong(format string, args ...any) error { return syntaxError(fmt.Sprintf(format, args...)) }

// fields takes a line's words one by one.
type fields struct {
	rest string
	err  error
}

// next returns the next word; what is where it is missing.
func (f *fields) next(what string) string {
	f.rest = strings.TrimLeft(f.rest, " ")
	word, rest, _ := strings.Cut(f.rest, " ")
	f.rest = rest
	if word == "" && f.err == nil {
		f.err = wrong("the line ends before %s", what)
	}
	return word
}

// number returns the next word as a number from 0 to most.
func (f *fields) number(what string, base, most int) int {
	word := f.next(what)
	if f.err != nil {
		return 0
	}
	n, err := strconv.ParseUint(word, base, 32)
	if err != nil || n > uint64(most) {
		f.err = wrong("%s is %.40q and should be a number up to %d", what, word, most)
		return 0
	}
	return int(n)
}

const (
	maxOffset  = 1<<31 - 1
	maxWords   = 0xff // two hexadecimal digits
	maxPointer = 9999 // three decimal digits; some writers take four
	maxSenses  = 1000
	maxTags    = 1 << 30
)

// parsePOS reads a part of speech; 's' is an adjective.
func parsePOS(s string) (POS, bool) {
	if len(s) != 1 {
		return 0, false
	}
	switch s[0] {
	case 'n', 'v', 'a', 'r':
		return POS(s[0]), true
	case 's':
		return Adjective, true
	}
	return 0, false
}

// parseIndex reads a line of index.noun and so on: the lemma, and its synsets in
// the order of frequency.
func parseIndex(line string, pos POS) (string, []ID, error) {
	f := &fields{rest: line}
	lemma := f.next("the lemma")
	p := f.next("the part of speech")
	if got, ok := parsePOS(p); f.err == nil && (!ok || got != pos) {
		return "", nil, wrong("the part of speech is %.40q and should be %c", p, pos)
	}
	synsets := f.number("the number of synsets", 10, maxSenses)
	pointers := f.number("the number of pointer kinds", 10, maxSenses)
	for range pointers {
		if f.next("a kind of pointer"); f.err != nil {
			break
		}
	}
	f.number("the number of senses", 10, maxSenses)
	f.number("the number of tagged senses", 10, maxSenses)
	if f.err != nil {
		return "", nil, f.err
	}
	ids := make([]ID, 0, synsets)
	for range synsets {
		at := f.number("a synset's offset", 10, maxOffset)
		if f.err != nil {
			return "", nil, f.err
		}
		ids = append(ids, ID{pos, uint32(at)})
	}
	return fold(lemma), ids, nil
}

// parseSynset reads a line of data.noun and so on. The number of words is hexadecimal,
// that of pointers decimal.
func parseSynset(line string) (*Synset, error) {
	head, gloss, _ := strings.Cut(line, " | ")
	f := &fields{rest: head}
	offset := f.number("the offset", 10, maxOffset)
	s := &Synset{Gloss: strings.TrimSpace(gloss)}
	s.Lexfile = f.number("the lexicographer's file", 10, 99)
	p := f.next("the part of speech")
	if f.err != nil {
		return nil, f.err
	}
	pos, ok := parsePOS(p)
	if !ok {
		return nil, wrong("the part of speech is %.40q", p)
	}
	s.ID, s.Satellite = ID{pos, uint32(offset)}, p == "s"
	words := f.number("the number of words", 16, maxWords)
	if f.err == nil && words == 0 {
		return nil, wrong("the synset has no words")
	}
	for range words {
		lemma := f.next("a word")
		id := f.number("a word's lexical id", 16, maxWords)
		if f.err != nil {
			return nil, f.err
		}
		w := Word{LexID: id}
		w.Lemma, w.Marker = cutMarker(lemma)
		w.Lemma = strings.ReplaceAll(w.Lemma, "_", " ")
		s.Words = append(s.Words, w)
	}
	pointers := f.number("the number of pointers", 10, maxPointer)
	for range pointers {
		p := Pointer{Relation: Relation(f.next("a pointer"))}
		at := f.number("a pointer's offset", 10, maxOffset)
		tp := f.next("a pointer's part of speech")
		ends := f.number("a pointer's words", 16, 0xffff)
		if f.err != nil {
			return nil, f.err
		}
		to, ok := parsePOS(tp)
		if !ok {
			return nil, wrong("a pointer's part of speech is %.40q", tp)
		}
		p.Target = ID{to, uint32(at)}
		p.Source, p.Word = ends>>8, ends&0xff
		if p.Source > len(s.Words) {
			return nil, wrong("a pointer is from word %d of %d", p.Source, len(s.Words))
		}
		s.Pointers = append(s.Pointers, p)
	}
	return s, f.err
}

// cutMarker takes an adjective's syntactic marker, "(a)", "(p)" or "(ip)", off its lemma.
func cutMarker(lemma string) (string, string) {
	for _, marker := range []string{"a", "p", "ip"} {
		if bare, ok := strings.CutSuffix(lemma, "("+marker+")"); ok && bare != "" {
			return bare, marker
		}
	}
	return lemma, ""
}

// SenseKey is the parts of a sense key.
type SenseKey struct {
	Lemma   string // in lower case
	POS     POS
	Lexfile int
	LexID   int
	Head    string // the head word of a satellite's cluster
	HeadID  int
}

// ParseSenseKey reads a sense key such as "dog%1:05:00::". A lemma may hold ':' and '%',
// so the key is split at the '%' that a part of speech and two numbers follow.
func ParseSenseKey(key string) (SenseKey, error) {
	for from := 1; from < len(key); {
		i := strings.IndexByte(key[from:], '%')
		if i < 0 {
			break
		}
		at := from + i
		if k, ok := parseLexSense(key[at+1:]); ok {
			k.Lemma = fold(key[:at])
			return k, nil
		}
		from = at + 1
	}
	return SenseKey{}, wrong("%.80q is no sense key", key)
}

// parseLexSense reads what follows the '%' of a sense key.
func parseLexSense(s string) (SenseKey, bool) {
	var k SenseKey
	parts := strings.SplitN(s, ":", 4)
	if len(parts) != 4 || len(parts[0]) != 1 {
		return k, false
	}
	switch parts[0][0] {
	case '1':
		k.POS = Noun
	case '2':
		k.POS = Verb
	case '3', '5':
		k.POS = Adjective
	case '4':
		k.POS = Adverb
	default:
		return k, false
	}
	for i, to := range []*int{&k.Lexfile, &k.LexID} {
		n, err := strconv.ParseUint(parts[i+1], 10, 8)
		if err != nil && i == 1 { // some release has it as the data files do
			n, err = strconv.ParseUint(parts[i+1], 16, 8)
		}
		if err != nil {
			return k, false
		}
		*to = int(n)
	}
	// The head word may hold a ':', its number cannot.
	i := strings.LastIndexByte(parts[3], ':')
	if i < 0 {
		return k, false
	}
	k.Head = fold(parts[3][:i])
	if id := parts[3][i+1:]; id != "" {
		n, err := strconv.ParseUint(id, 10, 8)
		if err != nil {
			return k, false
		}
		k.HeadID = int(n)
	}
	return k, true
}
