package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
)

// byID speaks vLLM's form of the protocol: prompts are tokens, and the tokens of an
// answer are named by their ids.
type byID struct {
	pool  *pool  // for names of tokens
	name  string // of the model
	size  int
	depth int                 // of a list; -1 for the whole vocabulary
	inner bool                // the distributions within a prompt are told, too
	spell func(string) []byte // what a token's string in the vocabulary stands for; nil if it is not known

	mu     sync.Mutex
	pieces map[lm.Token][]byte
	asked  int
}

type tokenized struct {
	Tokens  *[]lm.Token
	Strings []string `json:"token_strs"`
	Context int      `json:"max_model_len"`
}

func (b *byID) tokenized(ctx context.Context, e *endpoint, text string, special bool) (tokenized, error) {
	var answer tokenized
	err := e.post(ctx, e.beside("/tokenize"), map[string]any{"model": b.name, "prompt": text, "add_special_tokens": special, "return_token_strs": true}, maxTokens(text), &answer)
	if err == nil && answer.Tokens == nil {
		err = &AnswerError{e.base.String(), "an answer without tokens"}
	}
	return answer, err
}

// openByID asks what there is to know of a server of vLLM's kind. It returns nil
// where the server is none.
func openByID(ctx context.Context, of *pool, e *endpoint, name string, l listing) (*byID, facts, error) {
	b := &byID{pool: of, name: name, pieces: make(map[lm.Token][]byte)}
	f := facts{Kind: "OpenAI-compatible", Model: l.Root}
	switch l.Owner {
	case "vllm":
		f.Kind = "vLLM"
	case "modellog":
		f.Kind = "modellog serve"
	}
	if l.Digest != "" {
		f.Model = l.Digest + " " + l.Precision
	}
	first, err := b.tokenized(ctx, e, "a", false)
	var wrong *AnswerError
	if refused(err) || errors.As(err, &wrong) {
		return nil, f, nil
	}
	if err != nil {
		return nil, f, err
	}
	f.Context = max(first.Context, l.Context) - 1 // one is for the token that is sampled
	var last lm.Token
	if f.AddBOS, f.BOS, last, err = beginning(func(special bool) ([]lm.Token, error) {
		answer, err := b.tokenized(ctx, e, "a", special)
		if err != nil {
			return nil, err
		}
		return *answer.Tokens, nil
	}); err != nil {
		return nil, f, err
	}
	prompt := []lm.Token{last}
	if f.AddBOS {
		prompt = []lm.Token{f.BOS, last}
	}
	listedAll, err := b.deepest(ctx, e, prompt)
	if err != nil || listedAll == 0 {
		return nil, f, err
	}
	switch {
	case l.Vocabulary > 0:
		b.size = l.Vocabulary
	case b.depth < 0:
		b.size = listedAll
	case l.Owner == "vllm":
		if b.size, err = b.vocabulary(ctx, e); err != nil {
			return nil, f, err
		}
	default:
		return nil, f, fmt.Errorf("the server at %s does not tell how many tokens the model has, without which nothing is sure of those that it does not list; the entry of the model in /v1/models should have meta.n_vocab, as llama-server's has, or vocabulary, as that of modellog serve", e.base)
	}
	f.Vocabulary, f.Depth, f.Whole = b.size, listedAll, listedAll == b.size
	if most := e.options.Depth; most > 0 && most < f.Depth {
		b.depth, f.Depth, f.Whole = most, most, false
	}
	// The distributions within a prompt are not asked for where they are whole: a
	// prompt's would be as large as all the others together.
	if !f.Whole {
		chain := [][]lm.Token{prompt, append(prompt[:len(prompt):len(prompt)], last, last)}
		b.inner = true
		if _, err := b.read(ctx, e, chain); err != nil {
			if dead(err) || ctx.Err() != nil {
				return nil, f, err
			}
			b.inner = false
		}
	}
	f.Inner = b.inner
	b.spell, err = b.spelling(ctx, e)
	var version struct{ Version string }
	if e.get(ctx, e.beside("/version"), &version) == nil {
		f.Version = version.Version
	}
	return b, f, err
}

// refused says whether a server refuses a request because of what it is.
func refused(err error) bool {
	var status *StatusError
	return absent(err) || errors.As(err, &status) && (status.Status == http.StatusBadRequest || status.Status == http.StatusUnprocessableEntity)
}

