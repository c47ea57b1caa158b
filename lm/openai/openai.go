// Package openai has models read and written with by servers that speak OpenAI's
// protocol: llama-server, vLLM, llama-cpp-python; to write also Ollama's /v1, OpenAI itself.
//
// # Readings
//
// A server is asked what it can when it is opened, and [lm.Info] says what came of it.
//
//   - llama-server (llama.cpp) takes tokens and gives the whole vocabulary: its own
//     /completion with n_probs, the probabilities before sampling. The distribution is exact
//     (Info.Whole). A probability too small for float32 is taken as e⁻¹⁰⁴. Its cache of prompts
//     is not used, so that a reading does not depend on those before it.
//   - vLLM takes tokens, and names them by their ids (return_tokens_as_token_ids). It gives as many as its
//     --max-logprobs says: 20 by default, with -1 the whole vocabulary. Of prefixes that are
//     beginnings of one another, as the token events of a target of several tokens and those of a
//     likelihood formula are, one request reads all (prompt_logprobs). The size of the
//     vocabulary, without which nothing would be sure of what is not listed, is found by
//     asking which tokens are refused. Any server with vLLM's /tokenize and /detokenize that tells it in its
//     list of models, as modellog serve does, is read in the same way.
//   - llama-cpp-python's server (started with --logits_all true) takes text, and names tokens by
//     their text. Which tokens these are is known from a GGUF file of the model here: see
//     Options.Vocabulary. It lists up to 50 tokens; where it has put several of
//     one name into one entry, and so hides some, fewer. echo is not used: it would have the
//     whole vocabulary sorted at each token of the prompt.
//   - Any other server of /completions with logprobs is read as that one is, 20 tokens or what
//     it gives.
//
// A list that is not of the whole vocabulary is a truncated distribution: what follows from it are
// intervals. A target's own log-probability is not asked for where it is not listed: a prefix is read
// without a target.
//
// The beginning-of-sequence token is that of the server's tokeniser, or of the file's metadata. The
// number of tokens that a server has read is held against those it was given ([*CountError]). A text that
// spells a control token is refused where the server would take it for the token.
//
// # Several servers
//
// Addresses with a plus between them ("http://a:8000/v1+http://b:8000/v1") are servers of one model. They must be of one kind, agree in
// what they tell of the model and, within what rounding makes of it, in two probe
// readings; the error says which differ. Each has Options.Parallel requests at a time. One that
// fails after all retries is taken out, Options.Warn is told, and its requests go to the others;
// when none is left that is a [*GoneError], and the next reading tries all again.
//
// A run over several servers has the result of a run over one as far as a server's numbers do not
// depend on what else it computes. llama-cpp-python computes one prompt at a time;
// llama-server puts those of its slots together, which may change last digits of 4-bit weights:
// with --parallel 1 it does not.
//
// # What tells models apart
//
// A server tells no digest of the weights. Info.Digest is one of the name, of what the server tells of
// the model, and of the five most probable tokens of the two probe readings to the second decimal: another
// model under the same name has another, unless it reads just these alike, and so its readings are not taken from the cache of
// the first. A server whose numbers vary from one time to the next may have another digest each time, and
// is then read anew. Of a model that can be read, addresses and keys are in neither Info.Digest nor
// Info.Revision: a reading in the cache does not depend on which server gave it.
//
// # What is written
//
// A conversation is sent to /chat/completions and goes through the template that
// the server has for the model; a prompt is sent to /completions and is continued.
// The request's temperature, top-p, seed and stop texts are sent as they are. The
// protocol has no top-k and no way to end the filters and penalties that a server
// has by default; most servers take fields for that, which are sent to all but
// OpenAI's own, and left out for one that refuses them (where the request has a
// top-k, that is an error).
//
// What a server makes of a message that spells a special token, and whether it cuts
// a prompt that is too long, is its own affair: Ollama's /v1 cuts without a word.
// Package ollama speaks to it better.
//
// # Keys
//
// A key comes from the environment and from nowhere else: MODELLOG_OPENAI_KEY is for
// any server, OPENAI_API_KEY for api.openai.com and for the server that
// OPENAI_BASE_URL names. It is sent over https, or to this machine; it is in no
// error, even where a server repeats it, and redirections are not followed with it.
//
// # When something is wrong
//
// A server that is busy or falters (429, 408, 5xx, a lost connection) is asked
// again, later each time and not before its Retry-After, as long as nothing of its
// answer has been handed on. An answer is checked and its size bounded.
package openai

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/tokens"
)

