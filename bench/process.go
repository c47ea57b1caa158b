package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Process is a running program that is told what to do in lines on its standard input and
// answers each in a line of JSON. What it starts itself ends with it, where the system has
// groups of processes.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *tail
	kill   func() error
}

// StartProcess starts a program with env beside the environment of this one. It is killed when ctx ends.
func StartProcess(ctx context.Context, program string, args, env []string) (*Process, error) {
	p := &Process{errors: &tail{most: 2000}}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = p.errors
	cmd.WaitDelay = 10 * time.Second
	inGroup(cmd)
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.cmd, p.kill = cmd, cmd.Cancel
	return p, nil
}

// IDs is the process's number, or nothing when it has ended.
func (p *Process) IDs() []int {
	if p == nil || p.cmd == nil {
		return nil
	}
	return []int{p.cmd.Process.Pid}
}

// Say tells the process a line.
func (p *Process) Say(line string) error {
	_, err := io.WriteString(p.in, line+"\n")
	return err
}

// Hear reads the next line that the process says. Of one that has ended the error has the
// last line of what it wrote on its standard error.
func (p *Process) Hear(v any) error {
	line, err := p.out.ReadBytes('\n')
	if errors.Is(err, io.EOF) {
		err := p.cmd.Wait() // so that all it wrote is there
		p.cmd = nil
		if err == nil {
			err = errors.New("it ended")
		}
		if last := p.errors.lastLine(); last != "" {
			return fmt.Errorf("%w, after it wrote: %s", err, last)
		}
		return err
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("its answer cannot be understood: %w", err)
	}
	return nil
}

// Kill has the process end at once; Hear then tells that it did.
func (p *Process) Kill() { _ = p.kill() }

// Close ends the process.
func (p *Process) Close() {
	if p.cmd != nil {
		_ = p.in.Close() // its end: it stops reading
		_ = p.kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// tail keeps the last bytes that are written to it.
type tail struct {
	most int
	b    []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - t.most; over > 0 {
		t.b = slices.Delete(t.b, 0, over)
	}
	return len(p), nil
}

// lastLine is the last that has something in it; of a Python traceback the error.
func (t *tail) lastLine() string {
	lines := strings.Split(string(bytes.ToValidUTF8(t.b, nil)), "\n")
	for _, line := range slices.Backward(lines) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
