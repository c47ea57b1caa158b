// Package gonb runs GoNB, the Go kernel for Jupyter, as a child of another
// kernel, which talks to it over private sockets as a front-end would.
//
// GoNB is trusted with little. It is told nothing that makes it fall (see
// [Child.Do]); it is asked for a sign of life all the time and killed when there is
// none; and when it is gone, for whatever reason, so are the programs it left
// behind, its language server, and its files. When this process is killed, GoNB is told
// to end by the system, and a watchdog, a small process of its own, kills two seconds later what
// is still there (on Linux).
//
// # Order
//
// GoNB's messages on different sockets come in any order. A request is over when
// its reply and its idle status are both there; everything it published has
// been handed on by then.
package gonb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modellog/modellog/kernel/internal/private"
	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/kernel/zmtp"
)

// Options say how GoNB is run.
type Options struct {
	Binary   string   // path of gonb
	ToolsDir string   // where goimports and gopls are; comes first in PATH; may be empty
	Dir      string   // working directory of Go cells; this process's own for ""
	Work     []string // folders of modules that cells can import as they are (-go_work)
	Env      []string // additions to the environment, KEY=VALUE
	ID       string   // Jupyter's id of the kernel, which GoNB's widgets need
	Log      *os.File // where GoNB logs to; nil for a file that is read only when it falls

	// Stray is told of what GoNB publishes outside of any request, such as a
	// widget's messages. It must not block for long. May be nil.
	Stray func(*wire.Message)

	// Pulse is how long GoNB may show no sign of life before it is taken for
	// frozen and killed; 30 s for 0.
	Pulse time.Duration
}

// ErrDied is the error of everything that is under way when GoNB goes away.
var ErrDied = errors.New("GoNB has ended")

// ErrUnheard is what an ErrDied is, too, when GoNB has gone away before it began with a request.
var ErrUnheard = errors.New("GoNB had not begun")

// unheard makes an error one that is ErrUnheard.
type unheard struct{ error }

func (u unheard) Unwrap() []error { return []error{u.error, ErrUnheard} }

// Channel is one of the sockets that a front-end writes to.
type Channel int

// The channels. GoNB answers on Shell whatever comes on Control.
const (
	Shell Channel = iota
	Control
	Stdin
	channels
)

// Child is a running GoNB.
type Child struct {
	o      Options
	signer *wire.Signer
	folder *private.Folder
	dir    string // its path, with sockets and connection file
	tmp    string // GoNB's own temporary folder, once it is known
	mark   string // KEY=VALUE in the environment of everything that comes from this child
	proc   *process
	guard  *watchdog // nil where there can be none
	born   time.Time

	conns [channels]*zmtp.Conn // complete before Start returns
	iopub *zmtp.Conn
	count int // GoNB's own counter of cells
	done  chan struct{}
	err   error // why it ended; valid after done

	mu      sync.Mutex
	pipes   []string // FIFOs of programs that were seen, the last one's and those that are still there
	pending map[string]*request
	opened  []*zmtp.Conn // all that must be closed
	ended   bool
	killed  string // why it was killed from here
}

// request is one that GoNB has not done with.
type request struct {
	publish func(*wire.Message) // told of what it publishes
	input   func(*wire.Message) // told of input_request; may be nil
	reply   *wire.Message
	begun   bool // a status has come
	idle    bool
	over    chan struct{}
	done    bool
}

// markKey is the variable by which the programs that a child started are known.
const markKey = "MODELLOG_GONB"

// pipesFile is the file in the child's folder where the watchdog finds which FIFOs there are.
const pipesFile = "pipes"

// Start starts GoNB and returns when it answers. When ctx ends before that, GoNB is
// stopped; afterwards ctx has no effect.
func Start(ctx context.Context, o Options) (*Child, error) {
	if o.Pulse == 0 {
		o.Pulse = 30 * time.Second
	}
	folder, err := private.New()
	if err != nil {
		return nil, fmt.Errorf("starting GoNB: %w", err)
	}
	c := &Child{o: o, folder: folder, dir: folder.Path, mark: markKey + "=" + wire.NewID(), born: time.Now(),
		done: make(chan struct{}), pending: map[string]*request{}}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("starting GoNB: %w", err)
	}
	return c, nil
}