// Options say how servers are used. The zero value is the default.
type Options struct {
	// Parallel is how many requests are under way at a time at each server; 4 if zero.
	Parallel int
	// Timeout bounds the wait for an answer, or for the next part of one that
	// comes in parts; 10 minutes if zero.
	Timeout time.Duration
	// Retries is how often a request is sent again at most; 5 if zero, none if
	// negative.
	Retries int
	// Backoff is the wait before the first retry, which doubles each time, up
	// to a minute; half a second if zero.
	Backoff time.Duration
	// Depth bounds how many of the most probable tokens are asked for; as many as the server
	// gives if zero. A whole vocabulary of 262,144 tokens is an answer of 25 MB.
	Depth int
	// Vocabulary finds the vocabulary of the model that a server calls name, for servers that
	// name tokens by their text. Without it these only write.
	Vocabulary func(ctx context.Context, name string) (*tokens.Tokenizer, error)
	// Warn, where it is not nil, is told of a server that is taken out. It may be called from several goroutines.
	Warn func(message string)
}

// Model is a model that servers run.
type Model struct {
	pool    *pool
	info    lm.Info
	dialect dialect // nil where the model cannot be read
	unread  error   // why
	depth   int     // how many tokens are listed
	life    context.Context
	end     context.CancelFunc
}

var (
	_ lm.Model     = (*Model)(nil)
	_ lm.Generator = (*Model)(nil)
)

// ErrNoReadings is wrapped by the errors of the methods that need a model's tokens, for a server
// that only writes.
var ErrNoReadings = errors.New("the server tells no ids of tokens, and so gives no next-token distributions; " +
	"for constraints use llama-server or vLLM, which do, an Ollama server (ollama:NAME) or the embedded engine (gguf:PATH); " +
	"or have the model's GGUF file here under the name that the server has for it (modellog models get NAME; llama_cpp.server --model_alias NAME)")

// Open prepares the model of that name on the servers at an address, such
// as "http://127.0.0.1:8000/v1", or at several with a plus between them; without a path, /v1 is added. The servers are asked
// whether they have the model, and how it can be read; an empty name is the only model that they have.
// That it cannot be read is an error of Tokenize and Read, and not of Open.
func Open(ctx context.Context, address, name string, o Options) (*Model, error) {
	if o.Parallel < 0 || o.Timeout < 0 || o.Backoff < 0 || o.Depth < 0 {
		return nil, errors.New("opening a model of an OpenAI-compatible server: Parallel, Timeout, Backoff and Depth cannot be negative")
	}
	o = o.defaults()
	var all []*endpoint
	var paths []string
	for _, part := range addresses(address) {
		e, err := newEndpoint(part, o)
		if err != nil {
			return nil, err
		}
		if slices.Contains(paths, e.base.String()) {
			return nil, fmt.Errorf("the server at %s is named twice", e.base)
		}
		all, paths = append(all, e), append(paths, e.base.String())
	}
	m := &Model{pool: newPool(all, o.Warn)}
	m.life, m.end = context.WithCancel(context.Background())
	of := make([]listing, len(all))
	for i, e := range all {
		list, err := e.models(ctx)
		if err != nil {
			return nil, fmt.Errorf("opening the model %q: %w", name, err)
		}
		var names []string
		for _, l := range list {
			names = append(names, e.hide(l.ID))
		}
		switch at := slices.Index(names, name); {
		case name == "" && len(names) == 1:
			name, of[i] = names[0], list[0]
		case name == "":
			return nil, fmt.Errorf("the server at %s has %d models; name one behind the address, as in openai:%s#NAME", e.base, len(names), e.base)
		case at >= 0:
			of[i] = list[at]
		case len(names) > 0:
			return nil, fmt.Errorf("the server at %s does not have the model %q; it has %s", e.base, name, some(names))
		}
	}
	path := strings.Join(paths, "+")
	m.info = lm.Info{Name: name, Backend: "openai", Precision: "server", Revision: path, Path: path}
	if m.unread = m.probe(ctx, of); m.unread != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		// Several that are not one model are of no use to write with, nor is one that has gone.
		var differ *differError
		var lost *lostError
		var late *lateError
		if errors.As(m.unread, &differ) || errors.As(m.unread, &lost) || errors.As(m.unread, &late) {
			return nil, fmt.Errorf("opening the model %q: %w", name, m.unread)
		}
		m.dialect = nil
	}
	return m, nil
}

// addresses takes those of several servers apart. A plus that is not before an address is
// part of one; the comma is left to lists of models.
func addresses(all string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(all, "+http://", "\x00http://"), "+https://", "\x00https://"), "\x00")
}

// some lists a few names.
func some(names []string) string {
	const most = 8
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Info describes the model. Of one that cannot be read a server tells little.
func (m *Model) Info() lm.Info { return m.info }

// Listed returns how many of the most probable tokens are told of each distribution: all
// of them where Info.Whole, and none of a model that cannot be read.
func (m *Model) Listed() int { return m.depth }

// Readable returns why the model cannot be read; nil where it can be.
func (m *Model) Readable() error { return m.unread }

// Close ends the use of the model, and what is under way.
func (m *Model) Close() error {
	m.end()
	for _, e := range m.pool.all {
		e.client.CloseIdleConnections()
	}
	return nil
}
