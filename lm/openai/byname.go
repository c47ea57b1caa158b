package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
	"github.com/modellog/modellog/lm/tokens"
)

// byName speaks the protocol as OpenAI wrote it down: prompts are text, and tokens are
// named by their text. Which tokens these are is known from the model's vocabulary here.
type byName struct {
	name   string // of the model
	tok    *tokens.Tokenizer
	names  *listed.Names
	depths []int // how many tokens are asked for; fewer where several have one name
	python bool  // llama-cpp-python's
}

// attempts is how often a reading is asked for, with another token sampled each time,
// before it is given up.
const attempts = 8

// openByName asks what there is to know of a server that names tokens by their text.
func openByName(ctx context.Context, e *endpoint, name string, tok *tokens.Tokenizer) (*byName, facts, error) {
	b := &byName{name: name, tok: tok, depths: []int{20}}
	f := facts{Kind: "OpenAI-compatible", Vocabulary: tok.Size(), AddBOS: tok.AddBOS(), BOS: tok.BOS(), EOS: tok.EOS()}
	var api struct {
		Info struct{ Title, Version string }
	}
	spell := replacing
	if err := e.get(ctx, e.beside("/openapi.json"), &api); err == nil && strings.Contains(api.Info.Title, "llama.cpp Python API") {
		f.Kind, f.Version = "llama-cpp-python", api.Info.Version
		b.python, b.depths = true, []int{50, 20, 5}
		spell = dropping
		if err := b.compare(ctx, e); err != nil {
			return nil, f, err
		}
	} else if err != nil && (dead(err) || ctx.Err() != nil) {
		return nil, f, err
	}
	b.names = listed.NewNames(tok, tok.Size(), spell)
	if most := e.options.Depth; most > 0 && most < b.depths[0] {
		b.depths = append([]int{most}, slices.DeleteFunc(b.depths, func(n int) bool { return n >= most })...)
	}
	// Some give fewer.
	for _, n := range []int{b.depths[0], 5, 1} {
		if n > b.depths[0] {
			continue
		}
		b.depths[0] = n
		prompt, err := b.prompt(probes[0])
		if err != nil {
			return nil, f, err
		}
		list, err := b.list(ctx, e, prompt, n, 0)
		if err == nil && !b.python {
			n = max(1, min(n, len(list))) // it gives fewer without a word
			b.depths[0] = n
		}
		if err == nil || !refused(err) || n == 1 {
			f.Depth = n
			return b, f, err
		}
		b.depths = b.depths[:1]
	}
	return b, f, nil
}

// replacing are the texts that a server may call a token by which puts U+FFFD for what is no
// UTF-8, or writes its bytes, and shows control tokens or does not.
func replacing(tok *tokens.Tokenizer, id lm.Token) []string {
	piece := tok.Piece(id)
	all := []string{string(piece)}
	if !utf8.Valid(piece) {
		all = append(all, listed.Replaced(piece), fmt.Sprintf("bytes:%s", escaped(piece)))
	}
	if tok.IsControl(id) || tok.IsUnused(id) {
		all = append(all, "")
	}
	return all
}

