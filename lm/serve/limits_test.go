package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

func bigram() *modeltest.Bigram { return modeltest.NewBigram(modeltest.Corpus, 0) }

// TestRefusals has each bad request answered with one message of OpenAI's form, which says what of it is wrong.
func TestRefusals(t *testing.T) {
	_, address := start(t, Options{Limits: Limits{Body: 2000, Prompts: 2, Choices: 4, LogProbs: 1000, Tokens: 40}}, bigram())
	for _, c := range []struct {
		body, param, says string
		status            int
	}{
		{``, "", "no JSON", 400},
		{`{"prompt":"a"`, "", "no JSON", 400},
		{`[1]`, "", "no JSON object", 400},
		{`"x"`, "", "no JSON object", 400},
		{`{"prompt":"a"} {}`, "", "follows", 400},
		{`{"prompt":"a","prompt":"b"}`, "prompt", "twice", 400},
		{"{\"prompt\":\"\xff\"}", "", "UTF-8", 400},
		{`{"prompt":"\ud800"}`, "prompt", "surrogate", 400},
		{`{"prompt":["\ud83d\ude00","\udc00\ud83d"]}`, "prompt", "surrogate", 400},
		{strings.Repeat("[", 1500), "", "no JSON object", 400},
		{`{"prompt":` + strings.Repeat("[", 1500), "", "no JSON", 400},
		{`{"prompt":"` + strings.Repeat("a", 2000) + `"}`, "", "2000 bytes", 413},
		{`{}`, "prompt", "no prompt", 400},
		{`{"prompt":null}`, "prompt", "no prompt", 400},
		{`{"prompt":[]}`, "prompt", "empty", 400},
		{`{"prompt":[[]]}`, "prompt", "prefix is empty", 400},
		{`{"prompt":7}`, "prompt", "it is a text", 400},
		{`{"prompt":[1.5]}`, "prompt", "it is a text", 400},
		{`{"prompt":[1,"a"]}`, "prompt", "it is a text", 400},
		{`{"prompt":["a",null]}`, "prompt", "null", 400},
		{`{"prompt":["a",{}]}`, "prompt", "prompt 1", 400},
		{`{"prompt":[null,1]}`, "prompt", "null", 400},
		{`{"prompt":[[1,null]]}`, "prompt", "null", 400},
		{`{"prompt":["a","b","c"]}`, "prompt", "at most 2", 400},
		{`{"prompt":[-1]}`, "prompt", "token -1", 400},
		{`{"prompt":[99999]}`, "prompt", "token 99999", 400},
		{`{"prompt":[99999999999]}`, "prompt", "it is a text", 400},
		{`{"prompt":"` + strings.Repeat("x", 64) + `"}`, "prompt", "65 tokens", 400},
		{`{"prompt":["` + strings.Repeat("x", 30) + `","` + strings.Repeat("x", 30) + `"]}`, "prompt", "40 tokens", 400},
		{`{"prompt":"a","max_tokens":"1"}`, "max_tokens", "whole number", 400},
		{`{"prompt":"a","max_tokens":1.5}`, "max_tokens", "whole number", 400},
		{`{"prompt":"a","max_tokens":-1}`, "max_tokens", "at least 0", 400},
		{`{"prompt":"a","max_tokens":3}`, "max_tokens", "token by token", 400},
		{`{"prompt":"a","max_tokens":1}`, "max_tokens", "temperature 0", 400},
		{`{"prompt":"a","temperature":-1}`, "", "temperature", 400},
		{`{"prompt":"a","temperature":1e999}`, "temperature", "number", 400},
		{`{"prompt":"a","top_p":2}`, "", "top-p", 400},
		{`{"prompt":"a","top_p":0}`, "top_p", "above 0", 400},
		{`{"prompt":"a","stream":true,"stream_options":{"usage":true}}`, "usage", "no parameter", 400},
		{`{"prompt":"a","stream_options":{"include_usage":1}}`, "include_usage", "true or false", 400},
		{`{"prompt":"a","stream_options":true}`, "stream_options", "object", 400},
		{`{"prompt":[1` + strings.Repeat(",1", 40) + `]}`, "prompt", "40 tokens", 400},
		{`{"prompt":[[1]` + strings.Repeat(",[1]", 40) + `]}`, "prompt", "40 tokens", 400},
		{`{"a":1` + manyFields() + `}`, "", "more than 100 parameters", 400},
		{`{"prompt":"a","seed":-1}`, "", "seed", 400},
		{`{"prompt":"a","n":5}`, "n", "at most 4", 400},
		{`{"prompt":"a","n":0}`, "n", "from 1", 400},
		{`{"prompt":["a","b"],"n":9223372036854775807}`, "n", "at most 4", 400},
		{`{"prompt":"a","stop":7}`, "stop", "list of texts", 400},
		{`{"prompt":"a","stop":""}`, "", "stop", 400},
		{`{"prompt":"a","logprobs":true}`, "logprobs", "number of tokens", 400},
		{`{"prompt":"a","logprobs":-2}`, "logprobs", "number of tokens", 400},
		{`{"prompt":"abcdefghij","logprobs":-1,"echo":true,"max_tokens":0}`, "logprobs", "1000 log-probabilities", 400},
		{`{"prompt":"a","prompt_logprobs":1,"stream":true}`, "prompt_logprobs", "stream", 400},
		{`{"prompt":"a","echo":1}`, "echo", "true or false", 400},
		{`{"prompt":"a","frequency_penalty":1}`, "frequency_penalty", "own distribution", 400},
		{`{"prompt":"a","logit_bias":{"1":-100}}`, "logit_bias", "own", 400},
		{`{"prompt":"a","suffix":"b"}`, "suffix", "suffix", 400},
		{`{"prompt":"a","best_of":2}`, "best_of", "best_of", 400},
		{`{"prompt":"a","Echo":true}`, "Echo", "no parameter", 400},
		{`{"prompt":"a","model":"gpt-4"}`, "model", `there is ngram`, 404},
	} {
		status, data, header := post(t, address+"/v1/completions", c.body)
		var f struct {
			Error struct {
				Message, Type, Code string
				Param               *string
			}
		}
		if err := json.Unmarshal(data, &f); err != nil || header.Get("Content-Type") != "application/json" {
			t.Errorf("%.80s: %v in %s", c.body, err, data)
			continue
		}
		param := ""
		if f.Error.Param != nil {
			param = *f.Error.Param
		}
		if status != c.status || param != c.param || !strings.Contains(f.Error.Message, c.says) || f.Error.Type != "invalid_request_error" || f.Error.Code == "" {
			t.Errorf("%.80s: status %d, %+v about %q; want status %d, %q about %q", c.body, status, f, param, c.status, c.says, c.param)
		}
		if len(f.Error.Message) > 400 {
			t.Errorf("a message of %d bytes: %s", len(f.Error.Message), f.Error.Message)
		}
	}
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{"/v1/completion", `{}`, 404}, {"/v1/models", `{}`, 405}, {"/tokenize", `{}`, 400}, {"/tokenize", `{"prompt":["a"]}`, 400}, {"/detokenize", `{"tokens":"a"}`, 400},
		{"/detokenize", `{"tokens":[1,null]}`, 400}, {"/detokenize", `{"tokens":[99999]}`, 400}, {"/detokenize", `{}`, 400}, {"/tokenize", `{"prompt":"a","messages":[]}`, 400},
	} {
		if status, data, _ := post(t, address+c.path, c.body); status != c.status || !json.Valid(data) {
			t.Errorf("%s %s: status %d: %s", c.path, c.body, status, data)
		}
	}
	if status, data, _ := post(t, address+"/v1/completions", `{"prompt":"a"}`, "Content-Type", "text/plain"); status != http.StatusUnsupportedMediaType {
		t.Errorf("status %d: %s", status, data)
	}
	// A prompt as long as the context can still be read.
	ask(t, address, map[string]any{"prompt": strings.Repeat("x", 39), "max_tokens": 1, "temperature": 0})
}

