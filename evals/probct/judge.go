package probct

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Ask puts a question to a language model and returns what it answered. It should answer
// the same question in the same way each time.
type Ask func(ctx context.Context, question string) (string, error)

// DefaultPrompts is the text of the questions.
//
//go:embed prompts.txt
var DefaultPrompts string

// LLM is the judge that asks a language model.
//
// Each answer is written to a file at once and is not asked for again, so that a build that was
// interrupted goes on where it stopped.
type LLM struct {
	Model   string // its name and digest, which the answers are kept under
	Ask     Ask
	Prompts string // "" for DefaultPrompts
	Answers string // the path of the file of answers

	questions [criteria]string
	known     map[string]string
	file      *os.File
	answers   [criteria]AnswerCounts
}

// AnswerCounts are how often a model answered a criterion's question in each way.
type AnswerCounts struct {
	Yes        int `json:"yes"`
	No         int `json:"no"`
	Unparsable int `json:"unparsable"` // neither, which keeps the candidate out
}

const (
	maxAnswer  = 4 << 10
	maxAnswers = 1 << 30
)

// answer is a line of the file of answers.
type answer struct {
	Key    string `json:"key"` // SHA-256 of the model and the question
	Answer string `json:"answer"`
}

// prompts is the text of the questions.
func (j *LLM) prompts() string { return cmp.Or(j.Prompts, DefaultPrompts) }

// open reads the questions and the answers there are.
func (j *LLM) open() error {
	var err error
	if j.questions, err = parsePrompts(j.prompts()); err != nil {
		return fmt.Errorf("reading the judge's questions: %w", err)
	}
	j.known = make(map[string]string)
	whole, err := j.read()
	if err != nil {
		return fmt.Errorf("reading the judge's answers in %s: %w", j.Answers, err)
	}
	j.file, err = os.OpenFile(j.Answers, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("opening the judge's answers: %w", err)
	}
	// A line that was cut by the end of a process goes, so that the next one is whole.
	if err := j.file.Truncate(whole); err != nil {
		return errors.Join(err, j.file.Close())
	}
	if _, err := j.file.Seek(whole, io.SeekStart); err != nil {
		return errors.Join(err, j.file.Close())
	}
	return nil
}

// read reads the answers there are, and returns where the last whole line ends.
func (j *LLM) read() (int64, error) {
	f, err := os.Open(j.Answers)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := bufio.NewReaderSize(io.LimitReader(f, maxAnswers), 64<<10)
	var at int64
	for {
		line, err := b.ReadBytes('\n')
		if err == io.EOF {
			return at, nil
		}
		if err != nil {
			return 0, err
		}
		var a answer
		if json.Unmarshal(line, &a) != nil {
			return 0, fmt.Errorf("at byte %d there is no answer; move the file away to ask anew", at)
		}
		j.known[a.Key] = a.Answer
		at += int64(len(line))
	}
}

func (j *LLM) close() error { return j.file.Close() }

// parsePrompts reads the questions: sections with a criterion's name in brackets.
func parsePrompts(text string) ([criteria]string, error) {
	var q [criteria]string
	section := -1
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		trimmed := strings.TrimSpace(line)
		if section < 0 && (trimmed == "" || strings.HasPrefix(trimmed, "#")) {
			continue
		}
		if name, ok := strings.CutPrefix(trimmed, "["); ok && strings.HasSuffix(name, "]") {
			section = -1
			for _, c := range Criteria() {
				if c.String()+"]" == name {
					section = int(c)
				}
			}
			if section < 0 {
				return q, fmt.Errorf("there is no criterion %s", trimmed)
			}
			if q[section] != "" {
				return q, fmt.Errorf("%s stands there twice", trimmed)
			}
			continue
		}
		if section < 0 {
			return q, fmt.Errorf("%.60q stands before the first [criterion]", trimmed)
		}
		q[section] += strings.TrimRight(line, "\r\n") + "\n"
	}
	for _, c := range Criteria() {
		q[c] = strings.TrimSpace(q[c])
		if !strings.Contains(q[c], "{facts}") && !strings.Contains(q[c], "{true}") {
			return q, fmt.Errorf("[%v] asks nothing about {facts} or {true}", c)
		}
	}
	return q, nil
}

// judge asks a question for each criterion about a candidate that has all its texts.
func (j *LLM) judge(ctx context.Context, c *candidate) (Verdicts, error) {
	var v Verdicts
	var all, holds, not []string
	for _, f := range c.Facts {
		line := f.Text + "."
		all = append(all, line)
		if f.True {
			holds = append(holds, line)
		} else {
			not = append(not, line)
		}
	}
	none := func(lines []string) string {
		if len(lines) == 0 {
			return "(none)"
		}
		return strings.Join(lines, "\n")
	}
	fill := strings.NewReplacer("{facts}", none(all), "{true}", none(holds), "{false}", none(not))
	for _, k := range Criteria() {
		text, err := j.answerTo(ctx, fill.Replace(j.questions[k]))
		if err != nil {
			return v, err
		}
		switch yes, ok := parseAnswer(text); {
		case !ok:
			j.answers[k].Unparsable++
			v.fail(k, "unparsable", "the model answered %.80q", text)
		case yes:
			j.answers[k].Yes++
			v.pass(k, "the model answered yes")
		default:
			j.answers[k].No++
			v.fail(k, "no", "the model answered no")
		}
	}
	return v, nil
}

func (j *LLM) answerTo(ctx context.Context, question string) (string, error) {
	sum := sha256.Sum256([]byte(j.Model + "\x00" + question))
	key := hex.EncodeToString(sum[:])
	if a, ok := j.known[key]; ok {
		return a, nil
	}
	a, err := j.Ask(ctx, question)
	if err != nil {
		return "", fmt.Errorf("asking %s: %w", j.Model, err)
	}
	if len(a) > maxAnswer {
		a = a[:maxAnswer]
	}
	a = strings.ToValidUTF8(a, "\uFFFD")
	line, err := json.Marshal(answer{key, a})
	if err != nil {
		return "", err
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return "", fmt.Errorf("keeping an answer: %w", err)
	}
	j.known[key] = a
	return a, nil
}

// parseAnswer takes "yes" or "no", in any case, with a full stop or without, and nothing else.
func parseAnswer(text string) (yes, ok bool) {
	word := bytes.ToLower(bytes.Trim(bytes.TrimSpace([]byte(text)), "\"'*`."))
	switch string(word) {
	case "yes":
		return true, true
	case "no":
		return false, true
	}
	return false, false
}
