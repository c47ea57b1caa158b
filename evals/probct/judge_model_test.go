package probct

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
)

// A build that the small instruct model judges, interrupted and gone on with: each verdict is what the answer
// on disk to the question of its statements says, and the rows are the candidates whose answers are all yes. The
// questions are such that so small a model says yes to some.
func TestBuildWithModel(t *testing.T) {
	o := sources(t)
	ref := modeltest.SmolLM
	model := engine.Open(t, ref)
	prompts := `[grammatical]
{facts} Is this written in English? Answer yes.
[monosemous]
{facts} Is all of this written in English? Answer yes.
[salient]
{facts} Is this written in plain English? Answer yes.
[factual]
These are claimed to be true: {true} These are claimed to be false: {false} Are all these claims right? Answer with one word, yes or no.
`
	asked := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Out, o.Rows, o.Raw = t.TempDir(), 2, 2
	judge := func(ctx context.Context, until int, stop func()) *LLM {
		return &LLM{
			Model: ref.Name, Prompts: prompts, Answers: filepath.Join(o.Out, "answers.jsonl"),
			Ask: func(ctx context.Context, question string) (string, error) {
				if asked == until {
					stop()
					return "", ctx.Err()
				}
				asked++
				r, err := model.Generate(ctx, lm.Request{Messages: []lm.Message{{Role: lm.User, Content: question}}, MaxTokens: 1})
				return r.Text, err
			},
		}
	}
	o.LLM = judge(ctx, 7, cancel)
	if _, err := Build(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Out, "*")); len(left) != 1 || asked != 7 {
		t.Errorf("an interrupted build asked %d times and leaves %v", asked, left)
	}
	o.LLM = judge(t.Context(), -1, nil)
	m, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	// The answers, by question.
	answers := map[string]string{}
	for _, line := range lines(t, filepath.Join(o.Out, "answers.jsonl")) {
		var a struct{ Key, Answer string }
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if _, twice := answers[a.Key]; twice {
			t.Errorf("a question was asked twice: %s", line)
		}
		answers[a.Key] = a.Answer
	}
	if len(answers) != asked || asked != 5*2*4 {
		t.Errorf("%d answers, %d asked", len(answers), asked)
	}
	section := regexp.MustCompile(`\[(\w+)\]\n(.*)\n`)
	got := map[string]AnswerCounts{}
	kept := map[string]int{}
	for _, line := range lines(t, filepath.Join(o.Out, DecisionsFile)) {
		var d struct {
			Subset, Judge string
			Accepted      bool
			Facts         []Fact
			Criteria      map[string]Verdict
		}
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		if d.Judge != LLMJudge {
			continue
		}
		of := map[bool][]string{}
		var all []string
		for _, f := range d.Facts {
			of[f.True] = append(of[f.True], f.Text+".")
			all = append(all, f.Text+".")
		}
		text := func(lines []string) string {
			if len(lines) == 0 {
				return "(none)"
			}
			return strings.Join(lines, "\n")
		}
		accepted := true
		for _, q := range section.FindAllStringSubmatch(prompts, -1) {
			question := strings.NewReplacer("{facts}", text(all), "{true}", text(of[true]), "{false}", text(of[false])).Replace(q[2])
			sum := sha256.Sum256([]byte(ref.Name + "\x00" + question))
			answer, ok := answers[hex.EncodeToString(sum[:])]
			if !ok {
				t.Fatalf("there is no answer to %q", question)
			}
			c := got[q[1]]
			word := strings.ToLower(strings.Trim(answer, " .\n"))
			switch word {
			case "yes":
				c.Yes++
			case "no":
				c.No++
			default:
				c.Unparsable++
			}
			got[q[1]] = c
			if v := d.Criteria[q[1]]; v.OK != (word == "yes") {
				t.Errorf("%s of %q: %+v, and the model answered %q", q[1], all, v, answer)
			}
			accepted = accepted && word == "yes"
		}
		if accepted != d.Accepted {
			t.Errorf("%q was accepted: %v", all, d.Accepted)
		}
		if accepted {
			kept[d.Subset]++
		}
	}
	for _, k := range Criteria() {
		if got[k.String()] != m.Answers[k.String()] || got[k.String()] == (AnswerCounts{}) {
			t.Errorf("%v: %+v, and the manifest has %+v", k, got[k.String()], m.Answers[k.String()])
		}
	}
	total := 0
	for _, s := range Published() {
		rows, err := LoadRows(filepath.Join(o.Out, s+".jsonl"))
		if err != nil || len(rows) != kept[s] || m.Subsets[s].Filtered != kept[s] || m.Subsets[s].Raw != 2 {
			t.Errorf("%s: %d rows of %d that the model accepted; %+v, %v", s, len(rows), kept[s], m.Subsets[s], err)
		}
		total += len(rows)
	}
	t.Logf("%d rows; %+v", total, got)
	card, err := os.ReadFile(filepath.Join(o.Out, CardFile))
	if err != nil || !strings.Contains(string(card), "Is this written in plain English?") || !strings.Contains(string(card), "- Judge: `llm`, "+ref.Name) {
		t.Errorf("%v\n%s", err, card)
	}
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}