func manyFields() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `,"p%d":1`, i)
	}
	return b.String()
}

// TestBody has bodies refused that are said to be too large, before they come, and that do not come in time.
func TestBody(t *testing.T) {
	_, address := start(t, Options{Limits: Limits{Body: 100, Send: 200 * time.Millisecond}}, bigram())
	for _, c := range []struct {
		length, status int
		header, says   string
	}{{101, http.StatusRequestEntityTooLarge, "Expect: 100-continue\r\n", "100 bytes"}, {101, http.StatusRequestEntityTooLarge, "", "100 bytes"}, {100, http.StatusRequestTimeout, "", "200ms"}} {
		nc, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		fmt.Fprintf(nc, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n{\"prompt\":", c.header, c.length)
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if data, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != c.status || !strings.Contains(string(data), c.says) {
			t.Errorf("of %d bytes: status %d, %v: %s", c.length, resp.StatusCode, err, data)
		}
	}
}

// TestLargeBody has clients that send far more than is read hear why it is refused.
func TestLargeBody(t *testing.T) {
	_, address := start(t, Options{Limits: Limits{Body: 100}}, bigram())
	if status, data, _ := post(t, address+"/tokenize", `{"prompt":"`+strings.Repeat("a", 20<<20)+`"}`); status != http.StatusRequestEntityTooLarge || !strings.Contains(string(data), "100 bytes") {
		t.Errorf("status %d: %.200s", status, data)
	}
	// A length that is not told beforehand.
	resp, err := http.Post(address+"/tokenize", "application/json", io.MultiReader(strings.NewReader(`{"prompt":"`), strings.NewReader(strings.Repeat("a", 20<<20))))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestHalfClosed answers who has closed its side of the connection too early with an error, and not with nothing.
func TestHalfClosed(t *testing.T) {
	m := bigram()
	m.Block = make(chan struct{})
	_, address := start(t, Options{}, m)
	nc, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	const body = `{"prompt":"A dog","max_tokens":1,"temperature":0}`
	fmt.Fprintf(nc, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if err := nc.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
	close(m.Block)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if data, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(data), "keep it open") {
		t.Errorf("status %d, %v: %s", resp.StatusCode, err, data)
	}
}

// TestEscapes reads a text of escaped characters about as quickly as JSON does.
func TestEscapes(t *testing.T) {
	raw := []byte(`"` + strings.Repeat(`\u4e00\ud83d\ude00`, 100_000) + `"`)
	var plain, checked string
	begun := time.Now()
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	alone := time.Since(begun)
	begun = time.Now()
	if err := decode(raw, &checked); err != nil || checked != plain {
		t.Error(err)
	}
	if took := time.Since(begun); took > 8*alone+50*time.Millisecond {
		t.Errorf("it takes %v, and JSON alone %v", took, alone)
	}
}

// FuzzRequest parses any body: what is taken is within the limits.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":"a","max_tokens":1,"logprobs":1,"echo":true,"temperature":0,"seed":1234,"model":"m"}`, `{"prompt":[1,2],"stop":["\n"],"n":2}`, `{"prompt":[[1],[2]],"prompt_logprobs":-1}`,
		`{"prompt":["a","\ud83d\ude00"],"top_p":0.5,"stream_options":{"include_usage":true},"stream":true}`, `{"prompt":["\\ud800",[1]]}`, `{"prompt":"\u","stop":"x"}`, `{"logit_bias":{"1":1}}`, `null`, `{"a":`,
	} {
		f.Add([]byte(seed))
	}
	l, err := Limits{Prompts: 3, Choices: 5}.complete()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := parse(data)
		if err == nil {
			var c *completion
			if c, err = parseCompletion(members, l); err == nil {
				if len(c.prompts) == 0 || len(c.prompts) > 3 || c.n < 1 || c.n*len(c.prompts) > 5 || c.maxTokens < 0 || c.depthless() {
					t.Fatalf("%q is taken as %+v", data, c)
				}
				if !json.Valid(data) {
					t.Fatalf("%q is taken, and is no JSON", data)
				}
				for _, p := range c.prompts {
					// What stands for characters that could not be read stands there itself.
					if strings.ContainsRune(p.text, 0xfffd) && !strings.Contains(strings.ToLower(string(data)), `\ufffd`) && !strings.ContainsRune(string(data), 0xfffd) {
						t.Fatalf("%q is taken as the prompt %q", data, p.text)
					}
				}
			}
		}
		var known *requestError
		if err != nil && (!errors.As(err, &known) || known.status != http.StatusBadRequest || len(known.message) > 1000) {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

func (c *completion) depthless() bool { return c.logProbs < none || c.promptProbs < none }

// TestAdmission has programs on this machine answered, and neither web pages nor strangers.
func TestAdmission(t *testing.T) {
	const token, other = "0123456789abcdef-first", "0123456789abcdef-second"
	_, open := start(t, Options{}, bigram())
	_, guarded := start(t, Options{Tokens: []string{token, other}}, bigram())
	const body = `{"prompt":"A dog","max_tokens":0}`
	for _, c := range []struct {
		address string
		header  []string
		status  int
	}{
		{open, nil, 200},
		{open, []string{"Host", "localhost:8011"}, 200},
		{open, []string{"Host", "127.9.9.9"}, 200},
		{open, []string{"Host", "[::1]:8011"}, 200},
		{open, []string{"Host", "attacker.example:8011"}, 403},
		{open, []string{"Host", "127.0.0.1.attacker.example"}, 403},
		{open, []string{"Host", "localhost.attacker.example"}, 403},
		{open, []string{"Origin", "http://localhost:3000"}, 403},
		{open, []string{"Origin", "null"}, 403},
		{open, []string{"Sec-Fetch-Site", "same-origin"}, 403},
		{open, []string{"Authorization", "Bearer whatever"}, 200}, // the harness and the OpenAI client always send something
		{guarded, nil, 401},
		{guarded, []string{"Authorization", "Bearer " + token}, 200},
		{guarded, []string{"Authorization", "bearer " + other}, 200},
		{guarded, []string{"Authorization", "Bearer " + token, "Host", "models.example"}, 200},
		{guarded, []string{"Authorization", "Bearer " + token, "Origin", "https://models.example"}, 403},
		{guarded, []string{"Authorization", "Bearer " + token + "x"}, 401},
		{guarded, []string{"Authorization", "Bearer " + token[:len(token)-1]}, 401},
		{guarded, []string{"Authorization", "Bearer "}, 401},
		{guarded, []string{"Authorization", "Basic " + token}, 401},
		{guarded, []string{"Authorization", token}, 401},
	} {
		status, data, header := post(t, c.address+"/v1/completions", body, c.header...)
		if status != c.status || strings.Contains(string(data), token) || status == 401 && header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%q: status %d, want %d: %s", c.header, status, c.status, data)
		}
	}
	for path, want := range map[string]int{"/health": 200, "/v1/models": 401, "/tokenizer_info": 401} {
		resp, err := http.Get(guarded + path)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, resp.StatusCode, want)
		}
	}
	for _, bad := range []string{"", "short", "0123456789abcdef with a space", "0123456789abcdefé"} {
		if _, err := New([]lm.Model{bigram()}, Options{Tokens: []string{bad}}); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("the token %q: %v", bad, err)
		}
	}
	if _, err := New([]lm.Model{bigram(), bigram()}, Options{}); err == nil {
		t.Error("two models of one name are served")
	}
	if _, err := New(nil, Options{}); err == nil {
		t.Error("nothing is served")
	}
}

