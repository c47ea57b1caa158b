package openai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
)

// native speaks llama-server's own protocol, which takes tokens and names them by
// their ids, as many as are asked for.
type native struct {
	pool   *pool // for names of tokens
	size   int
	depth  int
	forced lm.Token // what is sampled: see read
	pieces [][]byte // what each token stands for; empty for those that the server shows as nothing

	mu    sync.Mutex
	names map[lm.Token][]byte // of these
}

type props struct {
	Settings *struct {
		Context int `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Build string `json:"build_info"`
	EOS   string `json:"eos_token"`
}

// mostTokens bounds a vocabulary.
const mostTokens = 1 << 22

// openNative asks what there is to know of a llama-server.
func openNative(ctx context.Context, of *pool, e *endpoint, p props, l listing) (*native, facts, error) {
	n := &native{pool: of, names: make(map[lm.Token][]byte)}
	f := facts{Kind: "llama-server", Version: p.Build, Model: string(l.Meta)}
	if p.Settings != nil {
		f.Context = p.Settings.Context - 1 // one is for the token that is sampled
	}
	var err error
	if f.AddBOS, f.BOS, n.forced, err = beginning(func(special bool) ([]lm.Token, error) {
		return n.tokens(ctx, e, "a", special, false)
	}); err != nil {
		return nil, f, err
	}
	if p.EOS != "" {
		if f.EOS, err = n.tokens(ctx, e, p.EOS, false, true); err != nil {
			return nil, f, err
		}
	}
	// One reading of everything has the vocabulary in it.
	n.size = l.Vocabulary // older ones tell none
	if n.size == 0 {
		n.size = mostTokens
	}
	prompt := []lm.Token{n.forced}
	if f.AddBOS {
		prompt = []lm.Token{f.BOS, n.forced}
	}
	all, err := nativeList[spelledEntry](ctx, n, e, prompt, n.size)
	if err != nil {
		return nil, f, err
	}
	size := max(l.Vocabulary, len(all))
	n.pieces = make([][]byte, size)
	for _, entry := range all {
		if entry.ID < 0 || int(entry.ID) >= size {
			return nil, f, &AnswerError{e.base.String(), fmt.Sprintf("token %d of a vocabulary of %d", entry.ID, size)}
		}
		n.pieces[entry.ID] = bytes.Clone(entry.Bytes)
	}
	n.size, n.depth = size, size
	if most := e.options.Depth; most > 0 {
		n.depth = min(most, size)
	}
	f.Vocabulary, f.Depth, f.Whole = size, n.depth, n.depth == size && len(all) == size
	if !f.Whole {
		f.Depth = min(n.depth, len(all))
	}
	sum := sha256.New()
	for _, piece := range n.pieces {
		sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(piece))))
		sum.Write(piece)
	}
	f.Pieces = fmt.Sprintf("%x", sum.Sum(nil))
	return n, f, nil
}

// beginning finds the beginning-of-sequence token: what a tokeniser puts in front of a
// text when it is asked to put there what the model wants.
func beginning(tokens func(special bool) ([]lm.Token, error)) (add bool, bos, last lm.Token, err error) {
	plain, err := tokens(false)
	if err != nil {
		return false, 0, 0, err
	}
	marked, err := tokens(true)
	if err != nil {
		return false, 0, 0, err
	}
	if len(plain) == 0 {
		return false, 0, 0, fmt.Errorf("the server has no tokens for the letter a")
	}
	last = plain[len(plain)-1]
	if len(marked) > len(plain) && slices.Equal(marked[1:1+len(plain)], plain) {
		return true, marked[0], last, nil
	}
	if len(marked) < len(plain) || !slices.Equal(marked[:len(plain)], plain) {
		return false, 0, 0, fmt.Errorf("the server's tokens of one letter are %v, and with those that begin a text %v: what is put in front of a prompt is not clear", plain, marked)
	}
	return false, 0, last, nil
}

func (n *native) tokens(ctx context.Context, e *endpoint, text string, special, parse bool) ([]lm.Token, error) {
	var answer struct{ Tokens *[]lm.Token }
	err := e.post(ctx, e.beside("/tokenize"), map[string]any{"content": text, "add_special": special, "parse_special": parse}, maxTokens(text), &answer)
	if err == nil && answer.Tokens == nil {
		err = &AnswerError{e.base.String(), "an answer without tokens"}
	}
	if err != nil {
		return nil, err
	}
	return *answer.Tokens, nil
}

// maxTokens bounds the answer that has a text's tokens.
func maxTokens(text string) int64 { return 64<<10 + 64*int64(len(text)) }

func (n *native) tokenize(ctx context.Context, e *endpoint, text string) ([]lm.Token, error) {
	return n.tokens(ctx, e, text, false, false)
}

// piece returns what a token stands for. The names of marks (control tokens) are asked for one by one.
func (n *native) piece(ctx context.Context, t lm.Token) []byte {
	if t < 0 || int(t) >= len(n.pieces) {
		return nil
	}
	if len(n.pieces[t]) > 0 {
		return n.pieces[t]
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if name, ok := n.names[t]; ok || len(n.names) >= mostNames {
		return name
	}
	var answer struct{ Content string }
	if n.pool.do(ctx, func(ctx context.Context, e *endpoint) error {
		return e.post(ctx, e.beside("/detokenize"), map[string]any{"tokens": []lm.Token{t}}, maxError, &answer)
	}) != nil {
		return nil
	}
	n.names[t] = []byte(answer.Content)
	return n.names[t]
}

// mostNames is how many tokens' names are asked for one by one.
const mostNames = 2000

type nativeEntry struct {
	ID      lm.Token
	LogProb *float64
}

// spelledEntry is one with the bytes that the token stands for. To read them takes as long as all the rest.
type spelledEntry struct {
	nativeEntry
	Bytes []byte
}

func (e nativeEntry) entry() nativeEntry { return e }

// nativeList reads what a server lists after a prefix.
func nativeList[E interface{ entry() nativeEntry }](ctx context.Context, n *native, e *endpoint, prefix []lm.Token, depth int) ([]E, error) {
	// The probabilities are those before sampling. What is sampled has no influence on
	// them, but there are none when it ends the text or is part of a character: it is made
	// to be a letter.
	request := map[string]any{
		"prompt": prefix, "n_predict": 1, "n_probs": depth, "post_sampling_probs": false,
		"temperature": 0, "logit_bias": [][2]any{{n.forced, 1e6}},
		// What of a prompt is in the server's cache was computed in other company, which
		// changes last digits.
		"cache_prompt":    false,
		"response_fields": []string{"tokens_evaluated", "truncated", "completion_probabilities"},
	}
	var answer struct {
		Evaluated     int  `json:"tokens_evaluated"`
		Truncated     bool `json:"truncated"`
		Probabilities []struct {
			Top []E `json:"top_logprobs"`
		} `json:"completion_probabilities"`
	}
	if err := e.post(ctx, e.beside("/completion"), request, maxError+bytesPerEntry*int64(depth), &answer); err != nil {
		return nil, err
	}
	switch {
	// It also calls truncated what ends where the context does.
	case answer.Evaluated != len(prefix) && (answer.Truncated || answer.Evaluated != 0):
		return nil, &CountError{Server: e.base.String(), Ours: len(prefix), Theirs: answer.Evaluated}
	case len(answer.Probabilities) != 1 || len(answer.Probabilities[0].Top) == 0:
		return nil, fmt.Errorf("the server at %s gives no log-probabilities with the ids of tokens; it needs a llama.cpp of December 2024 or newer", e.base)
	}
	for _, entry := range answer.Probabilities[0].Top {
		if entry.entry().LogProb == nil {
			return nil, &AnswerError{e.base.String(), "a token without a log-probability"}
		}
	}
	return answer.Probabilities[0].Top, nil
}

// bytesPerEntry bounds an entry of a list: a token may be some dozens of bytes, each of which is
// written as a number too.
const bytesPerEntry = 512

func (n *native) read(ctx context.Context, e *endpoint, chain [][]lm.Token) ([]lm.Distribution, error) {
	d, err := n.readTo(ctx, e, chain[0], n.depth)
	return []lm.Distribution{d}, err
}

// probe reads a few of the most probable tokens.
func (n *native) probe(ctx context.Context, e *endpoint, prefix []lm.Token) (lm.Distribution, error) {
	return n.readTo(ctx, e, prefix, min(n.depth, 20))
}

func (n *native) readTo(ctx context.Context, e *endpoint, prefix []lm.Token, depth int) (lm.Distribution, error) {
	all, err := nativeList[nativeEntry](ctx, n, e, prefix, depth)
	if err != nil {
		return lm.Distribution{}, err
	}
	entries := make([]lm.TokenLogProb, len(all))
	for i, entry := range all {
		entries[i] = lm.TokenLogProb{Token: entry.ID, LogProb: *entry.LogProb}
	}
	return distribution(e, entries, n.size)
}

// distribution makes a distribution of a list: a whole one if it is of the whole vocabulary.
func distribution(e *endpoint, entries []lm.TokenLogProb, size int) (lm.Distribution, error) {
	if d, ok := wholeList(entries, size); ok {
		return d, nil
	}
	d, err := listed.ByID(entries, size)
	if err != nil {
		return d, &listError{e.base.String(), err}
	}
	return d, nil
}

func (n *native) chains() bool { return false }

// utf8Text refuses a text that JSON cannot carry.
func utf8Text(text string) error {
	if !utf8.ValidString(text) {
		return &listed.PromptError{Text: text, Reason: "it is no valid UTF-8, which the server's JSON cannot carry"}
	}
	return nil
}
