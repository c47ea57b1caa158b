//go:build linux

package gonb

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lm/store"
)

// tools finds gonb, goimports and gopls where `modellog kernel install` puts them.
func tools(t *testing.T) (binary, dir string) {
	t.Helper()
	data, err := store.DataDir()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(data, "kernel", "bin")
	if d := os.Getenv("MODELLOG_TEST_GONB"); d != "" {
		dir = d
	}
	binary = filepath.Join(dir, "gonb")
	if os.Getenv("MODELLOG_TEST_GO_CELLS") == "" {
		t.Skip("make test-kernel runs this")
	}
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("%s is missing; make it with: make test-kernel", binary)
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal("there is no go in PATH")
	}
	return binary, dir
}

func start(t *testing.T, change func(*Options)) *Child {
	t.Helper()
	binary, dir := tools(t)
	o := Options{Binary: binary, ToolsDir: dir, Dir: t.TempDir(), ID: wire.NewID()}
	if testing.Verbose() {
		o.Log = os.Stderr
	}
	if change != nil {
		change(&o)
	}
	c, err := Start(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

// output is what a cell published.
type output struct {
	mu  sync.Mutex
	all []*wire.Message
}

func (o *output) add(m *wire.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, m)
}

// text is what was written to stdout or stderr.
func (o *output) text(stream string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, m := range o.all {
		var content struct{ Name, Text string }
		if m.Header.MsgType == "stream" && json.Unmarshal(m.Content, &content) == nil && content.Name == stream {
			b.WriteString(content.Text)
		}
	}
	return b.String()
}

func run(t *testing.T, c *Child, code string) (status string, out *output, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out = &output{}
	m, err := Complete(c.message("execute_request", map[string]any{"code": code}), nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Do(ctx, m, out.add, nil)
	if err != nil {
		return "", out, err
	}
	c.Counted()
	var content struct{ Status string }
	if err := json.Unmarshal(reply.Content, &content); err != nil {
		t.Fatal(err)
	}
	return content.Status, out, nil
}

func TestCells(t *testing.T) {
	c := start(t, nil)
	// Every line of 200 must be there when a cell is over: what GoNB
	// publishes and its reply come on different sockets.
	for i := range 40 {
		status, out, err := run(t, c, fmt.Sprintf("!for i in $(seq 200); do echo cell %d line $i; done", i))
		if err != nil || status != "ok" {
			t.Fatalf("%s %v", status, err)
		}
		if got := strings.Count(out.text("stdout"), "\n"); got != 200 {
			t.Fatalf("cell %d: %d lines of 200", i, got)
		}
	}
	status, out, err := run(t, c, "func twice(x int) int { return 2*x }\n%%\nfmt.Println(twice(21))")
	if err != nil || status != "ok" || out.text("stdout") != "42\n" {
		t.Fatalf("%s %q %q %v", status, out.text("stdout"), out.text("stderr"), err)
	}
	// GoNB counts along: the trace names the cell.
	if err := c.Step(context.Background(), 98); err != nil {
		t.Fatal(err)
	}
	status, out, err = run(t, c, "%%\npanic(\"here\")")
	shown := "" // the trace itself may be cut in two on a busy machine
	for _, m := range out.all {
		shown += string(m.Content)
	}
	if err != nil || status != "error" || !strings.Contains(shown, "Cell[99]: Line 2") {
		t.Errorf("%s %v:\n%s", status, err, out.text("stderr"))
	}
}

// left lists the living processes with a child's mark, and its files.
func left(c *Child) string {
	var all []string
	for _, pid := range marked(c.mark) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if len(cmdline) > 0 {
			all = append(all, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(cmdline, []byte{0}, []byte(" "))))
		}
	}
	for _, dir := range []string{c.dir, c.tmp} {
		if _, err := os.Stat(dir); dir != "" && err == nil {
			all = append(all, dir)
		}
	}
	return strings.Join(all, "\n")
}

// TestKilled kills GoNB in the middle of a cell that has a child of its own: the
// cell ends soon, and nothing stays behind.
func TestKilled(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	c := start(t, nil)
	if c.tmp == "" {
		t.Error("the temporary folder of GoNB is unknown")
	}
	go func() {
		time.Sleep(300 * time.Millisecond)
		syscall.Kill(c.PID(), syscall.SIGKILL)
	}()
	begin := time.Now()
	_, _, err := run(t, c, "!setsid sleep 1000 & sleep 1000")
	if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("%v", err)
	}
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("noticed after %v", d)
	}
	<-c.Done()
	if s := left(c); s != "" {
		t.Errorf("left behind:\n%s", s)
	}
	if _, _, err := run(t, c, "!echo"); !errors.Is(err, ErrDied) {
		t.Errorf("a cell afterwards: %v", err)
	}
}