// TestQueueFull has a request refused while as many as are taken on wait for the model, and taken again after.
func TestQueueFull(t *testing.T) {
	m := bigram()
	m.Block = make(chan struct{})
	s, address := start(t, Options{Limits: Limits{Queue: 3}}, m)
	answers := make(chan int)
	for range 3 {
		go func() {
			resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"A dog","max_tokens":1,"temperature":0}`))
			if err != nil {
				answers <- 0
				return
			}
			resp.Body.Close()
			answers <- resp.StatusCode
		}()
	}
	for s.under.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	status, data, header := post(t, address+"/v1/completions", `{"prompt":"A dog","max_tokens":1,"temperature":0}`)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") != "1" || !strings.Contains(string(data), "rate_limit") {
		t.Errorf("status %d, Retry-After %q: %s", status, header.Get("Retry-After"), data)
	}
	close(m.Block)
	for range 3 {
		if status := <-answers; status != http.StatusOK {
			t.Errorf("a request that waited has status %d", status)
		}
	}
	if status, data, _ := post(t, address+"/v1/completions", `{"prompt":"A dog","max_tokens":1,"temperature":0}`); status != http.StatusOK {
		t.Errorf("afterwards: status %d: %s", status, data)
	}
}

// TestLate ends a request that takes too long, and its reading.
func TestLate(t *testing.T) {
	m := bigram()
	m.Block = make(chan struct{})
	s, address := start(t, Options{Limits: Limits{Time: 50 * time.Millisecond}}, m)
	status, data, _ := post(t, address+"/v1/completions", `{"prompt":"A dog","max_tokens":1,"temperature":0}`)
	if status != http.StatusGatewayTimeout || !strings.Contains(string(data), "50ms") {
		t.Errorf("status %d: %s", status, data)
	}
	idle(t, s)
}

// idle waits until nothing waits for the model.
func idle(t *testing.T, s *Server) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		q := s.models[0].queue
		q.mu.Lock()
		n := len(q.jobs)
		q.mu.Unlock()
		if n == 0 && s.under.Load() == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d readings wait, of %d requests", n, s.under.Load())
		}
	}
}

// TestGone has clients leave in the middle: their reading is given up, and others are answered.
func TestGone(t *testing.T) {
	m := bigram()
	m.Block = make(chan struct{})
	s, address := start(t, Options{Limits: Limits{Batch: 4}}, m)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/completions", strings.NewReader(`{"prompt":"A dog is a mammal. A robin is a bird.","max_tokens":0,"echo":true,"logprobs":0}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	left := make(chan error)
	go func() {
		_, err := http.DefaultClient.Do(r)
		left <- err
	}()
	m.Block <- struct{}{} // it is being read
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	idle(t, s) // nobody lets the model go on, so the reading was given up
	// One stays, another leaves: the reading of the one goes on.
	close(m.Block)
	for i := range 20 {
		ctx, leave := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/completions", strings.NewReader(`{"prompt":"A dog is a mammal. A robin is a bird.","max_tokens":0,"echo":true,"logprobs":0}`))
		r.Header.Set("Content-Type", "application/json")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				resp.Body.Close()
			}
		}()
		if a := ask(t, address, map[string]any{"prompt": "A dog is a", "echo": true, "logprobs": 0, "max_tokens": 0}); len(a.Choices[0].LogProbs.Tokens) != 4 {
			t.Errorf("%d: %+v", i, a)
		}
		<-done
		leave()
	}
	idle(t, s)
}

