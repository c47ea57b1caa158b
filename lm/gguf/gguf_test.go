package gguf

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/fs/ggml"
	engineggml "github.com/ollama/ollama/ml/backend/ggml"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/store"
)

// testThreads is one, because the engine's threads wait for each other in a loop,
// which on a machine that is busy with other tests takes longer than the work.
const testThreads = 1

// open opens a reference model; dequantised weights go where the program keeps
// them, so that they are made once for all tests.
func open(t testing.TB, r modeltest.Reference, p Precision) *Model {
	t.Helper()
	path := r.Path(t)
	dir, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), path, Options{Name: r.Name, Digest: r.SHA256, Precision: p, CacheDir: dir, Threads: testThreads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if got := m.Info().Precision; got != string(p) {
		t.Fatalf("precision %q, want %q", got, p)
	}
	return m
}

// compare reads what the oracle read and returns the largest differences: of a
// target's log-probability, of an entropy (whole and of each nucleus that is of the
// same size), and of a nucleus's size as a share of it.
func compare(t *testing.T, m *Model, readings []modeltest.Reading) (logP, entropy, size float64) {
	ps := []float64{0.8, 0.85, 0.9, 0.95}
	names := []string{"0.8", "0.85", "0.9", "0.95"}
	var prefixes [][]lm.Token
	for _, r := range readings {
		prefixes = append(prefixes, r.PrefixIDs)
	}
	seen := make([]bool, len(readings))
	err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		if seen[i] {
			t.Errorf("prefix %d was read twice", i)
		}
		seen[i] = true
		s, err := calibrate.Summarize(d.Logits, ps)
		if err != nil {
			return err
		}
		r := readings[i]
		for _, target := range r.Targets {
			logP = max(logP, math.Abs(s.LogP(float64(d.Logits[target.ID])).Lo-target.LogProb))
		}
		entropy = max(entropy, math.Abs(s.Entropy.Lo-r.Entropy))
		for k, name := range names {
			// A token at the nucleus's border may be in or out by the last digits of a probability: one more or
			// less is no difference at a size below 100, and the entropies are then of different sets.
			off := math.Abs(s.Nuclei[k].Size.Lo - r.Nucleus[name].Size)
			size = max(size, max(0, off-1)/r.Nucleus[name].Size)
			if off == 0 {
				entropy = max(entropy, math.Abs(s.Nuclei[k].Entropy.Lo-r.Nucleus[name].Entropy))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.Index(seen, false); i >= 0 {
		t.Fatalf("prefix %d was not read", i)
	}
	return logP, entropy, size
}

// The reference is PyTorch in float32 over the weights dequantised from the same
// file.
func TestOracle(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			readings := r.Readings(t)
			t.Run("exact", func(t *testing.T) {
				logP, entropy, size := compare(t, open(t, r, Exact), readings)
				t.Logf("largest differences over %d prefixes: log-probability %.5f, entropy %.5f nats, nucleus size %.2f %%", len(readings), logP, entropy, 100*size)
				if logP > moves || entropy > moves || size > 0.01 {
					t.Errorf("more than %g in a log-probability (%g) or an entropy (%g), or 1 %% in a nucleus size (%.4f)", moves, logP, entropy, size)
				}
			})
			t.Run("native", func(t *testing.T) {
				logP, entropy, size := compare(t, open(t, r, Native), readings)
				t.Logf("largest differences over %d prefixes: log-probability %.5f, entropy %.5f nats, nucleus size %.2f %%", len(readings), logP, entropy, 100*size)
				// The kernels for quantised weights round the activations; more than this is another model.
				if logP > 1 || entropy > 0.5 {
					t.Errorf("native precision is off by %.3f in a log-probability and %.3f in an entropy", logP, entropy)
				}
			})
		})
	}
}