func (c *Child) start(ctx context.Context) error {
	conn := wire.Connection{
		Transport: "ipc", IP: filepath.Join(c.dir, "s"),
		ShellPort: 1, ControlPort: 2, StdinPort: 3, IOPubPort: 4, HeartbeatPort: 5,
		SignatureScheme: "hmac-sha256", Key: wire.NewID(),
	}
	c.signer = wire.NewSigner(conn.Key)
	data, err := json.Marshal(conn)
	if err != nil {
		return err
	}
	// GoNB reads the kernel's id from this name.
	file := filepath.Join(c.dir, "kernel-"+c.o.ID+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	args := []string{"-kernel", file}
	if len(c.o.Work) > 0 {
		args = append(args, "-go_work="+strings.Join(c.o.Work, ","))
	}
	cmd := exec.Command(c.o.Binary, args...)
	cmd.Dir = c.o.Dir
	cmd.Env = append(environment(c.o.ToolsDir), append(c.o.Env, c.mark)...)
	// A file and no pipe: when this process is killed, a GoNB that still has something
	// to log must not fall before it has cleaned up.
	log := c.o.Log
	if log == nil {
		if log, err = os.OpenFile(c.logPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
			return err
		}
		defer log.Close()
	}
	cmd.Stdout, cmd.Stderr = log, log
	// Without a shell there is no watchdog; it is needed only when this process is killed.
	if c.guard, err = startWatchdog(c.mark, filepath.Join(c.dir, pipesFile)); err == nil {
		c.guard.remove(c.dir)
	}
	proc, err := startProcess(cmd)
	if err != nil {
		return err
	}
	c.proc = proc
	go c.watch()

	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ctx, cause := context.WithCancelCause(ctx)
	defer cause(nil)
	go func() {
		select {
		case <-c.done:
			cause(c.err)
		case <-ctx.Done():
		}
	}()
	return c.connect(ctx, conn)
}

// environment is this process's, with the tools' folder in front of PATH and
// without flags of go that a workspace does not allow.
func environment(tools string) []string {
	var env []string
	for _, kv := range os.Environ() {
		switch key, value, _ := strings.Cut(kv, "="); key {
		case "PATH":
			if tools != "" {
				kv = "PATH=" + tools + string(filepath.ListSeparator) + value
			}
		case "GOFLAGS":
			var keep []string
			for _, f := range strings.Fields(value) {
				if !strings.HasPrefix(strings.TrimLeft(f, "-"), "mod=") {
					keep = append(keep, f)
				}
			}
			kv = "GOFLAGS=" + strings.Join(keep, " ")
		case "GOWORK", "GONB_PIPE", "GONB_PIPE_BACK": // the pipes would be those of a GoNB that this process is run by
			continue
		}
		env = append(env, kv)
	}
	return env
}

// connect opens the sockets and waits until GoNB answers. The subscription comes
// first, and a question is repeated until its idle status has been seen: from then on nothing
// that GoNB publishes is lost.
func (c *Child) connect(ctx context.Context, conn wire.Connection) (err error) {
	if c.iopub, err = c.retry(ctx, func() (*zmtp.Conn, error) {
		network, address := conn.Address(conn.IOPubPort)
		return zmtp.DialSub(ctx, network, address)
	}); err != nil {
		return err
	}
	// GoNB sends input requests on stdin to the identity that asked on shell.
	const identity = "modellog"
	for ch, port := range []int{conn.ShellPort, conn.ControlPort, conn.StdinPort} {
		if c.conns[ch], err = c.retry(ctx, func() (*zmtp.Conn, error) {
			network, address := conn.Address(port)
			return zmtp.DialDealer(ctx, network, address, identity)
		}); err != nil {
			return err
		}
	}
	heart, err := c.retry(ctx, func() (*zmtp.Conn, error) {
		network, address := conn.Address(conn.HeartbeatPort)
		return zmtp.DialReq(ctx, network, address)
	})
	if err != nil {
		return err
	}
	go c.readIOPub()
	for _, ch := range []Channel{Shell, Control, Stdin} {
		go c.readReplies(ch)
	}
	go c.beat(heart)

	answered := make(chan error, 1)
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		go func() {
			_, err := c.Do(stop, c.message("kernel_info_request", map[string]any{}), nil, nil)
			if err == nil || !errors.Is(err, context.Canceled) {
				select {
				case answered <- err:
				default:
				}
			}
		}()
		select {
		case err := <-answered:
			if err != nil {
				return err
			}
		case <-time.After(100 * time.Millisecond):
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		break
	}
	// Cells find in the workspace what they need; GoNB would ask the network
	// before each. And where its files are is told to nobody else.
	var out strings.Builder
	_, err = c.Do(ctx, c.message("execute_request", map[string]any{
		"code": "%noautoget\n!printf '%s' \"$GONB_TMP_DIR\"", "silent": true, "store_history": false, "allow_stdin": false,
	}), func(m *wire.Message) {
		var content struct{ Text string }
		if m.Header.MsgType == "stream" && json.Unmarshal(m.Content, &content) == nil {
			out.WriteString(content.Text)
		}
	}, nil)
	if err != nil {
		return err
	}
	if tmp := strings.TrimSpace(out.String()); filepath.IsAbs(tmp) && strings.HasPrefix(filepath.Base(tmp), "gonb_") {
		c.mu.Lock()
		c.tmp = tmp
		if c.guard != nil {
			c.guard.remove(tmp)
		}
		c.mu.Unlock()
	}
	return nil
}

// retry repeats what fails while GoNB is not there yet.
func (c *Child) retry(ctx context.Context, dial func() (*zmtp.Conn, error)) (*zmtp.Conn, error) {
	for {
		conn, err := dial()
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.ended {
				conn.Close()
				return nil, ErrDied
			}
			c.opened = append(c.opened, conn)
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%v)", context.Cause(ctx), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (c *Child) message(msgType string, content any) *wire.Message {
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // all contents are ours
	}
	return &wire.Message{Header: wire.NewHeader("modellog-relay", msgType), Content: data}
}

