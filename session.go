package modellog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/modellog/modellog/kernel/connect"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm"
)

// Session evaluates formulas and programs, and holds what they define. Its methods may be
// called from several goroutines; it does one thing at a time.
type Session struct{ backend Backend }

// Backend is where a session lives: in a notebook's kernel, which [Connect] reaches, or in this
// process, see package local. Its methods do what those of a Session do.
type Backend interface {
	// Eval hands over each result as soon as it is there. An error of emit ends the program and
	// is returned. A mistake in the program is an [*Error].
	Eval(ctx context.Context, program string, emit func(Result) error) error
	Names(ctx context.Context) ([]Name, error)
	Model(ctx context.Context) (info lm.Info, ok bool, err error)
	Close() error
}

// NewSession starts a session that lives elsewhere.
func NewSession(b Backend) *Session { return &Session{b} }

// Name is a name that a session knows: of an event, a formula, a schema or a ladder.
type Name = connect.Name

// Error is a mistake in a program, with its place.
type Error = connect.Error

// ErrNoKernel is Connect's error in a program that no notebook runs.
var ErrNoKernel = connect.ErrNoKernel

// Connect reaches the session of the notebook's kernel that runs this program as a
// cell in Go: what cells in the constraint language have defined is known, the model is
// warm, and what is defined stays. Elsewhere the error is [ErrNoKernel].
func Connect(ctx context.Context) (*Session, error) {
	c, err := connect.Open(ctx)
	if err != nil {
		return nil, err
	}
	return &Session{kernel{c}}, nil
}

// kernel is a session in a notebook's kernel.
type kernel struct{ *connect.Client }

func (k kernel) Eval(ctx context.Context, program string, emit func(Result) error) error {
	return k.Client.Eval(ctx, program, func(r connect.Result) error {
		var head struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(r.JSON, &head); err != nil {
			return fmt.Errorf("reading a result: %w", err)
		}
		return emit(Result{Kind: head.Kind, JSON: r.JSON, Forms: r.Data})
	})
}

func (k kernel) Model(ctx context.Context) (info lm.Info, ok bool, err error) {
	data, err := k.Client.Model(ctx)
	if err != nil || data == nil {
		return info, false, err
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, false, fmt.Errorf("reading what the model is: %w", err)
	}
	return info, true, nil
}

// Close ends a session. A kernel's goes on without this program.
func (s *Session) Close() error { return s.backend.Close() }

// Eval evaluates a program in the constraint language and returns its results. Where
// the program fails they are those that came before; a mistake in it is an [*Error].
func (s *Session) Eval(ctx context.Context, program string) ([]Result, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	var results []Result
	err := s.backend.Eval(ctx, program, func(r Result) error { results = append(results, r); return nil })
	return results, err
}

// Evaluate measures how far the session's model satisfies a formula.
func (s *Session) Evaluate(ctx context.Context, f Formula) (*Report, error) {
	if err := f.check(); err != nil {
		return nil, fmt.Errorf("evaluating: %w", err)
	}
	results, err := s.Eval(ctx, f.text)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Kind == "report" {
			return r.Report()
		}
	}
	return nil, fmt.Errorf("evaluating: there is no report of %s, which is no formula", strings.TrimSpace(f.text))
}

// Define gives a formula a name, and returns the formula that the name stands for. Reports use
// it, and so can everything that the session evaluates later.
func (s *Session) Define(ctx context.Context, name string, f Formula) (Formula, error) {
	return Formula{text: name}, s.define(ctx, name, name, f)
}

// DefineSchema defines a schema, a formula with holes, for [Session.Run] and calls in the
// constraint language. The body is called once with what stands for the holes, each of
// which can be a prefix or target of [M]:
//
//	s.DefineSchema(ctx, "implication", []string{"x", "a", "b"}, func(h []string) Formula {
//		return Implies(M(h[0], h[1]), M(h[0], h[2]))
//	})
func (s *Session) DefineSchema(ctx context.Context, name string, holes []string, body func(hole []string) Formula) error {
	marked := make([]string, len(holes))
	for i, h := range holes {
		marked[i] = holeMark + h
	}
	return s.define(ctx, name, name+"("+strings.Join(holes, ", ")+")", body(marked))
}

// define evaluates one definition and nothing else.
func (s *Session) define(ctx context.Context, name, head string, f Formula) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("defining %s: %w", name, err)
	}
	program := head + " = (" + f.text + ")"
	stmts, err := syntax.Parse("", program)
	if err != nil {
		return fmt.Errorf("defining %s: %w", name, connect.AsError(err))
	}
	if d, ok := stmts[0].(*syntax.Definition); !ok || len(stmts) != 1 || d.Name.Text != name {
		return fmt.Errorf("defining %q: that is no name", name)
	}
	_, err = s.Eval(ctx, program)
	return err
}

// Run measures a schema on each row of a .csv, .tsv, .jsonl or .parquet file. The columns or fields
// have the holes' names, or stand in their order. Rows that have a target of several tokens
// are left out and counted. Where the run is stopped, what has been measured comes with the error.
func (s *Session) Run(ctx context.Context, schema, file string) (*Run, error) {
	// The kernel's working directory may be another.
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", schema, err)
	}
	results, err := s.Eval(ctx, "%run "+syntax.Quote(schema)+" "+syntax.Quote(path))
	for _, r := range results {
		if r.Kind == "run" {
			run, bad := r.Run()
			return run, errors.Join(err, bad)
		}
	}
	return nil, err
}

// Names lists what the session has defined, in that order.
func (s *Session) Names(ctx context.Context) ([]Name, error) { return s.backend.Names(ctx) }

// Model describes the model that the session asks; false where none has been needed yet.
func (s *Session) Model(ctx context.Context) (lm.Info, bool, error) {
	return s.backend.Model(ctx)
}
