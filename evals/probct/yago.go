package probct

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// YAGOCounts are what became of a file of YAGO's facts.
type YAGOCounts struct {
	Facts   int `json:"facts"`   // that say where something is
	Used    int `json:"used"`    // whose place the gazetteer has
	Other   int `json:"other"`   // of other relations
	Unknown int `json:"unknown"` // whose place the gazetteer does not have, or has several times
}

// locating are the relations that say that the subject is in the object, and located
// those that say that the object is in the subject.
var (
	locating = []string{"isLocatedIn", "containedInPlace", "location", "isCapitalOf", "capitalOf"}
	located  = []string{"hasCapital", "capital", "containsPlace"}
)

const (
	maxYAGOLine  = 1 << 20
	maxYAGOFacts = 20_000_000
	maxYAGOUsed  = 1_000_000
)

// triple is a statement of YAGO's.
type triple struct{ subject, relation, object string }

// readTriples reads TSV, with the facts' ids in a first column or without, and Turtle or
// N-Triples with a statement on each line, where ';' and ',' go on with the subject and the relation
// before. A line that is none of these is an error with its number.
func readTriples(r io.Reader, yield func(triple) error) error {
	b := bufio.NewReaderSize(r, 256<<10)
	if mark, _ := b.Peek(3); bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
		b.Discard(3)
	}
	var subject, relation string
	facts := 0
	for n := 1; ; n++ {
		line, err := readBounded(b, maxYAGOLine)
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("line %d: %w", n, err)
		}
		text := strings.TrimSpace(string(line))
		if text == "" || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "@") || strings.HasPrefix(strings.ToUpper(text), "PREFIX ") {
			if err == io.EOF {
				return nil
			}
			continue
		}
		give := func(t triple) error {
			if facts++; facts > maxYAGOFacts {
				return fmt.Errorf("line %d: there are more than %d facts", n, maxYAGOFacts)
			}
			return yield(t)
		}
		if strings.Contains(text, "\t") && !strings.HasSuffix(text, " .") && !strings.HasSuffix(text, "\t.") {
			fields := strings.Split(text, "\t")
			for i := range fields {
				fields[i] = strings.TrimSpace(fields[i])
			}
			// YAGO 3's files have an id first and a value last, either of which may be empty.
			if len(fields) > 3 && fields[1] != "" && isTerm(fields[1]) && isTerm(fields[2]) && isTerm(fields[3]) {
				fields = fields[1:]
			}
			if len(fields) < 3 || fields[0] == "" || fields[1] == "" || fields[2] == "" {
				return fmt.Errorf("line %d: a fact is SUBJECT, RELATION and OBJECT with tabs in between", n)
			}
			if err := give(triple{fields[0], fields[1], fields[2]}); err != nil {
				return err
			}
		} else {
			terms, terr := turtleTerms(text)
			if terr != nil {
				return fmt.Errorf("line %d: %w", n, terr)
			}
			end := terms[len(terms)-1]
			terms = terms[:len(terms)-1]
			switch {
			case len(terms) == 3:
				subject, relation = terms[0], terms[1]
			case len(terms) == 2 && subject != "":
				relation = terms[0]
			case len(terms) == 1 && relation != "":
			default:
				return fmt.Errorf("line %d: %d terms make no statement", n, len(terms))
			}
			if err := give(triple{subject, relation, terms[len(terms)-1]}); err != nil {
				return err
			}
			switch end {
			case ".":
				subject, relation = "", ""
			case ";":
				relation = ""
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

// isTerm reports whether a field of a TSV file is a name and not empty.
func isTerm(s string) bool { return s != "" }

func readBounded(b *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return nil, fmt.Errorf("it is longer than %d bytes", most)
		}
		if err != bufio.ErrBufferFull {
			return line, err
		}
	}
}

// turtleTerms splits a line of Turtle into its terms; the last is ".", ";" or ",".
func turtleTerms(text string) ([]string, error) {
	var terms []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimLeft(text, " \t") {
		switch text[0] {
		case '<':
			i := strings.IndexByte(text, '>')
			if i < 0 {
				return nil, fmt.Errorf("a < has no >")
			}
			terms, text = append(terms, text[:i+1]), text[i+1:]
		case '"':
			i := 1
			for i < len(text) && text[i] != '"' {
				if text[i] == '\\' {
					i++
				}
				i++
			}
			if i >= len(text) {
				return nil, fmt.Errorf("a text has no end")
			}
			// A language or a type may follow.
			j := i + 1
			for j < len(text) && !strings.ContainsRune(" \t", rune(text[j])) {
				j++
			}
			terms, text = append(terms, text[:j]), text[j:]
		default:
			i := strings.IndexAny(text, " \t")
			if i < 0 {
				i = len(text)
			}
			word := text[:i]
			text = text[i:]
			if len(word) > 1 && text == "" && strings.ContainsRune(".;,", rune(word[len(word)-1])) {
				terms = append(terms, word[:len(word)-1], word[len(word)-1:])
				continue
			}
			terms = append(terms, word)
		}
		if len(terms) > 8 {
			return nil, fmt.Errorf("a line has one statement")
		}
	}
	if last := terms[len(terms)-1]; last != "." && last != ";" && last != "," {
		return nil, fmt.Errorf("the statement has no end (\".\", \";\" or \",\")")
	}
	if len(terms) < 2 {
		return nil, fmt.Errorf("there is no statement before %q", terms[0])
	}
	return terms, nil
}

