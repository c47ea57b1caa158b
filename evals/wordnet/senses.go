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

// senses is index.sense, with the counts of cntlist.rev where that is there.
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
		if _, twice := s.byKey[key]; twice {
			return wrong("the sense %.80q stands here a second time", key)
		}
		s.byKey[key] = Sense{Key: key, Lemma: k.Lemma, Synset: ID{k.POS, uint32(at)}, Number: number, Tags: tags}
		w := word{k.Lemma, k.POS}
		s.byWord[w] = append(s.byWord[w], key)
		return nil
	})
	if err != nil {
		return nil, err
	}
	// The counts of cntlist.rev are the ones that index.sense was made from; some
	// releases have them only there.
	if _, err := os.Stat(filepath.Join(db.dir, "cntlist.rev")); err == nil {
		err := db.lines("cntlist.rev", func(line string) error {
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
		if err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the WordNet in %s: %w", db.dir, err)
	}
	db.senses = s
	return s, nil
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
