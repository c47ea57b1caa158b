package repl

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/chzyer/readline"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/modellog/modellog/lang"
)

// editor edits lines on a terminal with chzyer/readline.
type editor struct {
	line    *readline.Instance
	keys    *keys
	tty     *tty
	session *lang.Session
	history *history
	out     *os.File

	resized atomic.Bool
	onWidth func()

	mu     sync.Mutex
	prompt string
	before string // the statement's lines before this one
}

func newEditor(in, out *os.File, session *lang.Session, h *history) (*editor, error) {
	e := &editor{session: session, history: h, out: out}
	var err error
	if e.keys, err = newKeys(in, e.suspend); err != nil {
		return nil, err
	}
	if e.tty, err = openTTY(in, out); err != nil {
		return nil, err
	}
	e.line, err = readline.NewEx(&readline.Config{
		Stdin:  e.keys,
		Stdout: out,
		Stderr: out,

		FuncIsTerminal:      func() bool { return true },
		FuncMakeRaw:         func() error { return e.tty.edit(true) },
		FuncExitRaw:         func() error { return e.tty.edit(false) },
		FuncGetWidth:        e.width,
		FuncOnWidthChanged:  func(f func()) { e.onWidth = f },
		FuncFilterInputRune: e.filter,
		Painter:             painter{},
		Listener:            e,
		AutoComplete:        noCompleter{}, // OnChange completes

		DisableAutoSaveHistory: true,
		HistoryLimit:           maxHistory + 2,
		InterruptPrompt:        "^C",
		EOFPrompt:              "\n", // means none
	})
	if err != nil {
		e.tty.Close()
		return nil, err
	}
	return e, nil
}

func (e *editor) width() int {
	if width, _, err := term.GetSize(int(e.out.Fd())); err == nil && width > 0 {
		return width
	}
	return 80
}

func (e *editor) ReadLine(prompt string) (string, bool, error) {
	e.mu.Lock()
	e.prompt = prompt
	if prompt != promptMore {
		e.before = ""
	}
	e.mu.Unlock()
	e.recall()
	e.line.SetPrompt(prompt)

	line, err := e.line.Readline()
	line = original(line)
	tooLong, pasted := e.keys.LineEnd()
	switch {
	case e.keys.Ended():
		return "", false, io.EOF
	case err == readline.ErrInterrupt:
		return line, false, errInterrupted
	case err != nil:
		return "", false, err
	case tooLong:
		e.keys.resetLine()
		return "", pasted, errTooLong
	}
	e.mu.Lock()
	e.before += line + "\n"
	e.mu.Unlock()
	return line, pasted, nil
}

// recall gives readline the history as it is, because readline's own would take the last
// line of a statement for all of it. Readline needs one entry at least: its search
// fails on none.
func (e *editor) recall() {
	e.line.ResetHistory()
	e.line.SaveHistory("")
	for _, s := range e.history.entries {
		e.line.SaveHistory(s)
	}
}

func (e *editor) Interrupt()                { e.keys.Interrupt() }
func (e *editor) Leave()                    { e.keys.Close() }
func (e *editor) Flush()                    { e.keys.Flush() }
func (e *editor) Remember(statement string) { e.history.Add(statement) }

// Close gives the terminal back.
func (e *editor) Close() error {
	e.keys.Close()
	closed := make(chan struct{})
	go func() {
		e.line.Close()
		e.keys.free()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Second):
	}
	return e.tty.Close()
}

// suspend gives the terminal back and stops the job that this process belongs
// to, as the terminal itself does at Ctrl-Z; the kernel ignores it where no shell could go
// on with the job.
func (e *editor) suspend() {
	e.tty.release()
	syscall.Kill(0, syscall.SIGTSTP)
	time.Sleep(20 * time.Millisecond) // another thread may take the signal
	e.resume()
}

// resume takes the terminal again. Whoever had it meanwhile may have changed its
// mode.
func (e *editor) resume() {
	e.tty.acquire()
	e.line.Refresh()
}

// filter is called in readline's own goroutine before each key.
func (e *editor) filter(r rune) (rune, bool) {
	if e.resized.Swap(false) {
		e.onWidth()
	}
	if (r == keyPaste || r == keyDelete) && e.line.Operation.IsSearchMode() {
		e.line.Operation.ExitSearchMode(false)
	}
	return r, true
}

