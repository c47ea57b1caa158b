package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
)

// wrongList is what is wrong with a list of tokens.
type wrongList struct{ what string }

func (e *wrongList) Error() string { return e.what }

// pair is an entry of an object that has tokens and their log-probabilities.
type pair struct {
	name    string
	logprob float64
	rank    int // 1 is the most probable token; 0 where it is not told
}

// pairs are the entries in the order in which they were sent, which a map would lose; that one
// name comes twice, a map would hide.
type pairs []pair

func (p *pairs) UnmarshalJSON(b []byte) error {
	*p = nil
	if string(bytes.TrimSpace(b)) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return &wrongList{"tokens that are no list"}
	}
	seen := make(map[string]bool)
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name, ok := t.(string)
		if !ok {
			return &wrongList{"a token without a name"}
		}
		var value struct {
			logprob *float64
			rank    int
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if json.Unmarshal(raw, &value.logprob) != nil {
			var ranked struct {
				Logprob *float64
				Rank    *int
			}
			if err := json.Unmarshal(raw, &ranked); err != nil {
				return &wrongList{fmt.Sprintf("a token with %s for a log-probability", excerpt(raw))}
			}
			if value.logprob = ranked.Logprob; ranked.Rank != nil {
				value.rank = *ranked.Rank
			}
		}
		switch {
		case value.logprob == nil:
			return &wrongList{"a token without a log-probability"}
		case seen[name]:
			return &wrongList{fmt.Sprintf("the token %s twice", excerpt([]byte(name)))}
		}
		seen[name] = true
		*p = append(*p, pair{name, *value.logprob, value.rank})
	}
	return nil
}

// completion is an answer of /completions with log-probabilities.
type completion struct {
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Logprobs     *struct {
			Tokens []string
			Top    []pairs `json:"top_logprobs"`
		}
		Prompt []pairs `json:"prompt_logprobs"`
	}
	Usage *struct {
		Prompt int `json:"prompt_tokens"`
	}
}

// idOf reads a name such as "token_id:17" or "17".
func idOf(name string) (lm.Token, bool) {
	digits := strings.TrimPrefix(name, "token_id:")
	id, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || strconv.FormatInt(id, 10) != digits || id < 0 {
		return 0, false
	}
	return lm.Token(id), true
}

// least stands for a probability that a server's float32 has no number for, and writes as 0 or as a
// floor: the smallest that it has is 2⁻¹⁴⁹, e to the power of -103.28.
const least = -104

// wholeList makes a whole distribution of entries, one for each token, whose probabilities sum to 1.
func wholeList(entries []lm.TokenLogProb, size int) (lm.Distribution, bool) {
	if len(entries) != size || size == 0 {
		return lm.Distribution{}, false
	}
	d := lm.Distribution{Logits: make([]float32, size), Vocabulary: size}
	seen := make([]bool, size)
	var sum float64
	for _, e := range entries {
		if e.Token < 0 || int(e.Token) >= size || seen[e.Token] || !(e.LogProb <= listed.Slack) {
			return lm.Distribution{}, false
		}
		seen[e.Token] = true
		d.Logits[e.Token] = float32(max(e.LogProb, least))
		sum += math.Exp(e.LogProb)
	}
	return d, math.Abs(sum-1) <= wholeSlack
}

// wholeSlack is how far the probabilities of a whole vocabulary may sum beside 1.
// llama-server adds them up in float32, which for 262,144 tokens is off by 4·10⁻⁴; that is the same
// factor for all of them, and taken out by whoever makes a distribution of logits.
const wholeSlack = 1e-2
