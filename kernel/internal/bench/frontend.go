package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/kernel/zmtp"
)

// frontEnd is a kernel's process and the front-end that talks to it.
type frontEnd struct {
	name     string
	dir      string
	cmd      *exec.Cmd
	exited   chan error
	began    time.Time // when the process was started
	signer   *wire.Signer
	session  string
	shell    *zmtp.Conn
	control  *zmtp.Conn
	messages chan *wire.Message // of shell and iopub
}

// start starts a kernel whose command gets a connection file as its last argument, and
// returns when it answers.
func start(ctx context.Context, name string, env []string, command ...string) (*frontEnd, error) {
	dir, err := os.MkdirTemp("", "modellog-bench-")
	if err != nil {
		return nil, err
	}
	f := &frontEnd{name: name, dir: dir, exited: make(chan error, 1), session: wire.NewID(), messages: make(chan *wire.Message, 1000)}
	if err := f.start(ctx, env, command); err != nil {
		f.stop()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return f, nil
}

func (f *frontEnd) start(ctx context.Context, env, command []string) error {
	conn := wire.Connection{
		Transport: "ipc", IP: filepath.Join(f.dir, "s"),
		ShellPort: 1, ControlPort: 2, StdinPort: 3, IOPubPort: 4, HeartbeatPort: 5, SignatureScheme: "hmac-sha256", Key: wire.NewID(),
	}
	f.signer = wire.NewSigner(conn.Key)
	data, err := json.Marshal(conn)
	if err != nil {
		return err
	}
	file := filepath.Join(f.dir, "kernel-"+wire.NewID()+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	cmd := exec.Command(command[0], append(command[1:], file)...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), env...)
	log, err := os.Create(filepath.Join(f.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	f.began = time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	f.cmd = cmd
	go func() { f.exited <- cmd.Wait() }()

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	dial := func(port int, connect func(network, address string) (*zmtp.Conn, error)) (*zmtp.Conn, error) {
		for {
			c, err := connect(conn.Address(port))
			if err == nil {
				return c, nil
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-time.After(2 * time.Millisecond):
			}
		}
	}
	iopub, err := dial(conn.IOPubPort, func(network, address string) (*zmtp.Conn, error) { return zmtp.DialSub(ctx, network, address) })
	if err != nil {
		return err
	}
	go f.read(iopub)
	dealer := func(network, address string) (*zmtp.Conn, error) {
		return zmtp.DialDealer(ctx, network, address, f.session)
	}
	if f.shell, err = dial(conn.ShellPort, dealer); err != nil {
		return err
	}
	if f.control, err = dial(conn.ControlPort, dealer); err != nil {
		return err
	}
	go f.read(f.shell)
	// Bare GoNB loses what it publishes before it has seen the subscription.
	for {
		if _, err := f.request(ctx, "kernel_info_request", map[string]any{}, 100*time.Millisecond); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.New("it does not answer")
		}
	}
}

func (f *frontEnd) read(c *zmtp.Conn) {
	for {
		frames, err := c.Read()
		if err != nil {
			return
		}
		if m, err := f.signer.Decode(frames); err == nil {
			f.messages <- m
		}
	}
}

// outcome is what became of a cell.
type outcome struct {
	took  time.Duration // until its reply and its idle were there
	first time.Duration // until its first result or output was
	data  string        // text of its results and outputs
}

// request sends a request and waits until it is over.
func (f *frontEnd) request(ctx context.Context, msgType string, content any, within time.Duration) (outcome, error) {
	var o outcome
	data, err := json.Marshal(content)
	if err != nil {
		return o, err
	}
	m := &wire.Message{Header: wire.NewHeader(f.session, msgType), Content: data}
	frames, err := f.signer.Encode(m)
	if err != nil {
		return o, err
	}
	limit := time.After(within)
	began := time.Now()
	if err := f.shell.Write(frames); err != nil {
		return o, err
	}
	status := ""
	for idle := false; !idle || status == ""; {
		select {
		case <-ctx.Done():
			return o, context.Cause(ctx)
		case <-limit:
			return o, fmt.Errorf("%s: no answer within %v", f.name, within)
		case err := <-f.exited:
			f.exited <- err
			return o, fmt.Errorf("%s has ended: %v", f.name, err)
		case got := <-f.messages:
			if got.ParentID() != m.Header.MsgID {
				continue
			}
			var c struct {
				Status string            `json:"status"`
				State  string            `json:"execution_state"`
				Text   string            `json:"text"`
				Data   map[string]string `json:"data"`
				Value  string            `json:"evalue"`
			}
			// What is of another form is not what is looked for.
			_ = json.Unmarshal(got.Content, &c)
			switch got.Header.MsgType {
			case "status":
				idle = idle || c.State == "idle"
			case "stream", "display_data", "execute_result":
				if o.first == 0 {
					o.first = time.Since(began)
				}
				o.data += c.Text + c.Data["text/plain"] + c.Data["text/html"]
			case "error":
				o.data += c.Value
			default:
				if c.Status != "" {
					status = c.Status
				}
			}
		}
	}
	o.took = time.Since(began)
	if status != "ok" {
		return o, fmt.Errorf("%s: a %s ended with %q: %s", f.name, msgType, status, o.data)
	}
	return o, nil
}

// run runs a cell.
func (f *frontEnd) run(ctx context.Context, code string) (outcome, error) {
	o, err := f.request(ctx, "execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true,
	}, 5*time.Minute)
	if err != nil {
		return o, fmt.Errorf("%w, in the cell\n%s", err, code)
	}
	return o, nil
}

// stop ends the kernel and waits for it.
func (f *frontEnd) stop() {
	if f.cmd != nil {
		f.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-f.exited:
		case <-time.After(5 * time.Second):
			f.cmd.Process.Kill()
			<-f.exited
		}
	}
	for _, c := range []*zmtp.Conn{f.shell, f.control} {
		if c != nil {
			c.Close()
		}
	}
	os.RemoveAll(f.dir)
}
