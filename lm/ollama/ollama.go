// Package ollama reads a model through a running Ollama server.
//
// The server tells the 20 most probable next tokens and no more, so the
// distributions are truncated ([lm.Distribution] with Top), and what follows
// from them is an interval. For whole distributions, open the same model with
// the embedded engine; the server is for models that run on another machine,
// or that the engine does not know.
//
// # What is asked
//
// A prefix is sent as a raw prompt, with no template and no system prompt.
// Thinking is off, stop words and penalties are cleared, and nothing is cut:
// the context is set to what the prefixes need, and the server is told to
// refuse a prompt rather than to shorten it. The log-probabilities are taken
// from the model's own output before any sampling, so what a Modelfile says of
// temperature, top-k or penalties has no effect on them.
//
// The server does not return the log-probabilities of a reading whose sampled
// token ends the text or is part of a character. Since they do not depend on
// which token is sampled, the reading is then asked for again with another
// token sampled. When that fails as well the error is an [*EndOfTextError], not
// a probability of zero.
//
// The server's numbers are its own. With weights of 4 bits, whose kernels round
// activations to 8 bits, any change in the order of rounding moves single
// log-probabilities by tenths: a server with OLLAMA_FLASH_ATTENTION=0 agrees with
// the embedded engine in native precision to 5 decimals, one that uses flash
// attention (the default for many models) does not. Nor does a reading of a
// prompt of which the server has all but the last token in its cache, which it
// then computes alone, by other kernels; so the same prompt asked again may
// differ that much.
//
// # Tokens
//
// The server has no way to tokenise, so the tokenizer is built here from the
// model's metadata (package tokens), and for each reading the server's count of
// the prompt's tokens is held against ours; a difference is a [*CountError].
// The server takes text, not tokens: a prefix that its tokenizer would read
// differently (text that spells "<bos>", half a character) cannot be asked
// about, and gives a [*PromptError].
//
// The server names tokens by their text. Where several tokens share a text
// (the byte 0x0A and a line break; the halves of characters, which JSON cannot
// carry), the distribution says so in Among, and what depends on it becomes an
// interval too.
//
// # Writing
//
// [Model.Generate] has the server write, with its own sampling by temperature,
// top-k, top-p and seed and nothing else. A conversation goes through the server's
// template, which may have a system's message of its own and may not be that of the
// model's file; [Model.Input] shows what comes of it. The same request may be
// answered otherwise when the server has its prompt in the cache: see above for why.
//
// # When something is wrong
//
// A server that does not run, does not know the model, answers with something
// else than an answer or dies in the middle is one error that says what to do.
// An answer is checked before anything is computed from it: probabilities above
// 1 alone or together, tokens named twice, values missing, or tokens that the
// vocabulary has not. Sizes of answers are bounded. Answers are handed on only
// after the server's list has shown that the model is still the one that was
// opened, so that one which is replaced in the middle does not pass for it.
package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"
	"github.com/ollama/ollama/envconfig"
	"github.com/ollama/ollama/types/model"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
	"github.com/modellog/modellog/lm/tokens"
)

// Options say how a server is used. The zero value is the default.
type Options struct {
	// Parallel is how many readings are asked for at a time; 4 if zero. The
	// server itself computes as many at a time as OLLAMA_NUM_PARALLEL says
	// and lets the others wait.
	Parallel int
	// Timeout bounds the wait for one reading, in which the server may
	// have to load the model; 10 minutes if zero.
	Timeout time.Duration
}

const (
	defaultParallel = 4
	defaultTimeout  = 10 * time.Minute
	// metadataTimeout bounds the wait for everything but a reading.
	metadataTimeout = 2 * time.Minute
	// smallestContext is what the server's context is set to for short
	// prefixes: changing it makes the server load the model again.
	smallestContext = 2048
)

// Model is a model that an Ollama server runs. It implements [lm.Model].
type Model struct {
	client   *api.Client
	stream   *api.Client // for answers that are handed on as they come
	chats    bool        // has a template for conversations
	server   string      // its address
	info     lm.Info
	tok      *tokens.Tokenizer
	names    *listed.Names
	parallel int
	timeout  time.Duration
	context  atomic.Int64 // the server's num_ctx
	closed   atomic.Bool
}

var _ lm.Model = (*Model)(nil)

// Open prepares the model of that name on the server that OLLAMA_HOST names
// (by default http://127.0.0.1:11434) for reading. The model's metadata is
// fetched, the model itself is not loaded yet.
func Open(ctx context.Context, name string, opts Options) (*Model, error) {
	if opts.Parallel < 0 || opts.Timeout < 0 {
		return nil, fmt.Errorf("opening %s with Ollama: Parallel and Timeout cannot be negative", name)
	}
	m := &Model{parallel: opts.Parallel, timeout: opts.Timeout}
	if m.parallel == 0 {
		m.parallel = defaultParallel
	}
	if m.timeout == 0 {
		m.timeout = defaultTimeout
	}
	m.client, m.stream, m.server = connect()
	if err := m.open(ctx, name); err != nil {
		return nil, fmt.Errorf("opening %s with Ollama: %w", name, err)
	}
	return m, nil
}

