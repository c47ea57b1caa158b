package preference

import (
	"fmt"
	"slices"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/evals/folder"
)

// Status says what became of a judgement.
type Status string

// What becomes of a judgement.
const (
	StatusJudged Status = "judged"
	StatusBad    Status = "bad"       // could not be asked
	StatusUnsure Status = "not sure"  // the backend tells too little of the labels to decide between them
	StatusNone   Status = "no answer" // none of the samples could be parsed
)

// Row is a line of a run's file of rows: a judgement of one ordered pair of items under one question in one
// wording. It has no text of the data.
//
// A line without First is of a whole instance that could not be asked.
type Row struct {
	Instance string   `json:"instance"`
	Line     int      `json:"line"`            // of the data
	First    string   `json:"first,omitempty"` // the item shown first, as A
	Second   string   `json:"second,omitempty"`
	Question Question `json:"question,omitempty"`
	Wording  int      `json:"wording,omitempty"` // 0 for the task's question, from 1 on for its paraphrases
	Status   Status   `json:"status"`
	Why      string   `json:"why,omitempty"` // of another status than judged

	// P is the probability that the label names the first item: P(A) / (P(A) + P(B)) of the next token, or the share
	// of the sampled answers that could be parsed.
	P *answers.Bounds `json:"p,omitempty"`
	// A and B are the probabilities of the labels' tokens; missing where answers were sampled.
	A *answers.Bounds `json:"a,omitempty"`
	B *answers.Bounds `json:"b,omitempty"`

	Votes  *Votes `json:"votes,omitempty"`  // of the samples
	Human  string `json:"human,omitempty"`  // whom the annotation prefers: "first", "second", "tie"
	Tokens int    `json:"tokens,omitempty"` // of the prompt, where they are known
	Cut    int    `json:"cut,omitempty"`    // texts in it that were cut
}

// Votes count sampled answers.
type Votes struct {
	A        int `json:"a"`
	B        int `json:"b"`
	Unparsed int `json:"unparsed,omitempty"` // could not be parsed, and count for nothing
}

// neither is the probability of a token that is no label; NaN where it was not read.
func (r *Row) neither() float64 {
	if r.A == nil || r.B == nil {
		return nan
	}
	return answers.Reading{First: *r.A, Second: *r.B}.Neither()
}

// ReadRows reads a file of rows that a run wrote.
func ReadRows(path string) ([]*Row, error) { return folder.ReadRows(path, (*Row).check) }

// check refuses what no run writes.
func (r *Row) check() error {
	switch {
	case r.Instance == "":
		return fmt.Errorf("a row names no instance")
	case r.First == "" && r.Status == StatusBad:
		return nil
	case r.First == "" || r.Second == "" || r.First == r.Second:
		return fmt.Errorf("a row has not two items")
	case r.Question != Relation && r.Question != Negated:
		return fmt.Errorf("%q is no question; a row is of the %s or of the %s one", r.Question, Relation, Negated)
	case r.Wording < 0 || r.Wording >= maxQuestions:
		return fmt.Errorf("a row is of wording %d", r.Wording)
	case !slices.Contains([]Status{StatusJudged, StatusBad, StatusUnsure, StatusNone}, r.Status):
		return fmt.Errorf("%q is no status of a row", r.Status)
	case r.Status == StatusJudged && r.P == nil:
		return fmt.Errorf("a judged row has no p")
	case r.Votes != nil && (min(r.Votes.A, r.Votes.B, r.Votes.Unparsed) < 0 || r.Votes.A+r.Votes.B == 0 && r.Status == StatusJudged):
		return fmt.Errorf("a judged row has %d votes for A, %d for B and %d that could not be parsed", r.Votes.A, r.Votes.B, r.Votes.Unparsed)
	}
	for _, b := range []*answers.Bounds{r.P, r.A, r.B} {
		if b != nil && !(0 <= b.Lo && b.Lo <= b.Hi && b.Hi <= 1) {
			return fmt.Errorf("a row has a number from %g to %g that is a probability", b.Lo, b.Hi)
		}
	}
	return nil
}
