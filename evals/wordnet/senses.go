package wordnet

import (
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// senses is index.sense, or what the other files say in its place, with the counts of
// cntlist.rev where that is there.
type senses struct {
	all    []*Sense
	byKey  map[string]*Sense // the first of those with that key
	byWord map[word][]*Sense
}

type word struct {
	lemma string
	pos   POS
}

func newSenses() *senses {
	return &senses{byKey: make(map[string]*Sense), byWord: make(map[word][]*Sense)}
}

// add adds a sense. A key that stands for two synsets, as some do in the Open English WordNet of 2020, is a
// sense of each.
func (s *senses) add(sense Sense) error {
	if s.has(sense.Lemma, sense.Synset) {
		return wrong("the sense %.80q stands here a second time", sense.Key)
	}
	s.all = append(s.all, &sense)
	if s.byKey[sense.Key] == nil {
		s.byKey[sense.Key] = &sense
	}
	w := word{sense.Lemma, sense.Synset.POS}
	s.byWord[w] = append(s.byWord[w], &sense)
	return nil
}

func (s *senses) has(lemma string, id ID) bool {
	return slices.ContainsFunc(s.byWord[word{lemma, id.POS}], func(x *Sense) bool { return x.Synset == id })
}

// Senses returns a word's senses in the order of their numbers; none where the
// word is not there.
func (db *DB) Senses(lemma string, pos POS) ([]Sense, error) {
	s, err := db.readSenses()
	if err != nil {
		return nil, err
	}
	var found []Sense
	for _, sense := range s.byWord[word{fold(lemma), pos}] {
		found = append(found, *sense)
	}
	slices.SortStableFunc(found, func(a, b Sense) int { return a.Number - b.Number })
	return found, nil
}

// SenseOf returns the sense of a word in a synset.
func (db *DB) SenseOf(lemma string, id ID) (Sense, bool, error) {
	all, err := db.Senses(lemma, id.POS)
	if err != nil {
		return Sense{}, false, err
	}
	for _, s := range all {
		if s.Synset == id {
			return s, true, nil
		}
	}
	return Sense{}, false, nil
}

func (db *DB) readSenses() (*senses, error) {
	db.sensesMu.Lock()
	defer db.sensesMu.Unlock()
	if db.senses != nil {
		return db.senses, nil
	}
	s := newSenses()
	info, err := os.Stat(filepath.Join(db.dir, "index.sense"))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0: // some release has an empty one
		err = db.deriveSenses(s)
	case err == nil:
		err = db.indexedSenses(s)
	}
	if err != nil {
		return nil, err
	}
	if err := db.counts(s); err != nil {
		return nil, err
	}
	db.senses = s
	return s, nil
}

// indexedSenses reads index.sense. Princeton's names each word in each synset by the word. Those of the Open English
// WordNet lack some, spell some keys in other ways than the word (achilles-apos-_heel for Achilles' heel), and
// keep some from before a word was corrected: what the parts of speech's own indexes say of
// words and synsets holds, and these lines are put to it.
func (db *DB) indexedSenses(s *senses) error {
	indexes := make(map[POS]map[string][]ID)
	for _, pos := range []POS{Noun, Verb, Adjective, Adverb} {
		index, err := db.readIndex(pos)
		if errors.Is(err, fs.ErrNotExist) && pos != Noun {
			continue
		}
		if err != nil {
			return err
		}
		indexes[pos] = index
	}
	type stray struct {
		Sense
		lexID int
	}
	var strays []stray
	err := db.lines("index.sense", func(line string) error {
		f := &fields{rest: line}
		key := f.next("the sense key")
		at := f.number("the synset's offset", 10, maxOffset)
		number := f.number("the sense number", 10, maxSenses)
		tags := f.number("the tag count", 10, maxTags)
		if f.err != nil {
			return f.err
		}
		k, err := ParseSenseKey(key)
		if err != nil {
			return err
		}
		sense := Sense{Key: key, Lemma: k.Lemma, Synset: ID{k.POS, uint32(at)}, Number: number, Tags: tags}
		index, known := indexes[k.POS]
		if known && !slices.Contains(index[k.Lemma], sense.Synset) {
			strays = append(strays, stray{sense, k.LexID})
			return nil
		}
		return s.add(sense)
	})
	if err != nil {
		return err
	}
	for _, x := range strays {
		y, err := db.Synset(x.Synset)
		if err != nil {
			continue // of a synset that is no more
		}
		lemma, ok := s.wordOf(y, unescape(x.Lemma), x.lexID)
		if !ok {
			continue // of a word that is no more
		}
		if x.Key, err = db.keyOf(y, lemma); err != nil {
			return err
		}
		x.Lemma = fold(lemma.Lemma)
		if err := s.add(x.Sense); err != nil {
			return err
		}
	}
	return db.missingSenses(s, indexes)
}

