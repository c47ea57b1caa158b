// Package connect is how a program in a Go cell reaches the kernel that runs it:
// the session with its names and the model that is loaded there.
//
// The kernel listens on a Unix socket in a folder that only its user can
// enter, and tells its Go cells the socket's path in the variable
// MODELLOG_KERNEL_SOCKET. [Open] connects to it.
//
// # Protocol
//
// Both sides write JSON objects, one a line, of at most 64 MB. A client sends requests
//
//	{"id": 1, "op": "eval", "program": "dog -> mammal"}
//	{"id": 2, "op": "define", "program": "cat = M(\"A tabby is a\", \"cat\")"}
//	{"id": 3, "op": "names"}
//	{"id": 4, "op": "model"}
//	{"id": 5, "op": "cancel", "of": 1}
//
// with ids of its own, and need not wait for one to end before the next: those of a connection are
// answered in their order. The kernel answers a request with any
// number of results and one end, each with the request's id:
//
//	{"id": 1, "result": {"kind": "report", …}, "data": {"text/plain": "…", "text/html": "…"}}
//	{"id": 1, "end": true}
//	{"id": 2, "end": true, "error": {"message": "…", "detail": "…", "line": 1, "column": 7}}
//	{"id": 3, "end": true, "names": [{"name": "dog", "kind": "event", "doc": "dog = M(…)"}]}
//	{"id": 4, "end": true, "model": {"name": "gemma3:270m-pt", …}}
//
// eval evaluates a program; each result is the JSON that the language gives it, with
// the forms in which it can be shown. define is eval for a program that consists of
// definitions, and has no results. A request is stopped by cancel, by the end of its
// connection, and when the Go cell is interrupted.
package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/modellog/modellog/lang/syntax"
)

// SocketVariable is the environment variable that holds the socket's path.
const SocketVariable = "MODELLOG_KERNEL_SOCKET"

// maxLine is how long a line can be, in bytes.
const maxLine = 64 << 20

// ErrNoKernel is the error of a program that no kernel runs.
var ErrNoKernel = errors.New("this program does not run in a Go cell of a modellog kernel (" + SocketVariable + " is not set)")

// Request is what a client asks for.
type Request struct {
	ID      int64  `json:"id"`
	Op      string `json:"op"`
	Program string `json:"program,omitempty"`
	Of      int64  `json:"of,omitempty"`
}

// Response is a line of the kernel's.
type Response struct {
	ID     int64             `json:"id"`
	Result json.RawMessage   `json:"result,omitempty"`
	Data   map[string]string `json:"data,omitempty"`
	Names  []Name            `json:"names,omitempty"`
	Model  json.RawMessage   `json:"model,omitempty"`
	Error  *Error            `json:"error,omitempty"`
	End    bool              `json:"end,omitempty"`
}

// Result is a result of a program.
type Result struct {
	JSON json.RawMessage   // as the language gives it; see the package lang
	Data map[string]string // the forms in which it can be shown: "text/plain", "text/html", "image/svg+xml", …
}

// Name is a name that the session has defined.
type Name struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // "event", "formula", "schema" or "ladder"
	Doc  string `json:"doc"`  // its definition, cut where it is long
}

// Error is what went wrong in the kernel.
type Error struct {
	Message string `json:"message"`
	Detail  string `json:"detail,omitempty"` // with the line and carets, of a mistake in a program
	Line    int    `json:"line,omitempty"`   // of a mistake, from 1
	Column  int    `json:"column,omitempty"` // in code points, from 1
}

func (e *Error) Error() string { return e.Message }

// AsError gives a mistake in a program, a [*syntax.Error], the form that it has in every session and on the
// socket. Other errors stay as they are.
func AsError(err error) error {
	if mistake, ok := errors.AsType[*syntax.Error](err); ok {
		return &Error{Message: mistake.Error(), Detail: mistake.Detail(), Line: int(mistake.Start.Line), Column: int(mistake.Start.Col)}
	}
	return err
}

// Client is a connection to a kernel. Its methods may be called from several
// goroutines.
type Client struct {
	nc net.Conn

	writing sync.Mutex

	mu      sync.Mutex
	next    int64
	waiting map[int64]*call
	err     error // why nothing comes any more
}

