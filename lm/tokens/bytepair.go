package tokens

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
)

// bytePair splits text into words by the model's rule and merges the bytes of
// each word by a ranked list of pairs.
type bytePair struct {
	rule   preTokenizer
	ids    map[string]int32    // by the bytes that a token stands for
	bytes  [256]int32          // tokens of single bytes; -1 where there is none
	merges map[[2]int32]merged // by the ids of the two sides
}

type merged struct {
	id, rank int32
}

func newBytePair(m Metadata, values []string, types []int32) (*bytePair, error) {
	rule, err := preTokenizerFor(m.Architecture(), m.String("tokenizer.ggml.pre"))
	if err != nil {
		return nil, err
	}
	list := m.Strings("tokenizer.ggml.merges")
	if len(list) == 0 {
		return nil, errors.New("the metadata has no merges (tokenizer.ggml.merges), which a vocabulary of kind \"gpt2\" needs")
	}
	b := &bytePair{rule: rule, ids: make(map[string]int32, len(values)), merges: make(map[[2]int32]merged, len(list))}
	// The merges are written over tokens' values, in which a byte is a
	// printable character.
	byValue := make(map[string]int32, len(values))
	for i, v := range values {
		if types[i] == typeControl || types[i] == typeUnknown || v == "" {
			continue
		}
		byValue[v] = int32(i)
		b.ids[string(b.decode(v))] = int32(i)
	}
	for i := range b.bytes {
		b.bytes[i] = -1
		if id, ok := byValue[string(byteRune[i])]; ok {
			b.bytes[i] = id
		}
	}
	for rank, pair := range list {
		// The first side may itself begin with a space only in
		// vocabularies that do not encode bytes, so the separator is
		// looked for from the second byte on.
		if len(pair) < 3 {
			return nil, fmt.Errorf("the metadata has a merge that is no pair: number %d of tokenizer.ggml.merges is %q", rank, pair)
		}
		at := strings.IndexByte(pair[1:], ' ')
		if at < 0 {
			return nil, fmt.Errorf("the metadata has a merge that is no pair: number %d of tokenizer.ggml.merges is %q", rank, pair)
		}
		left, right := pair[:at+1], pair[at+2:]
		l, okL := byValue[left]
		r, okR := byValue[right]
		id, ok := byValue[left+right]
		if !okL || !okR || !ok {
			continue // can never apply
		}
		key := [2]int32{l, r}
		if _, twice := b.merges[key]; !twice {
			b.merges[key] = merged{id, int32(rank)}
		}
	}
	return b, nil
}

func (b *bytePair) encode(dst []lm.Token, text string, _ bool) ([]lm.Token, error) {
	err := b.rule.split(text, func(word string) error {
		if b.rule.wholeWords {
			if id, ok := b.ids[word]; ok {
				dst = append(dst, id)
				return nil
			}
		}
		var list symbols
		for i := range len(word) {
			id := b.bytes[word[i]]
			if id < 0 {
				return &UnknownBytesError{Bytes: []byte{word[i]}}
			}
			list.add(i+1, id)
		}
		list.merge(func(left, right symbol) (int32, float32, bool) {
			m, ok := b.merges[[2]int32{left.id, right.id}]
			return m.id, -float32(m.rank), ok
		})
		for _, item := range list.items {
			if item.start != item.end {
				dst = append(dst, item.id)
			}
		}
		return nil
	})
	return dst, err
}

// decode maps each character of a value to its byte. Characters that stand for
// no byte are kept: they are in tokens that were added to the vocabulary as
// plain text.
func (b *bytePair) decode(value string) []byte {
	dst := make([]byte, 0, len(value))
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		if c, ok := runeByte[r]; ok {
			dst = append(dst, c)
		} else {
			dst = append(dst, value[i:i+n]...)
		}
		i += n
	}
	return dst
}

// byteRune gives the printable character that GPT-2's vocabularies write for a
// byte: itself for the printable ones of Latin-1, and U+0100 upwards for the
// others in their order. runeByte is its inverse.
var byteRune, runeByte = func() (to [256]rune, from map[rune]byte) {
	from = make(map[rune]byte, 256)
	next := rune(0x100)
	for i := range to {
		r := rune(i)
		if r <= ' ' || r >= 0x7f && r <= 0xa0 || r == 0xad {
			r = next
			next++
		}
		to[i], from[r] = r, byte(i)
	}
	return to, from
}()
