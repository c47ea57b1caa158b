package integration_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/calibrate"
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
			server, err := m.Tokenize(t.Context(), text)
			switch text {
			case "<|im_end|>": // as text it is out of reach, which the error says
				if err == nil || !strings.Contains(err.Error(), "use llama-server, which takes tokens") {
					t.Errorf("%q: %v, %v", text, server, err)
				}
				continue
			case "العربية ١٢٣": // transformers leaves out the file's rule for digits
				continue
			}
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if file, err := own.Tokenize(t.Context(), text); err != nil || !slices.Equal(server, file) {
				t.Errorf("%q is %v on the server, and %v by the file", text, server, file)
			}
			for _, id := range server {
				if string(m.Piece(id)) != string(own.Piece(id)) {
					t.Errorf("token %d is %q on the server, and %q in the file", id, m.Piece(id), own.Piece(id))
				}
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
		var events []event.Event
		for _, e := range [][2]string{{"The capital of France is", "Paris"}, {"The capital of France is", "cheese"}, {"A robin is a type of", "bird"}, {"A robin is a", "golden retriever dog"}, {"The sun rises in the", "east"}} {
			events = append(events, event.Event{Prefix: e[0], Target: e[1]})
		}
		cals := []calibrate.Calibration{{Method: calibrate.Raw}, {Method: calibrate.NucleusEntropy, P: 0.95}, {Method: calibrate.Entropy}}
		answers := func(m lm.Model, cal calibrate.Calibration) []event.Reading {
			reader := &event.Reader{Model: m}
			resolved, err := reader.Resolve(context.Background(), events)
			if err != nil {
				t.Fatal(err)
			}
			var steps []event.Step
			for _, e := range resolved {
				steps = append(steps, e.Steps...)
			}
			out, err := reader.Read(t.Context(), steps, cal)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		for _, cal := range cals {
			a, b := answers(own, cal), answers(m, cal)
			narrow := 0
			for i := range a {
				if !a[i].LogP.IsExact() || b[i].LogP.Lo > a[i].LogP.Hi+apart || b[i].LogP.Hi < a[i].LogP.Lo-apart || b[i].C.Lo > a[i].C.Hi+apart || b[i].C.Hi < a[i].C.Lo-apart {
					t.Errorf("%v, step %d: log P %v and C %v, and by the lists %v and %v", cal, i, a[i].LogP, a[i].C, b[i].LogP, b[i].C)
				}
				if b[i].LogP.Hi-b[i].LogP.Lo < apart {
					narrow++
				}
			}
			if narrow == 0 || len(a) <= len(events) {
				t.Errorf("%v: %d steps, and the lists tell of %d", cal, len(a), narrow)
			}
		}
	})
}
