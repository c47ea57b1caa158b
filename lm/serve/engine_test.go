//go:build cgo && !race

package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
)

// These are of the real models. The race detector's build of the engine takes long, and it sees nothing of what the engine does.

const text = "The river that flows through London is the Thames, and 日本 has the Tone."

// TestEcho compares all of an echo with the model's own readings: they are the same numbers.
func TestEcho(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m := engine.Open(t, r)
			_, address := start(t, Options{}, m)
			own, err := m.Tokenize(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			given, err := lm.Prompt(m, own)
			if err != nil {
				t.Fatal(err)
			}
			bos := len(given) - len(own)
			want := direct(t, m, given)
			const depth = 5
			a := ask(t, address, map[string]any{"model": r.Name, "prompt": text, "echo": true, "max_tokens": 1, "temperature": 0, "logprobs": depth, "prompt_logprobs": 2, "seed": 1234, "return_token_ids": true})
			c := a.Choices[0]
			if len(a.Choices) != 1 || !slices.Equal(c.PromptTokenIDs, given) || len(c.TokenIDs) != 1 || a.Usage.Prompt != len(given) || a.Usage.Completion != 1 || a.Usage.Total != len(given)+1 || *c.FinishReason != "length" {
				t.Fatalf("%+v", a)
			}
			// What follows is the most probable token.
			next := slices.Index(want[len(given)-1], slices.Max(want[len(given)-1]))
			if int(c.TokenIDs[0]) != next || c.Text != text+string(m.Piece(lm.Token(next))) {
				t.Errorf("token %v and %q follow, want %d", c.TokenIDs, c.Text, next)
			}
			l := c.LogProbs
			if len(l.Tokens) != len(own)+1 || len(l.TokenLogProbs) != len(own)+1 || len(l.TopLogProbs) != len(own)+1 || len(l.TextOffset) != len(own)+1 {
				t.Fatalf("%d names, %d numbers, %d rankings, %d offsets of %d tokens", len(l.Tokens), len(l.TokenLogProbs), len(l.TopLogProbs), len(l.TextOffset), len(own))
			}
			var joined []byte
			for i, token := range append(slices.Clone(given), lm.Token(next))[bos:] {
				piece := m.Piece(token)
				if at := l.TextOffset[i]; at != len([]rune(strings.ToValidUTF8(string(joined), ""))) {
					t.Errorf("token %d is said to begin at %d, behind %q", i, at, joined)
				}
				joined = append(joined, piece...)
				if name := l.Tokens[i]; utf8.Valid(piece) && name != string(piece) || !utf8.Valid(piece) && name != fmt.Sprintf(`bytes:%s`, strings.ReplaceAll(fmt.Sprintf(" % x", piece), " ", `\x`)) {
					t.Errorf("token %d is called %q, and is %q", i, l.Tokens[i], piece)
				}
				if i+bos == 0 {
					if l.TokenLogProbs[0] != nil || l.TopLogProbs[0] != nil {
						t.Error("nothing is before the first token, and it has a number")
					}
					continue
				}
				p := want[i+bos-1]
				if got := l.TokenLogProbs[i]; got == nil || *got != p[token] {
					t.Errorf("token %d, %q: %v, want %v", i, piece, got, p[token])
				}
				checkTop(t, m, l.TopLogProbs[i], p, token, depth)
				if i+bos == len(given) {
					continue
				}
				ranked := c.PromptLogProbs[i+bos][fmt.Sprint(token)]
				if ranked.LogProb != p[token] || *ranked.Rank != rank(p, token) {
					t.Errorf("token %d, %q: %+v, want %v and rank %d", i, piece, ranked, p[token], rank(p, token))
				}
				for id, e := range c.PromptLogProbs[i+bos] {
					var other lm.Token
					fmt.Sscan(id, &other)
					if p[other] != e.LogProb || rank(p, other) != *e.Rank || other != token && *e.Rank > 2 {
						t.Errorf("token %d: beside it is %s %+v, want %v, rank %d", i, id, e, p[other], rank(p, other))
					}
				}
			}
			if len(c.PromptLogProbs) != len(given) || c.PromptLogProbs[0] != nil {
				t.Errorf("%d prompt_logprobs, the first %v", len(c.PromptLogProbs), c.PromptLogProbs[0])
			}
			// As tokens, it is the same text.
			again := ask(t, address, map[string]any{"prompt": given, "echo": true, "max_tokens": 0, "logprobs": depth})
			for i, p := range again.Choices[0].LogProbs.TokenLogProbs[bos:] {
				if q := l.TokenLogProbs[i]; p == nil != (q == nil) || p != nil && math.Abs(*p-*q) > 0.005 {
					t.Errorf("as tokens, token %d has %v, not %v", i, p, q)
				}
			}
			if again.Choices[0].Text != text || *again.Choices[0].FinishReason != "length" || again.Usage.Completion != 0 {
				t.Errorf("%+v", again)
			}
		})
	}
}

