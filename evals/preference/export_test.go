package preference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/answers"
)

// feedbackOf are posts with summaries, whose annotations have a cycle, a pair twice, and a pair of no known order.
func feedbackOf() []*Instance {
	in := &Instance{ID: "t3_a", Source: "A title\nA post with {first} in it & <b>.", Line: 1, Items: unscored(5), Comparisons: []Comparison{
		{I: 0, J: 1, P: 1}, {I: 1, J: 2, P: 1}, {I: 2, J: 0, P: 1}, {I: 0, J: 3, P: 1}, {I: 0, J: 4, P: 1}, {I: 3, J: 4, P: 0.5},
	}}
	for i := range in.Items {
		in.Items[i].ID, in.Items[i].Text = fmt.Sprint(i+1), fmt.Sprintf("Summary number %d.", i+1)
	}
	other := &Instance{ID: "t3_b", Line: 9, Items: []Item{{"x", "One.", math.NaN()}, {"y", "Two.", math.NaN()}}, Comparisons: []Comparison{{I: 1, J: 0, P: 1}}}
	return []*Instance{in, other}
}

func stagesOf(t *testing.T, instances []*Instance) []Stage {
	t.Helper()
	stages, err := Stages(instances, RefineOptions{Measure: MeasureOptions{Bootstrap: quick}})
	if err != nil {
		t.Fatal(err)
	}
	return stages
}

