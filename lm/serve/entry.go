package serve

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
)

// entry is what the answer says of a token of a text.
type entry struct {
	token   lm.Token
	control bool              // stands for no text
	read    bool              // there is a distribution: something stands before it
	logProb float64           // NaN where the model does not tell
	rank    int               // 1 for the most probable; 0 where the model does not tell
	top     []lm.TokenLogProb // the most probable tokens, in descending order
}

// noLogProb stands for the logarithm of 0, which JSON does not have, as in other servers.
const noLogProb = -9999

var errNoNumbers = errors.New("the model's distribution has values that are no numbers; its weights are damaged, or it overflows in this precision")

// newEntry takes from a distribution what is told of a token, and the depth most probable ones.
func newEntry(d lm.Distribution, t lm.Token, depth int) (entry, error) {
	e := entry{token: t, read: true, logProb: math.NaN()}
	if d.Logits == nil {
		if p, sure := d.Listed(t); sure && len(p) == 1 {
			e.logProb = p[0]
			e.rank = 1 + slices.IndexFunc(d.Top, func(l lm.TokenLogProb) bool { return l.Token == t })
		}
		e.top = slices.Clone(d.Top[:min(len(d.Top), max(depth, 0))])
		return e, nil
	}
	if int(t) >= len(d.Logits) {
		return e, fmt.Errorf("the model has %d logits and no token %d", len(d.Logits), t)
	}
	most, sum := math.Inf(-1), 0.0
	for _, l := range d.Logits {
		if l != l || math.IsInf(float64(l), 1) {
			return e, errNoNumbers
		}
		most = max(most, float64(l))
	}
	if math.IsInf(most, -1) {
		return e, errNoNumbers
	}
	for _, l := range d.Logits {
		sum += math.Exp(float64(l) - most)
	}
	normalise := most + math.Log(sum)
	logProb := func(l float32) float64 {
		if math.IsInf(float64(l), -1) {
			return noLogProb
		}
		return float64(l) - normalise
	}
	own := d.Logits[t]
	e.logProb, e.rank = logProb(own), 1
	for i, l := range d.Logits {
		if l > own || l == own && i < int(t) {
			e.rank++
		}
	}
	for _, i := range mostProbable(d.Logits, depth) {
		e.top = append(e.top, lm.TokenLogProb{Token: i, LogProb: logProb(d.Logits[i])})
	}
	return e, nil
}

// mostProbable returns the n tokens of the greatest logits in descending order, of equal ones that of the least id first.
func mostProbable(logits []float32, n int) []lm.Token {
	order := func(a, b lm.Token) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b)) }
	const few = 64
	if n <= 0 {
		return nil
	}
	var top []lm.Token
	if n > few {
		top = make([]lm.Token, len(logits))
		for i := range top {
			top[i] = lm.Token(i)
		}
		slices.SortFunc(top, order)
		return top[:min(n, len(top))]
	}
	for i := range logits {
		t := lm.Token(i)
		if len(top) == n {
			if logits[t] <= logits[top[n-1]] {
				continue
			}
			top = top[:n-1]
		}
		at, _ := slices.BinarySearchFunc(top, t, order)
		top = slices.Insert(top, at, t)
	}
	return top
}

// best is the most probable token of a distribution.
func best(d lm.Distribution) (lm.Token, error) {
	if d.Logits == nil {
		if len(d.Top) == 0 {
			return 0, errNoNumbers
		}
		return d.Top[0].Token, nil
	}
	return mostProbable(d.Logits, 1)[0], nil
}

// tokenName is how the protocol writes a token as a text.
func tokenName(m lm.Model, t lm.Token, asID bool) string {
	piece := m.Piece(t)
	switch {
	case asID || piece == nil:
		return fmt.Sprintf("token_id:%d", t)
	case utf8.Valid(piece):
		return string(piece)
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range piece {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

// logProbs are the entries of a text in OpenAI's form.
type logProbs struct {
	Tokens        []string   `json:"tokens"`
	TokenLogProbs []*float64 `json:"token_logprobs"`
	TopLogProbs   []*ranking `json:"top_logprobs"`
	TextOffset    []int      `json:"text_offset"` // in characters
}

// add puts entries behind those that are there. at is where in the text they begin, in characters, and where they
// end is returned.
func (l *logProbs) add(m lm.Model, entries []entry, at int, asID bool) int {
	for _, e := range entries {
		piece := m.Piece(e.token)
		if e.control {
			piece = nil
		}
		offset := at
		if len(piece) > 0 && !utf8.RuneStart(piece[0]) {
			offset = max(0, at-1) // within a character that began before
		}
		at += starts(piece)
		l.Tokens = append(l.Tokens, tokenName(m, e.token, asID))
		l.TextOffset = append(l.TextOffset, offset)
		if !e.read {
			l.TokenLogProbs, l.TopLogProbs = append(l.TokenLogProbs, nil), append(l.TopLogProbs, nil)
			continue
		}
		var own *float64
		if !math.IsNaN(e.logProb) {
			own = &e.logProb
		}
		top := &ranking{}
		for _, listed := range e.all() {
			top.add(tokenName(m, listed.Token, asID), listed.LogProb)
		}
		l.TokenLogProbs, l.TopLogProbs = append(l.TokenLogProbs, own), append(l.TopLogProbs, top)
	}
	return at
}

// all are the most probable tokens and the one that is there, if its number is known.
func (e *entry) all() []lm.TokenLogProb {
	if math.IsNaN(e.logProb) || slices.ContainsFunc(e.top, func(l lm.TokenLogProb) bool { return l.Token == e.token }) {
		return e.top
	}
	return append(slices.Clip(e.top), lm.TokenLogProb{Token: e.token, LogProb: e.logProb})
}

// starts counts the characters that begin in a piece of a text.
func starts(piece []byte) int {
	n := 0
	for _, b := range piece {
		if utf8.RuneStart(b) {
			n++
		}
	}
	return n
}

// ranking is a JSON object whose members stay in the order in which they were added.
type ranking struct {
	names  []string
	values []any
	seen   map[string]bool
}

// add adds a member, where there is none of that name.
func (r *ranking) add(name string, value any) {
	if r.seen[name] {
		return
	}
	if r.seen == nil {
		r.seen = make(map[string]bool)
	}
	r.seen[name] = true
	r.names, r.values = append(r.names, name), append(r.values, value)
}

// MarshalJSON writes the object.
func (r *ranking) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, name := range r.names {
		if i > 0 {
			out = append(out, ',')
		}
		for k, v := range []any{name, r.values[i]} {
			if k == 1 {
				out = append(out, ':')
			}
			data, err := marshal(v)
			if err != nil {
				return nil, err
			}
			out = append(out, data...)
		}
	}
	return append(out, '}'), nil
}

// rankedToken is a token of prompt_logprobs, in vLLM's form.
type rankedToken struct {
	LogProb float64 `json:"logprob"`
	Rank    *int    `json:"rank"`
	Text    string  `json:"decoded_token"`
}

// promptLogProbs are the entries of a prompt in vLLM's form.
func promptLogProbs(m lm.Model, entries []entry) []*ranking {
	out := make([]*ranking, len(entries))
	for i, e := range entries {
		if !e.read {
			continue
		}
		out[i] = &ranking{}
		for k, listed := range e.all() {
			rank := k + 1
			if listed.Token == e.token {
				rank = e.rank
			}
			out[i].add(fmt.Sprint(listed.Token), rankedToken{listed.LogProb, &rank, strings.ToValidUTF8(string(m.Piece(listed.Token)), "\ufffd")})
		}
	}
	return out
}
