// Package wordnet reads a WordNet in WNDB format: Princeton WordNet's dict folder,
// and the Open English WordNet where it is published in that format, in whose index.sense keys are
// missing, stale, escaped or of two synsets; what the other files say of words and synsets holds.
//
// Open looks only at which files there are. A part of speech's index, the index of
// senses, and a part of speech's synsets are each read when first asked for; one synset is
// read by itself (DB.Synset). What the files say is not trusted: files, lines and counts
// are bounded, and a line that is not WNDB is a *FormatError with file and line or offset.
//
// A lemma is written with spaces here, where the files have underscores, and as
// the files spell it ("German shepherd"); it is looked up in any case.
package wordnet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// POS is a part of speech.
type POS byte

// The parts of speech, as the files call them. An adjective satellite ('s') is an
// Adjective here; Synset.Satellite tells.
const (
	Noun      POS = 'n'
	Verb      POS = 'v'
	Adjective POS = 'a'
	Adverb    POS = 'r'
)

// file is the ending of a part of speech's files.
func (p POS) file() string {
	switch p {
	case Noun:
		return "noun"
	case Verb:
		return "verb"
	case Adjective:
		return "adj"
	case Adverb:
		return "adv"
	}
	return ""
}

// ID names a synset: its part of speech and its place in that one's data file.
type ID struct {
	POS    POS
	Offset uint32
}

func (id ID) String() string { return fmt.Sprintf("%08d-%c", id.Offset, id.POS) }

// Synset is a set of words with one meaning.
type Synset struct {
	ID        ID
	Lexfile   int // the lexicographer's file: 5 for noun.animal, 18 for noun.person, …
	Satellite bool
	Words     []Word
	Pointers  []Pointer
	Gloss     string // the definition, and examples in quotes
}

// Word is a word of a synset.
type Word struct {
	Lemma  string // without a syntactic marker such as "(p)"
	Marker string // "a", "p" or "ip" of an adjective: where it stands; else ""
	LexID  int
}

// Pointer is a relation to another synset.
type Pointer struct {
	Relation Relation
	Target   ID
	// Source and Word are the words that the relation is between, counted
	// from 1, and 0 and 0 where it is between the synsets.
	Source, Word int
}

// Relation is what a pointer means, in the files' own signs.
type Relation string

// The relations that a taxonomy is made of; the others are left as they are.
const (
	Hypernym         Relation = "@"
	InstanceHypernym Relation = "@i"
	Hyponym          Relation = "~"
	InstanceHyponym  Relation = "~i"
	MemberHolonym    Relation = "#m"
	SubstanceHolonym Relation = "#s"
	PartHolonym      Relation = "#p"
	MemberMeronym    Relation = "%m"
	SubstanceMeronym Relation = "%s"
	PartMeronym      Relation = "%p"
	Antonym          Relation = "!"
)

// To returns the targets of a synset's pointers of some relations.
func (s *Synset) To(relations ...Relation) []ID {
	var ids []ID
	for _, p := range s.Pointers {
		if slices.Contains(relations, p.Relation) {
			ids = append(ids, p.Target)
		}
	}
	return ids
}

// Sense is a word in one of its meanings.
type Sense struct {
	Key    string // such as "dog%1:05:00::"
	Lemma  string // in lower case
	Synset ID
	Number int // 1 is the most frequent of the word's senses in this part of speech
	Tags   int // how often it was met in the texts that were tagged with senses
}

// FormatError is a place in a file that is not WNDB.
type FormatError struct {
	File   string
	Line   int   // from 1; 0 where only the offset is known
	Offset int64 // in bytes
	Msg    string
}

func (e *FormatError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
	}
	return fmt.Sprintf("%s: at byte %d: %s", e.File, e.Offset, e.Msg)
}

const (
	maxFile = 512 << 20 // the largest of Princeton's has 15 MB
	maxLine = 1 << 20   // the longest of Princeton's has 13 kB
)

// DB is an open WordNet. Its methods may be called from several goroutines.
type DB struct {
	dir string

	mu    sync.Mutex // guards what is below it
	index map[POS]map[string][]ID
	data  map[POS]*os.File

	sensesMu sync.Mutex
	senses   *senses
}

// Open opens the WordNet in a folder. It must have index.noun and data.noun. Where it has no
// index.sense, the senses are those that the other files imply.
func Open(dir string) (*DB, error) {
	for _, name := range []string{"index.noun", "data.noun"} {
		fi, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is no WordNet in WNDB format: it has no %s", dir, name)
		}
		if err != nil {
			return nil, fmt.Errorf("opening the WordNet in %s: %w", dir, err)
		}
		if !fi.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no WordNet in WNDB format: %s is not a file", dir, name)
		}
	}
	return &DB{dir: dir, index: make(map[POS]map[string][]ID), data: make(map[POS]*os.File)}, nil
}

// Dir is the folder of the files.
func (db *DB) Dir() string { return db.dir }

// Licence is the licence that stands at the head of the nouns' file; "" where there is none.
func (db *DB) Licence() (string, error) {
	f, err := db.open(Noun)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	lines := bufio.NewScanner(io.NewSectionReader(f, 0, 64<<10))
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "  ")
		if !ok {
			break
		}
		// Each line has its number.
		_, line, _ = strings.Cut(strings.TrimLeft(line, " "), " ")
		text.WriteString(strings.TrimRight(line, " \r") + "\n")
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return "", fmt.Errorf("reading the WordNet in %s: %w", db.dir, err)
	}
	return text.String(), nil
}

