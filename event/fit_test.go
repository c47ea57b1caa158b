package event_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

// spelled is a model with a token for each letter and one for a word of 20 bytes, which
// counts how much it tokenises.
type spelled struct {
	context, bytes int
}

const word = "abcdefghijklmnopqrst"

func (m *spelled) Info() lm.Info {
	return lm.Info{Name: "spelled", Vocabulary: 257, Context: m.context, AddBOS: true, BOS: 0}
}

func (m *spelled) Tokenize(_ context.Context, text string) (out []lm.Token, err error) {
	m.bytes += len(text)
	for len(text) > 0 {
		if rest, ok := strings.CutPrefix(text, word); ok {
			out, text = append(out, 256), rest
			continue
		}
		out, text = append(out, lm.Token(text[0])), text[1:]
	}
	return out, nil
}

func (m *spelled) Piece(t lm.Token) []byte {
	if t == 256 {
		return []byte(word)
	}
	return []byte{byte(t)}
}

func (m *spelled) Read(context.Context, [][]lm.Token, func(int, lm.Distribution) error) error {
	return errors.New("not asked here")
}

func (m *spelled) Close() error { return nil }

// TestTooLong: a text that cannot fit the context is not tokenised; one that could is.
func TestTooLong(t *testing.T) {
	const context = 10
	for _, test := range []struct {
		words int
		fits  bool
	}{{1, true}, {9, true}, {11, true}, {12, false}, {100_000, false}} {
		m := &spelled{context: context}
		r := &event.Reader{Model: m}
		text := strings.Repeat(word, test.words-1)
		join := ""
		_, err := r.Resolve(t.Context(), []event.Event{{Prefix: text, Target: word, Join: &join}})
		var long *event.LengthError
		if errors.As(err, &long) == test.fits || (m.bytes > 0) != test.fits {
			t.Errorf("an event of %d words: %v; %d bytes were tokenised", test.words, err, m.bytes)
		}
		if test.fits {
			continue
		}
		for what, err := range map[string]error{
			"likelihood": func() error { _, err := r.Likelihood(t.Context(), "", text+word); return err }(),
			"top":        func() error { _, err := r.Top(t.Context(), text+word, 3); return err }(),
		} {
			if !errors.As(err, &long) || m.bytes > 0 || long.Bytes != test.words*len(word) {
				t.Errorf("%s of %d words: %v", what, test.words, err)
			}
		}
	}
	// Where the context is not known nothing is refused.
	m := &spelled{}
	if _, err := (&event.Reader{Model: m}).Likelihood(t.Context(), "", strings.Repeat(word, 1000)); err != nil {
		t.Error(err)
	}
}
