// Package open opens models by name.
//
// A name is tried in this order:
//
//  1. one with a scheme: "gguf:PATH" is a GGUF file, "ollama:NAME" a model of the Ollama server
//     that runs ($OLLAMA_HOST), "openai:URL#NAME" a model of a server that speaks OpenAI's protocol,
//     "openai:URL+URL#NAME" one that several servers have, which share the work;
//  2. a model in modellog's own store, which `modellog models get NAME` fetches;
//  3. a model that Ollama has pulled, opened in place by the embedded engine, with the whole
//     vocabulary and without a server;
//  4. a model of the Ollama server that runs, of which the 20 most probable tokens are seen.
//
// [lm.Info] says which it was. The packages store, gguf, ollama and openai tell what each is like.
//
// The engine is C and C++, compiled by cgo: the first build takes minutes, and package gguf says which
// flags make it fast. A program built without cgo opens models of servers only. The engine logs
// its steps to [log/slog]'s default logger; slog.SetLogLoggerLevel(slog.LevelWarn) keeps the small ones out.
package open

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/ollama"
	"github.com/modellog/modellog/lm/openai"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/tokens"
)

// Options say how models are opened. The zero value looks where the command modellog looks, and
// opens in the best precision that fits with a thread for each processor.
type Options struct {
	Store    *store.Store // where names are looked up; nil for the user's own models and Ollama's
	CacheDir string       // where dequantised weights are kept; "" for store.CacheDir()

	// Precision is in what numbers the embedded engine computes: "exact" (float32), "native" (as the
	// file has them), or "" for exact where that fits into the free memory, else native.
	Precision string
	Threads   int  // of the embedded engine; all processors where it is 0
	GPU       bool // have the embedded engine compute on graphics processors; see package gguf

	// Progress, where it is not nil, is told how far something slow has come: how much of a file's weights,
	// in bytes, is checked, dequantised or loaded.
	Progress func(label string, done, total int)
	// Warn, where it is not nil, is told of what is not as good as it could be.
	Warn func(message string)
}

// complete fills in what was left out.
func (o Options) complete() (Options, error) {
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	var err error
	if o.CacheDir == "" {
		if o.CacheDir, err = store.CacheDir(); err != nil {
			return o, err
		}
	}
	if o.Store == nil {
		warn := o.Warn
		o.Store, err = store.New(store.Options{Cache: o.CacheDir, Warn: func(err error) { warn(err.Error()) }})
	}
	return o, err
}

// Model opens the model that a name stands for. Where there is none, the error is a
// [*store.NotFoundError], which says how to get it.
func Model(ctx context.Context, name string, o Options) (lm.Model, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	p, err := find(ctx, name, o)
	if err != nil {
		return nil, err
	}
	switch p.Backend {
	case "ollama":
		return served(ctx, p.Name)
	case "openai":
		m, err := openai.Open(ctx, p.Address, p.Name, openai.Options{Vocabulary: o.vocabulary, Warn: o.Warn})
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	m, err := embedded(ctx, p, o)
	// One of Ollama's that the engine lacks the architecture for is left to a running server.
	if unsupported(err) && p.File.Origin == store.Ollama && serves(ctx, name) {
		o.Warn(fmt.Sprintf("%v; the Ollama server reads it, of which only the 20 most probable tokens are seen", err))
		return served(ctx, name)
	}
	return m, err
}

// vocabulary finds the vocabulary of a model that a server has: it is that of the model here which has
// the same name, or of the file at the path that the server has for a name.
func (o Options) vocabulary(ctx context.Context, name string) (*tokens.Tokenizer, error) {
	path := name
	if filepath.Ext(name) != ".gguf" {
		found, err := o.Store.Lookup(ctx, name)
		if err != nil {
			return nil, err
		}
		path = found.Path
	}
	h, err := header.Open(path)
	if err != nil {
		return nil, err
	}
	return tokens.New(h.KV)
}

// Place is where the model lies that a name stands for.
type Place struct {
	Backend string      // "gguf", "ollama" or "openai"
	Name    string      // what the backend calls the model; for "gguf" the name that was asked for
	Address string      // of the servers, for "openai": with a plus between several
	File    store.Model // of the weights, for "gguf"; only its Path is known of one that was named by path
}

// Find tells where the model lies that a name stands for, and opens nothing. That a model with a
// scheme is there has not been looked at. The errors are those of [Model].
func Find(ctx context.Context, name string, o Options) (Place, error) {
	o, err := o.complete()
	if err != nil {
		return Place{}, err
	}
	return find(ctx, name, o)
}

func find(ctx context.Context, name string, o Options) (Place, error) {
	if path, ok := strings.CutPrefix(name, "gguf:"); ok {
		return Place{Backend: "gguf", Name: name, File: store.Model{Path: path}}, nil
	}
	if model, ok := strings.CutPrefix(name, "ollama:"); ok {
		return Place{Backend: "ollama", Name: model}, nil
	}
	if address, ok := strings.CutPrefix(name, "openai:"); ok {
		address, model, _ := strings.Cut(address, "#")
		return Place{Backend: "openai", Name: model, Address: address}, nil
	}
	found, err := o.Store.Lookup(ctx, name)
	var missing *store.NotFoundError
	switch {
	case err == nil:
		return Place{Backend: "gguf", Name: name, File: found}, nil
	case !errors.As(err, &missing):
		return Place{}, err
	case serves(ctx, name):
		return Place{Backend: "ollama", Name: name}, nil
	case strings.HasSuffix(strings.ToLower(name), ".gguf") && len(name) < 500:
		return Place{}, fmt.Errorf("%w; a file is opened by its path after gguf:, as in gguf:%s", missing, name)
	}
	return Place{}, missing
}

// serves reports whether a running Ollama server has the model. Where there is
// no server, its absence is not what the user has to hear of.
func serves(ctx context.Context, name string) bool {
	if _, _, err := ollama.Reachable(ctx); err != nil {
		return false
	}
	names, err := ollama.Names(ctx)
	return err == nil && (slices.Contains(names, name) || slices.Contains(names, name+":latest"))
}

func served(ctx context.Context, name string) (lm.Model, error) {
	// A server that does not answer at all is found out soon.
	if _, _, err := ollama.Reachable(ctx); err != nil {
		return nil, err
	}
	m, err := ollama.Open(ctx, name, ollama.Options{})
	if err != nil {
		return nil, err
	}
	return m, nil
}
