// Package integration_test compares package openai, on real servers, with the
// embedded engine on the same weights. The tests are skipped unless MODELLOG_LLAMA_CPP
// names a Python that has lm/openai/testserver/requirements.txt; lm/openai/testserver/run
// makes one and sets it. vLLM, which needs a PyTorch of its own, is not among them.
package integration_test

import (
	"bytes"
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

// The kinds of servers.
const (
	python = "llama-cpp-python"
	llama  = "llama-server"
)

// slots is how many prompts a llama-server computes at a time. With more than one, what is
// computed together changes last digits.
const slots = "1"

type server struct {
	address string
	cmd     *exec.Cmd
	log     *lockedBuffer
	done    chan struct{} // closed when the process is gone
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

// start starts a server of a kind with the weights of r, which it calls alias, and more flags of llama-cpp-python's.
func start(t testing.TB, kind string, r modeltest.Reference, alias string, flags ...string) *server {
	t.Helper()
	program := os.Getenv("MODELLOG_LLAMA_CPP")
	if program == "" {
		t.Skip("MODELLOG_LLAMA_CPP does not name a Python with llama-cpp-python[server] and xllamacpp; make test-openai makes one and runs this")
	}
	path, err := filepath.Abs(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	s := &server{address: "http://127.0.0.1:" + port, log: &lockedBuffer{}, done: make(chan struct{})}
	if kind == python {
		s.cmd = exec.Command(program, append([]string{"-m", "llama_cpp.server", "--model", path, "--model_alias", alias, "--port", port, "--n_threads", "1", "--n_threads_batch", "1", "--n_ctx", "512", "--logits_all", "true"}, flags...)...)
	} else {
		script, err := filepath.Abs("../testserver/llamaserver.py")
		if err != nil {
			t.Fatal(err)
		}
		s.cmd = exec.Command(program, script, path, port, slots, alias)
	}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait() // it is killed, so there is always an error
	}()
	t.Cleanup(s.kill)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(s.address + "/v1/models"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s
			}
		}
		select {
		case <-s.done:
			t.Fatalf("the server ended at once:\n%s", s.log)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("the server does not answer:\n%s", s.log)
		}
	}
}

// kill ends the server as kill -9 does.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// say prints a measurement, which is worth reading when all is well, too.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
