package wordnet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// senses is index.sense, or what the other files say in its place, with the counts of
// cntlist.rev where that is there.
type senses struct {
	byKey  map[string]Sense
	byWord map[word][]string
}

type word struct {
	lemma string
	pos   POS
}

// Senses returns a word's senses in the order of their numbers; none where the
// word is not there.
func (db *DB) Senses(lemma string, pos POS) ([]Sense, error) {
	s, err := db.readSenses()
	if err != nil {
		return nil, err
	}
	var found []Sense
	for _, key := range s.byWord[word{fold(lemma), pos}] {
		found = append(found, s.byKey[key])
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
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.senses != nil {
		return db.senses, nil
	}
	s := &senses{byKey: make(map[string]Sense), byWord: make(map[word][]string)}
	_, err := os.Stat(filepath.Join(db.dir, "index.sense"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
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

// indexedSenses reads index.sense.
func (db *DB) indexedSenses(s *senses) error {
	return db.lines("index.sense", func(line string) error {
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
		if _, twice := s.byKey[key]; twice {
			return wrong("the sense %.80q stands here a second time", key)
		}
		s.byKey[key] = Sense{Key: key, Lemma: k.Lemma, Synset: ID{k.POS, uint32(at)}, Number: number, Tags: tags}
		w := word{k.Lemma, k.POS}
		s.byWord[w] = append(s.byWord[w], key)
		return nil
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
		add := func(y *Synset, tail string) error {
			for i, w := range y.Words {
				lemma := fold(w.Lemma)
				if slices.ContainsFunc(y.Words[:i], func(v Word) bool { return fold(v.Lemma) == lemma }) {
					continue // spelt with capitals and without: the first counts
				}
				number := numbers[lemma][y.ID]
				if number == 0 {
					return fmt.Errorf("the WordNet in %s has %q in the synset %v and not in index.%s", db.dir, w.Lemma, y.ID, pos.file())
				}
				key := fmt.Sprintf("%s%%%d:%02d:%02d:%s", strings.ReplaceAll(lemma, " ", "_"), keyType(y), y.Lexfile, w.LexID, tail)
				s.byKey[key] = Sense{Key: key, Lemma: lemma, Synset: y.ID, Number: number}
				at := word{lemma, pos}
				s.byWord[at] = append(s.byWord[at], key)
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
				return add(y, ":")
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
			w := head.Words[0]
			if err := add(x.synset, fmt.Sprintf("%s:%02d", strings.ReplaceAll(fold(w.Lemma), " ", "_"), w.LexID)); err != nil {
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
		if sense, ok := s.byKey[key]; ok && sense.Tags == 0 {
			sense.Tags = tags
			s.byKey[key] = sense
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
