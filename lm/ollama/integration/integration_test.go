package integration_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/lm/ollama"
	"github.com/modellog/modellog/logic"
)

// embedded opens the weights with the embedded engine as the server uses them,
// and has it read one prefix at a time: where others are in the batch, sums are
// made in another order.
func embedded(t testing.TB, r modeltest.Reference) *gguf.Model {
	t.Helper()
	m, err := gguf.Open(t.Context(), r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Native, Threads: 1, Batch: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// texts are what the tokenizers are compared on, besides modeltest's prefixes.
var texts = []string{
	"dog", " dog", "  dog", "A robin is a type of", "It's not the dogs' fault, isn't it?", "DON'T SHOUT, iPhone", "in 1984, 12345 x 7 = 86415",
	"naïve café", "Größe, Straße", "日本語のテキスト", "犬が走る。", "ไทย", "हिन्दी", "한국어", "العربية ١٢٣", "🐶 and 👩‍👩‍👧‍👦 and 🇫🇷",
	"tab\there", "x\u00a0y\u3000z", "a … b — c", "(a) [b] {c} <d> \"e\" 'f' `g`", "func main() { fmt.Println(\"hi\") }", "end.\n", "https://example.com/?q=1&r=2",
	"a\x01b\x7f", "e\u0301", "___---***", "ﬁ ½ №", "\u200bzero\u200b",
}

// The server says which tokens it reads when its own template is asked for. They
// are ours: llama.cpp's tokenizer runs SmolLM, Ollama's own runs Gemma.
func TestTokens(t *testing.T) {
	s := server(t)
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m := open(t, serverName[r.Name], ollama.Options{})
			all := slices.Clone(texts)
			if r == modeltest.SmolLM {
				// Ollama's own tokenizer splits runs of line breaks
				// and of spaces otherwise than the model was trained.
				all = append(all, "a\n\n\nb\n c\r\n\r\n", "    indented\n\t\tmore", "trailing   ")
			}
			for _, p := range modeltest.Prompts {
				all = append(all, p.Prefix)
			}
			no := false
			for _, text := range all {
				var ids []int
				err := s.client.Generate(t.Context(), &api.GenerateRequest{
					Model: serverName[r.Name], Prompt: text, Template: "{{ .Prompt }}", Stream: &no,
					Options: map[string]any{"num_predict": 1, "num_ctx": 2048, "temperature": 0},
				}, func(answer api.GenerateResponse) error {
					ids = answer.Context
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				own, err := m.Tokenize(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				// Its list is without BOS, and goes on with what it
				// generated, whose first character may merge with the
				// text's last.
				n := len(own) - 1
				if len(ids) < n || !slices.EqualFunc(own[:n], ids[:n], func(a lm.Token, b int) bool { return int(a) == b }) {
					t.Errorf("%q: %v, and the server reads %v", text, own, ids)
				}
			}
		})
	}
}

// say prints a measurement, which is worth reading when all is well, too.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// difference measures by how much the log-probabilities that the server lists
// differ from the embedded engine's, and prints it with the circumstances.
func difference(t *testing.T, circumstances string, r modeltest.Reference, whole, top lm.Model, prefixes [][]lm.Token) float64 {
	t.Helper()
	logprobs := make([][]float64, len(prefixes))
	err := whole.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		logprobs[i] = modeltest.LogSoftmax(d.Logits)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	most, entries, sum := 0.0, 0, 0.0
	err = top.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		if len(d.Top) != 20 || d.Vocabulary != len(logprobs[i]) {
			t.Errorf("prefix %d: %d entries of a vocabulary of %d, want 20 of %d", i, len(d.Top), d.Vocabulary, len(logprobs[i]))
		}
		for k, e := range d.Top {
			delta := math.Inf(1)
			for _, token := range append([]lm.Token{e.Token}, d.Among[k]...) {
				// Where the name is shared, the nearest of those it may be.
				delta = math.Min(delta, math.Abs(logprobs[i][token]-e.LogProb))
			}
			most = math.Max(most, delta)
			sum += delta
			entries++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	say("%s, %s: the server and the embedded engine in native precision differ by at most %.2g in %d log-probabilities after %d prefixes, by %.2g on average", r.Name, circumstances, most, entries, len(prefixes), sum/float64(entries))
	return most
}

// The embedded engine's result on the same weights lies in the server's
// interval, widened by the two engines' difference: for P, C, the event's
// probability, and WMC and ρ of formulas over the events.
func TestIntervals(t *testing.T) {
	server(t)
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			whole, top := embedded(t, r), open(t, serverName[r.Name], ollama.Options{})
			if !slices.Equal(whole.Info().EOS, top.Info().EOS) || whole.Info().Vocabulary != top.Info().Vocabulary || whole.Info().AddBOS != top.Info().AddBOS || whole.Info().Context != top.Info().Context {
				t.Errorf("%+v on the server, %+v from the file", top.Info(), whole.Info())
			}
			if delta := compareIntervals(t, "without flash attention", r, whole, top, modeltest.Questions(t, whole)); delta >= 0.001 {
				t.Errorf("the engines differ by %g, want less than 0.001", delta)
			}
		})
	}
}