// Close closes the files.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	var errs []error
	for pos, f := range db.data {
		errs = append(errs, f.Close())
		delete(db.data, pos)
	}
	return errors.Join(errs...)
}

// Lookup returns the synsets of a word, its most frequent meaning first; none
// where the word is not there.
func (db *DB) Lookup(lemma string, pos POS) ([]ID, error) {
	index, err := db.readIndex(pos)
	if err != nil {
		return nil, err
	}
	return index[fold(lemma)], nil
}

// readIndex reads a part of speech's index when it is first asked for.
func (db *DB) readIndex(pos POS) (map[string][]ID, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if index, ok := db.index[pos]; ok {
		return index, nil
	}
	if pos.file() == "" {
		return nil, fmt.Errorf("there is no part of speech %q", string(rune(pos)))
	}
	index := make(map[string][]ID)
	err := db.lines("index."+pos.file(), func(line string) error {
		lemma, ids, err := parseIndex(line, pos)
		if err == nil {
			index[lemma] = ids
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	db.index[pos] = index
	return index, nil
}

// fold is how the indexes spell a lemma.
func fold(lemma string) string { return strings.ReplaceAll(strings.ToLower(lemma), "_", " ") }

// Synsets yields a part of speech's synsets in the order of the file.
func (db *DB) Synsets(pos POS, yield func(*Synset) error) error {
	if pos.file() == "" {
		return fmt.Errorf("there is no part of speech %q", string(rune(pos)))
	}
	return db.lines("data."+pos.file(), func(line string) error {
		s, err := parseSynset(line)
		if err != nil {
			return err
		}
		return yield(s)
	})
}

// Synset reads one synset.
func (db *DB) Synset(id ID) (*Synset, error) {
	f, err := db.open(id.POS)
	if err != nil {
		return nil, err
	}
	bad := func(format string, args ...any) error {
		return &FormatError{File: f.Name(), Offset: int64(id.Offset), Msg: fmt.Sprintf(format, args...)}
	}
	r := bufio.NewReader(io.NewSectionReader(f, int64(id.Offset), maxLine))
	line, err := r.ReadString('\n')
	if err == io.EOF && line == "" {
		return nil, bad("the file ends before the synset %v", id)
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("reading the synset %v: %w", id, err)
	}
	s, err := parseSynset(strings.TrimRight(line, "\r\n"))
	if err != nil {
		return nil, bad("%v", err)
	}
	if s.ID != id {
		return nil, bad("there stands the synset %v and not %v", s.ID, id)
	}
	return s, nil
}

func (db *DB) open(pos POS) (*os.File, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if f := db.data[pos]; f != nil {
		return f, nil
	}
	if pos.file() == "" {
		return nil, fmt.Errorf("there is no part of speech %q", string(rune(pos)))
	}
	f, err := os.Open(filepath.Join(db.dir, "data."+pos.file()))
	if err != nil {
		return nil, fmt.Errorf("opening the WordNet in %s: %w", db.dir, err)
	}
	db.data[pos] = f
	return f, nil
}

// lines yields a file's lines without those of the licence, which begin with two
// spaces.
func (db *DB) lines(name string, yield func(line string) error) error {
	path := filepath.Join(db.dir, name)
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading the WordNet in %s: %w", db.dir, err)
	}
	defer f.Close()
	return scanLines(f, path, yield)
}

// scanLines yields the lines of r; what yield finds wrong gets the line's place.
// An error of another kind than mere text goes through as it is.
func scanLines(r io.Reader, path string, yield func(line string) error) error {
	limited := &io.LimitedReader{R: r, N: maxFile}
	b := bufio.NewReaderSize(limited, 256<<10)
	if mark, _ := b.Peek(3); bytes.Equal(mark, []byte("\xEF\xBB\xBF")) {
		b.Discard(3)
	}
	var long []byte
	for n, at := 1, int64(0); ; n++ {
		part, err := b.ReadSlice('\n')
		for err == bufio.ErrBufferFull && len(long) <= maxLine {
			long = append(long, part...)
			part, err = b.ReadSlice('\n')
		}
		text := part
		if len(long) > 0 {
			long = append(long, part...)
			text = long
		}
		if len(text) > maxLine {
			return &FormatError{path, n, at, fmt.Sprintf("the line is longer than %d bytes", maxLine)}
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		size := len(text)
		line := string(bytes.TrimRight(text, "\r\n"))
		long = long[:0]
		if line != "" && !strings.HasPrefix(line, "  ") {
			yerr := yield(line)
			var syntax syntaxError
			if errors.As(yerr, &syntax) {
				return &FormatError{path, n, at, string(syntax)}
			}
			if yerr != nil {
				return yerr
			}
		}
		at += int64(size)
		if err == io.EOF {
			if limited.N <= 0 {
				return &FormatError{path, n, at, fmt.Sprintf("the file has more than %d bytes", maxFile)}
			}
			return nil
		}
	}
}
