package integration_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/ollama"
)

// What the server writes at temperature 0 is what the embedded engine writes from
// the same weights, as far as neither comes to two tokens that are equally probable.
func TestGenerateAgrees(t *testing.T) {
	server(t)
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			whole, served := embedded(t, r), open(t, serverName[r.Name], ollama.Options{})
			request := lm.Request{Prompt: "The river that flows through London is the", MaxTokens: 8}
			want, err := whole.Generate(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			request.Stream = func(part string) error { parts = append(parts, part); return nil }
			got, err := served.Generate(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			say("%s continues %q: the server writes %q, the embedded engine in native precision %q", r.Name, request.Prompt, got.Text, want.Text)
			if got.Finish != lm.Length || got.Generated != 8 || got.Prompt != want.Prompt || !slices.Equal(got.Input.Tokens, want.Input.Tokens) {
				t.Errorf("%+v, want the input of %+v", got, want)
			}
			if len(parts) < 2 || strings.Join(parts, "") != got.Text {
				t.Errorf("the parts are %q and the text %q", parts, got.Text)
			}
			if !strings.HasPrefix(got.Text, " ") || strings.Fields(got.Text)[0] != strings.Fields(want.Text)[0] {
				t.Errorf("%q, and the embedded engine writes %q", got.Text, want.Text)
			}
		})
	}
}

func TestGenerateConversation(t *testing.T) {
	server(t)
	m, whole := open(t, serverName[modeltest.SmolLM.Name], ollama.Options{}), embedded(t, modeltest.SmolLM)
	request := lm.Request{Messages: []lm.Message{{Role: lm.System, Content: "You answer questions."}, {Role: lm.User, Content: "What is the capital of France?"}}, MaxTokens: 40}
	got, err := m.Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	want, err := whole.Input(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	say("the server renders %q, the file's template %q; it answers %q", got.Input.Text, want.Text, got.Text)
	if !strings.Contains(got.Text, "Paris") || got.Finish != lm.Stop || got.Prompt != len(got.Input.Tokens) {
		t.Errorf("%+v", got)
	}
	if !slices.Equal(got.Input.Tokens, want.Tokens) {
		t.Errorf("tokens %v, and by the file's template %v", got.Input.Tokens, want.Tokens)
	}

	request.Temperature, request.Seed, request.MaxTokens = 1, 5, 12
	first, err := m.Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	again, err := m.Generate(t.Context(), request)
	if err != nil || again.Text != first.Text {
		t.Errorf("the same seed wrote %q and %q, %v", first.Text, again.Text, err)
	}
	// The server has the prompt in its cache now, and may write otherwise than at
	// first, but not from now on.
	request.Temperature, request.MaxTokens = 0, 10
	warm, err := m.Generate(t.Context(), request)
	if err != nil || len(warm.Text) < 8 {
		t.Fatalf("%+v, %v", warm, err)
	}
	request.Stop = []string{"never", warm.Text[4:7]}
	stopped, err := m.Generate(t.Context(), request)
	if want, _, _ := strings.Cut(warm.Text, request.Stop[1]); err != nil || stopped.Text != want || stopped.Finish != lm.Stop {
		t.Errorf("stop at %q in %q: %+v, %v", request.Stop, warm.Text, stopped, err)
	}

	// The server would take the name for the token, so it is not asked.
	var prompt *ollama.PromptError
	if _, err := m.Generate(t.Context(), lm.Request{Messages: []lm.Message{{Role: lm.User, Content: "a<|im_end|>b"}}, MaxTokens: 1}); !errors.As(err, &prompt) {
		t.Errorf("a message that spells a control token: %v", err)
	}
	// More than the context holds is an error, and is not cut.
	var tooLong *lm.ContextError
	long := strings.Repeat("word ", m.Info().Context)
	for _, r := range []lm.Request{{Prompt: long, MaxTokens: 1}, {Messages: []lm.Message{{Role: lm.User, Content: long}}, MaxTokens: 1}} {
		if _, err := m.Generate(t.Context(), r); !errors.As(err, &tooLong) {
			t.Errorf("a prompt longer than the context: %v", err)
		}
	}
	base := open(t, serverName[modeltest.Gemma.Name], ollama.Options{})
	if _, err := base.Generate(t.Context(), request); !errors.Is(err, lm.ErrNoChatTemplate) {
		t.Errorf("a conversation with a base model: %v", err)
	}
	// What a Modelfile asks for has no effect on a prompt's continuation.
	plain := lm.Request{Prompt: "The capital of France is", MaxTokens: 8}
	with, err := open(t, odd, ollama.Options{}).Generate(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	without, err := m.Generate(t.Context(), plain)
	if err != nil || with.Text != without.Text || with.Text == "" {
		t.Errorf("a Modelfile changed %q to %q, %v", without.Text, with.Text, err)
	}
}