var mostAllowed = regexp.MustCompile(`max(?:imum)? allowed:? (\d+)`)

// deepest finds how long the lists are that a server gives, and returns how many tokens
// are on one; none if it does not name them by their ids.
func (b *byID) deepest(ctx context.Context, e *endpoint, prompt []lm.Token) (int, error) {
	tries := []int{-1, 20, 5, 1}
	for i := 0; i < len(tries); i++ {
		b.depth = tries[i]
		answer, err := b.complete(ctx, e, prompt, false)
		var status *StatusError
		switch {
		case err == nil:
		case errors.As(err, &status) && refused(err):
			if m := mostAllowed.FindStringSubmatch(status.Message); m != nil && i == 0 {
				if n, err := strconv.Atoi(m[1]); err == nil && n > 0 && n < 1<<22 {
					tries = append([]int{-1, n}, tries[1:]...)
				}
			}
			continue
		default:
			return 0, err
		}
		c := answer.Choices
		if len(c) != 1 || c[0].Logprobs == nil || len(c[0].Logprobs.Top) == 0 || len(c[0].Logprobs.Top[0]) == 0 {
			continue
		}
		list := c[0].Logprobs.Top[0]
		for _, p := range list {
			if _, ok := idOf(p.name); !ok || !strings.HasPrefix(p.name, "token_id:") {
				return 0, nil
			}
		}
		// One that understands -1 lists more than it would for any small number.
		if b.depth < 0 && len(list) <= 100 {
			continue
		}
		if b.depth >= 0 {
			return min(b.depth, len(list)), nil
		}
		return len(list), nil
	}
	return 0, nil
}

// vocabulary finds the number of tokens. vLLM refuses tokens that the model does not
// have; between those that it takes and those that it refuses lies the end.
func (b *byID) vocabulary(ctx context.Context, e *endpoint) (int, error) {
	has := func(t int) (bool, error) {
		var answer completion
		err := e.post(ctx, e.at("/completions"), map[string]any{"model": b.name, "prompt": []int{t}, "max_tokens": 1, "temperature": 0}, maxAnswer, &answer)
		if refused(err) && !absent(err) {
			return false, nil
		}
		return err == nil, err
	}
	const most = 1 << 24
	if has, err := has(1 << 30); err != nil || has {
		return 0, errors.Join(err, fmt.Errorf("the server at %s takes tokens that no model has, so that it cannot be found how many this one has", e.base))
	}
	lo, hi := 0, 1<<15 // it has lo
	for {
		ok, err := has(hi)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if lo, hi = hi, 2*hi; hi > most {
			return 0, fmt.Errorf("the server at %s takes tokens that no model has", e.base)
		}
	}
	for hi-lo > 1 {
		middle := (lo + hi) / 2
		ok, err := has(middle)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = middle
		} else {
			hi = middle
		}
	}
	return hi, nil
}

// complete asks for the list after a prompt, and with inner for those within it.
func (b *byID) complete(ctx context.Context, e *endpoint, prompt []lm.Token, inner bool) (completion, error) {
	request := map[string]any{
		"model": b.name, "prompt": prompt, "max_tokens": 1, "logprobs": b.depth, "return_tokens_as_token_ids": true,
		// The most probable token is sampled. What a server's defaults would do to
		// the probabilities, were it set up to tell those after sampling, is undone.
		"temperature": 0, "top_p": 1, "seed": 0, "presence_penalty": 0, "frequency_penalty": 0,
	}
	plain := e.plain.Load() // another request may find it out meanwhile
	if !plain {
		request["repetition_penalty"] = 1
		request["min_p"] = 0
	}
	entries := int64(b.depth)
	if b.depth < 0 {
		entries = 1 << 22
		if b.size > 0 {
			entries = int64(b.size)
		}
	}
	limit := maxAnswer + bytesPerEntry*entries
	if inner {
		request["prompt_logprobs"] = b.depth
		limit += int64(len(prompt)) * bytesPerEntry * (entries + 1)
	}
	var answer completion
	err := e.post(ctx, e.at("/completions"), request, limit, &answer)
	var status *StatusError
	if errors.As(err, &status) && refused(err) && !plain && namesExtra(status.Message) {
		e.plain.Store(true)
		return b.complete(ctx, e, prompt, inner)
	}
	if err == nil && answer.Usage != nil && answer.Usage.Prompt != len(prompt) {
		err = &CountError{Server: e.base.String(), Ours: len(prompt), Theirs: answer.Usage.Prompt}
	}
	return answer, err
}

