// Package lm states what modellog needs of a language model: its tokens, and
// the distribution it predicts for the token after a prefix.
//
// A [Model] is opened by one of the backends in the folders below this one.
// A backend that sees the model's whole vocabulary returns distributions with
// a logit for each token; one that is told only of the most probable tokens
// (a server) returns those, and what follows for the others is an interval,
// which is for package calibrate to work out. Nothing here knows of
// probabilities of events or of logic.
//
// # Text and tokens
//
// [Model.Tokenize] gives the tokens of a text and nothing else: no
// beginning-of-sequence token, and text that looks like a special token is
// text. [Prompt] puts the beginning-of-sequence token in front exactly when
// the model's own metadata asks for it. [Join] puts a prefix and its target
// together, and [Continue] tokenises the pair as one text and insists that the
// prefix's own tokens come out unchanged.
package lm

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Token is a token's id: its row in the model's vocabulary, from 0.
type Token = int32

// Info says what a model is and how it was opened.
type Info struct {
	Name         string  // the name it was asked for by
	Backend      string  // "gguf", "ollama" or "openai"
	Digest       string  // SHA-256 of the weights file, hexadecimal; a server's own digest where there is no file
	Architecture string  // as the GGUF metadata names it: "gemma3", "llama", …
	Quantization string  // of the weights file: "Q4_K_M", "F16", …
	Revision     string  // of the code that tokenises and computes: readings of another revision may differ; for a server, its address and version
	Precision    string  // what is computed with: "exact" (weights dequantised to float32), "native" (as in the file), "server"
	Path         string  // the weights file, or the server's address
	Parameters   uint64  // number of weights
	Vocabulary   int     // number of tokens
	Context      int     // longest prefix in tokens
	AddBOS       bool    // the metadata asks for a beginning-of-sequence token
	BOS          Token   // that token; meaningful only when AddBOS
	EOS          []Token // tokens that end a text
	Whole        bool    // Read gives whole distributions
}

// Distribution is a model's prediction of the token after a prefix.
//
// A whole distribution has Logits, one for each token id: unnormalised
// natural-log weights, whose softmax is the distribution. A truncated one has
// Top instead: the log-probabilities (natural, normalised over the whole
// vocabulary) of the most probable tokens in descending order; each token that
// is not listed is at most as probable as the last one that is. The list is as
// the backend has it, and may end in floors, values such as -9999 that stand for
// "no value": which those are is for package calibrate to say.
//
// A server may name a token by a text that several tokens share, as a line
// break and the byte 0x0A do. Among then has the index of the entry in Top and
// all tokens that it may be, of which the entry's own is the likeliest guess.
// [Distribution.Listed] takes this into account.
type Distribution struct {
	Logits     []float32
	Top        []TokenLogProb
	Among      map[int][]Token
	Vocabulary int
}

// Listed returns the log-probabilities in Top that may be token t's. If sure,
// one of them is; otherwise t may also be a token that is not listed.
func (d Distribution) Listed(t Token) (logprobs []float64, sure bool) {
	for i, e := range d.Top {
		among, unsure := d.Among[i]
		if !unsure && e.Token == t {
			return []float64{e.LogProb}, true
		}
		if unsure && slices.Contains(among, t) {
			logprobs = append(logprobs, e.LogProb)
			// As many entries as tokens that share the text: all of
			// them are listed.
			sure = len(logprobs) == len(among)
		}
	}
	return logprobs, sure
}

// TokenLogProb is a token with its natural-log probability.
type TokenLogProb struct {
	Token   Token
	LogProb float64
}

// Model is an autoregressive language model that is ready to be read.
// Its methods may be called from several goroutines.
type Model interface {
	Info() Info

	// Tokenize returns the text's own tokens, without a
	// beginning-of-sequence token. Text that spells a special token is
	// taken as text.
	Tokenize(ctx context.Context, text string) ([]Token, error)

	// Piece returns the bytes that a token stands for, which need not be
	// UTF-8 by themselves; nil for a token outside the vocabulary.
	Piece(t Token) []byte

	// Read reads the next-token distribution after each prefix and hands it
	// to yield with the prefix's index. The prefixes are read in batches,
	// so calls to yield may come in any order, but one at a time, and the
	// model may be busy until yield returns: it must not be used there. The
	// distribution does not change afterwards; several prefixes may share
	// one. An error of yield ends the reading and is returned. A prefix must
	// have at least one token ([ErrEmptyPrefix]) and fit the model's context
	// ([*ContextError]).
	Read(ctx context.Context, prefixes [][]Token, yield func(i int, d Distribution) error) error

	// Close frees the model. The model must not be used afterwards.
	Close() error
}

// ModelName is a name by which a model can be opened.
type ModelName struct {
	Name    string
	Backend string // what would open it
	Detail  string // size, quantisation and the like, for people; may be empty
}

// Batcher is a Model that computes several prefixes at once, where the last digits of
// what it says of one may depend on which others are computed with it.
type Batcher interface {
	// Batch returns how many of the first prefixes [Model.Read] computes together
	// when it is given these: at least 1.
	Batch(prefixes [][]Token) int
}

// Lender is a Model with whole distributions that need not be copied to be read.
type Lender interface {
	// Lend is [Model.Read], but that yield is given many distributions at a time, each with the index of its prefix, and
	// that their logits are the model's own: they change when yield has returned.
	Lend(ctx context.Context, prefixes [][]Token, yield func(at []int, d []Distribution) error) error
}

// Kept returns a model that stays open when what it is given to closes it. It is a [Batcher], and a [Lender]
// where m is one.
func Kept(m Model) Model {
	if l, ok := m.(Lender); ok {
		return lender{kept{m}, l}
	}
	return kept{m}
}

type kept struct{ Model }

func (kept) Close() error { return nil }

func (k kept) Batch(prefixes [][]Token) int {
	if b, ok := k.Model.(Batcher); ok {
		return b.Batch(prefixes)
	}
	return len(prefixes)
}

type lender struct {
	kept
	Lender
}

// ErrEmptyPrefix is returned for a prefix without tokens on a model whose
// metadata asks for no beginning-of-sequence token: there is nothing that the
// next token could follow.
var ErrEmptyPrefix = errors.New("the prefix is empty, and this model has no beginning-of-sequence token for the next token to follow; give it at least one word")

// ContextError reports a prefix that is longer than the model's context.
type ContextError struct {
	Tokens  int // the prefix's length
	Context int // the longest that can be read
}

func (e *ContextError) Error() string {
	return fmt.Sprintf("the prefix has %d tokens and the model's context holds %d; shorten the prefix", e.Tokens, e.Context)
}
