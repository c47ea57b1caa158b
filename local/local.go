// Package local runs sessions in a program's own process. [Open] starts one on a model by name:
//
//	s, err := local.Open(ctx, "gemma3:270m-pt", local.Options{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	report, err := s.Evaluate(ctx, modellog.M("A robin is a", "bird"))
//
// [New] starts one on a model that the program has opened itself, or on none.
//
// It is apart from package modellog because it holds the whole language with its figures and the
// embedded engine, which a cell in Go, with the kernel's session at hand, does not need to link each
// time. Built without cgo it has no engine, and Open opens models of servers only. Package open tells
// which names there are, and how to quieten what the engine logs.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modellog/modellog"
	"github.com/modellog/modellog/kernel/connect"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/open"
	"github.com/modellog/modellog/lm/store"
	"github.com/modellog/modellog/lm/store/readings"
)

// Options say how a model is opened; the zero value opens it as the command modellog does.
type Options = open.Options

// Open opens the model that a name stands for, see package [open], and starts a session that
// asks it. A name that no model has is a [*store.NotFoundError], which says how to get one.
//
// The session is what the command modellog would start: it keeps readings in the same cache, and
// %model opens another model in place of the first. Its Close closes the model.
func Open(ctx context.Context, name string, o Options) (*modellog.Session, error) {
	warn := o.Warn
	if warn == nil {
		warn = func(string) {}
	}
	if o.CacheDir == "" {
		var err error
		if o.CacheDir, err = store.CacheDir(); err != nil {
			return nil, err
		}
	}
	cache, err := readings.Open(ctx, o.CacheDir, readings.Options{Warn: func(err error) { warn(err.Error()) }})
	if err != nil {
		return nil, err
	}
	session := lang.New(lang.Options{
		Model:      name,
		Open:       func(ctx context.Context, name string) (lm.Model, error) { return open.Model(ctx, name, o) },
		ModelNames: func(ctx context.Context) ([]lm.ModelName, error) { return open.Names(ctx, o) },
		Cache:      cache,
		Progress:   o.Progress,
		Warn:       warn,
	})
	if _, err := session.OpenModel(ctx, name); err != nil {
		return nil, errors.Join(err, cache.Close())
	}
	return modellog.NewSession(&backend{session: session, cache: cache}), nil
}

// New starts a session that asks a model, which stays open when the session is closed. The
// model may be nil for formulas over Prob.
func New(model lm.Model) *modellog.Session {
	own := "none"
	if model != nil {
		own = model.Info().Name
	}
	return modellog.NewSession(&backend{session: lang.New(lang.Options{
		Model: own,
		Open: func(_ context.Context, name string) (lm.Model, error) {
			switch {
			case model == nil:
				return nil, errors.New("this session was started without a model; give New one, or start it with Open")
			case name != own:
				return nil, fmt.Errorf("this session has the model %s only; start another with New or Open", own)
			}
			return lm.Kept(model), nil
		},
	})})
}

// backend is a session in this process.
type backend struct {
	mu      sync.Mutex // the language's session does one thing at a time
	session *lang.Session
	cache   *readings.Cache // nil where readings are kept as long as the session
	closed  bool
}

// errClosed keeps a closed session from opening its model again.
var errClosed = errors.New("the session is closed")

func (b *backend) Eval(ctx context.Context, program string, emit func(modellog.Result) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return errClosed
	}
	return connect.AsError(b.session.Eval(ctx, "", program, func(r lang.Result) error {
		forms, err := lang.Forms(r)
		if err != nil {
			return err
		}
		own, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encoding a %s: %w", r.Kind(), err)
		}
		return emit(modellog.Result{Kind: r.Kind(), JSON: own, Forms: forms})
	}))
}

func (b *backend) Names(context.Context) ([]modellog.Name, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errClosed
	}
	var names []modellog.Name
	for _, n := range b.session.Names() {
		names = append(names, modellog.Name(n))
	}
	return names, nil
}

func (b *backend) Model(context.Context) (lm.Info, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return lm.Info{}, false, errClosed
	}
	info, ok := b.session.Model()
	return info, ok, nil
}

func (b *backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	err := b.session.Close()
	if b.cache != nil {
		err = errors.Join(err, b.cache.Close())
	}
	return err
}
