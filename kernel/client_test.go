package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm/store"
)

// connection is one that nobody uses.
func connection(t *testing.T, transport string) wire.Connection {
	t.Helper()
	c := wire.Connection{Transport: transport, IP: "127.0.0.1", Key: "a key", SignatureScheme: "hmac-sha256"}
	ports := []*int{&c.ShellPort, &c.ControlPort, &c.StdinPort, &c.IOPubPort, &c.HeartbeatPort}
	if transport == "ipc" {
		c.IP = filepath.Join(t.TempDir(), "k")
		for i, p := range ports {
			*p = i + 1
		}
		return c
	}
	for _, p := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		*p = l.Addr().(*net.TCPAddr).Port
	}
	return c
}

// toolsDir is where `modellog kernel install` puts gonb.
func toolsDir(t *testing.T) string {
	t.Helper()
	if d := os.Getenv("MODELLOG_TEST_GONB"); d != "" {
		return d
	}
	data, err := store.DataDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(data, "kernel", "bin")
}

// needGo skips a test of Go cells but under make test-kernel, where all is there.
func needGo(t *testing.T) {
	t.Helper()
	if os.Getenv("MODELLOG_TEST_GO_CELLS") == "" {
		t.Skip("make test-kernel runs this")
	}
	o := GoOptions{ToolsDir: toolsDir(t)}
	if _, err := o.binary(); err != nil {
		t.Fatal(err)
	}
}

// served is a kernel that runs in this process.
type served struct {
	*Kernel
	done chan error
}

// serve starts a kernel. The session's options can use the kernel.
func serve(t *testing.T, o Options, options func(*Kernel) lang.Options) *served {
	t.Helper()
	own := o.Connection.ShellPort == 0
	o.Version = "test"
	if testing.Verbose() {
		o.Log = os.Stderr
	}
	var k *Kernel
	for attempt := 0; ; attempt++ {
		if own {
			o.Connection = connection(t, "tcp")
		}
		var err error
		if k, err = New(o); err == nil {
			break
		}
		// Somebody else may have taken a port since it was found free.
		if !own || !errors.Is(err, syscall.EADDRINUSE) || attempt == 5 {
			t.Fatal(err)
		}
	}
	lo := lang.Options{}
	if options != nil {
		lo = options(k)
	}
	lo.Progress, lo.Warn = k.Progress, k.Warn
	s := &served{k, make(chan error, 1)}
	go func() { s.done <- k.Run(context.Background(), lang.New(lo)) }()
	t.Cleanup(func() {
		k.stop(errShutdown)
		select {
		case <-s.done:
		case <-time.After(20 * time.Second):
			t.Error("the kernel does not end")
		}
	})
	return s
}

// client is a front-end, over another implementation of ZeroMQ.
type client struct {
	t                           *testing.T
	signer                      *wire.Signer
	session                     string
	shell, control, stdin, subs zmq4.Socket
	replies, controls, inputs   chan *wire.Message
	published                   chan *wire.Message
	over                        map[string]bool // requests whose idle has been seen
	begun                       string          // a request whose busy a test has taken itself
}

