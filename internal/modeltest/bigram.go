package modeltest

import (
	"context"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
)

// Corpus is a text about animals for a [Bigram].
const Corpus = `A dog is a mammal. A dog is an animal. A robin is a bird. A robin is an animal. A cat is a mammal.
A cat is an animal. A dog is not a bird. A robin is not a mammal. A trout is a fish. A trout is an animal.
Every dog is a mammal. Every mammal is an animal. Every bird is an animal. A dog is a dog. Answer yes.`

// Bigram is a language model counted from a text, for tests of what happens around a model: the next token's
// probability is the share of its occurrences after the last token, each with 0.01 added, so that all
// it says can be worked out by hand. Its tokens are words with
// the space in front of them, punctuation, and single bytes for what the text
// does not have; a text is split into the longest tokens that fit.
// Unlike other models it is for one goroutine.
type Bigram struct {
	Model  lm.Info
	Pieces []string // of all tokens
	IDs    map[string]lm.Token
	Reads  int           // prefixes that were read
	Block  chan struct{} // where it is not nil, a reading waits for it before each prefix

	counts map[lm.Token]map[lm.Token]int
	most   int                    // entries of a distribution; 0 for all
	after  map[lm.Token][]float64 // the logarithm of P, by the last token
}

// NewBigram counts a text. The model tells of so many of the most probable tokens, as a server does; 0 for
// whole distributions.
func NewBigram(text string, most int) *Bigram {
	m := &Bigram{IDs: map[string]lm.Token{}, counts: map[lm.Token]map[lm.Token]int{}, most: most, after: map[lm.Token][]float64{}}
	add := func(piece string) {
		if _, ok := m.IDs[piece]; !ok {
			m.IDs[piece] = lm.Token(len(m.Pieces))
			m.Pieces = append(m.Pieces, piece)
		}
	}
	add("") // beginning of sequence
	for b := range 256 {
		add(string([]byte{byte(b)}))
	}
	var words []string
	for _, line := range strings.Split(text, "\n") {
		for i, w := range strings.Fields(line) {
			if i > 0 {
				w = " " + w
			}
			if strings.HasSuffix(w, ".") {
				words = append(words, strings.TrimSuffix(w, "."), ".")
			} else {
				words = append(words, w)
			}
		}
		words = append(words, "")
	}
	for _, w := range words {
		add(w)
	}
	last := lm.Token(0)
	for _, w := range words {
		t := m.IDs[w]
		if m.counts[last] == nil {
			m.counts[last] = map[lm.Token]int{}
		}
		m.counts[last][t]++
		last = t
	}
	m.Model = lm.Info{
		Name: "ngram", Backend: "counted", Digest: "0", Precision: "exact", Parameters: uint64(len(m.Pieces) * len(m.Pieces)), Vocabulary: len(m.Pieces),
		Context: 64, AddBOS: true, BOS: 0, Whole: most == 0,
	}
	return m
}

// Info says what the model is.
func (m *Bigram) Info() lm.Info { return m.Model }

// Close does nothing.
func (m *Bigram) Close() error { return nil }

// Tokenize splits a text into the longest tokens.
func (m *Bigram) Tokenize(ctx context.Context, text string) ([]lm.Token, error) {
	var out []lm.Token
	for len(text) > 0 {
		n := 1
		// The longest token: a whole word with its space, or one byte.
		if r, size := utf8.DecodeRuneInString(text); unicode.IsLetter(r) || r == ' ' {
			end := size
			for end < len(text) {
				r, size := utf8.DecodeRuneInString(text[end:])
				if !unicode.IsLetter(r) {
					break
				}
				end += size
			}
			if _, ok := m.IDs[text[:end]]; ok {
				n = end
			}
		}
		out = append(out, m.IDs[text[:n]])
		text = text[n:]
	}
	return out, nil
}

// Piece is a token's text.
func (m *Bigram) Piece(t lm.Token) []byte {
	if t < 0 || int(t) >= len(m.Pieces) {
		return nil
	}
	return []byte(m.Pieces[t])
}

// Next is the probability of a token after another.
func (m *Bigram) Next(last, next lm.Token) float64 {
	total := 0
	for _, n := range m.counts[last] {
		total += n
	}
	return (float64(m.counts[last][next]) + 0.01) / (float64(total) + 0.01*float64(len(m.Pieces)))
}

// logP are the natural logarithms of all tokens' probabilities after another.
func (m *Bigram) logP(last lm.Token) []float64 {
	if m.after[last] == nil {
		for t := range m.Pieces {
			m.after[last] = append(m.after[last], math.Log(m.Next(last, lm.Token(t))))
		}
	}
	return m.after[last]
}

// Read hands over the distribution after each prefix.
func (m *Bigram) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	for i, prefix := range prefixes {
		if m.Block != nil {
			select {
			case <-ctx.Done():
			case <-m.Block:
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(prefix) == 0 {
			return lm.ErrEmptyPrefix
		}
		m.Reads++
		last := prefix[len(prefix)-1]
		d := lm.Distribution{Vocabulary: len(m.Pieces)}
		logP := m.logP(last)
		logits := make([]float32, len(m.Pieces))
		for t := range logits {
			logits[t] = float32(logP[t])
		}
		if m.most == 0 {
			d.Logits = logits
		} else {
			order := make([]lm.Token, len(logits))
			for t := range order {
				order[t] = lm.Token(t)
			}
			sort.SliceStable(order, func(a, b int) bool { return logits[order[a]] > logits[order[b]] })
			for _, t := range order[:m.most] {
				d.Top = append(d.Top, lm.TokenLogProb{Token: t, LogProb: logP[t]})
			}
		}
		if err := yield(i, d); err != nil {
			return err
		}
	}
	return nil
}

// P is the probability that the model gives to a text's next token.
func (m *Bigram) P(prefix, piece string) float64 {
	tokens, _ := m.Tokenize(context.Background(), prefix)
	last := slices.Concat([]lm.Token{0}, tokens)[len(tokens)]
	return m.Next(last, m.IDs[piece])
}