func rank(p []float64, token lm.Token) int {
	n := 1
	for i, x := range p {
		if x > p[token] || x == p[token] && i < int(token) {
			n++
		}
	}
	return n
}

// checkTop compares a ranking with a sort of all tokens.
func checkTop(t *testing.T, m lm.Model, got map[string]float64, p []float64, token lm.Token, depth int) {
	t.Helper()
	order := make([]lm.Token, len(p))
	for i := range order {
		order[i] = lm.Token(i)
	}
	slices.SortStableFunc(order, func(a, b lm.Token) int {
		switch {
		case p[a] > p[b]:
			return -1
		case p[a] < p[b]:
			return 1
		}
		return 0
	})
	want := map[string]float64{}
	for _, t := range append(order[:depth:depth], token) {
		name := string(m.Piece(t))
		if !utf8.ValidString(name) {
			continue // has its own test
		}
		if _, there := want[name]; !there {
			want[name] = p[t]
		}
	}
	for name, x := range want {
		if got[name] != x {
			t.Errorf("%q has %v, want %v", name, got[name], x)
		}
	}
	if len(got) > depth+1 {
		t.Errorf("%d tokens are listed", len(got))
	}
}

// TestWholeVocabulary asks for all there is: it is a distribution.
func TestWholeVocabulary(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	_, address := start(t, Options{}, m)
	for _, depth := range []int{-1, m.Info().Vocabulary} {
		a := ask(t, address, map[string]any{"prompt": "A robin is a", "max_tokens": 1, "temperature": 0, "logprobs": depth, "return_tokens_as_token_ids": true})
		top, sum := a.Choices[0].LogProbs.TopLogProbs[0], 0.0
		for id, p := range top {
			var token int
			if _, err := fmt.Sscanf(id, "token_id:%d", &token); err != nil || token < 0 || token >= m.Info().Vocabulary {
				t.Fatalf("there is a token %q", id)
			}
			sum += math.Exp(p)
		}
		if len(top) != m.Info().Vocabulary || math.Abs(sum-1) > 1e-9 {
			t.Errorf("%d tokens with %v together", len(top), sum)
		}
	}
	status, data, _ := post(t, address+"/v1/completions", `{"prompt":"`+text+text+`","max_tokens":0,"echo":true,"logprobs":-1}`)
	if status != http.StatusBadRequest || !strings.Contains(string(data), "too_many_logprobs") {
		t.Errorf("status %d: %s", status, data)
	}
}

// TestTogether compares what a real model says to many at once with what it says to each alone.
func TestTogether(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	_, address := start(t, Options{Limits: Limits{Gather: 20 * time.Millisecond}}, m)
	_, alone := start(t, Options{Limits: Limits{Batch: 1}}, m)
	var wg sync.WaitGroup
	for _, p := range modeltest.Prompts[:5] {
		wg.Go(func() {
			q := map[string]any{"prompt": p.Prefix, "echo": true, "max_tokens": 1, "temperature": 0, "logprobs": 1}
			together, apart := ask(t, address, q), ask(t, alone, q)
			a, b := together.Choices[0].LogProbs, apart.Choices[0].LogProbs
			if !slices.Equal(a.Tokens, b.Tokens) {
				t.Errorf("%q: %q and %q", p.Prefix, a.Tokens, b.Tokens)
				return
			}
			for i := range a.Tokens {
				if i > 0 && math.Abs(*a.TokenLogProbs[i]-*b.TokenLogProbs[i]) > 2e-3 {
					t.Errorf("%q, token %d: %v together and %v alone", p.Prefix, i, *a.TokenLogProbs[i], *b.TokenLogProbs[i])
				}
			}
		})
	}
	wg.Wait()
}

