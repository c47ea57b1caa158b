package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

//go:embed peers/peers.py
var program []byte

// Peer is another program that does the work, in a process of its own.
type Peer struct {
	name, setting string
	versions      map[string]string
	process       *Process
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
	p := &Peer{name: o.Name}
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
	// Nothing is asked of a hub of models; the weights are here.
	env := []string{"HF_HUB_OFFLINE=1", "TRANSFORMERS_OFFLINE=1", "TOKENIZERS_PARALLELISM=false", "OMP_NUM_THREADS=" + strconv.Itoa(o.Threads)}
	if p.process, err = StartProcess(ctx, o.Python, args, env); err != nil {
		return err
	}
	var ready struct {
		Versions map[string]string
		Setting  string
	}
	if err := p.process.Hear(&ready); err != nil {
		return err
	}
	p.versions, p.setting = ready.Versions, ready.Setting
	return nil
}

// Name is the peer's name in tables.
func (p *Peer) Name() string { return p.name }

// Setting is how the peer does the work.
func (p *Peer) Setting() string { return p.setting }

// Processes are the peer's own and its server's.
func (p *Peer) Processes() []int {
	return append(p.process.IDs(), p.servers...)
}

// Versions are the peer's packages and their versions.
func (p *Peer) Versions() []string { return Versions(p.versions) }

// Versions are packages with their versions, as results name them.
func Versions(of map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		out = append(out, name+" "+of[name])
	}
	return out
}

// Run has the peer do the work once.
func (p *Peer) Run(context.Context) (Pass, error) {
	if err := p.process.Say("run"); err != nil {
		return Pass{}, err
	}
	var answer struct {
		Seconds float64
		LogP    [][]*float64
	}
	if err := p.process.Hear(&answer); err != nil {
		return Pass{}, err
	}
	return Pass{Seconds: answer.Seconds, LogP: answer.LogP}, nil
}

// Close ends the peer's process.
func (p *Peer) Close() {
	if p.process != nil {
		p.process.Close()
	}
	os.RemoveAll(p.dir)
}
