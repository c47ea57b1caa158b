package openai

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// llamaServer starts llama-cpp-python's server. $MODELLOG_LLAMA_CPP names a Python
// program that has the package llama-cpp-python[server].
func llamaServer(t *testing.T, r modeltest.Reference) (address string) {
	t.Helper()
	python := os.Getenv("MODELLOG_LLAMA_CPP")
	if python == "" {
		t.Skip("MODELLOG_LLAMA_CPP does not name a Python with llama-cpp-python[server] (pip install 'llama-cpp-python[server]')")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	free.Close()
	path, err := filepath.Abs(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-m", "llama_cpp.server", "--model", path, "--model_alias", "small", "--port", port, "--n_threads", "1", "--n_ctx", "512")
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // it is killed, so there is always an error
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	address = "http://127.0.0.1:" + port
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if resp, err := http.Get(address + "/v1/models"); err == nil {
			resp.Body.Close()
			return address
		}
		select {
		case <-done:
			t.Fatalf("the server ended at once:\n%s", log.String())
		default:
		}
		if time.Now().After(end) {
			t.Fatal("the server does not answer")
		}
	}
}

func TestLlamaServer(t *testing.T) {
	m, err := Open(t.Context(), llamaServer(t, modeltest.SmolLM), "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Info().Name != "small" {
		t.Errorf("%+v", m.Info())
	}
	chat := lm.Request{Messages: []lm.Message{{Role: lm.System, Content: "You answer questions."}, {Role: lm.User, Content: "What is the capital of France?"}}, MaxTokens: 30}
	var parts []string
	for _, stream := range []func(string) error{nil, func(part string) error { parts = append(parts, part); return nil }} {
		chat.Stream = stream
		got, err := m.Generate(t.Context(), chat)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("llama-cpp-python answers %q, %+v\n", got.Text, got)
		if !strings.Contains(got.Text, "France") || got.Finish == "" {
			t.Errorf("%+v", got)
		}
		if stream != nil && (len(parts) < 2 || strings.Join(parts, "") != got.Text) {
			t.Errorf("the parts are %q", parts)
		}
		// The protocol's conversation has the tokens of the file's template.
		if stream == nil && got.Prompt != 25 {
			t.Errorf("%d tokens of input, want 25", got.Prompt)
		}
	}
	plain := lm.Request{Prompt: "The river that flows through London is the", MaxTokens: 8}
	first, err := m.Generate(t.Context(), plain)
	if err != nil || first.Finish != lm.Length || !strings.HasPrefix(first.Text, " ") {
		t.Errorf("%+v, %v", first, err)
	}
	plain.Temperature, plain.Seed = 1, 4
	one, err := m.Generate(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	two, err := m.Generate(t.Context(), plain)
	if err != nil || one.Text != two.Text {
		t.Errorf("one seed wrote %q and %q, %v", one.Text, two.Text, err)
	}
	var status *StatusError
	if got, err := m.Generate(t.Context(), lm.Request{Prompt: strings.Repeat("word ", 600), MaxTokens: 2}); !errors.As(err, &status) || status.Status != 400 {
		t.Errorf("a prompt longer than the server's context: %+v, %v", got, err)
	}
}
