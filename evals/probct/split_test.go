package probct_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/tokens"
)

// tokenizer is a model that can only be tokenised with: whoever reads it fails.
type tokenizer struct {
	lm.Model // nil
	name     string
	*tokens.Tokenizer
}

func (m tokenizer) Info() lm.Info {
	return lm.Info{Name: m.name, Vocabulary: m.Size(), AddBOS: m.AddBOS(), BOS: m.BOS()}
}
func (m tokenizer) Tokenize(_ context.Context, text string) ([]lm.Token, error) {
	return m.Encode(text)
}
func (m tokenizer) Piece(t lm.Token) []byte { return m.Tokenizer.Piece(t) }
func (m tokenizer) Close() error            { return nil }

func openTokenizer(t *testing.T, ref modeltest.Reference) lm.Model {
	t.Helper()
	h, err := header.Open(ref.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	words, err := tokens.New(h.KV)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer{name: ref.Name, Tokenizer: words}
}

// The split of the suite in the repository leaves as many rows as the run in the repository measured.
func TestSplitOfShippedSuite(t *testing.T) {
	m, err := manifest.Load(filepath.Join("results", folder.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range modeltest.All {
		want := probct.SplitCounts{}
		for _, c := range m.Counts {
			if c.Model == ref.Name {
				want[c.Data] = c.Scored
			}
		}
		got, err := probct.Split(t.Context(), load(t, "suite"), openTokenizer(t, ref))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) != 5 {
			t.Errorf("%s: %s", ref.Name, diff)
		}
	}
}

// A subset of the user's own is counted as the published ones are.
func TestSplitOfOwnSubset(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "suite.logic"), probct.Logic+"\nevery(x, y) = M(x, y) & M(x, \"thing\")\n")
	for _, name := range probct.Published() {
		text, err := os.ReadFile(filepath.Join("suite", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name+".jsonl"), string(text))
	}
	write(t, filepath.Join(dir, "every.csv"), "x,y\nA robin is a,bird\nA robin is a,qqzzxyk\n,bird\nA dog is a,mammal\n")
	got, err := probct.Split(t.Context(), load(t, dir), openTokenizer(t, modeltest.SmolLM))
	if err != nil || got["every"] != 2 || len(got) != 6 {
		t.Errorf("%v, %v", got, err)
	}
}
