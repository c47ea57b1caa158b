package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

const (
	childEnv   = "MODELLOG_REPL_TEST_HISTORY"
	testBanner = "modellog under test"
)

// TestMain runs the REPL itself where a test has started this binary again.
func TestMain(m *testing.M) {
	history, child := os.LookupEnv(childEnv)
	if !child {
		os.Exit(m.Run())
	}
	bar := progress.New(os.Stderr)
	session := lang.New(lang.Options{
		Model:    "slow",
		Progress: bar.Report,
		Open: func(ctx context.Context, name string) (lm.Model, error) {
			switch name {
			case "slow":
				for i := range 1000 {
					bar.Report("opening slow", i, 1000)
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(100 * time.Millisecond):
					}
				}
			case "deaf":
				select {}
			}
			return nil, fmt.Errorf("there is no model %q", name)
		},
		ModelNames: func(context.Context) ([]lm.ModelName, error) {
			return []lm.ModelName{{Name: "gemma3:270m-pt"}, {Name: "gemma3:1b-pt"}, {Name: "smollm2:135m-instruct"}}, nil
		},
	})
	err := Run(context.Background(), Options{Session: session, History: history, Banner: testBanner, Progress: bar})
	var left *LeftError
	switch {
	case errors.As(err, &left):
		fmt.Println("left:", left.Signal)
		os.Exit(3)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println("bye")
}

// terminal is a REPL in a pseudo-terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	exit chan error

	mu      sync.Mutex
	screen  *screen
	changed chan struct{} // closed when something has come
}

func start(t *testing.T, history string, env ...string) *terminal {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, exec.Command(exe), history, env...)
}

func startCommand(t *testing.T, cmd *exec.Cmd, history string, env ...string) *terminal {
	t.Helper()
	var err error
	x := &terminal{t: t, cmd: cmd, screen: newScreen(80, 24), changed: make(chan struct{}), exit: make(chan error, 1)}
	x.cmd.Dir = t.TempDir()
	x.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=1", childEnv+"="+history), env...)
	x.pty, err = pty.StartWithSize(x.cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := x.pty.Read(buf)
			x.mu.Lock()
			x.screen.Write(buf[:n])
			close(x.changed)
			x.changed = make(chan struct{})
			x.mu.Unlock()
			if err != nil {
				break
			}
		}
		x.exit <- x.cmd.Wait()
	}()
	t.Cleanup(func() {
		x.cmd.Process.Kill()
		x.pty.Close()
	})
	return x
}

// wait waits until the screen is as it should be.
func (x *terminal) wait(what string, is func(*screen) bool) {
	x.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		x.mu.Lock()
		ok, changed := is(x.screen), x.changed
		x.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			x.t.Fatalf("waited in vain for %s; the screen is\n%s", what, x.text())
		}
	}
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.String()
}

// shows waits until the screen ends in these lines; the cursor is at the end of the last.
func (x *terminal) shows(lines ...string) {
	x.t.Helper()
	want := strings.Join(lines, "\n")
	x.wait(fmt.Sprintf("%q", want), func(s *screen) bool {
		before, after := s.cursor()
		last := lines[len(lines)-1]
		return after == "" && (before == last || before == last+" ") && strings.HasSuffix("\n"+s.String(), "\n"+strings.TrimRight(want, " "))
	})
}

func (x *terminal) contains(want string) {
	x.t.Helper()
	x.wait(fmt.Sprintf("%q", want), func(s *screen) bool { return strings.Contains(s.String(), want) })
}

func (x *terminal) lacks(bad string) {
	x.t.Helper()
	if text := x.text(); strings.Contains(text, bad) {
		x.t.Errorf("the screen shows %q:\n%s", bad, text)
	}
}

