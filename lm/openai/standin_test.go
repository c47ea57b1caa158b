package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// corpus is what the stand-ins' model is counted from.
const corpus = "a robin is a bird. a bird is an animal. a robin is an animal. the cat sat on the mat. the cat is an animal.\nnaïve café. a cat is a cat"

// standIn is an HTTP server that answers as vLLM (its version 0.32's source is what this
// follows) or llama-server does, over a model that is counted, and lies where a test has it
// lie. What the real servers say is compared in the folder integration.
type standIn struct {
	*httptest.Server
	t      testing.TB
	native bool
	most   int  // vLLM's --max-logprobs
	plain  bool // refuses fields that are not OpenAI's
	noSize bool // is no vLLM, though it speaks like one

	own     bool   // tells what modellog serve does
	weights string // and this for the digest

	mu    sync.Mutex
	model *modeltest.Bigram

	asked  atomic.Int32                                      // readings
	before func(w http.ResponseWriter, r *http.Request) bool // answers readings in its place
	keys   sync.Map                                          // that were sent
}

func newStandIn(t testing.TB, native bool, most int) *standIn {
	s := &standIn{t: t, native: native, most: most, model: modeltest.NewBigram(corpus, 0)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// answer has readings answered otherwise from now on, also while some are under way; nil is as they were.
func (s *standIn) answer(before func(w http.ResponseWriter, r *http.Request) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// letters are GPT-2's, by byte: the printable ones are themselves, the others come after.
var letters = func() (all [256]rune) {
	next := rune(256)
	for b := range 256 {
		if strconv.IsPrint(rune(b)) && b != ' ' && b != 0xa0 && b != 0xad {
			all[b] = rune(b)
		} else {
			all[b] = next
			next++
		}
	}
	return all
}()

func spelledOut(piece []byte) string {
	var b strings.Builder
	for _, c := range piece {
		b.WriteRune(letters[c])
	}
	return b.String()
}

func (s *standIn) reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Log(err)
	}
}

func (s *standIn) refuse(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(400)
	json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": fmt.Sprintf(format, args...)}})
}

func (s *standIn) tokens(text string, special bool) []lm.Token {
	ids, _ := s.model.Tokenize(context.Background(), text)
	if special {
		ids = append([]lm.Token{0}, ids...)
	}
	return slices.Clip(ids)
}

type standInRequest struct {
	Content, Prompt   json.RawMessage
	Special           bool `json:"add_special"`
	SpecialTokens     bool `json:"add_special_tokens"`
	Tokens            []lm.Token
	MaxTokens         int  `json:"max_tokens"`
	Predict           int  `json:"n_predict"`
	Probs             int  `json:"n_probs"`
	Post              bool `json:"post_sampling_probs"`
	Logprobs          *int
	PromptLogprobs    *int     `json:"prompt_logprobs"`
	AsIDs             bool     `json:"return_tokens_as_token_ids"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`
}

func (s *standIn) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.Store(r.Header.Get("Authorization"), true)
	var req standInRequest
	body, _ := io.ReadAll(r.Body)
	if len(body) > 0 {
		if err := json.Unmarshal(body, &req); err != nil {
			s.refuse(w, "%v", err)
			return
		}
	}
	reading := strings.HasSuffix(r.URL.Path, "/completions") || r.URL.Path == "/completion"
	if reading {
		s.asked.Add(1)
	}
	if before := s.before; before != nil && reading {
		answered := func() bool {
			s.mu.Unlock()
			defer s.mu.Lock()
			return before(w, r)
		}()
		if answered {
			return
		}
	}
	owner := "vllm"
	switch {
	case s.native:
		owner = "llamacpp"
	case s.noSize:
		owner = "someone"
	}
	var text string
	switch path := r.URL.Path; {
	case path == "/v1/models":
		entry := map[string]any{"id": "m", "owned_by": owner}
		if s.native {
			entry["meta"] = map[string]any{"n_vocab": len(s.model.Pieces), "n_params": 5, "n_ctx": 64}
		} else {
			entry["root"], entry["max_model_len"] = "/weights", 64
		}
		if s.own {
			entry["owned_by"], entry["vocabulary"], entry["sha256"], entry["precision"] = "modellog", len(s.model.Pieces), s.weights, "exact"
		}
		s.reply(w, map[string]any{"object": "list", "data": []any{entry}})
	case path == "/version" && !s.native:
		s.reply(w, map[string]any{"version": "0.32.0"})
	case path == "/props" && s.native:
		s.reply(w, map[string]any{"default_generation_settings": map[string]any{"n_ctx": 64}, "build_info": "b1-abc", "eos_token": ""})
	case path == "/tokenize" && s.native:
		json.Unmarshal(req.Content, &text)
		s.reply(w, map[string]any{"tokens": s.tokens(text, req.Special)})
	case path == "/tokenize":
		json.Unmarshal(req.Prompt, &text)
		ids := s.tokens(text, req.SpecialTokens)
		strs := make([]string, len(ids))
		for i, t := range ids {
			if strs[i] = spelledOut([]byte(s.model.Pieces[t])); t == 0 {
				strs[i] = "<bos>"
			}
		}
		if strings.Contains(text, "<bos>") { // as HF's tokenisers do
			ids, strs = []lm.Token{0}, []string{"<bos>"}
		}
		s.reply(w, map[string]any{"tokens": ids, "token_strs": strs, "count": len(ids), "max_model_len": 64})
	case path == "/detokenize":
		var b strings.Builder
		for _, t := range req.Tokens {
			if t == 0 {
				b.WriteString("<bos>")
			}
			b.WriteString(s.model.Pieces[t])
		}
		s.reply(w, map[string]any{"content": b.String(), "prompt": b.String()})
	case path == "/completion" && s.native:
		var prompt []lm.Token
		if err := json.Unmarshal(req.Prompt, &prompt); err != nil || req.Predict != 1 || req.Post {
			s.refuse(w, "not as expected: %s", body)
			return
		}
		top := []any{}
		for _, e := range s.top(prompt, req.Probs) {
			piece := []byte(s.model.Pieces[e.Token])
			numbers := make([]int, len(piece))
			for i, c := range piece {
				numbers[i] = int(c)
			}
			top = append(top, map[string]any{"id": e.Token, "token": string(piece), "bytes": numbers, "logprob": e.LogProb})
		}
		s.reply(w, map[string]any{"tokens_evaluated": len(prompt), "truncated": false, "completion_probabilities": []any{map[string]any{"id": 1, "top_logprobs": top}}})
	case path == "/v1/completions" && !s.native:
		s.complete(w, req)
	default:
		http.NotFound(w, r)
	}
}