func (b *byID) read(ctx context.Context, e *endpoint, chain [][]lm.Token) ([]lm.Distribution, error) {
	prompt := chain[len(chain)-1]
	answer, err := b.complete(ctx, e, prompt, len(chain) > 1)
	if err != nil {
		return nil, err
	}
	c := answer.Choices
	if len(c) != 1 || c[0].Logprobs == nil || len(c[0].Logprobs.Top) != 1 {
		return nil, &AnswerError{e.base.String(), "an answer without log-probabilities of one token"}
	}
	out := make([]lm.Distribution, len(chain))
	for i, prefix := range chain {
		list, next := c[0].Logprobs.Top[0], lm.Token(-1)
		if i < len(chain)-1 {
			if len(c[0].Prompt) != len(prompt) {
				return nil, &AnswerError{e.base.String(), fmt.Sprintf("log-probabilities of %d tokens of a prompt of %d", len(c[0].Prompt), len(prompt))}
			}
			list, next = c[0].Prompt[len(prefix)], prompt[len(prefix)]
		} else if len(c[0].Logprobs.Tokens) == 1 {
			next, _ = idOf(c[0].Logprobs.Tokens[0])
		}
		entries := make([]lm.TokenLogProb, 0, len(list))
		for _, p := range list {
			id, ok := idOf(p.name)
			if !ok {
				return nil, &AnswerError{e.base.String(), fmt.Sprintf("a token named %s, and not by its id", excerpt([]byte(p.name)))}
			}
			// The token that was sampled, or comes next in the prompt, is told of in
			// any case: where it is one more than was asked for, others that are not
			// listed may be more probable.
			if id == next && b.depth > 0 && len(list) > b.depth && (p.rank == 0 || p.rank > b.depth) {
				continue
			}
			entries = append(entries, lm.TokenLogProb{Token: id, LogProb: p.logprob})
		}
		if out[i], err = distribution(e, entries, b.size); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *byID) probe(ctx context.Context, e *endpoint, prefix []lm.Token) (lm.Distribution, error) {
	return only(b.read(ctx, e, [][]lm.Token{prefix}))
}

func (b *byID) chains() bool { return b.inner }

// marked are spellings that a tokeniser of vLLM's may take for control tokens: it takes no
// text that looks like one as text.
var marked = regexp.MustCompile(`^(<[^<>\s]+>|\[[^\[\]\s]+\])$`)

func (b *byID) tokenize(ctx context.Context, e *endpoint, text string) ([]lm.Token, error) {
	answer, err := b.tokenized(ctx, e, text, false)
	if err != nil {
		return nil, err
	}
	ids := *answer.Tokens
	if len(answer.Strings) == len(ids) {
		for i, s := range answer.Strings {
			if len(s) > 2 && marked.MatchString(s) && strings.Contains(text, s) {
				return nil, &listed.PromptError{Text: text, Reason: fmt.Sprintf("the server would take %q in it for the token of that name", s)}
			}
			if b.spell != nil {
				b.keep(ids[i], b.spell(s))
			}
		}
	}
	return ids, nil
}

func (b *byID) keep(t lm.Token, piece []byte) {
	const most = 1 << 20
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pieces) < most {
		b.pieces[t] = piece
	}
}

// piece returns what a token stands for. What no text has had is asked for one by one.
func (b *byID) piece(ctx context.Context, t lm.Token) []byte {
	if t < 0 || int(t) >= b.size {
		return nil
	}
	b.mu.Lock()
	piece, ok := b.pieces[t]
	if !ok {
		b.asked++
	}
	many := b.asked > mostNames
	b.mu.Unlock()
	if ok || many {
		return piece
	}
	var answer struct{ Prompt string }
	if b.pool.do(ctx, func(ctx context.Context, e *endpoint) error {
		return e.post(ctx, e.beside("/detokenize"), map[string]any{"model": b.name, "tokens": []lm.Token{t}}, maxError, &answer)
	}) != nil {
		return nil
	}
	b.keep(t, []byte(answer.Prompt))
	return []byte(answer.Prompt)
}
