package listed

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/tokens"
)

// Names finds tokens by the text that a server calls them by.
type Names struct {
	one  map[string]lm.Token   // texts of one token
	many map[string][]lm.Token // texts that several tokens share, the likeliest first
	size int                   // how many tokens the model predicts
}

// NewNames makes the names of a model that predicts size tokens. What a server may
// call a token is told by spell. Where the model predicts more tokens than have a
// text, the others are never listed by name, and share in what is not listed.
func NewNames(tok *tokens.Tokenizer, size int, spell func(tok *tokens.Tokenizer, id lm.Token) []string) *Names {
	n := &Names{one: make(map[string]lm.Token, tok.Size()), many: map[string][]lm.Token{}, size: max(size, tok.Size())}
	for id := range lm.Token(tok.Size()) {
		for _, text := range spell(tok, id) {
			n.add(text, id)
		}
	}
	for text, ids := range n.many {
		slices.SortFunc(ids, func(a, b lm.Token) int {
			return cmp.Or(cmp.Compare(rank(tok, a), rank(tok, b)), cmp.Compare(a, b))
		})
		n.many[text] = slices.Compact(ids)
	}
	return n
}

// rank orders tokens that share a text by how likely a model is to mean them:
// byte tokens are for what has no other.
func rank(tok *tokens.Tokenizer, id lm.Token) int {
	switch {
	case tok.IsByte(id):
		return 2
	case tok.IsControl(id) || tok.IsUnused(id):
		return 1
	}
	return 0
}

func (n *Names) add(text string, id lm.Token) {
	if ids, ok := n.many[text]; ok {
		n.many[text] = append(ids, id)
		return
	}
	if first, ok := n.one[text]; ok {
		if first != id {
			n.many[text] = []lm.Token{first, id}
			delete(n.one, text)
		}
		return
	}
	n.one[text] = id
}

// Find returns the tokens that a text may stand for, the likeliest first; nil if the
// vocabulary has none.
func (n *Names) Find(text string) []lm.Token {
	if id, ok := n.one[text]; ok {
		return []lm.Token{id}
	}
	return n.many[text]
}

// Shared says whether several tokens may be called by a text.
func (n *Names) Shared(text string) bool { return len(n.many[text]) > 1 }

// Size returns how many tokens the model predicts.
func (n *Names) Size() int { return n.size }

// Replaced replaces each byte of a piece that is no UTF-8 by U+FFFD, as JSON does.
func Replaced(piece []byte) string { return mended(piece, string(utf8.RuneError)) }

// Dropped leaves out each byte of a piece that is no UTF-8.
func Dropped(piece []byte) string { return mended(piece, "") }

func mended(piece []byte, in string) string {
	var b strings.Builder
	for len(piece) > 0 {
		r, n := utf8.DecodeRune(piece)
		if r == utf8.RuneError && n == 1 {
			b.WriteString(in)
		} else {
			b.Write(piece[:n])
		}
		piece = piece[n:]
	}
	return b.String()
}
