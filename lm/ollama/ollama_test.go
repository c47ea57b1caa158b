package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
	"github.com/modellog/modellog/lm/tokens"
)

// The metadata of a vocabulary written by hand. Two tokens are a line break, and
// two are halves of characters.
var meta = map[string]any{
	"general.architecture":            "test",
	"general.parameter_count":         1234,
	"test.context_length":             4096,
	"tokenizer.ggml.model":            "llama",
	"tokenizer.ggml.tokens":           []string{"<s>", "▁a", "▁b", "▁c", "\n", "<0x0A>", "<0xE2>", "<0x96>", "</s>", "▁", "a"},
	"tokenizer.ggml.scores":           []float64{0, -1, -2, -3, -4, 0, 0, 0, 0, -9, -8},
	"tokenizer.ggml.token_type":       []int{3, 1, 1, 1, 4, 6, 6, 6, 3, 1, 1},
	"tokenizer.ggml.bos_token_id":     0,
	"tokenizer.ggml.eos_token_id":     8,
	"tokenizer.ggml.add_bos_token":    true,
	"tokenizer.ggml.add_space_prefix": false,
}

// server is a local HTTP server that answers as an Ollama server does, or as the
// test makes it: where generate is set, that answers in its place.
type server struct {
	generate func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest)
	digest   atomic.Value
	show     http.HandlerFunc
	tags     http.HandlerFunc
	asked    atomic.Int32
}

func (s *server) start(t *testing.T) {
	t.Helper()
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	s.digest.CompareAndSwap(nil, "0123456789abcdef")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, r *http.Request) {
		reply(w, map[string]string{"version": "0.17.4"})
	})
	mux.HandleFunc("GET /api/tags", func(w http.ResponseWriter, r *http.Request) {
		if s.tags != nil {
			s.tags(w, r)
			return
		}
		reply(w, map[string]any{"models": []any{map[string]any{"name": "abc:latest", "digest": s.digest.Load()}}})
	})
	mux.HandleFunc("POST /api/show", func(w http.ResponseWriter, r *http.Request) {
		if s.show != nil {
			s.show(w, r)
			return
		}
		var req api.ShowRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || !req.Verbose {
			t.Errorf("show request: %+v, %v", req, err)
		}
		if req.Model != "abc" {
			w.WriteHeader(http.StatusNotFound)
			reply(w, map[string]string{"error": fmt.Sprintf("model '%s' not found", req.Model)})
			return
		}
		reply(w, map[string]any{"details": map[string]string{"quantization_level": "Q4_1"}, "model_info": meta})
	})
	mux.HandleFunc("POST /api/generate", func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		var req api.GenerateRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		s.generate(w, r, req)
	})
	local := httptest.NewServer(mux)
	t.Cleanup(local.Close)
	t.Setenv("OLLAMA_HOST", local.URL)
}

// body makes an answer that counts n tokens in the prompt and lists the tokens
// of the JSON list top.
func body(n int, top string) string {
	return fmt.Sprintf(`{"model":"abc","response":" a","done":true,"done_reason":"length","prompt_eval_count":%d,"logprobs":[{"token":" a","logprob":-1,"top_logprobs":%s}]}`, n, top)
}

const good = `[{"token":" a","logprob":-0.5,"bytes":[32,97]},{"token":"\n","logprob":-1.5},{"token":" b","logprob":-3}]`

func write(s string) func(http.ResponseWriter, *http.Request, api.GenerateRequest) {
	return func(w http.ResponseWriter, r *http.Request, _ api.GenerateRequest) { io.WriteString(w, s) }
}

