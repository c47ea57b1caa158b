package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/modellog/modellog/kernel/gonb"
	"github.com/modellog/modellog/kernel/wire"
)

// goMark is the line that makes a cell a Go cell.
const goMark = "%%go"

// helpersVariable tells goimports, see kernel/install/goimports, which modules cells can import.
const helpersVariable = "MODELLOG_GO_WORK"

// GoOptions say how Go cells are run.
type GoOptions struct {
	ToolsDir string   // where gonb, goimports and gopls are; PATH is searched for gonb, too
	Work     []string // folders of modules that cells can import as they are
	Dir      string   // working directory of cells; the kernel's own for ""
	Env      []string // additions to the environment of cells, KEY=VALUE
	Log      *os.File // what GoNB logs; nil for nowhere
}

// isGo reports whether a cell is a Go cell: its first line that is not blank is
// %%go.
func isGo(code string) bool { return firstLine(code) == goMark }

// firstLine is a cell's first line that is not blank, without the blanks around it.
func firstLine(code string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
	return strings.TrimSpace(line)
}

// besideGo returns what follows %%go in its line, which is a mistake, in a cell that is meant to be a Go cell.
func besideGo(code string) (string, bool) {
	after, ok := strings.CutPrefix(firstLine(code), goMark)
	if trimmed := strings.TrimSpace(after); ok && trimmed != after {
		return trimmed, true
	}
	return "", false
}

// special are the lines that GoNB wants at the very beginning of a cell.
var special = []string{"%%writefile", "%%script", "%%bash", "%%sh", "%%gx"}

// forGoNB is a Go cell as GoNB is to see it: blanks in place of the first line, or
// nothing in its place before what must come first. Lines end as on Unix: to GoNB, a carriage return is a part of its
// own commands.
func forGoNB(code string) string {
	code = strings.ReplaceAll(code, "\r\n", "\n")
	at := strings.Index(code, goMark)
	after := at + len(goMark)
	if _, rest, ok := strings.Cut(code[after:], "\n"); ok {
		first, _, _ := strings.Cut(rest, "\n")
		word, _, _ := strings.Cut(strings.TrimPrefix(first, "//gonb:"), " ")
		for _, s := range special {
			if word == s {
				return rest
			}
		}
	}
	return code[:at] + strings.Repeat(" ", len(goMark)) + code[after:]
}

// goCells runs Go cells in a GoNB, which it starts as need be.
type goCells struct {
	k     *Kernel
	serve io.Closer // the socket for programs in Go cells
	env   []string

	starting sync.Mutex // held while a child is started

	mu     sync.Mutex
	child  *gonb.Child       // the one that was started last, living or dead
	told   bool              // that the last one died has been said
	asked  time.Time         // since when a program waits for input; zero where none does
	comms  map[string]string // comm id → target name, of open ones
	closed bool
}

// errNoGo says what is missing for Go cells.
type errNoGo struct{ msg string }

func (e *errNoGo) Error() string { return e.msg }

// binary finds gonb.
func (o *GoOptions) binary() (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", &errNoGo{"a Go cell needs Go, and there is no go in PATH; get it from https://go.dev/dl. Cells without %%go do not need it"}
	}
	if o.ToolsDir != "" {
		path := filepath.Join(o.ToolsDir, "gonb")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	if path, err := exec.LookPath("gonb"); err == nil {
		return path, nil
	}
	return "", &errNoGo{"a Go cell needs GoNB, which is not installed; run: modellog kernel install. Cells without %%go do not need it"}
}

// start prepares for Go cells and starts GoNB in the background.
func (g *goCells) start() error {
	k := g.k
	var err error
	if g.serve, g.env, err = k.serveSession(); err != nil {
		return err
	}
	if err := gonb.AdoptOrphans(); err != nil {
		k.logf("adopting orphans: %v", err)
	}
	go func() {
		var missing *errNoGo
		if _, err := g.living(k.ctx); err != nil && !errors.As(err, &missing) && k.ctx.Err() == nil {
			k.logf("%v", err)
		}
	}()
	return nil
}

