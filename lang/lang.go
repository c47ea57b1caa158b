// Package lang evaluates the constraint language: definitions of events,
// formulas and schemas, reports of how far a language model satisfies a
// formula, queries, and commands.
//
// A [Session] holds what a user has built up: the model, the calibration, the
// names, the last figure. [Session.Eval] runs a program's statements in
// order and hands over each [Result] as soon as it is there. A statement that
// fails defines nothing, ends the program, and leaves the session as it was;
// its error is an [*Error] that names line and column.
//
// # Names
//
// Events, formulas, schemas and ladders share one namespace. What a name
// stands for is looked up when it is used, so that redefining an event
// changes each formula that mentions it; a definition that would mention
// itself, directly or through others, is refused. Two events with the same
// prefix, target and join are the same variable. Each prob(…) that is written is
// a variable of its own, and each call of a schema writes its body anew.
//
// # Models
//
// No model is opened before an event needs one. A formula's events are then
// resolved to tokens, read in one batch, calibrated, and the formula is
// compiled once to a decision diagram. A target of several tokens is the
// conjunction of its token events, each a variable. Where the backend sees
// only the most probable tokens, results are intervals that hold the truth.
//
// The language itself is described in REFERENCE.md.
package lang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm"
)

// Error is a mistake in a program, with its place. [syntax.Error.Detail] shows
// the line with carets.
type Error = syntax.Error

// Incomplete reports whether a text is the beginning of a statement that goes
// on in the next line.
func Incomplete(src string) bool { return syntax.Incomplete(src) }

// MaxSource is how many bytes a program may have.
const MaxSource = syntax.MaxSource

// Options are what a session needs from outside. Each may be left out.
type Options struct {
	// Model is the name of the model that is opened when an event first
	// needs one.
	Model string
	// Open opens a model by name. Without it there are no models.
	Open func(ctx context.Context, name string) (lm.Model, error)
	// ModelNames lists the models that Open would find.
	ModelNames func(ctx context.Context) ([]lm.ModelName, error)
	// Cache keeps readings. Without it they are kept as long as the session.
	Cache event.Cache
	// Progress is told how far something slow has come; total is 0 where
	// it is not known, and done == total at the end.
	Progress func(label string, done, total int)
	// Hold is how many token events [Session.Prefetch] holds at a time, of some 1.7 kB each; 200,000 where it is
	// 0. A prefix is read once for all events that are held together.
	Hold int
	// Warn is told of what went wrong without stopping anything.
	Warn func(msg string)
	// Dir is where relative paths start, except those in a file that is
	// loaded. The working directory by default.
	Dir string
}

// Session is the state that a user builds up. It must not be evaluated from
// two goroutines at once; Complete may be called meanwhile.
type Session struct {
	opts        Options
	model       lm.Model
	modelName   string // the model's name as it was asked for
	calibration calibrate.Calibration
	figure      *Figure
	runs        []*Run // the last one of each schema, file, model and calibration, in their order
	timing      bool

	mu     sync.RWMutex // guards names and order for Complete
	names  map[string]*definition
	order  []string            // names in the order of their first definition
	labels map[string][]string // an atom's key → the names that stand for it

	compiled *diagramCache
}

// New starts a session with the default calibration and no names.
func New(opts Options) *Session {
	if opts.Cache == nil {
		opts.Cache = &memory{}
	}
	s := &Session{opts: opts, compiled: newDiagramCache(), calibration: calibrate.Default()}
	s.reset()
	return s
}

// reset forgets names, figure and last run; model and calibration stay.
func (s *Session) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = map[string]*definition{}
	s.labels = map[string][]string{}
	s.order = nil
	s.figure, s.runs = nil, nil
}

// Close closes the session's model.
func (s *Session) Close() error {
	if s.model == nil {
		return nil
	}
	err := s.model.Close()
	s.model = nil
	return err
}

// Calibration returns how token probabilities become event probabilities.
func (s *Session) Calibration() calibrate.Calibration { return s.calibration }

// SetCalibration changes it.
func (s *Session) SetCalibration(c calibrate.Calibration) error {
	if err := c.Validate(); err != nil {
		return err
	}
	s.calibration = c
	return nil
}

// Model describes the model in use, if one has been opened.
func (s *Session) Model() (lm.Info, bool) {
	if s.model == nil {
		return lm.Info{}, false
	}
	return s.model.Info(), true
}

// OpenModel opens a model and makes it the session's; the one before is closed. On an
// error the session keeps the model it had.
func (s *Session) OpenModel(ctx context.Context, name string) (lm.Info, error) {
	if s.opts.Open == nil {
		return lm.Info{}, errors.New("this session was started without a way to open models")
	}
	m, err := s.opts.Open(ctx, name)
	if err != nil {
		return lm.Info{}, err
	}
	if s.model != nil {
		if err := s.model.Close(); err != nil {
			s.warn(fmt.Sprintf("closing %s: %v", s.modelName, err))
		}
	}
	s.model, s.modelName = m, name
	return m.Info(), nil
}

