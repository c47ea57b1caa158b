// Package integration_test compares package openai, on real servers, with the
// embedded engine on the same weights. The tests are skipped unless MODELLOG_LLAMA_CPP
// names a Python that has lm/openai/testserver/requirements.txt, or for that of vLLM
// MODELLOG_VLLM one that has it; lm/openai/testserver/run and lm/openai/testserver/vllm
// make them and set these.
package integration_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/servers"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/openai"
	"github.com/modellog/modellog/lm/tokens"
)

// embedded opens the weights with the embedded engine as the servers use them, and has it read one
// prefix at a time.
func embedded(t testing.TB, r modeltest.Reference) *gguf.Model {
	t.Helper()
	m, err := gguf.Open(t.Context(), r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Native, Threads: 1, Batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// vocabulary is that of the model's file.
func vocabulary(t testing.TB, r modeltest.Reference) func(context.Context, string) (*tokens.Tokenizer, error) {
	return func(context.Context, string) (*tokens.Tokenizer, error) {
		h, err := header.Open(r.Path(t))
		if err != nil {
			return nil, err
		}
		return tokens.New(h.KV)
	}
}

func open(t testing.TB, address string, r modeltest.Reference, o openai.Options) *openai.Model {
	t.Helper()
	o.Vocabulary = vocabulary(t, r)
	m, err := openai.Open(t.Context(), address, "", o)
	if err == nil {
		err = m.Readable()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// texts are what the tokenizers are compared on.
var texts = []string{
	"dog", " dog", "  dog", "A robin is a type of", "It's not the dogs' fault, isn't it?", "DON'T SHOUT, iPhone", "in 1984, 12345 x 7 = 86415",
	"naïve café", "Größe, Straße", "日本語のテキスト", "犬が走る。", "ไทย", "हिन्दी", "한국어", "العربية ١٢٣", "🐶 and 👩‍👩‍👧‍👦 and 🇫🇷",
	"tab\there", "x\u00a0y\u3000z", "a … b — c", "(a) [b] {c} <d> \"e\" 'f' `g`", "func main() { fmt.Println(\"hi\") }", "end.\n", "https://example.com/?q=1&r=2",
	"<bos>", "<|im_end|>", "a <eos> b", "e\u0301", "___---***",
}

// checkTokens compares the tokens of a text on a server with those by the file.
func checkTokens(t *testing.T, m, own lm.Model, text string) {
	t.Helper()
	server, err := m.Tokenize(t.Context(), text)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return
	}
	file, err := own.Tokenize(t.Context(), text)
	if err != nil || !slices.Equal(server, file) {
		t.Errorf("%q is %v on the server, and %v by the file", text, server, file)
	}
	for _, id := range server {
		if string(m.Piece(id)) != string(own.Piece(id)) {
			t.Errorf("token %d is %q on the server, and %q in the file", id, m.Piece(id), own.Piece(id))
		}
	}
}

// what each kind of server is expected to differ by from the embedded engine, in log-probabilities, at most and on
// average. Both run llama.cpp's kernels for 4-bit weights, whose activations are rounded to 8 bits; the engine's are
// those of another version, with other attention, and with other splits of the same sums.
const (
	mostApart    = 1.0
	averageApart = 0.2
)

// What servers read is what the embedded engine reads, within the differences of 4-bit kernels.
func TestReadings(t *testing.T) {
	for _, r := range modeltest.All {
		for _, kind := range []string{servers.LlamaServer, servers.LlamaCppPython} {
			t.Run(r.Name+" "+kind, func(t *testing.T) {
				s := servers.Llama(t, kind, r, "small")
				m, own := open(t, s.URL(), r, openai.Options{}), embedded(t, r)
				a, b := m.Info(), own.Info()
				if a.Vocabulary != b.Vocabulary || a.AddBOS != b.AddBOS || a.AddBOS && a.BOS != b.BOS || a.Whole != (kind == servers.LlamaServer) || !strings.HasPrefix(a.Revision, kind) || len(a.Digest) != 64 {
					t.Errorf("%+v on the server, %+v from the file", a, b)
				}
				for _, id := range a.EOS {
					if !slices.Contains(b.EOS, id) {
						t.Errorf("the server says that token %d ends a text, the file has %v", id, b.EOS)
					}
				}
				for _, text := range texts {
					checkTokens(t, m, own, text)
				}
				n := 8
				if r == modeltest.Gemma && kind == servers.LlamaServer {
					n = 1 // of 25 MB
				}
				prefixes := modeltest.Prefixes(t, own)[:n]
				logprobs := make([][]float64, n)
				if err := own.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
					logprobs[i] = modeltest.LogSoftmax(d.Logits)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				most, sum, entries := 0.0, 0.0, 0
				begin := time.Now()
				if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
					if kind == servers.LlamaServer {
						var total float64
						for _, l := range d.Logits {
							total += math.Exp(float64(l))
						}
						if len(d.Logits) != b.Vocabulary || math.Abs(total-1) > 1e-3 {
							t.Errorf("prefix %d: %d logits that sum to %v", i, len(d.Logits), total)
						}
					}
					for k, e := range listed(d) {
						delta := math.Inf(1)
						for _, id := range append([]lm.Token{e.Token}, d.Among[k]...) {
							// Where the name is shared, the nearest of those it may be.
							delta = min(delta, math.Abs(logprobs[i][id]-e.LogProb))
						}
						most, sum, entries = max(most, delta), sum+delta, entries+1
					}
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				say("%s: %s and the embedded engine in native precision differ by at most %.2g in %d log-probabilities after %d prefixes, by %.2g on average; %v a reading",
					r.Name, kind, most, entries, n, sum/float64(entries), (time.Since(begin) / time.Duration(n)).Round(time.Millisecond))
				if most > mostApart || sum/float64(entries) > averageApart || entries < 5 {
					t.Errorf("%d log-probabilities differ by %.2g at most and by %.2g on average: is it the same model?", entries, most, sum/float64(entries))
				}
			})
		}
	}
}

// listed are the 20 most probable tokens.
func listed(d lm.Distribution) []lm.TokenLogProb {
	list := d.Top
	for token, l := range d.Logits {
		list = append(list, lm.TokenLogProb{Token: lm.Token(token), LogProb: float64(l)})
	}
	slices.SortStableFunc(list, func(a, b lm.TokenLogProb) int {
		if a.LogProb > b.LogProb {
			return -1
		} else if a.LogProb < b.LogProb {
			return 1
		}
		return 0
	})
	return list[:min(20, len(list))]
}

// The intervals that llama-cpp-python's lists leave hold what llama-server says of the whole vocabulary, widened by
// what the two servers differ in.
func TestIntervals(t *testing.T) {
	r := modeltest.SmolLM
	whole := open(t, servers.Llama(t, servers.LlamaServer, r, "small").URL(), r, openai.Options{})
	wide := open(t, servers.Llama(t, servers.LlamaCppPython, r, "small").URL(), r, openai.Options{})
	const apart = 0.25
	checkIntervals(t, whole, wide, [][2]string{{"The capital of France is", "Paris"}, {"The capital of France is", "cheese"}, {"A robin is a type of", "bird"}, {"A robin is a type of", "animal"}, {"The sun rises in the", "east"}}, apart, 2*apart)
}

// checkIntervals checks that what a model of lists says of prefixes and targets holds what one of whole distributions
// says, widened in log P and in C, under several calibrations. It returns the readings of the lists by calibration.
func checkIntervals(t *testing.T, whole, wide lm.Model, pairs [][2]string, logP, c float64) (lists [][]event.Reading) {
	t.Helper()
	var events []event.Event
	for _, e := range pairs {
		events = append(events, event.Event{Prefix: e[0], Target: e[1]})
	}
	readings := func(m lm.Model, cal calibrate.Calibration) []event.Reading {
		r := &event.Reader{Model: m}
		resolved, err := r.Resolve(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		var steps []event.Step
		for _, r := range resolved {
			steps = append(steps, r.Steps...)
		}
		out, err := r.Read(t.Context(), steps, cal)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, cal := range []calibrate.Calibration{{Method: calibrate.Raw}, {Method: calibrate.NucleusEntropy, P: 0.95}, {Method: calibrate.Entropy}} {
		a, b := readings(whole, cal), readings(wide, cal)
		for i := range a {
			if !a[i].LogP.IsExact() || b[i].LogP.Lo > a[i].LogP.Hi+logP || b[i].LogP.Hi < a[i].LogP.Lo-logP || b[i].C.Lo > a[i].C.Hi+c || b[i].C.Hi < a[i].C.Lo-c {
				t.Errorf("%v, step %d: log P %v and C %v, and by the lists %v and %v", cal, i, a[i].LogP, a[i].C, b[i].LogP, b[i].C)
			}
		}
		lists = append(lists, b)
	}
	return lists
}

// A run over two servers, one of which is killed in the middle, ends with the rows of a run over one, byte by byte.
func TestKilled(t *testing.T) {
	for _, kind := range []string{servers.LlamaCppPython, servers.LlamaServer} {
		t.Run(kind, func(t *testing.T) {
			r := modeltest.SmolLM
			stays, dies := servers.Llama(t, kind, r, "small"), servers.Llama(t, kind, r, "small")
			suite, err := probct.Load("../../../evals/probct/suite")
			if err != nil {
				t.Fatal(err)
			}
			run := func(address string, o openai.Options, progress func()) []byte {
				t.Helper()
				out := filepath.Join(t.TempDir(), "run")
				s := lang.New(lang.Options{Open: func(ctx context.Context, name string) (lm.Model, error) {
					o.Vocabulary = vocabulary(t, r)
					m, err := openai.Open(ctx, address, "small", o)
					if err != nil {
						return nil, err
					}
					if err := m.Readable(); err != nil {
						return nil, err
					}
					return watched{m, progress}, nil
				}})
				defer s.Close()
				limit := 3
				results, err := probct.Run(t.Context(), s, suite, []string{"m"}, out, probct.RunOptions{Options: probct.Options{Limit: limit}})
				if err != nil {
					t.Fatal(err)
				}
				measured := 0
				for _, subset := range results[0].Subsets {
					measured += subset.Scored
				}
				if measured < 4*limit {
					t.Errorf("%d rows were measured", measured)
				}
				files, err := filepath.Glob(filepath.Join(out, "rows-*"))
				if err != nil || len(files) != 1 {
					t.Fatalf("%q, %v", files, err)
				}
				rows, err := os.ReadFile(files[0])
				if err != nil {
					t.Fatal(err)
				}
				return rows
			}
			const depth = 200 // llama-server's whole vocabulary is 5 MB a reading
			want := run(stays.URL(), openai.Options{Depth: depth}, func() {})
			readings := 0
			warned := make(chan string, 2)
			o := openai.Options{Depth: depth, Parallel: 2, Retries: 2, Backoff: 50 * time.Millisecond, Warn: func(w string) { warned <- w }}
			got := run(dies.URL()+"+"+stays.URL(), o, func() {
				if readings++; readings == 5 {
					dies.Kill()
				}
			})
			if string(got) != string(want) {
				t.Errorf("%d bytes of rows of two servers, %d of one, and they differ", len(got), len(want))
			}
			if readings < 15 || len(warned) != 1 || !strings.Contains(<-warned, dies.URL()) {
				t.Errorf("%d readings, %d warnings", readings, len(warned))
			}
		})
	}
}

// watched counts readings.
type watched struct {
	lm.Model
	read func()
}

func (w watched) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	return w.Model.Read(ctx, prefixes, func(i int, d lm.Distribution) error {
		w.read()
		return yield(i, d)
	})
}

// The servers' limits are said clearly.
func TestLimits(t *testing.T) {
	r := modeltest.SmolLM
	m := open(t, servers.Llama(t, servers.LlamaServer, r, "small").URL(), r, openai.Options{})
	var long *lm.ContextError
	if err := m.Read(t.Context(), [][]lm.Token{slices.Repeat([]lm.Token{504}, 600)}, nil); !errors.As(err, &long) || long.Context != 511 {
		t.Errorf("%v", err)
	}
	if err := m.Read(t.Context(), [][]lm.Token{slices.Repeat([]lm.Token{504}, 511)}, func(int, lm.Distribution) error { return nil }); err != nil {
		t.Errorf("the longest that fits: %v", err)
	}
	s := servers.Llama(t, servers.LlamaCppPython, r, "small", "--logits_all", "false")
	m, err := openai.Open(t.Context(), s.URL(), "small", openai.Options{Vocabulary: vocabulary(t, r)})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Readable(); err == nil || !strings.Contains(err.Error(), "--logits_all true") {
		t.Errorf("a server without log-probabilities: %v", err)
	}
	other := servers.Llama(t, servers.LlamaCppPython, r, "small")
	if m, err := openai.Open(t.Context(), other.URL(), "small", openai.Options{Vocabulary: vocabulary(t, modeltest.Gemma)}); err != nil || m.Readable() == nil || !strings.Contains(m.Readable().Error(), "two models") {
		t.Errorf("another vocabulary: %v", fmt.Sprint(m, err))
	}
}

// say prints a measurement, which is worth reading when all is well, too.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }
