// Package local runs sessions in a program's own process: the program opens a model, and
// [New] starts a session that asks it.
//
//	m, err := ollama.Open(ctx, "gemma3:270m", ollama.Options{})
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	s := local.New(m)
//	report, err := s.Evaluate(ctx, modellog.M("A robin is a", "bird"))
//
// It is apart from package modellog because it holds the whole language with its figures, which a
// cell in Go, with the kernel's session at hand, does not need to link each time.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modellog/modellog"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

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
				return nil, errors.New("this session was started without a model; give New one")
			case name != own:
				return nil, fmt.Errorf("this session has the model %s only; start another with New", own)
			}
			return borrowed{model}, nil
		},
	})})
}

// borrowed is a model that its opener closes.
type borrowed struct{ lm.Model }

func (borrowed) Close() error { return nil }

// backend is a session in this process.
type backend struct {
	mu      sync.Mutex // the language's session does one thing at a time
	session *lang.Session
}

func (b *backend) Eval(ctx context.Context, program string, emit func(modellog.Result) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.session.Eval(ctx, "", program, func(r lang.Result) error {
		forms, err := lang.Forms(r)
		if err != nil {
			return err
		}
		own, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encoding a %s: %w", r.Kind(), err)
		}
		return emit(modellog.Result{Kind: r.Kind(), JSON: own, Forms: forms})
	})
	if mistake, ok := errors.AsType[*lang.Error](err); ok {
		return &modellog.Error{Message: mistake.Error(), Detail: mistake.Detail(), Line: int(mistake.Start.Line), Column: int(mistake.Start.Col)}
	}
	return err
}

func (b *backend) Names(context.Context) ([]modellog.Name, error) {
	var names []modellog.Name
	for _, n := range b.session.Names() {
		names = append(names, modellog.Name(n))
	}
	return names, nil
}

func (b *backend) Model(context.Context) (lm.Info, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	info, ok := b.session.Model()
	return info, ok, nil
}

func (b *backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.session.Close()
}
