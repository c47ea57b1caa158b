package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/ollama"
	"github.com/modellog/modellog/lm/openai"
	"github.com/modellog/modellog/lm/store"
)

// opener opens models by name, in the order that a bare name is tried: a scheme
// ("gguf:PATH", "ollama:NAME", "openai:URL#NAME"), modellog's own store, a model that Ollama has
// pulled (opened in place by the embedded engine), a running Ollama server.
type opener struct {
	store     *store.Store
	cacheDir  string
	precision gguf.Precision
	threads   int
	progress  func(label string, done, total int)
	warn      func(string)
}

func (o *opener) open(ctx context.Context, name string) (lm.Model, error) {
	if path, ok := strings.CutPrefix(name, "gguf:"); ok {
		return o.embedded(ctx, name, path, "")
	}
	if model, ok := strings.CutPrefix(name, "ollama:"); ok {
		return o.served(ctx, model)
	}
	if address, ok := strings.CutPrefix(name, "openai:"); ok {
		address, model, _ := strings.Cut(address, "#")
		m, err := openai.Open(ctx, address, model, openai.Options{})
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	found, err := o.store.Lookup(ctx, name)
	var missing *store.NotFoundError
	switch {
	case err == nil:
		return o.stored(ctx, name, found)
	case !errors.As(err, &missing):
		return nil, err
	}
	if serves(ctx, name) {
		return o.served(ctx, name)
	}
	return nil, missing
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

// stored opens a weights file of the store. One of Ollama's that the embedded
// engine lacks the architecture for is left to a running server, with a warning.
func (o *opener) stored(ctx context.Context, name string, found store.Model) (lm.Model, error) {
	digest, err := o.store.Digest(ctx, found.Path)
	if err != nil {
		return nil, fmt.Errorf("opening model %q: %w", name, err)
	}
	m, err := o.embedded(ctx, name, found.Path, digest)
	if errors.Is(err, gguf.ErrUnsupported) && found.Origin == store.Ollama && serves(ctx, name) {
		o.warn(fmt.Sprintf("%v; the Ollama server reads it, of which only the 20 most probable tokens are seen", err))
		return o.served(ctx, name)
	}
	return m, err
}

func (o *opener) embedded(ctx context.Context, name, path, digest string) (lm.Model, error) {
	if digest == "" {
		// What is no model at all is not read to its end for a digest.
		if _, err := header.Open(path); err != nil {
			return nil, fmt.Errorf("opening the model: %w", err)
		}
		var err error
		if digest, err = o.store.Digest(ctx, path); err != nil {
			return nil, fmt.Errorf("opening model %q: %w", name, err)
		}
	}
	m, err := gguf.Open(ctx, path, gguf.Options{
		Name:      name,
		Digest:    digest,
		Precision: o.precision,
		Threads:   o.threads,
		CacheDir:  o.cacheDir,
		Progress:  func(what string, done, total int64) { o.progress(what, int(done), int(total)) },
		Warn:      o.warn,
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (o *opener) served(ctx context.Context, name string) (lm.Model, error) {
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

// names lists what open would find by a bare name.
func (o *opener) names(ctx context.Context) ([]lang.ModelName, error) {
	models, err := o.store.Models(ctx)
	if err != nil {
		return nil, err
	}
	var out []lang.ModelName
	seen := make(map[string]bool)
	for _, m := range models {
		if !seen[m.Name] {
			seen[m.Name] = true
			out = append(out, lang.ModelName{Name: m.Name, Backend: "gguf", Detail: humanize.Bytes(uint64(m.Size))})
		}
	}
	if _, _, err := ollama.Reachable(ctx); err == nil {
		served, err := ollama.Names(ctx)
		if err != nil {
			return out, nil // a server that stumbles hides none of the others
		}
		for _, name := range served {
			if !seen[name] {
				seen[name] = true
				out = append(out, lang.ModelName{Name: name, Backend: "ollama"})
			}
		}
	}
	return out, nil
}
