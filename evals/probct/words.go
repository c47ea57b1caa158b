package probct

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
)

// Words tells how often words are met: wordfreq's list for English, which is made from
// Wikipedia, subtitles, news, books, the web, Twitter and Reddit.
type Words struct {
	zipf map[string]float32
}

const (
	maxWords     = 5_000_000
	maxWordsFile = 64 << 20 // unpacked
	// FloorZipf is what a word has at most that is not in the list: the list goes down
	// to one in a hundred million words.
	FloorZipf = 1.0
)

// WordsFile is wordfreq's list in its package.
const WordsFile = "large_en.msgpack.gz"

// OpenWords reads the list in a folder.
func OpenWords(dir string) (*Words, error) {
	path := filepath.Join(dir, WordsFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading word frequencies: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	w, err := readWords(io.LimitReader(z, maxWordsFile))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return w, nil
}

// readWords reads the "cB" format: an array whose first element is a header and whose
// element n+1 is the array of the words with a frequency of n centibels below 1.
func readWords(r io.Reader) (*Words, error) {
	d := msgpack.NewDecoder(r)
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	if n < 1 || n > 2000 {
		return nil, fmt.Errorf("it has %d levels of frequency", n)
	}
	keys, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	if keys < 1 || keys > 16 {
		return nil, fmt.Errorf("its header has %d fields", keys)
	}
	format := ""
	for range keys {
		key, err := d.DecodeString()
		if err != nil {
			return nil, err
		}
		if key == "format" {
			format, err = d.DecodeString()
		} else {
			err = d.Skip()
		}
		if err != nil {
			return nil, err
		}
	}
	if format != "cB" {
		return nil, fmt.Errorf("its format is %q and should be \"cB\"", format)
	}
	w := &Words{zipf: make(map[string]float32)}
	for level := range n - 1 {
		count, err := d.DecodeArrayLen()
		if err != nil {
			return nil, err
		}
		if count > maxWords-len(w.zipf) {
			return nil, fmt.Errorf("it has more than %d words", maxWords)
		}
		for range count {
			word, err := d.DecodeString()
			if err != nil {
				return nil, err
			}
			if _, twice := w.zipf[word]; !twice {
				w.zipf[word] = 9 - float32(level)/100
			}
		}
	}
	if len(w.zipf) == 0 {
		return nil, errors.New("it has no words")
	}
	return w, nil
}

// Zipf is a word's frequency on the Zipf scale, the decimal logarithm of its count in a thousand
// million words; 0 where the list does not have it. Of several words it is that of the
// rarest.
func (w *Words) Zipf(text string) float64 {
	least := 0.0
	for i, word := range wordsOf(text) {
		z := w.one(word)
		if i == 0 || z < least {
			least = z
		}
	}
	return least
}

// has reports whether the list has a text as one word.
func (w *Words) has(text string) bool {
	_, ok := w.zipf[strings.ToLower(text)]
	return ok
}

func (w *Words) one(word string) float64 {
	if z, ok := w.zipf[word]; ok {
		return float64(z)
	}
	// wordfreq takes a possessive's and a hyphen's parts for words.
	least, parts := 0.0, strings.FieldsFunc(word, func(r rune) bool { return r == '-' || r == '\'' })
	if len(parts) < 2 {
		return 0
	}
	for i, p := range parts {
		if p == "s" {
			continue
		}
		if z := float64(w.zipf[p]); i == 0 || z < least {
			least = z
		}
	}
	return least
}

func wordsOf(text string) []string { return strings.Fields(strings.ToLower(text)) }
