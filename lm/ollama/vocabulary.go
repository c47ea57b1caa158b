package ollama

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/tokens"
)

// vocabulary finds tokens by the text that a server calls them by.
type vocabulary struct {
	one  map[string]lm.Token   // texts of one token
	many map[string][]lm.Token // texts that several tokens share, the likeliest first
	size int                   // how many tokens the model predicts
}

// newVocabulary makes the vocabulary of a model that predicts size tokens. Where
// these are more than have a text, the others are never listed by name, and share
// in what is not listed.
func newVocabulary(tok *tokens.Tokenizer, size int) *vocabulary {
	v := &vocabulary{one: make(map[string]lm.Token, tok.Size()), many: map[string][]lm.Token{}, size: size}
	for id := range lm.Token(tok.Size()) {
		piece := tok.Piece(id)
		for i, text := range spellings(piece) {
			if i > 0 && text == string(piece) {
				continue
			}
			v.add(text, id)
		}
		// The name of a token that the model never uses is not told.
		if tok.IsUnused(id) {
			v.add("", id)
		}
	}
	for text, ids := range v.many {
		slices.SortFunc(ids, func(a, b lm.Token) int {
			return cmp.Or(cmp.Compare(rank(tok, a), rank(tok, b)), cmp.Compare(a, b))
		})
		v.many[text] = slices.Compact(ids)
	}
	return v
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

func (v *vocabulary) add(text string, id lm.Token) {
	if ids, ok := v.many[text]; ok {
		v.many[text] = append(ids, id)
		return
	}
	if first, ok := v.one[text]; ok {
		if first != id {
			v.many[text] = []lm.Token{first, id}
			delete(v.one, text)
		}
		return
	}
	v.one[text] = id
}

// find returns the tokens that a text may stand for, the likeliest first.
func (v *vocabulary) find(text string) []lm.Token {
	if id, ok := v.one[text]; ok {
		return []lm.Token{id}
	}
	return v.many[text]
}

// spellings are the texts that a server may call a token by: its bytes; what
// JSON makes of them if they are no UTF-8; and either without zero bytes, which
// one of the server's engines loses at the end and the other everywhere.
func spellings(piece []byte) []string {
	all := []string{string(piece)}
	if !utf8.Valid(piece) {
		all = append(all, throughJSON(piece))
	}
	if bytes.IndexByte(piece, 0) >= 0 {
		for _, s := range slices.Clone(all) {
			all = append(all, strings.TrimRight(s, "\x00"), strings.ReplaceAll(s, "\x00", ""))
		}
	}
	return all
}

// throughJSON replaces each byte that is no UTF-8 by U+FFFD, as JSON does.
func throughJSON(piece []byte) string {
	var b strings.Builder
	for len(piece) > 0 {
		r, n := utf8.DecodeRune(piece)
		b.WriteRune(r)
		piece = piece[n:]
	}
	return b.String()
}
