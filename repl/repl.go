// Package repl is the constraint language at a terminal.
//
// A statement that is not finished at the line's end goes on at the prompt ". ";
// an empty line there gives it up, with the language's message about what is
// missing. (In pasted text an empty line is just that.) Each line that is
// pasted runs as if it had been typed. A mistake is shown with its place, and the
// session goes on.
//
// Tab completes names, functions, commands, model names and file paths as far as they agree,
// and lists the candidates where they do not.
//
// Ctrl-C at the prompt drops what has been typed, all lines of it, without
// running it. While a statement runs, Ctrl-C stops it and drops what was typed
// or pasted ahead; what it has printed and the session stay. Ctrl-D at an empty prompt
// leaves, as do exit, quit and %quit. SIGTERM, SIGHUP and Ctrl-\ while something runs
// leave too, and the terminal is as it was before. Ctrl-Z suspends.
//
// Statements are kept in a history file that several REPLs may share. A statement of several
// lines is recalled as one line.
//
// On a terminal that cannot move its cursor (TERM=dumb), or with output that
// goes elsewhere, lines are read as they are. Standard input is a terminal.
package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lang"
)

const (
	prompt     = "> "
	promptMore = ". "

	maxLine      = 32 << 10  // bytes of a line typed here
	maxStatement = 128 << 10 // bytes of all lines of a statement

	// grace is how long a statement may take to stop when the REPL is told
	// to leave.
	grace = 3 * time.Second
)

// Options are what a REPL needs.
type Options struct {
	Session *lang.Session
	Stdin   *os.File // os.Stdin for nil
	Stdout  *os.File // os.Stdout for nil
	Stderr  *os.File // os.Stderr for nil
	// History is the file that keeps what was typed between runs; with ""
	// nothing is kept. Its folder is made if need be.
	History string
	// Banner is the first line on a terminal; none for "".
	Banner string
	// Progress is the bar that the session's reports go to; it may be nil.
	Progress *progress.Bar
}

// errInterrupted is why a statement ends at Ctrl-C.
var errInterrupted = errors.New("interrupted")

// errTooLong is a line or a statement that nobody typed.
var errTooLong = fmt.Errorf("too long (over %d KB in a line or %d KB in a statement); put the program into a file and %%load it", maxLine>>10, maxStatement>>10)

// LeftError says that a signal ended the REPL.
type LeftError struct{ Signal os.Signal }

func (e *LeftError) Error() string { return "left at the signal: " + e.Signal.String() }

// lineReader reads lines at a prompt.
type lineReader interface {
	// ReadLine returns a line without its end, and whether text that was
	// pasted goes on after it. Its errors are errInterrupted, errTooLong, and
	// io.EOF where there is nothing more.
	ReadLine(prompt string) (line string, pasted bool, err error)
	// Interrupt makes ReadLine, which may run, return errInterrupted.
	Interrupt()
	// Leave makes ReadLine, which may run, return io.EOF from now on.
	Leave()
	// Flush forgets what was typed ahead.
	Flush()
	// Remember adds a statement to what can be recalled.
	Remember(statement string)
	Close() error
}

type repl struct {
	Options
	lines lineReader
	out   io.Writer // results
	err   io.Writer // messages
	left  chan os.Signal

	mu      sync.Mutex
	running context.CancelCauseFunc // of the statement that runs
	stops   int                     // how often it was told to stop
}

// Run reads statements and evaluates them until the user leaves, which is no
// error. It handles the signals SIGINT, SIGTERM, SIGHUP, SIGQUIT and those of job
// control meanwhile, so ctx should not end at SIGINT.
func Run(ctx context.Context, o Options) (err error) {
	orElse := func(f, other *os.File) *os.File {
		if f == nil {
			return other
		}
		return f
	}
	o.Stdin, o.Stdout, o.Stderr = orElse(o.Stdin, os.Stdin), orElse(o.Stdout, os.Stdout), orElse(o.Stderr, os.Stderr)
	r := &repl{
		Options: o,
		out:     o.Progress.Wrap(o.Stdout),
		err:     o.Progress.Wrap(o.Stderr),
		left:    make(chan os.Signal, 1),
	}
	if o.Banner != "" {
		fmt.Fprintln(r.out, o.Banner)
	}
	history := openHistory(o.History, func(err error) { r.complain(fmt.Sprintf("warning: %v", err)) })
	if os.Getenv("TERM") == "dumb" || !term.IsTerminal(int(o.Stdout.Fd())) {
		r.lines = newPlain(o.Stdin, r.promptWriter())
	} else if r.lines, err = newEditor(o.Stdin, o.Stdout, o.Session, history); err != nil {
		return fmt.Errorf("preparing the terminal: %w", err)
	}
	defer func() { err = errors.Join(err, r.lines.Close()) }()
	defer r.handleSignals()()
	defer context.AfterFunc(ctx, r.lines.Leave)()
	return r.loop(ctx)
}

