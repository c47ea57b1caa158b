//go:build cgo

package open

import (
	"context"
	"errors"
	"fmt"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/gguf/header"
)

// embedded opens a file with the embedded engine.
func embedded(ctx context.Context, p Place, o Options) (lm.Model, error) {
	if p.File.Origin == "" {
		// What is no model at all is not read to its end for a digest.
		if _, err := header.Open(p.File.Path); err != nil {
			return nil, fmt.Errorf("opening the model: %w", err)
		}
	}
	digest, err := o.Store.Digest(ctx, p.File.Path)
	if err != nil {
		return nil, fmt.Errorf("opening model %q: %w", p.Name, err)
	}
	m, err := gguf.Open(ctx, p.File.Path, gguf.Options{
		Name:      p.Name,
		Digest:    digest,
		Precision: gguf.Precision(o.Precision),
		Threads:   o.Threads,
		GPU:       o.GPU,
		CacheDir:  o.CacheDir,
		Progress:  func(what string, done, total int64) { o.Progress(what, int(done), int(total)) },
		Warn:      o.Warn,
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// unsupported reports whether the engine is not able to run the model of a good file.
func unsupported(err error) bool { return errors.Is(err, gguf.ErrUnsupported) }