// call is a request that is waited for.
type call struct {
	responses chan Response // closed after the end, or when no more can come
	left      chan struct{} // closed when nobody waits any more
}

// Open connects to the kernel whose Go cell this program runs in.
func Open(ctx context.Context) (*Client, error) {
	path := os.Getenv(SocketVariable)
	if path == "" {
		return nil, ErrNoKernel
	}
	return Dial(ctx, path)
}

// Dial connects to the kernel that listens at a path.
func Dial(ctx context.Context, path string) (*Client, error) {
	var d net.Dialer
	nc, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("connecting to the kernel: %w", err)
	}
	c := &Client{nc: nc, waiting: map[int64]*call{}}
	go c.read()
	return c, nil
}

// Close ends the connection and stops what is under way on it.
func (c *Client) Close() error { return c.nc.Close() }

func (c *Client) read() {
	s := lines(c.nc)
	for s.Scan() {
		var r Response
		if json.Unmarshal(s.Bytes(), &r) != nil {
			continue
		}
		c.mu.Lock()
		w := c.waiting[r.ID]
		if r.End {
			delete(c.waiting, r.ID)
		}
		c.mu.Unlock()
		if w == nil {
			continue
		}
		select {
		case w.responses <- r:
		case <-w.left:
		}
		if r.End {
			close(w.responses)
		}
	}
	err := s.Err()
	if err == nil {
		err = errors.New("the kernel has ended the connection")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	for id, w := range c.waiting {
		delete(c.waiting, id)
		close(w.responses)
	}
}

func (c *Client) write(r Request) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(data) >= maxLine {
		return fmt.Errorf("a program of %d MB is too long", len(data)>>20)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err = c.nc.Write(append(data, '\n'))
	return err
}

// do sends a request and hands its responses to each, until the last or until
// each returns an error. When ctx ends, the kernel is told to stop, and nothing that it
// still answers is taken for an answer.
func (c *Client) do(ctx context.Context, r Request, each func(Response) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w := &call{responses: make(chan Response, 16), left: make(chan struct{})}
	defer close(w.left)
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return fmt.Errorf("asking the kernel: %w", c.err)
	}
	c.next++
	r.ID = c.next
	c.waiting[r.ID] = w
	c.mu.Unlock()
	leave := func(err error) error {
		// Without a connection there is nothing to cancel.
		_ = c.write(Request{Op: "cancel", Of: r.ID})
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, r.ID)
		return err
	}
	if err := c.write(r); err != nil {
		return leave(fmt.Errorf("asking the kernel: %w", err))
	}
	for {
		var resp Response
		var ok bool
		select {
		case <-ctx.Done():
		case resp, ok = <-w.responses:
		}
		switch {
		case ctx.Err() != nil:
			return leave(context.Cause(ctx))
		case !ok:
			c.mu.Lock()
			defer c.mu.Unlock()
			return fmt.Errorf("asking the kernel: %w", c.err)
		case resp.Error != nil:
			return resp.Error
		}
		if err := each(resp); err != nil {
			return leave(err)
		}
		if resp.End {
			return nil
		}
	}
}

// Eval evaluates a program in the kernel's session. Each result goes to emit as soon
// as it is there; an error of emit stops the program and is returned. A mistake
// in the program is an [*Error].
func (c *Client) Eval(ctx context.Context, program string, emit func(Result) error) error {
	return c.do(ctx, Request{Op: "eval", Program: program}, func(r Response) error {
		if r.Result == nil {
			return nil
		}
		return emit(Result{JSON: r.Result, Data: r.Data})
	})
}

// Define evaluates a program that consists of definitions: the cells that follow
// see their names.
func (c *Client) Define(ctx context.Context, program string) error {
	return c.do(ctx, Request{Op: "define", Program: program}, func(Response) error { return nil })
}

// Names lists the names that the session has defined, in that order.
func (c *Client) Names(ctx context.Context) (names []Name, err error) {
	err = c.do(ctx, Request{Op: "names"}, func(r Response) error { names = append(names, r.Names...); return nil })
	return names, err
}

// Model describes the model that the session has open, as the JSON of an lm.Info; nil
// where none is open yet.
func (c *Client) Model(ctx context.Context) (info json.RawMessage, err error) {
	err = c.do(ctx, Request{Op: "model"}, func(r Response) error { info = r.Model; return nil })
	return info, err
}