// promptWriter is where a prompt can be seen, if anywhere.
func (r *repl) promptWriter() io.Writer {
	for _, f := range []*os.File{r.Stdout, r.Stderr} {
		if term.IsTerminal(int(f.Fd())) {
			return f
		}
	}
	return io.Discard
}

func (r *repl) loop(ctx context.Context) error {
	idle := 0 // how often in a row Ctrl-C was pressed at an empty prompt
	for {
		statement, err := r.read()
		select {
		case sig := <-r.left:
			return &LeftError{sig}
		default:
		}
		switch {
		case err == io.EOF:
			return context.Cause(ctx)
		case err == errInterrupted:
			if statement != "" {
				idle = 0
			} else if idle++; idle >= 2 {
				r.complain("Ctrl-D or %quit leaves")
			}
			continue
		case err == errTooLong:
			r.complain(err.Error())
			continue
		case err != nil:
			return err
		}
		idle = 0
		if strings.TrimSpace(statement) == "" {
			continue
		}
		r.lines.Remember(statement)
		if leaves(statement) {
			return nil
		}
		if err := r.eval(ctx, statement); err != nil {
			return err
		}
	}
}

// leaves reports whether a statement is one of the ways to leave.
func leaves(statement string) bool {
	switch strings.TrimSpace(strings.TrimRight(strings.TrimSpace(statement), ";")) {
	case "exit", "quit", "exit()", "quit()", "%exit", "%quit":
		return true
	}
	return false
}

// read reads a statement. With an error it returns what was read before it.
func (r *repl) read() (string, error) {
	var statement strings.Builder
	p := prompt
	for {
		line, pasted, err := r.lines.ReadLine(p)
		statement.WriteString(line)
		if err == nil && statement.Len() > maxStatement {
			err = errTooLong
		}
		if err != nil {
			return statement.String(), err
		}
		givenUp := p == promptMore && strings.TrimSpace(line) == "" && !pasted
		if givenUp || !lang.Incomplete(statement.String()) {
			return statement.String(), nil
		}
		statement.WriteByte('\n')
		p = promptMore
	}
}

// eval runs a statement to its end or until it is stopped. It returns an error
// only where the REPL should leave.
func (r *repl) eval(ctx context.Context, statement string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	r.running, r.stops = cancel, 0
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.running = nil
		r.mu.Unlock()
	}()

	r.Progress.Wait("running (Ctrl-C stops it)")
	defer r.Progress.Clear()
	ended := make(chan error, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				if os.Getenv("MODELLOG_DEBUG") == "1" {
					fmt.Fprintf(r.err, "%s", debug.Stack())
				}
				ended <- fmt.Errorf("internal error: %v; please report it (MODELLOG_DEBUG=1 shows where it happened)", fault)
			}
		}()
		ended <- r.Session.Eval(ctx, "", statement, r.show)
	}()

	var err error
	select {
	case err = <-ended:
	case sig := <-r.left:
		cancel(&LeftError{sig})
		select {
		case <-ended:
		case <-time.After(grace):
		}
		return &LeftError{sig}
	}
	r.Progress.Clear()
	var mistake *lang.Error
	switch {
	case err == nil:
	case ctx.Err() != nil && context.Cause(ctx) == errInterrupted:
		r.lines.Flush()
		r.complain("interrupted")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &mistake):
		width := r.style().Width
		line, carets := mistake.Lines(cmp.Or(width, 80) - 2)
		r.complain(mistake.Message(width), "  "+line, "  "+carets)
	default:
		r.complain(err.Error())
	}
	return nil
}

// interrupt is what SIGINT does.
func (r *repl) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running == nil {
		r.lines.Interrupt()
		return
	}
	r.running(errInterrupted)
	if r.stops++; r.stops == 2 {
		fmt.Fprintln(r.err, `stopping; Ctrl-\ leaves at once`)
	}
	r.Progress.Wait("stopping")
}

// show prints a result.
func (r *repl) show(result lang.Result) error {
	if f, ok := result.(*lang.Figure); ok && r.style() != (lang.Style{}) {
		return r.showFigure(f)
	}
	text := result.Text(r.style())
	if text == "" {
		return nil
	}
	_, err := io.WriteString(r.out, text+"\n")
	return err
}

// style is how results are shown on the terminal as it is now.
func (r *repl) style() lang.Style {
	return lang.StyleOf(r.Stdout)
}

// complain prints a message, in red where there are colours, and lines below it.
func (r *repl) complain(message string, below ...string) {
	if lang.StyleOf(r.Stderr).Color {
		message = "\x1b[31m" + message + "\x1b[0m"
	}
	fmt.Fprintln(r.err, strings.Join(append([]string{message}, below...), "\n"))
}
