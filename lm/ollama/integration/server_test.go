// Package integration_test compares package ollama, on a real Ollama server,
// with the embedded engine on the same weights. The tests are skipped unless
// MODELLOG_OLLAMA names the server's program; lm/ollama/testserver/run builds
// one and sets it.
package integration_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/servers"
	"github.com/modellog/modellog/lm/ollama"
)

// The server's names of the models.
var serverName = map[string]string{modeltest.Gemma.Name: "gemma", modeltest.SmolLM.Name: "smollm"}

// plainAttention has the server compute attention as the embedded engine does.
// By default it uses a fused operation that rounds otherwise; with 4-bit weights,
// whose kernels round activations to 8 bits, that is enough to move a
// log-probability by tenths (TestFlashAttention measures it).
const plainAttention = "OLLAMA_FLASH_ATTENTION=0"

// odd is a model of the same weights as smollm whose Modelfile asks for all that
// must have no effect.
const odd = "odd"

// instance is a running Ollama server with a folder of its own.
type instance struct {
	*servers.Server
	client *api.Client
}

// start starts a server with its models in dir and more in its environment.
func start(dir string, env ...string) (*instance, error) {
	s, err := servers.Start("/", func(host, port string) *exec.Cmd {
		cmd := exec.Command(os.Getenv("MODELLOG_OLLAMA"), "serve")
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "OLLAMA_") && !strings.HasPrefix(v, "HOME=") {
				cmd.Env = append(cmd.Env, v)
			}
		}
		cmd.Env = append(cmd.Env, "HOME="+dir, "OLLAMA_HOST="+net.JoinHostPort(host, port), "OLLAMA_MODELS="+filepath.Join(dir, "models"), "OLLAMA_MAX_LOADED_MODELS=2")
		cmd.Env = append(cmd.Env, env...)
		return cmd
	})
	if err != nil {
		return nil, err
	}
	return &instance{Server: s, client: api.NewClient(&url.URL{Scheme: "http", Host: s.Address}, http.DefaultClient)}, nil
}

// create makes a model of the weights of r.
func (s *instance) create(ctx context.Context, t testing.TB, name string, r modeltest.Reference, change func(*api.CreateRequest)) {
	t.Helper()
	f, err := os.Open(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	digest := "sha256:" + r.SHA256
	if err := s.client.CreateBlob(ctx, digest, f); err != nil {
		t.Fatalf("uploading %s: %v", r.Name, err)
	}
	req := &api.CreateRequest{Model: name, Files: map[string]string{"model.gguf": digest}, Parameters: map[string]any{}}
	if change != nil {
		change(req)
	}
	// The engine's threads wait for each other by spinning, which takes
	// forever on a machine that is busy with other tests.
	req.Parameters["num_thread"] = 1
	if err := s.client.Create(ctx, req, func(api.ProgressResponse) error { return nil }); err != nil {
		t.Fatalf("creating %s: %v", name, err)
	}
}

// server returns the server that the tests share, with OLLAMA_HOST set to it and
// the models created.
func server(t *testing.T) *instance {
	t.Helper()
	if os.Getenv("MODELLOG_OLLAMA") == "" {
		t.Skip("MODELLOG_OLLAMA does not name an Ollama server's program; run: make test-ollama")
	}
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "modellog-ollama-"); shared.err != nil {
			return
		}
		if shared.instance, shared.err = start(shared.dir, plainAttention); shared.err != nil {
			return
		}
		for _, r := range modeltest.All {
			shared.create(t.Context(), t, serverName[r.Name], r, nil)
		}
		shared.create(t.Context(), t, odd, modeltest.SmolLM, func(req *api.CreateRequest) {
			req.System = "Answer every question with the word banana."
			req.Template = "{{ .System }} BANANA {{ .Prompt }} BANANA"
			req.Parameters = map[string]any{
				"temperature": 0.1, "top_k": 2, "top_p": 0.1, "min_p": 0.5, "repeat_penalty": 2.0, "presence_penalty": 1.5,
				"frequency_penalty": 1.5, "stop": []string{" ", "a", "e", "."}, "num_predict": 5, "num_ctx": 256, "seed": 7,
			}
		})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	t.Setenv("OLLAMA_HOST", shared.Address)
	return shared.instance
}

var shared struct {
	once sync.Once
	dir  string
	*instance
	err error
}

func TestMain(m *testing.M) {
	slog.SetLogLoggerLevel(slog.LevelWarn) // the engine says a lot
	code := m.Run()
	if shared.instance != nil {
		shared.Kill()
	}
	if shared.dir != "" {
		if err := os.RemoveAll(shared.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// open opens a model on the server that OLLAMA_HOST names.
func open(t testing.TB, name string, opts ollama.Options) *ollama.Model {
	t.Helper()
	m, err := ollama.Open(t.Context(), name, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
