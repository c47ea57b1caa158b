package preference

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/regular"
)

// readStories reads the stories of a folder and those below it: name.txt has a story, or several with *** between them
// as CaTeRS publishes them, and name.ann their events and relations, in the standoff form of brat.
func readStories(dir string, least int) ([]*Instance, ReadCounts, error) {
	var c ReadCounts
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() && strings.EqualFold(filepath.Ext(path), ".ann") {
			if files = append(files, path); len(files) > maxDataRows {
				return fmt.Errorf("there are more than %d files", maxDataRows)
			}
		}
		return nil
	})
	if err != nil {
		return nil, c, err
	}
	if len(files) == 0 {
		return nil, c, errors.New("there is no .ann file; CaTeRS is a folder of .txt and .ann files")
	}
	slices.Sort(files)
	var out []*Instance
	stories := 0
	for _, path := range files {
		name, err := filepath.Rel(dir, strings.TrimSuffix(path, filepath.Ext(path)))
		if err != nil {
			return nil, c, err
		}
		name = filepath.ToSlash(name)
		story, err := readAll(strings.TrimSuffix(path, filepath.Ext(path)) + ".txt")
		var annotation string
		if err == nil {
			annotation, err = readAll(path)
		}
		if err != nil {
			out = append(out, &Instance{ID: name, Bad: err.Error()})
			continue
		}
		parsed, across, err := parseStories(name, story, annotation)
		if err != nil {
			out = append(out, &Instance{ID: name, Bad: err.Error()})
			continue
		}
		stories += len(parsed)
		c.Unordered += across
		for _, s := range parsed {
			if len(s.in.Items) < least {
				c.Filtered++
				continue
			}
			c.Unordered += s.unordered
			out = append(out, s.in)
		}
	}
	if len(out) == 0 {
		return nil, c, fmt.Errorf("of %d stories none has %d events or more", stories, least)
	}
	return out, c, nil
}

func readAll(path string) (string, error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAnnBytes+1))
	if err == nil && len(b) > maxAnnBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxAnnBytes)
	}
	return string(b), err
}

// span is an annotated text.
type span struct {
	id    string
	start int // in characters
	text  string
}

// story is an instance with how many relations between its events say nothing of their order.
type story struct {
	in        *Instance
	unordered int
}

// between stands between the stories of a file.
const between = "***"

