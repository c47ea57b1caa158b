package probct

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"
)

func TestArticle(t *testing.T) {
	for _, want := range strings.Split(`a dog, an ape, an hour, an heir, an honest man, a house, a horse, a horsefly, a historian, a unicorn, a uniform,
an uncle, an umbrella, an unidentified flying object, a university, a user, an usher, a European, a eucalyptus, a ewe, a one-way street, an onion, an oneirologist,
a utensil, an urchin, a urologist, a uranium rod, an udder, a ukulele, a Ugandan, an FBI agent, a CMV, an MRI, a yacht, a yard, an ytterbium atom,
an Uzbek, an Eskimo, an X-ray, a ouija board, an ouzo, a once-over, an utterance, a unanimous vote, an hors d'oeuvre, an émigré`, ",") {
		want = strings.TrimSpace(want)
		_, text, _ := strings.Cut(want, " ")
		if got := Article(text) + " " + text; got != want {
			t.Errorf("%s", got)
		}
	}
}

// list writes a frequency list of our own in wordfreq's format: level → words.
func list(t *testing.T, levels map[int][]string) []byte {
	t.Helper()
	last := 0
	for l := range levels {
		last = max(last, l)
	}
	all := []any{map[string]any{"format": "cB", "version": 1}}
	for l := range last + 1 {
		words := levels[l]
		if words == nil {
			words = []string{}
		}
		all = append(all, words)
	}
	text, err := msgpack.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWords(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(list(t, map[int][]string{400: {"dog"}, 410: {"dogs", "golden"}, 600: {"retriever"}, 650: {"o"}}))
	z.Close()
	if err := os.WriteFile(filepath.Join(dir, WordsFile), packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	w, err := OpenWords(dir)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{"dog": 5, "Dog": 5, "golden retriever": 3, "golden-retriever": 3, "cat": 0, "golden cat": 0, "dog's": 5} {
		if got := w.Zipf(text); got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if w.has("golden-retriever") || !w.has("Dog") {
		t.Error("has")
	}
}

func FuzzWords(f *testing.F) {
	text, err := msgpack.Marshal([]any{map[string]any{"format": "cB"}, []string{"a"}, []string{}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := readWords(bytes.NewReader(text))
		if err == nil && len(w.zipf) == 0 {
			t.Fatal("no words and no error")
		}
	})
}

func TestNumber(t *testing.T) {
	w := &Words{zipf: map[string]float32{
		"knife": 4.4, "knives": 3.9, "gold": 5.2, "golds": 3.1, "rice": 4.5, "lung": 4.1, "lungs": 4.2, "debris": 3.8,
		"retriever": 3, "policeman": 4.1, "policemen": 3.7, "specimen": 4, "berry": 4, "berries": 3.8, "woman": 5.5, "women": 5.6, "bus": 4.8, "scissors": 3.6, "scissor": 3,
	}}
	e := newEnglish(w)
	for _, c := range []struct {
		noun    string
		lexfile int
		want    Number
	}{
		{"knife", 6, Count}, {"gold", 27, Mass}, {"rice", 13, Unclear}, {"lung", 8, Count}, {"debris", 27, Unclear},
		{"furniture", 6, Mass}, {"golden retriever", 5, Count}, {"berry", 13, Count}, {"gold", 6, Unclear},
	} {
		if got, why := e.number(c.noun, c.lexfile); got != c.want {
			t.Errorf("%s: %v (%s)", c.noun, got, why)
		}
	}
	for noun, want := range map[string]bool{
		"women": true, "woman": false, "bus": false, "scissors": true, "glass": false, "police": true, "townspeople": true, "chess": false,
		"policemen": true, "specimen": false, "octopus": false, "iris": false, "data": true, "lens": false,
	} {
		if got := e.isPlural(noun); got != want {
			t.Errorf("%s: plural %v", noun, got)
		}
	}
	if got := e.pluralOf("city mouse"); got != "city mice" {
		t.Error(got)
	}
}