// readOne reads what follows the prefix " a b".
func readOne(t *testing.T) (lm.Distribution, error) {
	t.Helper()
	m, err := Open(t.Context(), "abc", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	return read(t.Context(), m, " a b")
}

func read(ctx context.Context, m *Model, text string) (lm.Distribution, error) {
	ids, err := m.Tokenize(ctx, text)
	if err != nil {
		return lm.Distribution{}, err
	}
	prompt, err := lm.Prompt(m, ids)
	if err != nil {
		return lm.Distribution{}, err
	}
	var got lm.Distribution
	err = m.Read(ctx, [][]lm.Token{prompt}, func(i int, d lm.Distribution) error {
		got = d
		return nil
	})
	return got, err
}

func TestOpen(t *testing.T) {
	(&server{}).start(t)
	m, err := Open(t.Context(), "abc", Options{})
	if err != nil {
		t.Fatal(err)
	}
	info := m.Info()
	if info.Backend != "ollama" || info.Precision != "server" || info.Whole || info.Digest != "0123456789abcdef" || info.Quantization != "Q4_1" ||
		info.Architecture != "test" || info.Parameters != 1234 || info.Vocabulary != 11 || info.Context != 4096 || !info.AddBOS || info.BOS != 0 || info.Revision != os.Getenv("OLLAMA_HOST")+" 0.17.4" || !slices.Equal(info.EOS, []lm.Token{8}) {
		t.Errorf("%+v", info)
	}
	if _, err := Open(t.Context(), "nope", Options{}); err == nil || !strings.Contains(err.Error(), "ollama pull nope") {
		t.Errorf("a model that is not there: %v", err)
	}
	if _, err := Open(t.Context(), "", Options{}); err == nil {
		t.Error("opened a model without a name")
	}
	names, err := Names(t.Context())
	if err != nil || !slices.Equal(names, []string{"abc:latest"}) {
		t.Errorf("names: %v, %v", names, err)
	}
	if _, version, err := Reachable(t.Context()); err != nil || version != "0.17.4" {
		t.Errorf("reachable: %q, %v", version, err)
	}
}

// What is asked leaves nothing to a Modelfile, has a model that thinks not think,
// and has the server refuse a prompt rather than cut it.
func TestRequest(t *testing.T) {
	s := &server{}
	s.generate = func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest) {
		if !req.Raw || req.Stream == nil || *req.Stream || req.Truncate == nil || *req.Truncate || req.Shift == nil || *req.Shift ||
			req.Think == nil || req.Think.Bool() || !req.Logprobs || req.TopLogprobs != 20 || req.System != "" || req.Template != "" || req.Prompt != " a b" {
			t.Errorf("%+v", req)
		}
		for option, want := range map[string]any{"num_predict": 1.0, "temperature": 0.0, "top_k": 1.0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "num_ctx": 2048.0} {
			if got := req.Options[option]; got != want {
				t.Errorf("option %s is %v, want %v", option, got, want)
			}
		}
		if stop, ok := req.Options["stop"].([]any); !ok || len(stop) != 0 {
			t.Errorf("stop words %v, want an empty list", req.Options["stop"])
		}
		io.WriteString(w, body(3, good))
	}
	s.start(t)
	d, err := readOne(t)
	if err != nil {
		t.Fatal(err)
	}
	if want := []lm.TokenLogProb{{Token: 1, LogProb: -0.5}, {Token: 4, LogProb: -1.5}, {Token: 2, LogProb: -3}}; !slices.Equal(d.Top, want) || d.Vocabulary != 11 || d.Logits != nil {
		t.Errorf("%+v, want %v of 11", d, want)
	}
	// The line break may be the byte token as well: tokens are told apart by their
	// bytes, and where those are shared, it is said.
	if len(d.Among) != 1 || !slices.Equal(d.Among[1], []lm.Token{4, 5}) {
		t.Errorf("among %v, want entry 1 to be token 4 or 5", d.Among)
	}
	for token, want := range map[lm.Token]struct {
		logprobs []float64
		sure     bool
	}{1: {[]float64{-0.5}, true}, 4: {[]float64{-1.5}, false}, 5: {[]float64{-1.5}, false}, 3: {nil, false}} {
		if got, sure := d.Listed(token); !slices.Equal(got, want.logprobs) || sure != want.sure {
			t.Errorf("token %d: %v, %v; want %v", token, got, sure, want)
		}
	}
}

