package modeltest_test

import (
	"context"
	"slices"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/tokens"
)

// unread is a model that only tokenises.
type unread struct {
	lm.Model
	tok *tokens.Tokenizer
}

func (u unread) Info() lm.Info { return lm.Info{AddBOS: u.tok.AddBOS(), BOS: u.tok.BOS()} }
func (u unread) Tokenize(_ context.Context, text string) ([]lm.Token, error) {
	return u.tok.Encode(text)
}
func (u unread) Piece(t lm.Token) []byte { return u.tok.Piece(t) }

// Both models can be asked each prompt about at least one token, and most about
// more.
func TestQuestions(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			h, err := header.Open(r.Path(t))
			if err != nil {
				t.Fatal(err)
			}
			tok, err := tokens.New(h.KV)
			if err != nil {
				t.Fatal(err)
			}
			targets := 0
			var seen [][]lm.Token
			for _, q := range modeltest.Questions(t, unread{tok: tok}) {
				if len(q.Targets) == 0 {
					t.Errorf("%q has no target of one token", q.Prefix)
				}
				targets += len(q.Targets)
				if slices.ContainsFunc(seen, func(ids []lm.Token) bool { return slices.Equal(ids, q.IDs) }) {
					t.Errorf("%q is there twice", q.Prefix)
				}
				seen = append(seen, q.IDs)
			}
			if targets < 2*len(seen) {
				t.Errorf("%d targets after %d prefixes", targets, len(seen))
			}
		})
	}
}