// Age is how long ago GoNB was started.
func (c *Child) Age() time.Duration { return time.Since(c.born) }

// Done is closed when GoNB has ended and everything it left is gone.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says why GoNB ended; it wraps ErrDied. Valid after Done.
func (c *Child) Err() error { return c.err }

// PID is GoNB's process id.
func (c *Child) PID() int { return c.proc.cmd.Process.Pid }

// Send sends a message that is not waited for.
func (c *Child) Send(ch Channel, m *wire.Message) error {
	out := *m
	out.Identities = nil
	frames, err := c.signer.Encode(&out)
	if err != nil {
		return err
	}
	conn := c.conns[ch]
	conn.SetWriteDeadline(time.Now().Add(c.o.Pulse))
	if err := conn.Write(frames); err != nil {
		return fmt.Errorf("%w: %v", ErrDied, err)
	}
	return nil
}

// Do sends a request and waits until it is over. What GoNB publishes for it
// goes to publish, status and execute_input excepted, and its requests for input to
// input; both may be nil, and are not called after Do has returned. A request of a front-end must have the fields that GoNB
// insists on, see [Complete]. When ctx ends, GoNB goes on, unheard.
func (c *Child) Do(ctx context.Context, m *wire.Message, publish, input func(*wire.Message)) (reply *wire.Message, err error) {
	id := m.Header.MsgID
	r := &request{publish: publish, input: input, over: make(chan struct{})}
	c.mu.Lock()
	if c.pending[id] != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("a request with the id %q is under way", id)
	}
	c.pending[id] = r
	c.mu.Unlock()
	if err := c.Send(Shell, m); err != nil {
		c.drop(r)
		return nil, unheard{err}
	}
	if m.Header.MsgType == "execute_request" {
		stop := make(chan struct{})
		defer close(stop)
		go c.watchPipes(stop)
	}
	select {
	case <-r.over:
		return r.reply, nil
	case <-c.done:
		err = c.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if !c.drop(r) && errors.Is(err, ErrDied) {
		err = unheard{err}
	}
	return nil, err
}

// drop makes a request one that nobody listens to, and reports whether GoNB has begun with it.
func (c *Child) drop(r *request) (begun bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.publish, r.input = nil, nil
	return r.begun
}

// advance notes that a part of a request's end is there.
func (c *Child) advance(id string, r *request) {
	if r.reply != nil && r.idle && !r.done {
		r.done = true
		delete(c.pending, id)
		close(r.over)
	}
}

// Waiting reports whether GoNB has not yet done with something.
func (c *Child) Waiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0
}

func (c *Child) readIOPub() {
	for {
		frames, err := c.iopub.Read()
		if err != nil {
			return
		}
		m, err := c.signer.Decode(frames)
		if err != nil {
			continue
		}
		id := m.ParentID()
		// The lock is held while a message is handed on: after drop, nobody is
		// told anything.
		c.mu.Lock()
		r := c.pending[id]
		switch {
		case r == nil:
			c.mu.Unlock()
			if c.o.Stray != nil && m.Header.MsgType != "status" {
				c.o.Stray(m)
			}
			continue
		case m.Header.MsgType == "status":
			r.begun = true
			var content struct {
				State string `json:"execution_state"`
			}
			if json.Unmarshal(m.Content, &content) == nil && content.State == "idle" {
				r.idle = true
				c.advance(id, r)
			}
		case m.Header.MsgType == "execute_input":
		case r.publish != nil:
			r.publish(m)
		}
		c.mu.Unlock()
	}
}

func (c *Child) readReplies(ch Channel) {
	for {
		frames, err := c.conns[ch].Read()
		if err != nil {
			return
		}
		m, err := c.signer.Decode(frames)
		if err != nil {
			continue
		}
		id := m.ParentID()
		c.mu.Lock()
		if r := c.pending[id]; r != nil {
			if m.Header.MsgType == "input_request" {
				if r.input != nil {
					r.input(m)
				}
			} else {
				r.reply = m
				c.advance(id, r)
			}
		}
		c.mu.Unlock()
	}
}