// living returns a GoNB that runs; it starts one if there is none.
func (g *goCells) living(ctx context.Context) (*gonb.Child, error) {
	g.starting.Lock()
	defer g.starting.Unlock()
	if c := g.current(); c != nil {
		return c, nil
	}
	o := g.k.o.Go
	binary, err := o.binary()
	if err != nil {
		return nil, err
	}
	c, err := gonb.Start(ctx, gonb.Options{
		Binary: binary, ToolsDir: o.ToolsDir, Dir: o.Dir, Work: o.Work,
		Env: append(slices.Concat(o.Env, g.env), helpersVariable+"="+strings.Join(o.Work, string(filepath.ListSeparator))), ID: g.k.o.ID, Log: o.Log, Stray: g.stray,
	})
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		go c.Stop()
		return nil, errShutdown
	}
	g.child, g.told = c, false
	return c, nil
}

// current returns the GoNB that runs, or nil.
func (g *goCells) current() *gonb.Child {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.child == nil {
		return nil
	}
	select {
	case <-g.child.Done():
		return nil
	default:
		return g.child
	}
}

// lost returns why the last GoNB ended, once, if it did so between two cells.
func (g *goCells) lost() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.child == nil || g.told {
		return nil
	}
	select {
	case <-g.child.Done():
		g.told = true
		g.comms = map[string]string{}
		return g.child.Err()
	default:
		return nil
	}
}

// close ends GoNB and the socket.
func (g *goCells) close() {
	g.mu.Lock()
	g.closed = true
	c := g.child
	g.mu.Unlock()
	if c != nil {
		c.Stop()
	}
	// One that is being started is stopped by its starter.
	g.starting.Lock()
	defer g.starting.Unlock()
	if err := g.serve.Close(); err != nil {
		g.k.logf("closing the session's socket: %v", err)
	}
}

