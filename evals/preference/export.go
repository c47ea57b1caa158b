package preference

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/modellog/modellog/evals/answers"
)

// ExportOptions say how pairs are written as examples to train on.
type ExportOptions struct {
	Prompts *Prompts
	Style   answers.Style // answers.Chat: a conversation; answers.Plain: a text and how it goes on
	Wording int           // 0 for the task's question
	Data    string        // what the data are called in the provenance
}

// Example is a line of instruction-tuning data in TRL's prompt-completion form, of which the loss is that of
// the completion alone. Prompt and completion are texts, or lists of messages.
type Example struct {
	Prompt     any        `json:"prompt"`
	Completion any        `json:"completion"`
	Provenance Provenance `json:"provenance"`
}

// Message is one of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Provenance says where an example comes from.
type Provenance struct {
	Data     string   `json:"data"`
	Stage    string   `json:"stage"` // as Table 2 calls it
	Instance string   `json:"instance"`
	Line     int      `json:"line"` // of the data, where the instance begins
	First    string   `json:"first"`
	Second   string   `json:"second"`
	Question Question `json:"question"`
	Wording  int      `json:"wording"`
	Origin   Origin   `json:"origin"`
	// Perturbed is the share of comparisons that were flipped first, drawn with the seed; 0 for none.
	Perturbed float64 `json:"perturbed"`
	Seed      uint64  `json:"seed"`
	// How the items were ranked, and the scores by which that orders the two; empty and null where they come
	// from no ranking.
	RankedBy    string   `json:"ranked_by"`
	FirstScore  *float64 `json:"first_score"`
	SecondScore *float64 `json:"second_score"`
}

// Export writes a stage's pairs as JSON lines, one a pair, in the order of the instances and their pairs, and
// returns their number. The stage's pairs are those of the instances.
func Export(w io.Writer, instances []*Instance, s Stage, o ExportOptions) (int, error) {
	switch {
	case o.Prompts == nil:
		return 0, errors.New("exporting pairs: there are no prompts; take a task's")
	case o.Wording < 0 || o.Wording >= len(o.Prompts.Questions):
		return 0, fmt.Errorf("exporting pairs: wording %d of %d", o.Wording, len(o.Prompts.Questions))
	case o.Style != answers.Chat && o.Style != answers.Plain:
		return 0, fmt.Errorf("exporting pairs: the style is %q; it is %s or %s", o.Style, answers.Chat, answers.Plain)
	case len(s.Pairs) != len(instances):
		return 0, fmt.Errorf("exporting pairs: %d instances and the pairs of %d", len(instances), len(s.Pairs))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	lines := 0
	for n, in := range instances {
		for _, p := range s.Pairs[n] {
			if p.First < 0 || p.Second < 0 || p.First >= len(in.Items) || p.Second >= len(in.Items) || p.First == p.Second {
				return lines, fmt.Errorf("exporting pairs: instance %s has a pair of items %d and %d of %d", in.ID, p.First, p.Second, len(in.Items))
			}
			if err := e.Encode(o.example(in, s, n, p)); err != nil {
				return lines, fmt.Errorf("exporting pairs: %w", err)
			}
			lines++
		}
	}
	return lines, nil
}

func (o *ExportOptions) example(in *Instance, s Stage, n int, p Pair) Example {
	q := Relation
	if p.Negated {
		q = Negated
	}
	label := 1
	if p.NamesFirst {
		label = 0
	}
	first, second := in.Items[p.First], in.Items[p.Second]
	x := Example{Provenance: Provenance{
		Data: o.Data, Stage: s.Name, Instance: in.ID, Line: in.Line, First: first.ID, Second: second.ID,
		Question: q, Wording: o.Wording, Origin: p.Origin, Perturbed: s.Perturbed, Seed: s.Seed, RankedBy: s.RankedBy,
	}}
	if n < len(s.Scores) && s.Scores[n] != nil {
		x.Provenance.FirstScore, x.Provenance.SecondScore = known(s.Scores[n][p.First]), known(s.Scores[n][p.Second])
	}
	frame := o.Prompts.Plain
	if o.Style == answers.Chat {
		frame = o.Prompts.Chat
	}
	prompt := fill(frame, in.Source, first.Text, second.Text, o.Prompts.Questions[o.Wording].of(q))
	completion := answers.Spaced(labels, o.Style)[0][label]
	if o.Style == answers.Chat {
		x.Prompt, x.Completion = []Message{{"user", prompt}}, []Message{{"assistant", completion}}
	} else {
		x.Prompt, x.Completion = prompt, completion
	}
	return x
}

// known is a number that JSON can have.
func known(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

//go:embed training
var training embed.FS

// stageFiles are what the stages' files are called.
var stageFiles = []string{"raw", "perturbed", "augmented", "augmented-negated"}

// WriteTraining writes the four stages of [Stages] into a folder, which is made, each as NAME-chat.jsonl and
// NAME-plain.jsonl; and beside them a training recipe at the parameters of Appendix E for PEFT and TRL:
// recipe.json, train.py that reads it, and requirements.txt. It returns the names of the files and the number
// of lines of those that have examples. Files of those names are replaced.
func WriteTraining(dir string, instances []*Instance, stages []Stage, o ExportOptions) (map[string]int, error) {
	if len(stages) != len(stageFiles) {
		return nil, fmt.Errorf("writing training data: %d stages; there are %d", len(stages), len(stageFiles))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("writing training data: %w", err)
	}
	files := map[string]int{}
	for i, s := range stages {
		for _, style := range []answers.Style{answers.Chat, answers.Plain} {
			var b bytes.Buffer
			o.Style = style
			n, err := Export(&b, instances, s, o)
			if err != nil {
				return nil, err
			}
			name := stageFiles[i] + "-" + string(style) + ".jsonl"
			if err := renameio.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
				return nil, fmt.Errorf("writing training data: %w", err)
			}
			files[name] = n
		}
	}
	err := fs.WalkDir(training, "training", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := training.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "training/")
		files[name] = 0
		return renameio.WriteFile(filepath.Join(dir, name), b, 0o644)
	})
	if err != nil {
		return nil, fmt.Errorf("writing the training recipe: %w", err)
	}
	return files, nil
}
