package integration_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/servers"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/openai"
)

// llama-cpp-python's server writes.
func TestGenerate(t *testing.T) {
	m, err := openai.Open(t.Context(), servers.Llama(t, servers.LlamaCppPython, modeltest.SmolLM, "small").URL(), "", openai.Options{})
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
		say("llama-cpp-python answers %q, %+v", got.Text, got)
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
	var status *openai.StatusError
	if got, err := m.Generate(t.Context(), lm.Request{Prompt: strings.Repeat("word ", 600), MaxTokens: 2}); !errors.As(err, &status) || status.Status != 400 {
		t.Errorf("a prompt longer than the server's context: %+v, %v", got, err)
	}
}
