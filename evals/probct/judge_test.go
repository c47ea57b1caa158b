package probct

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"yes": "yes", " Yes.\n": "yes", "NO": "no", "\"no\"": "no", "**Yes**": "yes",
		"": "?", "yes, they are": "?", "yes no": "?", "maybe": "?", "n": "?", "not": "?", "Yes!": "?",
	} {
		yes, ok := parseAnswer(text)
		got := "?"
		if ok {
			got = map[bool]string{true: "yes", false: "no"}[yes]
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestPrompts(t *testing.T) {
	q, err := parsePrompts(DefaultPrompts)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Criteria() {
		if !strings.Contains(q[c], "yes or no") || strings.HasPrefix(q[c], "#") {
			t.Errorf("%v: %s", c, q[c])
		}
	}
	for text, want := range map[string]string{
		"":                                "[grammatical] asks nothing",
		"[truth]\n{facts}":                "there is no criterion [truth]",
		"{facts}":                         "stands before the first",
		"[salient]\n{facts}\n[salient]\n": "stands there twice",
	} {
		if _, err := parsePrompts(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// asked is a candidate that can be asked about.
func asked(text string) *candidate {
	c := begin(NegationConsistency, text)
	c.Holes["x"], c.Holes["y"] = text, "dog"
	c.fact(text, "dog", true)
	c.fact(strings.Replace(text, " is ", " is not ", 1), "dog", false)
	return c
}

// TestLLMResumes has a model fail in the middle, and a process cut a line short: the answers that
// were given are not asked for again, and the verdicts are those of a run without trouble.
func TestLLMResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answers.jsonl")
	ctx := context.Background()
	questions := make(map[string]int)
	left := 6
	errDown := errors.New("the server is down")
	ask := func(_ context.Context, q string) (string, error) {
		if left == 0 {
			return "", errDown
		}
		left--
		questions[q]++
		switch {
		case strings.Contains(q, "cat is a"):
			return "No.", nil
		case strings.Contains(q, "stone") && strings.Contains(q, "well known"):
			return "I would say yes", nil
		}
		return "yes", nil
	}
	texts := []string{"A poodle is a", "A cat is a", "A stone is a"}
	run := func() ([]Verdicts, *LLM, error) {
		j := &LLM{Model: "m", Ask: ask, Answers: path}
		if err := j.open(); err != nil {
			return nil, j, err
		}
		defer j.close()
		var all []Verdicts
		for _, text := range texts {
			v, err := j.judge(ctx, asked(text))
			if err != nil {
				return all, j, err
			}
			all = append(all, v)
		}
		return all, j, nil
	}
	if _, _, err := run(); !errors.Is(err, errDown) {
		t.Fatalf("%v", err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"key":"cut`)
	f.Close()
	left = 100
	all, j, err := run()
	if err != nil {
		t.Fatal(err)
	}
	for q, n := range questions {
		if n != 1 {
			t.Errorf("asked %d times: %s", n, q)
		}
	}
	if n := 100 - left; len(questions) != 12 || n != 6 || j.answers[Salient] != (AnswerCounts{Yes: 1, No: 1, Unparsable: 1}) {
		t.Errorf("%d questions, %d asked, %+v", len(questions), n, j.answers)
	}
	if !all[0].OK() || all[1].OK() || all[1][Factual].Class != "no" || all[2].OK() || all[2][Salient].Class != "unparsable" || !all[2][Factual].OK {
		t.Errorf("%+v", all)
	}
	// Another model's answers are its own.
	other := &LLM{Model: "n", Ask: ask, Answers: path}
	if err := other.open(); err != nil {
		t.Fatal(err)
	}
	defer other.close()
	left = 100
	if _, err := other.judge(ctx, asked(texts[0])); err != nil || 100-left != 4 {
		t.Errorf("%d asked, %v", 100-left, err)
	}
}