// The same with a server as it is started by default, on fewer prefixes. The
// difference is that of the attention's rounding.
func TestFlashAttention(t *testing.T) {
	server(t)
	s, err := start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	t.Setenv("OLLAMA_HOST", s.Address)
	for _, r := range modeltest.All {
		s.create(t.Context(), t, serverName[r.Name], r, nil)
		whole := embedded(t, r)
		delta := compareIntervals(t, "with the server's default attention", r, whole, open(t, serverName[r.Name], ollama.Options{}), modeltest.Questions(t, whole)[:8])
		if delta >= 1.5 {
			t.Errorf("%s: the engines differ by %g: is it the same model?", r.Name, delta)
		}
	}
}

func compareIntervals(t *testing.T, circumstances string, r modeltest.Reference, whole, top lm.Model, questions []modeltest.Question) (delta float64) {
	t.Helper()
	var prefixes [][]lm.Token
	var events []event.Event
	join := ""
	for _, q := range questions {
		prefixes = append(prefixes, q.IDs)
		for _, target := range q.Targets {
			events = append(events, event.Event{Prefix: q.Prefix, Target: target.Text, Join: &join})
		}
	}
	whole, top = record(t, whole, prefixes), recordFresh(t, top, prefixes)
	delta = difference(t, circumstances, r, whole, top, prefixes)
	for _, cal := range []calibrate.Calibration{
		{Method: calibrate.Raw}, {Method: calibrate.NucleusEntropy, P: 0.80}, {Method: calibrate.NucleusEntropy, P: 0.95},
		{Method: calibrate.Entropy}, {Method: calibrate.NucleusSize, P: 0.95},
	} {
		exact, wide := readAll(t, whole, events, cal), readAll(t, top, events, cal)
		listed := 0
		for i := range events {
			if wide[i].LogP.Hi-wide[i].LogP.Lo < 1e-3 {
				listed++
			}
			// A change of every log-probability by δ moves an entropy,
			// or the logarithm of a size, by at most the order of δ
			// times itself.
			slackC := 2 * delta * (1 + math.Abs(exact[i].C.Hi))
			within(t, events[i], cal, "log P", exact[i].LogP, wide[i].LogP, delta)
			within(t, events[i], cal, "C", exact[i].C, wide[i].C, slackC)
			within(t, events[i], cal, "the event's logit", exact[i].Logit, wide[i].Logit, 2*delta+slackC)
		}
		formulas(t, events, cal, exact, wide, delta)
		t.Logf("%v: %d events, %d of them among the server's 20", cal, len(events), listed)
	}
	return delta
}

// recorded is a model whose readings were made once and are given again.
type recorded struct {
	lm.Model
	readings map[string]lm.Distribution // by fmt.Sprint of the prefix
}