// wordOf finds the word of a synset that a key is of whose lemma is none of the synset's: the word that
// is so spelt, or else the only one that has no sense yet and the key's lexical id.
func (s *senses) wordOf(y *Synset, lemma string, lexID int) (Word, bool) {
	var open []Word
	for _, w := range y.Words {
		if s.has(fold(w.Lemma), y.ID) {
			continue
		}
		if fold(w.Lemma) == lemma {
			return w, true
		}
		if w.LexID == lexID {
			open = append(open, w)
		}
	}
	if len(open) != 1 {
		return Word{}, false
	}
	return open[0], true
}

// missingSenses adds the senses that the indexes of the parts of speech have and index.sense has not.
func (db *DB) missingSenses(s *senses, indexes map[POS]map[string][]ID) error {
	for _, pos := range []POS{Noun, Verb, Adjective, Adverb} {
		for _, lemma := range slices.Sorted(maps.Keys(indexes[pos])) {
			for i, id := range indexes[pos][lemma] {
				if s.has(lemma, id) {
					continue
				}
				y, err := db.Synset(id)
				if err != nil {
					return err
				}
				at := slices.IndexFunc(y.Words, func(w Word) bool { return fold(w.Lemma) == lemma })
				if at < 0 {
					continue // the index has it, and the synset not
				}
				key, err := db.keyOf(y, y.Words[at])
				if err != nil {
					return err
				}
				if err := s.add(Sense{Key: key, Lemma: lemma, Synset: id, Number: i + 1}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keyOf makes the key of a word in a synset.
func (db *DB) keyOf(y *Synset, w Word) (string, error) {
	to := y.To(similar)
	if !y.Satellite || len(to) == 0 {
		return senseKey(y, w, nil), nil
	}
	head, err := db.Synset(to[0])
	if err != nil {
		return "", err
	}
	return senseKey(y, w, head), nil
}

// senseKey is the key of a word in a synset; head is that of a satellite's cluster, nil for others.
func senseKey(y *Synset, w Word, head *Synset) string {
	tail := ":"
	if head != nil {
		tail = fmt.Sprintf("%s:%02d", underscored(head.Words[0].Lemma), head.Words[0].LexID)
	}
	return fmt.Sprintf("%s%%%d:%02d:%02d:%s", underscored(w.Lemma), keyType(y), y.Lexfile, w.LexID, tail)
}

func underscored(lemma string) string { return strings.ReplaceAll(fold(lemma), " ", "_") }

// escaped are marks that the Open English WordNet of 2025 spells in sense keys, by the names that they have in
// HTML: -apos- for an apostrophe.
var escaped = regexp.MustCompile(`-[a-z]+-|--`)

// unescape undoes that spelling.
func unescape(lemma string) string {
	return escaped.ReplaceAllStringFunc(lemma, func(s string) string {
		if s == "--" {
			return "-"
		}
		entity := "&" + s[1:len(s)-1] + ";"
		if mark := html.UnescapeString(entity); len(mark) == 1 { // one of ASCII: jack-in-the-box has &in;, which is none
			return mark
		}
		return s
	})
}

// deriveSenses makes out of the other files what index.sense would say, but for the counts: some
// distributions leave it out (Debian has it in a package of its own).
func (db *DB) deriveSenses(s *senses) error {
	for _, pos := range []POS{Noun, Verb, Adjective, Adverb} {
		if _, err := os.Stat(filepath.Join(db.dir, "data."+pos.file())); errors.Is(err, fs.ErrNotExist) && pos != Noun {
			continue
		}
		numbers := make(map[string]map[ID]int)
		err := db.lines("index."+pos.file(), func(line string) error {
			lemma, ids, err := parseIndex(line, pos)
			if err != nil {
				return err
			}
			numbers[lemma] = make(map[ID]int, len(ids))
			for i, id := range ids {
				numbers[lemma][id] = i + 1
			}
			return nil
		})
		if err != nil {
			return err
		}
		// A satellite's key names the head of its cluster, which may stand behind it.
		type satellite struct {
			synset *Synset
			head   ID
		}
		heads := make(map[ID]*Synset)
		var satellites []satellite
		add := func(y, head *Synset) error {
			for i, w := range y.Words {
				lemma := fold(w.Lemma)
				if slices.ContainsFunc(y.Words[:i], func(v Word) bool { return fold(v.Lemma) == lemma }) {
					continue // spelt with capitals and without: the first counts
				}
				number := numbers[lemma][y.ID]
				if number == 0 {
					return fmt.Errorf("the WordNet in %s has %q in the synset %v and not in index.%s", db.dir, w.Lemma, y.ID, pos.file())
				}
				if err := s.add(Sense{Key: senseKey(y, w, head), Lemma: lemma, Synset: y.ID, Number: number}); err != nil {
					return err
				}
			}
			return nil
		}
		err = db.lines("data."+pos.file(), func(line string) error {
			y, err := parseSynset(line)
			if err != nil {
				return err
			}
			if !y.Satellite {
				heads[y.ID] = y
				return add(y, nil)
			}
			if to := y.To(similar); len(to) > 0 {
				satellites = append(satellites, satellite{y, to[0]})
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, x := range satellites {
			head := heads[x.head]
			if head == nil {
				return fmt.Errorf("the WordNet in %s has the satellite %v of %v, which is no head", db.dir, x.synset.ID, x.head)
			}
			if err := add(x.synset, head); err != nil {
				return err
			}
		}
	}
	return nil
}

// similar is the pointer from a satellite to its head.
const similar Relation = "&"

// keyType is the number that stands for a synset's part of speech in a sense key.
func keyType(s *Synset) int {
	switch {
	case s.Satellite:
		return 5
	case s.ID.POS == Verb:
		return 2
	case s.ID.POS == Adjective:
		return 3
	case s.ID.POS == Adverb:
		return 4
	}
	return 1
}

// counts reads the counts of cntlist.rev, which are the ones that index.sense was made from;
// some releases have them only there, and some have no such file.
func (db *DB) counts(s *senses) error {
	_, err := os.Stat(filepath.Join(db.dir, "cntlist.rev"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the WordNet in %s: %w", db.dir, err)
	}
	return db.lines("cntlist.rev", func(line string) error {
		f := &fields{rest: line}
		key := f.next("the sense key")
		f.number("the sense number", 10, maxSenses)
		tags := f.number("the tag count", 10, maxTags)
		if f.err != nil {
			return f.err
		}
		// It counts senses, too, that are in the release no more.
		if sense := s.byKey[key]; sense != nil && sense.Tags == 0 {
			sense.Tags = tags
		}
		return nil
	})
}

// Locate finds a WordNet's folder: dir, where it is not ""; else the first that has one of
// $WNSEARCHDIR, $WNHOME/dict, Debian's /usr/share/wordnet, and the folders in fallback. A
// place that was named and has no WordNet is an error.
func Locate(dir string, fallback ...string) (string, error) {
	has := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "index.noun"))
		return err == nil
	}
	if dir != "" {
		for _, d := range []string{dir, filepath.Join(dir, "dict")} {
			if has(d) {
				return d, nil
			}
		}
		return "", fmt.Errorf("%s is no WordNet in WNDB format: it has no index.noun", dir)
	}
	for _, v := range []struct{ name, below string }{{"WNSEARCHDIR", ""}, {"WNHOME", "dict"}} {
		if d := os.Getenv(v.name); d != "" {
			d = filepath.Join(d, v.below)
			if !has(d) {
				return "", fmt.Errorf("$%s names %s, which is no WordNet in WNDB format: it has no index.noun", v.name, d)
			}
			return d, nil
		}
	}
	tried := append([]string{"/usr/share/wordnet"}, fallback...)
	for _, d := range tried {
		if has(d) {
			return d, nil
		}
	}
	return "", &NotFoundError{Tried: tried}
}

// NotFoundError is a WordNet that was found nowhere.
type NotFoundError struct{ Tried []string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no WordNet on this machine: neither $WNSEARCHDIR nor $WNHOME is set, and nothing is in %s", strings.Join(e.Tried, " or "))
}
