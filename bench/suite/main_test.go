package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/internal/modeltest"
)

// asCommand is set in the process that is the command and not its test.
const asCommand = "MODELLOG_TEST_BENCH_SUITE"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// told keeps what is written, and calls then once when a pass of the command is told of.
type told struct {
	text strings.Builder
	then func()
}

func (u *told) Write(p []byte) (int, error) {
	n, err := u.text.Write(p)
	if u.then != nil && strings.Contains(u.text.String(), "modellog probct run ") {
		u.then()
		u.then = nil
	}
	return n, err
}

// The command that is interrupted after the first of many passes writes it, and says what is
// missing: a server that does not start, passes that had no turn, and the models after.
func TestInterrupted(t *testing.T) {
	name := modeltest.SmolLM.Name
	modeltest.SmolLM.Path(t)
	broken, err := exec.LookPath("false")
	if err != nil {
		t.Skip("there is no program false")
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-suite", filepath.Join("..", "..", "evals", "probct", "suite"), "-rows", "1", "-repeats", "100000", "-threads", "1",
		"-models", name+",nothing", "-peers", "ollama", "-ollama", broken, "-out", dir)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out := &told{then: func() { _ = cmd.Process.Signal(os.Interrupt) }}
	cmd.Stdout, cmd.Stderr = io.Discard, out
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err == nil || !strings.HasSuffix(out.text.String(), "bench-peers: the run was interrupted\n") {
		t.Errorf("%v:\n%s", err, &out.text)
	}
	text, err := os.ReadFile(filepath.Join(dir, "suite.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`not all passes: the run was interrupted\n`, `modellog probct run +all of the command but loading +[1-9]`,
		`ollama +missing: the server ended at once`, `\nnothing is missing: the run was interrupted\n`,
	} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("suite.txt lacks %s:\n%s", want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "suite.csv")); err != nil {
		t.Error(err)
	}

	// A run that was interrupted before the first pass leaves the files as they are.
	before := string(text)
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-models", "nothing", "-out", dir, "-suite", filepath.Join("..", "..", "evals", "probct", "suite"))
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if text, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(text), "no pass ended, and nothing is written") {
		t.Errorf("%v: %s", err, text)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "suite.txt")); err != nil || string(text) != before {
		t.Errorf("%v; it was written over by a run that measured nothing", err)
	}
}