// localName is a term's name without what surrounds it: <http://…/Paris>, <Paris> and yago:Paris
// are "Paris".
func localName(term string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(term, "<"), ">")
	if i := strings.LastIndexAny(name, "/#"); i >= 0 {
		name = name[i+1:]
	} else if i := strings.IndexByte(name, ':'); i >= 0 && !strings.HasPrefix(term, "<") {
		name = name[i+1:]
	}
	return name
}

// readable is the name that people use: "Eiffel_Tower" is "Eiffel Tower", and what stands in
// parentheses to tell namesakes apart is given back beside it.
func readable(term string) (name, apart string) {
	name = localName(term)
	if s, err := url.PathUnescape(name); err == nil {
		name = s
	}
	// YAGO 4 writes other signs as _u and four hexadecimal digits.
	for {
		i := strings.Index(name, "_u")
		if i < 0 || len(name) < i+6 {
			break
		}
		code, err := strconv.ParseUint(name[i+2:i+6], 16, 16)
		if err != nil {
			break
		}
		name = name[:i] + string(rune(code)) + name[i+6:]
	}
	name = strings.TrimSpace(strings.ReplaceAll(name, "_", " "))
	if i := strings.IndexByte(name, '('); i > 0 {
		return strings.TrimSpace(name[:i]), strings.Trim(name[i:], "()")
	}
	return name, ""
}

// addYAGO adds what a file of YAGO's facts says is in places that the gazetteer has: landmarks, in
// towns and countries. Names that YAGO tells apart in parentheses have several bearers and are not
// taken.
func (p *places) addYAGO(path string) (*YAGOCounts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading YAGO's facts: %w", err)
	}
	defer f.Close()
	counts := &YAGOCounts{}
	added := make(map[string]*place)
	err = readTriples(f, func(t triple) error {
		relation := localName(t.relation)
		switch {
		case slices.Contains(locating, relation):
		case slices.Contains(located, relation):
			t.subject, t.object = t.object, t.subject
		default:
			counts.Other++
			return nil
		}
		counts.Facts++
		name, apart := readable(t.subject)
		where, _ := readable(t.object)
		at := p.largest(where)
		if at == nil || name == "" || apart != "" || strings.HasPrefix(t.subject, `"`) {
			counts.Unknown++
			return nil
		}
		if p.byName[strings.ToLower(name)] != nil {
			return nil // the gazetteer knows itself where its towns are
		}
		q := added[name]
		if q == nil {
			if len(added) == maxYAGOUsed {
				return fmt.Errorf("more than %d things are located", maxYAGOUsed)
			}
			q = &place{id: "yago:" + localName(t.subject), name: name, kind: landmark}
			added[name] = q
		}
		counts.Used++
		for _, in := range append([]*place{at}, at.in...) {
			if !slices.Contains(q.in, in) {
				q.in = append(q.in, in)
			}
		}
		q.also = append(q.also, at.also...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading YAGO's facts in %s: %w", path, err)
	}
	for _, q := range added {
		// What is in two countries is in neither alone.
		countries := 0
		for _, in := range q.in {
			if in.kind == country {
				countries++
			}
		}
		if countries <= 1 {
			p.all = append(p.all, q)
		}
	}
	p.index()
	return counts, nil
}

// largest returns the country or the town of a name; nil where there is none, or where a smaller
// town of that name is nearly as large.
func (p *places) largest(name string) *place {
	var best *place
	for _, q := range p.byName[strings.ToLower(strings.TrimPrefix(name, "The "))] {
		if q.kind == country || q.kind == continent {
			return q
		}
		if q.kind == city && (best == nil || q.population > best.population) {
			best = q
		}
	}
	if best != nil {
		for _, q := range best.namesakes {
			if q.kind == city && float64(q.population) >= namesakeShare*float64(best.population) {
				return nil
			}
		}
	}
	return best
}