// readAll reads prefixes together.
func readAll(t *testing.T, m *Model, prefixes [][]lm.Token) [][]float32 {
	t.Helper()
	out := make([][]float32, len(prefixes))
	if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		out[i] = slices.Clone(d.Logits)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// A prefix's reading does not depend on what is read with it.
func TestBatchesAgree(t *testing.T) {
	r := modeltest.SmolLM
	m := open(t, r, Exact)
	prefixes := modeltest.Prefixes(t, m)
	together := readAll(t, m, append(slices.Clone(prefixes), prefixes[3], prefixes[0]))
	for i, prefix := range prefixes {
		alone := readAll(t, m, [][]lm.Token{prefix})[0]
		for k := range alone {
			if math.Abs(float64(alone[k]-together[i][k])) > 1e-3 {
				t.Fatalf("prefix %d, token %d: %g alone and %g in a batch", i, k, alone[k], together[i][k])
			}
		}
	}
	if n := len(prefixes); !slices.Equal(together[n], together[3]) || !slices.Equal(together[n+1], together[0]) {
		t.Error("identical prefixes in one call have different readings")
	}
}

// `Yes No` and `No Yes` in one call: each second token is read after its own
// first.
func TestTwoOrdersInOneBatch(t *testing.T) {
	m := open(t, modeltest.SmolLM, Exact)
	tokens := func(s string) []lm.Token {
		ids, err := m.Tokenize(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	a, b := tokens("Answer: Yes"), tokens("Answer: No")
	got := make([][]float32, 2)
	keep := func(into [][]float32) func(int, lm.Distribution) error {
		return func(i int, d lm.Distribution) error { into[i] = slices.Clone(d.Logits); return nil }
	}
	if err := m.Read(t.Context(), [][]lm.Token{a, b}, keep(got)); err != nil {
		t.Fatal(err)
	}
	swapped := make([][]float32, 2)
	if err := m.Read(t.Context(), [][]lm.Token{b, a}, keep(swapped)); err != nil {
		t.Fatal(err)
	}
	for k := range got[0] {
		if math.Abs(float64(got[0][k]-swapped[1][k])) > 1e-3 || math.Abs(float64(got[1][k]-swapped[0][k])) > 1e-3 {
			t.Fatalf("token %d: the reading of a prefix depends on its place in the batch", k)
		}
	}
	if slices.Equal(got[0], got[1]) {
		t.Error("two different prefixes have the same reading")
	}
}

// Long prefixes are read in chunks, and in a larger cache, to the same logits.
// Gemma's layers look back through a sliding window of 512 tokens, which the
// chunks must not cut.
func TestLongPrefix(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m := open(t, r, Exact)
			text, err := m.Tokenize(t.Context(), " The quick brown fox jumps over the lazy dog. Nothing in Paris is as it was, they say.")
			if err != nil {
				t.Fatal(err)
			}
			prefix, err := lm.Prompt(m, slices.Repeat(text, 700/len(text)))
			if err != nil {
				t.Fatal(err)
			}
			whole := logits(t, m, len(prefix), prefix)
			for _, chunk := range []int{defaultChunk, 300} {
				chunked := logits(t, m, chunk, prefix)
				for k := range whole {
					if math.Abs(float64(whole[k]-chunked[k])) > 2*moves {
						t.Fatalf("token %d after %d tokens: %g at once and %g in chunks of %d", k, len(prefix), whole[k], chunked[k], chunk)
					}
				}
			}
		})
	}
	m := open(t, modeltest.SmolLM, Exact)
	longer := make([]lm.Token, defaultCapacity+1)
	if got := logits(t, m, defaultChunk, longer); len(got) != m.Info().Vocabulary {
		t.Errorf("a prefix longer than the first cache has %d logits", len(got))
	}
	tooLong := make([]lm.Token, m.Info().Context+1)
	var contextError *lm.ContextError
	if err := m.Read(t.Context(), [][]lm.Token{tooLong}, nil); !errors.As(err, &contextError) {
		t.Errorf("a prefix longer than the context: %v", err)
	}
}

