package lang_test

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

// ngram is a language model counted from a text: the next token's probability
// is that of a bigram model with add-one smoothing. Its tokens are words with
// the space in front of them, punctuation, and single bytes for what the text
// does not have; a text is split into the longest tokens that fit.
type ngram struct {
	info   lm.Info
	pieces []string
	ids    map[string]lm.Token
	counts map[lm.Token]map[lm.Token]int
	most   int // entries of a distribution; 0 for all

	reads int // prefixes read
	block chan struct{}
}

const corpus = `A dog is a mammal. A dog is an animal. A robin is a bird. A robin is an animal. A cat is a mammal.
A cat is an animal. A dog is not a bird. A robin is not a mammal. A trout is a fish. A trout is an animal.
Every dog is a mammal. Every mammal is an animal. Every bird is an animal. A dog is a dog. Answer yes.`

func newNgram(text string, most int) *ngram {
	m := &ngram{ids: map[string]lm.Token{}, counts: map[lm.Token]map[lm.Token]int{}, most: most}
	add := func(piece string) {
		if _, ok := m.ids[piece]; !ok {
			m.ids[piece] = lm.Token(len(m.pieces))
			m.pieces = append(m.pieces, piece)
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
		t := m.ids[w]
		if m.counts[last] == nil {
			m.counts[last] = map[lm.Token]int{}
		}
		m.counts[last][t]++
		last = t
	}
	m.info = lm.Info{
		Name: "ngram", Backend: "counted", Digest: "0", Precision: "exact", Parameters: uint64(len(m.pieces) * len(m.pieces)), Vocabulary: len(m.pieces),
		Context: 64, AddBOS: true, BOS: 0, Whole: most == 0,
	}
	return m
}

func (m *ngram) Info() lm.Info { return m.info }
func (m *ngram) Close() error  { return nil }

func (m *ngram) Tokenize(ctx context.Context, text string) ([]lm.Token, error) {
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
			if _, ok := m.ids[text[:end]]; ok {
				n = end
			}
		}
		out = append(out, m.ids[text[:n]])
		text = text[n:]
	}
	return out, nil
}

func (m *ngram) Piece(t lm.Token) []byte {
	if t < 0 || int(t) >= len(m.pieces) {
		return nil
	}
	return []byte(m.pieces[t])
}

// p is the probability of a token after another.
func (m *ngram) p(last, next lm.Token) float64 {
	total := 0
	for _, n := range m.counts[last] {
		total += n
	}
	return (float64(m.counts[last][next]) + 0.01) / (float64(total) + 0.01*float64(len(m.pieces)))
}

func (m *ngram) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	for i, prefix := range prefixes {
		if m.block != nil {
			select {
			case <-ctx.Done():
			case <-m.block:
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(prefix) == 0 {
			return lm.ErrEmptyPrefix
		}
		m.reads++
		last := prefix[len(prefix)-1]
		d := lm.Distribution{Vocabulary: len(m.pieces)}
		logits := make([]float32, len(m.pieces))
		for t := range logits {
			logits[t] = float32(math.Log(m.p(last, lm.Token(t))))
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
				d.Top = append(d.Top, lm.TokenLogProb{Token: t, LogProb: math.Log(m.p(last, t))})
			}
		}
		if err := yield(i, d); err != nil {
			return err
		}
	}
	return nil
}

// after is the probability that the model gives to a text's next token.
func (m *ngram) after(prefix, piece string) float64 {
	tokens, _ := m.Tokenize(context.Background(), prefix)
	last := slices.Concat([]lm.Token{0}, tokens)[len(tokens)]
	return m.p(last, m.ids[piece])
}
