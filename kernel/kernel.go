// Package kernel is the Jupyter kernel: a front-end's requests on one side, a
// session of the constraint language and, for Go cells, GoNB on the other.
//
// # Cells
//
// A cell is a program of the constraint language. It is evaluated in this
// process, whose model stays loaded and whose names stay defined from one cell
// to the next. Each result is shown as soon as it is there: as the text that the
// REPL prints, and as HTML, LaTeX or SVG where it has these forms. The last
// result of a cell is its execute_result, those before it are display_data.
//
// A mistake is a Jupyter error with the language's message, the line, and
// carets. What the same front-end has queued after a cell that failed, or was
// interrupted, is not run, unless it asked otherwise (stop_on_error).
//
// A cell whose first line is %%go is a Go cell. It goes to GoNB (package
// [github.com/modellog/modellog/kernel/gonb]), which sees a line of blanks in that line's place, so
// that lines and columns in messages are those of the cell. The front-end sees one
// kernel with one count of cells. Before %%bash, %%script, %%writefile and %%gx,
// which have to come first, the line is taken out instead. GoNB starts in the background
// with the kernel. Where it is missing, Go cells say what to do and all else
// works; when it dies, that is the error of the Go cell that was running, and the next
// starts it anew. One that came too late for the dead GoNB, or whose GoNB has lost its temporary files, is run by
// a new one at once, and says that what was declared is lost.
//
// A program in a Go cell reaches the session over a private socket, see
// package [github.com/modellog/modellog/kernel/connect]. The names of modellog's root package are at hand
// there, with or without an import of it by the point, see kernel/install/goimports.
//
// # Requests
//
// Requests on the shell socket are answered in turn, each between busy and idle; what
// belongs to a request is published before its reply, and idle comes last. Control
// requests and messages of widgets are answered at once, also while a cell runs.
//
// A front-end that reads more slowly than a program writes gets all but the output that it has no time for, and is
// told so at the end of the cell.
//
// A statement or Go cell that is interrupted, by message or SIGINT, stops within a second; the
// session stays. A Go program that ignores the signal has five seconds more; what a shell command has left in the
// background, and the cell waits for, has one. SIGTERM and SIGHUP shut down in order, and so does the death
// of the process that started the kernel.
package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
)

// Options are what a kernel needs.
type Options struct {
	Connection wire.Connection
	ID         string    // Jupyter's id of the kernel, from the connection file's name; one is made up for ""
	Version    string    // of modellog
	Go         GoOptions // how Go cells are run
	Log        io.Writer // what goes wrong without concerning a cell; nil for nowhere
}

// Kernel answers a front-end's requests.
type Kernel struct {
	o       Options
	id      string // the session of the kernel's own messages
	signer  *wire.Signer
	sockets *wire.Sockets
	session *lang.Session
	goCells *goCells

	ctx  context.Context // done when the kernel shuts down
	stop context.CancelCauseFunc

	evaluating sync.Mutex // held while the session evaluates

	queue queue // requests of the shell socket
	count int   // of cells that are stored in the history
	past  history

	mu      sync.Mutex
	running *cell         // the cell that runs, if any
	handled *wire.Message // the shell request that is being answered, if any
	held    []string      // warnings that no cell was there for
}

// errInterrupted is why a cell ends when it is interrupted, errShutdown why it
// ends with the kernel.
var (
	errInterrupted = errors.New("interrupted")
	errShutdown    = errors.New("the kernel shuts down")
)

// New opens the kernel's sockets. [Kernel.Run] answers what comes.
func New(o Options) (*Kernel, error) {
	if o.ID == "" {
		o.ID = wire.NewID()
	}
	k := &Kernel{o: o, id: wire.NewID(), signer: wire.NewSigner(o.Connection.Key)}
	k.ctx, k.stop = context.WithCancelCause(context.Background())
	k.queue.init()
	k.goCells = &goCells{k: k, comms: map[string]string{}}
	var err error
	if k.sockets, err = wire.Listen(o.Connection, k.welcome); err != nil {
		return nil, err
	}
	return k, nil
}