func TestExport(t *testing.T) {
	prompts, err := DefaultPrompts(Quality)
	if err != nil {
		t.Fatal(err)
	}
	instances := feedbackOf()
	stages := stagesOf(t, instances)
	dir := t.TempDir()
	files, err := WriteTraining(dir, instances, stages, ExportOptions{Prompts: prompts, Data: "a file"})
	if err != nil {
		t.Fatal(err)
	}
	// 16 ordered pairs of the first instance as in TestTable2, and 2 of the second; A–B–C are not known.
	for name, want := range map[string]int{"raw-chat.jsonl": 6, "perturbed-plain.jsonl": 6, "augmented-chat.jsonl": 18, "augmented-negated-plain.jsonl": 36, "recipe.json": 0, "train.py": 0, "requirements.txt": 0} {
		if got, ok := files[name]; !ok || got != want {
			t.Errorf("%s has %d lines, want %d", name, got, want)
		}
	}
	for _, style := range []answers.Style{answers.Chat, answers.Plain} {
		b, err := os.ReadFile(filepath.Join(dir, "augmented-negated-"+string(style)+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), `\u003c`) {
			t.Error("signs of HTML are escaped")
		}
		origins := map[Origin]int{}
		d := json.NewDecoder(bytes.NewReader(b))
		for lines := 0; ; lines++ {
			var x struct {
				Prompt, Completion json.RawMessage
				Provenance         Provenance
			}
			if err := d.Decode(&x); err == io.EOF {
				if lines != 36 {
					t.Errorf("%d lines", lines)
				}
				break
			} else if err != nil {
				t.Fatal(err)
			}
			p := x.Provenance
			origins[p.Origin]++
			var prompt, completion string
			if style == answers.Chat {
				var m [2][]Message
				if json.Unmarshal(x.Prompt, &m[0]) != nil || json.Unmarshal(x.Completion, &m[1]) != nil || len(m[0]) != 1 || len(m[1]) != 1 || m[0][0].Role != "user" || m[1][0].Role != "assistant" {
					t.Fatalf("%s %s", x.Prompt, x.Completion)
				}
				prompt, completion = m[0][0].Content, m[1][0].Content
			} else if json.Unmarshal(x.Prompt, &prompt) != nil || json.Unmarshal(x.Completion, &completion) != nil {
				t.Fatalf("%s %s", x.Prompt, x.Completion)
			}
			// The answer by the rates alone: the better item for the relation, the other for its negation.
			better := *p.FirstScore > *p.SecondScore
			want := "B"
			if better == (p.Question == Relation) {
				want = "A"
			}
			if style == answers.Plain {
				want = " " + want
			}
			if completion != want {
				t.Errorf("%+v: %q, want %q", p, completion, want)
			}
			in := instances[slices.IndexFunc(instances, func(in *Instance) bool { return in.ID == p.Instance })]
			at := strings.Index(prompt, "A:\n")
			for _, item := range in.Items {
				if item.ID == p.First && !strings.HasPrefix(prompt[at:], "A:\n"+item.Text) || item.ID == p.Second && !strings.Contains(prompt, "B:\n"+item.Text) {
					t.Errorf("%+v: %s", p, prompt)
				}
			}
			asked := prompts.Questions[0].of(p.Question)
			if !strings.Contains(prompt, in.Source) || !strings.Contains(prompt, asked) || p.Data != "a file" || p.Stage != "Aug. data+Neg." || p.Line != in.Line || p.RankedBy != "win-loss" || p.Perturbed != 0 {
				t.Errorf("%+v: %s", p, prompt)
			}
		}
		// A has a rate of ½, B and C 0, D and E −½. Annotated: A–B, A–D, A–E and x–y; resolved: A–C, annotated the
		// other way; implied: B and C with D and E. Each in two orders and two questions.
		if want := map[Origin]int{Annotated: 16, Resolved: 4, Implied: 16}; !maps.Equal(origins, want) {
			t.Errorf("%v, want %v", origins, want)
		}
	}
	for _, o := range []ExportOptions{{}, {Prompts: prompts}, {Prompts: prompts, Style: answers.Auto}, {Prompts: prompts, Style: answers.Chat, Wording: 1000}} {
		if _, err := Export(io.Discard, instances, stages[0], o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := Export(io.Discard, instances[:1], stages[0], ExportOptions{Prompts: prompts, Style: answers.Chat}); err == nil {
		t.Error("pairs of other instances are taken")
	}
}

// TestRecipe compares the recipe with Appendix E's text, figure by figure.
func TestRecipe(t *testing.T) {
	b, err := training.ReadFile("training/recipe.json")
	if err != nil {
		t.Fatal(err)
	}
	var recipe struct {
		Paper map[string]any
		Own   map[string]any
	}
	if err := json.Unmarshal(b, &recipe); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"learning_rate": 5e-5, "epochs": 2, "weight_decay": 1e-2, "lora_r": 16, "lora_alpha": 64, "batch_size": 4, "gradient_accumulation_steps": 2} {
		if recipe.Paper[name] != want {
			t.Errorf("%s is %v, want %g", name, recipe.Paper[name], want)
		}
	}
	if len(recipe.Paper) != 8 {
		t.Errorf("%v", recipe.Paper)
	}
}

// TestTraining trains a small model of random weights on what is exported, by the recipe, and loads the adapter
// and the data again. MODELLOG_TRAINER names a Python that has the recipe's requirements.
func TestTraining(t *testing.T) {
	python := os.Getenv("MODELLOG_TRAINER")
	if python == "" {
		t.Skip("MODELLOG_TRAINER is not set to a Python with evals/preference/training/requirements.txt")
	}
	prompts, err := DefaultPrompts(Quality)
	if err != nil {
		t.Fatal(err)
	}
	instances := feedbackOf()
	dir := t.TempDir()
	if _, err := WriteTraining(dir, instances, stagesOf(t, instances), ExportOptions{Prompts: prompts, Data: "a file"}); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command(python, args...)
		c.Env = append(os.Environ(), "HF_HUB_OFFLINE=1", "HF_DATASETS_CACHE="+filepath.Join(dir, "cache"), "CUDA_VISIBLE_DEVICES=")
		out, err := c.Output()
		if err != nil {
			message := ""
			if e, ok := err.(*exec.ExitError); ok {
				message = string(e.Stderr[max(0, len(e.Stderr)-3000):])
			}
			t.Fatalf("%v: %v\n%s", args, err, message)
		}
		return string(out)
	}
	base := filepath.Join(dir, "base")
	run("testdata/tiny_model.py", base)
	for _, style := range []string{"chat", "plain"} {
		data, out := filepath.Join(dir, "augmented-negated-"+style+".jsonl"), filepath.Join(dir, "adapter-"+style)
		run(filepath.Join(dir, "train.py"), data, "--model", base, "--out", out)
		lines := strings.Split(strings.TrimSpace(run("testdata/check_training.py", base, data, out)), "\n")
		var got struct {
			R, Alpha, Epochs, Batch, Accumulate, Steps float64
			LR, Decay                                  float64
			Losses                                     []float64
			Trained, Examples                          int
			Of                                         string `json:"loss of"`
			Provenance                                 []string
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
			t.Fatal(err, lines)
		}
		t.Logf("%s: %+v", style, got)
		// 36 examples in batches of 4 by 2 are ⌈36/8⌉ = 5 steps an epoch.
		if got.R != 16 || got.Alpha != 64 || got.LR != 5e-5 || got.Epochs != 2 || got.Decay != 0.01 || got.Batch != 4 || got.Accumulate != 2 || got.Steps != 10 || got.Examples != 36 || got.Trained == 0 {
			t.Errorf("%s: %+v", style, got)
		}
		// A model of random weights is about as surprised as by chance, ln 261 a token.
		for _, l := range got.Losses {
			if !(l > 3 && l < 8) {
				t.Errorf("%s: losses %v", style, got.Losses)
			}
		}
		if want := map[string]string{"chat": "A</s>", "plain": " A</s>"}[style]; got.Of != want && got.Of != strings.Replace(want, "A", "B", 1) {
			t.Errorf("%s: the loss is of %q, want %q", style, got.Of, want)
		}
		if len(got.Provenance) != 14 {
			t.Errorf("%s: provenance %v", style, got.Provenance)
		}
	}
}
