// Package frontend is a Jupyter front-end as small as can be: it asks a kernel, ours or
// another, and tells what was answered and when.
package frontend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/kernel/zmtp"
)

// Client is a front-end that is connected to a kernel. Its methods are called from one goroutine.
type Client struct {
	signer  *wire.Signer
	session string
	shell   *zmtp.Conn
	iopub   *zmtp.Conn

	messages chan *wire.Message // of shell and iopub
	done     chan struct{}
	once     sync.Once
}

// Connect connects to a kernel that may still be starting, and returns when it answers.
func Connect(ctx context.Context, conn wire.Connection) (*Client, error) {
	c := &Client{signer: wire.NewSigner(conn.Key), session: wire.NewID(), messages: make(chan *wire.Message, 1000), done: make(chan struct{})}
	if err := c.connect(ctx, conn); err != nil {
		c.Close()
		return nil, fmt.Errorf("connecting to a kernel: %w", err)
	}
	return c, nil
}

func (c *Client) connect(ctx context.Context, conn wire.Connection) (err error) {
	dial := func(port int, connect func(network, address string) (*zmtp.Conn, error)) (*zmtp.Conn, error) {
		for {
			conn, err := connect(conn.Address(port))
			if err == nil {
				return conn, nil
			}
			select {
			case <-ctx.Done():
				return nil, errors.Join(context.Cause(ctx), err)
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
	if c.iopub, err = dial(conn.IOPubPort, func(network, address string) (*zmtp.Conn, error) { return zmtp.DialSub(ctx, network, address) }); err != nil {
		return err
	}
	if c.shell, err = dial(conn.ShellPort, func(network, address string) (*zmtp.Conn, error) {
		return zmtp.DialDealer(ctx, network, address, c.session)
	}); err != nil {
		return err
	}
	go c.read(c.iopub)
	go c.read(c.shell)
	// GoNB loses what it publishes before it has seen the subscription.
	for {
		attempt, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		_, err := c.Request(attempt, "kernel_info_request", map[string]any{})
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func (c *Client) read(from *zmtp.Conn) {
	for {
		frames, err := from.Read()
		if err != nil {
			return
		}
		if m, err := c.signer.Decode(frames); err == nil {
			select {
			case c.messages <- m:
			case <-c.done:
				return
			}
		}
	}
}

// Close ends the connection.
func (c *Client) Close() {
	c.once.Do(func() {
		close(c.done)
		for _, conn := range []*zmtp.Conn{c.shell, c.iopub} {
			if conn != nil {
				conn.Close()
			}
		}
	})
}

// Answer is all that belongs to a request.
type Answer struct {
	Reply     map[string]any
	Published []Output      // between busy and idle, in their order
	First     time.Duration // from the request to the first output
	Took      time.Duration // from the request to when both reply and idle were there
}

// Output is a message of a cell's.
type Output struct {
	Type    string // "stream", "display_data", "execute_result", "error", …
	Content struct {
		Name   string         // of a stream
		Text   string         // of a stream
		Data   map[string]any // of what is displayed, by MIME type
		EValue string         `json:"evalue"` // of an error
	}
}

// Text is what the outputs say: streams, and the plain text or else the HTML of the rest.
func (a *Answer) Text() string {
	var b strings.Builder
	for _, o := range a.Published {
		b.WriteString(o.Content.Text + o.Content.EValue)
		for _, mime := range []string{"text/plain", "text/html"} {
			if s, ok := o.Content.Data[mime].(string); ok {
				b.WriteString(s)
				break
			}
		}
	}
	return b.String()
}

// Request sends a request and waits until it is over. A reply whose status is not "ok" is an error, and
// the answer is there all the same.
func (c *Client) Request(ctx context.Context, msgType string, content any) (*Answer, error) {
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	m := &wire.Message{Header: wire.NewHeader(c.session, msgType), Content: data}
	frames, err := c.signer.Encode(m)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	began := time.Now()
	if err := c.shell.Write(frames); err != nil {
		return nil, err
	}
	for idle := false; !idle || a.Reply == nil; {
		var got *wire.Message
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the answer to a %s: %w", msgType, context.Cause(ctx))
		case got = <-c.messages:
		}
		if got.ParentID() != m.Header.MsgID {
			continue
		}
		switch kind := got.Header.MsgType; {
		case kind == "status":
			var s struct {
				State string `json:"execution_state"`
			}
			if err := json.Unmarshal(got.Content, &s); err != nil {
				return nil, fmt.Errorf("reading a status: %w", err)
			}
			idle = idle || s.State == "idle"
		case strings.HasSuffix(kind, "_reply"):
			if err := json.Unmarshal(got.Content, &a.Reply); err != nil {
				return nil, fmt.Errorf("reading a %s: %w", kind, err)
			}
		case kind == "execute_input":
		default:
			o := Output{Type: kind}
			if err := json.Unmarshal(got.Content, &o.Content); err != nil {
				return nil, fmt.Errorf("reading a %s: %w", kind, err)
			}
			if a.First == 0 {
				a.First = time.Since(began)
			}
			a.Published = append(a.Published, o)
		}
	}
	a.Took = time.Since(began)
	if a.Reply["status"] != "ok" {
		return a, fmt.Errorf("a %s ended with %v: %s", msgType, a.Reply["status"], a.Text())
	}
	return a, nil
}

// Run runs a cell as a notebook does.
func (c *Client) Run(ctx context.Context, code string) (*Answer, error) {
	a, err := c.Request(ctx, "execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true,
	})
	if err != nil {
		return a, fmt.Errorf("%w, in the cell\n%s", err, code)
	}
	return a, nil
}

// Fresh returns a connection for a kernel that is to be started, over sockets below a folder.
func Fresh(dir string) wire.Connection {
	return wire.Connection{
		Transport: "ipc", IP: dir + "/s", ShellPort: 1, ControlPort: 2, StdinPort: 3, IOPubPort: 4, HeartbeatPort: 5,
		SignatureScheme: "hmac-sha256", Key: wire.NewID(),
	}
}