// OnChange is called in readline's own goroutine after each key.
func (e *editor) OnChange(line []rune, pos int, key rune) ([]rune, int, bool) {
	switch key {
	case keyPaste, keyDelete:
		if pos == 0 || line[pos-1] != key {
			return nil, 0, false
		}
		var text []rune
		end := pos
		if key == keyPaste {
			text = []rune(e.keys.takePasted())
		} else if end < len(line) {
			end++
		}
		return slices.Concat(line[:pos-1], text, line[end:]), pos - 1 + len(text), true
	case readline.CharTab:
		return e.complete(line, pos)
	}
	return nil, 0, false
}

type noCompleter struct{}

func (noCompleter) Do([]rune, int) ([][]rune, int) { return nil, 0 }

// complete completes the word at pos as far as its candidates agree, or lists
// them where they agree no further.
func (e *editor) complete(line []rune, pos int) ([]rune, int, bool) {
	e.mu.Lock()
	before, prompt := e.before, e.prompt
	e.mu.Unlock()
	offset := utf8.RuneCountInString(before)
	start, candidates := e.session.Complete(before+string(line), offset+pos)
	if start -= offset; start < 0 || start > pos || len(candidates) == 0 {
		e.line.Terminal.Bell()
		return nil, 0, false
	}
	texts := make([]string, len(candidates))
	for i, c := range candidates {
		texts[i] = c.Text
	}
	common := []rune(commonPrefix(texts))
	if typed := line[start:pos]; len(common) > len(typed) || len(candidates) == 1 && !slices.Equal(common, typed) {
		return slices.Concat(line[:start], common, line[pos:]), start + len(common), true
	}
	if len(candidates) == 1 {
		e.line.Terminal.Bell()
		return nil, 0, false
	}
	width, height := e.width(), 24
	if _, h, err := term.GetSize(int(e.out.Fd())); err == nil && h > 0 {
		height = h
	}
	// The line stays above the list; readline shows it again below.
	fmt.Fprintf(e.line.Stdout(), "%s%s\n%s", prompt, string(visible(line)), columns(texts, width, max(height-3, 1)))
	return nil, 0, false
}

func commonPrefix(texts []string) string {
	prefix := []rune(texts[0])
	for _, t := range texts[1:] {
		n := 0
		for _, r := range t {
			if n == len(prefix) || prefix[n] != r {
				break
			}
			n++
		}
		prefix = prefix[:n]
	}
	return string(prefix)
}

// columns sets texts in columns, read downwards, of at most so many rows.
func columns(texts []string, width, rows int) string {
	cell := 0
	for _, t := range texts {
		cell = max(cell, min(runewidth.StringWidth(t), width-1)+2)
	}
	across := max(1, (width+1)/cell)
	down := (len(texts) + across - 1) / across
	left := 0
	if down > rows {
		down = rows
		left = len(texts) - down*across
		texts = texts[:down*across]
	}
	var b strings.Builder
	for row := range down {
		var line strings.Builder
		for i := row; i < len(texts); i += down {
			t := runewidth.Truncate(texts[i], width-1, "…")
			line.WriteString(runewidth.FillRight(t, cell))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(&b, "… and %d more\n", left)
	}
	return b.String()
}

// painter shows a line. Readline moves the cursor back by one column for each
// character after it; painter adds what is missing for those of another width.
type painter struct{}

func (painter) Paint(line []rune, pos int) []rune {
	shown := visible(line)
	back := 0
	for _, r := range shown[min(pos, len(shown)):] {
		switch w := runewidth.RuneWidth(r); {
		case r == '\t':
			back += readline.TabWidth - 1
		case r != '\n':
			back += w - 1
		}
	}
	for ; back > 0; back-- {
		shown = append(shown, '\b')
	}
	if back < 0 {
		shown = append(shown, []rune(fmt.Sprintf("\x1b[%dC", -back))...)
	}
	return shown
}

// visible replaces what a terminal would not show or would obey.
func visible(line []rune) []rune {
	shown := make([]rune, len(line))
	for i, r := range line {
		switch {
		case r == keyPaste || r == keyDelete:
			r = ' ' // for a moment
		case r == badByte:
			r = utf8.RuneError
		case r == badNUL:
			r = '␀'
		case r < ' ' && r != '\n' && r != '\t' || r == del || r >= 0x80 && r < 0xa0:
			r = '·'
		}
		shown[i] = r
	}
	return shown
}
