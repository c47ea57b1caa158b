package preference

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Task is what items are compared by. The prompts of each are a folder of its name.
type Task string

// The tasks.
const (
	Coherence Task = "coherence" // of summaries: SummEval, Newsroom
	Relevance Task = "relevance" // of passages to a query: NovelEval
	Temporal  Task = "temporal"  // order of events: CaTeRS
	Quality   Task = "quality"   // of summaries, overall: Summarize from Feedback
	General   Task = "general"   // of any items
)

// Tasks are all of them.
var Tasks = []Task{Coherence, Relevance, Temporal, Quality, General}

// ParseTask finds a task by its name.
func ParseTask(name string) (Task, error) {
	var names []string
	for _, t := range Tasks {
		if string(t) == name {
			return t, nil
		}
		names = append(names, string(t))
	}
	return "", fmt.Errorf("%q is no task; the tasks are %s", name, strings.Join(names, ", "))
}

// Wording is how a relation and the negated one are asked for.
type Wording struct{ Relation, Negated string }

// Question says which of a wording's two questions is asked.
type Question string

// The questions.
const (
	Relation Question = "relation"
	Negated  Question = "negated"
)

// of is the text of a question.
func (w Wording) of(q Question) string {
	if q == Negated {
		return w.Negated
	}
	return w.Relation
}

// Prompts are what a model is asked in a task, with {source}, {first}, {second} and {question} for the shared text,
// the item that is shown first, as A, the other, as B, and the question. What many prompts begin with alike is
// read once, so that the source should come first, the items next and the question last. A paragraph with
// {source} in it is left out where an instance has no source.
//
// The wording is modellog's own: the paper's templates (Appendix F, Figure 7) are a picture, whose
// text is not part of the paper's text, and its paraphrases are not published.
type Prompts struct {
	Task      Task
	Plain     string    // for a model that continues a text; ends where the label begins
	Chat      string    // for a model with a chat template: the user's message
	CoT       string    // asks for reasoning and a last line "Answer: A" or "Answer: B"
	Questions []Wording // the first is asked; the others are its paraphrases
}

//go:embed prompts
var promptFiles embed.FS

// The names of the prompts' files in a task's folder.
const (
	PlainFile     = "plain.txt"
	ChatFile      = "chat.txt"
	CoTFile       = "cot.txt"
	QuestionsFile = "questions.tsv" // relation, tab, negated relation; a heading first
)

const (
	maxPrompt    = 64 << 10 // bytes of a file
	maxQuestions = 100
)

// DefaultPrompts are a task's prompts in the folder prompts of this package.
func DefaultPrompts(t Task) (*Prompts, error) {
	if _, err := ParseTask(string(t)); err != nil {
		return nil, err
	}
	sub, err := fs.Sub(promptFiles, "prompts/"+string(t))
	if err != nil {
		return nil, err
	}
	p := &Prompts{Task: t}
	if _, err := p.read(sub); err != nil {
		return nil, fmt.Errorf("the prompts of %s: %w", t, err)
	}
	return p, nil
}

// ReadPrompts reads a task's prompts from the folder of its name in dir; a file that is missing is the default's. Line
// ends at the end of a file do not count.
func ReadPrompts(dir string, t Task) (*Prompts, error) {
	p, err := DefaultPrompts(t)
	if err != nil {
		return nil, err
	}
	at := filepath.Join(dir, string(t))
	found, err := p.read(os.DirFS(at))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading prompts: %s: %w", at, err)
	case found == 0:
		return nil, fmt.Errorf("reading prompts: %s has none of %s, %s, %s and %s; modellog prefer prompts writes them", at, PlainFile, ChatFile, CoTFile, QuestionsFile)
	}
	return p, nil
}