// beat kills a GoNB that gives no sign of life.
func (c *Child) beat(heart *zmtp.Conn) {
	pong := make(chan struct{}, 1)
	go func() {
		for {
			if _, err := heart.Read(); err != nil {
				return
			}
			select {
			case pong <- struct{}{}:
			default:
			}
		}
	}()
	tick := time.NewTicker(min(c.o.Pulse/4, 2*time.Second))
	defer tick.Stop()
	for {
		heart.SetWriteDeadline(time.Now().Add(c.o.Pulse))
		asked := time.Now()
		if err := heart.Write([][]byte{{}, []byte("alive?")}); err != nil && time.Since(asked) < c.o.Pulse {
			return
		}
		select {
		case <-pong:
		case <-c.done:
			return
		case <-time.After(c.o.Pulse):
			c.killFor(fmt.Sprintf("it gave no sign of life for %v and was killed", c.o.Pulse))
			return
		}
		select {
		case <-tick.C:
		case <-c.done:
			return
		}
		c.proc.reap()
		trimLog(c.logPath())
	}
}

// Step brings GoNB's counter of cells to n, so that its traces name the cells as
// the front-end numbers them. It only counts upwards.
func (c *Child) Step(ctx context.Context, n int) error {
	for c.count < n {
		m := c.message("execute_request", map[string]any{"code": "", "silent": true, "store_history": true, "allow_stdin": false})
		if _, err := c.Do(ctx, m, nil, nil); err != nil {
			return err
		}
		c.count++
	}
	return nil
}

// Counted notes that a cell that is stored in the history was run.
func (c *Child) Counted() { c.count++ }

// Interrupt sends SIGINT to GoNB and what it runs. A signal that comes during a
// compilation is lost, so it has to be repeated.
func (c *Child) Interrupt() { c.proc.interrupt() }

// Kill ends GoNB at once.
func (c *Child) Kill() {
	c.notePipes(children(c.PID()))
	c.proc.kill()
}

func (c *Child) killFor(reason string) {
	c.mu.Lock()
	c.killed = reason
	c.mu.Unlock()
	c.Kill()
}

// Check ends a GoNB whose files have been removed, as what cleans temporary folders does in time: it could run no
// program any more.
func (c *Child) Check() {
	c.mu.Lock()
	tmp := c.tmp
	c.mu.Unlock()
	if tmp == "" {
		return
	}
	if _, err := os.Stat(filepath.Join(tmp, "go.mod")); errors.Is(err, os.ErrNotExist) {
		c.killFor("its temporary files have been removed, without which it cannot go on")
		<-c.done
	}
}

// Moment is a point in time, and what cells had left running by then.
type Moment struct {
	at      time.Time
	orphans []int
}

// Now returns the present moment.
func Now() Moment { return Moment{time.Now(), children(os.Getpid())} }

// KillSince kills what was started since a moment and is not GoNB itself nor what that needs; of these only what has
// lost its parent, if that is asked for.
func (c *Child) KillSince(m Moment, orphans bool) { c.proc.killSince(c.mark, m, orphans) }

// watch waits for the end of GoNB and cleans up.
func (c *Child) watch() {
	state := c.proc.wait()
	c.notePipes(marked(c.mark)) // a program may outlive it
	c.proc.sweep(c.mark)
	said := lastFailure(c.logPath())
	c.cleanUp()
	c.mu.Lock()
	killed := c.killed
	c.mu.Unlock()
	switch {
	case killed != "":
		c.err = fmt.Errorf("%w: %s", ErrDied, killed)
	case said != "":
		c.err = fmt.Errorf("%w (%s): %s", ErrDied, state, said)
	default:
		c.err = fmt.Errorf("%w (%s)", ErrDied, state)
	}
	close(c.done)
}

// cleanUp removes the files and closes the connections.
func (c *Child) cleanUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	for _, conn := range c.opened {
		conn.Close()
	}
	c.removePipes()
	_ = c.folder.Remove() // or the next kernel removes it
	if c.tmp != "" {
		os.RemoveAll(c.tmp)
	}
	if c.guard != nil {
		c.guard.stop()
		c.guard = nil
	}
}

// Stop ends GoNB, politely for a second and a half, and returns when it and everything
// it left is gone.
func (c *Child) Stop() {
	if c.proc == nil {
		c.cleanUp()
		return
	}
	c.proc.terminate()
	select {
	case <-c.done:
		return
	case <-time.After(1500 * time.Millisecond):
	}
	c.Kill()
	<-c.done
}
