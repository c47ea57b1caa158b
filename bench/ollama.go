package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// Server is an Ollama server with a folder of its own, on a free port of this machine.
type Server struct {
	Address string // HOST:PORT
	Version string

	client *api.Client
	cmd    *exec.Cmd
	done   chan struct{} // closed when the process is gone
	log    *tail
	dir    string
}

// StartServer starts the Ollama server whose program is at path.
func StartServer(ctx context.Context, path string) (*Server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{Address: free.Addr().String(), done: make(chan struct{}), log: &tail{most: 2000}}
	free.Close()
	if s.dir, err = os.MkdirTemp("", "modellog-bench-"); err != nil {
		return nil, err
	}
	s.client = api.NewClient(&url.URL{Scheme: "http", Host: s.Address}, http.DefaultClient)
	s.cmd = exec.Command(path, "serve")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OLLAMA_") && !strings.HasPrefix(v, "HOME=") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Env = append(s.cmd.Env, "HOME="+s.dir, "OLLAMA_HOST="+s.Address, "OLLAMA_MODELS="+filepath.Join(s.dir, "models"))
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		os.RemoveAll(s.dir)
		return nil, err
	}
	go func() {
		_ = s.cmd.Wait() // it is ended by a signal, so there is always an error
		close(s.done)
	}()
	if err := s.answers(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// answers waits until the server answers.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		var err error
		if s.Version, err = s.client.Version(ctx); err == nil {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("the server ended at once: %s", s.log.lastLine())
		case <-ctx.Done():
			return errors.New("the server does not answer")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Create gives the server a model: the weights in a file whose SHA-256 is known.
func (s *Server) Create(ctx context.Context, name, path, sha256 string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	digest := "sha256:" + sha256
	if err := s.client.CreateBlob(ctx, digest, f); err != nil {
		return fmt.Errorf("uploading the weights: %w", err)
	}
	req := &api.CreateRequest{Model: name, Files: map[string]string{"model.gguf": digest}}
	if err := s.client.Create(ctx, req, func(api.ProgressResponse) error { return nil }); err != nil {
		return fmt.Errorf("creating the model: %w", err)
	}
	return nil
}

// Close ends the server, and with it the process that it runs a model in.
func (s *Server) Close() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
	os.RemoveAll(s.dir)
}
