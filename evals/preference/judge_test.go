package preference

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
)

// ferry is an instance of our own writing.
func ferry() *Instance {
	return &Instance{
		ID: "ferry", Line: 3, Source: "The ferry to the island sails on Mondays and on Fridays, unless the wind is too strong. Tickets are sold at the pier.",
		Items: []Item{
			{ID: "a", Text: "A ferry sails twice a week, weather permitting.", Score: 3},
			{ID: "b", Text: "Pier the tickets Mondays strong.", Score: 1},
			{ID: "c", Text: "Tickets are sold. The island has a ferry.", Score: 3},
		},
	}
}

func prompts(t testing.TB, task Task) *Prompts {
	t.Helper()
	p, err := DefaultPrompts(task)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newTestJudge(t testing.TB, m lm.Model, a Ask) *judge {
	t.Helper()
	j, err := newJudge(t.Context(), &event.Reader{Model: m}, a)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// counting counts what goes to a model.
type counting struct {
	*gguf.Model
	prefixes int
}

func (c *counting) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	c.prefixes += len(prefixes)
	return c.Model.Read(ctx, prefixes, yield)
}

func (c *counting) Lend(ctx context.Context, prefixes [][]lm.Token, yield func([]int, []lm.Distribution) error) error {
	c.prefixes += len(prefixes)
	return c.Model.Lend(ctx, prefixes, yield)
}

// A judgement is what another way to the same number gives: each prompt put together by hand and read alone, and
// the softmax of its whole distribution. N(N − 1) readings are made of each question, and shared beginnings go
// through the model once.
func TestDirect(t *testing.T) {
	for _, r := range modeltest.All {
		m := &counting{Model: engine.Open(t, r)}
		j := newTestJudge(t, m, Ask{Prompts: prompts(t, Coherence), Paraphrases: 1})
		in := ferry()
		rows, tokens, err := j.direct(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 24 || m.prefixes != 24 || j.Asked(3) != 24 {
			t.Errorf("%d rows of %d readings; 3 items under 2 questions in 2 wordings are 24", len(rows), m.prefixes)
		}
		sent := 0
		for i, row := range rows {
			if i%3 != 0 { // each question in each wording, and both orders, are among these
				sent += row.Tokens
				continue
			}
			a := slices.IndexFunc(in.Items, func(x Item) bool { return x.ID == row.First })
			b := slices.IndexFunc(in.Items, func(x Item) bool { return x.ID == row.Second })
			question := map[string]string{
				"relation 0": "Which summary is more coherent, A or B?", "negated 0": "Which summary is less coherent, A or B?",
				"relation 1": "Which of the summaries A and B hangs together better as a text?", "negated 1": "Which of the summaries A and B hangs together worse as a text?",
			}[fmt.Sprintf("%s %d", row.Question, row.Wording)]
			text := "Source text:\n" + in.Source + "\n\nSummary A:\n" + in.Items[a].Text + "\n\nSummary B:\n" + in.Items[b].Text + "\n\n"
			var tokens []lm.Token
			spellings := [2][]string{{"A", " A"}, {"B", " B"}}
			if r.Name == modeltest.SmolLM.Name {
				x, err := m.Input(t.Context(), lm.Request{Messages: []lm.Message{{Role: lm.User, Content: text + question + " Answer with the letter only."}}, MaxTokens: 1})
				if err != nil {
					t.Fatal(err)
				}
				tokens = x.Tokens
			} else {
				own, err := m.Tokenize(t.Context(), text+"Question: "+question+"\nAnswer:")
				if err != nil {
					t.Fatal(err)
				}
				tokens = append([]lm.Token{m.Info().BOS}, own...)
			}
			sent += len(tokens)
			var mass [2]float64
			if err := m.Model.Read(t.Context(), [][]lm.Token{tokens}, func(_ int, d lm.Distribution) error {
				z := 0.0
				for _, l := range d.Logits {
					z += math.Exp(float64(l))
				}
				for k := range mass {
					for _, s := range spellings[k] {
						ids, err := m.Tokenize(t.Context(), s)
						if err != nil || len(ids) != 1 {
							return fmt.Errorf("%q is %d tokens, %v", s, len(ids), err)
						}
						mass[k] += math.Exp(float64(d.Logits[ids[0]])) / z
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			want := mass[0] / (mass[0] + mass[1])
			// Digits depend on the batch, see gguf.Model.Batch.
			if math.Abs(row.P.Middle()-want) > 5e-3 || math.Abs(row.A.Middle()-mass[0]) > 5e-3*max(mass[0], 0.1) || math.Abs(row.neither()-(1-mass[0]-mass[1])) > 5e-3 {
				t.Errorf("%s, %+v: P is %g, want %g; P(A) is %g, want %g", r.Name, row, row.P.Middle(), want, row.A.Middle(), mass[0])
			}
			if human := map[string]string{"ab": "first", "ba": "second", "ac": "tie", "ca": "tie", "bc": "second", "cb": "first"}[row.First+row.Second]; row.Human != human || row.Line != 3 || row.Tokens != len(tokens) {
				t.Errorf("%+v, want %s of %d tokens", row, human, len(tokens))
			}
		}
		if tokens.Sent != sent || tokens.Read == 0 || 2*tokens.Read > sent {
			t.Errorf("%s: %d tokens in all prompts, counted as %d; %d of them were read", r.Name, sent, tokens.Sent, tokens.Read)
		}
		t.Logf("%s: %d tokens sent, %d read", r.Name, tokens.Sent, tokens.Read)

		all, err := Collect(in, rows)
		if err != nil || len(all) != 2 {
			t.Fatalf("%d wordings, %v", len(all), err)
		}
		for w, x := range all {
			if x.Relation.Count() != 6 || x.Negated.Count() != 6 || x.SelfAgreement == x.SelfAgreement {
				t.Errorf("%d and %d judgements, self-agreement %g", x.Relation.Count(), x.Negated.Count(), x.SelfAgreement)
			}
			for _, row := range rows {
				if row.Wording == w && row.Question == Negated && row.First == "c" && row.Second == "a" && (x.Negated.At(2, 0) != row.P.Lo || x.Negated.Neither(2, 0) != row.neither()) {
					t.Errorf("the judgement is %g, of a row with %g", x.Negated.At(2, 0), row.P.Lo)
				}
			}
		}
	}
}

// What cannot be asked is a bad row, by its reason, and nothing else.
func TestBadRows(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	j := newTestJudge(t, m, Ask{Prompts: prompts(t, Coherence), NoNegated: true})
	in := ferry()
	in.Items[1].Text = strings.Repeat("ferry ", m.Info().Context)
	rows, _, err := j.direct(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		long := row.First == "b" || row.Second == "b"
		if long != (row.Status == StatusBad) || long != strings.Contains(row.Why, "the model's context holds") || long == (row.P != nil) {
			t.Errorf("%+v", row)
		}
	}
	if len(rows) != 6 {
		t.Errorf("%d rows", len(rows))
	}
	rows, _, err = j.direct(t.Context(), &Instance{ID: "x", Line: 7, Bad: "there is 1 item"})
	if err != nil || len(rows) != 1 || rows[0].Status != StatusBad || rows[0].Line != 7 || rows[0].check() != nil {
		t.Errorf("%+v, %v", rows, err)
	}

	// Cut, it can be asked about, and how many texts were cut is said.
	j = newTestJudge(t, m, Ask{Prompts: prompts(t, Coherence), NoNegated: true, Cut: 12})
	rows, _, err = j.direct(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		want := 1 // the source
		if row.First == "b" || row.Second == "b" {
			want = 2
		}
		if row.Status != StatusJudged || row.Cut != want {
			t.Errorf("%+v, want %d cut", row, want)
		}
	}
}

// A cut text is the longest beginning that ends with a word and has few enough tokens.
func TestShorten(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-zé,.]{1,8}|supercalifragilistic|日本語`), 1, 30).Draw(t, "words"), rapid.SampledFrom([]string{" ", "\n", "  "}).Draw(t, "space"))
		n := rapid.IntRange(1, 20).Draw(t, "tokens")
		j := &judge{Ask: Ask{Cut: n}, reader: &event.Reader{Model: m}}
		count := func(s string) int {
			tokens, err := m.Tokenize(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			return len(tokens)
		}
		got, cut, err := j.shorten(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		if cut != (count(text) > n) || cut != (got != text) || !strings.HasPrefix(text, got) || cut && count(got) > n {
			t.Fatalf("%q becomes %q of %d tokens, %v", text, got, count(got), cut)
		}
		if !cut || !strings.ContainsAny(got, " \n") {
			return
		}
		rest := strings.TrimLeft(text[len(got):], " \n")
		if len(rest) == len(text)-len(got) {
			t.Fatalf("%q is cut within a word: %q", text, got)
		}
		word := text[:len(text)-len(rest)] + strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '\n' })[0]
		if count(word) <= n {
			t.Fatalf("%q is cut to %q, and %q would do", text, got, word)
		}
	})
}

func TestAskComplete(t *testing.T) {
	p := prompts(t, General)
	for _, x := range []struct {
		ask  Ask
		want string
	}{
		{Ask{}, "no prompts"}, {Ask{Prompts: p, Paraphrases: 11}, "general has 10"}, {Ask{Prompts: p, Paraphrases: -1}, "has 10"},
		{Ask{Prompts: p, Cut: -1}, "1 is the least"}, {Ask{Prompts: p, CoT: &Sampling{}}, "0 samples"},
		{Ask{Prompts: p, CoT: &Sampling{Samples: 1, MaxTokens: 1, Temperature: nan}}, "temperature NaN"},
	} {
		if err := x.ask.complete(); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %q", x.ask, err, x.want)
		}
	}
	if _, err := newJudge(t.Context(), &event.Reader{Model: engine.Open(t, modeltest.Gemma)}, Ask{Prompts: p, Style: answers.Chat}); err == nil || !strings.Contains(err.Error(), "no chat template") {
		t.Error(err)
	}
}
