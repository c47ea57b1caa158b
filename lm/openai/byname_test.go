package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/listed"
	"github.com/modellog/modellog/lm/tokens"
)

// A vocabulary written by hand: two tokens are a line break, three have no name, and each byte has a token, so that
// halves of characters have none that can be told apart, and a letter shares its name with its byte.
var byHand = func() header.KV {
	all := []string{"<s>", "▁a", "▁b", "▁c", "\n", "<0x0A>", "<0xE2>", "<0x96>", "</s>", "▁", "a", "b", "c", "<pad>"}
	scores := []float32{0, -1, -2, -3, -4, 0, 0, 0, 0, -9, -8, -7, -6, 0}
	kinds := []int32{3, 1, 1, 1, 4, 6, 6, 6, 3, 1, 1, 1, 1, 3}
	for b := range 256 {
		if name := fmt.Sprintf("<0x%02X>", b); !slices.Contains(all, name) {
			all, scores, kinds = append(all, name), append(scores, 0), append(kinds, 6)
		}
	}
	return header.KV{
		"general.architecture":            "test",
		"tokenizer.ggml.model":            "llama",
		"tokenizer.ggml.tokens":           all,
		"tokenizer.ggml.scores":           scores,
		"tokenizer.ggml.token_type":       kinds,
		"tokenizer.ggml.bos_token_id":     uint32(0),
		"tokenizer.ggml.eos_token_id":     uint32(8),
		"tokenizer.ggml.add_bos_token":    true,
		"tokenizer.ggml.add_space_prefix": false,
	}
}()

const handSize = 14 + 253

// weighted makes a distribution over the vocabulary: the first tokens as given, the others share the rest.
func weighted(p ...float64) []float64 {
	rest := 1.0
	for _, x := range p {
		rest -= x
	}
	for n := handSize - len(p); len(p) < handSize; {
		p = append(p, rest/float64(n))
	}
	return p
}

