//go:build unix

// Package servers starts real servers of models for tests, each on a free port and in a process group of its own.
package servers

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modellog/modellog/internal/modeltest"
)

// Server is a server that runs.
type Server struct {
	Address string // host and port
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process is gone
}

// Start starts the command that is made for a free port, and returns when the page is there. The error of a server
// that does not come up has what it wrote.
func Start(page string, command func(host, port string) *exec.Cmd) (*Server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	s := &Server{Address: address, cmd: command(host, port), done: make(chan struct{})}
	log := &lockedBuffer{}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a server may start others
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait() // it is killed, so there is always an error
	}()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		if resp, err := http.Get(s.URL() + page); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		select {
		case <-s.done:
			return nil, fmt.Errorf("the server ended at once:\n%s", log)
		case <-time.After(50 * time.Millisecond):
		}
	}
	s.Kill()
	return nil, fmt.Errorf("the server does not answer:\n%s", log)
}

// URL is the server's address as a URL.
func (s *Server) URL() string { return "http://" + s.Address }

// Kill ends the server and what it started, as kill -9 does.
func (s *Server) Kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.done
}

// The kinds of llama.cpp's servers.
const (
	LlamaCppPython = "llama-cpp-python"
	LlamaServer    = "llama-server"
)

//go:embed llamaserver.py
var llamaServer string

// slots is how many prompts a llama-server computes at a time. With more than one, what is
// computed together changes last digits.
const slots = "1"

// ErrNoLlama is returned where no Python is named that has the servers.
var ErrNoLlama = errors.New("MODELLOG_LLAMA_CPP does not name a Python with llama-cpp-python[server] and xllamacpp; make test-openai makes one and runs this")

// StartLlama starts a server of a kind with the weights at path, which it calls alias (llama-cpp-python's without one
// by their path), and more flags of llama-cpp-python's.
func StartLlama(kind, path, alias string, flags ...string) (*Server, error) {
	python := os.Getenv("MODELLOG_LLAMA_CPP")
	if python == "" {
		return nil, ErrNoLlama
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return Start("/v1/models", func(_, port string) *exec.Cmd {
		if kind == LlamaServer {
			return exec.Command(python, "-c", llamaServer, path, port, slots, alias)
		}
		args := []string{"-m", "llama_cpp.server", "--model", path, "--port", port, "--n_threads", "1", "--n_threads_batch", "1", "--n_ctx", "512", "--logits_all", "true"}
		if alias != "" {
			args = append(args, "--model_alias", alias)
		}
		return exec.Command(python, append(args, flags...)...)
	})
}

// Llama starts a server as [StartLlama] does, until the test ends; without a Python that has one the test is skipped.
func Llama(t testing.TB, kind string, r modeltest.Reference, alias string, flags ...string) *Server {
	t.Helper()
	s, err := StartLlama(kind, r.Path(t), alias, flags...)
	if errors.Is(err, ErrNoLlama) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

//go:embed vllmweights.py
var vllmWeights string

// VLLM starts a vLLM server with the weights of a file in float32, until the test ends; without a Python that has
// vLLM the test is skipped. Weights is a folder for them, where they are kept for the next.
func VLLM(t testing.TB, r modeltest.Reference, weights, alias string, flags ...string) *Server {
	t.Helper()
	python := os.Getenv("MODELLOG_VLLM")
	if python == "" {
		t.Skip("MODELLOG_VLLM does not name a Python with vLLM; make test-vllm makes one and runs this")
	}
	if _, err := os.Stat(filepath.Join(weights, "config.json")); err != nil {
		if out, err := exec.Command(python, "-c", vllmWeights, r.Path(t), weights).CombinedOutput(); err != nil {
			t.Fatalf("%v:\n%s", err, out)
		}
	}
	s, err := Start("/v1/models", func(host, port string) *exec.Cmd {
		args := []string{"-m", "vllm.entrypoints.openai.api_server", "--model", weights, "--served-model-name", alias, "--dtype", "float32", "--max-model-len", "512", "--enforce-eager", "--host", host, "--port", port}
		cmd := exec.Command(python, append(args, flags...)...)
		// A gigabyte for keys and values; no processor of its own for each thread; nothing is asked of other machines.
		cmd.Env = append(os.Environ(), "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_CPU_OMP_THREADS_BIND=nobind", "HF_HUB_OFFLINE=1", "VLLM_NO_USAGE_STATS=1")
		return cmd
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
