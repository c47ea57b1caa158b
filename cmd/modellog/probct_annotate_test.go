package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

// annotator is modellog probct annotate in a pseudo-terminal.
type annotator struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	tty  *os.File // its other end, the program's
	exit chan error
	// found is the terminal's mode before the program.
	found *term.State

	mu      sync.Mutex
	output  []byte
	changed chan struct{} // closed when something has come
}

// writeSuite makes a suite of five candidates of one subset.
func writeSuite(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var b strings.Builder
	for i := range 5 {
		fmt.Fprintf(&b, `{"subset":"forward_implication","id":"f-%d","facts":[{"text":"A hound of the kind that is called number %d is a dog","true":true},{"text":"It is an animal","true":true}],"judge":"rules","accepted":%v}`+"\n", i, i, i%2 == 0)
	}
	if err := os.WriteFile(filepath.Join(dir, "decisions.jsonl"), []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func annotate(t *testing.T, suite string, rows, columns uint16) *annotator {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x := &annotator{t: t, changed: make(chan struct{}), exit: make(chan error, 1)}
	x.cmd = &exec.Cmd{Path: exe, Args: []string{"modellog", "probct", "annotate", suite, "--as", "A"}, Dir: t.TempDir()}
	x.cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1")
	var tty *os.File
	if x.pty, tty, err = pty.Open(); err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(x.pty, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		t.Fatal(err)
	}
	x.found = x.mode()
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = tty, tty, tty
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x.tty = tty // kept open, so that its mode can be asked for at the end
	go func() {
		x.exit <- x.cmd.Wait()
	}()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := x.pty.Read(buf)
			x.mu.Lock()
			x.output = append(x.output, buf[:n]...)
			close(x.changed)
			x.changed = make(chan struct{})
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		x.cmd.Process.Kill()
		x.tty.Close()
		x.pty.Close()
	})
	return x
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\r`)

// frame is what was drawn last, without escape sequences, if it has been drawn wholly.
func (x *annotator) frame() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := x.output
	end := bytes.LastIndex(all, []byte("\x1b[J"))
	if end < 0 {
		return ""
	}
	start := bytes.LastIndex(all[:end], []byte("\x1b[H"))
	return escapes.ReplaceAllString(string(all[start:end]), "")
}

// shows waits until the screen has a text.
func (x *annotator) shows(want string) string {
	x.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		x.mu.Lock()
		changed := x.changed
		x.mu.Unlock()
		if f := x.frame(); strings.Contains(f, want) {
			return f
		}
		select {
		case <-changed:
		case <-deadline:
			x.t.Fatalf("waited in vain for %q; the screen is\n%s\nof %q", want, x.frame(), x.output)
		}
	}
}

func (x *annotator) send(keys string) {
	x.t.Helper()
	if _, err := x.pty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// drain waits until nothing more comes of a program that has ended.
func (x *annotator) drain() {
	for {
		x.mu.Lock()
		changed := x.changed
		x.mu.Unlock()
		select {
		case <-changed:
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

// ends waits until the program has ended with a status, -1 for a signal, and returns all that it wrote.
func (x *annotator) ends(status int) string {
	x.t.Helper()
	select {
	case <-x.exit:
		x.drain()
		if got := x.cmd.ProcessState.ExitCode(); got != status {
			x.t.Errorf("exit status %d, want %d: %q", got, status, x.output)
		}
		x.mu.Lock()
		defer x.mu.Unlock()
		return string(x.output)
	case <-time.After(30 * time.Second):
		x.t.Fatalf("the program did not end; the screen is\n%s", x.frame())
		return ""
	}
}

func (x *annotator) mode() *term.State {
	x.t.Helper()
	m, err := term.GetState(int(x.pty.Fd()))
	if err != nil {
		x.t.Fatal(err)
	}
	return m
}

// said returns the answers in a suite's file, one a line.
func said(t *testing.T, suite string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(suite, "annotations", "A.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile(`"answer":"(\w+)"(?:,"note":"([^"]*)")?`).FindAllStringSubmatch(string(b), -1) {
		out = append(out, strings.TrimSpace(m[1]+" "+m[2]))
	}
	return strings.Join(out, ", ")
}

