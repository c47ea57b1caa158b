package preference

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/servers"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/ollama"
	"github.com/modellog/modellog/lm/openai"
)

// Chains of thought of an OpenAI-compatible server, llama-cpp-python's.
func TestCoTOfOpenAI(t *testing.T) {
	s := servers.Llama(t, servers.LlamaCppPython, modeltest.SmolLM, "small", "--logits_all", "false")
	testServed(t, func(ctx context.Context, _ string) (lm.Model, error) {
		return openai.Open(ctx, s.URL(), "", openai.Options{})
	})
}

// Chains of thought of an Ollama server.
func TestCoTOfOllama(t *testing.T) {
	program := os.Getenv("MODELLOG_OLLAMA")
	if program == "" {
		t.Skip("MODELLOG_OLLAMA does not name an Ollama server's program; run: make test-ollama")
	}
	r := modeltest.SmolLM
	f, err := os.Open(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	s, err := servers.Start("/", func(host, port string) *exec.Cmd {
		cmd := exec.Command(program, "serve")
		cmd.Env = append(os.Environ(), "HOME="+dir, "OLLAMA_HOST="+net.JoinHostPort(host, port), "OLLAMA_MODELS="+filepath.Join(dir, "models"), "OLLAMA_NUM_PARALLEL=1")
		return cmd
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	t.Setenv("OLLAMA_HOST", s.Address)
	client := api.NewClient(&url.URL{Scheme: "http", Host: s.Address}, http.DefaultClient)
	digest := "sha256:" + r.SHA256
	if err := client.CreateBlob(t.Context(), digest, f); err != nil {
		t.Fatal(err)
	}
	// The engine's threads wait for each other by spinning, which takes forever on a busy machine.
	request := &api.CreateRequest{Model: "small", Files: map[string]string{"model.gguf": digest}, Parameters: map[string]any{"num_thread": 1}}
	if err := client.Create(t.Context(), request, func(api.ProgressResponse) error { return nil }); err != nil {
		t.Fatal(err)
	}
	testServed(t, func(ctx context.Context, name string) (lm.Model, error) {
		return ollama.Open(ctx, name, ollama.Options{})
	})
}

// testServed judges a pair of items by chains of thought that a server writes. What the run has of a sample is what
// the server writes for its seed, and a second run has the same.
func testServed(t *testing.T, open func(context.Context, string) (lm.Model, error)) {
	data := ownData(t)
	data.Instances = data.Instances[:1]
	o := RunOptions{Ask: Ask{Prompts: sayPrompts(t), Style: answers.Chat, NoNegated: true, CoT: &Sampling{Samples: 3, MaxTokens: 16, Temperature: 0.7, Seed: 5}}}
	o.Measure.Bootstrap.Resamples = 10
	run := func() *Result {
		t.Helper()
		results, err := Run(t.Context(), Machine{Open: open}, []string{"small"}, data, t.TempDir(), o)
		if err != nil {
			t.Fatal(err)
		}
		return results[0]
	}
	run() // a server that has a prompt in its cache may write otherwise than at first, and from then on the same
	r := run()
	if len(r.Rows) != 2 || len(r.Samples) != 6 || r.Style != answers.Chat {
		t.Fatalf("%d rows, %d samples, %s", len(r.Rows), len(r.Samples), r.Style)
	}
	m, err := open(t.Context(), "small")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	in := data.Instances[0]
	texts := map[string]string{in.Items[0].ID: in.Items[0].Text, in.Items[1].ID: in.Items[1].Text}
	parser := newAnswerParser(o.Prompts.CoT)
	for i, s := range r.Samples {
		message := fill(o.Prompts.CoT, "", texts[s.First], texts[s.Second], o.Prompts.Questions[0].Relation)
		got, err := m.(lm.Generator).Generate(t.Context(), lm.Request{Messages: []lm.Message{{Role: lm.User, Content: message}}, MaxTokens: 16, Temperature: 0.7, Seed: s.Seed})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s before %s, seed %d: %q, answer %q", s.First, s.Second, s.Seed, got.Text, s.Answer)
		if parser.parse(got.Text) != s.Answer || got.Generated != s.Tokens || s.Tokens < 1 || got.Finish != s.Finish {
			t.Errorf("sample %d is %+v; written again %q, %d tokens, %s", i, s, got.Text, got.Generated, got.Finish)
		}
	}
	for i, row := range r.Rows {
		var v Votes
		for _, s := range r.Samples[3*i : 3*i+3] {
			switch s.Answer {
			case "A":
				v.A++
			case "B":
				v.B++
			default:
				v.Unparsed++
			}
		}
		if *row.Votes != v || (row.Status == StatusJudged) != (v.A+v.B > 0) {
			t.Errorf("%+v, votes %+v; want %+v", row, row.Votes, v)
		}
	}
	again := run()
	for i, s := range again.Samples {
		if *s != *r.Samples[i] {
			t.Errorf("sample %d is %+v, and was %+v", i, s, r.Samples[i])
		}
	}
}