// Fewer log-probabilities than were asked for, floors in their place, tokens that are
// no UTF-8, none at all where the text ends, a prompt that was cut silently, and
// whatever else an answer may be that is none.
func TestBadAnswers(t *testing.T) {
	for _, test := range []struct {
		name, answer, want string // want "" if the answer is good
	}{
		{"fewer than asked", body(3, `[{"token":" a","logprob":-0.5}]`), ""},
		{"floors", body(3, `[{"token":" a","logprob":-0.5},{"token":" b","logprob":-9999},{"token":" c","logprob":-3.4e38}]`), ""},
		{"none listed", body(3, `[]`), "0.12.11"},
		{"minus infinity", body(3, `[{"token":" a","logprob":-Infinity}]`), "is no JSON"},
		{"NaN", body(3, `[{"token":" a","logprob":NaN}]`), "is no JSON"},
		{"null", body(3, `[{"token":" a","logprob":null}]`), "a token without a log-probability"},
		{"missing", body(3, `[{"token":" a"}]`), "a token without a log-probability"},
		{"text", body(3, `[{"token":" a","logprob":"-1"}]`), "is a string"},
		{"above 1", body(3, `[{"token":" a","logprob":0.5}]`), "cannot exceed 1"},
		{"a rounded 1", body(3, `[{"token":" a","logprob":0.00001}]`), ""},
		{"sum above 1", body(3, `[{"token":" a","logprob":-0.1},{"token":" b","logprob":-0.1}]`), "sum to 1.80967"},
		{"twice", body(3, `[{"token":" a","logprob":-1},{"token":" a","logprob":-2}]`), `" a" twice`},
		{"both of two", body(3, `[{"token":"\n","logprob":-1},{"token":"\n","logprob":-2}]`), ""},
		{"three of two", body(3, `[{"token":"\n","logprob":-1},{"token":"\n","logprob":-2},{"token":"\n","logprob":-3}]`), `"\n" twice`},
		{"unknown", body(3, `[{"token":" dog","logprob":-1}]`), `" dog", which the vocabulary does not have`},
		{"empty name", body(3, `[{"token":"","logprob":-1}]`), `"", which the vocabulary does not have`},
		{"bytes that are none", body(3, `[{"token":" a","logprob":-1,"bytes":[300]}]`), "the byte 300"},
		{"more than the vocabulary", body(3, "["+strings.Repeat(`{"token":" a","logprob":-9},`, 11)+`{"token":" a","logprob":-9}]`), "lists 12 tokens"},
		{"not sorted", body(3, `[{"token":" b","logprob":-3},{"token":" a","logprob":-0.5}]`), ""},
		{"another count", body(2, good), "as 2 tokens, and by the model's metadata it is 3"},
		{"no count", body(0, good), "as 0 tokens"},
		{"no log-probabilities", `{"response":" a","done":true,"prompt_eval_count":3}`, "0.12.11"},
		{"end of text", `{"response":"","done":true,"done_reason":"stop","prompt_eval_count":3}`, "takes the text to end there"},
		{"not done", `{"response":" a","prompt_eval_count":3}`, "not marked as complete"},
		{"empty", ``, "an empty answer"},
		{"nonsense", `Hello!`, `"Hello!", which is no JSON`},
		{"a number", `7`, "is a number"},
		{"null answer", `null`, "not marked as complete"},
		{"cut", body(3, good)[:120], "is no JSON"},
		{"an error in it", `{"error":"the runner has crashed"}`, "the runner has crashed"},
		{"trailing nonsense", body(3, good) + "}", "is no JSON"},
		{"in parts", `{"response":" a","logprobs":[{"logprob":-1,"top_logprobs":` + good + `}]}` + "\n" + `{"done":true,"prompt_eval_count":3}`, ""},
		{"endless", `{"response":"` + strings.Repeat("a", maxAnswer) + `"}`, "more than 4 MB"},
		{"deep", strings.Repeat("[", 100000), "is no JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			(&server{generate: write(test.answer)}).start(t)
			d, err := readOne(t)
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "" && (d.Top[0].LogProb < -1 || !slices.IsSortedFunc(d.Top, func(a, b lm.TokenLogProb) int { return -1 * compare(a.LogProb, b.LogProb) })):
				t.Errorf("%+v", d)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want an error with %q", err, test.want)
			case err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 700):
				t.Errorf("the message is not one line: %q", err)
			}
		})
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Where the next token ends the text the server gives no log-probabilities: the
// error is typed, no probability of 0, and comes after other tokens were sampled.
func TestEndOfText(t *testing.T) {
	s := &server{generate: write(`{"response":"","done":true,"done_reason":"stop","prompt_eval_count":3}`)}
	s.start(t)
	_, err := readOne(t)
	var end *EndOfTextError
	if !errors.As(err, &end) || end.Text != " a b" {
		t.Errorf("%v, want an EndOfTextError", err)
	}
	if n := s.asked.Load(); n != attempts {
		t.Errorf("asked %d times, want %d", n, attempts)
	}
	// With another token sampled the reading is there.
	s = &server{}
	s.generate = func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest) {
		if temperature, _ := req.Options["temperature"].(float64); temperature == 0 {
			io.WriteString(w, `{"response":"","done":true,"done_reason":"stop","prompt_eval_count":3}`)
			return
		}
		io.WriteString(w, body(3, good))
	}
	s.start(t)
	if d, err := readOne(t); err != nil || len(d.Top) != 3 {
		t.Errorf("%+v, %v", d, err)
	}
}

