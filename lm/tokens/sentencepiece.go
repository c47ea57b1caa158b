package tokens

import (
	"fmt"
	"strings"

	"github.com/modellog/modellog/lm"
)

// spaceMark is how SentencePiece writes a space.
const spaceMark = "▁"

// sentencePiece merges neighbouring symbols by the score of what they become.
type sentencePiece struct {
	ids            map[string]int32 // tokens that text can become
	scores         []float32
	bytes          [256]int32 // byte tokens; -1 where there is none
	addSpacePrefix bool
}

func newSentencePiece(m Metadata, values []string, types []int32) (*sentencePiece, error) {
	s := &sentencePiece{
		ids:            make(map[string]int32, len(values)),
		scores:         m.Floats("tokenizer.ggml.scores"),
		addSpacePrefix: m.Bool("tokenizer.ggml.add_space_prefix", true),
	}
	if len(s.scores) != len(values) {
		return nil, fmt.Errorf("the metadata contradicts itself: %d tokens (tokenizer.ggml.tokens) but %d scores (tokenizer.ggml.scores)", len(values), len(s.scores))
	}
	for i := range s.bytes {
		s.bytes[i] = -1
	}
	for i, v := range values {
		switch types[i] {
		case typeByte:
			b, ok := byteValue(v)
			if !ok {
				return nil, fmt.Errorf("the metadata contradicts itself: token %d is a byte token (tokenizer.ggml.token_type) and is called %q, not <0x00> to <0xFF>", i, v)
			}
			s.bytes[b] = int32(i)
		case typeControl, typeUnknown:
		default:
			s.ids[v] = int32(i)
		}
	}
	return s, nil
}

func (s *sentencePiece) encode(dst []lm.Token, text string, atStart bool) ([]lm.Token, error) {
	if atStart && s.addSpacePrefix {
		text = " " + text
	}
	text = strings.ReplaceAll(text, " ", spaceMark)
	var list symbols
	for i := 0; i < len(text); {
		n := runeLen(text[i:])
		id, ok := s.ids[text[i:i+n]]
		if !ok {
			id = -1
		}
		i += n
		list.add(i, id)
	}
	list.merge(func(left, right symbol) (int32, float32, bool) {
		id, ok := s.ids[text[left.start:right.end]]
		if !ok {
			return 0, 0, false
		}
		return id, s.scores[id], true
	})
	for _, item := range list.items {
		switch {
		case item.start == item.end:
		case item.id >= 0:
			dst = append(dst, item.id)
		default:
			for _, b := range []byte(text[item.start:item.end]) {
				if s.bytes[b] < 0 {
					return nil, &UnknownBytesError{Bytes: s.decode(text[item.start:item.end])}
				}
				dst = append(dst, s.bytes[b])
			}
		}
	}
	return dst, nil
}

func (s *sentencePiece) decode(value string) []byte {
	return []byte(strings.ReplaceAll(value, spaceMark, " "))
}