func (x *terminal) send(keys string) {
	x.t.Helper()
	if _, err := x.pty.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) signal(sig os.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(sig); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits until the program has ended with a status.
func (x *terminal) ends(status int) {
	x.t.Helper()
	select {
	case err := <-x.exit:
		x.exit <- err
		if got := x.cmd.ProcessState.ExitCode(); got != status {
			x.t.Errorf("exit status %d (%v), want %d; the screen is\n%s", got, err, status, x.text())
		}
	case <-time.After(60 * time.Second):
		x.t.Fatalf("the program did not end; the screen is\n%s", x.text())
	}
}

// started waits for the first prompt.
func (x *terminal) started() *terminal {
	x.t.Helper()
	x.shows(testBanner, "> ")
	return x
}

const (
	tab   = "\t"
	enter = "\r"
	up    = "\x1b[A"
	left  = "\x1b[D"
	intr  = "\x03"
	eot   = "\x04"
	slow  = `M("a", "b")` + enter
)

func TestEvaluates(t *testing.T) {
	x := start(t, "").started()
	x.send("p = prob(0.25)" + enter + "wmc(p)" + enter)
	x.contains("0.25\n>")
	x.send("wmc(p);" + enter)
	x.shows("> wmc(p);", "> ")
	x.send("q -> p" + enter)
	x.contains("1:1: ")
	x.contains("\n  q -> p\n  ^\n>")
	x.send("wmc(!p)" + enter)
	x.contains("0.75\n>")
}

func TestLeaving(t *testing.T) {
	for _, how := range []string{eot, "exit" + enter, "quit()" + enter, "%quit" + enter, " %exit ;" + enter} {
		x := start(t, "").started()
		x.send(how)
		x.ends(0)
		x.contains("bye")
	}
}

func TestSeveralLines(t *testing.T) {
	x := start(t, "").started()
	x.send("wmc(prob(0.5) &" + enter)
	x.shows("> wmc(prob(0.5) &", ". ")
	x.send("prob(0.5)" + enter)
	x.shows(". prob(0.5)", ". ")
	x.send(")" + enter)
	x.contains("0.25\n>")

	// An empty line gives an unfinished statement up.
	x.send("wmc(prob(0.5)" + enter)
	x.shows("> wmc(prob(0.5)", ". ")
	x.send(enter)
	x.contains("\n  ")
	x.wait("a prompt", func(s *screen) bool { before, _ := s.cursor(); return before == "> " })

	// The whole statement comes back as one line.
	x.send(up + up)
	x.shows("> wmc(prob(0.5) & prob(0.5) )")
}

// TestInterruptAtPrompt: what is half typed is dropped, not run.
func TestInterruptAtPrompt(t *testing.T) {
	x := start(t, "").started()
	x.send("p = prob(0.5)" + intr)
	x.shows("> p = prob(0.5)^C", "> ")
	x.send("q = (prob(0.5)" + enter)
	x.shows("> q = (prob(0.5)", ". ")
	x.send("& prob(0.1)" + intr)
	x.shows(". & prob(0.1)^C", "> ")
	x.send("wmc(p)" + enter)
	x.contains(`"p"`)
	x.send("wmc(q)" + enter)
	x.contains(`"q"`)
	x.lacks("Ctrl-D")
	x.send(intr)
	x.shows("> ^C", "> ")
	x.send(intr)
	x.shows("> ^C", "> ^C", "Ctrl-D or %quit leaves", "> ")
}

// TestInterruptSignalAtPrompt: kill -INT does what the key does.
func TestInterruptSignalAtPrompt(t *testing.T) {
	x := start(t, "").started()
	x.send("wmc(prob(0.5))")
	x.shows("> wmc(prob(0.5))")
	x.signal(syscall.SIGINT)
	x.shows("> wmc(prob(0.5))^C", "> ")
	x.lacks("0.5\n")
}

func TestInterruptRunning(t *testing.T) {
	x := start(t, "").started()
	file := filepath.Join(x.cmd.Dir, "slow.logic")
	if err := os.WriteFile(file, []byte("wmc(p)\nM(\"a\", \"b\")\nwmc(!p)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	x.send("p = prob(0.375)" + enter + "%load slow.logic" + enter)
	x.contains("0.375\n")
	x.contains("opening slow") // after two seconds
	x.send("typed ahead")
	x.send(intr)
	x.shows("interrupted", "> ")
	x.lacks("opening slow")
	x.lacks("0.625")
	x.lacks("ahead")
	// The session is as it was.
	x.send("wmc(p)" + enter)
	x.contains("> wmc(p)\n")
	x.wait("the value again", func(s *screen) bool { return strings.Count(s.String(), "0.375\n") == 2 })
	// And the next statement can be stopped too, by the signal.
	x.send(slow)
	x.contains("opening slow")
	x.signal(syscall.SIGINT)
	x.wait("the second stop", func(s *screen) bool { return strings.Count(s.String(), "\ninterrupted\n>") == 2 })
	x.send(eot)
	x.ends(0)
}

// TestDeafStatement: a statement that does not stop cannot keep anybody.
func TestDeafStatement(t *testing.T) {
	x := start(t, "").started()
	x.send("%model deaf" + enter)
	x.contains("running")
	x.send(intr)
	x.contains("stopping")
	x.send(intr)
	x.contains(`Ctrl-\ leaves at once`)
	x.send("\x1c")
	x.ends(3)
	x.contains("left: quit")
}

func TestSignalsLeave(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		x := start(t, "").started()
		mode := ttyMode(t, x.pty)
		x.send("wmc(prob(0.125))")
		x.shows("> wmc(prob(0.125))")
		if ttyMode(t, x.pty) != mode {
			t.Error("the mode changed while a line was edited")
		}
		x.signal(sig)
		x.ends(3)
		x.lacks("0.125\n") // not run

		x = start(t, "").started()
		x.send(slow)
		x.contains("opening slow")
		x.signal(sig)
		x.ends(3)
		x.lacks("opening slow")
	}
}

// startUnder starts the REPL as "$0" of a shell script.
func startUnder(t *testing.T, shell, script string) *terminal {
	t.Helper()
	sh, err := exec.LookPath(shell)
	if err != nil {
		t.Skipf("there is no %s", shell)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startCommand(t, exec.Command(sh, "-c", script, exe), "")
}

// TestModeIsRestored looks at the terminal's mode as a shell finds it.
func TestModeIsRestored(t *testing.T) {
	x := startUnder(t, "sh", `stty -a >before; "$0"; stty -a >after; echo over`).started()
	x.send("wmc(prob(0.5))" + enter)
	x.contains("0.5\n>")
	x.send(eot)
	x.contains("over")
	x.sameMode("before", "after")
}

// TestSuspend: Ctrl-Z gives a shell its terminal, and the line that was typed is there
// afterwards.
func TestSuspend(t *testing.T) {
	x := startUnder(t, "bash", `set -m; stty -a >before; "$0"; stty -a >after; echo suspended; read x; fg`).started()
	x.send("wmc(prob(0.5))")
	x.shows("> wmc(prob(0.5))")
	x.send("\x1a")
	x.contains("\nsuspended")
	x.sameMode("before", "after")
	x.send("go on\n")
	x.contains("\ngo on")
	x.wait("the line", func(s *screen) bool { before, _ := s.cursor(); return before == "> wmc(prob(0.5))" })
	x.send(enter)
	x.contains("0.5\n>")
	x.send(intr + eot)
	x.contains("bye")
}

func (x *terminal) sameMode(file, other string) {
	x.t.Helper()
	before, err := os.ReadFile(filepath.Join(x.cmd.Dir, file))
	after, err2 := os.ReadFile(filepath.Join(x.cmd.Dir, other))
	if err := errors.Join(err, err2); err != nil {
		x.t.Fatal(err)
	}
	if len(before) == 0 || !bytes.Equal(before, after) {
		x.t.Errorf("the mode was\n%s\nand is\n%s", before, after)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if on, off := bytes.LastIndex(x.screen.raw, []byte(pasteOn)), bytes.LastIndex(x.screen.raw, []byte(pasteOff)); off < on {
		x.t.Error("bracketed paste is still on")
	}
}

func TestCompletion(t *testing.T) {
	x := start(t, "").started()
	for _, name := range []string{"facts.jsonl", "données.jsonl", "große Liste.csv"} {
		if err := os.WriteFile(filepath.Join(x.cmd.Dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	x.send("golden = prob(0.1)" + enter)
	x.shows("> golden = prob(0.1)", "> ")
	x.send("gold" + tab)
	x.shows("> golden")
	x.send(" -> margi" + tab)
	x.shows("> golden -> marginals(")
	x.send(intr)
	x.shows("> golden -> marginals(^C", "> ")

	x.send("%mod" + tab)
	x.shows("> %model")
	x.send(tab)
	x.contains("%models")
	x.shows("> %model")
	x.send(" ge" + tab)
	x.shows("> %model gemma3:")
	x.send(tab)
	x.shows("> %model gemma3:", "gemma3:270m-pt  gemma3:1b-pt", "> %model gemma3:")
	x.send("2" + tab)
	x.shows("> %model gemma3:270m-pt")
	x.send(intr)
	x.shows("> %model gemma3:270m-pt^C", "> ")

	x.send("%load fa" + tab)
	x.shows("> %load facts.jsonl")
	x.send(intr + "%load don" + tab)
	x.shows("> %load données.jsonl")
	x.send(intr + "%load gro" + tab)
	x.wait("the name with a space", func(s *screen) bool {
		before, _ := s.cursor()
		return strings.Contains(before, "große Liste.csv")
	})
	x.send(intr)

	// Behind characters outside ASCII, of one column and of two.
	x.send(`é = M("🐶 漢字 e` + "\u0301" + `", "x") & gol` + tab)
	x.wait("golden", func(s *screen) bool {
		before, _ := s.cursor()
		return before == `> é = M("🐶 漢字 e`+"\u0301"+`", "x") & golden`
	})
	// In the middle of a line, with such characters after the cursor.
	x.send(intr + `gol | M("漢🐶", "x")`)
	x.send(strings.Repeat(left, len([]rune(` | M("漢🐶", "x")`))) + tab)
	x.wait("golden in the middle", func(s *screen) bool {
		before, after := s.cursor()
		return before == `> golden` && after == ` | M("漢🐶", "x")`
	})
	x.send("nothing_starts_so" + tab)
	x.wait("the line as it was", func(s *screen) bool {
		before, _ := s.cursor()
		return before == "> goldennothing_starts_so"
	})
	// In a continuation line.
	x.send(intr + "wmc(" + enter)
	x.shows("> wmc(", ". ")
	x.send("gol" + tab)
	x.shows(". golden")
}

func TestHistoryBetweenRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "history")
	x := start(t, path).started()
	x.send("a1 = prob(0.5)" + enter)
	x.shows("> a1 = prob(0.5)", "> ")
	x.send("a1 = prob(0.5)" + enter) // the same again is kept once
	y := start(t, path).started()    // two at once
	y.send("b1 = (true & # why" + enter + "false)" + enter)
	y.shows(". false)", "> ")
	y.send(eot)
	y.ends(0)
	x.send("a2 = prob(0.5)" + enter)
	x.shows("> a2 = prob(0.5)", "> ")
	x.send(eot)
	x.ends(0)

	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "a1 = prob(0.5)\nb1 = (true & false)\na2 = prob(0.5)\n"; string(got) != want {
		t.Errorf("the history is\n%swant\n%s", got, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the history's mode: %v, %v", info.Mode(), err)
	}

	x = start(t, path).started()
	x.send(up)
	x.shows("> a2 = prob(0.5)")
	x.send(up)
	x.shows("> b1 = (true & false)")
	x.send(up)
	x.shows("> a1 = prob(0.5)")
	x.send(intr + "\x12b1 =") // Ctrl-R
	x.contains("> b1 = (true & false)")
	x.send(enter)
	x.shows("> b1 = (true & false)", "> ")
}

func TestUnwritableHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file", "history")
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := start(t, path)
	x.contains("warning: ")
	x.send("wmc(prob(0.5))" + enter + "wmc(prob(0.25))" + enter)
	x.contains("0.25\n>")
	x.send(up)
	x.wait("the statement", func(s *screen) bool { before, _ := s.cursor(); return before == "> wmc(prob(0.25))" })
	if n := strings.Count(x.text(), "warning: "); n != 1 {
		t.Errorf("%d warnings:\n%s", n, x.text())
	}
}

// TestEmptyHistorySearch: the search of readline fails on no history at all.
func TestEmptyHistorySearch(t *testing.T) {
	x := start(t, "").started()
	x.send("\x12x\x07" + intr)
	x.send("\x12" + intr + intr + up + "\x0e" + "wmc(prob(0.5))" + enter)
	x.contains("0.5\n>")
}

func TestPaste(t *testing.T) {
	x := start(t, "").started()
	program := "# a program\n\np = prob(0.5)\nq = (p &\n\n\tprob(0.5))  # two\nwmc(q)\nnonsense(\"\t\")\nwmc(p) "
	x.send("\x1b[200~" + program + "\x1b[201~")
	x.contains("0.25\n")
	x.contains("nonsense")
	x.shows("> wmc(p)")
	x.send(enter)
	x.contains("> wmc(p)\n")
	x.contains("0.5\n>")
	x.lacks("[20")

	// Without the marks, as a terminal that does not know them sends it.
	x = start(t, "").started()
	x.send("p = prob(0.5)\nq = (p &\n\nprob(0.5))\nwmc(q)\n")
	x.contains("0.25\n>")
}

// TestInterruptDropsRestOfPaste: who stops a program does not want the rest of it.
func TestInterruptDropsRestOfPaste(t *testing.T) {
	x := start(t, "").started()
	x.send("\x1b[200~M(\"a\", \"b\")\nwmc(prob(0.375))\n\x1b[201~")
	x.contains("opening slow")
	x.send(intr)
	x.shows("interrupted", "> ")
	x.send("wmc(prob(0.5))" + enter)
	x.contains("0.5\n>")
	x.lacks("0.375")
}

func TestNotText(t *testing.T) {
	x := start(t, "").started()
	x.send("wmc(\x00prob(0.5))" + enter)
	x.contains("NUL byte")
	x.send(`M("a` + "\xff" + `", "b")` + enter)
	x.contains("0xFF")
	x.send("\x00\x00\x1b[15~\x1bx\x0f\x1b[3~wmc(prob(0.25))" + enter) // keys without a meaning
	x.contains("0.25\n>")
	for i := range 2 { // a long line, and one in a paste
		line := strings.Repeat("x", 10<<20)
		if i == 1 {
			line = "\x1b[200~" + line + "\x1b[201~"
		}
		x.send("wmc(" + line + enter)
		x.wait("the message", func(s *screen) bool { return strings.Count(s.String(), "too long (over") == i+1 })
	}
	x.send("wmc(prob(0.125))" + enter)
	x.contains("0.125\n>")
}

func TestEditingKeys(t *testing.T) {
	x := start(t, "").started()
	x.send("mc(prob(0.5)) junk")
	x.send("\x17")                        // Ctrl-W
	x.send("\x1b[1~w")                    // Home, as tmux sends it
	x.send("\x1b[4~\x7f")                 // End, Backspace
	x.send(left + left + "\x1b[3~" + ")") // Delete and put back
	x.wait("the line", func(s *screen) bool {
		before, after := s.cursor()
		return before+after == "> wmc(prob(0.5))"
	})
	x.send(enter)
	x.contains("0.5\n>")
	x.send("漢字\x1b[D\x1b[D\x1b[3~")
	x.wait("the cursor before the second character", func(s *screen) bool {
		before, after := s.cursor()
		return before == "> " && after == "字"
	})
}

func TestColours(t *testing.T) {
	coloured := func(env ...string) bool {
		x := start(t, "", env...)
		x.contains("\n>")
		x.send("nothing" + enter)
		x.contains("1:1: ")
		x.send("true -> false" + enter)
		x.contains("WMC")
		x.send(eot)
		x.ends(0)
		x.mu.Lock()
		defer x.mu.Unlock()
		return bytes.Contains(x.screen.raw, []byte("m1:1:")) && bytes.Contains(x.screen.raw, []byte("\x1b[0m"))
	}
	if !coloured("NO_COLOR=") {
		t.Error("no colours on a terminal")
	}
	if coloured("NO_COLOR=0") {
		t.Error("colours under NO_COLOR")
	}
	if coloured("NO_COLOR=", "TERM=dumb") {
		t.Error("colours on a dumb terminal")
	}
}

func TestDumbTerminal(t *testing.T) {
	x := start(t, "", "TERM=dumb").started()
	x.send("wmc(prob(0.25) &\nprob(0.5))\n")
	x.contains("0.125\n>")
	x.send("half")
	x.contains("\n> half")
	x.send(intr)
	x.contains("> half^C\n>")
	x.send("wmc(prob(0.375))\n")
	x.contains("0.375\n>")
	if err := os.WriteFile(filepath.Join(x.cmd.Dir, "slow.logic"), []byte("wmc(prob(0.75))\n"+slow), 0o600); err != nil {
		t.Fatal(err)
	}
	x.send("%load slow.logic\n")
	x.contains("\n0.75")
	x.signal(syscall.SIGINT)
	x.contains("interrupted\n>")
	x.send(eot)
	x.ends(0)
	x.mu.Lock()
	defer x.mu.Unlock()
	if bytes.Contains(x.screen.raw, []byte("\x1b")) {
		t.Errorf("escape sequences on a dumb terminal: %q", x.screen.raw)
	}
}

func TestResize(t *testing.T) {
	x := start(t, "").started()
	x.mu.Lock()
	x.screen.resize(60, 24)
	x.mu.Unlock()
	if err := pty.Setsize(x.pty, &pty.Winsize{Rows: 24, Cols: 60}); err != nil {
		t.Fatal(err)
	}
	// A line that wraps at the new width is edited well.
	line := "wmc(prob(0.5) | prob(0.5) | prob(0.5) | prob(0.5) | prob(0.5) | prob(0.5))"
	x.send(line)
	x.shows("> "+line[:58], line[58:])
	x.send("\x01")
	x.wait("the cursor at the beginning", func(s *screen) bool {
		before, after := s.cursor()
		return before == "> " && after == line[:58]
	})
	x.send("\x05" + enter)
	x.contains("0.984")
	// A result is set for the new width.
	x.send(`atleast(1, prob(0.5), prob(0.5), prob(0.5), prob(0.5), prob(0.5), prob(0.5), prob(0.5), prob(0.5), prob(0.5))` + enter)
	x.contains("WMC")
	x.wait("a prompt", func(s *screen) bool { before, _ := s.cursor(); return before == "> " })
}