func (m *Model) open(ctx context.Context, name string) error {
	if !model.ParseName(name).IsValid() {
		return errors.New("no model of Ollama's can have that name; `ollama list` shows those that there are")
	}
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	show, err := m.client.Show(ctx, &api.ShowRequest{Model: name, Verbose: true})
	if err != nil {
		return m.explain(ctx, name, err)
	}
	if show.RemoteHost != "" {
		return fmt.Errorf("the model runs at %s, which gives no log-probabilities; use a model that the server runs itself", show.RemoteHost)
	}
	m.chats = hasChatTemplate(show.Template, show.Renderer)
	meta := newMetadata(show.ModelInfo)
	if m.tok, err = tokens.New(meta); err != nil {
		return fmt.Errorf("the server's metadata of the model: %w", err)
	}
	// The output layer may have more rows than there are tokens, to fill it up
	// to a round number.
	m.names = listed.NewNames(m.tok, int(meta.own("vocab_size")), spellings)
	version, err := m.client.Version(ctx)
	if err == nil && version == "" {
		err = &notOllamaError{server: m.server, what: "an answer without a version"}
	}
	if err != nil {
		return m.explain(ctx, name, err)
	}
	listed, err := m.find(ctx, name)
	if err != nil {
		return err
	}
	m.info = lm.Info{
		Name:         name,
		Backend:      "ollama",
		Digest:       listed.Digest,
		Architecture: meta.Architecture(),
		Quantization: show.Details.QuantizationLevel,
		Precision:    "server",
		Revision:     m.server + " " + version,
		Path:         m.server,
		Vocabulary:   m.names.Size(),
		Context:      int(meta.own("context_length")),
		AddBOS:       m.tok.AddBOS(),
		BOS:          m.tok.BOS(),
		EOS:          m.tok.EOS(),
	}
	if m.info.Context == 0 {
		return errors.New("the server's metadata of the model does not say how long its context is; it may be a model that does not complete text")
	}
	if n, ok := show.ModelInfo["general.parameter_count"].(float64); ok && n >= 0 && n < 1<<63 {
		m.info.Parameters = uint64(n)
	}
	m.context.Store(int64(min(smallestContext, m.info.Context)))
	return nil
}

// find looks the model up in the server's list.
func (m *Model) find(ctx context.Context, name string) (api.ListModelResponse, error) {
	list, err := m.client.List(ctx)
	if err != nil {
		return api.ListModelResponse{}, m.explain(ctx, name, err)
	}
	want := model.ParseName(name)
	for _, listed := range list.Models {
		if model.ParseName(listed.Name).EqualFold(want) {
			if listed.Digest == "" {
				return listed, errors.New("the server's list has no digest for the model; is it Ollama?")
			}
			return listed, nil
		}
	}
	return api.ListModelResponse{}, fmt.Errorf("the server's list does not have the model; is it an alias? Use one of the names that `ollama list` shows")
}

// Info describes the model. Its digest is the one that the server lists it by.
func (m *Model) Info() lm.Info { return m.info }

// Tokenize returns the text's own tokens. The server is not asked.
func (m *Model) Tokenize(ctx context.Context, text string) ([]lm.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.tok.Encode(text)
}

// Piece returns the bytes that a token stands for.
func (m *Model) Piece(t lm.Token) []byte { return m.tok.Piece(t) }

// Close ends the use of the model. The server keeps it loaded for a while, as it
// does for others.
func (m *Model) Close() error {
	m.closed.Store(true)
	return nil
}

// Names returns the names of the models that the server has.
func Names(ctx context.Context) ([]string, error) {
	client, _, server := connect()
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	list, err := client.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing Ollama's models: %w", (&Model{client: client, server: server}).explain(ctx, "", err))
	}
	names := make([]string, len(list.Models))
	for i, listed := range list.Models {
		names[i] = listed.Name
	}
	return names, nil
}

// Reachable asks the server for its version, and returns the server's address
// and that. An error says that there is no server, or that it is no Ollama.
func Reachable(ctx context.Context) (address, version string, err error) {
	client, _, address := connect()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	version, err = client.Version(ctx)
	if err == nil && version == "" {
		err = &notOllamaError{server: address, what: "an answer without a version"}
	}
	if err != nil {
		return address, "", (&Model{client: client, server: address}).explain(ctx, "", err)
	}
	return address, version, nil
}

// connect makes clients for the server that the environment names: one that reads
// answers whole, and one that hands them on as they come.
func connect() (client, stream *api.Client, server string) {
	base := envconfig.Host()
	transport := http.DefaultTransport
	if t, ok := transport.(*http.Transport); ok {
		transport = t.Clone()
	}
	checked := &checkedTransport{base: transport, server: base.String()}
	return api.NewClient(base, &http.Client{Transport: checked}),
		api.NewClient(base, &http.Client{Transport: &streamTransport{checked}}),
		base.String()
}