// TestWriting compares what is written, and its numbers, with the engine's own writing and readings.
func TestWriting(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	_, address := start(t, Options{}, m)
	const prompt = "Question: What is the capital of France?\nAnswer:"
	for _, r := range []lm.Request{
		{MaxTokens: 6}, {MaxTokens: 6, Temperature: 0.8, Seed: 3}, {MaxTokens: 6, Temperature: 1.2, TopP: 0.9, TopK: 40, Seed: 4},
		{MaxTokens: 6, Stop: []string{"France"}}, {MaxTokens: 1, Temperature: 1, Seed: 9}, {MaxTokens: 16},
	} {
		r.Prompt = prompt
		want, err := m.Generate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		q := map[string]any{"prompt": prompt, "max_tokens": r.MaxTokens, "temperature": r.Temperature, "seed": r.Seed, "top_k": r.TopK, "logprobs": 2, "return_token_ids": true}
		if r.TopP > 0 {
			q["top_p"] = r.TopP
		}
		if len(r.Stop) == 1 {
			q["stop"] = r.Stop[0]
		}
		a := ask(t, address, q)
		c := a.Choices[0]
		if c.Text != want.Text || *c.FinishReason != string(want.Finish) {
			t.Errorf("%+v: %q, %s; want %q, %s", r, c.Text, *c.FinishReason, want.Text, want.Finish)
		}
		p := direct(t, m, slices.Concat(c.PromptTokenIDs, c.TokenIDs))
		for i, token := range c.TokenIDs {
			if got, want := *c.LogProbs.TokenLogProbs[i], p[len(c.PromptTokenIDs)+i-1][token]; math.Abs(got-want) > 2e-3 {
				t.Errorf("%+v: token %d has %v, want %v", r, i, got, want)
			}
		}
		if offset := c.LogProbs.TextOffset[0]; offset != len(prompt) {
			t.Errorf("what is written begins at %d", offset)
		}
		checkStream(t, address, q, c.Text)
	}
	// As lm-evaluation-harness has texts written: lists of tokens, of which one is given.
	own, err := m.Tokenize(t.Context(), prompt)
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Generate(t.Context(), lm.Request{Prompt: prompt, MaxTokens: 6, Stop: []string{"\n", "<|im_end|>"}, Seed: 1234})
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, address, map[string]any{"prompt": [][]lm.Token{own}, "max_tokens": 6, "temperature": 0, "stop": []string{"\n", "<|im_end|>"}, "seed": 1234}); a.Choices[0].Text != want.Text || a.Choices[0].LogProbs != nil {
		t.Errorf("%+v, want %q", a.Choices, want.Text)
	}
	// Several continuations are those of several seeds.
	q := map[string]any{"prompt": []string{prompt, "Once upon a time"}, "max_tokens": 5, "temperature": 1, "seed": 20, "n": 3}
	a := ask(t, address, q)
	if len(a.Choices) != 6 || a.Usage.Completion < 6 {
		t.Fatalf("%+v", a)
	}
	for i, c := range a.Choices {
		want, err := m.Generate(t.Context(), lm.Request{Prompt: q["prompt"].([]string)[i/3], MaxTokens: 5, Temperature: 1, Seed: int64(20 + i%3)})
		if err != nil || c.Index != i || c.Text != want.Text {
			t.Errorf("%d: %q, want %q (%v)", i, c.Text, want.Text, err)
		}
	}
}

// checkStream has the same request answered in parts, with the prompt in front.
func checkStream(t *testing.T, address string, request map[string]any, want string) {
	t.Helper()
	request["stream"], request["echo"], request["stream_options"] = true, true, map[string]any{"include_usage": true}
	body, _ := json.Marshal(request)
	status, data, header := post(t, address+"/v1/completions", string(body))
	if status != http.StatusOK || header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d: %s", status, data)
	}
	var written strings.Builder
	finish, tokens, used := "", 0, 0
	lines := strings.Split(strings.TrimSpace(string(data)), "\n\n")
	for i, line := range lines {
		event, ok := strings.CutPrefix(line, "data: ")
		if !ok || (event == "[DONE]") != (i == len(lines)-1) {
			t.Fatalf("event %d is %q", i, line)
		}
		if event == "[DONE]" {
			break
		}
		var a answer
		if err := json.Unmarshal([]byte(event), &a); err != nil {
			t.Fatal(err)
		}
		used += a.Usage.Completion
		for _, c := range a.Choices {
			written.WriteString(c.Text)
			if i > 0 {
				tokens += len(c.LogProbs.Tokens)
			}
			if c.FinishReason != nil {
				finish += *c.FinishReason
			}
		}
	}
	if written.String() != request["prompt"].(string)+want || finish != "stop" && finish != "length" || tokens != used || used == 0 {
		t.Errorf("the stream has %q, want %q; finish %q, %d tokens of %d", written.String(), want, finish, tokens, used)
	}
}