// TestAdopted has a cell leave programs behind that end later: they become this process's children, which waits for
// them, so that none stays as a zombie.
func TestAdopted(t *testing.T) {
	if err := AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	c := start(t, nil)
	status, out, err := run(t, c, "!for i in 1 2 3; do sh -c 'setsid sleep 1 >/dev/null 2>&1 & echo $!'; done")
	if err != nil || status != "ok" {
		t.Fatalf("%s %v", status, err)
	}
	pids := strings.Fields(out.text("stdout"))
	if len(pids) != 3 {
		t.Fatalf("%q", out.text("stdout"))
	}
	for _, pid := range pids {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		if f := strings.Fields(after); f[0] == "Z" || f[1] != fmt.Sprint(os.Getpid()) {
			t.Errorf("%s is in state %s, and its parent is %s and not %d", pid, f[0], f[1], os.Getpid())
		}
	}
	var left []string
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		left = left[:0]
		for _, pid := range pids {
			if _, err := os.Stat("/proc/" + pid); err == nil {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("nobody has waited for %v", left)
}

// TestStarts starts GoNB many times: from the first message on nothing is lost.
func TestStarts(t *testing.T) {
	for i := range 30 {
		c := start(t, nil)
		if c.tmp == "" {
			t.Errorf("start %d: what the first cell printed is lost", i)
		}
		if status, out, err := run(t, c, "!seq 20"); err != nil || status != "ok" || strings.Count(out.text("stdout"), "\n") != 20 {
			t.Errorf("start %d: %s %q %v", i, status, out.text("stdout"), err)
		}
		c.Stop()
		if s := left(c); s != "" {
			t.Errorf("start %d left behind:\n%s", i, s)
		}
	}
}

// TestFrozen stops GoNB without ending it.
func TestFrozen(t *testing.T) {
	c := start(t, func(o *Options) { o.Pulse = 2 * time.Second })
	time.Sleep(100 * time.Millisecond)
	syscall.Kill(c.PID(), syscall.SIGSTOP)
	_, _, err := run(t, c, "!echo")
	if !errors.Is(err, ErrDied) || !strings.Contains(err.Error(), "no sign of life") {
		t.Errorf("%v", err)
	}
	<-c.Done()
	if s := left(c); s != "" {
		t.Errorf("left behind:\n%s", s)
	}
}

func TestInterrupt(t *testing.T) {
	c := start(t, nil)
	for _, code := range []string{"!sleep 1000", "!sleep 1000\n!sleep 1000", "%%\ntime.Sleep(time.Hour)"} {
		stop := make(chan struct{})
		time.AfterFunc(300*time.Millisecond, func() {
			for {
				c.Interrupt()
				select {
				case <-stop:
					return
				case <-time.After(200 * time.Millisecond):
				}
			}
		})
		status, _, err := run(t, c, code)
		close(stop)
		if err != nil {
			t.Fatalf("%q: %s %v", code, status, err)
		}
	}
	if status, out, err := run(t, c, "!echo still here"); err != nil || status != "ok" || out.text("stdout") != "still here\n" {
		t.Errorf("%s %q %v", status, out.text("stdout"), err)
	}
}

func TestStop(t *testing.T) {
	c := start(t, nil)
	if status, _, err := run(t, c, "!(setsid sleep 1000 >/dev/null 2>&1 &) ; true"); err != nil || status != "ok" {
		t.Fatalf("%s %v", status, err)
	}
	begin := time.Now()
	c.Stop()
	if d := time.Since(begin); d > 5*time.Second {
		t.Errorf("stopped after %v", d)
	}
	if s := left(c); s != "" {
		t.Errorf("left behind:\n%s", s)
	}
}

// TestPipesOfTwo has two programs, one after the other, whose FIFOs GoNB does not remove, as it happens to it when a
// program is over at once.
func TestPipesOfTwo(t *testing.T) {
	c := start(t, nil)
	dir := t.TempDir()
	for _, name := range []string{"gonb_pipe_a", "gonb_pipe_b", "other"} {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sleep", "1000")
		cmd.Env = []string{"GONB_PIPE=" + path, "GONB_PIPE_BACK=" + filepath.Join(dir, "gonb_pipe_gone")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond) // a program that has just begun has no environment yet
		c.notePipes([]int{cmd.Process.Pid})
		cmd.Process.Kill()
		cmd.Wait()
	}
	c.Stop()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "other" {
		t.Errorf("left are %v %v", left, err)
	}
}

func TestStartErrors(t *testing.T) {
	if _, err := Start(context.Background(), Options{Binary: "/nowhere/gonb", ID: "1"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such program: %v", err)
	}
	if _, err := Start(context.Background(), Options{Binary: "/bin/false", ID: "1"}); !errors.Is(err, ErrDied) {
		t.Errorf("a program that ends at once: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	sleeps := filepath.Join(t.TempDir(), "sleeps")
	os.WriteFile(sleeps, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o755)
	if _, err := Start(ctx, Options{Binary: sleeps, ID: "1"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a program that never answers: %v", err)
	}
}

func TestComplete(t *testing.T) {
	m := &wire.Message{Header: wire.NewHeader("s", "execute_request"), Content: []byte(`{"code": 7, "store_history": false, "x": [1]}`)}
	got, err := Complete(m, map[string]any{"silent": true})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"allow_stdin":false,"code":"","silent":true,"store_history":false,"x":[1]}`; string(got.Content) != want {
		t.Errorf("got %s, want %s", got.Content, want)
	}
}
