package preference

import (
	"strings"
	"testing"
)

// parserOf is the parser of a task's own prompt.
func parserOf(t testing.TB, task Task) *answerParser { return newAnswerParser(prompts(t, task).CoT) }

func TestParseAnswer(t *testing.T) {
	p := parserOf(t, Coherence)
	for text, want := range map[string]string{
		// The line that is asked for.
		"Answer: A":                              "A",
		"A is shorter.\nB is better.\nAnswer: B": "B",
		"**Answer: B**\n":                        "B",
		"**Answer:** B":                          "B",
		"Final.\n> answer: (A).":                 "A",
		"Answer\u00a0:\u00a0A\u2003":             "A",
		"Answer: \"A\"":                          "A",
		"ANSWER: A":                              "A",
		"### Answer\n":                           "",
		// Other ways to say it.
		"Answer: Summary A":                  "A",
		"Answer: Summary B.":                 "B",
		"Answer: the summary (B)":            "B",
		"**Answer: Summary A**":              "A",
		"Answer: Option B":                   "B",
		"Final answer: A":                    "A",
		"**Final Answer:** B":                "B",
		"My answer: A":                       "A",
		"The answer is (B)":                  "B",
		"The answer is A":                    "A",
		"The correct answer is: **A**.":      "A",
		"Therefore, the answer is B.":        "B",
		"So the final answer is summary B.":  "B",
		"I weighed both, and my answer is A": "A",
		`\boxed{A}`:                          "A",
		`So it is $\boxed{\text{B}}$.`:       "B",
		`The answer is $\boxed{A}$.`:         "A",
		`Answer: \boxed{Summary B}`:          "B",
		"Answer: A, because it is short.":    "A",
		"Answer: A because it is short.":     "A",
		"Answer: B. It hangs together.":      "B",
		"Answer: B - it hangs together.":     "B",
		"Answer:\nA":                         "A",
		"Answer:\n\n**Summary B**\nIt flows": "B",
		"Answer – A":                         "A",
		// A letter alone.
		"A":                        "A",
		"**A**":                    "A",
		"(B).":                     "B",
		"Both are fine.\n\nB\n":    "B",
		"Summary A":                "A",
		"**Summary A**\nis fine":   "",
		"A\nB":                     "B",
		"**A:**":                   "",
		"A\nis a letter":           "",
		"Summary A\n\nAnswer: B":   "B",
		"Answer: A\n\nB":           "A",
		"Answer: Passage A":        "",
		"Answer: Summary":          "",
		"Summary A is better.":     "",
		"Summary A: it is better.": "",
		// Both, or neither.
		"Answer: A\nSo:\nAnswer: A":              "A",
		"Answer: A\nOr rather:\nAnswer: B":       "",
		"The answer is A. No, the answer is B.":  "",
		"The answer is A.\nAnswer: B":            "",
		"Answer: A or B":                         "",
		"Answer: A, B":                           "",
		"Answer: A/B":                            "",
		"Answer: A-B":                            "",
		"Answer: A and B":                        "",
		"Answer: either A or B":                  "",
		"Answer: A or Answer: B":                 "",
		"Answer: Both A and B":                   "",
		"Answer: A, not B":                       "",
		`"Answer: A" or "Answer: B"`:             "",
		`End with "Answer: A" or "Answer: B".`:   "",
		`I am to say "Answer: A".`:               "",
		"Answer: A = B":                          "",
		"I do not think that the answer is A.":   "",
		"I don't think the answer is A":          "",
		"Whether the answer is A, I cannot say.": "",
		"The answer is not A.":                   "",
		"Answer: ¬A":                             "",
		"Answer: not A":                          "",
		"Answer: !A":                             "",
		"Answer: ~A":                             "",
		"¬A":                                     "",
		`\boxed{¬A}`:                             "",
		`It is not \boxed{A}`:                    "",
		"Is the answer A?":                       "",
		"The answer is A?":                       "",
		// Words, and other letters.
		"Answer: a":                     "",
		"a":                             "",
		"The answer is a good summary":  "",
		"The answer is A good summary":  "",
		"Answer:\n\nA good summary is…": "",
		"Answer: Ä":                     "",
		"Answer: A\u0308":               "",
		"Answer: Anna":                  "",
		"Answer: A's":                   "",
		"Answer: A-level":               "",
		"Answer: A.I.":                  "",
		"Answer: C":                     "",
		"Answer A":                      "",
		"Answers: A":                    "",
		"unanswer: A":                   "",
		"":                              "",
	} {
		if got := p.parse(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// An item is called as the prompt calls it, also one of a user's own.
func TestParseItemWord(t *testing.T) {
	for word, prompt := range map[string]string{
		"Summary": prompts(t, Coherence).CoT, "summary": prompts(t, Quality).CoT, "Passage": prompts(t, Relevance).CoT, "Event": prompts(t, Temporal).CoT,
		"Option": prompts(t, General).CoT, "Réponse": "Réponse A : …\nRéponse A:\n\n{first}\nRéponse B:\n{second}\n{question}",
	} {
		p := newAnswerParser(prompt)
		for _, label := range labels {
			for _, text := range []string{"Answer: " + word + " " + label, "The answer is **" + word + " " + label + "**."} {
				if got := p.parse(text); got != label {
					t.Errorf("%q: %q", text, got)
				}
			}
		}
		if got := p.parse("Answer: Letter A"); got != "" {
			t.Errorf("%s: a letter is taken for an item", word)
		}
	}
}

// A base model writes on after its answer.
func TestParseContinued(t *testing.T) {
	p := parserOf(t, General)
	for text, want := range map[string]string{
		"B is clearer.\nAnswer: B\n\nFirst text: rain.\nAnswer: A": "B",
		"B is clearer.\nAnswer: B":                                 "B",
		"It is the same.\nThe answer is A":                         "A",
		"B\n\nA: a boat":                                           "B",
		"\n **A**\nIt is.":                                         "A",
		"A: a boat\nB: a ship":                                     "",
		"It is.\n\nA":                                              "",
	} {
		if got := p.parseContinued(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzParseAnswer(f *testing.F) {
	for _, s := range []string{"Answer: A", "**Answer: B**\nAnswer: A", "Answer: \xff", "answer:::A!!", "Answer: A or B", `\boxed{A}`, "The answer is Summary A.", "Answer:\nB", "**A**", "not the answer is A"} {
		f.Add(s)
	}
	p := parserOf(f, Coherence)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<16 {
			return
		}
		got := p.parse(text)
		if got != "" && !strings.Contains(text, got) {
			t.Fatalf("%q: %q", text, got)
		}
		// What has a letter in no place has no answer.
		if silent := p.parse(strings.NewReplacer("A", "C", "B", "C").Replace(text)); silent != "" {
			t.Fatalf("%q without its letters: %q", text, silent)
		}
		// The two letters are alike.
		swapped := p.parse(anyLabel.ReplaceAllStringFunc(text, func(s string) string { return labels[1-strings.Index("AB", s)] }))
		if want := map[string]string{"A": "B", "B": "A", "": ""}[got]; swapped != want {
			t.Fatalf("%q: %q, and with its letters swapped %q", text, got, swapped)
		}
		// A line that says an answer after it decides, unless another was said: then there is none.
		said, _ := p.said(text)
		for _, more := range labels {
			want := more
			for _, s := range said {
				if s != more {
					want = ""
				}
			}
			if again := p.parse(text + "\nAnswer: " + more); again != want {
				t.Fatalf("%q and then %s: %q, want %q", text, more, again, want)
			}
		}
		if again := p.parseContinued("Answer: B\n" + text); again != "B" {
			t.Fatalf("B and then %q: %q", text, again)
		}
	})
}
