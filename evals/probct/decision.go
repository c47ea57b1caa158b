package probct

import "encoding/json"

// Decision is what was decided about a candidate, or about a word that could be a target.
type Decision struct {
	Subset   string            `json:"subset"` // "target" for a word
	ID       string            `json:"id"`
	Text     string            `json:"text,omitempty"`  // the word
	Holes    map[string]string `json:"holes,omitempty"` // the candidate's
	Facts    []Fact            `json:"facts,omitempty"`
	Judge    string            `json:"judge"`
	Accepted bool              `json:"accepted"`
	Verdicts Verdicts          `json:"criteria"`
}

func newDecision(subset, id, text string, v Verdicts) Decision {
	return Decision{Subset: subset, ID: id, Text: text, Judge: RulesJudge, Accepted: v.OK(), Verdicts: v}
}

// The judges' names.
const (
	RulesJudge = "rules"
	LLMJudge   = "llm"
)

// MarshalJSON writes the verdicts as an object with a field for each criterion.
func (v Verdicts) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Grammatical Verdict `json:"grammatical"`
		Monosemous  Verdict `json:"monosemous"`
		Salient     Verdict `json:"salient"`
		Factual     Verdict `json:"factual"`
	}{v[Grammatical], v[Monosemous], v[Salient], v[Factual]})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Verdicts) UnmarshalJSON(text []byte) error {
	fields := make(map[string]Verdict)
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	for _, c := range Criteria() {
		v[c] = fields[c.String()]
	}
	return nil
}