func handTokenizer(t testing.TB) *tokens.Tokenizer {
	t.Helper()
	tok, err := tokens.New(byHand)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// pythonic answers as llama-cpp-python's server does (its version 0.3.36's source is what
// this follows): tokens are named by their text, of several with one name the last stays in the
// first's place, and where the text ends there are no log-probabilities.
type pythonic struct {
	*httptest.Server
	tok     *tokens.Tokenizer
	other   bool // another kind of server: without its paths, and with U+FFFD
	most    int  // the longest list, if not 0
	noUsage bool

	mu    sync.Mutex
	p     []float64 // by token
	asked []map[string]any
}

func newPythonic(t testing.TB) *pythonic {
	s := &pythonic{tok: handTokenizer(t)}
	s.p = make([]float64, s.tok.Size())
	for i := range s.p {
		s.p[i] = 1 / float64(len(s.p))
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *pythonic) call(id lm.Token) string {
	if s.tok.IsControl(id) {
		return ""
	}
	if s.other {
		return listed.Replaced(s.tok.Piece(id))
	}
	return listed.Dropped(s.tok.Piece(id))
}

func (s *pythonic) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var req map[string]any
	body, _ := io.ReadAll(r.Body)
	json.Unmarshal(body, &req)
	encode := func(text string) []lm.Token {
		ids, _ := s.tok.EncodeMarked(text)
		return append([]lm.Token{0}, ids...)
	}
	switch path := r.URL.Path; {
	case path == "/v1/models":
		say(w, "application/json", `{"data":[{"id":"m","owned_by":"me"}]}`)
	case path == "/openapi.json" && !s.other:
		say(w, "application/json", `{"info":{"title":"🦙 llama.cpp Python API","version":"0.3.36"}}`)
	case path == "/extras/tokenize" && !s.other:
		ids, _ := json.Marshal(map[string]any{"tokens": encode(req["input"].(string))})
		say(w, "application/json", string(ids))
	case path == "/v1/completions":
		s.asked = append(s.asked, req)
		k := int(req["logprobs"].(float64))
		if s.most > 0 && k > s.most {
			w.WriteHeader(400)
			return
		}
		order := make([]lm.Token, len(s.p))
		for i := range order {
			order[i] = lm.Token(i)
		}
		slices.SortStableFunc(order, func(a, b lm.Token) int {
			if s.p[a] > s.p[b] {
				return -1
			} else if s.p[a] < s.p[b] {
				return 1
			}
			return 0
		})
		sampled := order[0]
		if req["temperature"].(float64) > 1 {
			sampled = order[int(req["seed"].(float64))%len(order)]
		}
		usage := fmt.Sprintf(`,"usage":{"prompt_tokens":%d}`, len(encode(req["prompt"].(string))))
		if s.noUsage {
			usage = ""
		}
		if sampled == 8 {
			say(w, "application/json", `{"choices":[{"text":"","finish_reason":"stop","logprobs":{"tokens":[],"top_logprobs":[]}}]`+usage+`}`)
			return
		}
		// A Python dictionary: a key that comes again keeps its place and takes the new value.
		var names []string
		values := map[string]float64{}
		put := func(id lm.Token) {
			name := s.call(id)
			if _, ok := values[name]; !ok {
				names = append(names, name)
			}
			values[name] = math.Log(s.p[id])
		}
		for _, id := range order[:min(k, len(order))] {
			put(id)
		}
		put(sampled)
		var list []string
		for _, name := range names {
			quoted, _ := json.Marshal(name)
			list = append(list, fmt.Sprintf("%s:%v", quoted, values[name]))
		}
		name, _ := json.Marshal(s.call(sampled))
		say(w, "application/json", fmt.Sprintf(`{"choices":[{"text":"","finish_reason":"length","logprobs":{"tokens":[%s],"top_logprobs":[{%s}]}}]%s}`, name, strings.Join(list, ","), usage))
	default:
		http.NotFound(w, r)
	}
}

func (s *pythonic) open(t testing.TB, o Options) (*Model, error) {
	t.Helper()
	o.Vocabulary = func(context.Context, string) (*tokens.Tokenizer, error) { return s.tok, nil }
	m, err := Open(t.Context(), s.URL, "m", quick(o))
	if err == nil {
		err = m.Readable()
	}
	return m, err
}

// What a list leaves open is never taken for known, whichever tokens hide behind one name.
func TestNames(t *testing.T) {
	for _, other := range []bool{false, true} {
		t.Run(fmt.Sprintf("another kind %v", other), func(t *testing.T) {
			s := newPythonic(t)
			s.other = other
			m, err := s.open(t, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if i := m.Info(); i.Vocabulary != handSize || i.Whole || !i.AddBOS || i.BOS != 0 || !slices.Contains(i.EOS, 8) {
				t.Errorf("%+v", i)
			}
			rapid.Check(t, func(t *rapid.T) {
				source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
				spread := rapid.Float64Range(0.1, 4).Draw(t, "spread")
				p := make([]float64, handSize)
				var sum float64
				for i := range p {
					p[i] = math.Exp(spread * source.NormFloat64())
					sum += p[i]
				}
				for i := range p {
					p[i] /= sum
				}
				depth := rapid.IntRange(1, 40).Draw(t, "depth")
				s.mu.Lock()
				s.p = p
				s.mu.Unlock()
				d := m.dialect.(*byName)
				d.depths = []int{depth, max(1, depth/2)}
				var got lm.Distribution
				err := m.Read(context.Background(), [][]lm.Token{{0, 1}}, func(_ int, d lm.Distribution) error { got = d; return nil })
				if err != nil {
					t.Fatal(err)
				}
				last := got.Top[len(got.Top)-1].LogProb
				for token, x := range p {
					truth := math.Log(x)
					logprobs, sure := got.Listed(lm.Token(token))
					near := slices.ContainsFunc(logprobs, func(l float64) bool { return math.Abs(l-truth) < 1e-9 })
					if !near && (sure || truth > last+1e-9) {
						t.Fatalf("token %d has %v, and of %+v follows %v (sure %v)", token, truth, got, logprobs, sure)
					}
				}
			})
		})
	}
}

func TestByName(t *testing.T) {
	s := newPythonic(t)
	m, err := s.open(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Info().Revision != "llama-cpp-python 0.3.36" || m.Info().Digest == "" {
		t.Errorf("%+v", m.Info())
	}
	ids, err := m.Tokenize(t.Context(), " a b\n")
	if err != nil || !slices.Equal(ids, []lm.Token{1, 2, 4}) || string(m.Piece(2)) != " b" || m.Piece(handSize) != nil {
		t.Errorf("%v, %v", ids, err)
	}
	// The end of the text is the most probable: another token is sampled.
	s.p = weighted(.01, .1, .05, .04, .03, .02, .01, .01, .6, .02)
	d := readAll(t, m, [][]lm.Token{{0, 1}})[0]
	if len(d.Among) == 0 || math.Abs(d.Top[0].LogProb-math.Log(.6)) > 1e-9 || !slices.Contains(d.Among[0], 8) {
		t.Errorf("%+v", d)
	}
	last := s.asked[len(s.asked)-1]
	if last["prompt"] != " a" || last["temperature"].(float64) < 2 {
		t.Errorf("%v", last)
	}
	// What cannot be put as text.
	for _, bad := range [][]lm.Token{{0}, {1}, {0, 6}, {0, 10, 9, 10}} {
		err := m.Read(t.Context(), [][]lm.Token{bad}, func(int, lm.Distribution) error { return nil })
		var prompt *listed.PromptError
		if !errors.As(err, &prompt) || !strings.Contains(err.Error(), "llama-server") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	// A context that is too short, or a token more in front, is seen by the number of tokens.
	s.noUsage = true
	if err := m.Read(t.Context(), [][]lm.Token{{0, 1}}, nil); err == nil || !strings.Contains(err.Error(), "number of tokens") {
		t.Errorf("%v", err)
	}
}

func TestOtherVocabulary(t *testing.T) {
	s := newPythonic(t)
	other, err := tokens.New(func() header.KV {
		kv := header.KV{}
		for k, v := range byHand {
			kv[k] = v
		}
		all := slices.Clone(kv["tokenizer.ggml.tokens"].([]string))
		all[20], all[200] = all[200], all[20]
		all[100], all[101] = all[101], all[100]
		all[14+97-2], all[14+98-2] = all[14+98-2], all[14+97-2]
		slices.Reverse(all[120:])
		kv["tokenizer.ggml.tokens"] = all
		return kv
	}())
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), s.URL, "m", quick(Options{Vocabulary: func(context.Context, string) (*tokens.Tokenizer, error) { return other, nil }}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Readable(); err == nil || !strings.Contains(err.Error(), "two models") {
		t.Errorf("%v", err)
	}
	none := errors.New("no model on this machine is called m")
	m, err = Open(t.Context(), s.URL, "m", quick(Options{Vocabulary: func(context.Context, string) (*tokens.Tokenizer, error) { return nil, none }}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Readable(); !errors.Is(err, ErrNoReadings) || !errors.Is(err, none) || !strings.Contains(err.Error(), "--model_alias") {
		t.Errorf("%v", err)
	}
}

// A server that lists 5 tokens at most is asked for 5.
func TestShortLists(t *testing.T) {
	s := newPythonic(t)
	s.other, s.most = true, 5
	s.p = weighted(.01, .3, .2, .1)
	m, err := s.open(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Listed() != 5 {
		t.Errorf("%d tokens", m.Listed())
	}
}