// parseStories makes an instance of each story of a file. The items are the events, each called by the words that are
// annotated, with the sentence after them where another event of the story has the same words. Relations that say which
// is earlier are comparisons, those of brat's R lines and those that are arguments of an event's E line; one between
// events of two stories is none, and counts as across.
//
// The events are shuffled, always in the same way for a name: in the order of the text the first would be
// earlier most of the time.
func parseStories(name, text, annotation string) (all []story, across int, err error) {
	characters := []rune(text)
	spans := map[string]span{}
	trigger := map[string]string{} // of E lines, their T
	type relation struct {
		line        int
		label, a, b string
	}
	var relations []relation
	n := 0
	for line := range strings.Lines(annotation) {
		n++
		line = strings.TrimRight(line, "\r\n")
		fail := func(format string, args ...any) error {
			return fmt.Errorf("line %d of the annotation: %s", n, fmt.Sprintf(format, args...))
		}
		id, rest, ok := strings.Cut(line, "\t")
		if !ok || id == "" {
			if strings.TrimSpace(line) == "" {
				continue
			}
			return nil, 0, fail("there is no tab after the name of an annotation")
		}
		switch id[0] {
		case 'T':
			what, words, ok := strings.Cut(rest, "\t")
			_, offsets, also := strings.Cut(what, " ")
			if !ok || !also {
				return nil, 0, fail("a text needs a type, its place and its words")
			}
			s := span{id: id, start: -1, text: oneLine(words)}
			var found []string
			length := 0
			for _, part := range strings.Split(offsets, ";") {
				from, to, _ := strings.Cut(part, " ")
				a, err1 := strconv.Atoi(from)
				b, err2 := strconv.Atoi(to)
				if err1 != nil || err2 != nil || a < 0 || b <= a || b > len(characters) {
					return nil, 0, fail("the place %q is none of the %d characters", part, len(characters))
				}
				if length += b - a; length > len(characters) {
					return nil, 0, fail("its parts are longer together than the story's %d characters", len(characters))
				}
				if s.start < 0 {
					s.start = a
				}
				found = append(found, string(characters[a:b]))
			}
			if at := oneLine(strings.Join(found, " ")); at != s.text {
				return nil, 0, fail("the story has %q where the annotation has %q", at, s.text)
			}
			if _, twice := spans[id]; twice {
				return nil, 0, fail("%s is there twice", id)
			}
			spans[id] = s
		case 'E':
			fields := strings.Fields(rest)
			if len(fields) == 0 {
				return nil, 0, fail("an event has no trigger")
			}
			_, t, ok := strings.Cut(fields[0], ":")
			if !ok {
				return nil, 0, fail("the trigger %q is not TYPE:ID", fields[0])
			}
			trigger[id] = t
			for _, f := range fields[1:] {
				label, to, ok := strings.Cut(f, ":")
				if !ok {
					return nil, 0, fail("the argument %q is not ROLE:ID", f)
				}
				relations = append(relations, relation{n, strings.TrimRight(label, "0123456789"), id, to})
			}
		case 'R':
			fields := strings.Fields(rest)
			if len(fields) != 3 {
				return nil, 0, fail("a relation needs a type and two arguments")
			}
			_, a, ok := strings.Cut(fields[1], ":")
			_, b, also := strings.Cut(fields[2], ":")
			if !ok || !also {
				return nil, 0, fail("an argument is not ROLE:ID")
			}
			relations = append(relations, relation{n, fields[0], a, b})
		}
	}
	isTrigger := map[string]bool{}
	for _, t := range trigger {
		isTrigger[t] = true
	}
	var events []span
	for id, s := range spans {
		if len(trigger) == 0 || isTrigger[id] {
			events = append(events, s)
		}
	}
	slices.SortFunc(events, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.id, b.id)) })
	// An event is of the story that it begins in.
	type place struct{ story, item int }
	at := map[string]place{}
	size, from := 0, 0
	texts := strings.Split(text, between)
	for _, t := range texts {
		if strings.TrimSpace(t) == "" && len(texts) > 1 { // as behind the last
			from += utf8.RuneCountInString(t) + len(between)
			continue
		}
		in := &Instance{ID: name, Source: paragraphs(t), Line: 1}
		if len(texts) > 1 {
			in.ID = fmt.Sprintf("%s, story %d", name, len(all)+1)
		}
		characters := []rune(t)
		n := 0
		for n < len(events) && events[n].start < from+len(characters) {
			n++
		}
		of := events[:n]
		events = events[n:]
		if len(of) > MaxItems {
			return nil, 0, fmt.Errorf("story %d has %d events; the most is %d", len(all)+1, len(of), MaxItems)
		}
		hash := fnv.New64a()
		hash.Write([]byte(in.ID))
		random := rand.New(rand.NewPCG(hash.Sum64(), 0))
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		words := map[string]int{}
		for _, e := range of {
			words[e.text]++
		}
		for i, e := range of {
			text := e.text
			if words[text] > 1 {
				text += " (" + sentence(characters, max(0, e.start-from)) + ")"
			}
			if size += len(text); size > maxAnnBytes {
				return nil, 0, fmt.Errorf("its events with the sentences around them are longer than %d bytes together", maxAnnBytes)
			}
			at[e.id] = place{len(all), i}
			in.Items = append(in.Items, Item{ID: e.id, Text: text, Score: math.NaN()})
		}
		from += len(characters) + len(between)
		all = append(all, story{in: in})
	}
	for id, t := range trigger {
		if p, ok := at[t]; ok {
			at[id] = p
		}
	}
	for _, r := range relations {
		a, ok := at[r.a]
		b, also := at[r.b]
		switch order := orderOf(r.label); {
		case !ok || !also:
			return nil, 0, fmt.Errorf("line %d of the annotation: the relation %s is of %s and %s, which are not both events", r.line, r.label, r.a, r.b)
		case a.story != b.story:
			across++
		case order == 0 || a == b:
			all[a.story].unordered++
		default:
			in := all[a.story].in
			in.Comparisons = append(in.Comparisons, Comparison{I: a.item, J: b.item, P: float64(1+order) / 2, Line: r.line})
		}
	}
	return all, across, nil
}

// orderOf is 1 for a relation whose first event is the earlier, −1 for one whose second is, and 0 for one that
// does not say. A cause, what enables and what prevents are earlier than what follows from them, unless the
// relation is one of overlap. What is caused to end had begun before, so that CAUSE_TO_END_BEFORE says nothing of
// which begins first.
func orderOf(label string) int {
	l := strings.ToUpper(label)
	has := func(s string) bool { return strings.Contains(l, s) }
	switch {
	case has("CAUSE_TO_END"), has("OVERLAP"), has("CONTAIN"), has("IDENTITY"), has("DURING"), has("SIMULTANEOUS"):
		return 0
	case has("AFTER"):
		return -1
	case has("BEFORE"), has("CAUSE"), has("ENABLE"), has("PREVENT"):
		return 1
	}
	return 0
}

// sentence is the one around a place of a text: from the line's begin or the end of the sentence before to its
// own end.
func sentence(s []rune, at int) string {
	ends := func(r rune) bool { return r == '\n' || r == '.' || r == '!' || r == '?' }
	from, to := at, at
	for from > 0 && !ends(s[from-1]) {
		from--
	}
	for to < len(s) && !ends(s[to]) {
		to++
	}
	if to < len(s) && s[to] != '\n' {
		to++
	}
	return oneLine(string(s[from:to]))
}