// needModel opens the default model unless one is open, and says so.
func (s *Session) needModel(ctx context.Context, u *unit) error {
	if s.model != nil {
		return nil
	}
	if s.opts.Model == "" {
		return errors.New("no model is chosen; %models lists those that are there, %model NAME chooses one")
	}
	info, err := s.OpenModel(ctx, s.opts.Model)
	if err != nil {
		return err
	}
	return u.emit(&Note{What: "model", Message: describeModel(info)})
}

func (s *Session) warn(msg string) {
	if s.opts.Warn != nil {
		s.opts.Warn(msg)
	}
}

// progress returns a function that reports on one slow thing.
func (s *Session) progress(label string) func(done, total int) {
	return func(done, total int) {
		if s.opts.Progress != nil {
			s.opts.Progress(label, done, total)
		}
	}
}

// unit is a program that is being evaluated.
type unit struct {
	src     *syntax.Source
	dir     string   // where the program's relative paths start
	loading []string // the files that are being loaded, outermost first
	emit    func(Result) error
}

// Eval evaluates a program. The path names it in messages ("" at a prompt); where it
// names a file, paths in the program's %load and %run are relative to that file's
// folder. Each result goes to emit as soon as it is there; an error of emit
// ends the program and is returned.
//
// A mistake in the program is returned as an [*Error]. When ctx is done, the
// error wraps its cause, and what was emitted stays valid.
func (s *Session) Eval(ctx context.Context, path, src string, emit func(Result) error) error {
	dir := s.opts.Dir
	if path != "" {
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			dir = filepath.Dir(path)
		}
	}
	return s.eval(ctx, path, src, &unit{dir: dir, emit: func(r Result) error {
		if err := emit(r); err != nil {
			return &emitError{err}
		}
		return nil
	}})
}

func (s *Session) eval(ctx context.Context, path, src string, u *unit) error {
	p, err := syntax.NewParser(path, src)
	if err != nil {
		return err
	}
	u.src = p.Source()
	for {
		if err := ctx.Err(); err != nil {
			return stopped(ctx)
		}
		stmt, err := p.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil { // a long statement takes its time to read
			return stopped(ctx)
		}
		evaluate := s.statement
		if s.timing {
			evaluate = s.timed
		}
		if err := evaluate(ctx, u, stmt); err != nil {
			return err
		}
	}
}

// stopped is the error of a program whose context is done.
func stopped(ctx context.Context) error {
	return fmt.Errorf("stopped: %w", context.Cause(ctx))
}

// timed evaluates a statement and says how long it took.
func (s *Session) timed(ctx context.Context, u *unit, stmt syntax.Stmt) error {
	start := time.Now()
	if err := s.statement(ctx, u, stmt); err != nil {
		return err
	}
	d := time.Since(start)
	if c, ok := stmt.(*syntax.Command); ok && c.Name.Text == "time" {
		return nil // which says it itself, or changed whether it is said
	}
	return u.emit(&Note{What: "time", Message: "took " + formatDuration(d), Seconds: d.Seconds()})
}

// statement evaluates a statement. What goes wrong is put into its place.
func (s *Session) statement(ctx context.Context, u *unit, stmt syntax.Stmt) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = u.src.Errorf(stmt, "this statement met a fault of modellog itself (%v); the session goes on, please report it", r)
		}
	}()
	if stmt.Silent() {
		outer, inner := u, *u
		inner.emit = func(r Result) error {
			// Silence is asked for the statement's own result, not
			// for what is told beside it.
			if n, ok := r.(*Note); ok && (n.What == "model" || n.What == "time") {
				return outer.emit(r)
			}
			return nil
		}
		u = &inner
	}
	switch stmt := stmt.(type) {
	case *syntax.Definition:
		err = s.define(u, stmt)
	case *syntax.ExprStmt:
		err = s.show(ctx, u, stmt.X)
	case *syntax.Command:
		err = s.command(ctx, u, stmt)
	}
	return s.located(ctx, u, stmt, err)
}

// located puts an error into its place in the program.
func (s *Session) located(ctx context.Context, u *unit, n syntax.Node, err error) error {
	var e *Error
	var out *emitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &out):
		return err
	case ctx.Err() != nil:
		return stopped(ctx)
	case errors.As(err, &e):
		return err
	}
	return u.src.Errorf(n, "%w", err)
}

// emitError is an error of the receiver of results.
type emitError struct{ err error }

func (e *emitError) Error() string { return e.err.Error() }
func (e *emitError) Unwrap() error { return e.err }

// abs makes a path absolute, starting at the program's folder.
func (s *Session) abs(path, dir string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Abs(path)
}