// logits reads one prefix in chunks of so many tokens.
func logits(t *testing.T, m *Model, chunk int, prefix []lm.Token) (out []float32) {
	t.Helper()
	if m.chunk != chunk && m.engine != nil {
		m.engine.close()
		m.engine = nil
	}
	m.chunk = chunk
	if err := m.Read(t.Context(), [][]lm.Token{prefix}, func(_ int, d lm.Distribution) error {
		out = slices.Clone(d.Logits)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestReadErrors(t *testing.T) {
	m := open(t, modeltest.SmolLM, Exact)
	none := func(int, lm.Distribution) error { t.Error("something was read"); return nil }
	if err := m.Read(t.Context(), [][]lm.Token{{}}, none); !errors.Is(err, lm.ErrEmptyPrefix) {
		t.Errorf("an empty prefix: %v", err)
	}
	for _, token := range []lm.Token{-1, lm.Token(m.Info().Vocabulary)} {
		if err := m.Read(t.Context(), [][]lm.Token{{token}}, none); err == nil {
			t.Errorf("token %d was read", token)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Read(ctx, [][]lm.Token{{1}}, none); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled reading: %v", err)
	}
	wanted := errors.New("enough")
	if err := m.Read(t.Context(), [][]lm.Token{{1}, {2}}, func(int, lm.Distribution) error { return wanted }); err != wanted {
		t.Errorf("an error of yield: %v", err)
	}
	if _, err := lm.Prompt(m, nil); !errors.Is(err, lm.ErrEmptyPrefix) {
		t.Errorf("an empty prompt on a model without BOS: %v", err)
	}
	m.Close()
	if err := m.Read(t.Context(), [][]lm.Token{{1}}, none); err == nil {
		t.Error("a closed model was read")
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole, err := os.ReadFile(modeltest.SmolLM.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	cut := write("cut.gguf", string(whole[:len(whole)/2]))
	torn := write("torn.gguf", strings.Replace(string(whole), "llama.block_count", "llama.block_kount", 1))
	unknown := write("unknown.gguf", strings.ReplaceAll(string(whole), "llama", "qalam"))
	for _, test := range []struct {
		name, path string
		is         error
		want       string
	}{
		{"missing", filepath.Join(dir, "missing.gguf"), os.ErrNotExist, "missing.gguf"},
		{"a folder", dir, header.ErrNotGGUF, "not a regular file"},
		{"text", write("readme.gguf", "This is not a model.\n"), header.ErrNotGGUF, "does not begin with the letters GGUF"},
		{"empty", write("empty.gguf", ""), header.ErrNotGGUF, ""},
		{"cut short", cut, header.ErrTruncated, "the file has"},
		{"metadata that lack what the architecture needs", torn, nil, "llama.block_count"},
		{"unknown architecture", unknown, nil, "does not have this model's architecture"},
	} {
		m, err := Open(t.Context(), test.path, Options{Digest: "x", Precision: Native})
		if err == nil {
			m.Close()
			t.Errorf("%s: opened", test.name)
			continue
		}
		if test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if _, err := Open(t.Context(), cut, Options{Precision: "double"}); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("an unknown precision: %v", err)
	}
}

// Damaged dequantised weights are noticed and written anew; where they cannot be
// written, Auto falls back and says why, and Exact fails.
func TestDequantisedWeights(t *testing.T) {
	r := modeltest.SmolLM
	path := r.Path(t)
	dir := t.TempDir()
	options := Options{Digest: r.SHA256, Precision: Exact, CacheDir: dir, Threads: testThreads}
	first, err := Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	weights := first.weights
	want := readOne(t, first)
	first.Close()
	if left, _ := filepath.Glob(filepath.Join(dir, "weights", "*.partial")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	h, err := header.Open(weights)
	if err != nil {
		t.Fatal(err)
	}
	if !allFloat32(h) {
		t.Error("the dequantised weights are not all float32")
	}
	good, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	bad := slices.Clone(good)
	bad[len(bad)/2] ^= 0x40
	for name, content := range map[string][]byte{"one bit": bad, "cut short": good[:len(good)/3]} {
		if err := os.WriteFile(weights, content, 0o666); err != nil {
			t.Fatal(err)
		}
		again, err := Open(t.Context(), path, options)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := readOne(t, again); got != want {
			t.Errorf("%s: a logit is %g, want %g", name, got, want)
		}
		again.Close()
		if now, _ := os.ReadFile(weights); !slices.Equal(now, good) {
			t.Errorf("%s: the damaged weights were not written anew", name)
		}
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	options.CacheDir = file // no folder can be made below a file
	if m, err := Open(t.Context(), path, options); err == nil {
		m.Close()
		t.Error("exact precision without a place for the weights")
	}
	options.Precision = Auto
	var warned string
	options.Warn = func(message string) { warned = message }
	m, err := Open(t.Context(), path, options)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Info().Precision != string(Native) || !strings.Contains(warned, "native precision") {
		t.Errorf("precision %q, warning %q", m.Info().Precision, warned)
	}
}

// readOne returns one logit after one token.
func readOne(t *testing.T, m *Model) (logit float32) {
	t.Helper()
	if err := m.Read(t.Context(), [][]lm.Token{{100}}, func(_ int, d lm.Distribution) error {
		logit = d.Logits[200]
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return logit
}

// A file that is replaced after it was opened is not read under its digest.
func TestFileChanges(t *testing.T) {
	r := modeltest.SmolLM
	whole, err := os.ReadFile(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), path, Options{Digest: r.SHA256, Precision: Native})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	whole[len(whole)-1] ^= 1
	if err := os.WriteFile(path, whole, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	err = m.Read(t.Context(), [][]lm.Token{{1}}, func(int, lm.Distribution) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("a file that was replaced: %v", err)
	}
}

// Weights that the engine cannot dequantise are left as they are, with a reason.
func TestConvertible(t *testing.T) {
	for kind, ok := range map[ggml.TensorType]bool{
		ggml.TensorTypeF32: true, ggml.TensorTypeF16: true, ggml.TensorTypeBF16: true, ggml.TensorTypeQ4_K: true, ggml.TensorTypeI32: true,
		4: false, 16: false, 20: false, 23: false, ggml.TensorTypeQ8_1: false, ggml.TensorTypeQ8_K: false,
	} {
		h := &header.Header{Tensors: []header.Tensor{{Name: "blk.0.attn_q.weight", Type: kind, Shape: []uint64{256, 4}}}}
		err := convertible(h)
		if (err == nil) != ok {
			t.Errorf("type %d: %v", kind, err)
		}
		if !ok && exactFits(h, 0) == nil {
			t.Errorf("type %d fits into memory as float32", kind)
		}
		if ok && dequantises(h.Tensors[0]) { // must not panic
			engineggml.ConvertToF32(make([]byte, h.Tensors[0].Bytes()), uint32(kind), h.Tensors[0].Elements())
		}
	}
}

func TestBuiltFor(t *testing.T) {
	b := BuiltFor()
	t.Logf("%+v", b)
	if !b.Optimised {
		t.Error(`the engine is compiled without optimisation; set CGO_CFLAGS and CGO_CXXFLAGS to "-O3 -march=native", as make does`)
	}
	if err := CheckCPU(); err != nil {
		t.Error(err)
	}
}