// TestAnnotateKeys: keys are answers, special keys and pastes are not, and the terminal is as it was.
func TestAnnotateKeys(t *testing.T) {
	suite := writeSuite(t)
	x := annotate(t, suite, 24, 90)
	f := x.shows("1 of 5")
	for _, want := range []string{"1. true   A hound of the kind", "If the first statement is true, the second must be true.", "grammatical", "a accept   r reject"} {
		if !strings.Contains(f, want) {
			t.Errorf("there is no %q in\n%s", want, f)
		}
	}
	if strings.Contains(f, "filter") || strings.Contains(f, "rules") {
		t.Errorf("the filter's decision is shown:\n%s", f)
	}
	x.send("u")
	x.shows("There is nothing to undo.")
	x.send("\x1b[A\x1b[200~aaaa\x1b[201~x") // Up, a paste, and what is no key
	x.shows("'x' is no answer.")
	x.shows("1 of 5")
	x.send("a")
	x.shows("2 of 5")
	x.send("nunclé 犬\x7f")
	x.shows("note: unclé")
	x.send("\r")
	x.shows("note: unclé")
	x.send("nzzz\x1b") // dropped
	x.shows("a accept")
	x.send("r")
	x.shows("3 of 5")
	x.send("s")
	x.shows("4 of 5")
	x.send("u")
	x.shows("3 of 5")
	x.send("a")
	x.shows("4 of 5")
	x.send("q")
	out := x.ends(0)
	for _, want := range []string{"\x1b[?1049l", "\x1b[?25h", "\x1b[?2004l", "3 of 5 judged; the answers are in", "goes on from here"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in what was written", want)
		}
	}
	if got, want := said(t, suite), "accept, note unclé, reject, skip, undo, accept"; got != want {
		t.Errorf("%s, want %s", got, want)
	}

	// The same command goes on.
	x = annotate(t, suite, 24, 90)
	x.shows("4 of 5")
	x.send("rr")
	x.shows("All 5 are judged.")
	x.send("a") // nothing is asked
	x.send("u")
	x.shows("5 of 5")
	x.send("a")
	x.shows("All 5 are judged.")
	x.send("q")
	if out := x.ends(0); strings.Contains(out, "goes on") {
		t.Errorf("there is more to do: %q", out)
	}
}

// TestAnnotateLeaves: Ctrl-C and signals leave the terminal as it was.
func TestAnnotateLeaves(t *testing.T) {
	for name, leave := range map[string]func(*annotator){
		"Ctrl-C":           func(x *annotator) { x.send("\x03") },
		"Ctrl-C in a note": func(x *annotator) { x.send("nab"); x.shows("note: ab"); x.send("\x03") },
		"SIGTERM":          func(x *annotator) { x.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGINT":           func(x *annotator) { x.cmd.Process.Signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			suite := writeSuite(t)
			x := annotate(t, suite, 24, 90)
			x.shows("1 of 5")
			if reflect.DeepEqual(x.mode(), x.found) {
				t.Error("keys do not come one by one")
			}
			x.send("a")
			x.shows("2 of 5")
			leave(x)
			out := x.ends(exitInterrupted)
			if !reflect.DeepEqual(x.mode(), x.found) {
				t.Errorf("the terminal's mode is %v, and was %v", x.mode(), x.found)
			}
			if !strings.Contains(out, "1 of 5 judged") || strings.LastIndex(out, "\x1b[?1049l") < strings.LastIndex(out, "\x1b[?1049h") {
				t.Errorf("%q", out)
			}
			if got := said(t, suite); got != "accept" {
				t.Error(got)
			}
		})
	}
}

// TestAnnotateResizes: on any size all lines fit the terminal, and the question stays on top.
func TestAnnotateResizes(t *testing.T) {
	x := annotate(t, writeSuite(t), 24, 90)
	x.shows("a accept   r reject   s skip   u undo   n note   q quit")
	for _, size := range [][2]uint16{{24, 50}, {10, 40}, {6, 30}, {3, 12}, {1, 1}, {40, 200}} {
		if err := pty.Setsize(x.pty, &pty.Winsize{Rows: size[0], Cols: size[1]}); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(30 * time.Second)
		for {
			fits := true
			lines := strings.Split(x.frame(), "\n")
			for _, l := range lines {
				fits = fits && (&runewidth.Condition{}).StringWidth(l) <= int(size[1])
			}
			if fits && len(lines) <= int(size[0]) && (size[0] < 40 || strings.Contains(x.frame(), "q quit")) {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v: %q", size, lines)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	x.send("a")
	x.shows("2 of 5")
	x.send("q")
	x.ends(0)
}

// TestAnnotateKilled: an answer that the screen shows as given is kept, whatever happens then.
func TestAnnotateKilled(t *testing.T) {
	suite := writeSuite(t)
	for i := 1; i <= 4; i++ {
		x := annotate(t, suite, 24, 90)
		x.shows(fmt.Sprintf("%d of 5", i))
		x.send("r")
		x.shows(fmt.Sprintf("%d of 5", i+1))
		x.cmd.Process.Signal(syscall.SIGKILL)
		x.ends(-1)
		if got, want := said(t, suite), strings.TrimSuffix(strings.Repeat("reject, ", i), ", "); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	// Nobody else can write the file meanwhile.
	x := annotate(t, suite, 24, 90)
	x.shows("5 of 5")
	other := annotate(t, suite, 24, 90)
	if out := other.ends(1); !strings.Contains(out, "another modellog") {
		t.Errorf("%q", out)
	}
	x.send("q")
	x.ends(0)
}