// TestTokens asks for a text's tokens and back, and for the marks.
func TestTokens(t *testing.T) {
	for _, r := range modeltest.All {
		m := engine.Open(t, r)
		info := m.Info()
		_, address := start(t, Options{}, m)
		own, err := m.Tokenize(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Count   int
			Most    int `json:"max_model_len"`
			Tokens  []lm.Token
			Names   []string `json:"token_strs"`
			Prompt  string
			BOS     *string `json:"bos_token"`
			EOS     *string `json:"eos_token"`
			Message json.RawMessage
		}
		do := func(path, body string) {
			t.Helper()
			status, data, _ := post(t, address+path, body)
			if got.Tokens = nil; status != http.StatusOK || json.Unmarshal(data, &got) != nil {
				t.Fatalf("%s %s: status %d: %s", path, body, status, data)
			}
		}
		do("/tokenize", fmt.Sprintf(`{"prompt":%q,"add_special_tokens":false,"return_token_strs":true}`, text))
		if !slices.Equal(got.Tokens, own) || got.Count != len(own) || got.Most != info.Context || len(got.Names) != len(own) {
			t.Errorf("%s: %+v, want %v", r.Name, got, own)
		}
		body, _ := json.Marshal(map[string]any{"tokens": own})
		if do("/detokenize", string(body)); got.Prompt != text {
			t.Errorf("%s: %q", r.Name, got.Prompt)
		}
		do("/tokenize", fmt.Sprintf(`{"prompt":%q}`, text))
		if begins := len(got.Tokens) > 0 && got.Tokens[0] == info.BOS && len(got.Tokens) == len(own)+1; begins != info.AddBOS {
			t.Errorf("%s: %v, want %v and the beginning: %v", r.Name, got.Tokens, own, info.AddBOS)
		}
		resp, err := http.Get(address + "/tokenizer_info")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		// A client finds the marks' numbers by their names, and within a text they are text.
		body, _ = json.Marshal(map[string]any{"prompt": *got.EOS, "add_special_tokens": false})
		if do("/tokenize", string(body)); !slices.Equal(got.Tokens, info.EOS[:1]) {
			t.Errorf("%s: the end %q is %v, want %v", r.Name, *got.EOS, got.Tokens, info.EOS)
		}
		body, _ = json.Marshal(map[string]any{"prompt": "a" + *got.EOS, "add_special_tokens": false})
		if do("/tokenize", string(body)); slices.Contains(got.Tokens, info.EOS[0]) {
			t.Errorf("%s: a text that spells the end has it: %v", r.Name, got.Tokens)
		}
		if (got.BOS != nil) != info.AddBOS {
			t.Errorf("%s: beginning %v", r.Name, got.BOS)
		}
	}
}

// direct is the log-softmax of a model's own reading after each prefix of some tokens, all in one reading as the server makes it.
func direct(t testing.TB, m lm.Model, tokens []lm.Token) (logProbs [][]float64) {
	t.Helper()
	var prefixes [][]lm.Token
	for n := 1; n <= len(tokens); n++ {
		prefixes = append(prefixes, tokens[:n])
	}
	logProbs = make([][]float64, len(prefixes))
	if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		most := float64(slices.Max(d.Logits))
		sum := 0.0
		for _, l := range d.Logits {
			sum += math.Exp(float64(l) - most)
		}
		for _, l := range d.Logits {
			logProbs[i] = append(logProbs[i], float64(l)-(most+math.Log(sum)))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return logProbs
}

// TestStreamGone has a client leave in the middle of a long text: the engine is free for the next at once.
func TestStreamGone(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	s, address := start(t, Options{}, m)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/completions", strings.NewReader(`{"prompt":"1, 2, 3, 4,","max_tokens":7000,"temperature":0,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if n := s.under.Load(); n != 1 {
		t.Errorf("%d requests are under way", n)
	}
	leave()
	ask(t, address, map[string]any{"prompt": "A robin is a", "max_tokens": 2})
	idle(t, s)
}

// TestSlowReader has a client take nothing of a long stream: the engine is free for the others.
func TestSlowReader(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	_, address := start(t, Options{}, m)
	nc, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if err := nc.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	// 30 MB, of which no connection takes more than a few by itself.
	const body = `{"prompt":"1, 2, 3, 4,","max_tokens":20,"temperature":0,"stream":true,"logprobs":-1}`
	fmt.Fprintf(nc, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := nc.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	ask(t, address, map[string]any{"prompt": "A robin is a", "max_tokens": 2})
	if took := time.Since(begun); took > writeTime/2 {
		t.Errorf("another request waits for %v", took)
	}
}