func (s *standIn) top(prompt []lm.Token, k int) []lm.TokenLogProb {
	last := prompt[len(prompt)-1]
	all := make([]lm.TokenLogProb, len(s.model.Pieces))
	for t := range all {
		all[t] = lm.TokenLogProb{Token: lm.Token(t), LogProb: math.Log(s.model.Next(last, lm.Token(t)))}
	}
	slices.SortStableFunc(all, func(a, b lm.TokenLogProb) int {
		if a.LogProb > b.LogProb {
			return -1
		} else if a.LogProb < b.LogProb {
			return 1
		}
		return 0
	})
	if k < 0 {
		return all
	}
	return all[:min(k, len(all))]
}

// complete answers as vLLM's /v1/completions does.
func (s *standIn) complete(w http.ResponseWriter, req standInRequest) {
	var prompt []lm.Token
	if err := json.Unmarshal(req.Prompt, &prompt); err != nil || req.MaxTokens != 1 {
		s.refuse(w, "not as expected")
		return
	}
	if s.plain && req.RepetitionPenalty != nil {
		s.refuse(w, "Unrecognized request argument supplied: repetition_penalty")
		return
	}
	if m := slices.Max(prompt); int(m) >= len(s.model.Pieces) {
		s.refuse(w, "Token id %d is out of vocabulary", m)
		return
	}
	most := s.most
	if most < 0 {
		most = len(s.model.Pieces)
	}
	for _, n := range []*int{req.Logprobs, req.PromptLogprobs} {
		if n == nil {
			continue
		}
		if *n == -1 {
			*n = len(s.model.Pieces)
		}
		if *n > most {
			s.refuse(w, "Requested sample logprobs of %d, which is greater than max allowed: %d", *n, most)
			return
		}
	}
	choice := map[string]any{"index": 0, "text": "", "finish_reason": "length"}
	if req.Logprobs != nil && req.AsIDs {
		top := map[string]float64{}
		list := s.top(prompt, *req.Logprobs)
		for _, e := range list {
			top[fmt.Sprintf("token_id:%d", e.Token)] = e.LogProb
		}
		choice["logprobs"] = map[string]any{"tokens": []string{fmt.Sprintf("token_id:%d", list[0].Token)}, "token_logprobs": []float64{list[0].LogProb}, "top_logprobs": []any{top}, "text_offset": []int{0}}
	}
	if req.PromptLogprobs != nil {
		inner := []any{nil}
		for i := 1; i < len(prompt); i++ {
			at := map[string]any{}
			all := s.top(prompt[:i], -1)
			for rank, e := range all {
				// The prompt's own token is told with its rank however improbable it is.
				if rank < *req.PromptLogprobs || e.Token == prompt[i] {
					at[strconv.Itoa(int(e.Token))] = map[string]any{"logprob": e.LogProb, "rank": rank + 1, "decoded_token": s.model.Pieces[e.Token]}
				}
			}
			inner = append(inner, at)
		}
		choice["prompt_logprobs"] = inner
	}
	s.reply(w, map[string]any{"choices": []any{choice}, "usage": map[string]any{"prompt_tokens": len(prompt)}})
}

// sentences are prefixes of the corpus, of which some are the beginnings of others.
var sentences = []string{"a", "a robin", "a robin is", "a robin is an", "the cat", "the cat sat on the", "naïve", "café é", "a bird is an", "is", " zebra"}

// prefixesOf tokenises them.
func prefixesOf(t testing.TB, m lm.Model) (out [][]lm.Token) {
	t.Helper()
	for _, s := range sentences {
		ids, err := m.Tokenize(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		prompt, err := lm.Prompt(m, ids)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, prompt)
	}
	return out
}

func readAll(t testing.TB, m lm.Model, prefixes [][]lm.Token) []lm.Distribution {
	t.Helper()
	out := make([]lm.Distribution, len(prefixes))
	times := map[int]int{}
	err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		d.Logits, d.Top, d.Among = slices.Clone(d.Logits), slices.Clone(d.Top), maps.Clone(d.Among)
		out[i] = d
		times[i]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range prefixes {
		if times[i] != 1 {
			t.Fatalf("prefix %d was read %d times", i, times[i])
		}
	}
	return out
}

func quick(o Options) Options {
	if o.Backoff == 0 {
		o.Backoff = time.Millisecond
	}
	return o
}

// reader opens a stand-in's model for reading.
func reader(t testing.TB, address string, o Options) *Model {
	t.Helper()
	m, err := Open(t.Context(), address, "", quick(o))
	if err == nil {
		err = m.Readable()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
