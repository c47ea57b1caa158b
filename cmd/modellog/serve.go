package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/open"
	"github.com/modellog/modellog/lm/serve"
	"github.com/modellog/modellog/lm/store"
)

type serveCmd struct {
	Model        []string      `short:"m" placeholder:"NAME" env:"MODELLOG_MODEL" default:"${model}" help:"Model to serve: a name, gguf:PATH or ollama:NAME; give it again for more of them. Default: ${default}."`
	Listen       string        `placeholder:"ADDRESS" default:"127.0.0.1:8011" help:"Where to listen: HOST:PORT, or unix:PATH for a socket of this user's own. A port of 0 is a free one. Default: ${default}."`
	TokenFromEnv []string      `placeholder:"VARIABLE" help:"Requests must show the token that is in this environment variable, or one of several. Needed where other machines reach the address."`
	MaxBody      int64         `placeholder:"BYTES" help:"Of a request. Default: 4 MB."`
	MaxPrompts   int           `placeholder:"N" help:"Of a request. Default: 256."`
	MaxQueue     int           `placeholder:"N" help:"Requests under way or waiting; more are told to come again later. Default: 256."`
	Batch        int           `placeholder:"N" help:"Prefixes of all requests that are read together; with 1 the last digits of a reading do not depend on the others. Default: 256."`
	Timeout      time.Duration `placeholder:"TIME" help:"From a request to its answer, as in 90s. Default: 10m."`
	engineFlags
}

// Help is shown by modellog serve --help.
func (serveCmd) Help() string {
	return `Other programs read the models over HTTP, in OpenAI's form: /v1/completions with logprobs and echo, and vLLM's /tokenize, /detokenize and prompt_logprobs.

  curl http://127.0.0.1:8011/v1/completions -H 'Content-Type: application/json' \
    -d '{"prompt": "A robin is a", "max_tokens": 0, "echo": true, "logprobs": 5}'

lm-evaluation-harness, with no tokenizer of its own:

  pip install 'lm_eval[api]'
  lm_eval --model local-completions --tasks TASK \
    --model_args base_url=http://127.0.0.1:8011/v1/completions,model=NAME,tokenizer_backend=remote

A model whose texts begin with a token of their own, such as Gemma, is asked with tokenized_requests=False behind these. Ctrl-C answers what is under way and ends; a second one ends at once.`
}

func (c *serveCmd) Run(ctx context.Context, std streams) (err error) {
	if c.Threads < 0 || c.MaxBody < 0 || c.MaxPrompts < 0 || c.MaxQueue < 0 || c.Batch < 0 || c.Timeout < 0 {
		return usageError{errors.New("a limit is negative; leave it out for the default")}
	}
	tokens, err := tokensFromEnv(c.TokenFromEnv)
	if err != nil {
		return usageError{err}
	}
	if repeated := twice(c.Model); repeated != "" {
		return usageError{fmt.Errorf("the model %s is named twice", repeated)}
	}
	bar := progress.New(std.err)
	defer bar.Close()
	stderr := bar.Wrap(std.err)
	warn := func(message string) { fmt.Fprintf(stderr, "warning: %s\n", message) }
	models, err := c.open(ctx, bar, warn)
	defer func() {
		for _, m := range models {
			err = errors.Join(err, m.Close())
		}
	}()
	if err != nil {
		return err
	}
	server, err := serve.New(models, serve.Options{
		Limits: serve.Limits{Body: c.MaxBody, Prompts: c.MaxPrompts, Queue: c.MaxQueue, Batch: c.Batch, Time: c.Timeout},
		Tokens: tokens,
		Warn:   warn,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	// Where nobody can listen, no weights are loaded.
	l, err := server.Listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer l.Close()
	for _, m := range models {
		if err := warmUp(ctx, m); err != nil {
			return err
		}
	}
	bar.Clear()
	var names []string
	for _, m := range models {
		names = append(names, m.Info().Name)
	}
	if _, err := fmt.Fprintf(std.out, "Serving %s at %s (Ctrl-C ends)\n", strings.Join(names, ", "), c.address(l)); err != nil {
		return err
	}
	if err := server.Serve(ctx, l); err != nil {
		return err
	}
	fmt.Fprintln(std.err, "ended")
	return nil
}

// address is where to send requests.
func (c *serveCmd) address(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return c.Listen
	}
	return "http://" + l.Addr().String() + "/v1"
}

// tokensFromEnv reads what the variables hold. The message of what is wrong has none of it.
func tokensFromEnv(variables []string) (tokens []string, err error) {
	for _, v := range variables {
		token := strings.TrimSpace(os.Getenv(v))
		if token == "" {
			return nil, fmt.Errorf("the environment variable %s is not set, or empty; set it to a token, such as openssl rand -hex 32 makes", v)
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
}

// twice finds a name that is there again.
func twice(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// open opens the models, as many as can be.
func (c *serveCmd) open(ctx context.Context, bar *progress.Bar, warn func(string)) (models []lm.Model, err error) {
	found, err := openStore(warn)
	if err != nil {
		return nil, err
	}
	cacheDir, err := store.CacheDir()
	if err != nil {
		return nil, err
	}
	o := open.Options{Store: found, CacheDir: cacheDir, Precision: c.Precision, Threads: c.Threads, Progress: bar.ReportBytes, Warn: warn}
	if c.Precision == "auto" {
		o.Precision = ""
	}
	for _, name := range c.Model {
		m, err := open.Model(ctx, name, o)
		if err != nil {
			return models, err
		}
		models = append(models, m)
	}
	return models, nil
}

// warmUp loads the weights, so that a model which cannot be read is known before anybody asks it.
func warmUp(ctx context.Context, m lm.Model) error {
	tokens, err := m.Tokenize(ctx, "A")
	if err == nil {
		tokens, err = lm.Prompt(m, tokens)
	}
	if err == nil {
		err = m.Read(ctx, [][]lm.Token{tokens}, func(int, lm.Distribution) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", m.Info().Name, err)
	}
	return nil
}
