package preference

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf"
)

// sayPrompts make a small model end with an answer often enough.
func sayPrompts(t testing.TB) *Prompts {
	p := *prompts(t, Coherence)
	p.CoT = "{first}\n{second}\n{question}\n" + strings.Repeat("Answer: A\nAnswer: B\n", 5) + "Answer: B"
	return &p
}

// Samples are what the model writes for their seeds, the votes are theirs, and what is known is not written anew.
func TestCoT(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	in := ferry()
	in.Items = in.Items[:2]
	ask := Ask{Prompts: sayPrompts(t), Style: answers.Plain, NoNegated: true, CoT: &Sampling{Samples: 3, Temperature: 1, MaxTokens: 4, Seed: 5}}
	judgeWith := func(model lm.Model, s *sampled) ([]*Row, []*Sample) {
		t.Helper()
		kept := append([]*Sample(nil), s.known...)
		s.keep = func(x *Sample) error { kept = append(kept, x); return nil }
		done := 0
		rows, err := newTestJudge(t, model, ask).cot(t.Context(), in, s, func() { done++ })
		if err != nil {
			t.Fatal(err)
		}
		if done != 2 || len(rows) != 2 || len(kept) != 6 {
			t.Fatalf("%d rows, %d reported, %d samples", len(rows), done, len(kept))
		}
		return rows, kept
	}
	rows, samples := judgeWith(m, &sampled{})
	parsed := 0
	seeds := map[int64]bool{}
	for i, s := range samples {
		row := rows[i/3]
		if s.First != row.First || s.Second != row.Second || s.Question != row.Question || s.Number != i%3 || seeds[s.Seed] || s.Seed < 0 || s.Seed > math.MaxInt32 {
			t.Fatalf("sample %d is %+v", i, s)
		}
		seeds[s.Seed] = true
		texts := map[string]string{"a": in.Items[0].Text, "b": in.Items[1].Text}
		question := ask.Prompts.Questions[0].of(row.Question)
		r, err := m.Generate(t.Context(), lm.Request{
			Prompt:    texts[s.First] + "\n" + texts[s.Second] + "\n" + question + "\n" + strings.Repeat("Answer: A\nAnswer: B\n", 5) + "Answer: B\n",
			MaxTokens: 4, Temperature: 1, Seed: s.Seed,
		})
		if err != nil {
			t.Fatal(err)
		}
		if newAnswerParser(ask.Prompts.CoT).parseContinued(r.Text) != s.Answer || r.Generated != s.Tokens || r.Finish != s.Finish {
			t.Errorf("sample %d is %+v; written again %q, %d tokens", i, s, r.Text, r.Generated)
		}
		if s.Answer != "" {
			parsed++
		}
	}
	if parsed == 0 || parsed == len(samples) {
		t.Errorf("%d of %d samples were parsed; the test needs both kinds", parsed, len(samples))
		for _, s := range samples {
			t.Logf("%+v", s)
		}
	}
	for i, row := range rows {
		var a, b int
		for _, s := range samples[3*i : 3*i+3] {
			switch s.Answer {
			case "A":
				a++
			case "B":
				b++
			}
		}
		if *row.Votes != (Votes{a, b, 3 - a - b}) {
			t.Errorf("%+v: %d A, %d B", row.Votes, a, b)
		}
		if a+b == 0 {
			if row.Status != StatusNone || row.P != nil {
				t.Errorf("%+v", row)
			}
			continue
		}
		if row.Status != StatusJudged || row.P.Lo != float64(a)/float64(a+b) || row.P.Hi != row.P.Lo || row.A != nil {
			t.Errorf("%+v", row)
		}
	}

	// Gone on with after five samples, and by several writers at once, it comes to the same.
	for _, x := range []struct {
		model lm.Model
		known int
	}{{m, 4}, {asServer{m}, 2}} {
		gone, more := judgeWith(x.model, &sampled{known: append([]*Sample(nil), samples[:x.known]...)})
		for i := range samples {
			if *more[i] != *samples[i] {
				t.Errorf("after %d: sample %d is %+v, and was %+v", x.known, i, more[i], samples[i])
			}
		}
		for i := range rows {
			if *gone[i].Votes != *rows[i].Votes {
				t.Errorf("after %d: %+v, and was %+v", x.known, gone[i].Votes, rows[i].Votes)
			}
		}
	}

	// Samples of another run are not taken.
	other := *samples[0]
	other.Seed++
	if _, err := newTestJudge(t, m, ask).cot(t.Context(), in, &sampled{path: "run/rows.part", known: []*Sample{&other}, keep: func(*Sample) error { return nil }}, func() {}); err == nil || !strings.Contains(err.Error(), "run/rows.part, line 2: it is another sample than the one that comes next; delete the file") {
		t.Error(err)
	}
	// What cannot be kept ends the run.
	full := errors.New("no space left")
	if _, err := newTestJudge(t, m, ask).cot(t.Context(), in, &sampled{keep: func(*Sample) error { return full }}, func() {}); !errors.Is(err, full) {
		t.Error(err)
	}
}

// asServer is a model that says it is no embedded one.
type asServer struct{ *gguf.Model }

func (s asServer) Info() lm.Info {
	i := s.Model.Info()
	i.Backend = "openai"
	return i
}

// The seed of a sample depends on all that it is of.
func TestSampleSeed(t *testing.T) {
	seen := map[int64]string{}
	for _, row := range []*Row{
		{Instance: "i", First: "a", Second: "b", Question: Relation},
		{Instance: "i", First: "b", Second: "a", Question: Relation},
		{Instance: "i", First: "a", Second: "b", Question: Negated},
		{Instance: "j", First: "a", Second: "b", Question: Relation},
		{Instance: "i", First: "a", Second: "b", Question: Relation, Wording: 1},
		{Instance: "ia", First: "", Second: "b", Question: Relation},
	} {
		for _, seed := range []uint64{1, 2} {
			for k := range 3 {
				s := sampleSeed(seed, row, k)
				if was, twice := seen[s]; twice {
					t.Errorf("%+v, seed %d, sample %d has the seed of %s", row, seed, k, was)
				}
				seen[s] = row.Instance
			}
		}
	}
}

// A base model is given the text to go on with.
func TestCoTOfBaseModel(t *testing.T) {
	j := newTestJudge(t, engine.Open(t, modeltest.Gemma), Ask{Prompts: prompts(t, General), CoT: &Sampling{Samples: 1, MaxTokens: 4, Temperature: 0.7}})
	if j.asker.Style != answers.Plain || !strings.HasSuffix(j.frame(), "\n") {
		t.Errorf("%s: %q", j.asker.Style, j.frame())
	}
}