// relayed publishes what GoNB has published, as the kernel's own.
func (g *goCells) relayed(c *cell, m *wire.Message) {
	g.note(m)
	c.goErrors.note(m)
	if c.silent {
		return
	}
	if m.Header.MsgType == "error" {
		content := map[string]any{}
		if json.Unmarshal(m.Content, &content) == nil {
			c.goErrors.into(content)
			out := *m
			out.Content = encodeJSON(content)
			m = &out
		}
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	c.out.flush()
	g.forward(m, c.request.RawHeader)
}

func (g *goCells) forward(m *wire.Message, parent json.RawMessage) {
	g.k.broadcast(&wire.Message{
		Identities: [][]byte{[]byte("kernel." + g.k.id + "." + m.Header.MsgType)},
		Header:     wire.NewHeader(g.k.id, m.Header.MsgType),
		Parent:     parent, Metadata: m.Metadata, Content: m.Content, Buffers: m.Buffers,
	})
}

// stray publishes what GoNB publishes outside of a cell.
func (g *goCells) stray(m *wire.Message) {
	g.note(m)
	g.forward(m, m.Parent)
}

// note keeps track of open comms.
func (g *goCells) note(m *wire.Message) {
	switch m.Header.MsgType {
	case "comm_open", "comm_close":
	default:
		return
	}
	var content struct {
		ID     string `json:"comm_id"`
		Target string `json:"target_name"`
	}
	if json.Unmarshal(m.Content, &content) != nil || content.ID == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	const maxComms = 10_000
	if m.Header.MsgType == "comm_close" {
		delete(g.comms, content.ID)
	} else if len(g.comms) < maxComms {
		g.comms[content.ID] = content.Target
	}
}

// comm passes on a widget's message. Without a GoNB there is nobody to open a comm
// with, which the front-end is told.
func (g *goCells) comm(m *wire.Message) {
	if c := g.current(); c != nil {
		g.note(m)
		if err := c.Send(gonb.Shell, m); err == nil {
			return
		}
	}
	if m.Header.MsgType == "comm_open" {
		var content struct {
			ID string `json:"comm_id"`
		}
		if json.Unmarshal(m.Content, &content) == nil {
			g.k.publish(m, "comm_close", map[string]any{"comm_id": content.ID, "data": map[string]any{}})
		}
	}
}

// commInfo is the content of a comm_info_reply.
func (g *goCells) commInfo(m *wire.Message) map[string]any {
	var r struct {
		Target string `json:"target_name"`
	}
	// Without a target all are listed.
	_ = json.Unmarshal(m.Content, &r)
	g.mu.Lock()
	defer g.mu.Unlock()
	comms := map[string]any{}
	for id, target := range g.comms {
		if r.Target == "" || r.Target == target {
			comms[id] = map[string]any{"target_name": target}
		}
	}
	return map[string]any{"status": "ok", "comms": comms}
}

// run runs a Go cell. It returns the content of the reply; a failure without content has
// not been published yet.
func (g *goCells) run(c *cell, m *wire.Message, code string, store bool) (map[string]any, *failure) {
	fail := func(name string, err error) (map[string]any, *failure) {
		if c.ctx.Err() != nil {
			cause := context.Cause(c.ctx)
			name, err = "Interrupted", cause
		}
		return nil, &failure{name, err.Error(), strings.Split(err.Error(), "\n")}
	}
	before := c.count
	if store {
		before--
	}
	request, err := gonb.Complete(m, map[string]any{"code": forGoNB(code), "store_history": store, "silent": c.silent, "allow_stdin": c.allowStdin})
	if err != nil {
		return fail("ProtocolError", err)
	}

	if child := g.current(); child != nil {
		child.Check()
	}
	var child *gonb.Child
	var reply *wire.Message
	refused := false
	for attempt := 0; ; attempt++ {
		if err := g.lost(); err != nil {
			c.out.stream("stderr", fmt.Sprintf("%v; it starts anew, what Go cells had declared is lost\n", err))
		}
		if child, err = g.living(c.ctx); err != nil {
			return fail("GoError", err)
		}
		if err = child.Step(c.ctx, before); err != nil && (!errors.Is(err, gonb.ErrDied) || attempt > 0) {
			return fail("GoError", err)
		}
		if err == nil {
			if reply, refused, err = g.do(c, child, request); !errors.Is(err, gonb.ErrUnheard) || attempt > 0 || c.ctx.Err() != nil {
				break
			}
		}
		select { // it was dying when the cell came, which another can run
		case <-child.Done():
		case <-c.ctx.Done():
			return fail("GoError", err)
		}
	}
	g.mu.Lock()
	g.asked = time.Time{}
	g.mu.Unlock()
	if err != nil {
		g.mu.Lock()
		g.told = true
		g.comms = map[string]string{}
		g.mu.Unlock()
		return nil, &failure{"GoError", fmt.Sprintf("%v; the next Go cell starts it anew, what Go cells had declared is lost", err),
			[]string{err.Error(), "The next Go cell starts it anew; what Go cells had declared is lost. Other cells and their names are not touched."}}
	}
	if store {
		child.Counted()
	}
	if refused {
		why := context.Cause(c.ctx).Error()
		return nil, &failure{"InputError", why, []string{why}}
	}
	content := map[string]any{}
	if err := json.Unmarshal(reply.Content, &content); err != nil {
		return fail("GoError", fmt.Errorf("reading GoNB's reply: %w", err))
	}
	content["payload"] = []any{}
	if content["status"] == "ok" {
		content["user_expressions"] = map[string]any{}
		if c.ctx.Err() != nil {
			// A cell may end well in spite of it, as after `!sleep`.
			return fail("", nil)
		}
		return content, nil
	}
	c.goErrors.into(content)
	f := &failure{Name: "GoError", Traceback: []string{}}
	if err := json.Unmarshal(encodeJSON(content), f); err != nil {
		return fail("GoError", fmt.Errorf("reading GoNB's reply: %w", err))
	}
	return content, f
}

// do has a GoNB run a cell, and interrupts it when the cell is. It reports whether input was refused to it.
func (g *goCells) do(c *cell, child *gonb.Child, request *wire.Message) (reply *wire.Message, refused bool, err error) {
	// A signal is lost on a compilation that is about to start its program,
	// so it is repeated until the cell is over.
	begin, over, quiet := gonb.Now(), make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(c.ctx, func() { defer close(quiet); g.interrupt(child, begin, over) })
	defer func() {
		close(over)
		if !stop() {
			// GoNB may be about to handle the last one, which is not for the next cell.
			<-quiet
			time.Sleep(settle)
		}
	}()
	reply, err = child.Do(context.Background(), request,
		func(out *wire.Message) { g.relayed(c, out) },
		func(ask *wire.Message) {
			if !c.allowStdin {
				refused = c.ctx.Err() == nil
				c.cancel(errors.New("the program asks for input, and this front-end gives none (allow_stdin is false)"))
				return
			}
			g.ask(c, ask)
		})
	return reply, refused, err
}

// interrupt sends signals until a cell is over that began at a moment. What a shell has left in the background does not
// heed them, and GoNB waits for it: it is killed, and in the end so is a GoNB that does not stop.
func (g *goCells) interrupt(child *gonb.Child, began gonb.Moment, over <-chan struct{}) {
	const (
		again   = 200 * time.Millisecond
		orphans = time.Second             // until what has lost its parent is killed
		all     = 6500 * time.Millisecond // until the rest is; GoNB itself kills a program after 5 s
		several = 8 * time.Second         // until GoNB is
	)
	begin := time.Now()
	for {
		child.Interrupt()
		select {
		case <-over:
			return
		case <-child.Done():
			return
		case <-time.After(again):
		}
		switch d := time.Since(begin); {
		case d > several:
			child.Kill()
			return
		case d > orphans:
			child.KillSince(began, d < all)
		}
	}
}

// ask passes on that a program wants input.
func (g *goCells) ask(c *cell, m *wire.Message) {
	g.mu.Lock()
	g.asked = time.Now()
	g.mu.Unlock()
	err := g.k.sockets.Stdin.Send(g.k.encode(&wire.Message{
		Identities: c.request.Identities,
		Header:     wire.NewHeader(g.k.id, "input_request"),
		Parent:     c.request.RawHeader, Metadata: m.Metadata, Content: m.Content,
	}))
	if err != nil {
		c.cancel(fmt.Errorf("the program asks for input, and the front-end cannot be asked: %w", err))
	}
}

// settle is how long GoNB may need to handle a signal, and after it has asked to be ready for an answer: one that
// comes sooner, which no user can type but a program may send, is lost.
const settle = 100 * time.Millisecond

// typed passes on what the user typed.
func (g *goCells) typed(m *wire.Message) {
	g.mu.Lock()
	asked := g.asked
	g.asked = time.Time{}
	g.mu.Unlock()
	child := g.current()
	if asked.IsZero() || child == nil {
		return
	}
	time.Sleep(time.Until(asked.Add(settle)))
	request, err := gonb.Complete(m, nil)
	if err == nil {
		err = child.Send(gonb.Stdin, request)
	}
	if err != nil {
		g.k.logf("passing on input: %v", err)
	}
}

// Completion and inspection in Go cells.
const (
	// young is how old GoNB must be: before, a question waits for it to find its
	// language server, and all cells after the question wait, too.
	young = 12500 * time.Millisecond
	// answerTime is how long an answer is waited for.
	answerTime = 3 * time.Second
)

// question asks GoNB about a place in a Go cell as GoNB is to see it.
func (g *goCells) question(m *wire.Message, runes []rune, pos int) (map[string]any, []rune) {
	child := g.current()
	if child == nil || child.Age() < young || child.Waiting() {
		return nil, nil
	}
	// GoNB's own count of columns goes wrong after a character that is not
	// ASCII. What is left of the name at the cursor is there for the syntax only.
	if pos > len(runes) {
		return nil, nil
	}
	runes = slices.Clone(runes)
	word := pos
	for word > 0 && inGoName(runes[word-1]) {
		word--
	}
	for i := word - 1; i >= 0 && runes[i] != '\n'; i-- {
		if runes[i] > unicode.MaxASCII {
			runes[i] = 'x'
		}
	}
	request, err := gonb.Complete(m, map[string]any{
		"code": string(runes), "cursor_pos": len(utf16.Encode(runes[:pos])),
	})
	if err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(g.k.ctx, answerTime)
	defer cancel()
	reply, err := child.Do(ctx, request, nil, nil)
	if err != nil {
		return nil, nil
	}
	answer := map[string]any{}
	if json.Unmarshal(reply.Content, &answer) != nil {
		return nil, nil
	}
	return answer, runes
}

// complete is the content of the complete_reply for a Go cell.
func (g *goCells) complete(m *wire.Message, runes []rune, pos int) map[string]any {
	answer := map[string]any{
		"status": "ok", "matches": []any{}, "cursor_start": pos, "cursor_end": pos, "metadata": map[string]any{},
	}
	unix := onUnix(runes, pos)
	got, asked := g.question(m, []rune(forGoNB(string(runes))), unix)
	matches, _ := got["matches"].([]any)
	start, ok := got["cursor_start"].(float64)
	if len(matches) == 0 || !ok {
		return answer
	}
	answer["matches"] = matches
	// The name that is completed is all in the cursor's line, so it is as long in the front-end's cell.
	answer["cursor_start"] = pos - max(unix-fromUTF16(asked, int(start)), 0)
	return answer
}

// onUnix is where a position in a cell is when its lines end as on Unix.
func onUnix(runes []rune, pos int) int {
	returns := 0
	for i := range pos {
		if runes[i] == '\r' && i+1 < len(runes) && runes[i+1] == '\n' {
			returns++
		}
	}
	return pos - returns
}

// fromUTF16 converts a count of UTF-16 units to one of code points.
func fromUTF16(runes []rune, units int) int {
	for i, r := range runes {
		if units <= 0 {
			return i
		}
		units -= utf16.RuneLen(r)
	}
	return len(runes)
}

// inspect is the content of the inspect_reply for a Go cell.
func (g *goCells) inspect(m *wire.Message, runes []rune, pos int) map[string]any {
	answer := map[string]any{"status": "ok", "found": false, "data": map[string]any{}, "metadata": map[string]any{}}
	// GoNB itself looks for a name before the cursor, for ever where there is none.
	unix := []rune(forGoNB(string(runes)))
	at, ok := goName(unix, onUnix(runes, pos))
	if !ok {
		return answer
	}
	got, _ := g.question(m, unix, at)
	// Documentation is Markdown. Plain text is why there is none, such as that gopls has gone.
	if data, _ := got["data"].(map[string]any); data["text/markdown"] != nil && data["text/markdown"] != "" {
		answer["found"], answer["data"] = true, data
	}
	return answer
}

func inGoName(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// goName returns where the name at a position, or just before it, begins; inside of a call's parentheses, and
// not on a name, that is the function's.
func goName(runes []rune, pos int) (int, bool) {
	pos = min(pos, len(runes))
	start := func(end int) int {
		for end > 0 && inGoName(runes[end-1]) {
			end--
		}
		return end
	}
	if at := start(pos); at < len(runes) && inGoName(runes[at]) {
		return at, true
	}
	depth := 0
	for i := pos - 1; i >= 0; i-- {
		switch runes[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth >= 0 {
				continue
			}
			at := start(i)
			return at, at < i
		}
	}
	return 0, false
}