// Run answers requests until the kernel is told to shut down, which is no
// error, or ctx ends. It handles SIGINT, SIGTERM and SIGHUP meanwhile.
//
// The session is evaluated by this kernel alone from now on. Its Progress and
// Warn should be the kernel's.
func (k *Kernel) Run(ctx context.Context, session *lang.Session) error {
	k.session = session
	defer k.stop(errShutdown)
	defer context.AfterFunc(ctx, func() { k.stop(context.Cause(ctx)) })()
	defer k.handleSignals()()
	defer k.watchParent()()
	if err := k.goCells.start(); err != nil {
		return errors.Join(err, k.sockets.Close())
	}

	k.publish(nil, "status", map[string]any{"execution_state": "starting"})
	var wg sync.WaitGroup
	wg.Go(k.readShell)
	wg.Go(k.readControl)
	wg.Go(k.readStdin)
	wg.Go(k.answerShell)
	<-k.ctx.Done()

	k.interruptWith(context.Cause(k.ctx))
	k.queue.close()
	// GoNB goes away while what it runs is waited for.
	k.goCells.close()
	stopped := make(chan struct{})
	go func() { wg.Wait(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(2 * time.Second):
		k.logf("a statement does not stop; leaving it")
	}
	if err := k.sockets.Close(); err != nil {
		k.logf("closing the sockets: %v", err)
	}
	if cause := context.Cause(k.ctx); !errors.Is(cause, errShutdown) && ctx.Err() != nil {
		return cause
	}
	return nil
}

func (k *Kernel) logf(format string, args ...any) {
	if k.o.Log != nil {
		fmt.Fprintf(k.o.Log, "kernel: "+format+"\n", args...)
	}
}

// encode signs a message and returns its frames.
func (k *Kernel) encode(m *wire.Message) [][]byte {
	frames, err := k.signer.Encode(m)
	if err != nil {
		// Headers are strings, and all other parts are JSON already.
		panic(err)
	}
	return frames
}

// publish sends a message to all front-ends. The parent is the request that it belongs
// to, or nil.
func (k *Kernel) publish(parent *wire.Message, msgType string, content any) {
	m := &wire.Message{
		Identities: [][]byte{[]byte("kernel." + k.id + "." + msgType)},
		Header:     wire.NewHeader(k.id, msgType),
		Content:    encodeJSON(content),
	}
	if parent != nil {
		m.Parent = parent.RawHeader
	}
	k.broadcast(m)
}

// broadcast sends a message to all front-ends. What a program writes may be more than a front-end can take; then that
// is left out, and nothing else.
func (k *Kernel) broadcast(m *wire.Message) {
	if m.Header.MsgType == "stream" {
		k.sockets.IOPub.SendLossy(k.encode(m))
	} else {
		k.sockets.IOPub.Send(k.encode(m))
	}
}

// welcome is what a new subscriber gets first, so that it knows that it will
// miss nothing from now on.
func (k *Kernel) welcome(topic string) [][]byte {
	return k.encode(&wire.Message{
		Identities: [][]byte{[]byte(topic)},
		Header:     wire.NewHeader(k.id, "iopub_welcome"),
		Content:    encodeJSON(map[string]any{"subscription": topic}),
	})
}

// router is a socket that replies go to.
type router interface{ Send([][]byte) error }

// reply answers a request. A front-end that has gone away gets no answer.
func (k *Kernel) reply(to router, request *wire.Message, msgType string, content any) {
	err := to.Send(k.encode(&wire.Message{
		Identities: request.Identities,
		Header:     wire.NewHeader(k.id, msgType),
		Parent:     request.RawHeader,
		Content:    encodeJSON(content),
	}))
	if err != nil {
		k.logf("answering a %s: %v", request.Header.MsgType, err)
	}
}

// encodeJSON encodes what the kernel itself has put together.
func encodeJSON(content any) json.RawMessage {
	data, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("encoding a message: %v", err))
	}
	return data
}

// state publishes whether the kernel is busy with a request.
func (k *Kernel) state(m *wire.Message, state string) {
	k.publish(m, "status", map[string]any{"execution_state": state})
}

// busy has a request of the shell socket answered between busy and idle.
func (k *Kernel) busy(m *wire.Message, answer func()) {
	k.mu.Lock()
	k.handled = m
	k.state(m, "busy")
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		k.handled = nil
		k.state(m, "idle")
		k.mu.Unlock()
	}()
	answer()
}

// aside has a request answered that does not wait for its turn. Front-ends show
// the state that was published last, so after its idle the kernel says that it
// is still busy with what it was.
func (k *Kernel) aside(m *wire.Message, answer func()) {
	k.state(m, "busy")
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.state(m, "idle")
		if k.handled != nil {
			k.state(k.handled, "busy")
		}
	}()
	answer()
}

// receive returns the next message of a socket that is one. Others are dropped.
func (k *Kernel) receive(s interface {
	Recv(context.Context) ([][]byte, error)
}, name string) (*wire.Message, bool) {
	for {
		frames, err := s.Recv(k.ctx)
		if err != nil {
			return nil, false
		}
		m, err := k.signer.Decode(frames)
		if err != nil {
			k.logf("dropping what came on the %s socket: %v", name, err)
			continue
		}
		return m, true
	}
}

