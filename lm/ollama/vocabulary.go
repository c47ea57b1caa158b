package ollama

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/tokens"
)

// metadata gives the server's JSON the types that a GGUF file's metadata has.
// What has no place there is left out.
func metadata(info map[string]any) header.KV {
	kv := make(header.KV, len(info))
	for key, value := range info {
		switch v := value.(type) {
		case string, bool:
			kv[key] = v
		case float64:
			if v >= 0 && v == math.Trunc(v) && v < 1<<53 {
				kv[key] = uint64(v)
			} else {
				kv[key] = v
			}
		case []any:
			if list := array(v, key == "tokenizer.ggml.scores"); list != nil {
				kv[key] = list
			}
		}
	}
	return kv
}

func array(list []any, floats bool) any {
	if len(list) == 0 {
		return nil
	}
	switch {
	case floats:
		return convert(list, func(v float64) (float32, bool) { return float32(v), true })
	default:
		if _, ok := list[0].(string); ok {
			return convert(list, func(v string) (string, bool) { return v, true })
		}
		return convert(list, func(v float64) (int32, bool) { return int32(v), v == float64(int32(v)) })
	}
}

// convert returns nil unless every element is a From that to accepts.
func convert[From, To any](list []any, to func(From) (To, bool)) any {
	out := make([]To, len(list))
	for i, v := range list {
		from, ok := v.(From)
		if !ok {
			return nil
		}
		if out[i], ok = to(from); !ok {
			return nil
		}
	}
	return out
}

// vocabulary finds tokens by the text that a server calls them by.
type vocabulary struct {
	one  map[string]lm.Token   // texts of one token
	many map[string][]lm.Token // texts that several tokens share, the likeliest first
	size int
}

func newVocabulary(tok *tokens.Tokenizer) *vocabulary {
	v := &vocabulary{one: make(map[string]lm.Token, tok.Size()), many: map[string][]lm.Token{}, size: tok.Size()}
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