func record(t *testing.T, m lm.Model, prefixes [][]lm.Token) *recorded {
	t.Helper()
	r := &recorded{Model: m, readings: make(map[string]lm.Distribution)}
	err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		d.Logits, d.Top = slices.Clone(d.Logits), slices.Clone(d.Top)
		r.readings[fmt.Sprint(prefixes[i])] = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// recordFresh records the readings of a server that has none of each prompt but
// its beginning in its cache. Where the cache has all but the last token, the
// server computes with one token at a time, and other kernels round otherwise.
func recordFresh(t *testing.T, m lm.Model, prefixes [][]lm.Token) *recorded {
	t.Helper()
	other, err := m.Tokenize(t.Context(), "; 5 #")
	if err != nil {
		t.Fatal(err)
	}
	if other, err = lm.Prompt(m, other); err != nil {
		t.Fatal(err)
	}
	all := &recorded{Model: m, readings: make(map[string]lm.Distribution)}
	for _, prefix := range prefixes {
		record(t, m, [][]lm.Token{other})
		maps.Copy(all.readings, record(t, m, [][]lm.Token{prefix}).readings)
	}
	return all
}

func (r *recorded) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	for i, prefix := range prefixes {
		d, ok := r.readings[fmt.Sprint(prefix)]
		if !ok {
			return fmt.Errorf("the prefix %v was not recorded", prefix)
		}
		if err := yield(i, d); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func readAll(t *testing.T, m lm.Model, events []event.Event, cal calibrate.Calibration) []event.Reading {
	t.Helper()
	reader := &event.Reader{Model: m}
	resolved, err := reader.Resolve(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	var steps []event.Step
	for _, r := range resolved {
		if len(r.Steps) != 1 {
			t.Fatalf("%+v has %d tokens", r.Event, len(r.Steps))
		}
		steps = append(steps, r.Steps...)
	}
	readings, err := reader.Read(t.Context(), steps, cal)
	if err != nil {
		t.Fatal(err)
	}
	return readings
}

func within(t *testing.T, e event.Event, cal calibrate.Calibration, what string, exact, wide calibrate.Interval, slack float64) {
	t.Helper()
	slack += 1e-9
	if !(exact.Lo >= wide.Lo-slack && exact.Hi <= wide.Hi+slack) {
		t.Errorf("%q + %q, %v: %s is %v, and the server's interval %v, widened by %.2g", e.Prefix, e.Target, cal, what, exact, wide, slack)
	}
}

// formulas compares constraints over each two neighbouring events. Over
// independent events WMC is linear in each probability, so its bounds over a box
// are at corners; ρ grows with it.
func formulas(t *testing.T, events []event.Event, cal calibrate.Calibration, exact, wide []event.Reading, delta float64) {
	t.Helper()
	a, b := logic.Literal(0), logic.Literal(1)
	for _, f := range []*logic.Formula{logic.Implies(a, b), logic.Not(logic.And(a, b)), logic.Or(a, b), logic.Iff(a, b)} {
		d, err := logic.Compile(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(events); i++ {
			truth, err := logic.Score(d, []logic.Weight{logic.WeightFromLogit(exact[i-1].Logit.Lo), logic.WeightFromLogit(exact[i].Logit.Lo)})
			if err != nil {
				t.Fatal(err)
			}
			wmc := calibrate.Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}
			rho := wmc
			for corner := range 4 {
				var w []logic.Weight
				for k, r := range wide[i-1 : i+1] {
					slack := 2*delta + 2*delta*(1+math.Abs(exact[i-1+k].C.Hi)) + 1e-9
					logit := r.Logit.Lo - slack
					if corner>>k&1 == 1 {
						logit = r.Logit.Hi + slack
					}
					w = append(w, logic.WeightFromLogit(logit))
				}
				s, err := logic.Score(d, w)
				if err != nil {
					t.Fatal(err)
				}
				wmc = calibrate.Interval{Lo: math.Min(wmc.Lo, s.WMC), Hi: math.Max(wmc.Hi, s.WMC)}
				rho = calibrate.Interval{Lo: math.Min(rho.Lo, s.Rho), Hi: math.Max(rho.Hi, s.Rho)}
			}
			if !(truth.WMC >= wmc.Lo && truth.WMC <= wmc.Hi) {
				t.Errorf("%v of %q and %q, %v: WMC is %v, and the server's interval %v", f, events[i-1].Target, events[i].Target, cal, truth.WMC, wmc)
			}
			if !(truth.Rho >= rho.Lo && truth.Rho <= rho.Hi) {
				t.Errorf("%v of %q and %q, %v: ρ is %v, and the server's interval %v", f, events[i-1].Target, events[i].Target, cal, truth.Rho, rho)
			}
		}
	}
}

// What a Modelfile says of temperature, penalties, stop words, a system prompt
// or a template has no effect on a reading.
func TestModelfile(t *testing.T) {
	server(t)
	plain, strange := open(t, "smollm", ollama.Options{Parallel: 1}), open(t, odd, ollama.Options{Parallel: 1})
	if plain.Info().Digest == strange.Info().Digest {
		t.Error("both models have the same digest")
	}
	prefixes := modeltest.Prefixes(t, plain)
	want := readTop(t, plain, prefixes)
	got := readTop(t, strange, prefixes)
	most := 0.0
	for i := range prefixes {
		for _, e := range want[i].Top {
			if logprobs, sure := got[i].Listed(e.Token); sure {
				most = math.Max(most, math.Abs(logprobs[0]-e.LogProb))
			} else if e.LogProb > want[i].Top[19].LogProb+0.001 && len(logprobs) == 0 {
				t.Errorf("prefix %d: %q is among the 20 of the plain model only", i, plain.Piece(e.Token))
			}
		}
	}
	say("a Modelfile with other settings of every kind moves a log-probability by at most %.2g", most)
	if most > 0.001 {
		t.Errorf("the Modelfile moved a log-probability by %g", most)
	}
}

func readTop(t *testing.T, m lm.Model, prefixes [][]lm.Token) []lm.Distribution {
	t.Helper()
	out := make([]lm.Distribution, len(prefixes))
	err := m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		out[i] = d
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// End of text as the next token: where the most probable next token ends the text, the server itself
// gives no log-probabilities, and we still have the reading.
func TestEndOfText(t *testing.T) {
	s := server(t)
	m := open(t, "smollm", ollama.Options{})
	text := "<|im_start|>user\nSay hello.<|im_end|>\n<|im_start|>assistant\nHello! How can I help you today?"
	no := false
	err := s.client.Generate(t.Context(), &api.GenerateRequest{
		Model: "smollm", Prompt: text, Raw: true, Stream: &no, Logprobs: true, TopLogprobs: 20,
		Options: map[string]any{"num_predict": 1, "temperature": 0, "num_ctx": 2048},
	}, func(answer api.GenerateResponse) error {
		if len(answer.Logprobs) != 0 || answer.DoneReason != "stop" {
			t.Errorf("the text was to end here: %+v", answer)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const start, end = 1, 2 // <|im_start|>, <|im_end|>
	var prefix []lm.Token
	for _, part := range []any{start, "user\nSay hello.", end, "\n", start, "assistant\nHello! How can I help you today?"} {
		switch part := part.(type) {
		case int:
			prefix = append(prefix, lm.Token(part))
		case string:
			ids, err := m.Tokenize(t.Context(), part)
			if err != nil {
				t.Fatal(err)
			}
			prefix = append(prefix, ids...)
		}
	}
	d := readTop(t, m, [][]lm.Token{prefix})[0]
	if d.Top[0].Token != end {
		t.Errorf("the most probable token is %q, want <|im_end|>", m.Piece(d.Top[0].Token))
	}
	top := recordFresh(t, m, [][]lm.Token{prefix})
	delta := difference(t, "at the end of a text", modeltest.SmolLM, embedded(t, modeltest.SmolLM), top, [][]lm.Token{prefix})
	// It was asked for again with the prompt in the server's cache, so the
	// last token was computed alone: see recordFresh.
	if delta > 1 {
		t.Errorf("the reading differs by %g", delta)
	}
}

// Tokens that are no UTF-8: the server calls halves of characters by one and the same text. What it
// says of them is true of the tokens that it may mean.
func TestHalvesOfCharacters(t *testing.T) {
	server(t)
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			m, whole := open(t, serverName[r.Name], ollama.Options{}), embedded(t, r)
			shared := 0
			for _, text := range []string{"犬が", "The dog emoji is 🐶 and the cat emoji is ", "ไทย", "The end.<|im_end|>"} {
				if r == modeltest.SmolLM && strings.Contains(text, "<|") {
					continue // the name of a control token there
				}
				ids, err := m.Tokenize(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				prompt, err := lm.Prompt(m, ids)
				if err != nil {
					t.Fatal(err)
				}
				var truth []float64
				if err := whole.Read(t.Context(), [][]lm.Token{prompt}, func(_ int, d lm.Distribution) error {
					truth = modeltest.LogSoftmax(d.Logits)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				d := readTop(t, m, [][]lm.Token{prompt})[0]
				shared += len(d.Among)
				const slack = 0.001
				for token, logp := range truth {
					logprobs, sure := d.Listed(lm.Token(token))
					lo, hi := math.Inf(-1), d.Top[len(d.Top)-1].LogProb
					if sure {
						lo, hi = math.Inf(1), math.Inf(-1)
					}
					for _, l := range logprobs {
						lo, hi = math.Min(lo, l), math.Max(hi, l)
					}
					if logp < lo-slack || logp > hi+slack {
						t.Errorf("%q, then %q: %g, and the server's list says %g to %g", text, m.Piece(lm.Token(token)), logp, lo, hi)
					}
				}
			}
			if shared == 0 {
				t.Error("no entry had a shared name: the test shows nothing")
			}
		})
	}
}

// BOS twice, or unasked: Gemma's metadata asks for BOS. A prompt that spells it is refused, for
// the server would read a second one; and without the BOS it is refused too.
func TestBOS(t *testing.T) {
	s := server(t)
	m := open(t, "gemma", ollama.Options{})
	ids, err := m.Tokenize(t.Context(), "<bos>A robin is a type of")
	if err != nil {
		t.Fatal(err)
	}
	var refused *ollama.PromptError
	for _, prefix := range [][]lm.Token{append([]lm.Token{2}, ids...), ids, {2}} {
		err := m.Read(t.Context(), [][]lm.Token{prefix}, func(int, lm.Distribution) error { return nil })
		if !errors.As(err, &refused) {
			t.Errorf("%v: %v, want a PromptError", prefix, err)
		}
	}
	// The server does read two: what we refuse would be another question.
	no := false
	count := func(prompt string) (n int) {
		err := s.client.Generate(t.Context(), &api.GenerateRequest{Model: "gemma", Prompt: prompt, Raw: true, Stream: &no, Options: map[string]any{"num_predict": 1, "num_ctx": 2048}},
			func(answer api.GenerateResponse) error { n = answer.PromptEvalCount; return nil })
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if with, without := count("<bos>A robin is a type of"), count("A robin is a type of"); with != without+1 {
		t.Errorf("%d tokens with <bos> and %d without, want one more", with, without)
	}
	// Blank lines, which Ollama's own tokenizer splits otherwise than the
	// model's: the count tells.
	ids, err = m.Tokenize(t.Context(), "One.\n\nTwo")
	if err != nil {
		t.Fatal(err)
	}
	var miscounted *ollama.CountError
	if err := m.Read(t.Context(), [][]lm.Token{append([]lm.Token{2}, ids...)}, func(int, lm.Distribution) error { return nil }); !errors.As(err, &miscounted) || miscounted.Ours+1 != miscounted.Server {
		t.Errorf("%v, want a CountError of one more", err)
	}
}

// A prompt that would be cut silently: a prefix longer than the server's usual context is read whole.
func TestLongPrefix(t *testing.T) {
	server(t)
	m := open(t, "smollm", ollama.Options{})
	ids, err := m.Tokenize(t.Context(), strings.Repeat("The dog ran to the old house by the sea. ", 230)+"The dog ran to the")
	if err != nil {
		t.Fatal(err)
	}
	if len(ids) < 2100 {
		t.Fatalf("only %d tokens", len(ids))
	}
	d := readTop(t, m, [][]lm.Token{ids})[0]
	if string(m.Piece(d.Top[0].Token)) != " old" || d.Top[0].LogProb < -0.1 {
		t.Errorf("after %d tokens: %q with %g, want what always followed", len(ids), m.Piece(d.Top[0].Token), d.Top[0].LogProb)
	}
	var long *lm.ContextError
	if err := m.Read(t.Context(), [][]lm.Token{slices.Repeat(ids, 5)}, nil); !errors.As(err, &long) || long.Context != 8192 {
		t.Errorf("%v, want a ContextError", err)
	}
}

// The server dies while a batch is read: one clear error, and nothing wrong in
// what was read before.
func TestServerDies(t *testing.T) {
	server(t)
	s, err := start(t.TempDir(), plainAttention)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	s.create(t.Context(), t, "smollm", modeltest.SmolLM, nil)
	other := open(t, "smollm", ollama.Options{})
	prefixes := modeltest.Prefixes(t, other)
	want := readTop(t, other, prefixes)

	t.Setenv("OLLAMA_HOST", s.Address)
	m := open(t, "smollm", ollama.Options{Parallel: 2})
	read := 0
	err = m.Read(t.Context(), prefixes, func(i int, d lm.Distribution) error {
		if read++; read == 1 {
			s.Kill()
		}
		for k, e := range d.Top[:5] {
			if math.Abs(e.LogProb-want[i].Top[k].LogProb) > 0.001 {
				t.Errorf("%q: %q with %g, want %g", modeltest.Prompts[i].Prefix, m.Piece(e.Token), e.LogProb, want[i].Top[k].LogProb)
			}
		}
		return nil
	})
	t.Logf("after %d readings: %v", read, err)
	if read < 1 || read == len(prefixes) || err == nil || !strings.Contains(err.Error(), "ollama serve") || strings.Contains(err.Error(), "\n") {
		t.Errorf("after %d of %d readings: %v", read, len(prefixes), err)
	}
	if _, err := ollama.Open(t.Context(), "smollm", ollama.Options{}); err == nil || !strings.Contains(err.Error(), "start it with `ollama serve`") {
		t.Errorf("opening on a dead server: %v", err)
	}
}

// A batch that is called off ends soon, and the server goes on.
func TestCancel(t *testing.T) {
	server(t)
	m := open(t, "smollm", ollama.Options{})
	prefixes := modeltest.Prefixes(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var since time.Time
	err := m.Read(ctx, prefixes, func(int, lm.Distribution) error {
		if since.IsZero() {
			since = time.Now()
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || time.Since(since) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(since))
	}
	readTop(t, m, prefixes[:1])
}

func TestNames(t *testing.T) {
	server(t)
	names, err := ollama.Names(t.Context())
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"gemma:latest", "odd:latest", "smollm:latest"}) {
		t.Errorf("%v, %v", names, err)
	}
	if _, version, err := ollama.Reachable(t.Context()); err != nil || version == "" {
		t.Errorf("version %q, %v", version, err)
	}
	for _, name := range []string{"nope", "smollm:7b", "registry.example/x/y:z", "..", "a b"} {
		_, err := ollama.Open(t.Context(), name, ollama.Options{})
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", name, err)
		} else {
			t.Log(err)
		}
	}
	for _, name := range []string{"SmolLM", "smollm:latest", "library/smollm"} {
		if m, err := ollama.Open(t.Context(), name, ollama.Options{}); err != nil {
			t.Errorf("%q: %v", name, err)
		} else if m.Info().Digest == "" {
			t.Errorf("%q: no digest", name)
		}
	}
}
