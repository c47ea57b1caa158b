package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"

	"github.com/modellog/modellog/kernel/connect"
	"github.com/modellog/modellog/kernel/internal/private"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lang/syntax"
)

// remote is the session as programs in Go cells see it.
type remote struct{ k *Kernel }

// sessionSocket is the socket for programs in Go cells.
type sessionSocket struct {
	*connect.Server
	folder *private.Folder
}

func (s *sessionSocket) Close() error {
	return errors.Join(s.Server.Close(), s.folder.Remove())
}

// serveSession opens the socket for programs in Go cells. The variables tell them
// where it is.
func (k *Kernel) serveSession() (io.Closer, []string, error) {
	fail := func(err error) (io.Closer, []string, error) {
		return nil, nil, fmt.Errorf("opening the socket for Go cells: %w", err)
	}
	folder, err := private.New()
	if err != nil {
		return fail(err)
	}
	path := filepath.Join(folder.Path, "session")
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return fail(errors.Join(err, folder.Remove()))
	}
	return &sessionSocket{connect.Serve(l, remote{k}), folder}, []string{connect.SocketVariable + "=" + path}, nil
}

// Eval evaluates a program for a Go cell. It ends with the cell that runs, whose
// interruption is meant for it, too.
func (r remote) Eval(ctx context.Context, program string, only bool, emit func(connect.Result) error) error {
	k := r.k
	if only {
		stmts, err := syntax.Parse("", program)
		if err != nil {
			return connect.AsError(err)
		}
		i := slices.IndexFunc(stmts, func(s syntax.Stmt) bool { _, ok := s.(*syntax.Definition); return !ok })
		if i >= 0 {
			start, _ := stmts[i].Span()
			return &connect.Error{Message: fmt.Sprintf("%s: this is no definition", start), Line: int(start.Line), Column: int(start.Col)}
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	k.mu.Lock()
	c := k.running
	k.mu.Unlock()
	if c != nil {
		defer context.AfterFunc(c.ctx, func() { cancel(context.Cause(c.ctx)) })()
	}
	k.evaluating.Lock()
	defer k.evaluating.Unlock()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return connect.AsError(k.evalLocked(ctx, program, func(result lang.Result) error {
		forms, err := lang.Forms(result)
		if err != nil {
			return err
		}
		own, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encoding a %s: %w", result.Kind(), err)
		}
		return emit(connect.Result{JSON: own, Data: forms})
	}))
}

// Names lists what is defined.
func (r remote) Names() []connect.Name {
	names := []connect.Name{}
	for _, n := range r.k.session.Names() {
		names = append(names, connect.Name(n))
	}
	return names
}

// Model describes the model that is open.
func (r remote) Model() (json.RawMessage, error) {
	r.k.evaluating.Lock()
	defer r.k.evaluating.Unlock()
	info, ok := r.k.session.Model()
	if !ok {
		return nil, nil
	}
	return json.Marshal(info)
}
