package bench

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed peers/peers.py
var program []byte

// Peer is another program that does the work, in a process of its own.
type Peer struct {
	name, setting string
	versions      map[string]string
	cmd           *exec.Cmd
	in            io.WriteCloser
	out           *bufio.Reader
	errors        *tail
	dir           string
	servers       []int
}

// PeerOptions say how a peer is started.
type PeerOptions struct {
	Name    string // for tables; Kind where it is empty
	Kind    string // as peers.py calls it
	Python  string // the interpreter of an environment that has it
	Model   string // the GGUF file, or the server's name for the model
	Threads int
	Server  *Server // Ollama's
	Float32 bool    // llama-cpp-python: the weights are dequantised first
	Tree    bool    // llama-cpp-python: what prefixes begin with alike is read once
}

// StartPeer starts a peer and returns when it has its weights loaded and has tried
// itself out on the prefixes. The error of one that cannot be had says why.
func StartPeer(ctx context.Context, prefixes []Prefix, o PeerOptions) (*Peer, error) {
	p := &Peer{name: o.Name, errors: &tail{most: 2000}}
	if p.name == "" {
		p.name = o.Kind
	}
	var err error
	if p.dir, err = os.MkdirTemp("", "modellog-bench-"); err != nil {
		return nil, err
	}
	if err := p.start(ctx, prefixes, o); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Peer) start(ctx context.Context, prefixes []Prefix, o PeerOptions) error {
	work, err := json.Marshal(prefixes)
	if err != nil {
		return err
	}
	script, file := filepath.Join(p.dir, "peers.py"), filepath.Join(p.dir, "work.json")
	if err := errors.Join(os.WriteFile(script, program, 0o600), os.WriteFile(file, work, 0o600)); err != nil {
		return err
	}
	args := []string{script, o.Kind, "--work", file, "--model", o.Model, "--threads", strconv.Itoa(o.Threads)}
	if o.Server != nil {
		args = append(args, "--server", o.Server.Address)
		if o.Server.cmd != nil {
			p.servers = []int{o.Server.cmd.Process.Pid}
		}
	}
	if o.Float32 {
		args = append(args, "--float32")
	}
	if o.Tree {
		args = append(args, "--tree")
	}
	p.cmd = exec.CommandContext(ctx, o.Python, args...)
	// Nothing is asked of a hub of models; the weights are here.
	p.cmd.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "TOKENIZERS_PARALLELISM=false", "OMP_NUM_THREADS="+strconv.Itoa(o.Threads))
	p.cmd.Stderr = p.errors
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return err
	}
	var ready struct {
		Versions map[string]string
		Setting  string
	}
	if err := p.hear(&ready); err != nil {
		return err
	}
	p.versions, p.setting = ready.Versions, ready.Setting
	return nil
}

// hear reads the next line that the peer says.
func (p *Peer) hear(v any) error {
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

// Name is the peer's name in tables.
func (p *Peer) Name() string { return p.name }

// Setting is how the peer does the work.
func (p *Peer) Setting() string { return p.setting }

// Processes are the peer's own and its server's.
func (p *Peer) Processes() []int {
	if p.cmd == nil {
		return nil
	}
	return append([]int{p.cmd.Process.Pid}, p.servers...)
}

// Versions are the peer's packages and their versions.
func (p *Peer) Versions() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(p.versions)) {
		out = append(out, name+" "+p.versions[name])
	}
	return out
}

// Run has the peer do the work once.
func (p *Peer) Run(context.Context) (Pass, error) {
	if _, err := io.WriteString(p.in, "run\n"); err != nil {
		return Pass{}, err
	}
	var answer struct {
		Seconds float64
		LogP    [][]*float64
	}
	if err := p.hear(&answer); err != nil {
		return Pass{}, err
	}
	return Pass{Seconds: answer.Seconds, LogP: answer.LogP}, nil
}

// Close ends the peer's process.
func (p *Peer) Close() {
	if p.cmd != nil {
		_ = p.in.Close() // its end: it stops reading
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	os.RemoveAll(p.dir)
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
