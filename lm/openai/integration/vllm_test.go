package integration_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/internal/modeltest/servers"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/openai"
)

// What vLLM reads in float32 is what the embedded engine reads in exact precision: whole distributions where the server
// gives them, and within the lists of 20 that it gives by default, of targets of several tokens in one request each.
func TestVLLM(t *testing.T) {
	const apart = 1e-3 // both compute in float32
	r, weights := modeltest.SmolLM, t.TempDir()
	own := engine.Open(t, r)
	t.Run("whole", func(t *testing.T) {
		m := open(t, servers.VLLM(t, r, weights, "small", "--max-logprobs", "-1").URL(), r, openai.Options{})
		a, b := m.Info(), own.Info()
		if a.Vocabulary != b.Vocabulary || a.AddBOS != b.AddBOS || !a.Whole || a.Revision == "" {
			t.Errorf("%+v on the server, %+v from the file", a, b)
		}
		for _, text := range texts {
			switch text {
			case "<|im_end|>": // as text it is out of reach, which the error says
				if server, err := m.Tokenize(t.Context(), text); err == nil || !strings.Contains(err.Error(), "use llama-server, which takes tokens") {
					t.Errorf("%q: %v, %v", text, server, err)
				}
			case "العربية ١٢٣": // transformers leaves out the file's rule for digits
			default:
				checkTokens(t, m, own, text)
			}
		}
		prefixes := modeltest.Prefixes(t, own)[:6]
		want := make([][]float64, len(prefixes))
		if err := own.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
			want[i] = modeltest.LogSoftmax(d.Logits)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		most, read := 0.0, 0
		if err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
			read++
			for token, l := range modeltest.LogSoftmax(d.Logits) {
				if want[i][token] > -20 {
					most = max(most, math.Abs(l-want[i][token]))
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if most > apart || read != len(prefixes) {
			t.Errorf("%d of %d distributions, log-probabilities differ by up to %g", read, len(prefixes), most)
		}
		say("%s: vLLM and the embedded engine, both in float32, differ by at most %.2g in the log-probabilities after %d prefixes", r.Name, most, read)
	})
	t.Run("lists", func(t *testing.T) {
		m := open(t, servers.VLLM(t, r, weights, "small").URL(), r, openai.Options{})
		if i := m.Info(); i.Whole || i.Vocabulary != own.Info().Vocabulary {
			t.Errorf("%+v", i)
		}
		pairs := [][2]string{{"The capital of France is", "Paris"}, {"The capital of France is", "cheese"}, {"A robin is a type of", "bird"}, {"A robin is a", "golden retriever dog"}, {"The sun rises in the", "east"}}
		for i, read := range checkIntervals(t, own, m, pairs, apart, apart) {
			narrow := slices.ContainsFunc(read, func(r event.Reading) bool { return r.LogP.Hi-r.LogP.Lo < apart })
			if !narrow || len(read) <= len(pairs) {
				t.Errorf("calibration %d: %d steps, and the lists tell of one: %v", i, len(read), narrow)
			}
		}
	})
}
