package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// answer is what a client sees of an answer.
type answer struct {
	ID, Object, Model string
	Choices           []struct {
		Index        int
		Text         string
		FinishReason *string `json:"finish_reason"`
		LogProbs     *struct {
			Tokens        []string
			TokenLogProbs []*float64           `json:"token_logprobs"`
			TopLogProbs   []map[string]float64 `json:"top_logprobs"`
			TextOffset    []int                `json:"text_offset"`
		}
		PromptLogProbs []map[string]struct {
			LogProb float64 `json:"logprob"`
			Rank    *int
			Text    string `json:"decoded_token"`
		} `json:"prompt_logprobs"`
		PromptTokenIDs []lm.Token `json:"prompt_token_ids"`
		TokenIDs       []lm.Token `json:"token_ids"`
	}
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
	}
}

// start serves models at an address of this machine until the test ends.
func start(t testing.TB, o Options, models ...lm.Model) (s *Server, address string) {
	t.Helper()
	s, err := New(models, o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		s.Close()
	})
	return s, h.URL
}

// post sends a request and returns the answer's status, body and header.
func post(t testing.TB, address, body string, header ...string) (int, []byte, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, data, resp.Header
}

// ask sends a request that is answered.
func ask(t testing.TB, address string, request map[string]any) (a answer) {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	status, data, _ := post(t, address+"/v1/completions", string(body))
	if status != http.StatusOK {
		t.Fatalf("%s: status %d: %s", body, status, data)
	}
	if err := json.Unmarshal(data, &a); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return a
}

// TestConcurrent has clients ask at once: each gets its own numbers, and more than one is read at a time.
func TestConcurrent(t *testing.T) {
	const clients = 24
	m := modeltest.NewBigram(modeltest.Corpus, 0)
	s, address := start(t, Options{Limits: Limits{Batch: 16, Gather: 20 * time.Millisecond}}, m)
	reference := modeltest.NewBigram(modeltest.Corpus, 0)
	texts := []string{"A dog is a mammal", "A robin is not a mammal. Every", "Every bird is an animal", "Answer yes", "A trout is", "zebra"}
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			one, two := texts[i%len(texts)], texts[(i+i/len(texts)+1)%len(texts)]
			body, _ := json.Marshal(map[string]any{"prompt": []string{one, two}, "echo": true, "max_tokens": 0, "logprobs": 0})
			resp, err := http.Post(address+"/v1/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			var a answer
			if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || len(a.Choices) != 2 {
				t.Errorf("%v, %+v", err, a)
				return
			}
			for k, text := range []string{one, two} {
				tokens, _ := reference.Tokenize(context.Background(), text)
				last := lm.Token(0)
				if len(a.Choices[k].LogProbs.TokenLogProbs) != len(tokens) {
					t.Errorf("%q: %d numbers of %d tokens", text, len(a.Choices[k].LogProbs.TokenLogProbs), len(tokens))
					return
				}
				for j, token := range tokens {
					// The corpus counted by hand, behind its beginning: float32 in between.
					if got, want := *a.Choices[k].LogProbs.TokenLogProbs[j], math.Log(reference.Next(last, token)); math.Abs(got-want) > 1e-5 {
						t.Errorf("%q, token %d: %v, want %v", text, j, got, want)
					}
					last = token
				}
			}
		})
	}
	wg.Wait()
	q := s.models[0].queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.Reads < 100 || q.round > m.Reads/4 {
		t.Errorf("%d prefixes were read in %d rounds", m.Reads, q.round)
	}
}

// TestBytes names tokens that are a part of a character.
func TestBytes(t *testing.T) {
	m := modeltest.NewBigram(modeltest.Corpus, 0)
	_, address := start(t, Options{}, m)
	a := ask(t, address, map[string]any{"prompt": "é日", "echo": true, "max_tokens": 0, "logprobs": 0})
	c := a.Choices[0]
	if want := []string{`bytes:\xc3`, `bytes:\xa9`, `bytes:\xe6`, `bytes:\x97`, `bytes:\xa5`}; !slices.Equal(c.LogProbs.Tokens, want) || c.Text != "é日" {
		t.Errorf("%q, %q", c.LogProbs.Tokens, c.Text)
	}
	if !slices.Equal(c.LogProbs.TextOffset, []int{0, 0, 1, 1, 1}) {
		t.Errorf("offsets %v", c.LogProbs.TextOffset)
	}
}

// TestTruncated serves a model that tells of a few tokens: what it does not tell is null, and not guessed.
func TestTruncated(t *testing.T) {
	m := modeltest.NewBigram(modeltest.Corpus, 3)
	_, address := start(t, Options{}, m)
	a := ask(t, address, map[string]any{"prompt": "A dog zebra", "echo": true, "max_tokens": 1, "temperature": 0, "logprobs": 2})
	l := a.Choices[0].LogProbs
	if got, want := *l.TokenLogProbs[1], math.Log(m.Next(m.IDs["A"], m.IDs[" dog"])); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if l.TokenLogProbs[2] != nil || len(l.TopLogProbs[2]) != 2 {
		t.Errorf("a token that is not told of has %v, beside %v", l.TokenLogProbs[2], l.TopLogProbs[2])
	}
	status, data, _ := post(t, address+"/v1/completions", `{"prompt":"A dog","max_tokens":2}`)
	if status != http.StatusBadRequest || !strings.Contains(string(data), "token by token") {
		t.Errorf("status %d: %s", status, data)
	}
}

// TestBareTokens warns once where tokens lack their beginning.
func TestBareTokens(t *testing.T) {
	var warned []string
	_, address := start(t, Options{Warn: func(message string) { warned = append(warned, message) }}, modeltest.NewBigram(modeltest.Corpus, 0))
	for _, prompt := range []any{"A dog", []int{0, 257}, []int{257}, []int{258}} {
		ask(t, address, map[string]any{"prompt": prompt, "max_tokens": 0})
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "beginning-of-sequence token 0") {
		t.Errorf("%q", warned)
	}
}