func escaped(piece []byte) string {
	var b strings.Builder
	for _, c := range piece {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// dropping are the texts that llama-cpp-python calls a token by: it leaves out what is no
// UTF-8, and control tokens altogether.
func dropping(tok *tokens.Tokenizer, id lm.Token) []string {
	if tok.IsControl(id) || tok.IsUnused(id) {
		return []string{""}
	}
	return []string{listed.Dropped(tok.Piece(id))}
}

// probes are what is read of a server when it is opened.
var probes = []string{"The capital of France is", "Water is made of hydrogen and"}

// prompt returns a text with the beginning-of-sequence token in front that the model wants.
func (b *byName) prompt(text string) ([]lm.Token, error) {
	prefix, err := b.tok.Encode(text)
	if err == nil && b.tok.AddBOS() {
		prefix = append([]lm.Token{b.tok.BOS()}, prefix...)
	}
	return prefix, err
}

// compare checks that llama-cpp-python's server has the vocabulary.
func (b *byName) compare(ctx context.Context, e *endpoint) error {
	for _, text := range append([]string{"naïve café: 犬が走る 🐶, in 1984!"}, probes...) {
		ours, err := b.prompt(text)
		if err != nil {
			return err
		}
		var answer struct{ Tokens []lm.Token }
		if err := e.post(ctx, e.beside("/extras/tokenize"), map[string]any{"model": b.name, "input": text}, maxTokens(text), &answer); err != nil {
			return err
		}
		// It may put the beginning-of-sequence token in front where the model wants none.
		if !slices.Equal(answer.Tokens, ours) && (len(answer.Tokens) == 0 || !slices.Equal(answer.Tokens[1:], ours)) {
			return fmt.Errorf("the server at %s splits %q into the tokens %v, and by the vocabulary of %q here it is %v: they are two models", e.base, text, answer.Tokens, b.name, ours)
		}
	}
	return nil
}

func (b *byName) tokenize(_ context.Context, _ *endpoint, text string) ([]lm.Token, error) {
	return b.tok.Encode(text)
}

func (b *byName) piece(_ context.Context, t lm.Token) []byte { return b.tok.Piece(t) }

func (b *byName) probe(ctx context.Context, e *endpoint, prefix []lm.Token) (lm.Distribution, error) {
	return only(b.read(ctx, e, [][]lm.Token{prefix}))
}

func (b *byName) chains() bool { return false }

// list asks for the k most probable tokens after a prefix. Each attempt has another token sampled.
func (b *byName) list(ctx context.Context, e *endpoint, prefix []lm.Token, k, attempt int) (pairs, error) {
	text, err := listed.Prompt(b.tok, prefix)
	if err != nil {
		return nil, err
	}
	request := map[string]any{"model": b.name, "prompt": text, "max_tokens": 1, "logprobs": k, "temperature": 0, "top_p": 1, "seed": attempt}
	if attempt > 0 {
		// The most probable one ended the text: take any.
		request["temperature"] = 2
		if b.python {
			request["temperature"] = 1000
		}
	}
	if b.python {
		request["top_k"], request["min_p"], request["repeat_penalty"] = 0, 0, 1
		if attempt == 0 {
			request["top_k"] = 1
		}
	}
	var answer completion
	if err := e.post(ctx, e.at("/completions"), request, maxAnswer+bytesPerEntry*int64(k), &answer); err != nil {
		return nil, err
	}
	if answer.Usage == nil {
		return nil, &AnswerError{e.base.String(), "an answer without its number of tokens, so that it cannot be seen whether it is about the prompt's"}
	}
	if answer.Usage.Prompt != len(prefix) {
		return nil, &CountError{Server: e.base.String(), Ours: len(prefix), Theirs: answer.Usage.Prompt}
	}
	if len(answer.Choices) != 1 {
		return nil, &AnswerError{e.base.String(), fmt.Sprintf("%d answers where one was asked for", len(answer.Choices))}
	}
	c := answer.Choices[0]
	if c.Logprobs == nil || len(c.Logprobs.Top) == 0 {
		if c.FinishReason == "stop" {
			return nil, errEnded
		}
		return nil, fmt.Errorf("the server at %s gives no log-probabilities with /completions, without which nothing can be read; use llama-server or vLLM", e.base)
	}
	list := c.Logprobs.Top[0]
	// What is sampled is listed in any case: at the end if it is one more, or in the place of
	// another of its name. The most probable token, which the first attempt samples, is listed first anyway.
	if attempt > 0 && len(c.Logprobs.Tokens) > 0 {
		sampled := c.Logprobs.Tokens[0]
		if n := len(list); n > 1 && list[n-1].name == sampled {
			list = list[:n-1]
		}
		if at := slices.IndexFunc(list, func(p pair) bool { return p.name == sampled }); at >= 0 && b.names.Shared(sampled) {
			list = list[:at]
		}
		if len(list) == 0 {
			return nil, errEnded // another may be sampled the next time
		}
	}
	return list, nil
}

var errEnded = errors.New("the text ends there")

// EndOfTextError reports that a server kept its log-probabilities to itself, as it does when
// the text ends where the next token should be.
type EndOfTextError struct {
	Text, Server string
}

func (e *EndOfTextError) Error() string {
	return fmt.Sprintf("the server at %s gives no log-probabilities after %s: it takes the text to end there; use llama-server, the embedded engine (gguf:PATH), or another prefix", e.Server, listed.Quote(e.Text))
}

func (b *byName) read(ctx context.Context, e *endpoint, chain [][]lm.Token) ([]lm.Distribution, error) {
	prefix := chain[0]
	for attempt := 0; attempt < attempts; attempt++ {
		entries, err := b.entries(ctx, e, prefix, attempt)
		if err == errEnded {
			continue
		}
		if err != nil {
			return nil, err
		}
		d, err := b.names.Distribution(entries)
		if err != nil {
			return nil, &listError{e.base.String(), err}
		}
		return []lm.Distribution{d}, nil
	}
	return nil, &EndOfTextError{Text: string(b.tok.Text(prefix)), Server: e.base.String()}
}

// entries asks for a list, and again for a shorter one where the server has put several
// tokens of one name into one entry, and so hides all but one. When all are that way, what comes
// before the first entry that may be such is used: whatever is hidden is less probable.
func (b *byName) entries(ctx context.Context, e *endpoint, prefix []lm.Token, attempt int) ([]listed.Entry, error) {
	var best []listed.Entry
	for i, k := range append(slices.Clone(b.depths), 1) {
		list, err := b.list(ctx, e, prefix, k, attempt)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, &AnswerError{e.base.String(), "a list of no tokens"}
		}
		entries := make([]listed.Entry, len(list))
		cut := len(list)
		for i, p := range list {
			entries[i] = listed.Entry{Text: p.name, LogProb: p.logprob}
			if i < cut && b.names.Shared(p.name) {
				cut = i
			}
		}
		if len(list) >= k {
			return entries, nil // one entry for each token that was asked for
		}
		if i == 0 || cut > len(best) {
			best = entries[:cut]
		}
		// A shorter list without a shared entry has no more than this one has before it.
		if next := append(slices.Clone(b.depths), 1)[min(i+1, len(b.depths))]; next <= len(best) {
			return best, nil
		}
	}
	if len(best) == 0 {
		return nil, &listError{e.base.String(), errors.New("the most probable token shares its name with others")}
	}
	return best, nil
}
