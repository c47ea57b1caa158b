package ollama

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/lm"
)

// asked is how many tokens the server is asked for, the most that it gives.
const asked = 20

// slack is how far rounding may carry a probability, or a sum of some, above 1.
const slack = 1e-4

// checkAnswer checks what the client would read over: that the answer is one or
// more JSON objects and nothing else, and that every log-probability is there.
// (A null or missing one would be read as 0, a probability of 1.)
func checkAnswer(body []byte) error {
	type entry struct {
		Logprob *float64 `json:"logprob"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	for n := 0; ; n++ {
		var answer struct {
			Logprobs []struct {
				entry
				Top []entry `json:"top_logprobs"`
			} `json:"logprobs"`
		}
		err := decoder.Decode(&answer)
		if errors.Is(err, io.EOF) && n > 0 {
			return nil
		}
		var shape *json.UnmarshalTypeError
		switch {
		case errors.As(err, &shape):
			return fmt.Errorf("an answer in which %s is a %s", shape.Field, shape.Value)
		case err != nil:
			return fmt.Errorf("%s, which is no JSON", excerpt(body))
		}
		for _, token := range answer.Logprobs {
			for _, e := range append([]entry{token.entry}, token.Top...) {
				if e.Logprob == nil {
					return errors.New("a token without a log-probability")
				}
			}
		}
	}
}

// distribution makes a distribution of the tokens that an answer lists. What it
// returns has descending log-probabilities, at most 0, of distinct tokens. Values
// that stand for "none", such as -9999, are left for package calibrate to know.
func (v *vocabulary) distribution(listed []api.TokenLogprob) (lm.Distribution, error) {
	d := lm.Distribution{Vocabulary: v.size}
	if len(listed) > v.size {
		return d, fmt.Errorf("it lists %d tokens, and the vocabulary has %d", len(listed), v.size)
	}
	type named struct {
		text    string
		logprob float64
		among   []lm.Token
	}
	entries := make([]named, 0, len(listed))
	times := make(map[lm.Token]int) // by the first token of a text
	var sum float64
	for _, e := range listed {
		text := e.Token
		if len(e.Bytes) > 0 {
			b := make([]byte, len(e.Bytes))
			for i, c := range e.Bytes {
				if c < 0 || c > 255 {
					return d, fmt.Errorf("it names a token by the byte %d", c)
				}
				b[i] = byte(c)
			}
			text = string(b)
		}
		switch {
		case math.IsNaN(e.Logprob):
			return d, fmt.Errorf("the log-probability of %q is no number", text)
		case e.Logprob > slack:
			return d, fmt.Errorf("the log-probability of %q is %g, and a probability cannot exceed 1", text, e.Logprob)
		}
		among := v.find(text)
		if len(among) == 0 {
			return d, fmt.Errorf("it names a token %q, which the vocabulary does not have", text)
		}
		if times[among[0]]++; times[among[0]] > len(among) {
			return d, fmt.Errorf("it lists the token %q twice", text)
		}
		sum += math.Exp(e.Logprob)
		entries = append(entries, named{text, math.Min(0, e.Logprob), among})
	}
	if len(entries) == 0 {
		return d, errors.New("it lists no token")
	}
	if sum > 1+slack {
		return d, fmt.Errorf("the probabilities of its tokens sum to %.6g", sum)
	}
	slices.SortStableFunc(entries, func(a, b named) int { return cmp.Compare(b.logprob, a.logprob) })
	guessed := make(map[lm.Token]int)
	for i, e := range entries {
		// Entries that share a text are given its tokens one by one.
		guess := e.among[guessed[e.among[0]]]
		guessed[e.among[0]]++
		d.Top = append(d.Top, lm.TokenLogProb{Token: guess, LogProb: e.logprob})
		if len(e.among) > 1 {
			if d.Among == nil {
				d.Among = make(map[int][]lm.Token)
			}
			d.Among[i] = e.among
		}
	}
	return d, nil
}