func dial(t *testing.T, c wire.Connection) *client {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	id := zmq4.WithID(zmq4.SocketIdentity(wire.NewID()))
	f := &client{
		t: t, signer: wire.NewSigner(c.Key), session: wire.NewID(), over: map[string]bool{},
		shell: zmq4.NewDealer(ctx, id), control: zmq4.NewDealer(ctx, id), stdin: zmq4.NewDealer(ctx, id), subs: zmq4.NewSub(ctx),
	}
	t.Cleanup(func() {
		cancel()
		for _, s := range []zmq4.Socket{f.shell, f.control, f.stdin, f.subs} {
			s.Close()
		}
	})
	at := func(port int) string {
		network, address := c.Address(port)
		if network == "unix" {
			return "ipc://" + address
		}
		return "tcp://" + address
	}
	for s, port := range map[zmq4.Socket]int{f.shell: c.ShellPort, f.control: c.ControlPort, f.stdin: c.StdinPort, f.subs: c.IOPubPort} {
		if err := s.Dial(at(port)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.subs.SetOption(zmq4.OptionSubscribe, ""); err != nil {
		t.Fatal(err)
	}
	read := func(s zmq4.Socket) chan *wire.Message {
		ch := make(chan *wire.Message, 100_000)
		go func() {
			for {
				m, err := s.Recv()
				if err != nil {
					return
				}
				msg, err := f.signer.Decode(m.Frames)
				if err != nil {
					t.Errorf("the kernel sent %q: %v", m.Frames, err)
					return
				}
				ch <- msg
			}
		}()
		return ch
	}
	f.replies, f.controls, f.inputs, f.published = read(f.shell), read(f.control), read(f.stdin), read(f.subs)
	// The welcome says that the subscription has arrived.
	if m := f.next(f.published, 5*time.Second); m.Header.MsgType != "iopub_welcome" {
		t.Fatalf("the first message is a %s", m.Header.MsgType)
	}
	return f
}

func (f *client) next(ch chan *wire.Message, d time.Duration) *wire.Message {
	f.t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(d):
		f.t.Fatalf("nothing came for %v", d)
		return nil
	}
}

// send sends a request and returns its id.
func (f *client) send(to zmq4.Socket, msgType string, content any) string {
	f.t.Helper()
	data, err := json.Marshal(content)
	if err != nil {
		f.t.Fatal(err)
	}
	m := &wire.Message{Header: wire.NewHeader(f.session, msgType), Content: data}
	frames, err := f.signer.Encode(m)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := to.SendMulti(zmq4.NewMsgFrom(frames...)); err != nil {
		f.t.Fatal(err)
	}
	return m.Header.MsgID
}

// object is a content.
type object = map[string]any

func content(t *testing.T, m *wire.Message) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(m.Content, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// ran is all that belongs to a request.
type ran struct {
	t         *testing.T
	reply     object
	published []*wire.Message // between busy and idle
	types     []string
}

const patient = 60 * time.Second

// await returns the reply to a request, and what was published for it; the kernel
// must have been busy first, and idle last, with the reply between.
func (f *client) await(id string) *ran {
	f.t.Helper()
	r := &ran{t: f.t}
	for {
		m := f.next(f.replies, patient)
		if m.ParentID() == id {
			r.reply = content(f.t, m)
			break
		}
	}
	state := ""
	if id == f.begun {
		state = "busy"
	}
	for state != "idle" {
		m := f.next(f.published, patient)
		if f.over[m.ParentID()] {
			f.t.Errorf("a %s after the idle of what it belongs to", m.Header.MsgType)
		}
		if m.ParentID() != id {
			continue
		}
		if m.Header.MsgType == "status" {
			state, _ = content(f.t, m)["execution_state"].(string)
			if state == "busy" && len(r.types) == 0 { // it says so again after what it did aside
				r.types = append(r.types, "busy")
			}
			continue
		}
		if state != "busy" {
			f.t.Errorf("a %s before busy", m.Header.MsgType)
		}
		r.types = append(r.types, m.Header.MsgType)
		r.published = append(r.published, m)
	}
	f.over[id] = true
	return r
}

// run runs a cell as a notebook does.
func (f *client) run(code string) *ran {
	f.t.Helper()
	return f.await(f.start(code, nil))
}

func (f *client) start(code string, more object) string {
	f.t.Helper()
	o := object{"code": code, "silent": false, "store_history": true, "user_expressions": object{}, "allow_stdin": false, "stop_on_error": true}
	for k, v := range more {
		o[k] = v
	}
	return f.send(f.shell, "execute_request", o)
}

// of returns the contents of the published messages of a type.
func (r *ran) of(msgType string) []object {
	var out []object
	for _, m := range r.published {
		if m.Header.MsgType == msgType {
			out = append(out, content(r.t, m))
		}
	}
	return out
}

// text is what was written to a stream.
func (r *ran) text(stream string) string {
	var b strings.Builder
	for _, o := range r.of("stream") {
		if o["name"] == stream {
			b.WriteString(o["text"].(string))
		}
	}
	return b.String()
}

// ok checks that a cell succeeded.
func (r *ran) ok() *ran {
	r.t.Helper()
	if r.reply["status"] != "ok" {
		r.t.Fatalf("the reply is %v, the output %v, the errors %q", r.reply, r.types, r.text("stderr"))
	}
	return r
}

// plain is the text of an execute_result or display_data.
func plain(o object) string { return fmt.Sprint(o["data"].(object)["text/plain"]) }
