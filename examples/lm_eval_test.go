package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/wordnet"
	"github.com/modellog/modellog/lm/store"
)

// TestKinds looks the facts of lm-eval/kinds.jsonl up: the right kind is a hypernym of the word in WordNet, direct or
// not, of one of its senses, and the others are of none.
func TestKinds(t *testing.T) {
	s, err := store.New(store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := wordnet.Locate("", s.DatasetDir("wordnet"))
	if err != nil {
		t.Skipf("%v; get it with: modellog data get wordnet", err)
	}
	db, err := wordnet.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	above := func(word string) (lemmas []string) {
		ids, err := db.Lookup(word, wordnet.Noun)
		if err != nil {
			t.Fatal(err)
		}
		for seen := map[wordnet.ID]bool{}; len(ids) > 0; {
			id := ids[0]
			ids = ids[1:]
			synset, err := db.Synset(id)
			if err != nil {
				t.Fatal(err)
			}
			for _, up := range synset.To(wordnet.Hypernym, wordnet.InstanceHypernym) {
				if seen[up] {
					continue
				}
				seen[up] = true
				ids = append(ids, up)
				kind, err := db.Synset(up)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range kind.Words {
					lemmas = append(lemmas, strings.ToLower(w.Lemma))
				}
			}
		}
		return lemmas
	}
	data, err := os.ReadFile("lm-eval/kinds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range bytes.Lines(data) {
		var row struct {
			Word, Prefix string
			Choices      []string
			Label        int
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		rows++
		kinds := above(row.Word)
		for i, kind := range row.Choices {
			if slices.Contains(kinds, kind) != (i == row.Label) {
				t.Errorf("%s: a %s is above it in WordNet: %v", row.Prefix, kind, i != row.Label)
			}
		}
		if !strings.Contains(strings.ToLower(row.Prefix), row.Word) || len(row.Choices) != 4 {
			t.Errorf("%s", line)
		}
	}
	if rows != 52 {
		t.Errorf("%d facts; the README says 52", rows)
	}
}