// A server that is none, is not there, or goes away.
func TestBadServers(t *testing.T) {
	status := func(code int, text string) func(http.ResponseWriter, *http.Request, api.GenerateRequest) {
		return func(w http.ResponseWriter, r *http.Request, _ api.GenerateRequest) {
			w.WriteHeader(code)
			io.WriteString(w, text)
		}
	}
	for _, test := range []struct {
		name     string
		generate func(http.ResponseWriter, *http.Request, api.GenerateRequest)
		want     string
	}{
		{"400", status(400, `{"error":"\"abc\" does not support generate"}`), `does not support generate`},
		{"401", status(401, `{"error":"unauthorized"}`), "asks for a login"},
		{"404", status(404, `{"error":"model 'abc' not found"}`), "ollama pull abc"},
		{"404 of another server", status(404, `404 page not found`), "is no Ollama server"},
		{"500", status(500, `{"error":"model runner has unexpectedly stopped"}`), "status 500: model runner has unexpectedly stopped"},
		{"500 with a page", status(500, "<html>\n<h1>oh</h1>\n"+strings.Repeat("x", 1<<20)), "status 500: <html>"},
		{"503", status(503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`), "too busy"},
		{"201", status(201, body(3, good)), "status 201"},
		{"another type", func(w http.ResponseWriter, r *http.Request, _ api.GenerateRequest) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>Hello</html>")
		}, `"<html>Hello</html>" of type "text/html"`},
		{"dies half-way", func(w http.ResponseWriter, r *http.Request, _ api.GenerateRequest) {
			w.Header().Set("Content-Length", "100000")
			io.WriteString(w, body(3, good)[:40])
			hangUp(t, w)
		}, "broke off in the middle of an answer"},
		{"dies at once", func(w http.ResponseWriter, r *http.Request, _ api.GenerateRequest) { hangUp(t, w) }, "broke off in the middle of an answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			(&server{generate: test.generate}).start(t)
			_, err := readOne(t)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error with %q", err, test.want)
			} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 700 {
				t.Errorf("the message is not one line: %q", err)
			}
		})
	}

	t.Run("not running", func(t *testing.T) {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("OLLAMA_HOST", free.Addr().String())
		free.Close()
		_, err = Open(t.Context(), "abc", Options{})
		_, _, unreachable := Reachable(t.Context())
		_, list := Names(t.Context())
		for _, err := range []error{err, unreachable, list} {
			if err == nil || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), "ollama serve") || strings.Count(err.Error(), "127.0.0.1") != 1 {
				t.Errorf("%v", err)
			}
		}
	})
	t.Run("another kind of server", func(t *testing.T) {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "It works!") }))
		defer page.Close()
		t.Setenv("OLLAMA_HOST", page.URL)
		_, err := Open(t.Context(), "abc", Options{})
		_, _, unreachable := Reachable(t.Context())
		for _, err := range []error{err, unreachable} {
			if err == nil || !strings.Contains(err.Error(), "no Ollama server") || !strings.Contains(err.Error(), "It works!") {
				t.Errorf("%v", err)
			}
		}
	})
	t.Run("slow", func(t *testing.T) {
		release := make(chan struct{})
		(&server{generate: func(w http.ResponseWriter, r *http.Request, _ api.GenerateRequest) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}}).start(t)
		t.Cleanup(func() { close(release) })
		m, err := Open(t.Context(), "abc", Options{Timeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(t.Context(), m, " a"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer in time") {
			t.Errorf("%v, want the time-out", err)
		}
		m.timeout = time.Hour
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := read(ctx, m, " a"); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the cancellation", err)
		}
	})
}

func hangUp(t *testing.T, w http.ResponseWriter) {
	http.NewResponseController(w).Flush()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	conn.Close()
}

// Metadata that is none, and a model that is replaced while it is open.
func TestBadMetadata(t *testing.T) {
	reply := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, s)
		}
	}
	for name, test := range map[string]struct {
		show, tags, want string
	}{
		"no vocabulary": {`{"model_info":{"general.architecture":"test"}}`, "", "no vocabulary"},
		"mixed tokens":  {`{"model_info":{"tokenizer.ggml.tokens":["a",1]}}`, "", "no vocabulary"},
		"null":          {`null`, "", "no vocabulary"},
		"a list":        {`[]`, "", "something else than what was asked for"},
		"remote":        {`{"remote_host":"https://elsewhere.example","model_info":{}}`, "", "gives no log-probabilities"},
		"no context":    {`{"model_info":{"tokenizer.ggml.model":"llama","tokenizer.ggml.tokens":["a"],"tokenizer.ggml.scores":[0],"tokenizer.ggml.add_bos_token":false}}`, "", "how long its context is"},
		"half a list":   {"", `{"models":[{"name":"other"}]}`, "ollama list"},
		"no digest":     {"", `{"models":[{"name":"abc"}]}`, "no digest"},
	} {
		s := &server{}
		if test.show != "" {
			s.show = reply(test.show)
		}
		if test.tags != "" {
			s.tags = reply(test.tags)
		}
		t.Run(name, func(t *testing.T) {
			s.start(t)
			if _, err := Open(t.Context(), "abc", Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an error with %q", err, test.want)
			}
		})
	}
	t.Run("replaced", func(t *testing.T) {
		s := &server{generate: write(body(2, good))}
		s.start(t)
		m, err := Open(t.Context(), "abc", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(t.Context(), m, " a"); err != nil {
			t.Fatal(err)
		}
		s.digest.Store("fedcba9876543210")
		if _, err := read(t.Context(), m, " a"); err == nil || !strings.Contains(err.Error(), "open it again") {
			t.Errorf("%v, want an error for the other model", err)
		}
	})
}

// A model that is replaced while it is read: nothing that was read since the last
// look at the server's list is handed on.
func TestReplacedInTheMiddle(t *testing.T) {
	s := &server{}
	s.generate = func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest) {
		s.digest.Store("fedcba9876543210")
		io.WriteString(w, body(strings.Count(req.Prompt, " ")+1, good))
	}
	s.start(t)
	m, err := Open(t.Context(), "abc", Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = m.Read(t.Context(), [][]lm.Token{{0, 1}, {0, 1, 2}, {0, 2}}, func(i int, d lm.Distribution) error {
		t.Errorf("prefix %d was handed on: %+v", i, d)
		return nil
	})
	var replaced *ReplacedError
	if !errors.As(err, &replaced) || replaced.Opened != "0123456789abcdef" || replaced.Now != "fedcba9876543210" {
		t.Errorf("%v, want a ReplacedError", err)
	}
	// Also where the other model's answer is what shows it.
	s.digest.Store("0123456789abcdef")
	s.generate = func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest) {
		s.digest.Store("fedcba9876543210")
		io.WriteString(w, body(77, good))
	}
	if _, err := read(t.Context(), m, " a"); !errors.As(err, &replaced) {
		t.Errorf("%v, want a ReplacedError", err)
	}
}

// An output layer that is filled up beyond the vocabulary predicts tokens without
// a name, which hold some of what is not listed.
func TestPaddedVocabulary(t *testing.T) {
	for size, want := range map[int]int{0: 11, 8: 11, 11: 11, 64: 64} {
		padded := maps.Clone(meta)
		if padded["test.vocab_size"] = size; size == 0 {
			delete(padded, "test.vocab_size")
		}
		s := &server{generate: write(body(3, good))}
		s.show = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(map[string]any{"model_info": padded}); err != nil {
				t.Error(err)
			}
		}
		s.start(t)
		m, err := Open(t.Context(), "abc", Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := read(t.Context(), m, " a b"); err != nil || d.Vocabulary != want || m.Info().Vocabulary != want {
			t.Errorf("%d: a vocabulary of %d, %v; want %d", size, d.Vocabulary, err, want)
		}
		if err := m.Read(t.Context(), [][]lm.Token{{0, 11}}, nil); err == nil || !strings.Contains(err.Error(), "outside the vocabulary") {
			t.Errorf("%d: a token without a text: %v", size, err)
		}
	}
}

// Prefixes that text cannot carry are refused before anything is asked.
func TestPrompts(t *testing.T) {
	s := &server{generate: write(body(3, good))}
	s.start(t)
	m, err := Open(t.Context(), "abc", Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := make([]lm.Token, 4097)
	for i := range long {
		long[i] = lm.Token(min(i, 1))
	}
	for _, test := range []struct {
		prefix []lm.Token
		want   string
	}{
		{nil, lm.ErrEmptyPrefix.Error()},                           // the first token, on a model without BOS
		{[]lm.Token{0}, "does not answer an empty prompt"},         // nothing but BOS
		{[]lm.Token{1, 2}, "does not begin with it"},               // BOS, which the server adds, is missing
		{[]lm.Token{0, 6}, "no valid UTF-8"},                       // half a character
		{[]lm.Token{0, 1, 5}, "other tokens than the prefix has"},  // 0x0A would become the line break
		{[]lm.Token{0, 9, 10}, "other tokens than the prefix has"}, // "▁" and "a" would become "▁a"
		{[]lm.Token{0, 99}, "outside the vocabulary"},
		{[]lm.Token{0, -1}, "outside the vocabulary"},
		{long, "has 4097 tokens and the model's context holds 4096"},
	} {
		err := m.Read(t.Context(), [][]lm.Token{{0, 1, 2}, test.prefix}, func(int, lm.Distribution) error {
			t.Error("something was read")
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v: %v, want an error with %q", test.prefix[:min(len(test.prefix), 5)], err, test.want)
		}
	}
	if n := s.asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	// A control token that the prefix does have is sent by its name.
	d := 0
	if err := m.Read(t.Context(), [][]lm.Token{{0, 1, 8}}, func(int, lm.Distribution) error { d++; return nil }); err != nil || d != 1 {
		t.Errorf("a prefix with a control token: %v, read %d", err, d)
	}
	m.Close()
	if err := m.Read(t.Context(), [][]lm.Token{{0, 1, 2}}, nil); err == nil {
		t.Error("read with a closed model")
	}
}

// The context grows with the prefixes, and does not shrink again.
func TestContext(t *testing.T) {
	var sizes []float64
	s := &server{}
	s.generate = func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest) {
		sizes = append(sizes, req.Options["num_ctx"].(float64))
		io.WriteString(w, body(strings.Count(req.Prompt, " ")+1, good))
	}
	s.start(t)
	m, err := Open(t.Context(), "abc", Options{Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{5, 2046, 2047, 5, 4095} {
		if _, err := read(t.Context(), m, strings.Repeat(" a", n)); err != nil {
			t.Fatal(err)
		}
	}
	if want := []float64{2048, 2048, 4096, 4096, 4096}; !slices.Equal(sizes, want) {
		t.Errorf("contexts %v, want %v", sizes, want)
	}
}

// Many prefixes: each is answered once with its own answer, a bounded number at
// a time, and an error ends it all.
func TestMany(t *testing.T) {
	var now, most atomic.Int32
	s := &server{}
	s.generate = func(w http.ResponseWriter, r *http.Request, req api.GenerateRequest) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		tokens := strings.Count(req.Prompt, " ") + 1
		io.WriteString(w, body(tokens, fmt.Sprintf(`[{"token":" a","logprob":%d}]`, -tokens)))
	}
	s.start(t)
	m, err := Open(t.Context(), "abc", Options{Parallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	prefixes := make([][]lm.Token, 60)
	for i := range prefixes {
		prefixes[i] = append([]lm.Token{0}, slices.Repeat([]lm.Token{lm.Token(1 + i%3)}, 1+i)...)
	}
	seen := make([]int, len(prefixes))
	err = m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		seen[i]++
		if want := -float64(len(prefixes[i])); d.Top[0].LogProb != want {
			t.Errorf("prefix %d: %v, want %v", i, d.Top[0].LogProb, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
		t.Errorf("read %v times", seen)
	}
	if n := most.Load(); n != 3 {
		t.Errorf("%d at a time, want 3", n)
	}
	stop := errors.New("enough")
	n := 0
	err = m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		if n++; n == 5 {
			return stop
		}
		return nil
	})
	if err != stop || n != 5 {
		t.Errorf("%v after %d, want the error of yield after 5", err, n)
	}
}

// Answers are handed on in the caller's goroutine, one at a time: a panic of yield
// can be recovered from there, and leaves nothing running.
func TestYieldPanics(t *testing.T) {
	s := &server{generate: write(body(2, good))}
	s.start(t)
	m, err := Open(t.Context(), "abc", Options{Parallel: 3})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if fault := recover(); fault != "oh" {
				t.Errorf("recovered %v", fault)
			}
		}()
		err := m.Read(t.Context(), slices.Repeat([][]lm.Token{{0, 1}}, 40), func(int, lm.Distribution) error { panic("oh") })
		t.Errorf("returned %v", err)
	}()
	if _, err := read(t.Context(), m, " a"); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func testVocabulary(t testing.TB) *listed.Names {
	b, err := json.Marshal(meta)
	if err != nil {
		t.Fatal(err)
	}
	var info map[string]any
	if err := json.Unmarshal(b, &info); err != nil {
		t.Fatal(err)
	}
	tok, err := tokens.New(newMetadata(info))
	if err != nil {
		t.Fatal(err)
	}
	return listed.NewNames(tok, 0, spellings)
}

// Tokens that are no UTF-8: halves of characters are kept apart from the tokens that they are not.
func TestVocabulary(t *testing.T) {
	v := testVocabulary(t)
	for text, want := range map[string][]lm.Token{
		" a": {1}, "\n": {4, 5}, "\ufffd": {6, 7}, "\xe2": {6}, "": nil, "dog": nil, "</s>": {8},
	} {
		if got := v.Find(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := spelled([]byte("a\x00b\x00")); !slices.Equal(got, []string{"a\x00b\x00", "a\x00b", "ab"}) {
		t.Errorf("spellings %q", got)
	}
}

// Whatever is sent: an error, or a distribution that can be one.
func FuzzAnswer(f *testing.F) {
	v := testVocabulary(f)
	for _, s := range []string{
		body(3, good), body(3, `[]`), body(3, `[{"token":"\n","logprob":-1},{"token":"\n","logprob":-2}]`),
		body(3, `[{"token":" a","logprob":null}]`), `{"logprobs":null}`, `[]`, `{}{}`, body(3, `[{"bytes":[226],"logprob":-1e-9},{"token":"�","logprob":-30}]`),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if checkAnswer(b) != nil {
			return
		}
		decoder := json.NewDecoder(strings.NewReader(string(b)))
		for {
			var answer api.GenerateResponse
			if decoder.Decode(&answer) != nil {
				return
			}
			for _, l := range answer.Logprobs {
				d, err := distribution(v, l.TopLogprobs)
				if err != nil {
					continue
				}
				var sum float64
				last := 0.0
				seen := map[lm.Token]bool{}
				for i, e := range d.Top {
					if !(e.LogProb <= last) {
						t.Fatalf("entry %d is %v after %v", i, e.LogProb, last)
					}
					if e.Token < 0 || int(e.Token) >= v.Size() || seen[e.Token] {
						t.Fatalf("entry %d is token %d", i, e.Token)
					}
					if among, ok := d.Among[i]; ok && !slices.Contains(among, e.Token) {
						t.Fatalf("entry %d is token %d, which is none of %v", i, e.Token, among)
					}
					last = e.LogProb
					seen[e.Token] = true
					sum += math.Exp(e.LogProb)
				}
				if len(d.Top) == 0 || sum > 1+listed.Slack {
					t.Fatalf("%d tokens with the mass %v", len(d.Top), sum)
				}
			}
		}
	})
}