// readShell queues the requests of the shell socket. Messages of widgets do not
// wait: the cell that runs may be waiting for them.
func (k *Kernel) readShell() {
	for {
		m, ok := k.receive(k.sockets.Shell, "shell")
		if !ok {
			return
		}
		switch m.Header.MsgType {
		case "comm_open", "comm_msg", "comm_close":
			k.aside(m, func() { k.goCells.comm(m) })
		default:
			if !k.queue.put(m) {
				return
			}
		}
	}
}

// answerShell answers the requests of the shell socket in turn.
func (k *Kernel) answerShell() {
	for {
		j, ok := k.queue.take()
		if !ok {
			return
		}
		k.busy(j.m, func() { k.answer(j) })
	}
}

// answer answers a request. A fault of the kernel's own becomes an error reply.
func (k *Kernel) answer(j *job) {
	m := j.m
	defer func() {
		if fault := recover(); fault != nil {
			k.fault(m, fault)
		}
	}()
	switch m.Header.MsgType {
	case "execute_request":
		k.execute(j)
	case "complete_request":
		k.complete(m)
	case "inspect_request":
		k.inspect(m)
	case "is_complete_request":
		k.isComplete(m)
	case "history_request":
		k.reply(k.sockets.Shell, m, "history_reply", k.past.answer(m.Content))
	case "kernel_info_request":
		k.reply(k.sockets.Shell, m, "kernel_info_reply", k.info())
	case "comm_info_request":
		k.reply(k.sockets.Shell, m, "comm_info_reply", k.goCells.commInfo(m))
	case "shutdown_request":
		k.shutdown(k.sockets.Shell, m)
	default:
		k.logf("a %s, which this kernel does not know", m.Header.MsgType)
	}
}

// readControl answers the requests of the control socket.
func (k *Kernel) readControl() {
	for {
		m, ok := k.receive(k.sockets.Control, "control")
		if !ok {
			return
		}
		k.aside(m, func() {
			switch m.Header.MsgType {
			case "interrupt_request":
				k.interruptWith(errInterrupted)
				k.reply(k.sockets.Control, m, "interrupt_reply", map[string]any{"status": "ok"})
			case "shutdown_request":
				k.shutdown(k.sockets.Control, m)
			case "kernel_info_request":
				k.reply(k.sockets.Control, m, "kernel_info_reply", k.info())
			default:
				k.logf("a %s, which this kernel does not know", m.Header.MsgType)
			}
		})
	}
}

// readStdin passes on what the user typed. It belongs to the cell that runs,
// whatever it says.
func (k *Kernel) readStdin() {
	for {
		m, ok := k.receive(k.sockets.Stdin, "stdin")
		if !ok {
			return
		}
		if m.Header.MsgType == "input_reply" {
			k.goCells.typed(m)
		}
	}
}

// shutdown answers a shutdown_request and tells the kernel to end.
func (k *Kernel) shutdown(to router, m *wire.Message) {
	var content struct {
		Restart bool `json:"restart"`
	}
	// Without a readable content it is a plain shutdown.
	_ = json.Unmarshal(m.Content, &content)
	answer := map[string]any{"status": "ok", "restart": content.Restart}
	k.reply(to, m, "shutdown_reply", answer)
	k.publish(m, "shutdown_reply", answer)
	k.stop(errShutdown)
}

// interruptWith stops the cell that runs, if any.
func (k *Kernel) interruptWith(cause error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running != nil {
		k.running.cancel(cause)
	}
}

// fault tells the front-end of a fault in the kernel.
func (k *Kernel) fault(m *wire.Message, fault any) {
	k.logf("fault at a %s: %v\n%s", m.Header.MsgType, fault, stack())
	reply, ok := replyTypes[m.Header.MsgType]
	if !ok {
		return
	}
	k.reply(k.sockets.Shell, m, reply, failure{
		Name: "InternalError", Value: fmt.Sprintf("a fault of the kernel: %v; please report it", fault), Traceback: []string{},
	}.reply(k.count))
}

var replyTypes = map[string]string{
	"execute_request":     "execute_reply",
	"complete_request":    "complete_reply",
	"inspect_request":     "inspect_reply",
	"is_complete_request": "is_complete_reply",
	"history_request":     "history_reply",
	"kernel_info_request": "kernel_info_reply",
	"comm_info_request":   "comm_info_reply",
}