// read replaces what files in a folder have.
func (p *Prompts) read(dir fs.FS) (found int, err error) {
	for _, name := range []string{PlainFile, ChatFile, CoTFile, QuestionsFile} {
		text, err := readPrompt(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return found, err
		}
		found++
		switch name {
		case QuestionsFile:
			if p.Questions, err = parseQuestions(text); err != nil {
				return found, fmt.Errorf("%s: %w", name, err)
			}
			continue
		case PlainFile:
			p.Plain = text
		case ChatFile:
			p.Chat = text
		case CoTFile:
			p.CoT = text
		}
		for _, hole := range []string{"{first}", "{second}", "{question}"} {
			if !strings.Contains(text, hole) {
				return found, fmt.Errorf("%s: the prompt has no %s, which each pair of items fills", name, hole)
			}
		}
	}
	return found, nil
}

func readPrompt(dir fs.FS, name string) (string, error) {
	fi, err := fs.Stat(dir, name)
	if err != nil {
		return "", err
	}
	if !fi.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file; write its text into one", name)
	}
	if fi.Size() > maxPrompt {
		return "", fmt.Errorf("%s has %d bytes; a prompt has at most %d", name, fi.Size(), maxPrompt)
	}
	b, err := fs.ReadFile(dir, name)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%s is no text in UTF-8; convert it", name)
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(b), "\xef\xbb\xbf"), "\r\n", "\n")
	return strings.TrimRight(text, "\n"), nil
}

// parseQuestions reads a file of questions: a heading, and in each line a relation's and, behind a tab, the negated
// one's.
func parseQuestions(text string) ([]Wording, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || lines[0] != "relation\tnegated" {
		return nil, errors.New(`line 1: the heading is not "relation", a tab, "negated", with a line of questions below`)
	}
	var out []Wording
	for i, line := range lines[1:] {
		w := Wording{}
		ok := false
		if w.Relation, w.Negated, ok = strings.Cut(line, "\t"); !ok || strings.Contains(w.Negated, "\t") {
			return nil, fmt.Errorf("line %d: a line has a question and, behind one tab, the negated question", i+2)
		}
		switch w = (Wording{strings.TrimSpace(w.Relation), strings.TrimSpace(w.Negated)}); {
		case w.Relation == "" || w.Negated == "":
			return nil, fmt.Errorf("line %d: a question is empty", i+2)
		case w.Relation == w.Negated:
			return nil, fmt.Errorf("line %d: the negated question is the question itself", i+2)
		case slices.Contains(out, w):
			return nil, fmt.Errorf("line %d: the same questions stand further up", i+2)
		case len(out) == maxQuestions:
			return nil, fmt.Errorf("line %d: at most %d lines of questions are read", i+2, maxQuestions)
		}
		out = append(out, w)
	}
	return out, nil
}

// WritePrompts writes the default prompts of all tasks into a folder, which is made. Files that are there stay.
func WritePrompts(dir string) error {
	err := fs.WalkDir(promptFiles, "prompts", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(strings.TrimPrefix(path, "prompts"), "/")))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := promptFiles.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(text)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		return fmt.Errorf("writing prompts: %w", err)
	}
	return nil
}

// digest tells one set of prompts from another.
func (p *Prompts) digest() string {
	h := sha256.New()
	for _, s := range []string{string(p.Task), p.Plain, p.Chat, p.CoT} {
		fmt.Fprintf(h, "%d %s\n", len(s), s)
	}
	for _, w := range p.Questions {
		fmt.Fprintf(h, "%q %q\n", w.Relation, w.Negated)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fill puts a pair of items into a prompt. Holes within their texts stay what they are.
func fill(prompt, source, first, second, question string) string {
	if source == "" {
		var kept []string
		for _, paragraph := range strings.Split(prompt, "\n\n") {
			if !strings.Contains(paragraph, "{source}") {
				kept = append(kept, paragraph)
			}
		}
		prompt = strings.Join(kept, "\n\n")
	}
	return strings.NewReplacer("{source}", source, "{first}", first, "{second}", second, "{question}", question).Replace(prompt)
}