// TestFair has a short request answered while a long one is read.
func TestFair(t *testing.T) {
	m := bigram()
	m.Block = make(chan struct{}, 1000)
	_, address := start(t, Options{Limits: Limits{Batch: 4, Gather: -1}}, m)
	long := make(chan struct{})
	go func() {
		defer close(long)
		resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"`+strings.Repeat("x", 60)+`","max_tokens":0,"echo":true,"logprobs":0}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	m.Block <- struct{}{}
	short := make(chan struct{})
	go func() {
		defer close(short)
		resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"A dog","max_tokens":1,"temperature":0}`))
		if err == nil {
			resp.Body.Close()
		}
	}()
	time.Sleep(50 * time.Millisecond) // it has come
	for range 8 {
		m.Block <- struct{}{}
	}
	select {
	case <-short:
	case <-time.After(10 * time.Second):
		t.Error("the short request waits for the long one")
	}
	select {
	case <-long:
		t.Error("the long request is over")
	default:
	}
	close(m.Block)
	<-long
}

// textual is a model that reads all beginnings of a text together.
type textual struct{ *modeltest.Bigram }

func (textual) Batch(prefixes [][]lm.Token) int { return len(prefixes) }

// TestWholeText reads a text in one round where the model reads it as one, and others beside it; in rounds of one
// prefix, and where the model does not, it is read in parts.
func TestWholeText(t *testing.T) {
	text := make([]lm.Token, 40)
	var beginnings [][]lm.Token
	for n := range text {
		beginnings = append(beginnings, text[:n+1])
	}
	other := []lm.Token{1}
	for _, c := range []struct {
		model  lm.Model
		most   int
		rounds []int
	}{
		{textual{bigram()}, 4, []int{41, 3, 0}},
		{textual{bigram()}, 1, []int{1, 1, 1}},
		{bigram(), 4, []int{4, 4, 4}},
	} {
		q := &queue{model: c.model, most: c.most}
		// Two prompts in one job, of which the second is short and goes on from nothing; and another job.
		q.jobs = []*job{{prefixes: slices.Concat(beginnings, [][]lm.Token{{2}, {3}, {4}})}, {prefixes: [][]lm.Token{other}}}
		for i, want := range c.rounds {
			round := q.take()
			if len(round) != want {
				t.Errorf("%T, %d at a time: round %d has %d prefixes, want %d", c.model, c.most, i, len(round), want)
			}
			if i == 0 && c.most > 1 && !slices.ContainsFunc(round, func(p part) bool { return slices.Equal(p.prefixes[p.i], other) }) {
				t.Errorf("%T: the other request waits", c.model)
			}
		}
	}
}

// broken is a model that fails.
type broken struct{ *modeltest.Bigram }

func (broken) Read(context.Context, [][]lm.Token, func(int, lm.Distribution) error) error {
	return errors.New("the memory is full")
}

func TestModelFails(t *testing.T) {
	_, address := start(t, Options{}, broken{bigram()})
	status, data, _ := post(t, address+"/v1/completions", `{"prompt":"A dog","max_tokens":1,"temperature":0}`)
	if status != http.StatusInternalServerError || !strings.Contains(string(data), "the memory is full") || !strings.Contains(string(data), "server_error") {
		t.Errorf("status %d: %s", status, data)
	}
}

// TestUnixSocket serves at a path, which is this user's alone and is taken over only where nobody listens.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "modellog.sock")
	s, err := New([]lm.Model{bigram()}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Listen(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}}}
	resp, err := client.Get("http://modellog/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	data, _ := io.ReadAll(resp.Body)
	if resp.Body.Close(); resp.StatusCode != http.StatusOK || !strings.Contains(string(data), `"id":"ngram"`) {
		t.Errorf("status %d: %s", resp.StatusCode, data)
	}
	if _, err := s.Listen(t.Context(), "unix:"+path); err == nil || !strings.Contains(err.Error(), "another program listens") {
		t.Errorf("a second server: %v", err)
	}
	client.CloseIdleConnections()
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
	// One that a program has left behind is replaced.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	if l, err = s.Listen(t.Context(), "unix:"+path); err != nil {
		t.Fatal(err)
	}
	l.Close()
	// A file of other use is not.
	if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen(t.Context(), "unix:"+path); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("in the place of a file: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v", left, err)
	}
	for _, bad := range []string{"unix:", "unix:" + filepath.Join(t.TempDir(), "missing", "s"), "unix:" + filepath.Join(t.TempDir(), strings.Repeat("x", 120)), "8011", "0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		if l, err := s.Listen(t.Context(), bad); err == nil {
			l.Close()
			t.Errorf("%s is listened on", bad)
		}
	}
}

// TestListenIPv4 has an address of IPv4 stand for addresses of IPv4 alone.
func TestListenIPv4(t *testing.T) {
	s, err := New([]lm.Model{bigram()}, Options{Tokens: []string{strings.Repeat("t", minToken)}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if at := l.Addr().String(); !strings.HasPrefix(at, "0.0.0.0:") {
		t.Errorf("it listens on %s", at)
	}
}

// TestDrain ends a server while it answers: that request is answered, and no other.
func TestDrain(t *testing.T) {
	m := bigram()
	m.Block = make(chan struct{})
	s, err := New([]lm.Model{m}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Listen(t.Context(), l.Addr().String()); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("the same port again: %v", err)
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	address := "http://" + l.Addr().String()
	answered := make(chan string)
	go func() {
		resp, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"A dog","max_tokens":1,"temperature":0}`))
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		answered <- resp.Status
	}()
	m.Block <- struct{}{}
	// A header that never ends does not hold up the end.
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	fmt.Fprint(nc, "POST /v1/completions HTTP/1.1\r\nHost: ")
	end()
	select {
	case err := <-ended:
		t.Fatalf("the server has ended in the middle: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(m.Block)
	if status := <-answered; status != "200 OK" {
		t.Errorf("the request under way: %s", status)
	}
	nc.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if resp, err := http.Get(address + "/health"); err == nil {
		resp.Body.Close()
		t.Error("the server still answers")
	}
}

// TestKeepAlive reads several requests from one connection, the second after the time that a body may take would
// have ended the first one's context were it still running.
func TestKeepAlive(t *testing.T) {
	_, address := start(t, Options{}, bigram())
	nc, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	in := bufio.NewReader(nc)
	const body = `{"prompt":"A dog","max_tokens":0}`
	for i := range 3 {
		fmt.Fprintf(nc, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(resp.Body)
		if resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%d: status %d, %v: %s", i, resp.StatusCode, err, data)
		}
	}
}
