// Package listed makes distributions of what servers list: the most probable next
// tokens, each with its log-probability, named by id or by text. Lists that cannot be
// right are refused: probabilities above 1 alone or together, values that are no
// numbers, tokens listed twice or outside the vocabulary.
//
// A server that takes and names tokens by text leaves two things to be done here.
// [Prompt] finds the text that it must be given to read certain tokens, or says why
// there is none. [Names] finds the tokens that a text may stand for; where these are
// several (a line break and the byte 0x0A; the halves of characters, which JSON cannot
// carry), the distribution says so in its Among, and what depends on it becomes an
// interval.
package listed

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/modellog/modellog/lm"
)

// Slack is how far rounding may carry a probability, or a sum of some, above 1.
const Slack = 1e-4

// Entry is an entry of a server's list: a token by its text.
type Entry struct {
	Text    string
	LogProb float64 // natural
}

// check refuses a value that is no log-probability.
func check(logprob float64, name func() string) error {
	switch {
	case math.IsNaN(logprob):
		return fmt.Errorf("the log-probability of %s is no number", name())
	case logprob > Slack:
		return fmt.Errorf("the log-probability of %s is %g, and a probability cannot exceed 1", name(), logprob)
	}
	return nil
}

// complete checks a list as a whole and puts it in order.
func complete(sum float64, n, size int) error {
	switch {
	case n == 0:
		return errors.New("it lists no token")
	case n > size:
		return fmt.Errorf("it lists %d tokens, and the vocabulary has %d", n, size)
	case sum > 1+Slack:
		return fmt.Errorf("the probabilities of its tokens sum to %.6g", sum)
	}
	return nil
}

// ByID makes a distribution of a list that names tokens by their ids, over a
// vocabulary of size tokens. What it returns has descending log-probabilities, at most
// 0, of distinct tokens. Values that stand for "none", such as -9999, are left for
// package calibrate to know.
func ByID(entries []lm.TokenLogProb, size int) (lm.Distribution, error) {
	d := lm.Distribution{Vocabulary: size}
	var sum float64
	for _, e := range entries {
		if err := check(e.LogProb, func() string { return fmt.Sprintf("token %d", e.Token) }); err != nil {
			return d, err
		}
		if e.Token < 0 || int(e.Token) >= size {
			return d, fmt.Errorf("it lists token %d, and the vocabulary has %d", e.Token, size)
		}
		sum += math.Exp(e.LogProb)
	}
	if err := complete(sum, len(entries), size); err != nil {
		return d, err
	}
	d.Top = slices.Clone(entries)
	for i := range d.Top {
		d.Top[i].LogProb = math.Min(0, d.Top[i].LogProb)
	}
	slices.SortFunc(d.Top, func(a, b lm.TokenLogProb) int { return cmp.Compare(a.Token, b.Token) })
	for i := 1; i < len(d.Top); i++ {
		if d.Top[i].Token == d.Top[i-1].Token {
			return lm.Distribution{Vocabulary: size}, fmt.Errorf("it lists token %d twice", d.Top[i].Token)
		}
	}
	slices.SortStableFunc(d.Top, func(a, b lm.TokenLogProb) int { return cmp.Compare(b.LogProb, a.LogProb) })
	return d, nil
}

// Distribution makes a distribution of a list that names tokens by their texts, as
// [ByID] does of one that has ids.
func (n *Names) Distribution(entries []Entry) (lm.Distribution, error) {
	d := lm.Distribution{Vocabulary: n.size}
	type named struct {
		logprob float64
		among   []lm.Token
	}
	if len(entries) > n.size {
		return d, complete(0, len(entries), n.size)
	}
	all := make([]named, 0, len(entries))
	times := make(map[lm.Token]int) // by the first token of a text
	var sum float64
	for _, e := range entries {
		if err := check(e.LogProb, func() string { return fmt.Sprintf("%q", e.Text) }); err != nil {
			return d, err
		}
		among := n.Find(e.Text)
		if len(among) == 0 {
			return d, fmt.Errorf("it names a token %q, which the vocabulary does not have", e.Text)
		}
		if times[among[0]]++; times[among[0]] > len(among) {
			return d, fmt.Errorf("it lists the token %q twice", e.Text)
		}
		sum += math.Exp(e.LogProb)
		all = append(all, named{math.Min(0, e.LogProb), among})
	}
	if err := complete(sum, len(all), n.size); err != nil {
		return d, err
	}
	slices.SortStableFunc(all, func(a, b named) int { return cmp.Compare(b.logprob, a.logprob) })
	guessed := make(map[lm.Token]int)
	for i, e := range all {
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
