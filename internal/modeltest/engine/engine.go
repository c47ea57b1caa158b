// Package engine opens the reference models for tests of packages above the engine.
package engine

import (
	"context"
	"sync"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/store"
)

var opened = struct {
	sync.Mutex
	models map[string]*gguf.Model
}{models: map[string]*gguf.Model{}}

// Open opens a model in exact precision, on one thread, once for all tests of a package. They only read it, and do
// not close it.
func Open(t testing.TB, r modeltest.Reference) *gguf.Model {
	t.Helper()
	path := r.Path(t)
	opened.Lock()
	defer opened.Unlock()
	if m := opened.models[r.Name]; m != nil {
		return m
	}
	dir, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	m, err := gguf.Open(context.Background(), path, gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Exact, CacheDir: dir, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	opened.models[r.Name] = m
	return m
}
